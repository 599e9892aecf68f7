#include "base/json.h"
#include "cli/command.h"
#include "report/columns.h"
#include "study/trace_json.h"

struct arguments {
  struct ss_call call;
  const char *file, **tensor;
  size_t tensors;
};

/* All of them print the tree of ss_trace_info_json. */
static bool print_json(const void *info, FILE *stream, struct ss_error *error) {
  return ss_json_print(info, stream, error);
}

/* The tensors, each with what the tree says of the whole trace; `none`: what is shown where there are no values. */
static cJSON *records(const cJSON *info, const char *none) {
  static const char *const of_trace[] = {"trace", "trace_hash", "iterations", "ranks", "source"};
  cJSON *list = cJSON_Duplicate(ss_json_get(info, "tensors"), true);
  for (cJSON *t = list ? list->child : NULL; t; t = t->next) {
    for (size_t i = 0; i < sizeof of_trace / sizeof *of_trace; i++)
      cJSON_AddItemToObject(t, of_trace[i], cJSON_Duplicate(ss_json_get(info, of_trace[i]), true));
    if (cJSON_IsNull(ss_json_get(t, "values"))) cJSON_ReplaceItemInObject(t, "values", cJSON_CreateString(none));
  }
  return list;
}

static bool print_csv(const void *info, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {{"trace", "trace", NULL},
                                             {"trace_hash", "trace_hash", NULL},
                                             {"iterations", "iterations", SS_EXACT},
                                             {"ranks", "ranks", SS_EXACT},
                                             {"tensor", "name", NULL},
                                             {"rows", "rows", SS_EXACT},
                                             {"row_width", "row_width", SS_EXACT},
                                             {"dtype", "dtype", NULL},
                                             {"bytes", "bytes", SS_EXACT},
                                             {"lookups", "lookups", SS_EXACT},
                                             {"values", "values", NULL},
                                             {"bags", "bags", SS_EXACT},
                                             {"pooling", "pooling", SS_EXACT},
                                             {"source", "source", NULL}};
  return ss_records_print(columns, records(info, ""), true, stream, error);
}

/* "mine under as-captured on 4 ranks, gloo: 22 ms an iteration (20 steps)" */
static void add_training(struct ss_table *table, const cJSON *training) {
  const char *backend = ss_json_word(training, "backend");
  char text[400];
  if (!cJSON_IsObject(training)) return;
  snprintf(text, sizeof text, "%.100s under %.100s on %.0f ranks%s%.40s: %s an iteration (median of %.0f)",
           ss_json_word(training, "workload"), ss_json_word(training, "system"), ss_json_number(training, "world"),
           backend ? ", " : "", backend ? backend : "", ss_shown(SS_TIME, ss_json_number(training, "iteration_s")),
           ss_json_number(training, "steps"));
  ss_table_texts(table, "captured from", text);
}

static struct ss_table *list_facts(const cJSON *info) {
  static const char *const facts[][2] = {{"file", "trace"},
                                         {"hash", "trace_hash"},
                                         {"source", "source"},
                                         {"iterations", "iterations"},
                                         {"ranks", "ranks"},
                                         {"gpus per node", "gpus_per_node"},
                                         {"row of padding", "pad_id"},
                                         {"tokens", "tokens"}};
  struct ss_table *table = ss_table_of("<trace", "<");
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    const cJSON *fact = ss_json_get(info, facts[i][1]);
    if (cJSON_IsNull(fact)) continue;
    ss_table_texts(table, facts[i][0]);
    if (cJSON_IsString(fact)) ss_table_texts(table, fact->valuestring);
    else ss_table_number(table, "%.0f", fact->valuedouble);
  }
  add_training(table, ss_json_get(info, "training"));
  return table;
}

static bool print_tables(const void *info, FILE *stream, struct ss_error *error) {
  static const struct ss_column tensors[] = {
      {"<tensor", "name", NULL},  {"rows", "rows", "%.0f"},     {"row_width", "row_width", "%.0f"},
      {"dtype", "dtype", NULL},   {"dense size", "bytes", "B"}, {"lookups", "lookups", "%.0f"},
      {"values", "values", NULL}, {"?bags", "bags", "%.0f"},    {"?lookups/bag", "pooling", "%.4g"}};
  static const struct ss_column dense[] = {{"<dense tensor", "name", NULL}, {"size", "bytes", "B"}};
  if (!ss_table_print_free(list_facts(info), false, stream, error)) return false;
  (void)fputs("\n", stream);
  if (!ss_records_print(tensors, records(info, "none"), false, stream, error)) return false;
  if (cJSON_GetArraySize(ss_json_get(info, "dense")) == 0) return true;
  (void)fputs("\n", stream);
  return ss_records_print(dense, cJSON_Duplicate(ss_json_get(info, "dense"), true), false, stream, error);
}

static bool check_values(const struct ss_trace *trace, struct ss_error *error) {
  double most;
  for (size_t i = 0; i < ss_trace_tensors(trace); i++)
    if (!ss_trace_values_most(trace, i, &most, error)) return ss_fail_prefix(error, "%s", ss_trace_name(trace));
  return true;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  SS_AUTO_TRACE struct ss_trace *trace = NULL;
  SS_AUTO(ss_captured_close) struct ss_captured captured = {0};
  if (!a->file) return ss_fail(error, SS_BAD_INPUT, "name a trace");
  if (!ss_trace_open(a->file, &trace, error) || !ss_trace_keep(trace, a->tensor, a->tensors, error) ||
      !check_values(trace, error))
    return false;
  const char *training = ss_trace_training(trace);
  if (training && !ss_captured_read(a->file, training, &captured, error)) return false;
  SS_AUTO_JSON cJSON *info = ss_trace_info_json(trace, &captured);
  return (info || ss_fail_memory(error, "telling of a trace")) &&
         ss_call_write(call, info, print_tables, print_json, print_csv, error);
}

static const struct ss_option_spec options[] = {{"", SS_TEXT(struct arguments, file), .value = "file"},
                                                SS_OPTION_TENSOR_OF(SS_TEXTS(struct arguments, tensor, tensors)),
                                                SS_OPTIONS_OUTPUT,
                                                {.name = NULL}};

const struct ss_command ss_command_trace_info = {
    .name = "info",
    .summary = "what a trace file holds",
    .usage = "usage: sparsync trace info FILE [OPTION...]\n\n"
             "Checks a trace completely and prints what it holds: iterations, ranks, tensors, where it came from. In "
             "CSV each tensor has a line.\n",
    .examples = "  sparsync trace info traces/bible-kjv-16.safetensors\n",
    .options = options,
    .size = sizeof(struct arguments),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
