#include "base/options.h"
#include "base/units.h"
#include "cli/cmd_trace.h"

#include <cjson/cJSON.h>
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
              cJSON_AddStringToObject(root, "trace_hash", trace_hash_text(trace, hash, sizeof hash)) &&
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
  if (root && fill_json(root, trace)) return trace_print_json(root, stream, error);
  cJSON_Delete(root);
  return trace_print_json(NULL, stream, error);
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
    ss_table_cell(table, "%s", trace_hash_text(trace, hash, sizeof hash));
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
  return trace_print_table(table, true, stream, error);
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
  return trace_print_table(table, false, stream, error);
}

static struct ss_table *list_facts(const struct ss_trace *trace) {
  static const char *const heads[] = {"<trace", "<"};
  struct ss_table *table = ss_table_new(2, heads);
  char hash[32];
  const double tokens = total_tokens(trace);
  ss_table_cell(table, "file");
  ss_table_cell(table, "%s", ss_trace_name(trace));
  ss_table_cell(table, "hash");
  ss_table_cell(table, "%s", trace_hash_text(trace, hash, sizeof hash));
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
