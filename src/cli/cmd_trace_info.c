#include "cli/command.h"
#include "report/table.h"
#include "study/trace_json.h"

#include <inttypes.h>

struct arguments {
  struct ss_call call;
  const char *file, **tensor;
  size_t tensors;
};

static bool print_json(const void *found, FILE *stream, struct ss_error *error) {
  return ss_json_print_free(ss_trace_info_json(found), stream, error);
}

static bool print_csv(const void *found, FILE *stream, struct ss_error *error) {
  const struct ss_trace *trace = found;
  struct ss_table *table = ss_table_of("trace", "trace_hash", "iterations", "ranks", "tensor", "rows", "row_width",
                                       "dtype", "bytes", "lookups", "values", "bags", "pooling", "source");
  char hash[32];
  for (size_t i = 0; i < ss_trace_tensors(trace); i++) {
    const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
    const char *values = ss_trace_values_dtype(trace, i);
    ss_table_texts(table, ss_trace_name(trace), ss_trace_hash_text(trace, hash, sizeof hash));
    ss_table_cell(table, "%" PRIu64, ss_trace_iterations(trace));
    ss_table_cell(table, "%" PRIu32, ss_trace_ranks(trace));
    ss_table_cell(table, "%s", tensor->name);
    ss_table_cell(table, "%" PRIu64, tensor->rows);
    ss_table_cell(table, "%" PRIu32, tensor->row_width);
    ss_table_cell(table, "%s", ss_dtype_name(tensor->dtype));
    ss_table_cell(table, "%" PRIu64, ss_tensor_dense_bytes(tensor));
    ss_table_cell(table, "%" PRIu64, ss_trace_total(trace, i));
    ss_table_cell(table, "%s", values ? values : "");
    ss_table_exact(table, ss_tensor_bags(trace, i));
    ss_table_exact(table, ss_tensor_pooling(trace, i));
    ss_table_cell(table, "%s", ss_trace_source(trace));
  }
  return ss_table_print_free(table, true, stream, error);
}

static struct ss_table *list_tensors(const struct ss_trace *trace) {
  const bool bagged = ss_trace_bagged(trace);
  struct ss_table *table =
      bagged ? ss_table_of("<tensor", "rows", "row_width", "dtype", "dense size", "lookups", "values", "bags",
                           "lookups/bag")
             : ss_table_of("<tensor", "rows", "row_width", "dtype", "dense size", "lookups", "values");
  for (size_t i = 0; i < ss_trace_tensors(trace); i++) {
    const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
    const char *values = ss_trace_values_dtype(trace, i);
    ss_table_cell(table, "%s", tensor->name);
    ss_table_cell(table, "%" PRIu64, tensor->rows);
    ss_table_cell(table, "%" PRIu32, tensor->row_width);
    ss_table_cell(table, "%s", ss_dtype_name(tensor->dtype));
    ss_table_quantity(table, SS_BYTES, (double)ss_tensor_dense_bytes(tensor));
    ss_table_cell(table, "%" PRIu64, ss_trace_total(trace, i));
    ss_table_cell(table, "%s", values ? values : "none");
    if (!bagged) continue;
    ss_table_number(table, "%.0f", ss_tensor_bags(trace, i));
    ss_table_number(table, "%.4g", ss_tensor_pooling(trace, i));
  }
  return table;
}

static bool print_dense(const struct ss_trace *trace, FILE *stream, struct ss_error *error) {
  if (ss_trace_dense_count(trace) == 0) return true;
  struct ss_table *table = ss_table_of("<dense tensor", "size");
  for (size_t i = 0; i < ss_trace_dense_count(trace); i++) {
    const struct ss_dense *dense = ss_trace_dense(trace, i);
    ss_table_cell(table, "%s", dense->name);
    ss_table_quantity(table, SS_BYTES, (double)dense->bytes);
  }
  (void)fputs("\n", stream);
  return ss_table_print_free(table, false, stream, error);
}

static struct ss_table *list_facts(const struct ss_trace *trace) {
  struct ss_table *table = ss_table_of("<trace", "<");
  char hash[32];
  const double tokens = ss_trace_all_tokens(trace);
  ss_table_texts(table, "file", ss_trace_name(trace));
  ss_table_texts(table, "hash", ss_trace_hash_text(trace, hash, sizeof hash));
  ss_table_texts(table, "source", ss_trace_source(trace), "iterations");
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
  if (!ss_table_print_free(list_facts(trace), false, stream, error)) return false;
  (void)fputs("\n", stream);
  return ss_table_print_free(list_tensors(trace), false, stream, error) && print_dense(trace, stream, error);
}

static bool check_values(const struct ss_trace *trace, struct ss_error *error) {
  double most;
  for (size_t i = 0; i < ss_trace_tensors(trace); i++)
    if (!ss_trace_values_most(trace, i, &most, error)) return ss_fail_prefix(error, "%s", ss_trace_name(trace));
  return true;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  struct ss_trace *trace;
  if (!a->file) return ss_fail(error, SS_BAD_INPUT, "name a trace");
  if (!ss_trace_open(a->file, &trace, error)) return false;
  const bool good = ss_trace_keep(trace, a->tensor, a->tensors, error) && check_values(trace, error) &&
                    ss_call_write(call, trace, print_tables, print_json, print_csv, error);
  ss_trace_close(trace);
  return good;
}

static const struct ss_option_spec options[] = {{"", SS_TEXT(struct arguments, file), .value = "file"},
                                                SS_OPTION_TENSOR_OF(SS_TEXTS(struct arguments, tensor, tensors)),
                                                SS_OPTIONS_OUTPUT,
                                                {.name = NULL}};

const struct ss_command ss_command_trace_info = {
    .name = "info",
    .summary = "what a trace file holds",
    .usage = "usage: sparsync trace info FILE [OPTION...]\n"
             "\n"
             "Checks a trace completely and prints what it holds: iterations, ranks, tensors, where it came from. In "
             "CSV each\n"
             "tensor has a line.\n",
    .examples = "example:\n"
                "  sparsync trace info traces/bible-kjv-16.safetensors\n",
    .options = options,
    .size = sizeof(struct arguments),
    .run = run};
