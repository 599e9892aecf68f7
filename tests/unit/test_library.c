/* libsparsync from the outside: what it answers, what it refuses, and that requests know nothing of each other. Only
 * its own header and what any program has. */
#include "listed.h"

#include "library/sparsync.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Two schemes at two rank counts on one link: by hand, with alpha 10 us and 1 GB/s, the ring's all-reduce of M bytes
 * among P ranks takes 2 (P - 1) (alpha + M / P / 1 GB/s). */
static const char scenario[] =
    "{\"name\": \"small\", \"trace\": {\"uniform\": {\"rows\": 4096, \"row_width\": 16, \"density\": 0.0625}},"
    " \"cluster\": {\"name\": \"flat\", \"latency\": \"10us\", \"bandwidth\": \"1GB/s\"}, \"ranks\": [2, 4],"
    " \"schemes\": [\"allreduce\", \"allgather\"]}";

/* As near as `apart` times the wanted. */
static void assert_near(double found, double wanted, double apart) {
  if (!(fabs(found - wanted) <= apart * fabs(wanted))) fail_msg("%.17g is not %.17g", found, wanted);
}

static double ring(double ranks, double bytes, double alpha, double rate) {
  return 2 * (ranks - 1) * (alpha + bytes / ranks / rate);
}

static struct ss_request *request_of(const char *json) {
  struct ss_error error;
  struct ss_request *request = ss_request_new();
  assert_non_null(request);
  if (!ss_request_parse(request, json, &error)) fail_msg("%s", error.text);
  return request;
}

TEST(test_run_gives_rows_with_named_fields) {
  struct ss_request *request = request_of(scenario);
  struct ss_answer *answer;
  struct ss_error error;
  assert_true(ss_request_run(request, &answer, &error));
  assert_int_equal(ss_answer_rows(answer), 4);
  for (size_t i = 0; i < 4; i += 2) {
    const double ranks = ss_answer_number(answer, i, "ranks");
    assert_near(ranks, i == 0 ? 2 : 4, 0);
    assert_string_equal(ss_answer_text(answer, i, "label"), "allreduce");
    const double seconds = ring(ranks, 4096 * 16 * 4, 1e-5, 1e9);
    assert_near(ss_answer_number(answer, i, "time_s"), seconds, 1e-12);
    assert_true(ss_answer_flag(answer, i, "lossless"));
    assert_string_equal(ss_answer_text(answer, i + 1, "scheme"), "allgather");
  }
  assert_int_equal(ss_answer_kind(answer, 0, "time_s"), SS_FIELD_NUMBER);
  assert_int_equal(ss_answer_kind(answer, 0, "label"), SS_FIELD_TEXT);
  assert_int_equal(ss_answer_kind(answer, 0, "lossless"), SS_FIELD_FLAG);
  assert_int_equal(ss_answer_kind(answer, 0, "options"), SS_FIELD_LIST);
  assert_int_equal(ss_answer_kind(answer, 0, "k"), SS_FIELD_ABSENT);
  assert_string_equal(ss_answer_text(answer, SS_WHOLE, "scenario"), "small");
  assert_non_null(strstr(ss_answer_json(answer), "\"points\""));
  ss_answer_free(answer);
  ss_request_free(request);
}

TEST(test_edits_hold_and_a_request_may_be_asked_again) {
  struct ss_request *request = request_of(scenario);
  struct ss_answer *answer;
  struct ss_error error;
  assert_true(ss_request_set(request, "ranks", "8", &error));
  assert_true(ss_request_set(request, "cluster.bandwidth", "2GB/s", &error));
  assert_true(ss_request_set(request, "schemes", "allreduce", &error));
  assert_true(ss_request_set(request, "per_iteration", "true", &error));
  for (int again = 0; again < 2; again++) {
    assert_true(ss_request_run(request, &answer, &error));
    assert_int_equal(ss_answer_rows(answer), 1);
    const double seconds = ring(8, 4096 * 16 * 4, 1e-5, 2e9);
    assert_near(ss_answer_number(answer, 0, "time_s"), seconds, 1e-12);
    assert_near(ss_answer_number(answer, 0, "iteration_s.0"), seconds, 1e-12);
    ss_answer_free(answer);
  }
  assert_true(ss_request_plan(request, &answer, &error)); /* and something else */
  assert_string_equal(ss_answer_text(answer, 0, "scheme"), "allreduce");
  ss_answer_free(answer);
  ss_request_free(request);
}

/* M where the ring of all bytes and a gather of a share d of the rows cost the same, both without start-ups worth
 * naming: 2 (P-1)/P M = (P-1) d M (w 4 + 4) / (w 4), so that d = 2/P * w / (w + 1). */
TEST(test_crossover_and_cost_are_closed_forms) {
  struct ss_request *request =
      request_of("{\"a\": \"allgather\", \"b\": \"allreduce\", \"over\": \"density\", \"M\": 64e9, \"row_width\": 64,"
                 " \"ranks\": 8, \"latency\": 1e-12}");
  struct ss_answer *answer;
  struct ss_error error;
  assert_true(ss_request_crossover(request, &answer, &error));
  assert_int_equal(ss_answer_rows(answer), 2);
  const double density = 2.0 / 8 * 64 / 65;
  assert_near(ss_answer_number(answer, 0, "to"), density, 1e-6);
  assert_string_equal(ss_answer_text(answer, 0, "winner"), "allgather");
  assert_string_equal(ss_answer_text(answer, 1, "winner"), "allreduce");
  ss_answer_free(answer);
  ss_request_free(request);

  request = request_of("{\"M\": \"4MB\", \"density\": 0.5, \"ranks\": [4], \"bandwidth\": \"1GB/s\","
                       " \"latency\": \"10us\", \"schemes\": [\"allreduce-ring\"]}");
  assert_true(ss_request_cost(request, &answer, &error));
  assert_int_equal(ss_answer_rows(answer), 1);
  assert_string_equal(ss_answer_text(answer, 0, "form"), "allreduce-ring");
  assert_near(ss_answer_number(answer, 0, "formula_s"), ring(4, 4e6, 1e-5, 1e9), 1e-12);
  assert_near(ss_answer_number(answer, SS_WHOLE, "links.bandwidth"), 1e9, 1e-3);
  ss_answer_free(answer);
  ss_request_free(request);
}

/* --- placements, expectations, schedules --------------------------------------------------------------------- */

/* Two tables, in bags of one id and of all of a rank's: what is proposed, also of pooled bags, takes the time that is
 * said of it, when it is run. */
static void place_and_run(const char *schemes, const char *placed_schemes) {
  static const uint64_t of_a[] = {0, 3, 5}, of_b[] = {0, 1, 4}, bags_a[] = {0, 3, 5}, bags_b[] = {0, 1, 2},
                        ends_a[] = {0, 1, 2, 3, 4, 5}, ends_b[] = {0, 1, 4};
  static const int64_t a[] = {7, 1, 7, 1, 2}, b[] = {0, 3, 3, 1};
  const struct ss_tensor_ids tensor[] = {{"a", 8, 4, 4, of_a, a, bags_a, ends_a},
                                         {"b", 4, 64, 4, of_b, b, bags_b, ends_b}};
  struct ss_request *request = request_of("{\"trace\": \"two\", \"cluster\": \"rtx3090-10gbe\"}");
  struct ss_trace *trace;
  struct ss_answer *placed, *run;
  struct ss_error error;
  if (!ss_trace_of_ids(1, 2, 2, tensor, &trace, &error)) fail_msg("%s", error.text);
  assert_true(ss_request_lend_trace(request, "two", trace, &error));
  assert_true(!schemes || ss_request_set(request, "schemes", schemes, &error));
  if (!ss_request_place(request, &placed, &error)) fail_msg("%s", error.text);
  assert_int_equal(ss_answer_rows(placed), 5);
  double least = INFINITY;
  for (size_t i = 0; i < 5; i++) least = fmin(least, ss_answer_number(placed, i, "time_s"));
  assert_int_equal(ss_answer_kind(placed, SS_WHOLE, "tables.a.ranks"), SS_FIELD_LIST);
  assert_true(ss_request_set(request, "placement", ss_answer_json(placed), &error));
  assert_true(ss_request_set(request, "schemes", placed_schemes, &error));
  if (!ss_request_run(request, &run, &error)) fail_msg("%s", error.text);
  assert_int_equal(ss_answer_rows(run), 1);
  assert_near(ss_answer_number(run, 0, "time_s"), least, 0);
  ss_answer_free(run);
  ss_answer_free(placed);
  assert_false(ss_request_place(request, &placed, &error));
  assert_non_null(strstr(error.text, "compares placements of one scheme"));
  assert_true(ss_request_set(request, "schemes", "alltoall:pooling=sum", &error));
  assert_true(ss_request_set(request, "ranks", "[1, 2]", &error));
  assert_false(ss_request_place(request, &placed, &error));
  assert_non_null(strstr(error.text, "here are 2 places"));
  assert_null(placed);
  ss_request_free(request);
  ss_trace_close(trace);
}

TEST(test_placements_are_played_and_can_be_used) {
  place_and_run(NULL, "alltoall:partition=placed");
  place_and_run("alltoall:pooling=sum", "alltoall:partition=placed,pooling=sum");
  place_and_run("alltoall:pooling=padded", "alltoall:partition=placed,pooling=padded");
}

/* By hand: of 256 KiB two ranks' ring takes 2 (10 us + 131.072 us). */
TEST(test_expectations_are_judged) {
  struct ss_request *request = request_of(scenario);
  struct ss_answer *answer;
  struct ss_error error;
  assert_true(ss_request_set(request, "ranks", "2", &error));
  assert_true(ss_request_set(request, "expect",
                             "[{\"that\": \"time_s\", \"of\": \"allreduce\", \"is\": \"=\", \"than\": \"282.144us\","
                             " \"within\": 1e-9}, {\"that\": \"time_s\", \"of\": \"allreduce\", \"is\": \"<\","
                             " \"than\": \"1us\"}]",
                             &error));
  if (!ss_request_check(request, &answer, &error)) fail_msg("%s", error.text);
  assert_int_equal(ss_answer_rows(answer), 2);
  assert_true(ss_answer_flag(answer, 0, "ok"));
  assert_int_equal(ss_answer_kind(answer, 1, "ok"), SS_FIELD_FLAG);
  assert_false(ss_answer_flag(answer, 1, "ok"));
  assert_near(ss_answer_number(answer, 1, "misses.0.found"), 282.144e-6, 1e-9);
  assert_int_equal(ss_answer_kind(answer, SS_WHOLE, "ok"), SS_FIELD_FLAG);
  assert_false(ss_answer_flag(answer, SS_WHOLE, "ok"));
  assert_near(ss_answer_number(answer, SS_WHOLE, "points.0.time_s"), 282.144e-6, 1e-9);
  ss_answer_free(answer);
  assert_true(ss_request_set(request, "expect", "[{\"that\": \"no\"}]", &error));
  assert_false(ss_request_check(request, &answer, &error));
  assert_null(answer);
  ss_request_free(request);
}

static size_t times_in(const char *path, const char *word) {
  char line[256];
  size_t times = 0;
  FILE *stream = fopen(path, "r");
  assert_non_null(stream);
  while (fgets(line, sizeof line, stream)) times += strstr(line, word) != NULL;
  fclose(stream);
  return times;
}

/* A ring of 4 sends 2 * 3 times 4 messages. */
TEST(test_schedules_are_written) {
  char folder[] = "/tmp/sparsync-XXXXXX", path[64];
  struct ss_request *request = request_of(scenario);
  struct ss_error error;
  assert_non_null(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/ring.goal", folder);
  assert_false(ss_request_export(request, "goal", path, &error));
  assert_non_null(strstr(error.text, "choose one of 2 rank counts"));
  assert_int_not_equal(access(path, F_OK), 0);
  assert_true(ss_request_set(request, "ranks", "4", &error));
  assert_true(ss_request_set(request, "schemes", "allreduce", &error));
  if (!ss_request_export(request, "goal", path, &error)) fail_msg("%s", error.text);
  assert_int_equal(times_in(path, ": send "), 24);
  assert_int_equal(times_in(path, ": recv "), 24);
  assert_false(ss_request_export(request, "dot", path, &error));
  assert_non_null(strstr(error.text, "goal or chakra"));
  assert_false(ss_request_export(request, "goal", "-", &error));
  assert_false(ss_request_export(request, "goal", NULL, &error));
  assert_false(ss_request_export(request, NULL, path, &error));
  assert_false(ss_request_export(NULL, "goal", path, &error));
  ss_request_cancel(request);
  assert_false(ss_request_export(request, "goal", path, &error));
  assert_int_equal(error.status, SS_CANCELLED);
  assert_true(ss_request_export(request, "goal", path, &error));
  ss_request_free(request);
  unlink(path);
  rmdir(folder);
}

/* --- traces ---------------------------------------------------------------------------------------------------- */

static const uint64_t offsets[] = {0, 3, 5};
static const int64_t ids[] = {7, 1, 7, 1, 2};

static struct ss_trace *small_trace(uint64_t rows) {
  const struct ss_tensor_ids tensor = {.name = "emb", .rows = rows, .row_width = 2, .offsets = offsets, .ids = ids};
  struct ss_trace *trace;
  struct ss_error error;
  if (!ss_trace_of_ids(1, 2, 1, &tensor, &trace, &error)) fail_msg("%s", error.text);
  return trace;
}

/* What is wrong with bags is told before anything is read by them. */
TEST(test_bags_of_ids) {
  const uint64_t bags[] = {0, 2, 3}, back[] = {0, 2, 1}, many[] = {0, 2, UINT64_MAX};
  const uint64_t ends[] = {0, 1, 3, 5}, over[] = {0, 1, 4, 5}, beyond[] = {0, 1, 3, 6};
  const struct {
    const uint64_t *bags, *offsets;
    const char *says; /* NULL: nothing is wrong */
  } cases[] = {{bags, ends, NULL},
               {NULL, NULL, NULL},
               {bags, NULL, "no list of bags' offsets"},
               {NULL, ends, "not which bags are whose"},
               {back, ends, "emb.bags[1]"},
               {many, ends, "2^53 bags"},
               {bags, over, "emb.bag_offsets[2] is 4"},
               {bags, beyond, "bag_offsets[3]"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct ss_tensor_ids tensor = {.name = "emb",
                                         .row_width = 2,
                                         .offsets = offsets,
                                         .ids = ids,
                                         .bags = cases[i].bags,
                                         .bag_offsets = cases[i].offsets};
    struct ss_trace *trace = NULL;
    struct ss_error error = {0};
    const bool good = ss_trace_of_ids(1, 2, 1, &tensor, &trace, &error);
    assert_int_equal(good, cases[i].says == NULL);
    if (cases[i].says && !strstr(error.text, cases[i].says)) fail_msg("\"%s\": %s", cases[i].says, error.text);
    ss_trace_close(trace);
  }
}

/* Rank 0 has 2 of 8 rows, rank 1 too: density 1/4; of both together 3 rows. */
TEST(test_trace_of_ids) {
  struct ss_trace *trace = small_trace(0);
  struct ss_request *request = ss_request_new();
  struct ss_answer *answer;
  struct ss_error error;
  assert_int_equal(ss_trace_ranks(trace), 2);
  assert_int_equal(ss_trace_iterations(trace), 1);
  assert_int_equal(ss_trace_tensors(trace), 1);
  assert_true(ss_request_lend_trace(request, "mine", trace, &error));
  assert_false(ss_request_lend_trace(request, "mine", trace, &error));
  assert_string_equal(error.text, "two traces are called \"mine\"");
  assert_true(ss_request_set(request, "trace", "mine", &error));
  assert_true(ss_request_stats(request, &answer, &error));
  assert_near(ss_answer_number(answer, 0, "rows"), 8, 0);
  assert_near(ss_answer_number(answer, 0, "density"), 0.25, 1e-12);
  assert_near(ss_answer_number(answer, 0, "gamma.1"), 1.5, 1e-12);
  ss_answer_free(answer);
  assert_true(ss_request_set(request, "cluster", "rtx3090-10gbe", &error));
  assert_true(ss_request_set(request, "schemes", "allgather", &error));
  assert_true(ss_request_run(request, &answer, &error));
  assert_string_equal(ss_answer_text(answer, 0, "trace"), "mine");
  assert_near(ss_answer_number(answer, 0, "bytes_total"), 2 * (8 + 2 * (2 * 4 + 4)), 0); /* counts first */
  ss_answer_free(answer);
  ss_request_free(request);
  ss_trace_close(trace);
}

/* A program may read, replace and read again; its own standard streams are not touched. */
TEST(test_files_are_the_programs) {
  char path[] = "/tmp/sparsync-XXXXXX";
  const int file = mkstemp(path);
  struct ss_trace *trace = small_trace(0), *again;
  struct ss_error error;
  assert_true(file >= 0);
  for (int i = 0; i < 2; i++) {
    assert_true(ss_trace_save(path, trace, &error));
    assert_true(ss_trace_open(path, &again, &error));
    assert_true(ss_trace_save(path, again, &error));
    ss_trace_close(again);
  }
  assert_false(ss_trace_save("-", trace, &error));
  assert_false(ss_trace_open("-", &again, &error));
  assert_non_null(strstr(error.text, "are the program's own"));
  assert_int_equal(error.status, SS_BAD_INPUT);
  ss_trace_close(trace);
  close(file);
  unlink(path);
}

static const char table[] = "carrier,dest\nAA,JFK\nUA,NA\nAA,LGA\nAA,JFK\nUA,JFK\n";

/* Of the second tensor, in the second of two iterations. */
static void statistics_of_a_part(struct ss_request *request) {
  struct ss_error error;
  struct ss_answer *answer = NULL;
  assert_true(ss_request_set(request, "tensors", "[\"carrier\"]", &error) &&
              ss_request_set(request, "iterations", "1:", &error) && ss_request_stats(request, &answer, &error));
  assert_int_equal(ss_answer_rows(answer), 1);
  assert_string_equal(ss_answer_text(answer, 0, "name"), "carrier");
  assert_near(ss_answer_number(answer, SS_WHOLE, "first_iteration"), 1, 0);
  assert_near(ss_answer_number(answer, SS_WHOLE, "iterations"), 1, 0);
  ss_answer_free(answer);
  assert_true(ss_request_set(request, "tensors", "[\"carrier\", \"carrier\"]", &error));
  assert_false(ss_request_stats(request, &answer, &error));
  assert_non_null(strstr(error.text, "request: tensors[1]: tensor \"carrier\" is named twice"));
}

static void imports_are_made_or_refused(struct ss_request *request, const char *path) {
  struct ss_trace *trace;
  struct ss_error error;
  assert_false(ss_request_import(request, "-", &trace, &error));
  assert_null(trace);
  assert_false(ss_request_import(request, NULL, &trace, &error));
  assert_true(unlink(path) == 0 && ss_request_import(request, path, NULL, &error)); /* made, and not opened */
  assert_int_equal(access(path, F_OK), 0);
  assert_true(ss_request_set(request, "seq", "8", &error));
  assert_false(ss_request_import(request, path, &trace, &error));
  assert_non_null(strstr(error.text, "seq: says nothing of \"from\" csv"));
  assert_true(ss_request_parse(request, "{\"file\": 3}", &error));
  assert_false(ss_request_import(request, path, &trace, &error));
  assert_non_null(strstr(error.text, "unknown key"));
}

/* Two ranks of one record: two iterations, and a record left over. */
TEST(test_data_become_traces) {
  char folder[] = "/tmp/sparsync-XXXXXX", data[64], path[64], json[200];
  struct ss_trace *trace;
  struct ss_answer *answer = NULL;
  struct ss_error error;
  assert_non_null(mkdtemp(folder));
  (void)snprintf(data, sizeof data, "%s/flights.csv", folder);
  (void)snprintf(path, sizeof path, "%s/flights.safetensors", folder);
  (void)snprintf(json, sizeof json,
                 "{\"files\": \"%s\", \"ranks\": 2, \"batch\": 1, \"columns\": [\"dest\", 1], "
                 "\"missing\": \"NA\", \"hash_rows\": {\"carrier\": 100}, \"row_width\": 8}",
                 data);
  FILE *stream = fopen(data, "w");
  assert_non_null(stream);
  assert_true(fputs(table, stream) >= 0 && fclose(stream) == 0);
  struct ss_request *request = request_of(json);
  ss_request_cancel(request);
  assert_false(ss_request_import(request, path, &trace, &error));
  assert_int_equal(error.status, SS_CANCELLED);
  assert_int_not_equal(access(path, F_OK), 0);
  if (!ss_request_import(request, path, &trace, &error)) fail_msg("%s", error.text);
  assert_int_equal(ss_trace_ranks(trace), 2);
  assert_int_equal(ss_trace_iterations(trace), 2);
  assert_int_equal(ss_trace_tensors(trace), 2);
  struct ss_request *of_trace = request_of("{\"trace\": \"mine\"}");
  assert_true(ss_request_lend_trace(of_trace, "mine", trace, &error) && ss_request_stats(of_trace, &answer, &error));
  assert_string_equal(ss_answer_text(answer, 0, "name"), "dest");
  assert_near(ss_answer_number(answer, 0, "rows"), 3, 0); /* missing, JFK, LGA */
  assert_near(ss_answer_number(answer, 1, "rows"), 100, 0);
  assert_near(ss_answer_number(answer, 1, "row_width"), 8, 0);
  ss_answer_free(answer);
  statistics_of_a_part(of_trace);
  ss_request_free(of_trace);
  ss_trace_close(trace);
  imports_are_made_or_refused(request, path);
  ss_request_free(request);
  unlink(data);
  unlink(path);
  rmdir(folder);
}

TEST(test_bad_ids_are_told) {
  static const uint64_t down[] = {0, 3, 2}, late[] = {1, 3, 5}, huge[] = {0, 0, UINT64_MAX};
  static const int64_t negative[] = {7, 1, -7, 1, 2};
  const struct {
    struct ss_tensor_ids tensor;
    const char *says;
  } cases[] = {{{"emb", 7, 1, 4, offsets, ids, NULL, NULL}, "tensor emb: id 7 at place 0 is not from 0 to 6"},
               {{"emb", 0, 1, 4, offsets, negative, NULL, NULL}, "tensor emb: id -7 at place 2"},
               {{"emb", 0, 1, 4, down, ids, NULL, NULL}, "tensor emb: offsets descend from 3 to 2 at place 2"},
               {{"emb", 0, 1, 4, late, ids, NULL, NULL}, "tensor emb: offsets begin with 1, not 0"},
               {{"emb", 0, 1, 4, huge, ids, NULL, NULL}, "out of memory"},
               {{"emb", 0, 1, 3, offsets, ids, NULL, NULL}, "tensor emb: elements of 3 bytes"},
               {{NULL, 0, 1, 4, offsets, ids, NULL, NULL}, "no name of a tensor was given (NULL)"},
               {{"emb", 0, 1, 4, NULL, ids, NULL, NULL}, "no list of offsets was given (NULL)"},
               {{"emb", 0, 1, 4, offsets, NULL, NULL, NULL}, "no list of ids was given (NULL)"}};
  struct ss_trace *trace;
  struct ss_error error;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_false(ss_trace_of_ids(1, 2, 1, &cases[i].tensor, &trace, &error));
    assert_null(trace);
    if (!strstr(error.text, cases[i].says)) fail_msg("\"%s\" does not say \"%s\"", error.text, cases[i].says);
  }
  assert_false(ss_trace_of_ids(0, 2, 1, &cases[0].tensor, &trace, &error));
  assert_false(ss_trace_of_ids(UINT64_MAX, 2, 1, &cases[0].tensor, &trace, &error));
  assert_false(ss_trace_open("no/such.safetensors", &trace, &error));
  assert_int_equal(error.status, SS_BAD_INPUT);
  assert_false(ss_trace_open(NULL, &trace, &error));
  assert_false(ss_trace_save(NULL, NULL, &error));
  assert_int_equal(ss_trace_ranks(NULL) + ss_trace_tensors(NULL) + ss_trace_iterations(NULL), 0);
}

/* --- what a training ends with ------------------------------------------------------------------------------- */

enum { SYNC_RANKS = 3, SYNC_ROWS = 50, SYNC_WIDTH = 4, SYNC_ELEMENTS = SYNC_ROWS * SYNC_WIDTH };

/* A rank's rows, of which it has a third or, in every fifth step, none; half of the ranks hand over all of the
 * tensor. */
static void roll(unsigned *seed, bool whole, double *values, int64_t *rows, struct ss_rank_gradient *out,
                 double *sum) {
  uint64_t n = 0;
  const bool empty = rand_r(seed) % 5 == 0;
  memset(values, 0, SYNC_ELEMENTS * sizeof *values);
  for (int row = 0; row < SYNC_ROWS; row++) {
    if (empty || rand_r(seed) % 3) continue;
    for (int c = 0; c < SYNC_WIDTH; c++) {
      const double value = (rand_r(seed) % 2001 - 1000) * ldexp(1, rand_r(seed) % 8);
      values[(whole ? (uint64_t)row : n) * SYNC_WIDTH + (uint64_t)c] = value;
      sum[row * SYNC_WIDTH + c] += value;
    }
    rows[n++] = row;
  }
  *out = whole ? (struct ss_rank_gradient){SYNC_ROWS, NULL, values} : (struct ss_rank_gradient){n, rows, values};
}

/* The plain sum, which whole numbers have exactly, whoever hands over rows or all of them. */
TEST(test_exact_schemes_end_with_the_sum) {
  static const char *const schemes[] = {
      "allreduce",  "allgather",  "ps",       "zen:format=coo",
      "omnireduce", "sparcml-rd", "alltoall", "{\"name\": \"topka\", \"density\": 1}"};
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
    const struct ss_sync_tensor tensor = {schemes[i], SYNC_ROWS, SYNC_WIDTH, SYNC_RANKS, 0, 0};
    struct ss_sync *sync;
    struct ss_error error;
    unsigned seed = 1;
    if (!ss_sync_open(&tensor, &sync, &error)) fail_msg("%s", error.text);
    for (int step = 0; step < 20; step++) {
      static double values[SYNC_RANKS][SYNC_ELEMENTS];
      static int64_t rows[SYNC_RANKS][SYNC_ROWS];
      struct ss_rank_gradient given[SYNC_RANKS];
      struct ss_synced synced = {0};
      double sum[SYNC_ELEMENTS] = {0};
      for (int r = 0; r < SYNC_RANKS; r++) roll(&seed, (r + step) % 2, values[r], rows[r], &given[r], sum);
      if (!ss_sync_step(sync, given, &synced, &error)) fail_msg("%s: %s", schemes[i], error.text);
      for (uint64_t k = 0; k < synced.count; k++) {
        assert_true(k == 0 || synced.element[k] > synced.element[k - 1]);
        sum[synced.element[k]] -= synced.value[k];
      }
      for (int e = 0; e < SYNC_ELEMENTS; e++)
        if (sum[e] != 0) fail_msg("%s, step %d: %g too little at %d", schemes[i], step, sum[e], e);
    }
    ss_sync_close(sync);
  }
}

TEST(test_bad_tensors_are_refused) {
  static const struct {
    struct ss_sync_tensor tensor;
    const char *says;
  } cases[] = {{{NULL, 4, 2, 2, 0, 0}, "no scheme was given (NULL)"},
               {{"zenn", 4, 2, 2, 0, 0}, "no scheme is called \"zenn\""},
               {{"zen,ps", 4, 2, 2, 0, 0}, "expected one, and \"zen,ps\" names 2"},
               {{"lossless", 4, 2, 2, 0, 0}, "expected one"},
               {{"[]", 4, 2, 2, 0, 0}, "names no scheme"},
               {{"{\"name\": ", 4, 2, 2, 0, 0}, "scheme"},
               {{"topka:k=9", 4, 2, 2, 0, 0}, "k 9 is more than the 8 elements"},
               {{"gtopk", 4, 2, 6, 0, 0}, "gtopk"},
               {{"topka", 4, 2, 2, 0, 0.1}, "selects by itself"},
               {{"zen:hierarchy=shard", 4, 2, 2, 0, 0}, "gpus_per_node"},
               {{"zen", 0, 2, 2, 0, 0}, "rows"},
               {{"zen", 4, 0, 2, 0, 0}, "row_width"},
               {{"zen", 4, 1 << 17, 2, 0, 0}, "row_width"},
               {{"zen", UINT64_MAX, 65536, 2, 0, 0}, "2^32 - 1 elements"},
               {{"zen", UINT32_MAX, 2, 2, 0, 0}, "2^32 - 1 elements"},
               {{"zen", 4, 2, 0, 0, 0}, "ranks"},
               {{"zen", 4, 2, UINT32_MAX, 0, 0}, "ranks"},
               {{"zen", 4, 2, 2, UINT32_MAX, 0}, "gpus_per_node"},
               {{"zen", 4, 2, 2, 0, -0.1}, "select"},
               {{"zen", 4, 2, 2, 0, (double)NAN}, "select"}};
  struct ss_sync *sync;
  struct ss_error error;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (ss_sync_open(&cases[i].tensor, &sync, &error)) fail_msg("case %zu is taken", i);
    assert_null(sync);
    if (!strstr(error.text, cases[i].says)) fail_msg("\"%s\" does not say \"%s\"", error.text, cases[i].says);
  }
  assert_false(ss_sync_open(NULL, &sync, &error));
  assert_false(ss_sync_open(&cases[1].tensor, NULL, &error));
  ss_sync_close(NULL);
}

static void assert_two(const struct ss_synced *synced, const uint32_t *element, const double *value) {
  assert_int_equal(synced->count, 2);
  assert_memory_equal(synced->element, element, 2 * sizeof *element);
  assert_memory_equal(synced->value, value, 2 * sizeof *value);
}

/* What is refused changes nothing: the step after it is the second of its training. */
TEST(test_bad_gradients_are_refused) {
  static const double values[] = {1, 2, 3, 4, 5, 6, 7, 8}, bad[] = {1, (double)INFINITY, 0, 0, 0, 0, 0, 0},
                      large[] = {1e9, 0, 0, 0, 0, 0, 0, 0};
  static const int64_t good[] = {0, 2}, twice[] = {2, 2}, late[] = {0, 4}, early[] = {-1, 2};
  static const struct {
    struct ss_rank_gradient second;
    const char *says;
  } cases[] = {{{2, twice, values}, "rank 1: row 2 at place 1 is not from 0 to 3, ascending, each once"},
               {{2, late, values}, "rank 1: row 4 at place 1"},
               {{2, early, values}, "rank 1: row -1 at place 0"},
               {{5, good, values}, "rank 1: 5 rows of a tensor of 4"},
               {{UINT64_MAX, NULL, values}, "rank 1: 18446744073709551615 rows of a tensor of 4"},
               {{3, NULL, values}, "rank 1: 3 rows of a tensor of 4 (without row ids all, or none)"},
               {{2, good, NULL}, "rank 1 has no values (NULL)"},
               {{4, NULL, bad}, "gradients are not finite"},
               {{4, NULL, large}, "2^23/ranks times as large"}};
  const struct ss_sync_tensor tensor = {"topka:k=1", 4, 2, 2, 0, 0};
  struct ss_rank_gradient given[2] = {{4, NULL, values}, {2, good, values}};
  struct ss_sync *sync;
  struct ss_synced synced = {0};
  struct ss_error error;
  assert_true(ss_sync_open(&tensor, &sync, &error) && ss_sync_step(sync, given, &synced, &error));
  assert_two(&synced, (uint32_t[]){5, 7}, (double[]){4, 8}); /* of rank 1, of rank 0 */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    given[1] = cases[i].second;
    if (ss_sync_step(sync, given, &synced, &error)) fail_msg("case %zu is taken", i);
    if (!strstr(error.text, cases[i].says)) fail_msg("\"%s\" does not say \"%s\"", error.text, cases[i].says);
  }
  given[1] = (struct ss_rank_gradient){0, NULL, NULL};
  assert_true(ss_sync_step(sync, given, &synced, &error));
  assert_two(&synced, (uint32_t[]){4, 6}, (double[]){3, 14}); /* what rank 1 kept, and twice 7 */
  assert_false(ss_sync_step(NULL, given, &synced, &error));
  assert_false(ss_sync_step(sync, NULL, &synced, &error));
  assert_false(ss_sync_step(sync, given, NULL, &error));
  ss_sync_close(sync);
}

/* --- what is refused ----------------------------------------------------------------------------------------- */

typedef bool asking(struct ss_request *request, struct ss_answer **out, struct ss_error *error);

static const struct {
  const char *json;
  asking *ask;
  const char *says;
} bad_documents[] = {
    {"{\"ranks\": [2, 4", NULL, "request: "},
    {"[1]", NULL, "request: expected a JSON object"},
    {"{\"trace\": {\"uniform\": {\"rows\": 64, \"density\": 0.5}}, \"cluster\": \"p3.16xlarge-25g\", \"ranks\": 2,"
     " \"schemes\": [\"zenn\"]}",
     ss_request_run, "request: schemes[0]: no scheme is called \"zenn\" (did you mean \"zen\"?)"},
    {"{\"trace\": \"no/such.safetensors\", \"cluster\": \"p3.16xlarge-25g\", \"schemes\": [\"zen\"]}", ss_request_run,
     "no/such.safetensors"},
    {"{\"rank\": 2}", ss_request_run, "request: rank: unknown key"},
    {"{\"M\": 1}", ss_request_cost, "request: "},
    {"{\"a\": \"zen\", \"b\": \"ps\", \"over\": \"time\"}", ss_request_crossover, "request: over: "},
    {"{\"a\": \"zen\", \"b\": \"ps\", \"over\": \"M\", \"M\": 3}", ss_request_crossover, "request: M: varies"},
    {"{\"a\": \"zen\", \"b\": \"ps\", \"over\": \"ranks\", \"range\": \"2..x\"}", ss_request_crossover,
     "request: range[1]: "},
    {"{\"a\": \"zen\", \"b\": \"ps\", \"over\": \"ranks\", \"range\": \"2-4\"}", ss_request_crossover, "LOW..HIGH"},
    {"{\"M\": 8, \"density\": 1, \"gamma\": \"1,x\"}", ss_request_cost, "request: gamma: \"1,x\""},
    {"{\"M\": 8, \"density\": 1, \"files\": [3]}", ss_request_cost, "request: files[0]: 3 is not a string"},
    {"{\"schemes\": [\"zen\"]}", ss_request_learn, "say \"text\" (a file) or \"trace\" (of one)"},
    {"{\"text\": \"x\", \"trace\": \"y\"}", ss_request_learn, ", not both"},
    {"{\"text\": \"-\"}", ss_request_learn, "request: text: a request cannot read standard input"},
    {"{\"trace\": \"x\", \"seq\": 8}", ss_request_learn, "request: seq: "},
    {"{\"text\": \"x\", \"schemes\": [\"zen\", \"ps,zen\"]}", ss_request_learn, "two schemes are called \"zen\""},
    {"{\"text\": \"x\", \"schemes\": []}", ss_request_learn, "request: schemes: expected a list"},
    {"{\"logs\": [\"x\"], \"sizes\": \"4\"}", ss_request_calibrate, "request: sizes: \"4\" is not a range"},
    {"{\"logs\": [\"x\"], \"leave_out\": \"nodes\"}", ss_request_calibrate, "request: leave_out: "},
    {"{\"logs\": []}", ss_request_calibrate, "names no log"},
    {"{\"logs\": \"-\"}", ss_request_calibrate, "request: logs: a request cannot read standard input"},
    {"{}", ss_request_stats, "request: "},
    {"{}", ss_request_train, "request: "}};

TEST(test_bad_documents_are_errors_with_a_place) {
  for (size_t i = 0; i < sizeof bad_documents / sizeof *bad_documents; i++) {
    struct ss_request *request = ss_request_new();
    struct ss_answer *answer = (struct ss_answer *)&answer;
    struct ss_error error = {.status = SS_OK};
    bool good = ss_request_parse(request, bad_documents[i].json, &error);
    assert_int_equal(good, bad_documents[i].ask != NULL);
    if (good && bad_documents[i].ask) {
      good = bad_documents[i].ask(request, &answer, &error);
      assert_null(answer);
    }
    assert_false(good);
    assert_int_equal(error.status, SS_BAD_INPUT);
    if (!strstr(error.text, bad_documents[i].says))
      fail_msg("\"%s\" does not say \"%s\"", error.text, bad_documents[i].says);
    ss_request_free(request);
  }
}

TEST(test_null_and_missing_are_errors) {
  struct ss_request *request = request_of(scenario);
  struct ss_answer *answer;
  struct ss_error error;
  assert_false(ss_request_open(request, "no/such.json", &error));
  assert_non_null(strstr(error.text, "no/such.json"));
  assert_false(ss_request_open(request, "demoo", &error));
  assert_non_null(strstr(error.text, "demo"));
  assert_false(ss_request_open(request, "-", &error));
  assert_false(ss_request_open(request, NULL, &error));
  assert_false(ss_request_open(NULL, "demo", &error));
  assert_false(ss_request_parse(request, NULL, &error));
  assert_false(ss_request_set(request, "ranks", NULL, &error));
  assert_string_equal(error.text, "no value was given (NULL)");
  assert_false(ss_request_set(request, "", "1", &error));
  assert_false(ss_request_set(request, "ranks", "[1, 2", &error));
  assert_false(ss_request_set(request, "lossy", "maybe", &error));
  assert_false(ss_request_set(request, "name", "\xff", &error));
  assert_false(ss_request_lend_trace(request, "mine", NULL, &error));
  assert_false(ss_request_run(NULL, &answer, &error));
  assert_false(ss_request_run(request, NULL, &error));
  assert_false(ss_request_run(NULL, NULL, NULL));
  assert_true(ss_request_run(request, &answer, NULL)); /* what was refused has changed nothing */
  assert_int_equal(ss_answer_rows(answer), 4);
  assert_true(isnan(ss_answer_number(answer, 4, "time_s")));
  assert_null(ss_answer_text(answer, 0, "no.such.field"));
  assert_null(ss_answer_text(answer, 0, NULL));
  ss_answer_free(answer);
  ss_request_free(request);
  ss_request_free(NULL);
  ss_answer_free(NULL);
  ss_trace_close(NULL);
  ss_request_cancel(NULL);
  assert_int_equal(ss_answer_rows(NULL), 0);
  assert_null(ss_answer_json(NULL));
}

/* --- who is told, and who ends it ---------------------------------------------------------------------------- */

struct hearing {
  struct ss_request *request;
  struct ss_progress last;
  int calls, cancel_at;
};

static void hear(void *context, const struct ss_progress *progress) {
  struct hearing *h = context;
  assert_non_null(progress->what);
  assert_true(progress->share >= 0 && progress->share <= 1);
  assert_true(progress->done <= progress->all);
  h->last = *progress;
  if (++h->calls == h->cancel_at) ss_request_cancel(h->request);
}

TEST(test_progress_and_cancelling) {
  struct hearing hearing = {.request = request_of(scenario)};
  struct ss_answer *answer;
  struct ss_error error;
  ss_request_use_threads(hearing.request, 1);
  ss_request_watch(hearing.request, hear, &hearing);
  assert_true(ss_request_run(hearing.request, &answer, &error));
  assert_true(hearing.calls >= 2);
  assert_near(hearing.last.share, 1, 1e-12);
  assert_string_equal(hearing.last.what, "points");
  assert_int_equal(hearing.last.all, ss_answer_rows(answer));
  assert_int_equal(hearing.last.done, hearing.last.all);
  ss_answer_free(answer);
  for (hearing.cancel_at = 1; hearing.cancel_at < 4; hearing.cancel_at++) {
    hearing.calls = 0;
    assert_false(ss_request_run(hearing.request, &answer, &error));
    assert_null(answer);
    assert_int_equal(error.status, SS_CANCELLED);
    assert_int_equal(hearing.calls, hearing.cancel_at); /* nothing more was played */
  }
  hearing.cancel_at = 0;
  ss_request_cancel(hearing.request); /* before it begins: the next ends, and only that */
  assert_false(ss_request_run(hearing.request, &answer, &error));
  assert_int_equal(error.status, SS_CANCELLED);
  assert_true(ss_request_run(hearing.request, &answer, &error));
  ss_answer_free(answer);
  ss_request_free(hearing.request);
}

/* A file that is read at once is one word on how far reading is, its table another on writing; and both begin. */
TEST(test_imports_are_watched_and_cancelled) {
  enum { RECORDS = 9000, TOLD = 4 };
  char folder[] = "/tmp/sparsync-XXXXXX", data[64], path[64], json[160];
  struct ss_trace *trace;
  struct ss_error error;
  assert_non_null(mkdtemp(folder));
  (void)snprintf(data, sizeof data, "%s/t.csv", folder);
  (void)snprintf(path, sizeof path, "%s/t.safetensors", folder);
  (void)snprintf(json, sizeof json, "{\"files\": [\"%s\"], \"ranks\": 1, \"batch\": 1, \"header\": false}", data);
  FILE *stream = fopen(data, "w");
  assert_non_null(stream);
  for (int i = 0; i < RECORDS; i++) (void)fprintf(stream, "%d\n", i % 7);
  assert_int_equal(fclose(stream), 0);
  struct hearing hearing = {.request = request_of(json)};
  ss_request_watch(hearing.request, hear, &hearing);
  for (hearing.cancel_at = 1; hearing.cancel_at < TOLD; hearing.cancel_at++) {
    hearing.calls = 0;
    assert_false(ss_request_import(hearing.request, path, &trace, &error));
    assert_int_equal(error.status, SS_CANCELLED);
    assert_null(trace);
    assert_int_not_equal(access(path, F_OK), 0);
  }
  hearing.calls = hearing.cancel_at = 0;
  if (!ss_request_import(hearing.request, path, &trace, &error)) fail_msg("%s", error.text);
  assert_int_equal(hearing.calls, TOLD);
  assert_near(hearing.last.share, 1, 1e-12);
  ss_trace_close(trace);
  ss_request_free(hearing.request);
  unlink(data);
  unlink(path);
  rmdir(folder);
}

/* How many threads OpenMP would take for a loop of this program's own, which need not have heard of it. */
static int threads_of_loops(void) {
  void *found = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
  int (*ask)(void);
  assert_non_null(found);
  memcpy(&ask, &found, sizeof ask);
  return ask();
}

TEST(test_threads_are_the_requests_alone) {
  struct ss_request *request = request_of(scenario);
  struct ss_answer *answer;
  const int before = threads_of_loops();
  ss_request_use_threads(request, (unsigned)before + 1);
  assert_true(ss_request_run(request, &answer, NULL));
  assert_int_equal(threads_of_loops(), before);
  ss_answer_free(answer);
  ss_request_free(request);
}

/* Whatever is asked, standard output and error stay empty, and settings of the process are what they were. */
TEST(test_the_process_stays_its_programs) {
  char path[] = "/tmp/sparsync-XXXXXX", folder[2][4096];
  const int file = mkstemp(path), out = dup(1), err = dup(2);
  struct ss_request *request = request_of(scenario);
  struct ss_answer *answer, *none;
  assert_true(file >= 0);
  unlink(path);
  struct sigaction before, after;
  assert_int_equal(sigaction(SIGINT, NULL, &before), 0);
  assert_non_null(getcwd(folder[0], sizeof folder[0]));
  fflush(stdout);
  assert_true(dup2(file, 1) == 1 && dup2(file, 2) == 2);
  const bool good = ss_request_plan(request, &answer, NULL), bad = ss_request_train(request, &none, NULL);
  fflush(stdout);
  assert_true(dup2(out, 1) == 1 && dup2(err, 2) == 2);
  assert_true(good && !bad);
  assert_int_equal(lseek(file, 0, SEEK_END), 0);
  assert_true(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
  assert_int_equal(sigaction(SIGINT, NULL, &after), 0);
  assert_true(after.sa_handler == before.sa_handler);
  assert_non_null(getcwd(folder[1], sizeof folder[1]));
  assert_string_equal(folder[0], folder[1]);
  close(file);
  close(out);
  close(err);
  ss_answer_free(answer);
  ss_request_free(request);
}

/* --- several threads ----------------------------------------------------------------------------------------- */

struct asker {
  struct ss_trace *trace; /* one for all */
  char *json[3];
  struct ss_error error;
};

static char *keep(struct ss_request *request, asking *ask, struct ss_error *error) {
  struct ss_answer *answer;
  char *copy = NULL;
  if (ask(request, &answer, error)) {
    copy = strdup(ss_answer_json(answer));
    ss_answer_free(answer);
  }
  return copy;
}

static void *ask_all(void *context) {
  struct asker *a = context;
  struct ss_request *request = ss_request_new(), *other = ss_request_new();
  struct ss_answer *none;
  ss_request_use_threads(request, 1);
  ss_request_use_threads(other, 1);
  if (ss_request_parse(request, scenario, &a->error) && ss_request_lend_trace(request, "mine", a->trace, &a->error) &&
      ss_request_set(request, "sweep", "{\"trace\": [\"mine\", {\"synth\": {\"rows\": 500, \"ranks\": 4}}]}",
                     &a->error) &&
      ss_request_set(request, "ranks", "2", &a->error) &&
      ss_request_set(request, "schemes", "zen,sparcml-rd,sparcml-split,ps", &a->error))
    a->json[0] = keep(request, ss_request_run, &a->error);
  if (ss_request_parse(other,
                       "{\"a\": \"zen\", \"b\": \"allgather\", \"over\": \"ranks\", \"M\": 1e8, \"density\": 0.01}",
                       &a->error))
    a->json[1] = keep(other, ss_request_crossover, &a->error);
  /* and an error, whose words are this request's own */
  if (ss_request_parse(other, "{\"M\": 1e8, \"density\": 0.01, \"schemes\": [\"no-such-form\"]}", &a->error) &&
      !ss_request_cost(other, &none, &a->error))
    a->json[2] = strdup(a->error.text);
  ss_request_free(request);
  ss_request_free(other);
  return NULL;
}

TEST(test_two_threads_at_once) {
  enum { THREADS = 2 };
  struct asker asker[THREADS + 1] = {{.trace = small_trace(500)}};
  pthread_t thread[THREADS];
  for (int i = 1; i <= THREADS; i++) asker[i].trace = asker[0].trace;
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, ask_all, &asker[i]), 0);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
  ask_all(&asker[THREADS]); /* alone */
  for (int i = 0; i <= THREADS; i++)
    for (int k = 0; k < 3; k++) {
      if (!asker[i].json[k]) fail_msg("thread %d, request %d: %s", i, k, asker[i].error.text);
      assert_string_equal(asker[i].json[k], asker[0].json[k]);
    }
  for (int i = 0; i <= THREADS; i++)
    for (int k = 0; k < 3; k++) free(asker[i].json[k]);
  ss_trace_close(asker[0].trace);
}
/* SPDX-License-Identifier: Apache-2.0 */
