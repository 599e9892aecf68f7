/* Several networks at once: what a scheme sends does not depend on the clock, so one run of it gives every network
 * the tally that it has alone, bit by bit. */
#include "scheme_cases.h"
#include "support.h"

#include "study/identity.h"
#include "study/store.h"

#include <stdlib.h>
#include <unistd.h>

enum { NETWORKS = 5 };

static const char *const schemes[] = {
    "\"allreduce\"",
    "{\"name\": \"allreduce\", \"algorithm\": \"tree\"}",
    "\"allgather\"",
    "{\"name\": \"allgather\", \"algorithm\": \"bruck\"}",
    "\"ps\"",
    "{\"name\": \"ps\", \"colocated\": true}",
    "\"alltoall\"",
    "\"sparcml-rd\"",
    "\"sparcml-split\"",
    "\"sparcml-dsar\"",
    "\"omnireduce\"",
    "\"zen\"",
    "{\"name\": \"zen\", \"plan\": \"auto\"}",
    "\"design:hierarchy/incremental/parallel/even/coo\"",
};

static struct ss_cluster random_cluster(struct dice *dice, uint32_t gpus) {
  struct ss_cluster c = flat_cluster(1e-6 * dice_below(dice, 60), 1e-10 * (1 + dice_below(dice, 90)));
  c.gpus_per_node = gpus;
  c.nic_per_node = dice_one_in(dice, 2);
  c.has_intra = dice_one_in(dice, 2);
  if (c.has_intra) c.intra = (struct ss_link){1e-7 * dice_below(dice, 50), 1e-11 * (1 + dice_below(dice, 90))};
  return c;
}

static void same_tally(const struct ss_tally *a, const struct ss_tally *b, const char *scheme, uint32_t seed) {
  if (a->time != b->time || a->kernel != b->kernel || a->messages != b->messages || a->rounds != b->rounds ||
      a->bytes != b->bytes || a->sent_max != b->sent_max || a->received_max != b->received_max ||
      a->server_max != b->server_max)
    fail_msg("seed %u: %s takes %.17g s alone and %.17g s among others", seed, scheme, a->time, b->time);
}

static struct ss_outcome play(const struct ss_setting *setting, const struct ss_world *world,
                              const struct ss_cluster *const *clusters, uint32_t count, const struct ss_input *input,
                              struct ss_tally *tallies) {
  struct ss_arena arena = {0};
  struct ss_outcome outcome = {.exact = false, .tallies = tallies};
  struct ss_world several = *world;
  struct ss_error error;
  several.cluster = clusters[0];
  several.clusters = clusters;
  several.cluster_count = count;
  if (!ss_simulate(setting, &several, input, &arena, &outcome, &error))
    fail_msg("%s: %s", setting->label, error.text);
  assert_true(outcome.exact);
  ss_arena_free(&arena);
  return outcome;
}

TEST(each_network_is_as_it_is_alone) {
  uint32_t different = 0;
  for (uint32_t seed = 1; seed <= 80; seed++) {
    struct dice dice = {.seed = seed};
    const uint32_t gpus = dice_between(&dice, 1, 4), count = dice_between(&dice, 1, NETWORKS);
    struct ss_cluster cluster[NETWORKS];
    const struct ss_cluster *clusters[NETWORKS];
    struct ss_device quick = ss_device_of("d", 3e-6, 1e-11);
    quick.counted = dice_one_in(&dice, 2);
    const struct ss_world world = {.device = &quick, .verify = true};
    struct ss_arena arena = {0};
    struct ss_trace *trace = ragged_trace(&dice, (enum shape)(seed % SHAPES), 1 + seed % 17,
                                          dice_between(&dice, 1, 200), dice_between(&dice, 1, 9), SS_F32);
    for (uint32_t i = 0; i < NETWORKS; i++) {
      cluster[i] = random_cluster(&dice, gpus);
      clusters[i] = &cluster[i];
    }
    for (uint32_t k = 0; k < COUNT(schemes); k++) {
      struct ss_tally together[NETWORKS], alone;
      struct ss_setting setting;
      struct ss_error error;
      setting_of(schemes[k], &setting);
      setting.exchange_sizes = dice_one_in(&dice, 3);
      setting.ragged = (enum ss_ragged)dice_below(&dice, 3);
      setting.call = dice_one_in(&dice, 2) ? 1e-6 : 0;
      if (gpus > 1 && dice_one_in(&dice, 3)) setting.hierarchy = SS_LEADER;
      if (!ss_setting_check(&setting, ss_layout_of(clusters[0], ss_trace_ranks(trace)), &error)) continue;
      struct ss_input input = ragged_input(trace, 1, &setting, true, &arena);
      play(&setting, &world, clusters, count, &input, together);
      for (uint32_t i = 0; i < count; i++) {
        play(&setting, &world, &clusters[i], 1, &input, &alone);
        same_tally(&alone, &together[i], schemes[k], seed);
        different += i > 0 && together[i].time != together[0].time;
      }
    }
    ss_arena_free(&arena);
    ss_trace_close(trace);
  }
  assert_true(different > 1000); /* else equal clusters would make the comparison worth nothing */
}

/* --- groups ----------------------------------------------------------------------------------------------- */

static const char scenario[] = "{\"trace\": {\"synth\": {\"rows\": 200, \"ranks\": 16, \"iterations\": 4}}, "
                               "\"ranks\": 4, \"verify\": true, \"cluster\": "
                               "{\"name\": \"c\", \"gpus_per_node\": 1, \"bandwidth\": \"10Gbps\", \"latency\": "
                               "\"1us\"}, \"schemes\": [{\"name\": \"zen\", "
                               "\"label\": \"z\"}]}";

/* What a change of a scenario tells apart: nothing; points, but not what they send; or also that. */
enum difference { NOTHING, POINTS, PAYLOADS };

#define GRADIENT "trace", "{\"gradient\": {\"elements\": 256, \"iterations\": 4}}"
static const struct change {
  const char *path, *value;
  enum difference tells;
  const char *too, *other; /* one more path and its value, or NULL */
} changes[] = {
    {"name", "other", NOTHING, NULL, NULL},
    {"notes", "some", NOTHING, NULL, NULL},
    {"merge", "1", NOTHING, NULL, NULL},
    {"cluster.bandwidth", "1.25GB/s", NOTHING, NULL, NULL},
    {"ranks", "[4]", NOTHING, NULL, NULL},
    {"index_bytes", "4", NOTHING, NULL, NULL},
    {"cluster.latency", "2us", POINTS, NULL, NULL},
    {"cluster.bandwidth", "20Gbps", POINTS, NULL, NULL},
    {"cluster.model", "fair", POINTS, NULL, NULL},
    {"cluster.name", "other", POINTS, NULL, NULL},
    {"cluster.jitter", "{\"per\": \"pair\", \"draws\": 3, \"latency\": [[0, 0.5], [1, 2]]}", POINTS, NULL, NULL},
    {"schemes.0.label", "other", POINTS, NULL, NULL},
    {"cluster.gpus_per_node", "2", PAYLOADS, NULL, NULL},
    {"schemes.0.format", "coo", PAYLOADS, NULL, NULL},
    {"schemes.0.seed", "5", PAYLOADS, NULL, NULL},
    {"schemes.0.name", "ps", PAYLOADS, NULL, NULL},
    {"index_bytes", "8", PAYLOADS, NULL, NULL},
    {"granularity", "element", PAYLOADS, NULL, NULL},
    {"sizes", "exchanged", PAYLOADS, NULL, NULL},
    {"ragged", "padded", PAYLOADS, NULL, NULL},
    {"cluster.library", "{\"name\": \"mpich\", \"call\": \"1s\"}", PAYLOADS, NULL, NULL},
    {"cluster.library", "{\"name\": \"none\", \"call\": \"1s\"}", POINTS, NULL, NULL},
    {"ranks", "8", PAYLOADS, NULL, NULL},
    {"trace.synth.rows", "201", PAYLOADS, NULL, NULL},
    {"trace.synth.seed", "9", PAYLOADS, NULL, NULL},
    {"merge", "2", PAYLOADS, NULL, NULL},
    {"capacity", "1.5", PAYLOADS, NULL, NULL},
    {"iterations", "1:4", PAYLOADS, NULL, NULL},
    {"iterations", "0:3", PAYLOADS, NULL, NULL},
    {"verify", "false", PAYLOADS, NULL, NULL},
    {"device", "{\"name\": \"d\", \"memory_bandwidth\": \"1TB/s\", \"efficiency\": 0.5, \"launch\": \"5us\"}",
     PAYLOADS, NULL, NULL},
    {GRADIENT, PAYLOADS, NULL, NULL},
    {GRADIENT, PAYLOADS, "select", "{\"topk\": 0.5}"},
    {GRADIENT, PAYLOADS, "select", "{\"topk\": 0.25}"},
    {GRADIENT, PAYLOADS, "schemes", "[{\"name\": \"topka\", \"density\": 0.25}]"},
    {GRADIENT, PAYLOADS, "schemes", "[{\"name\": \"topka\", \"density\": 0.5}]"},
};

/* The changed scenario's only point; the study is the caller's. */
static struct ss_point changed_point(const struct change *c, struct ss_study **study) {
  static const struct ss_costs none = {0};
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  struct ss_error error;
  size_t count;
  if (!ss_doc_parse("scenario", scenario, sizeof scenario - 1, &doc, &error) ||
      (c && !ss_doc_set(doc, c->path, c->value, &error)) ||
      (c && c->too && !ss_doc_set(doc, c->too, c->other, &error)))
    fail_msg("%s", error.text);
  const struct ss_request request = {.document = ss_doc_root(doc).at, .costs = &none};
  if (!ss_study_open(&request, study, &error)) fail_msg("%s", error.text);
  const struct ss_point *point = ss_study_points(*study, &count);
  assert_int_equal(count, 1);
  return *point;
}

TEST(identities_tell_points_apart) {
  struct ss_study *study[COUNT(changes) + 1];
  struct ss_point point[COUNT(changes) + 1];
  for (size_t i = 0; i <= COUNT(changes); i++)
    point[i] = changed_point(i < COUNT(changes) ? &changes[i] : NULL, &study[i]);
  for (size_t i = 0; i <= COUNT(changes); i++)
    for (size_t k = 0; k < i; k++) {
      const enum difference a = i < COUNT(changes) ? changes[i].tells : NOTHING, b = changes[k].tells;
      const bool same = ss_identity_same(point[i].is.point, point[k].is.point);
      if (same != (a == NOTHING && b == NOTHING)) fail_msg("points %zu and %zu are %s", i, k, same ? "one" : "two");
      if (ss_identity_same(point[i].is.payloads, point[k].is.payloads) != (a < PAYLOADS && b < PAYLOADS))
        fail_msg("%s and %s do not send what they should", changes[k].path,
                 i < COUNT(changes) ? changes[i].path : "");
    }
  for (size_t i = 0; i <= COUNT(changes); i++) ss_study_close(study[i]);
}

TEST(groups_hold_every_point_once) {
  enum { MOST = 300 };
  static const struct ss_point *points[MOST];
  static bool wanted[MOST], seen[MOST];
  struct ss_study *study[COUNT(changes)];
  struct ss_point kind[COUNT(changes)];
  struct ss_point_groups groups;
  struct ss_error error;
  struct dice dice = {.seed = 4};
  size_t all = 0;
  for (size_t i = 0; i < COUNT(changes); i++) kind[i] = changed_point(&changes[i], &study[i]);
  for (size_t i = 0; i < MOST; i++) {
    points[i] = &kind[dice_below(&dice, COUNT(changes))];
    wanted[i] = !dice_one_in(&dice, 4);
    all += wanted[i];
  }
  assert_true(ss_points_group(points, MOST, wanted, &groups, &error));
  for (size_t g = 0; g < groups.count; g++)
    for (uint32_t k = 0; k < groups.group[g].count; k++) {
      const size_t i = groups.group[g].point[k], first = groups.group[g].point[0];
      assert_true(wanted[i] && !seen[i] && (k == 0 || i > groups.group[g].point[k - 1]));
      assert_true(ss_identity_same(points[i]->is.payloads, points[first]->is.payloads));
      assert_true(g == 0 || first > groups.group[g - 1].point[0]);
      seen[i] = true;
      all--;
    }
  assert_int_equal(all, 0);
  assert_true(groups.count < MOST / 2); /* some were put together */
  ss_points_ungroup(&groups);
  for (size_t i = 0; i < COUNT(changes); i++) ss_study_close(study[i]);
}

/* Of points alike as many as have 2^22 endpoints in all of their networks, at least one and at most 64. */
TEST(groups_have_no_more_endpoints_than_fit) {
  enum { POINTS_ALIKE = 150 };
  static const uint32_t draws[] = {0, 3, 40, 1000, 100000};
  static const struct ss_point *points[POINTS_ALIKE];
  static bool wanted[POINTS_ALIKE];
  struct ss_study *study;
  struct ss_point point = changed_point(NULL, &study);
  struct ss_error error;
  point.uncertainty = ss_certain;
  point.servers = 5;
  for (size_t i = 0; i < POINTS_ALIKE; i++) points[i] = &point, wanted[i] = true;
  for (size_t d = 0; d < COUNT(draws); d++)
    for (point.ranks = 1; point.ranks < 1 << 20; point.ranks *= 3) {
      const uint64_t fit = ((uint64_t)1 << 22) / (((uint64_t)point.ranks + 5) * (1 + (uint64_t)draws[d]));
      const uint64_t most = fit < 1 ? 1 : fit > 64 ? 64 : fit;
      struct ss_point_groups groups;
      point.cluster.jitter.draws = draws[d];
      assert_true(ss_points_group(points, POINTS_ALIKE, wanted, &groups, &error));
      assert_int_equal(groups.count, (POINTS_ALIKE + most - 1) / most);
      for (size_t g = 0; g + 1 < groups.count; g++) assert_int_equal(groups.group[g].count, most);
      ss_points_ungroup(&groups);
    }
  ss_study_close(study);
}

/* --- what is kept ------------------------------------------------------------------------------------------- */

static bool recalled(const char *path, const struct ss_result *like) {
  const struct ss_run_options options = {.jobs = 1};
  struct ss_result found = *like;
  struct ss_store *store;
  struct ss_error error;
  size_t dropped;
  bool known;
  if (!ss_store_open(path, true, true, &store, &dropped, &error)) fail_msg("%s", error.text);
  if (!ss_store_recall(store, &options, &found, &known, &error)) fail_msg("%s", error.text);
  ss_store_close(store, false);
  return known;
}

static void keep(const char *path, const struct ss_result *result) {
  struct ss_store *store;
  struct ss_error error;
  size_t dropped;
  if (!ss_store_open(path, false, true, &store, &dropped, &error)) fail_msg("%s", error.text);
  if (!ss_store_add(store, result, &error)) fail_msg("%s", error.text);
  ss_store_close(store, true);
}

/* A point that was not exact is not believed, however truly it was written. */
TEST(only_what_was_exact_is_known) {
  char path[] = "/tmp/sparsync-journal-XXXXXX";
  struct ss_result result = {.ranks = 4,
                             .tensor = "e",
                             .cluster = "c",
                             .device = "none",
                             .trace = "t",
                             .iterations = 2,
                             .time = 0.5,
                             .lossless = true,
                             .identity = {1, 2}};
  setting_of("\"zen\"", &result.setting);
  const int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  close(descriptor);
  for (int verdict = SS_NO; verdict <= SS_UNKNOWN; verdict++) {
    result.exact = (enum ss_truth)verdict;
    keep(path, &result);
    assert_int_equal(recalled(path, &result), verdict != SS_NO);
  }
  (void)unlink(path);
}

/* "*" is exact when every tensor is, wrong when one is, and else unknown. */
TEST(all_tensors_are_as_exact_as_the_worst) {
  static const enum ss_truth wanted[3][3] = {
      {SS_NO, SS_NO, SS_NO}, {SS_NO, SS_YES, SS_UNKNOWN}, {SS_NO, SS_UNKNOWN, SS_UNKNOWN}};
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      const struct ss_result two[2] = {{.tensor = "a", .exact = (enum ss_truth)a},
                                       {.tensor = "b", .exact = (enum ss_truth)b}};
      assert_int_equal(ss_result_of_all(two, 2).exact, wanted[a][b]);
    }
}
/* SPDX-License-Identifier: Apache-2.0 */
