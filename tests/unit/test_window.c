/* Rankings that depend on how many messages a port has under way, on times that a hand can work out. */
#include "support.h"

#include "study/window.h"

#include <math.h>
#include <string.h>

/* Four ranks, each with its own port of 1 GB/s and 100 us: of 100 rows of 10 floats every rank holds the same 10, and
 * sends them as 440 B to 3 others, 1.32 us in all. */
static const double WIRE = 3 * 440 / 1e9, ALPHA = 100e-6;
#define SCENARIO(model, window, schemes)                                                                             \
  "{\"trace\": {\"uniform\": {\"rows\": 100, \"row_width\": 10, \"density\": 0.1, \"overlap\": \"full\"}}, "         \
  "\"ranks\": 4, \"cluster\": {\"model\": \"" model "\"" window                                                      \
  ", \"latency\": \"100us\", \"bandwidth\": \"1GB/s\"}, \"schemes\": " schemes "}"
#define GATHER(name, algorithm) "{\"name\": \"allgather\", \"label\": \"" name "\", \"algorithm\": \"" algorithm "\"}"
#define ONE ", \"window\": 1"
#define RING GATHER("ring", "ring")
#define DIRECT GATHER("direct", "direct")
#define DOUBLING GATHER("doubling", "recursive-doubling")

struct compared {
  struct ss_study *study;
  struct ss_results results;
  struct ss_turns turns;
};

/* How often something begins to be simulated. */
static void count_beginning(void *context, const char *what, size_t all) {
  (void)what;
  (void)all;
  (*(unsigned *)context)++;
}
static void ignore_advance(void *context, size_t steps, double work, double whole) {
  (void)context;
  (void)steps;
  (void)work;
  (void)whole;
}
static void ignore_end(void *context) {
  (void)context;
}

static unsigned runs;

static void ask(const char *json, struct compared *out) {
  const struct ss_watcher watcher = {
      .begin = count_beginning, .advance = ignore_advance, .end = ignore_end, .context = &runs};
  const struct ss_run_options options = {.jobs = 1, .watcher = &watcher};
  struct ss_error error = {0};
  struct ss_doc *doc;
  runs = 0;
  if (!ss_doc_parse("test", json, strlen(json), &doc, &error)) fail_msg("%s", error.text);
  const struct ss_request request = {.document = ss_doc_root(doc).at};
  if (!ss_study_open(&request, &out->study, &error) || !ss_study_run(out->study, &options, &out->results, &error) ||
      !ss_study_turns(out->study, &out->results, &options, &out->turns, &error))
    fail_msg("%s", error.text);
  ss_doc_free(doc);
}

static void close_compared(struct compared *a) {
  ss_turns_free(&a->turns);
  ss_results_free(&a->results);
  ss_study_close(a->study);
}

static void near(double found, double expected) {
  if (fabs(found - expected) > 1e-12) fail_msg("%.15g s, not %.15g", found, expected);
}

/* One message at a time a start-up is waited for in each round: 3 directly, 2 by doubling. All at once: 1 directly.
 */
TEST(a_turn_is_told) {
  struct compared a;
  char text[SS_TURN_TEXT_SIZE];
  ask(SCENARIO("fair", ONE, "[" RING ", " DIRECT ", " DOUBLING "]"), &a);
  /* the ring takes as long as direct messages where they wait for each other: a tie is no turn */
  assert_int_equal(a.turns.count, 1);
  assert_int_equal(runs, 2);
  const struct ss_turn *t = a.turns.turn;
  assert_string_equal(t->faster->setting.label, "doubling");
  assert_string_equal(t->slower->setting.label, "direct");
  assert_int_equal(t->window, 1);
  assert_int_equal(t->other, UINT32_MAX);
  near(t->faster->time, 2 * ALPHA + WIRE);
  near(t->slower->time, 3 * ALPHA + WIRE);
  near(t->faster_other, 2 * ALPHA + WIRE);
  near(t->slower_other, ALPHA + WIRE);
  assert_string_equal(ss_turn_text(t, text, sizeof text), "with window 1 doubling takes 201 us and direct 301 us, "
                                                          "with window all 201 us and 101 us (as numbers are given)");
  close_compared(&a);
}

/* Asked of a cluster whose window is all, the other one is 1. */
TEST(the_other_of_all_is_one) {
  struct compared a;
  ask(SCENARIO("fair", ", \"window\": \"all\"", "[" DOUBLING ", " DIRECT "]"), &a);
  assert_int_equal(a.turns.count, 1);
  assert_string_equal(a.turns.turn->faster->setting.label, "direct");
  assert_int_equal(a.turns.turn->window, UINT32_MAX);
  assert_int_equal(a.turns.turn->other, 1);
  near(a.turns.turn->slower->time, 2 * ALPHA + WIRE);
  near(a.turns.turn->faster_other, 3 * ALPHA + WIRE);
  close_compared(&a);
}

/* Draws have both. */
TEST(an_open_window_makes_no_turn) {
  struct compared a;
  ask(SCENARIO("fair", "", "[" DOUBLING ", " DIRECT "]"), &a);
  assert_int_equal(a.turns.count, 0);
  assert_int_equal(runs, 1);
  near(a.results.result[0].components.s[SS_WINDOW], 0);
  near(a.results.result[1].components.s[SS_WINDOW], -2 * ALPHA);
  close_compared(&a);
}

TEST(without_a_window_nothing_turns) {
  struct compared a;
  ask(SCENARIO("alpha-beta", "", "[" DOUBLING ", " DIRECT "]"), &a);
  assert_int_equal(a.turns.count, 0);
  assert_int_equal(runs, 1); /* nor is anything simulated again */
  close_compared(&a);
}

/* Neither the ring nor doubling has more than one message under way at a port. */
TEST(a_ranking_that_stands_is_not_told) {
  struct compared a;
  ask(SCENARIO("fair", ONE, "[" RING ", " DOUBLING "]"), &a);
  assert_true(a.results.result[0].time > a.results.result[1].time);
  assert_int_equal(a.turns.count, 0);
  close_compared(&a);
}

/* A ring and direct messages one at a time take equally long; what rounding may make of that is no turn either, and
 * more than that is one: all at once, direct messages are faster. */
TEST(rounding_makes_no_turn) {
  static const double slower[] = {1 + 1e-12, 1 + 1e-6};
  const struct ss_run_options options = {.jobs = 1};
  struct compared a;
  struct ss_error error;
  ask(SCENARIO("fair", ONE, "[" RING ", " DIRECT "]"), &a);
  assert_int_equal(a.turns.count, 0);
  for (uint32_t i = 0; i < COUNT(slower); i++) {
    ss_turns_free(&a.turns);
    a.results.result[1].time = a.results.result[0].time * slower[i];
    assert_true(ss_study_turns(a.study, &a.results, &options, &a.turns, &error));
    assert_int_equal(a.turns.count, i);
  }
  close_compared(&a);
}
/* SPDX-License-Identifier: Apache-2.0 */
