/* Closed forms only: no trace, no simulation. */
#include "base/file.h"
#include "base/json_text.h"
#include "cli/command.h"
#include "cli/forms.h"
#include "report/flat.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <string.h>

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

static bool evaluate(const struct ss_call *call, const struct ss_forms_call *c, struct ss_error *error) {
  uint32_t ranks[256];
  struct ss_cluster cluster;
  struct ss_costs costs;
  struct ss_costs_question question = {.with = &c->with,
                                       .cluster = &cluster,
                                       .ranks = ranks,
                                       .scheme = call->operand,
                                       .schemes = call->operands,
                                       .design = c->files > 0};
  if (!ss_forms_cluster(call, &cluster, error) ||
      !ss_ranks_parse(call->request.ranks ? call->request.ranks : "4..64", ranks, 256, &question.rank_counts,
                      error) ||
      !ss_costs_open(c->file, c->files, &costs, error))
    return false;
  cJSON *root = ss_costs_json(&costs, &question, error);
  const bool ok = root && ss_output_write(call->output, print, &(struct answer){root, call->format}, error);
  cJSON_Delete(root);
  ss_costs_close(&costs);
  return ok;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct ss_forms_call *c = &((const struct ss_forms_arguments *)call)->forms;
  if (!(c->with.bytes > 0 && c->with.density > 0))
    return ss_fail(error, SS_BAD_INPUT, "say --M SIZE and --density SHARE (sparsync cost --help)");
  if (c->with.density > 1) return ss_fail(error, SS_BAD_INPUT, "--density: %g is above 1", c->with.density);
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
