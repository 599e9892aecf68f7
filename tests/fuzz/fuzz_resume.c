/* Results that a run is to go on with: points of true results of which texts, numbers and hashes were changed. An
 * input is a list of choices. What is taken for known is what a run would compute: nothing that was changed is
 * believed. */
#include "base/json.h"
#include "choices.h"
#include "study/results.h"
#include "study/store.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EDITS = 4, POINTS = 3 };
static char folder[] = "/tmp/fuzz-resume-XXXXXX", file[64], partial[80];
static struct ss_results truth;

static void leave(void) {
  (void)unlink(file);
  (void)unlink(partial);
  (void)rmdir(folder);
}

/* Once: the results that files are made of. */
static void compute(void) {
  static struct ss_study *study; /* whose texts the results show */
  static struct ss_costs costs;
  cJSON *document = cJSON_Parse(
      "{\"trace\": {\"gradient\": {\"elements\": 97, \"iterations\": 2}}, \"ranks\": 4, \"iterations\": 2,"
      "\"cluster\": {\"latency\": \"1us\", \"bandwidth\": \"1GB/s\", \"jitter\": {\"per\": \"pair\", \"bandwidth\": "
      "[[0, 0.5], [1, 1]], \"draws\": 3}}, \"schemes\": [\"allreduce\", \"allgather\", "
      "\"ps\"]}");
  const struct ss_run_options options = {.jobs = 1, .per_rank = true, .per_iteration = true};
  const struct ss_request request = {.document = document, .costs = &costs};
  if (!ss_costs_open(NULL, 0, &costs, NULL) || !ss_study_open(&request, &study, NULL) ||
      !ss_study_run(study, &options, &truth, NULL) || truth.count != POINTS || !mkdtemp(folder))
    abort();
  cJSON_Delete(document);
  (void)snprintf(file, sizeof file, "%s/results.json", folder);
  (void)snprintf(partial, sizeof partial, "%s.partial", file);
  (void)atexit(leave);
}

/* --- changing --------------------------------------------------------------------------------------------- */

static cJSON *odd_value(struct choices *c) {
  static const char *const values[] = {
      "0",     "-1", "1e308", "-1e-300", "null", "true", "false", "\"\"",
      "\"a\"", "[]", "{}",    "[1]",     "4",    "0.5",  "1e400", "\"xxh128:0123456789abcdef0123456789abcdef\""};
  return cJSON_Parse(values[choose(c, sizeof values / sizeof *values)]);
}

/* One field of the point, or of an object or list in it, is another, or gone. */
static void change(struct choices *c, cJSON *point) {
  cJSON *in = point, *at = NULL;
  for (uint32_t depth = 0;; depth++) {
    const int count = cJSON_GetArraySize(in);
    if (count == 0) return;
    at = cJSON_GetArrayItem(in, (int)choose(c, (uint32_t)count));
    if (depth == 2 || !at->child || choose(c, 2) == 0) break;
    in = at;
  }
  if (choose(c, 8) == 7) {
    cJSON_Delete(cJSON_DetachItemViaPointer(in, at));
    return;
  }
  cJSON *value = odd_value(c);
  if (at->string) {
    value->string = strdup(at->string);
    if (!value->string) abort();
  }
  if (!cJSON_ReplaceItemViaPointer(in, at, value)) abort();
}

static cJSON *make_point(struct choices *c, const struct ss_result *from) {
  cJSON *point = ss_result_json(from);
  if (!point) abort();
  for (uint32_t all = choose(c, EDITS + 1); all > 0; all--) change(c, point);
  return point;
}

static void save(const char *path, const char *text, size_t size) {
  FILE *stream = fopen(path, "w");
  if (!stream || fwrite(text, 1, size, stream) != size || fclose(stream) != 0) abort();
}

/* The journal: lines, of which the last may have no end. */
static void write_partial(struct choices *c) {
  static char text[1 << 16];
  struct written w = {text, sizeof text, 0};
  for (uint32_t i = 0, lines = choose(c, POINTS + 1); i < lines; i++) {
    cJSON *point = make_point(c, &truth.result[choose(c, POINTS)]);
    char *line = ss_json_exact(point, false);
    put(&w, "%s%s", line, choose(c, 16) == 15 ? "" : "\n");
    free(line);
    cJSON_Delete(point);
  }
  save(partial, w.text, w.size);
}

static void write_results(struct choices *c) {
  cJSON *all = ss_results_json(&truth, "study"), *points = cJSON_GetObjectItem(all, "points");
  for (int i = 0; i < POINTS; i++)
    if (!cJSON_ReplaceItemInArray(points, i, make_point(c, &truth.result[i]))) abort();
  char *text = ss_json_exact(all, false);
  if (!text) abort();
  save(file, text, strlen(text));
  free(text);
  cJSON_Delete(all);
}

/* --- reading ---------------------------------------------------------------------------------------------- */

static bool alike(double a, double b) {
  return isnan(a) ? isnan(b) : a >= b && a <= b;
}

static void check(const struct ss_result *is, const struct ss_result *wanted) {
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++)
    if (!alike(ss_result_value(is, i), ss_result_value(wanted, i))) abort();
  for (uint64_t i = 0; i < wanted->iterations; i++)
    if (!is->iteration_s || !alike(is->iteration_s[i], wanted->iteration_s[i])) abort();
  for (uint32_t r = 0; r < wanted->ranks; r++)
    if (!is->rank_sent || !alike(is->rank_sent[r], wanted->rank_sent[r])) abort();
  if (is->exact != wanted->exact || strcmp(is->bound_by, wanted->bound_by) != 0) abort();
}

static void recall(struct ss_store *store, const struct ss_result *wanted) {
  const struct ss_run_options options = {.per_rank = true, .per_iteration = true};
  struct ss_result point = *wanted;
  struct ss_error error = {0};
  bool known;
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++) ss_result_set_value(&point, i, NAN);
  point.exact = SS_UNKNOWN;
  point.bound_by[0] = '\0';
  point.iteration_s = point.rank_sent = point.rank_received = point.draw_s = NULL;
  if (!ss_store_recall(store, &options, &point, &known, &error)) {
    if (error.status != SS_BAD_INPUT || strlen(error.text) < 10 || strchr(error.text, '\n')) abort();
    return;
  }
  if (known) check(&point, wanted);
  ss_result_free_arrays(&point);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct choices c = {data, data + size};
  struct ss_store *store;
  struct ss_error error = {0};
  size_t dropped;
  if (truth.count == 0) compute();
  write_partial(&c);
  if (choose(&c, 2)) write_results(&c);
  else (void)unlink(file);
  if (!ss_store_open(file, true, true, &store, &dropped, &error)) {
    if (error.status != SS_BAD_INPUT || strlen(error.text) < 10 || strchr(error.text, '\n')) abort();
    return 0;
  }
  for (size_t i = 0; i < truth.count; i++) recall(store, &truth.result[i]);
  ss_store_close(store, false);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
