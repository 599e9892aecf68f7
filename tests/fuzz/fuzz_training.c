/* Workloads and systems with odd numbers in them: an input is a list of choices. What is taken is scheduled, and two
 * iterations are played. */
#include "base/json.h"
#include "choices.h"
#include "model_checks.h"
#include "study/captured.h"
#include "train/iterate.h"
#include "train/system.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MODULES = 6, PERIOD = 2, ITERATIONS = 5 };
#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof *(list)))

static const char *const odd[] = {
    "0",       "-1",       "1",       "3",         "0.5",        "1e-300",           "1e308",
    "1e400",   "\"1MiB\"", "\"1us\"", "\"1e400\"", "4294967296", "9007199254740993", "null",
    "true",    "\"\"",     "[]",      "{}",        "[\"m0\"]",   "\"m1\"",           "\"full\"",
    "\"1.5x\""};

static const char *value(struct choices *c, const char *good) {
  return perhaps(c, good, odd, COUNT(odd));
}

static void member(struct choices *c, struct written *w, const char *key, const char *good) {
  if (choose(c, 10) < 9) put(w, ", \"%s\": %s", key, value(c, good));
}

/* --- documents -------------------------------------------------------------------------------------------- */

static void write_table(struct choices *c, struct written *w) {
  member(c, w, "rows", "64");
  member(c, w, "row_width", "4");
  if (choose(c, 3) == 0) {
    put(w, ", \"synth\": {\"lookups\": %s", value(c, "16"));
    if (choose(c, 2)) put(w, ", \"zipf\": %s, \"seed\": %s", value(c, "1"), value(c, "1"));
    if (choose(c, 2)) put(w, ", \"hot\": %s, \"hot_rows\": %s", value(c, "0.5"), value(c, "4"));
    put(w, "}");
  } else {
    put(w, ", \"counts\": {\"lookups\": %s, \"coalesced\": %s, \"prior\": %s}", value(c, "32"), value(c, "16"),
        value(c, "8"));
  }
}

static void write_module(struct choices *c, struct written *w, uint32_t i) {
  const bool table = choose(c, 3) == 0;
  put(w, "%s{\"name\": \"m%u\", \"kind\": \"%s\"", i ? ", " : "", choose(c, 16) < 15 ? i : 0,
      table ? "embedding" : "dense");
  if (table) write_table(c, w);
  else member(c, w, "bytes", "4096");
  member(c, w, "forward_s", "\"1ms\"");
  member(c, w, "backward_s", "0.002");
  if (!table && choose(c, 2)) put(w, ", \"after\": [\"m%u\"]", choose(c, MODULES));
  put(w, "}");
}

static void write_workload(struct choices *c, struct written *w) {
  put(w, "{\"name\": \"w\"");
  if (choose(c, 2)) member(c, w, "tokens", "100");
  if (choose(c, 2)) member(c, w, "iterations", "4");
  put(w, ", \"modules\": [");
  for (uint32_t i = 0, all = 1 + choose(c, MODULES); i < all; i++) write_module(c, w, i);
  put(w, "]}");
}

static void write_system(struct choices *c, struct written *w) {
  static const char *const sparse[] = {"alltoall", "allgather", "ps", "allreduce", "zen", "oktopk", "nothing"};
  static const char *const dense[] = {"allreduce", "ps", "oktopk", "allgather"};
  static const char *const schedules[] = {"fifo", "priority", "horizontal", "2d", "later"};
  const uint32_t schedule = choose(c, 16) < 15 ? choose(c, 4) : 4;
  put(w, "{\"name\": \"s\", \"sparse\": {\"name\": \"%s\"", sparse[choose(c, 7)]);
  if (choose(c, 4) == 3) member(c, w, "index_bytes", "8");
  put(w, "}, \"dense\": {\"name\": \"%s\"", dense[choose(c, 4)]);
  if (choose(c, 4) == 3) member(c, w, "k", "16");
  put(w, "}, \"schedule\": \"%s\"", schedules[schedule]);
  const char *lists = "[[\"m1\", \"m0\"], [\"m2\"]]";
  if (choose(c, 2)) member(c, w, schedule == 0 ? "bucket" : "partition", choose(c, 4) == 3 ? lists : "\"4KiB\"");
  if (choose(c, 8) == 7) member(c, w, "select", "{\"k\": 8}");
  put(w, "}");
}

static struct ss_doc *parse(const struct written *w) {
  struct ss_doc *doc;
  struct ss_error error = {0};
  if (ss_doc_parse("made", w->text, w->size, &doc, &error)) return doc;
  check_refusal(&error);
  return NULL;
}

/* --- playing ---------------------------------------------------------------------------------------------- */

/* No iteration ends before the one before it, and the path explains all of the recorded time. */
static void check_played(const struct ss_timetable *t, const struct ss_iterate_options *options,
                         const struct ss_iterated *out) {
  struct ss_path_part *path;
  size_t parts;
  struct ss_error error = {0};
  double sum = 0;
  for (uint64_t i = 1; i < options->iterations; i++)
    if (!(out->end[i] >= out->end[i - 1])) abort();
  if (!(out->min <= out->max) || !is_time(out->mean) || !is_time(out->own) || !is_time(out->busy)) abort();
  if (!(isnan(out->hidden) || (out->hidden >= -1e-9 && out->hidden <= 1 + 1e-9))) abort();
  if (!ss_path_find(t, out, &path, &parts, &error)) {
    check_refusal(&error);
    return;
  }
  for (size_t i = 0; i < parts; i++) sum += path[i].seconds;
  const double recorded = out->end[options->iterations - 1] - out->window;
  if (fabs(sum - recorded) > 1e-6 * recorded) abort();
  free(path);
}

static void play(struct choices *c, struct ss_timetable *t) {
  static const double times[] = {0, 1e-3, 1e-6, 1, 1e-300, 1e100, 1e300, 2e-3};
  double seconds[PERIOD], sent[PERIOD] = {1, 2};
  const struct ss_iterate_options options = {.iterations = ITERATIONS,
                                             .warmup = 1 + choose(c, 2),
                                             .compute = 1,
                                             .sigma = choose(c, 4) == 3 ? 0.1 : 0,
                                             .seed = 1,
                                             .recorded = 2};
  struct ss_iterated out = {0};
  struct ss_error error = {0};
  for (uint32_t i = 0; i < PERIOD; i++) seconds[i] = times[choose(c, 3) < 2 ? 1 : choose(c, COUNT(times))];
  for (uint32_t i = 0; i < t->tasks; i++) {
    t->task[i].seconds = seconds;
    t->task[i].sent = sent;
    t->task[i].period = PERIOD;
  }
  t->split = seconds;
  t->split_period = PERIOD;
  if (!ss_iterate(t, &options, &out, &error)) check_refusal(&error);
  else check_played(t, &options, &out);
  ss_iterated_free(&out);
}

static void schedule(struct choices *c, const struct ss_workload *w, const struct ss_system *s) {
  const struct ss_policy policy = ss_system_policy(s);
  struct ss_timetable table = {0};
  struct ss_error error = {0};
  for (uint32_t i = 0; i < w->modules; i++) /* cut into more parts than anybody waits for */
    if (policy.partition > 0 && w->module[i].bytes / policy.partition > 1000) return;
  if (!ss_timetable_make(w, &policy, 1 + choose(c, 3), &table, &error)) check_refusal(&error);
  else play(c, &table);
  ss_timetable_free(&table);
}

/* Both as what a captured trace says of itself. */
static void read_capture(struct choices *c, const char *workload, const char *system) {
  static char text[1 << 15];
  struct written w = {text, sizeof text, 0};
  struct ss_captured captured;
  struct ss_error error = {0};
  put(&w, "{\"run\": \"0123456789abcdef0123456789abcdef\", \"world\": %s, \"workload\": %s, \"system\": %s",
      value(c, "4"), workload, system);
  member(c, &w, "gpus_per_node", "2");
  member(c, &w, "accumulation", "1");
  member(c, &w, "unknown", "[\"x\"]");
  put(&w, ", \"measured\": {\"iteration_s\": [0.1, %s], \"quiet_iteration_s\": %s}}", value(c, "0.2"),
      value(c, "0.05"));
  if (!ss_captured_read("made", text, &captured, &error)) check_refusal(&error);
  else if (!(captured.low <= captured.time && captured.time <= captured.high) || captured.steps != 2) abort();
  ss_captured_close(&captured);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char text[2][1 << 13];
  struct choices c = {data, data + size};
  struct written of_workload = {text[0], sizeof text[0], 0}, of_system = {text[1], sizeof text[1], 0};
  struct ss_workload workload = {0};
  struct ss_system system = {0};
  struct ss_error error = {0};
  write_system(&c, &of_system);
  write_workload(&c, &of_workload);
  struct ss_doc *first = parse(&of_workload), *second = parse(&of_system);
  const bool taken = first && ss_workload_read(ss_doc_root(first), &workload, &error);
  if (first && !taken) check_refusal(&error);
  if (taken) check_modules(&workload);
  if (second && !ss_system_read(ss_doc_root(second), &system, &error)) check_refusal(&error);
  else if (second && taken) schedule(&c, &workload, &system);
  read_capture(&c, text[1], text[0]);
  ss_workload_free(&workload);
  ss_system_free(&system);
  ss_doc_free(first);
  ss_doc_free(second);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
