#include "base/memory.h"
#include "base/units.h"
#include "cli/command.h"
#include "report/table.h"
#include "study/trace_json.h"

#include <inttypes.h>
#include <math.h>

struct arguments {
  struct ss_call call;
  const char *file;
  struct ss_stats_window window;
};

/* A trace and what was measured on it. */
struct result {
  const struct ss_trace *trace;
  const struct ss_stats *stats;
};

static bool read_iterations(void *arguments, const char *value, struct ss_error *error) {
  struct ss_stats_window *window = &((struct arguments *)arguments)->window;
  return ss_span_parse(value, &window->first, &window->end, error);
}

static bool print_json(const void *found, FILE *stream, struct ss_error *error) {
  const struct result *result = found;
  return ss_json_print_free(ss_trace_stats_json(result->trace, result->stats), stream, error);
}

/* --- CSV: one observation a row ------------------------------------------------------------------------- */

/* What tensor `t` is like among k ranks, or in k ranges; skewness is empty where it was not measured. */
static void csv_row(struct ss_table *table, const struct ss_tensor_stats *t, uint32_t k, double skewness) {
  ss_table_cell(table, "%s", t->tensor.name);
  ss_table_cell(table, "%" PRIu64, t->tensor.rows);
  ss_table_cell(table, "%" PRIu32, t->tensor.row_width);
  ss_table_cell(table, "%s", ss_dtype_name(t->tensor.dtype));
  const double plain[] = {t->density, t->overlap, t->lookups,       t->coalesced,       t->prior,
                          t->bags,    t->pooling, t->lookups_bytes, t->coalesced_bytes, t->prior_bytes};
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) ss_table_exact(table, plain[i]);
  ss_table_cell(table, "%" PRIu32, k);
  ss_table_exact(table, t->gamma[k - 1]);
  ss_table_exact(table, skewness);
}

static bool print_csv(const void *found, FILE *stream, struct ss_error *error) {
  const struct ss_stats *stats = ((const struct result *)found)->stats;
  struct ss_table *table =
      ss_table_of("name", "rows", "row_width", "dtype", "density", "overlap", "lookups", "coalesced", "prior", "bags",
                  "pooling", "lookups_bytes", "coalesced_bytes", "prior_bytes", "k", "gamma", "skewness");
  for (size_t i = 0; i < stats->tensors; i++) {
    const struct ss_tensor_stats *t = &stats->tensor[i];
    size_t part = 0; /* of the next skewness */
    for (uint32_t k = 1; k <= stats->ranks; k++) {
      const bool here = part < t->parts && t->part[part] == k;
      csv_row(table, t, k, here ? t->skewness[part++] : NAN);
    }
  }
  return ss_table_print_free(table, true, stream, error);
}

/* --- table ---------------------------------------------------------------------------------------------- */

static struct ss_table *sizes_table(const struct ss_stats *stats) {
  struct ss_table *table = ss_table_of("<tensor", "rows", "density", "overlap", "lookups", "coalesced", "prior",
                                       "bytes of lookups", "coalesced", "prior");
  for (size_t i = 0; i < stats->tensors; i++) {
    const struct ss_tensor_stats *t = &stats->tensor[i];
    ss_table_cell(table, "%s", t->tensor.name);
    ss_table_cell(table, "%" PRIu64 " x %" PRIu32 " %s", t->tensor.rows, t->tensor.row_width,
                  ss_dtype_name(t->tensor.dtype));
    ss_table_cell(table, "%.3g %%", t->density * 100);
    ss_table_number(table, "%.3f", t->overlap);
    ss_table_number(table, "%.1f", t->lookups);
    ss_table_number(table, "%.1f", t->coalesced);
    ss_table_number(table, "%.1f", t->prior);
    ss_table_quantity(table, SS_BYTES, t->lookups_bytes);
    ss_table_quantity(table, SS_BYTES, t->coalesced_bytes);
    ss_table_quantity(table, SS_BYTES, t->prior_bytes);
  }
  return table;
}

/* Of the tensors that have bags. */
static struct ss_table *bags_table(const struct ss_stats *stats) {
  struct ss_table *table = ss_table_of("<tensor", "bags", "lookups/bag");
  for (size_t i = 0; i < stats->tensors; i++) {
    const struct ss_tensor_stats *t = &stats->tensor[i];
    if (isnan(t->bags)) continue;
    ss_table_cell(table, "%s", t->tensor.name);
    ss_table_cell(table, "%.1f", t->bags);
    ss_table_number(table, "%.4g", t->pooling);
  }
  return table;
}

static struct ss_table *curve_table(const struct ss_stats *stats) {
  struct ss_table *table = ss_table_of("<tensor", "k", "gamma(k)", "skewness(k)");
  for (size_t i = 0; i < stats->tensors; i++) {
    const struct ss_tensor_stats *t = &stats->tensor[i];
    for (size_t j = 0; j < t->parts; j++) {
      ss_table_cell(table, "%s", t->tensor.name);
      ss_table_cell(table, "%" PRIu32, t->part[j]);
      ss_table_number(table, "%.4g", t->gamma[t->part[j] - 1]);
      ss_table_number(table, "%.4g", t->skewness[j]);
    }
  }
  return table;
}

static bool print_table(const void *found, FILE *stream, struct ss_error *error) {
  const struct result *result = found;
  const struct ss_stats *stats = result->stats;
  (void)fprintf(stream,
                "iterations %" PRIu64 " to %" PRIu64 ", %" PRIu32
                " ranks; rows and bytes are of one rank in one iteration, means over both\n\n",
                stats->first, stats->end - 1, stats->ranks);
  if (!ss_table_print_free(sizes_table(stats), false, stream, error)) return false;
  (void)fputs("\n", stream);
  if (ss_trace_bagged(result->trace)) {
    if (!ss_table_print_free(bags_table(stats), false, stream, error)) return false;
    (void)fputs("\n", stream);
  }
  if (!ss_table_print_free(curve_table(stats), false, stream, error)) return false;
  (void)fputs("\n"
              "prior: unique rows that some rank looks up again in the next iteration\n"
              "gamma(k): unique rows of k ranks together, in units of one rank's\n"
              "skewness(k): densest of k even row ranges, in units of the rank's density\n",
              stream);
  return true;
}

/* --- command -------------------------------------------------------------------------------------------- */

static bool measure(const struct arguments *a, const struct ss_trace *trace, struct ss_error *error) {
  struct ss_stats *stats;
  struct ss_stats_window window = a->window;
  window.watcher = a->call.options.watcher;
  if (!ss_trace_stats(trace, window, &stats, error)) return false;
  const struct result result = {trace, stats};
  const bool good = ss_call_write(&a->call, &result, print_table, print_json, print_csv, error);
  ss_stats_free(stats);
  return good;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  struct ss_trace *trace;
  if (!a->file) return ss_fail(error, SS_BAD_INPUT, "name a trace");
  if (!ss_trace_open(a->file, &trace, error)) return false;
  const bool good =
      ss_trace_keep(trace, call->request.tensor, call->request.tensors, error) && measure(a, trace, error);
  ss_trace_close(trace);
  return good;
}

static const struct ss_option_spec options[] = {
    {"", SS_TEXT(struct arguments, file), .value = "file"},
    {"--iterations", SS_OTHER(read_iterations), .value = "A:B", .help = "only iterations A to B-1 (default all)"},
    {"--ranks", SS_COUNT32(struct arguments, window.ranks, 1, SS_RANKS_MAX), .value = "N",
     .help = "only the first N ranks (default all)"},
    SS_OPTION_TENSOR,
    SS_OPTIONS_OUTPUT,
    SS_OPTION_MEMORY,
    {.name = NULL}};

const struct ss_command ss_command_trace_stats = {
    .name = "stats",
    .summary = "density, overlap, densification and skewness",
    .usage =
        "usage: sparsync trace stats FILE [OPTION...]\n"
        "\n"
        "Measures a trace, each quantity a mean over iterations (in CSV, a line for each tensor and k):\n"
        "  density    unique rows of a rank / rows\n"
        "  overlap    of two ranks' row sets: rows in both / rows of the smaller; mean over pairs of ranks\n"
        "             (100 seeded pairs where there are more)\n"
        "  gamma(k)   densification: unique rows of ranks 0..k-1 together / mean unique rows of one rank\n"
        "  skewness   densest of p even row ranges / density, for p = ranks and powers of two; mean over ranks\n"
        "  lookups    rows of a rank as they were looked up; coalesced: unique ones; prior: those of them that any "
        "rank\n"
        "             looks up again in the next iteration (the last iteration has none)\n"
        "  bags       of a rank, where the trace says which lookups make one; lookups/bag: the mean pooling factor\n",
    .examples = "examples:\n"
                "  sparsync trace stats traces/bible-kjv-16.safetensors\n"
                "  sparsync trace stats traces/wordnet-64.safetensors --ranks 8 --iterations 0:5 --format json\n",
    .options = options,
    .size = sizeof(struct arguments),
    .run = run};
