/* Good files with odd numbers in them: plain bytes are refused at once, these get inside. An input is a list of
 * choices, of which the first says what is made: a trace, whose header fits its data but for what is chosen; a small
 * scenario with edits, which is run; or the results of an earlier program, which are compared. */
#include "choices.h"
#include "edits.h"
#include "in_memory.h"
#include "query/baselines.h"
#include "schemes/registry.h"
#include "study/store.h"
#include "trace/file/trace.h"
#include "trace/measure/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct ss_error *error) {
  if (error->status != SS_BAD_INPUT && error->status != SS_UNPROVEN) abort();
  if (strlen(error->text) < 10 || strchr(error->text, '\n')) abort();
}

/* --- traces ------------------------------------------------------------------------------------------------- */

static const int64_t numbers[] = {0,  1,  2,       3,         4,         5,          -1,        6,        7,
                                  49, 50, 1 << 20, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN};
enum { NUMBERS = sizeof numbers / sizeof *numbers, OFFSETS = 5, IDS = 6 };

static const char *dtype_of(struct choices *c, const char *good) {
  static const char *const others[] = {"I32", "U32", "I64", "F32", "F16", "BF16", "BOOL", "I63"};
  return choose(c, 4) < 3 ? good : others[choose(c, 8)];
}

/* A good number, or any. */
static long long near(struct choices *c, long long good) {
  return choose(c, 4) < 3 ? good : numbers[choose(c, NUMBERS)];
}

static void use(const struct ss_trace *trace) {
  struct ss_stats *stats = NULL;
  double most;
  for (size_t i = 0; i < ss_trace_tensors(trace); i++) {
    for (uint64_t t = 0; t < ss_trace_iterations(trace); t++)
      for (uint32_t r = 0; r < ss_trace_ranks(trace); r++)
        if (ss_trace_count(trace, i, t, r) > ss_trace_total(trace, i)) abort();
    if (ss_trace_values_most(trace, i, &most, NULL) && !(most >= 0 && isfinite(most))) abort();
  }
  if (ss_trace_stats(trace, (struct ss_stats_window){0}, &stats, NULL)) ss_stats_free(stats);
}

static void make_trace(struct choices *c) {
  char header[1200];
  int64_t data[OFFSETS + IDS + IDS];
  static const int64_t good[OFFSETS + IDS] = {0, 1, 3, 4, 6, 3, 49, 3, 3, 0, 7};
  for (int i = 0; i < OFFSETS + IDS; i++) data[i] = near(c, good[i]);
  for (int i = OFFSETS + IDS; i < OFFSETS + 2 * IDS; i++) data[i] = numbers[choose(c, NUMBERS)];
  const int n =
      snprintf(header, sizeof header,
               "{\"__metadata__\":{\"sparsync.version\":\"1\",\"iterations\":\"%lld\",\"ranks\":\"%lld\",\"pad_id\":"
               "\"%lld\",\"tensors\":"
               "\"[{\\\"name\\\":\\\"T\\\",\\\"rows\\\":%lld,\\\"row_width\\\":%lld,\\\"dtype\\\":\\\"%s\\\"}]\"},"
               "\"T.offsets\":{\"dtype\":\"%s\",\"shape\":[%lld],\"data_offsets\":[0,%lld]},"
               "\"T.rows\":{\"dtype\":\"%s\",\"shape\":[%lld],\"data_offsets\":[%lld,88]},"
               "\"T.values\":{\"dtype\":\"%s\",\"shape\":[%lld],\"data_offsets\":[88,%lld]}}",
               near(c, 2), near(c, 2), near(c, 0), near(c, 50), near(c, 2), dtype_of(c, "F32"), dtype_of(c, "I64"),
               near(c, OFFSETS), near(c, 40), dtype_of(c, "I64"), near(c, IDS), near(c, 40), dtype_of(c, "F32"),
               near(c, 2 * IDS), near(c, 136));
  const uint64_t length = (uint64_t)n;
  uint8_t *file = malloc(8 + length + sizeof data); /* of its exact size, for the sanitizer */
  struct ss_trace *trace;
  struct ss_error error = {0};
  if (!file || length >= sizeof header) abort();
  memcpy(file, &length, 8);
  memcpy(file + 8, header, length);
  memcpy(file + 8 + length, data, sizeof data);
  if (!ss_trace_open_memory("made", file, 8 + length + sizeof data, &trace, &error)) check_refusal(&error);
  else use(trace), ss_trace_close(trace);
  free(file);
}

/* --- scenarios ---------------------------------------------------------------------------------------------- */

static const char *const values[] = {"0",       "1",         "2",    "3",      "4",       "7",           "8",
                                     "64",      "-1",        "0.5",  "1e-300", "1e300",   "1e308",       "\"1%\"",
                                     "\"1/3\"", "\"1e400\"", "null", "true",   "\"\"",    "\"nothing\"", "4294967296",
                                     "[]",      "{}",        "1e-9", "12",     "\"100%\""};
static const char *const paths[] = {"cluster.latency",
                                    "cluster.bandwidth",
                                    "cluster.gpus_per_node",
                                    "cluster.nics",
                                    "cluster.window",
                                    "cluster.intra.latency",
                                    "cluster.intra.bandwidth",
                                    "device.launch",
                                    "device.efficiency",
                                    "device.memory_bandwidth",
                                    "index_bytes",
                                    "granularity",
                                    "sizes",
                                    "hierarchy",
                                    "ranks",
                                    "iterations",
                                    "schemes[0].k",
                                    "schemes[0].density",
                                    "schemes[0].servers",
                                    "schemes[0].teams",
                                    "schemes[0].lambda",
                                    "schemes[0].buckets",
                                    "schemes[0].hashes",
                                    "schemes[0].block",
                                    "schemes[0].refresh",
                                    "schemes[0].seed",
                                    "schemes[0].aggregators",
                                    "trace.gradient.rho",
                                    "trace.gradient.layers",
                                    "trace.gradient.sigma",
                                    "trace.gradient.scale",
                                    "trace.gradient.seed",
                                    "select.k",
                                    "select.topk",
                                    "select.blocks",
                                    "select.block"};
enum { EDITS = 6, VALUES = sizeof values / sizeof *values, PATHS = sizeof paths / sizeof *paths };

static void run_it(const struct ss_study *study) {
  const struct ss_run_options options = {.jobs = 1};
  struct ss_results results;
  struct ss_error error = {0};
  size_t count;
  const struct ss_point *job = ss_study_points(study, &count);
  for (size_t i = 0; i < count; i++)
    if (job[i].ranks > 16 || job[i].end - job[i].first > 4) return; /* only slow */
  if (!ss_study_run(study, &options, &results, &error)) {
    if (error.status == SS_UNPROVEN) abort(); /* a lossless scheme that is not */
    return;
  }
  for (size_t i = 0; i < results.count; i++)
    for (size_t k = 0; k < SS_RESULT_FIELDS; k++)
      if (isinf(ss_result_value(&results.result[i], k))) abort();
  ss_results_free(&results);
}

/* Read once. */
static const struct ss_costs *all_costs(void) {
  static struct ss_costs costs;
  if (costs.count == 0 && !ss_costs_open(NULL, 0, &costs, NULL)) abort();
  return &costs;
}

static void make_scenario(struct choices *c) {
  char text[600], path[64], edit[80];
  cJSON *edits = cJSON_CreateObject();
  uint32_t schemes = 0;
  struct ss_study *study;
  struct ss_error error = {0};
  while (ss_schemes()[schemes]) schemes++;
  const char *scheme = ss_schemes()[choose(c, schemes)]->name;
  const int n = snprintf(
      text, sizeof text,
      "{\"trace\": {\"gradient\": {\"elements\": 97, \"iterations\": 4}}, \"ranks\": 4, \"iterations\": 2,"
      "\"cluster\": {\"latency\": \"1us\", \"bandwidth\": \"1GB/s\", \"gpus_per_node\": 2, \"model\": \"%s\","
      "\"intra\": {\"latency\": \"1us\", \"bandwidth\": \"9GB/s\"}}, \"schemes\": [{\"name\": \"%s\"}]}",
      choose(c, 2) ? "fair" : "alpha-beta", scheme);
  const int file = in_memory(text, (size_t)n, path, sizeof path);
  const struct ss_request request = {.file = path, .edits = edits, .costs = all_costs()};
  for (uint32_t all = choose(c, EDITS + 1); all > 0; all--) {
    snprintf(edit, sizeof edit, "%s=%s", paths[choose(c, PATHS)], values[choose(c, VALUES)]);
    add_edit(edits, edit);
  }
  if (!ss_study_open(&request, &study, &error)) check_refusal(&error);
  else run_it(study), ss_study_close(study);
  cJSON_Delete(edits);
  put_away(file, path);
}

/* --- results ------------------------------------------------------------------------------------------------ */

static void make_results(struct choices *c) {
  char text[4000], path[64];
  int n = snprintf(text, sizeof text,
                   "{\"sparsync\": \"1\", \"points\": [{\"label\": \"a\", \"ranks\": %s, \"tensor\": \"T\", \"at\": "
                   "{}, \"exact\": %s",
                   choose(c, 3) ? "4" : values[choose(c, VALUES)], choose(c, 3) ? "true" : values[choose(c, VALUES)]);
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++)
    if (choose(c, 8) < 7)
      n += snprintf(text + n, sizeof text - (size_t)n, ", \"%s\": %s", ss_result_fields[i].name,
                    choose(c, 4) < 3 ? "1" : values[choose(c, VALUES)]);
  n += snprintf(text + n, sizeof text - (size_t)n, "}]}");
  struct ss_result one = {.setting.scheme = ss_schemes()[0], .ranks = 4, .tensor = "T", .exact = SS_YES};
  snprintf(one.setting.label, sizeof one.setting.label, "a");
  const struct ss_results now = {&one, 1};
  const int file = in_memory(text, (size_t)n, path, sizeof path);
  struct ss_doc *doc;
  struct ss_diff diff;
  struct ss_error error = {0};
  if (!ss_results_read(path, &doc, &error)) {
    check_refusal(&error);
  } else {
    if (!ss_diff_make(doc, NULL, &now, "now", 1e-9, &diff, &error)) check_refusal(&error);
    else if (diff.same + diff.moved + diff.fresh != 1) abort();
    else ss_diff_free(&diff);
    ss_doc_free(doc);
  }
  put_away(file, path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct choices c = {data, data + size};
  switch (choose(&c, 3)) {
  case 0: make_trace(&c); break;
  case 1: make_scenario(&c); break;
  default: make_results(&c); break;
  }
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
