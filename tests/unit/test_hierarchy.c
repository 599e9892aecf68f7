/* Hierarchies: any scheme among nodes, dense sums inside them. Exact on ragged inputs, with the bytes that the
 * model's page gives; by hand for one case; refused where they cannot work. */
#include "scheme_cases.h"
#include "scheme_traffic.h"

#include "schemes/registry.h"
#include "schemes/run.h"

static const uint32_t sizes[][2] = {{4, 2}, {6, 3}, {8, 4}, {3, 8}, {5, 2}, {7, 3}, {16, 4}, {2, 2}, {9, 4}};

#if defined(__SANITIZE_ADDRESS__)
enum { SIZES = 3 }; /* sanitizers slow memory down: more is left to the plain build */
#else
enum { SIZES = COUNT(sizes) };
#endif

struct trial {
  struct ss_trace *trace;
  struct ss_cluster cluster;
  struct ss_device device;
  struct ss_setting setting;
  struct ss_layout layout;
  struct ss_arena arena;
  char words[500];
};

static void simulate(struct trial *x, bool verify, struct ss_outcome *out) {
  struct ss_world world = {.cluster = &x->cluster, .device = &x->device, .verify = verify};
  struct ss_input input = ragged_input(x->trace, 1, &x->setting, verify, &x->arena);
  struct ss_error error;
  if (!ss_simulate(&x->setting, &world, &input, &x->arena, out, &error)) fail_msg("%s: %s", x->words, error.text);
}

static void try_setting(struct trial *x, uint64_t seed) {
  char words[400];
  uint64_t sent[MOST_RANKS], received[MOST_RANKS];
  struct ss_outcome proven = {.rank_sent = sent, .rank_received = received}, bare = {.exact = false};
  struct traffic traffic;
  snprintf(x->words, sizeof x->words, "seed %llu P %u of %u a node, %llu rows: %s", (unsigned long long)seed,
           x->layout.ranks, x->layout.per_node, (unsigned long long)ss_trace_tensor(x->trace, 0)->rows,
           setting_text(&x->setting, words, sizeof words));
  ss_arena_reset(&x->arena);
  simulate(x, true, &proven);
  if (!proven.proven || !proven.exact) fail_msg("%s: not exact: %s", x->words, proven.mismatch);
  simulate(x, false, &bare);
  if (!close_to(bare.tally.time, proven.tally.time, 1e-12) || bare.tally.bytes != proven.tally.bytes ||
      bare.tally.rounds != proven.tally.rounds || !close_to(bare.tally.kernel, proven.tally.kernel, 1e-12))
    fail_msg("%s: %g s with the proof, %g without", x->words, proven.tally.time, bare.tally.time);
  struct truth truth = truth_of(x->trace, 0, 1, x->setting.element);
  if (define(&traffic, &truth, &x->setting, x->layout)) check_traffic(&traffic, &proven, x->words);
  free(truth.n);
}

static uint32_t tried; /* settings */

static void try_trace(uint32_t ranks, uint32_t per_node, enum ss_hierarchy hierarchy, uint64_t seed) {
  struct dice dice = {.seed = seed};
  struct trial x = {.cluster = flat_cluster(1e-6 * (1 + dice_below(&dice, 50)), 1e-9), .device = ss_device_none()};
  uint32_t rows = dice_one_in(&dice, 3) ? dice_between(&dice, 1, ranks) : dice_between(&dice, 1, 120);
  x.cluster.gpus_per_node = per_node;
  x.cluster.has_intra = dice_one_in(&dice, 2);
  if (x.cluster.has_intra) x.cluster.intra = (struct ss_link){1e-7, 1e-11};
  x.cluster.nic_per_node = dice_one_in(&dice, 2);
  if (dice_one_in(&dice, 3)) x.device = ss_device_of("d", 1e-6, 1e-10);
  x.layout = ss_layout_of(&x.cluster, ranks);
  x.trace = ragged_trace(&dice, (enum shape)(seed % SHAPES), ranks, rows, dice_between(&dice, 1, 7), SS_F32);
  for (size_t i = 0; ss_schemes()[i]; i++) {
    struct cases cases = {.scheme = ss_schemes()[i], .layout = x.layout, .hierarchy = hierarchy, .brief = true};
    while (ss_scheme_lossless(ss_schemes()[i]) && cases_next(&cases, &x.setting)) {
      x.setting.element = dice_one_in(&dice, 2);
      x.setting.exchange_sizes = dice_one_in(&dice, 2);
      try_setting(&x, seed);
      tried++;
    }
  }
  ss_arena_free(&x.arena);
  ss_trace_close(x.trace);
}

static bool possible(enum ss_hierarchy hierarchy, uint32_t ranks, uint32_t per_node) {
  return hierarchy == SS_LEADER || ranks <= per_node || ranks % per_node == 0;
}

static void schemes_among_nodes_are_exact(void **state) {
  (void)state;
  tried = 0;
  for (uint32_t i = 0; i < SIZES; i++)
    for (enum ss_hierarchy h = SS_SHARD; h <= SS_LEADER; h++)
      for (uint32_t seed = 0; seed < SHAPES && possible(h, sizes[i][0], sizes[i][1]); seed++)
        try_trace(sizes[i][0], sizes[i][1], h, 100 * i + seed);
  assert_true(tried > 0);
}

/* --- by hand ---------------------------------------------------------------------------------------------- */

/* Ten rows of three elements: 120 B dense. Nodes have {0, 1, 7} and {1, 2, 9}; 16 B a row as COO. */
static const uint64_t offsets[] = {0, 2, 4, 5, 7};
static const uint32_t ids[] = {0, 1, 1, 7, 2, 9, 1};

static struct ss_outcome by_hand(
    const char *json, uint64_t *sent, // NOLINT(readability-non-const-parameter): the outcome writes through it
    uint64_t *received) {             // NOLINT(readability-non-const-parameter): likewise
  const struct ss_tensor tensor = {.name = "t", .rows = 10, .row_width = 3, .dtype = SS_F32};
  const struct ss_trace_content content = {.source = "test",
                                           .iterations = 1,
                                           .ranks = 4,
                                           .tensors = 1,
                                           .tensor = &tensor,
                                           .offsets = (const uint64_t *const[]){offsets},
                                           .rows = (const uint32_t *const[]){ids},
                                           .pad_id = -1};
  struct trial x = {.cluster = flat_cluster(1, 1), .device = ss_device_none(), .words = "by hand"};
  struct ss_outcome o = {.rank_sent = sent, .rank_received = received};
  struct ss_error error;
  assert_true(ss_trace_build("test", &content, &x.trace, &error));
  x.cluster.gpus_per_node = 2;
  setting_of(json, &x.setting);
  simulate(&x, true, &o);
  assert_true(o.exact);
  ss_arena_free(&x.arena);
  ss_trace_close(x.trace);
  return o;
}

static void bytes_inside_nodes_are_dense(void **state) {
  uint64_t sent[4], received[4];
  (void)state;
  /* shards of 5 rows, 60 B: reduce-scatter, then two rows or one across, then all-gather */
  struct ss_outcome o = by_hand("{\"name\": \"allgather\", \"hierarchy\": \"shard\"}", sent, received);
  for (uint32_t r = 0; r < 4; r++) {
    assert_int_equal(sent[r], r % 2 == 0 ? 60 + 32 + 60 : 60 + 16 + 60);
    assert_int_equal(received[r], sent[r]);
  }
  assert_true(close_to(o.tally.time, 3 + 152, 1e-12) && o.tally.messages == 12 && o.tally.rounds == 3);
  /* the tensor to the leader, three rows across, the tensor back */
  o = by_hand("{\"name\": \"allgather\", \"hierarchy\": \"leader\"}", sent, received);
  for (uint32_t r = 0; r < 4; r++) {
    assert_int_equal(sent[r], r % 2 == 0 ? 48 + 120 : 120);
    assert_int_equal(received[r], sent[r]);
  }
  assert_true(close_to(o.tally.time, 3 + 120 + 48 + 120, 1e-12) && o.tally.messages == 6 && o.tally.rounds == 3);
}

/* --- what is refused, and servers ------------------------------------------------------------------------- */

static void servers_count_per_group(void **state) {
  static const struct {
    const char *json;
    struct ss_layout layout;
    uint32_t servers;
    uint64_t parts;
  } settings[] = {
      {"\"ps\"", {4, 2, 2}, 2, 2},
      {"{\"name\": \"ps\", \"hierarchy\": \"shard\"}", {4, 2, 2}, 4, 4},
      {"{\"name\": \"ps\", \"hierarchy\": \"leader\"}", {4, 2, 2}, 2, 2},
      {"{\"name\": \"ps\", \"hierarchy\": \"shard\"}", {16, 4, 4}, 16, 16},
      {"{\"name\": \"ps\", \"servers\": 2, \"hierarchy\": \"shard\"}", {12, 3, 4}, 8, 8},
      {"{\"name\": \"ps\", \"servers\": 2, \"hierarchy\": \"leader\"}", {12, 3, 4}, 2, 2},
      {"{\"name\": \"ps\", \"colocated\": true, \"hierarchy\": \"shard\"}", {12, 3, 4}, 0, 12},
      {"{\"name\": \"omnireduce\", \"aggregators\": 1, \"hierarchy\": \"shard\"}", {4, 2, 2}, 2, 2},
      {"{\"name\": \"omnireduce\", \"hierarchy\": \"shard\"}", {4, 2, 2}, 0, 4},
      {"{\"name\": \"zen\", \"balance\": \"even\", \"hierarchy\": \"shard\"}", {6, 2, 3}, 0, 6},
      {"{\"name\": \"ps\", \"hierarchy\": \"shard\"}", {3, 1, 8}, 0, 3},
  };
  (void)state;
  for (uint32_t i = 0; i < COUNT(settings); i++) {
    struct ss_setting setting;
    struct ss_error error;
    setting_of(settings[i].json, &setting);
    assert_true(ss_setting_check(&setting, settings[i].layout, &error));
    uint32_t servers = ss_setting_servers(&setting, settings[i].layout);
    if (servers != settings[i].servers) fail_msg("case %u, %s: %u servers", i, settings[i].json, servers);
    if (ss_setting_parts(&setting, settings[i].layout) != settings[i].parts)
      fail_msg("case %u, %s: %llu parts", i, settings[i].json,
               (unsigned long long)ss_setting_parts(&setting, settings[i].layout));
  }
}

static void impossible_hierarchies_are_refused(void **state) {
  static const struct {
    const char *json;
    struct ss_layout layout;
    const char *says; /* NULL: allowed */
  } settings[] = {
      {"{\"name\": \"zen\", \"hierarchy\": \"shard\"}", {5, 3, 2}, "full nodes"},
      {"{\"name\": \"zen\", \"hierarchy\": \"shard\"}", {5, 3, 2}, "6 ranks"},
      {"{\"name\": \"zen\", \"hierarchy\": \"leader\"}", {5, 3, 2}, NULL},
      {"{\"name\": \"zen\", \"hierarchy\": \"shard\"}", {3, 1, 8}, NULL},
      {"{\"name\": \"zen\", \"hierarchy\": \"shard\"}", {4, 4, 1}, "several GPUs"},
      {"{\"name\": \"zen\", \"hierarchy\": \"leader\"}", {4, 4, 1}, "several GPUs"},
      {"{\"name\": \"alltoall\", \"hierarchy\": \"shard\"}", {4, 2, 2}, "hierarchy"},
      {"{\"name\": \"alltoall\", \"hierarchy\": \"leader\"}", {4, 2, 2}, "hierarchy"},
      {"{\"name\": \"ps\", \"pull\": \"rows\", \"hierarchy\": \"shard\"}", {4, 2, 2}, "union"},
      {"{\"name\": \"ps\", \"pull\": \"rows\", \"hierarchy\": \"leader\"}", {4, 2, 2}, "union"},
      {"{\"name\": \"ps\", \"servers\": 3, \"hierarchy\": \"leader\"}", {4, 2, 2}, "servers"},
      {"{\"name\": \"ps\", \"servers\": 2, \"hierarchy\": \"shard\"}", {4, 2, 2}, NULL},
      {"{\"name\": \"omnireduce\", \"aggregators\": 3, \"hierarchy\": \"shard\"}", {4, 2, 2}, "aggregators"},
      {"{\"name\": \"allreduce\", \"hierarchy\": \"shard\"}", {6, 3, 2}, NULL},
  };
  (void)state;
  for (uint32_t i = 0; i < COUNT(settings); i++) {
    struct ss_setting setting;
    struct ss_error error;
    setting_of(settings[i].json, &setting);
    bool ok = ss_setting_check(&setting, settings[i].layout, &error);
    if (ok != (settings[i].says == NULL))
      fail_msg("case %u, %s: %s", i, settings[i].json, ok ? "passes" : error.text);
    if (!ok && settings[i].says && !strstr(error.text, settings[i].says))
      fail_msg("\"%s\" does not say \"%s\"", error.text, settings[i].says);
  }
}

/* Of several shards the worst counts, for pushing and for pulling apart. */
static void imbalance_is_of_the_worst_shard(void **state) {
  struct ss_run_verdict verdict = {.push_imbalance = NAN, .pull_imbalance = NAN};
  struct ss_run run = {.verdict = &verdict};
  static const double push[] = {1.5, 1.25, 2, 1}, pull[] = {1, 3, 2, NAN};
  (void)state;
  for (size_t i = 0; i < COUNT(push); i++) {
    const struct ss_owners owners = {.push_imbalance = push[i], .pull_imbalance = pull[i]};
    ss_run_imbalance(&run, &owners);
  }
  assert_true(close_to(verdict.push_imbalance, 2, 0));
  assert_true(close_to(verdict.pull_imbalance, 3, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(imbalance_is_of_the_worst_shard),    cmocka_unit_test(schemes_among_nodes_are_exact),
      cmocka_unit_test(bytes_inside_nodes_are_dense),       cmocka_unit_test(servers_count_per_group),
      cmocka_unit_test(impossible_hierarchies_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
