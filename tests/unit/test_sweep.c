/* Several networks at once: what a scheme sends does not depend on the clock, so one run of it gives every network
 * the tally that it has alone, bit by bit. */
#include "scheme_cases.h"
#include "scheme_traffic.h"

#include "study/identity.h"
#include "study/journal.h"

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

static void each_network_is_as_it_is_alone(void **state) {
  uint32_t different = 0;
  (void)state;
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

static struct ss_job plain_job(void) {
  struct ss_job job = {.cluster = flat_cluster(1e-6, 1e-9),
                       .device = ss_device_none(),
                       .trace_name = "t",
                       .trace_key = "\"t\"",
                       .tensor_name = "e",
                       .trace_hash = 7,
                       .ranks = 4,
                       .end = 2,
                       .seed = 1,
                       .verify = true,
                       .siblings = 1};
  setting_of("\"zen\"", &job.setting);
  return job;
}

enum { CHANGES = 25, OF_LINKS = 7 };

/* The first seven change the network or a name only; the rest what is sent, or how it is judged. */
static struct ss_job changed_job(int change) {
  struct ss_job j = plain_job();
  switch (change) {
  case 0: j.cluster.inter.alpha = 2e-6; break;
  case 1: j.cluster.inter.beta = 2e-9; break;
  case 2: j.cluster.intra.beta = 2e-9; break;
  case 3: j.cluster.nic_per_node = true; break;
  case 4: j.cluster.has_intra = true; break;
  case 5: snprintf(j.cluster.name, sizeof j.cluster.name, "other"); break;
  case 6: snprintf(j.setting.label, sizeof j.setting.label, "other"); break;
  case 7: j.cluster.gpus_per_node = 2; break;
  case 8: setting_of("{\"name\": \"zen\", \"format\": \"coo\"}", &j.setting); break;
  case 9: setting_of("{\"name\": \"zen\", \"seed\": 5}", &j.setting); break;
  case 10: setting_of("\"ps\"", &j.setting); break;
  case 11: j.setting.index_bytes = 8; break;
  case 12: j.setting.element = true; break;
  case 13: j.setting.exchange_sizes = true; break;
  case 14: j.setting.hierarchy = SS_LEADER; break;
  case 15: j.ranks = 8; break;
  case 16: j.trace_hash = 8; break;
  case 17: j.trace_key = "\"u\""; break;
  case 18: j.tensor_name = "f"; break;
  case 19: j.origin.merge = 2; break;
  case 20: j.first = 1; break;
  case 21: j.verify = false; break;
  case 22: j.device.counted = true; break;
  case 23: j.setting.real[0] = 0.25; break;
  default: j.selection = (struct ss_selection){.selects = true, .density = 0.5}; break;
  }
  return j;
}

static void identities_tell_points_apart(void **state) {
  struct ss_identity payloads[CHANGES + 1], points[CHANGES + 1];
  (void)state;
  for (int i = 0; i <= CHANGES; i++) {
    const struct ss_job job = i < CHANGES ? changed_job(i) : plain_job();
    payloads[i] = ss_job_payloads(&job);
    points[i] = ss_job_identity(&job);
    assert_true(ss_identity_same(points[i], ss_job_identity(&job)));
  }
  for (int i = 0; i <= CHANGES; i++)
    for (int k = 0; k < i; k++) {
      const bool only_links = (i < OF_LINKS || i == CHANGES) && (k < OF_LINKS || k == CHANGES);
      if (ss_identity_same(points[i], points[k])) fail_msg("points %d and %d are one", i, k);
      if (ss_identity_same(payloads[i], payloads[k]) != only_links)
        fail_msg("points %d and %d send %s", i, k, only_links ? "other things" : "the same");
    }
}

static void groups_hold_every_job_once(void **state) {
  enum { JOBS = 300 };
  static struct ss_job jobs[JOBS];
  static bool wanted[JOBS], seen[JOBS];
  struct ss_job_groups groups;
  struct ss_error error;
  struct dice dice = {.seed = 4};
  size_t all = 0;
  (void)state;
  for (size_t i = 0; i < JOBS; i++) {
    jobs[i] = changed_job((int)dice_below(&dice, CHANGES));
    wanted[i] = !dice_one_in(&dice, 4);
    all += wanted[i];
  }
  assert_true(ss_jobs_group(jobs, JOBS, wanted, &groups, &error));
  for (size_t g = 0; g < groups.count; g++)
    for (uint32_t k = 0; k < groups.group[g].count; k++) {
      const size_t i = groups.group[g].job[k], first = groups.group[g].job[0];
      assert_true(wanted[i] && !seen[i] && (k == 0 || i > groups.group[g].job[k - 1]));
      assert_true(ss_identity_same(ss_job_payloads(&jobs[i]), ss_job_payloads(&jobs[first])));
      assert_true(g == 0 || first > groups.group[g - 1].job[0]);
      seen[i] = true;
      all--;
    }
  assert_int_equal(all, 0);
  assert_true(groups.count < JOBS / 2); /* some were put together */
  ss_jobs_ungroup(&groups);
}

/* --- what is kept ------------------------------------------------------------------------------------------- */

static bool recalled(const char *path, const struct ss_result *like) {
  const struct ss_run_options options = {.jobs = 1};
  struct ss_result found = *like;
  struct ss_journal *journal;
  struct ss_error error;
  size_t dropped;
  bool known;
  if (!ss_journal_open(path, true, true, &journal, &dropped, &error)) fail_msg("%s", error.text);
  if (!ss_journal_recall(journal, &options, &found, &known, &error)) fail_msg("%s", error.text);
  ss_journal_close(journal, false);
  return known;
}

static void keep(const char *path, const struct ss_result *result) {
  struct ss_journal *journal;
  struct ss_error error;
  size_t dropped;
  if (!ss_journal_open(path, false, true, &journal, &dropped, &error)) fail_msg("%s", error.text);
  if (!ss_journal_add(journal, result, &error)) fail_msg("%s", error.text);
  ss_journal_close(journal, true);
}

/* A point that was not exact is not believed, however truly it was written. */
static void only_what_was_exact_is_known(void **state) {
  char path[] = "/tmp/sparsync-journal-XXXXXX";
  const struct ss_job job = plain_job();
  struct ss_result result = {.setting = job.setting,
                             .ranks = 4,
                             .tensor = "e",
                             .cluster = "c",
                             .device = "none",
                             .trace = "t",
                             .iterations = 2,
                             .time = 0.5,
                             .lossless = true,
                             .identity = ss_job_identity(&job)};
  (void)state;
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
static void all_tensors_are_as_exact_as_the_worst(void **state) {
  static const enum ss_truth wanted[3][3] = {
      {SS_NO, SS_NO, SS_NO}, {SS_NO, SS_YES, SS_UNKNOWN}, {SS_NO, SS_UNKNOWN, SS_UNKNOWN}};
  (void)state;
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      const struct ss_result two[2] = {{.tensor = "a", .exact = (enum ss_truth)a},
                                       {.tensor = "b", .exact = (enum ss_truth)b}};
      assert_int_equal(ss_result_of_all(two, 2).exact, wanted[a][b]);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_network_is_as_it_is_alone),
      cmocka_unit_test(identities_tell_points_apart),
      cmocka_unit_test(groups_hold_every_job_once),
      cmocka_unit_test(only_what_was_exact_is_known),
      cmocka_unit_test(all_tensors_are_as_exact_as_the_worst),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
