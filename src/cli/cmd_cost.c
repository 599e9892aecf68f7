/* Closed forms only: no trace, no simulation. */
#include "base/file.h"
#include "base/json_text.h"
#include "cli/command.h"
#include "cli/forms.h"
#include "report/flat.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sparsync cost [SCHEME...] --M SIZE --density SHARE [OPTION...]\n"
    "\n"
    "Evaluates the closed forms of models/costs: what the schedule gives (exact, or bounds) and what the paper "
    "prints.\n"
    "Without SCHEME: of all but the points of ZEN's design space (say \"design\").\n"
    "\n"
    "  --M SIZE             bytes of the dense tensor        --density SHARE   share of non-zero rows on a rank\n"
    "  --row-width N        elements a row (1)               --value-bytes N   bytes an element (4)\n"
    "  --lookups SHARE      rows looked up / rows, duplicates counted (as the density)\n"
    "  --ranks 4..64        rank counts (.. doubles; 4..64)  --servers N       parameter servers (nodes)\n"
    "  --gamma G            densification ratio: random (default, (1-(1-d)^k)/d), full, none, or a list\n"
    "                       gamma(1),gamma(2),... of which the last goes on\n"
    "  --k N                entries that a rank selects (what the density makes of all elements)\n"
    "  --teams N            SparDL's teams (1)               --block N         elements of a block (256)\n"
    "  --index-bytes N      bytes an index (4)               --file FILE       a form of your own (repeatable)\n"
    "  --cluster NAME       alpha, beta between nodes (p3.16xlarge-25g) --latency TIME --bandwidth RATE\n"
    "  --format table|json|csv, -o FILE\n"
    "\n"
    "examples:\n"
    "  sparsync cost --M 856MB --density 2.8% --row-width 64 --ranks 4..64\n"
    "  sparsync cost allgather alltoall --M 252.5MiB --density 10.3% --row-width 1024 --ranks 16 --bandwidth "
    "100Gbps\n";

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

static bool print(const struct ss_call *call, const cJSON *root, struct ss_error *error) {
  const cJSON *points = cJSON_GetObjectItemCaseSensitive(root, "points");
  struct ss_output output;
  if (!ss_output_open(call->output, &output, error)) return false;
  bool ok = call->format == SS_JSON  ? ss_json_print(root, output.stream, error)
            : call->format == SS_CSV ? ss_flat_csv(points, output.stream, error)
                                     : print_rows(points, output.stream, error);
  if (ok) return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
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
  const bool ok = root && print(call, root, error);
  cJSON_Delete(root);
  ss_costs_close(&costs);
  return ok;
}

static bool own(void *context, const char *name, const char *value, struct ss_error *error) {
  return ss_forms_option(context, name, value, error);
}

static bool run(int argc, char **argv, struct ss_error *error) {
  static const struct ss_option_spec specs[] = {SS_FORMS_OPTIONS};
  struct ss_call call;
  SS_AUTO_FREE struct ss_forms_call *c = ss_forms_new();
  if (!c) return ss_fail_memory(error, "reading options");
  if (!ss_call_parse(argc, argv, specs, own, c, &call, error)) return false;
  bool ok;
  if (call.help) ok = fputs(help, stdout) >= 0;
  else if (!(c->with.bytes > 0 && c->with.density > 0))
    ok = ss_fail(error, SS_BAD_INPUT, "say --M SIZE and --density SHARE (sparsync cost --help)");
  else if (c->with.density > 1) ok = ss_fail(error, SS_BAD_INPUT, "--density: %g is above 1", c->with.density);
  else ok = evaluate(&call, c, error);
  ss_call_free(&call);
  return ok;
}

const struct ss_command ss_command_cost = {
    .name = "cost", .summary = "closed forms only: no trace, no simulation", .help = help, .run = run};
