#include "base/file.h"
#include "cli/command.h"
#include "report/trace.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

struct arguments {
  struct ss_call call;
  const char *file;
};

static double total_tokens(const struct ss_trace *trace) {
  double sum = 0;
  for (uint64_t t = 0; t < ss_trace_iterations(trace); t++)
    for (uint32_t r = 0; r < ss_trace_ranks(trace); r++) sum += (double)ss_trace_tokens(trace, t, r);
  return sum;
}

static uint64_t dense_bytes(const struct ss_tensor *tensor) {
  return tensor->rows * tensor->row_width * ss_dtype_bytes(tensor->dtype);
}

/* "F32", or NULL when the tensor has no values. */
static const char *values_dtype(const struct ss_trace *trace, size_t tensor) {
  enum ss_dtype dtype;
  return ss_trace_values(trace, tensor, 0, 0, &dtype) ? ss_dtype_name(dtype) : NULL;
}

static bool add_optional(cJSON *object, const char *key, bool known, double value) {
  return known ? cJSON_AddNumberToObject(object, key, value) != NULL : cJSON_AddNullToObject(object, key) != NULL;
}

static bool add_tensor(cJSON *list, const struct ss_trace *trace, size_t i) {
  const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
  const char *values = values_dtype(trace, i);
  cJSON *item = cJSON_CreateObject();
  if (!cJSON_AddItemToArray(list, item)) return false;
  return cJSON_AddStringToObject(item, "name", tensor->name) &&
         cJSON_AddNumberToObject(item, "rows", (double)tensor->rows) &&
         cJSON_AddNumberToObject(item, "row_width", tensor->row_width) &&
         cJSON_AddStringToObject(item, "dtype", ss_dtype_name(tensor->dtype)) &&
         cJSON_AddNumberToObject(item, "bytes", (double)dense_bytes(tensor)) &&
         cJSON_AddNumberToObject(item, "lookups", (double)ss_trace_total(trace, i)) &&
         (values ? cJSON_AddStringToObject(item, "values", values) : cJSON_AddNullToObject(item, "values"));
}

static bool add_dense(cJSON *list, const struct ss_dense *dense) {
  cJSON *item = cJSON_CreateObject();
  return cJSON_AddItemToArray(list, item) && cJSON_AddStringToObject(item, "name", dense->name) &&
         cJSON_AddNumberToObject(item, "bytes", (double)dense->bytes);
}

static bool fill_json(cJSON *root, const struct ss_trace *trace) {
  char hash[32];
  const uint32_t per_node = ss_trace_gpus_per_node(trace);
  const double tokens = total_tokens(trace);
  bool good = cJSON_AddStringToObject(root, "sparsync", SS_VERSION) &&
              cJSON_AddStringToObject(root, "trace", ss_trace_name(trace)) &&
              cJSON_AddStringToObject(root, "trace_hash", ss_trace_hash_text(trace, hash, sizeof hash)) &&
              cJSON_AddStringToObject(root, "source", ss_trace_source(trace)) &&
              cJSON_AddNumberToObject(root, "iterations", (double)ss_trace_iterations(trace)) &&
              cJSON_AddNumberToObject(root, "ranks", ss_trace_ranks(trace)) &&
              add_optional(root, "gpus_per_node", per_node > 0, per_node) &&
              add_optional(root, "pad_id", ss_trace_pad_id(trace) >= 0, (double)ss_trace_pad_id(trace)) &&
              add_optional(root, "tokens", tokens > 0, tokens);
  cJSON *tensors = good ? cJSON_AddArrayToObject(root, "tensors") : NULL;
  cJSON *dense = tensors ? cJSON_AddArrayToObject(root, "dense") : NULL;
  good = dense != NULL;
  for (size_t i = 0; good && i < ss_trace_tensors(trace); i++) good = add_tensor(tensors, trace, i);
  for (size_t i = 0; good && i < ss_trace_dense_count(trace); i++) good = add_dense(dense, ss_trace_dense(trace, i));
  return good;
}

static bool print_json(const void *found, FILE *stream, struct ss_error *error) {
  const struct ss_trace *trace = found;
  cJSON *root = cJSON_CreateObject();
  if (root && fill_json(root, trace)) return ss_json_print_free(root, stream, error);
  cJSON_Delete(root);
  return ss_json_print_free(NULL, stream, error);
}

static bool print_csv(const void *found, FILE *stream, struct ss_error *error) {
  const struct ss_trace *trace = found;
  static const char *const heads[] = {"trace",     "trace_hash", "iterations", "ranks",   "tensor", "rows",
                                      "row_width", "dtype",      "bytes",      "lookups", "values", "source"};
  struct ss_table *table = ss_table_new(sizeof heads / sizeof *heads, heads);
  char hash[32];
  for (size_t i = 0; table && i < ss_trace_tensors(trace); i++) {
    const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
    const char *values = values_dtype(trace, i);
    ss_table_cell(table, "%s", ss_trace_name(trace));
    ss_table_cell(table, "%s", ss_trace_hash_text(trace, hash, sizeof hash));
    ss_table_cell(table, "%" PRIu64, ss_trace_iterations(trace));
    ss_table_cell(table, "%" PRIu32, ss_trace_ranks(trace));
    ss_table_cell(table, "%s", tensor->name);
    ss_table_cell(table, "%" PRIu64, tensor->rows);
    ss_table_cell(table, "%" PRIu32, tensor->row_width);
    ss_table_cell(table, "%s", ss_dtype_name(tensor->dtype));
    ss_table_cell(table, "%" PRIu64, dense_bytes(tensor));
    ss_table_cell(table, "%" PRIu64, ss_trace_total(trace, i));
    ss_table_cell(table, "%s", values ? values : "");
    ss_table_cell(table, "%s", ss_trace_source(trace));
  }
  return ss_table_print_free(table, true, stream, error);
}

static struct ss_table *list_tensors(const struct ss_trace *trace) {
  static const char *const heads[] = {"<tensor", "rows", "row_width", "dtype", "dense size", "lookups", "values"};
  struct ss_table *table = ss_table_new(sizeof heads / sizeof *heads, heads);
  char bytes[32];
  for (size_t i = 0; table && i < ss_trace_tensors(trace); i++) {
    const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
    const char *values = values_dtype(trace, i);
    ss_table_cell(table, "%s", tensor->name);
    ss_table_cell(table, "%" PRIu64, tensor->rows);
    ss_table_cell(table, "%" PRIu32, tensor->row_width);
    ss_table_cell(table, "%s", ss_dtype_name(tensor->dtype));
    ss_table_cell(table, "%s", ss_units_format(bytes, sizeof bytes, SS_BYTES, (double)dense_bytes(tensor)));
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
  return ss_table_print_free(table, false, stream, error);
}

static struct ss_table *list_facts(const struct ss_trace *trace) {
  static const char *const heads[] = {"<trace", "<"};
  struct ss_table *table = ss_table_new(2, heads);
  char hash[32];
  const double tokens = total_tokens(trace);
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
  if (!ss_table_print_free(list_facts(trace), false, stream, error)) return false;
  (void)fputs("\n", stream);
  return ss_table_print_free(list_tensors(trace), false, stream, error) && print_dense(trace, stream, error);
}

struct answer {
  const struct ss_trace *trace;
  enum ss_format format;
};

static bool print(const void *context, FILE *stream, struct ss_error *error) {
  static bool (*const printers[])(const void *, FILE *, struct ss_error *) = {
      [SS_TABLE] = print_tables, [SS_JSON] = print_json, [SS_CSV] = print_csv};
  const struct answer *a = context;
  return printers[a->format](a->trace, stream, error);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  struct ss_trace *trace;
  if (!a->file) return ss_fail(error, SS_BAD_INPUT, "trace info: name a trace");
  if (!ss_trace_open(a->file, &trace, error)) return false;
  const bool good = ss_output_write(call->output, print, &(struct answer){trace, call->format}, error);
  ss_trace_close(trace);
  return good;
}

static const struct ss_option_spec options[] = {
    {"", SS_TEXT(struct arguments, file), .value = "file"}, SS_OPTIONS_OUTPUT, {.name = NULL}};

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
