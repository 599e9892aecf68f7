/* Memory that is short, at every place that asks for some: a call is made once for each that no call before it came
 * to, and there alone it is refused. Either the call says so, and has left nothing behind, or what it answers is what
 * it answers otherwise. The linker sends what asks for memory here (tests/meson.build). Leaks are the sanitizers' to
 * see, and glibc's count of bytes in use. */
#include "support.h"

#include "base/file.h"
#include "base/json.h"
#include "library/sparsync.h"
#include "schemes/registry.h"
#include "study/study_internal.h"

#include <ctype.h>
#include <execinfo.h>
#include <unistd.h>

enum { CALLERS = 3, PLACES = 1 << 14, DEPTH = 12 };

static bool listening, noting;      /* in a call under test; its places are asked for */
static uint64_t asked, refused;     /* so many times; the one refused, from 1 on, 0: none */
static uint64_t place[PLACES];      /* hashes of who asked, in all calls */
static uint64_t first_from[PLACES]; /* the count of this call's first request from there, 0: none, or tried before */
static uint32_t places;
static void *who[DEPTH]; /* the callers of the one that was refused, for addr2line */
static int who_asked;

/* Who asks is the chain of its callers; the same one is asked for memory many times, and treats all of them alike. */
static void note_place(void) {
  void *caller[CALLERS + 2];
  const int depth = backtrace(caller, CALLERS + 2);
  uint64_t hash = 0x9e3779b97f4a7c15;
  for (int i = 2; i < depth; i++) hash = (hash ^ (uintptr_t)caller[i]) * 0x100000001b3;
  uint32_t at = (uint32_t)(hash >> 32) % PLACES;
  while (place[at] && place[at] != hash) at = (at + 1) % PLACES;
  if (place[at]) return;
  assert_true(++places < PLACES / 2);
  place[at] = hash;
  first_from[at] = asked;
}

static __attribute__((noinline)) bool refuses(void) {
  if (!listening) return false;
  asked++;
  if (noting) note_place();
  if (asked != refused) return false;
  who_asked = backtrace(who, DEPTH);
  return true;
}

#define WRAPPED(type, name, parameters, ...)                                                                         \
  type __real_##name parameters;                                                                                     \
  type __wrap_##name parameters;                                                                                     \
  type __wrap_##name parameters {                                                                                    \
    return refuses() ? NULL : __real_##name(__VA_ARGS__);                                                            \
  }

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's --wrap wants these names
WRAPPED(void *, ss_alloc, (size_t count, size_t size), count, size)
WRAPPED(void *, ss_alloc_zero, (size_t count, size_t size), count, size)
WRAPPED(void *, ss_realloc, (void *old, size_t count, size_t size), old, count, size)
WRAPPED(void *, ss_arena_alloc, (struct ss_arena * arena, size_t count, size_t size), arena, count, size)
WRAPPED(void *, ss_arena_zero, (struct ss_arena * arena, size_t count, size_t size), arena, count, size)
WRAPPED(const char *, ss_arena_text, (struct ss_arena * arena, const char *text), arena, text)
WRAPPED(char *, strdup, (const char *text), text)
WRAPPED(char *, strndup, (const char *text, size_t size), text, size)
WRAPPED(FILE *, open_memstream, (char **text, size_t *size), text, size)
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

/* --- calls ---------------------------------------------------------------------------------------------------- */

struct call {
  const char *document;
  bool (*ask)(struct ss_request *request, struct ss_answer **out, struct ss_error *error);
  bool (*tell)(const char *document, char **text, struct ss_error *error); /* instead of what is asked */
};

/* The answer's JSON; false and the error, and then nothing else. */
static bool answer(const struct call *call, char **json, struct ss_error *error) {
  struct ss_answer *found = NULL;
  struct ss_request *request = ss_request_new();
  bool good = request || ss_fail_memory(error, "making a request");
  if (good) ss_request_use_threads(request, 1);
  good = good && ss_request_parse(request, call->document, error) && call->ask(request, &found, error);
  assert_true(good == (found != NULL));
  const char *text = ss_answer_json(found);
  if (good && !text) good = ss_fail_memory(error, "printing an answer");
  listening = false;
  *json = good ? strdup(text) : NULL;
  ss_answer_free(found);
  ss_request_free(request);
  return good;
}

/* Bags of two tables, written to a file, whose bytes tell. */
static bool tell_trace(const char *name, char **text, struct ss_error *error) {
  static const uint64_t offsets[] = {0, 3, 5}, bags[] = {0, 3, 5}, ends[] = {0, 1, 1, 3, 4, 5};
  static const int64_t ids[] = {7, 1, 7, 1, 2};
  const struct ss_tensor_ids tensor[] = {{"a", 8, 4, 4, offsets, ids, NULL, NULL},
                                         {"b", 8, 4, 4, offsets, ids, bags, ends}};
  struct ss_trace *trace = NULL;
  char folder[] = "/tmp/sparsync-memory-XXXXXX", path[64];
  size_t size;
  listening = false;
  assert_non_null(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  listening = true;
  const bool good = ss_trace_of_ids(1, 2, 2, tensor, &trace, error) && ss_trace_save(path, trace, error);
  listening = false;
  ss_trace_close(trace);
  FILE *file = fopen(path, "rb");
  assert_true(good == (file != NULL)); /* whole or not at all */
  (void)unlink(path);
  assert_int_equal(rmdir(folder), 0);
  if (!file) return false;
  FILE *copy = open_memstream(text, &size);
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) fprintf(copy, "%02x", c);
  assert_int_equal(fclose(copy), 0);
  (void)fclose(file);
  return true;
}

/* Two steps of a training's tensor, the first of rows, the second of all. */
static bool tell_sync(const char *scheme, char **text, struct ss_error *error) {
  static const int64_t rows[] = {1, 5};
  static const double values[16] = {1, 2, -3, 4, 0, 0, 0.5, 1};
  const struct ss_sync_tensor tensor = {.scheme = scheme, .rows = 8, .row_width = 2, .ranks = 2};
  const struct ss_rank_gradient some[] = {{2, rows, values}, {1, rows, values + 2}}, all[] = {{8, NULL, values}, {0}};
  struct ss_sync *sync = NULL;
  struct ss_synced end = {0};
  bool good = ss_sync_open(&tensor, &sync, error) && ss_sync_step(sync, some, &end, error) &&
              ss_sync_step(sync, all, &end, error);
  listening = false;
  size_t size;
  FILE *copy = open_memstream(text, &size);
  for (uint64_t i = 0; good && i < end.count; i++) fprintf(copy, "%u %.17g\n", end.element[i], end.value[i]);
  assert_int_equal(fclose(copy), 0);
  ss_sync_close(sync);
  if (good) return true;
  free(*text);
  *text = NULL;
  return false;
}

static bool attempt(const struct call *call, uint64_t refuse, char **json, struct ss_error *error) {
  asked = 0;
  refused = refuse;
  *error = (struct ss_error){0};
  *json = NULL;
  listening = true;
  return call->tell ? call->tell(call->document, json, error) : answer(call, json, error);
}

static void judge(const struct call *call, bool good, const char *found, const char *wanted,
                  const struct ss_error *error) {
  const char *during = "out of memory while ", *told = strstr(error->text, during);
  if (good ? strcmp(found, wanted) == 0
           : error->status == SS_MACHINE && told && isalpha((unsigned char)told[strlen(during)]))
    return;
  backtrace_symbols_fd(who, who_asked, STDERR_FILENO);
  fail_msg("%s: memory was short, and: %s", call->document, good ? "another answer" : error->text);
}

static void refuse_each(const struct call *call) {
  struct ss_error error;
  char *wanted = NULL, *found;
  memset(first_from, 0, sizeof first_from);
  for (int i = 0; i < 2; i++) { /* the second time what stays in memory is there */
    free(wanted);
    noting = i > 0;
    if (!attempt(call, 0, &wanted, &error)) fail_msg("%s: %s", call->document, error.text);
  }
  noting = false;
  uint32_t told = 0, tried = 0;
  for (uint32_t i = 0; i < PLACES; i++) {
    if (!first_from[i]) continue;
    tried++;
    const bool good = attempt(call, first_from[i], &found, &error);
    judge(call, good, found, wanted, &error);
    told += !good;
    free(found);
  }
  print_message("%u places, %u told\n", tried, told);
  assert_true(told >= tried - tried / 4);
  assert_true(attempt(call, 0, &found, &error));
  assert_string_equal(found, wanted);
  free(found);
  free(wanted);
}

#define CLUSTER                                                                                                      \
  "\"cluster\": {\"gpus_per_node\": 2, \"latency\": \"1us\", \"bandwidth\": \"1GB/s\", \"intra\": "                  \
  "{\"latency\": \"1us\", \"bandwidth\": \"2GB/s\"}}"
#define TRACE "\"trace\": {\"uniform\": {\"rows\": 96, \"row_width\": 2, \"density\": 0.25}}, \"ranks\": [4]"

TEST(each_scheme_says_that_memory_is_short) {
  for (const struct ss_scheme *const *scheme = ss_schemes(); *scheme; scheme++) {
    char document[512];
    snprintf(document, sizeof document, "{" TRACE ", " CLUSTER ", \"schemes\": [\"%s\"]}", (*scheme)->name);
    refuse_each(&(struct call){document, ss_request_run, NULL});
  }
}

TEST(each_question_says_that_memory_is_short) {
  static const struct call calls[] = {
      {"{" TRACE ", " CLUSTER "}", ss_request_plan, NULL},
      {"{" TRACE ", " CLUSTER ", \"schemes\": [\"zen\", \"allreduce\"], \"expect\": [{\"that\": \"time_s\", \"of\": "
       "\"zen\", \"is\": \"<\", \"than\": \"1us\"}]}",
       ss_request_check, NULL},
      {"{\"M\": \"4MB\", \"density\": 0.5, \"ranks\": [4], \"bandwidth\": \"1GB/s\", \"latency\": \"10us\"}",
       ss_request_cost, NULL},
      {"{\"a\": \"allgather\", \"b\": \"allreduce\", \"over\": \"density\", \"M\": 64e3, \"row_width\": 4, "
       "\"ranks\": 4,"
       " \"latency\": 1e-6, \"bandwidth\": 1e9}",
       ss_request_crossover, NULL},
      {"{\"trace\": \"traces/bible-kjv-16.safetensors\", \"iterations\": 1}", ss_request_stats, NULL},
      {"{\"logs\": [\"tests/cli/data/osu_allreduce.log\", \"tests/cli/data/osu_latency.log\"], \"name\": \"lab\", "
       "\"ranks\": "
       "4}",
       ss_request_calibrate, NULL},
      {"{\"workloads\": [\"spardl-lstm-imdb\"], \"systems\": [\"horovod-allreduce\"], " CLUSTER ", \"ranks\": [2]}",
       ss_request_train, NULL},
      {"{\"text\": \"README.md\", \"ranks\": 2, \"steps\": 1, \"batch\": 1, \"seq\": 4, \"schemes\": [\"zen\"]}",
       ss_request_learn, NULL},
      {"{\"trace\": \"traces/clicks-4.safetensors\", \"iterations\": 1, " CLUSTER
       ", \"schemes\": [{\"name\": \"alltoall\", \"pooling\": \"sum\"}]}",
       ss_request_run, NULL},
      {"{\"trace\": \"traces/clicks-4.safetensors\", \"iterations\": 1, " CLUSTER
       ", \"schemes\": [{\"name\": \"alltoall\", \"pooling\": \"sum\", \"partition\": \"row\", \"route\": "
       "\"node\"}]}",
       ss_request_run, NULL},
      {"memory-is-short.safetensors", NULL, tell_trace},
      {"zen", NULL, tell_sync},
      {"spardl:density=0.5", NULL, tell_sync},
  };
  for (size_t i = 0; i < COUNT(calls); i++) refuse_each(&calls[i]);
}

/* --- cJSON's memory ------------------------------------------------------------------------------------------- */

static size_t items, refused_item, held; /* cJSON's requests so far; the one refused, from 1 on, 0: none; not freed */

static void *take_item(size_t size) {
  void *item = ++items == refused_item ? NULL : malloc(size);
  held += item != NULL;
  return item;
}

static void free_item(void *item) {
  held -= item != NULL;
  free(item);
}

/* The candidates are all, or none and nothing is held: memory is short once at each request that cJSON makes for
 * them. */
TEST(candidates_are_all_or_none) {
  cJSON_Hooks hooks = {take_item, free_item};
  cJSON_InitHooks(&hooks);
  cJSON *all = ss_candidates(true, true);
  const size_t most = items, of_all = held;
  assert_true(all && most > 1000);
  for (refused_item = 1; refused_item <= most; refused_item++) {
    items = 0;
    cJSON *list = ss_candidates(true, true);
    if (list && !cJSON_Compare(list, all, true)) fail_msg("without request %zu some are missing", refused_item);
    cJSON_Delete(list);
    if (held != of_all) fail_msg("without request %zu what was made stays: %zu, not %zu", refused_item, held, of_all);
  }
  cJSON_Delete(all);
  cJSON_InitHooks(NULL);
}
/* SPDX-License-Identifier: Apache-2.0 */
