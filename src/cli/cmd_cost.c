/* Closed forms only: no trace, no simulation. */
#include "base/json_text.h"
#include "cli/command.h"
#include "cli/form_options.h"
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

/* The time on the cluster's nodes and cards. */
static void placed_cell(struct ss_table *table, const cJSON *point) {
  const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(point, "placed_s"),
              *kind = cJSON_GetObjectItemCaseSensitive(point, "placed");
  char text[64];
  if (!cJSON_IsNumber(seconds)) ss_table_cell(table, "-");
  else
    ss_table_cell(table, "%s%s", strcmp(kind->valuestring, "exact") == 0 ? "" : ">= ",
                  ss_units_format(text, sizeof text, SS_TIME, seconds->valuedouble));
}

static void print_notes(const struct ss_cluster *cluster, enum ss_gamma_kind kind, FILE *stream) {
  const uint32_t nics = ss_cluster_nics(cluster);
  char bandwidth[32], latency[32];
  ss_units_format(bandwidth, sizeof bandwidth, SS_RATE, 1 / cluster->inter.beta);
  ss_units_format(latency, sizeof latency, SS_TIME, cluster->inter.alpha);
  fprintf(stream, "\nflat      every message on a link of its own of the class between nodes (%s, %s)\n", latency,
          bandwidth);
  ss_units_format(bandwidth, sizeof bandwidth, SS_RATE, 1 / cluster->intra.beta);
  ss_units_format(latency, sizeof latency, SS_TIME, cluster->intra.alpha);
  fprintf(stream, "on nodes  %s with %u GPU%s and %u card%s a node", cluster->name, cluster->gpus_per_node,
          cluster->gpus_per_node == 1 ? "" : "s", nics, nics == 1 ? "" : "s");
  if (cluster->gpus_per_node > 1) fprintf(stream, "; inside a node %s, %s", latency, bandwidth);
  fputs("; >=: no time is below it; -: not known\n"
        "Closed forms: no kernels, no imbalance; rows are supposed to meet as --gamma says: ",
        stream);
  fprintf(stream, "%s. --format json adds sources and errata.\n", ss_gamma_names[kind]);
}

struct answer {
  const cJSON *root, *points;
  const struct ss_cluster *cluster;
  enum ss_gamma_kind overlap;
};

static bool print_table(const void *answer, FILE *stream, struct ss_error *error) {
  const struct answer *a = answer;
  struct ss_table *table = ss_table_of("<form", "ranks", "flat", "on nodes", "as printed", "<formula");
  for (const cJSON *p = a->points->child; p; p = p->next) {
    const cJSON *formula = cJSON_GetObjectItemCaseSensitive(p, "formula"),
                *low = cJSON_GetObjectItemCaseSensitive(p, "formula_low"),
                *high = cJSON_GetObjectItemCaseSensitive(p, "formula_high");
    ss_table_cell(table, "%s", cJSON_GetObjectItemCaseSensitive(p, "form")->valuestring);
    ss_table_cell(table, "%.0f", cJSON_GetObjectItemCaseSensitive(p, "ranks")->valuedouble);
    time_cell(table, p, "formula");
    placed_cell(table, p);
    time_cell(table, p, "paper");
    if (cJSON_IsString(low) && !cJSON_IsString(formula))
      ss_table_cell(table, "%s .. %s", low->valuestring, high->valuestring);
    else ss_table_cell(table, "%s", cJSON_IsString(formula) ? formula->valuestring : "");
  }
  const bool ok = ss_table_print_free(table, false, stream, error);
  print_notes(a->cluster, a->overlap, stream);
  return ok;
}

static bool print_json(const void *answer, FILE *stream, struct ss_error *error) {
  return ss_json_print(((const struct answer *)answer)->root, stream, error);
}

static bool print_csv(const void *answer, FILE *stream, struct ss_error *error) {
  return ss_flat_csv(((const struct answer *)answer)->points, stream, error);
}

struct arguments {
  struct ss_forms_arguments head;
  struct ss_nodes_change nodes;
};

static bool evaluate(const struct ss_call *call, const struct arguments *arguments, struct ss_error *error) {
  const struct ss_forms_call *c = &arguments->head.forms;
  uint32_t ranks[256];
  struct ss_cluster cluster;
  struct ss_costs costs;
  struct ss_costs_question question = {.with = &c->with,
                                       .cluster = &cluster,
                                       .ranks = ranks,
                                       .scheme = call->operand,
                                       .schemes = call->operands,
                                       .design = c->files > 0};
  if (!ss_forms_cluster(call, &cluster, error) || !ss_cluster_change_nodes(&cluster, &arguments->nodes, error) ||
      !ss_ranks_parse(call->request.ranks ? call->request.ranks : "4..64", ranks, 256, &question.rank_counts,
                      error) ||
      !ss_costs_open(c->file, c->files, &costs, error))
    return false;
  cJSON *root = ss_costs_json(&costs, &question, error);
  const struct answer answer = {root, cJSON_GetObjectItemCaseSensitive(root, "points"), &cluster, c->with.kind};
  const bool ok = root && ss_call_write(call, &answer, print_table, print_json, print_csv, error);
  cJSON_Delete(root);
  ss_costs_close(&costs);
  return ok;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct ss_forms_call *c = &((const struct ss_forms_arguments *)call)->forms;
  if (!(c->with.bytes > 0 && c->with.density > 0))
    return ss_fail(error, SS_BAD_INPUT, "say --M SIZE and --density SHARE (sparsync cost --help)");
  if (c->with.density > 1) return ss_fail(error, SS_BAD_INPUT, "--density: %g is above 1", c->with.density);
  return evaluate(call, (const struct arguments *)call, error);
}

static const struct ss_option_spec options[] = {
    SS_OPTION_OPERANDS,
    SS_FORMS_OPTIONS("rank counts (.. doubles; 4..64)"),
    SS_FORMS_ONLY_OPTIONS,
    {"", SS_HEADING,
     .help = "the nodes, where they are not the cluster's (--bandwidth and --latency are those between nodes):"},
    {"--gpus-per-node", SS_COUNT(struct arguments, nodes.gpus_per_node, 1, 1u << 20), .value = "N",
     .help = "ranks that a node has"},
    {"--nics", SS_COUNT(struct arguments, nodes.nics, 1, 1u << 20), .value = "N",
     .help = "cards that the ranks of a node share"},
    {"--intra-bandwidth", SS_QUANTITY(struct arguments, nodes.intra_bandwidth, SS_RATE, SS_ABOVE_ZERO, INFINITY),
     .value = "RATE", .help = "between two ranks of a node"},
    {"--intra-latency", SS_QUANTITY(struct arguments, nodes.intra_latency, SS_TIME, 0, INFINITY), .value = "TIME",
     .help = "between two ranks of a node"},
    SS_OPTIONS_OUTPUT,
    {"--trace", SS_REFUSED,
     .help = "closed forms need no trace (sparsync run simulates one, beside its closed forms)"},
    {"--scheme", SS_REFUSED, .help = "name schemes as they are: sparsync cost allgather zen"},
    {.name = NULL}};

const struct ss_command ss_command_cost = {
    .name = "cost",
    .summary = "closed forms only: no trace, no simulation",
    .usage = "usage: sparsync cost [SCHEME...] --M SIZE --density SHARE [OPTION...]\n"
             "\n"
             "Evaluates the closed forms of models/costs: what the schedule gives on one flat class of links (or "
             "bounds of "
             "it),\n"
             "what becomes of that on the cluster's nodes and cards, and what the paper prints.\n"
             "Without SCHEME: of all but the points of ZEN's design space (say \"design\").\n",
    .examples =
        "examples:\n"
        "  sparsync cost --M 856MB --density 2.8% --row-width 64 --ranks 4..64\n"
        "  sparsync cost allgather alltoall --M 252.5MiB --density 10.3% --row-width 1024 --ranks 16 --bandwidth "
        "100Gbps\n"
        "  sparsync cost zen alltoall --M 856MB --density 2.8% --cluster rtx3090-100g-ib --nics 2 --intra-bandwidth "
        "25GB/s\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.head.forms = SS_FORMS_DEFAULTS, .nodes = SS_NODES_AS_THEY_ARE},
    .run = run};
