/* Schemes that are points of ZEN's design space equal their points; and what is no point is refused. */
#include "scheme_cases.h"

#include <math.h>

struct pair {
  const char *name, *point;
};

static const struct pair pairs[] = {
    {"{\"name\": \"zen\", \"format\": \"coo\"}", "\"design:p2p/incremental/parallel/balanced/coo\""},
    {"{\"name\": \"zen\", \"format\": \"bitmap\"}", "\"design:p2p/incremental/parallel/balanced/bitmap\""},
    {"{\"name\": \"zen\", \"format\": \"block\"}", "\"design:p2p/incremental/parallel/balanced/block\""},
    {"\"zen\"", "\"design:p2p/incremental/parallel/balanced/hash-bitmap\""},
    {"{\"name\": \"zen\", \"balance\": \"even\", \"format\": \"coo\"}",
     "\"design:p2p/incremental/parallel/even/coo\""},
    {"{\"name\": \"zen\", \"balance\": \"even\", \"format\": \"bitmap\"}",
     "\"design:p2p/incremental/parallel/even/bitmap\""},
    {"{\"name\": \"zen\", \"balance\": \"even\", \"format\": \"block\"}",
     "\"design:p2p/incremental/parallel/even/block\""},
    {"{\"name\": \"ps\", \"colocated\": true}", "\"design:p2p/incremental/parallel/even/coo\""},
    {"\"omnireduce\"", "\"design:p2p/incremental/parallel/even/block\""},
    {"\"sparcml-rd\"", "\"design:hierarchy/incremental/central/coo\""},
    {"{\"name\": \"allgather\", \"algorithm\": \"direct\"}", "\"design:p2p/one-shot/central/coo\""},
    {"\"allgather\"", "\"design:ring/one-shot/central/coo\""},
    {"{\"name\": \"allgather\", \"algorithm\": \"recursive-doubling\"}", "\"design:hierarchy/one-shot/central/coo\""},
    {"\"design:p2p/one-shot/parallel/balanced/coo\"", "\"design:p2p/incremental/parallel/balanced/coo\""},
    {"\"design:p2p/one-shot/parallel/balanced/hash-bitmap\"",
     "\"design:p2p/incremental/parallel/balanced/hash-bitmap\""},
    {"\"design:p2p/one-shot/parallel/even/block\"", "\"design:p2p/incremental/parallel/even/block\""},
    {"\"design:p2p/one-shot/central/bitmap\"", "\"design:p2p/incremental/central/bitmap\""},
    {"\"design:p2p/one-shot/central/block\"", "\"design:p2p/incremental/central/block\""},
};

struct scene {
  struct ss_cluster cluster;
  struct ss_trace *trace;
  bool element, exchanged;
  struct ss_arena arena;
};

static struct ss_outcome simulate(struct scene *x, const char *json) {
  struct ss_device none = ss_device_none();
  struct ss_world world = {.cluster = &x->cluster, .device = &none, .verify = true};
  struct ss_outcome outcome = {.exact = false};
  struct ss_setting setting;
  struct ss_error error;
  setting_of(json, &setting);
  setting.element = x->element;
  setting.exchange_sizes = x->exchanged;
  assert_true(ss_setting_check(&setting, ss_layout_of(&x->cluster, ss_trace_ranks(x->trace)), &error));
  struct ss_input input = ragged_input(x->trace, 1, &setting, true, &x->arena);
  if (!ss_simulate(&setting, &world, &input, &x->arena, &outcome, &error)) fail_msg("%s: %s", json, error.text);
  assert_true(outcome.exact);
  return outcome;
}

static bool same_bits(double a, double b) {
  return a == b || (isnan(a) && isnan(b));
}

TEST(named_schemes_equal_their_points) {
  uint32_t messages = 0;
  for (uint32_t seed = 1; seed <= 120; seed++) {
    struct dice dice = {.seed = seed};
    struct scene x = {.cluster = flat_cluster(1e-6 * (1 + dice_below(&dice, 50)), 1e-9)};
    x.cluster.gpus_per_node = dice_between(&dice, 1, 4);
    x.cluster.nic_per_node = dice_one_in(&dice, 2);
    x.element = dice_one_in(&dice, 2);
    x.exchanged = dice_one_in(&dice, 2);
    x.trace = ragged_trace(&dice, (enum shape)(seed % SHAPES), 1 + seed % 17, dice_between(&dice, 1, 200),
                           dice_between(&dice, 1, 9), SS_F32);
    for (uint32_t i = 0; i < COUNT(pairs); i++) {
      struct ss_outcome a = simulate(&x, pairs[i].name), b = simulate(&x, pairs[i].point);
      ss_arena_reset(&x.arena);
      if (!same_bits(a.tally.time, b.tally.time) || a.tally.bytes != b.tally.bytes ||
          a.tally.messages != b.tally.messages || a.tally.rounds != b.tally.rounds ||
          a.tally.sent_max != b.tally.sent_max || a.tally.received_max != b.tally.received_max)
        fail_msg(
            "seed %u, P %u: %s takes %g s, %llu B in %llu messages of %llu rounds, %s %g s, %llu B in %llu of %llu",
            seed, ss_trace_ranks(x.trace), pairs[i].name, a.tally.time, (unsigned long long)a.tally.bytes,
            (unsigned long long)a.tally.messages, (unsigned long long)a.tally.rounds, pairs[i].point, b.tally.time,
            (unsigned long long)b.tally.bytes, (unsigned long long)b.tally.messages,
            (unsigned long long)b.tally.rounds);
      messages += a.tally.messages > 0;
    }
    ss_arena_free(&x.arena);
    ss_trace_close(x.trace);
  }
  assert_true(messages > 1000);
}

/* Points that differ do so in what they send: else the comparison above would say nothing. */
TEST(other_points_differ) {
  static const char *const points[] = {
      "\"design:p2p/incremental/parallel/balanced/coo\"",
      "\"design:p2p/incremental/parallel/balanced/bitmap\"",
      "\"design:p2p/incremental/parallel/balanced/block\"",
      "\"design:p2p/incremental/parallel/even/coo\"",
      "\"design:ring/incremental/parallel/balanced/coo\"",
      "\"design:ring/one-shot/parallel/balanced/coo\"",
      "\"design:hierarchy/one-shot/parallel/even/coo\"",
      "\"design:hierarchy/incremental/parallel/even/coo\"",
      "\"design:ring/incremental/central/coo\"",
      "\"design:hierarchy/incremental/central/coo\"",
      "\"design:ring/one-shot/central/coo\"",
  };
  struct dice dice = {.seed = 9};
  struct scene x = {.cluster = flat_cluster(1e-6, 1e-9)};
  x.trace = ragged_trace(&dice, HOT, 8, 300, 4, SS_F32);
  for (uint32_t i = 0; i < COUNT(points); i++)
    for (uint32_t k = 0; k < i; k++) {
      struct ss_outcome a = simulate(&x, points[i]), b = simulate(&x, points[k]);
      if (same_bits(a.tally.time, b.tally.time)) fail_msg("%s takes as long as %s", points[i], points[k]);
    }
  ss_arena_free(&x.arena);
  ss_trace_close(x.trace);
}

TEST(wrong_points_are_refused) {
  static const struct {
    const char *json, *says;
  } wrong[] = {
      {"\"design:p2p\"", "aggregation"},
      {"\"design:\"", "communication"},
      {"\"design:p2p/incremental/parallel/coo\"", "balance"},
      {"\"design:p2p/incremental/central/balanced/coo\"", "format"},
      {"\"design:p2p/incremental/parallel/even/dense\"", "format"},
      {"\"design:p2p/incremental/parallel/even/coo/x\"", "nothing more"},
      {"\"design:mesh/incremental/parallel/even/coo\"", "communication"},
      {"\"zen:coo\"", "no scheme"},
  };
  static const char *const refused[] = {
      "\"design:p2p/incremental/parallel/even/hash-bitmap\"", "\"design:ring/one-shot/central/hash-bitmap\"",
      "{\"name\": \"zen\", \"refresh\": 3}", "{\"name\": \"omnireduce\", \"aggregators\": 5}"};
  struct ss_setting defaults = {.index_bytes = 4}, setting;
  struct ss_error error;
  struct ss_doc *doc;
  for (uint32_t i = 0; i < COUNT(wrong); i++) {
    assert_true(ss_doc_parse("test", wrong[i].json, strlen(wrong[i].json), &doc, &error));
    if (ss_setting_read(ss_doc_root(doc), &defaults, &setting, &error)) fail_msg("%s is read", wrong[i].json);
    if (!strstr(error.text, wrong[i].says)) fail_msg("\"%s\" does not say \"%s\"", error.text, wrong[i].says);
    ss_doc_free(doc);
  }
  for (uint32_t i = 0; i < COUNT(refused); i++) {
    setting_of(refused[i], &setting);
    if (ss_setting_check(&setting, flat_layout(4), &error)) fail_msg("%s passes", refused[i]);
    assert_int_equal(error.status, SS_BAD_INPUT);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
