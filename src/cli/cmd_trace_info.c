#include "base/options.h"
#include "base/units.h"
#include "cli/cmd_trace.h"
#include "study/trace_json.h"

#include <inttypes.h>
#include <string.h>

static const char help[] =
    "usage: sparsync trace info FILE [--format table|json|csv] [-o FILE]\n"
    "\n"
    "Checks a trace completely and prints what it holds: iterations, ranks, tensors, where it came from.\n"
    "\n"
    "  --format FORMAT      table (default), json, or csv: one line a tensor\n"
    "  -o FILE              write there instead of to standard output\n"
    "\n"
    "example:\n"
    "  sparsync trace info traces/bible-kjv-16.safetensors\n";

struct arguments {
  const char *file, *out;
  enum trace_format format;
};

static const struct ss_option_spec specs[] = {{"format", true}, {"o", true}, {"help", false}, {NULL, false}};

static bool seen(void *context, const char *name, const char *value, struct ss_error *error) {
  struct arguments *a = context;
  if (!name) return trace_one_operand(&a->file, value, error);
  if (strcmp(name, "format") == 0) return trace_parse_format(value, &a->format, error);
  if (strcmp(name, "o") == 0) a->out = value;
  return true;
}

static bool print_json(const void *found, FILE *stream, struct ss_error *error) {
  return trace_print_json(ss_trace_info_json(found), stream, error);
}

static bool print_csv(const void *found, FILE *stream, struct ss_error *error) {
  const struct ss_trace *trace = found;
  static const char *const heads[] = {"trace",     "trace_hash", "iterations", "ranks",   "tensor", "rows",
                                      "row_width", "dtype",      "bytes",      "lookups", "values", "source"};
  struct ss_table *table = ss_table_new(sizeof heads / sizeof *heads, heads);
  char hash[32];
  for (size_t i = 0; table && i < ss_trace_tensors(trace); i++) {
    const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
    const char *values = ss_trace_values_dtype(trace, i);
    ss_table_cell(table, "%s", ss_trace_name(trace));
    ss_table_cell(table, "%s", ss_trace_hash_text(trace, hash, sizeof hash));
    ss_table_cell(table, "%" PRIu64, ss_trace_iterations(trace));
    ss_table_cell(table, "%" PRIu32, ss_trace_ranks(trace));
    ss_table_cell(table, "%s", tensor->name);
    ss_table_cell(table, "%" PRIu64, tensor->rows);
    ss_table_cell(table, "%" PRIu32, tensor->row_width);
    ss_table_cell(table, "%s", ss_dtype_name(tensor->dtype));
    ss_table_cell(table, "%" PRIu64, ss_tensor_dense_bytes(tensor));
    ss_table_cell(table, "%" PRIu64, ss_trace_total(trace, i));
    ss_table_cell(table, "%s", values ? values : "");
    ss_table_cell(table, "%s", ss_trace_source(trace));
  }
  return trace_print_table(table, true, stream, error);
}

static struct ss_table *list_tensors(const struct ss_trace *trace) {
  static const char *const heads[] = {"<tensor", "rows", "row_width", "dtype", "dense size", "lookups", "values"};
  struct ss_table *table = ss_table_new(sizeof heads / sizeof *heads, heads);
  char bytes[32];
  for (size_t i = 0; table && i < ss_trace_tensors(trace); i++) {
    const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
    const char *values = ss_trace_values_dtype(trace, i);
    ss_table_cell(table, "%s", tensor->name);
    ss_table_cell(table, "%" PRIu64, tensor->rows);
    ss_table_cell(table, "%" PRIu32, tensor->row_width);
    ss_table_cell(table, "%s", ss_dtype_name(tensor->dtype));
    ss_table_cell(table, "%s", ss_units_format(bytes, sizeof bytes, SS_BYTES, (double)ss_tensor_dense_bytes(tensor)));
    ss_table_cell(table, "%" PRIu64, ss_trace_total(trace, i));
    ss_table_cell(table, "%s", values ? values : "none");
  }
  return table;
}

static bool print_dense(const struct ss_trace *trace, FILE *stream, struct ss_error *error) {
  static const char *const heads[] = {"<dense tensor", "size"};
  char bytes[32];
  if (ss_trace_dense_count(trace) == 0) return true;
  struct ss_table *table = ss_table_new(2, heads);
  for (size_t i = 0; table && i < ss_trace_dense_count(trace); i++) {
    const struct ss_dense *dense = ss_trace_dense(trace, i);
    ss_table_cell(table, "%s", dense->name);
    ss_table_cell(table, "%s", ss_units_format(bytes, sizeof bytes, SS_BYTES, (double)dense->bytes));
  }
  (void)fputs("\n", stream);
  return trace_print_table(table, false, stream, error);
}

static struct ss_table *list_facts(const struct ss_trace *trace) {
  static const char *const heads[] = {"<trace", "<"};
  struct ss_table *table = ss_table_new(2, heads);
  char hash[32];
  const double tokens = ss_trace_all_tokens(trace);
  ss_table_cell(table, "file");
  ss_table_cell(table, "%s", ss_trace_name(trace));
  ss_table_cell(table, "hash");
  ss_table_cell(table, "%s", ss_trace_hash_text(trace, hash, sizeof hash));
  ss_table_cell(table, "source");
  ss_table_cell(table, "%s", ss_trace_source(trace));
  ss_table_cell(table, "iterations");
  ss_table_cell(table, "%" PRIu64, ss_trace_iterations(trace));
  ss_table_cell(table, "ranks");
  ss_table_cell(table, "%" PRIu32, ss_trace_ranks(trace));
  if (ss_trace_gpus_per_node(trace) > 0) {
    ss_table_cell(table, "gpus per node");
    ss_table_cell(table, "%" PRIu32, ss_trace_gpus_per_node(trace));
  }
  if (ss_trace_pad_id(trace) >= 0) {
    ss_table_cell(table, "row of padding");
    ss_table_cell(table, "%" PRId64, ss_trace_pad_id(trace));
  }
  if (tokens > 0) {
    ss_table_cell(table, "tokens");
    ss_table_cell(table, "%.0f", tokens);
  }
  return table;
}

static bool print_tables(const void *found, FILE *stream, struct ss_error *error) {
  const struct ss_trace *trace = found;
  if (!trace_print_table(list_facts(trace), false, stream, error)) return false;
  (void)fputs("\n", stream);
  return trace_print_table(list_tensors(trace), false, stream, error) && print_dense(trace, stream, error);
}

static bool tell(void *context, const struct ss_trace *trace, struct ss_error *error) {
  static const struct trace_printer printer = {print_json, print_csv, print_tables};
  const struct arguments *a = context;
  return trace_print(&printer, trace, a->format, a->out, error);
}

static bool run(int argc, char **argv, struct ss_error *error) {
  struct arguments a = {0};
  return ss_options_parse(argc, argv, specs, seen, &a, error) && trace_with("info", a.file, tell, &a, error);
}

const struct ss_command trace_info = {.name = "info", .summary = "what a trace file holds", .help = help, .run = run};
