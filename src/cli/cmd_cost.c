/* Closed forms only: no trace, no simulation. */
#include "base/file.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "cli/forms.h"
#include "report/exact.h"
#include "report/flat.h"
#include "report/nullable.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Servers and aggregators that nobody asked for are none. */
static bool holds(const struct ss_forms_call *c, const struct ss_cost *cost, const struct ss_symbols *s, bool *out,
                  struct ss_error *error) {
  struct ss_symbols asked = *s;
  double value = 1;
  asked.S = (double)c->servers;
  if (cost->where && !ss_formula_evaluate(cost->where, &asked, &value, error))
    return ss_fail_prefix(error, "%s: where", cost->file);
  *out = value != 0;
  return true;
}

static bool add_point(cJSON *points, const struct ss_cost *cost, const struct ss_symbols *s,
                      const struct ss_cluster *cluster, struct ss_error *error) {
  struct ss_cost_values values;
  if (!ss_cost_evaluate(cost, s, &values, error)) return false;
  const char *slash = strrchr(cost->file, '/'), *base = slash ? slash + 1 : cost->file;
  cJSON *o = cJSON_CreateObject(), *label = cJSON_CreateString(base);
  char *dot = label ? strrchr(label->valuestring, '.') : NULL;
  if (dot) *dot = '\0';
  cJSON_AddStringToObject(o, "scheme", cost->scheme->name);
  cJSON_AddItemToObject(o, "form", label);
  cJSON_AddNumberToObject(o, "ranks", s->P);
  cJSON_AddStringToObject(o, "cluster", cluster->name);
  ss_json_add_number(o, "density", s->nnz / s->R);
  ss_json_add_number(o, "gamma", s->gamma(s->gamma_context, s->P));
  ss_json_add_number(o, "formula_s", values.exact);
  ss_json_add_text(o, "formula", cost->exact);
  ss_json_add_number(o, "formula_low_s", values.exact_low);
  ss_json_add_number(o, "formula_high_s", values.exact_high);
  ss_json_add_text(o, "formula_low", cost->exact_low);
  ss_json_add_text(o, "formula_high", cost->exact_high);
  ss_json_add_number(o, "paper_s", values.paper);
  ss_json_add_number(o, "paper_low_s", values.paper_low);
  ss_json_add_number(o, "paper_high_s", values.paper_high);
  ss_json_add_text(o, "paper", cost->paper);
  ss_json_add_text(o, "printed_in", cost->printed_in);
  ss_json_add_text(o, "assumes", cost->assumes);
  ss_json_add_text(o, "erratum", cost->erratum);
  cJSON_AddItemToArray(points, o);
  return true;
}

/* The time of the point's field `name` + "_s"; or of its bounds, `name` + "_low_s" and "_high_s". */
static void time_cell(struct ss_table *table, const cJSON *point, const char *name) {
  static const char *const ends[] = {"_s", "_low_s", "_high_s"};
  char text[3][64] = {"-", "-", "-"}, field[32];
  for (int i = 0; i < 3; i++) {
    snprintf(field, sizeof field, "%s%s", name, ends[i]);
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(point, field);
    if (cJSON_IsNumber(value)) ss_units_format(text[i], sizeof text[i], SS_TIME, value->valuedouble);
  }
  if (strcmp(text[0], "-") != 0 || strcmp(text[1], "-") == 0) ss_table_cell(table, "%s", text[0]);
  else ss_table_cell(table, "%s..%s", text[1], text[2]);
}

static bool print_rows(const cJSON *points, FILE *stream, struct ss_error *error) {
  static const char *const heads[] = {"<form", "ranks", "exact", "as printed", "<formula"};
  struct ss_table *table = ss_table_new(5, heads);
  if (!table) return ss_fail_memory(error, "printing costs");
  for (const cJSON *p = points->child; p; p = p->next) {
    const cJSON *formula = cJSON_GetObjectItemCaseSensitive(p, "formula"),
                *low = cJSON_GetObjectItemCaseSensitive(p, "formula_low"),
                *high = cJSON_GetObjectItemCaseSensitive(p, "formula_high");
    ss_table_cell(table, "%s", cJSON_GetObjectItemCaseSensitive(p, "form")->valuestring);
    ss_table_cell(table, "%.0f", cJSON_GetObjectItemCaseSensitive(p, "ranks")->valuedouble);
    time_cell(table, p, "formula");
    time_cell(table, p, "paper");
    if (cJSON_IsString(low) && !cJSON_IsString(formula))
      ss_table_cell(table, "%s .. %s", low->valuestring, high->valuestring);
    else ss_table_cell(table, "%s", cJSON_IsString(formula) ? formula->valuestring : "");
  }
  bool ok = ss_table_print(table, stream, error);
  ss_table_free(table);
  fputs("\nClosed forms on one flat link class; no kernels, no imbalance. --format json adds sources and errata.\n",
        stream);
  return ok;
}

struct answer {
  const cJSON *root;
  enum ss_format format;
};

static bool print(const void *context, FILE *stream, struct ss_error *error) {
  const struct answer *a = context;
  const cJSON *points = cJSON_GetObjectItemCaseSensitive(a->root, "points");
  return a->format == SS_JSON  ? ss_json_print(a->root, stream, error)
         : a->format == SS_CSV ? ss_flat_csv(points, stream, error)
                               : print_rows(points, stream, error);
}

/* The design space's many points are shown when asked for. */
static bool wanted(const struct ss_call *call, const struct ss_forms_call *c, const struct ss_cost *cost) {
  for (size_t i = 0; i < call->operands; i++)
    if (strcmp(call->operand[i], cost->scheme->name) == 0) return true;
  return call->operands == 0 && (c->files > 0 || strcmp(cost->scheme->name, "design") != 0);
}

static bool known_schemes(const struct ss_call *call, struct ss_error *error) {
  const char *names[64] = {NULL};
  for (size_t i = 0; ss_schemes()[i] && i < 63; i++) names[i] = ss_schemes()[i]->name;
  for (size_t i = 0; i < call->operands; i++)
    if (!ss_scheme_find(call->operand[i]))
      return ss_fail(error, SS_BAD_INPUT, "no scheme is called \"%s\"%s", call->operand[i],
                     ss_suggest(call->operand[i], names, "sparsync list schemes shows them").text);
  return true;
}

static bool evaluate(const struct ss_call *call, const struct ss_forms_call *c, struct ss_error *error) {
  uint32_t ranks[256];
  size_t count;
  struct ss_cluster cluster;
  struct ss_costs costs;
  if (!known_schemes(call, error) || !ss_forms_cluster(call, &cluster, error) ||
      !ss_ranks_parse(call->request.ranks ? call->request.ranks : "4..64", ranks, 256, &count, error) ||
      !ss_costs_open(c->file, c->files, &costs, error))
    return false;
  cJSON *root = cJSON_CreateObject(), *points = cJSON_AddArrayToObject(root, "points");
  bool ok = true;
  for (size_t r = 0; ok && r < count; r++) {
    for (size_t i = 0; ok && i < costs.count; i++) {
      const struct ss_cost *cost = &costs.cost[i];
      struct ss_forms_place place;
      struct ss_setting setting;
      bool here;
      if (!wanted(call, c, cost)) continue;
      ok = ss_cost_setting(cost, (struct ss_node){0}, &setting, error);
      if (ok) ss_forms_place(c, &setting, &cluster, ranks[r], &place);
      ok = ok && holds(c, cost, &place.symbols, &here, error) &&
           (!here || add_point(points, cost, &place.symbols, &cluster, error));
    }
  }
  ok = ok && ss_output_write(call->output, print, &(struct answer){root, call->format}, error);
  cJSON_Delete(root);
  ss_costs_close(&costs);
  return ok;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct ss_forms_call *c = &((const struct ss_forms_arguments *)call)->forms;
  if (!(c->bytes > 0 && c->density > 0))
    return ss_fail(error, SS_BAD_INPUT, "say --M SIZE and --density SHARE (sparsync cost --help)");
  if (c->density > 1) return ss_fail(error, SS_BAD_INPUT, "--density: %g is above 1", c->density);
  return evaluate(call, c, error);
}

static const struct ss_option_spec options[] = {
    SS_OPTION_OPERANDS,
    SS_FORMS_OPTIONS("rank counts (.. doubles; 4..64)"),
    SS_FORMS_ONLY_OPTIONS,
    SS_OPTIONS_OUTPUT,
    {"--trace", SS_REFUSED,
     .help = "closed forms need no trace (sparsync run simulates one, beside its closed forms)"},
    {"--scheme", SS_REFUSED, .help = "name schemes as they are: sparsync cost allgather zen"},
    {.name = NULL}};

const struct ss_command ss_command_cost = {
    .name = "cost",
    .summary = "closed forms only: no trace, no simulation",
    .usage =
        "usage: sparsync cost [SCHEME...] --M SIZE --density SHARE [OPTION...]\n"
        "\n"
        "Evaluates the closed forms of models/costs: what the schedule gives (exact, or bounds) and what the paper "
        "prints.\n"
        "Without SCHEME: of all but the points of ZEN's design space (say \"design\").\n",
    .examples =
        "examples:\n"
        "  sparsync cost --M 856MB --density 2.8% --row-width 64 --ranks 4..64\n"
        "  sparsync cost allgather alltoall --M 252.5MiB --density 10.3% --row-width 1024 --ranks 16 --bandwidth "
        "100Gbps\n",
    .options = options,
    .size = sizeof(struct ss_forms_arguments),
    .defaults = &(const struct ss_forms_arguments){.forms = SS_FORMS_DEFAULTS},
    .run = run};
