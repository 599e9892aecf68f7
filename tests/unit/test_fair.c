/* The model "fair": some times worked out by hand; the same times as ordered ports give where nothing is shared; and
 * random cases with every key against a second calculation (fair_reference.c). */
#include "fair_cases.h"
#include "fair_reference.h"
#include "scheme_cases.h"

#include "base/memory.h"
#include "machine/shares.h"
#include "schemes/registry.h"
#include "sim/engine.h"

/* --- times worked out by hand -------------------------------------------------------------------------------- */

/* A message of 8n bytes between nodes takes 1 + n seconds alone, inside a node (1 + n) / 2. */
static struct ss_cluster shared_cluster(uint32_t gpus, uint32_t nics) {
  struct ss_cluster c = {.name = "shared", .model = "fair", .gpus_per_node = gpus, .nics = nics, .has_intra = true};
  c.inter = (struct ss_link){1, 0.125};
  c.intra = (struct ss_link){0.5, 0.0625};
  return c;
}

struct line {
  uint32_t from, to;
  uint64_t bytes;
};

struct game {
  const struct ss_network_model *model;
  struct ss_network *network;
  uint32_t endpoints;
};

static struct game begin(const struct ss_cluster *c, uint32_t ranks, uint32_t servers) {
  struct game game = {.model = ss_network_model_of(c), .endpoints = ranks + servers};
  assert_true(game.model == &ss_network_fair);
  game.network = game.model->open(c, ranks, servers);
  assert_non_null(game.network);
  return game;
}

static void play_lines(struct game *game, bool dependent, const struct line *line, uint32_t count) {
  uint32_t from[16], to[16];
  uint64_t bytes[16];
  for (uint32_t i = 0; i < count; i++) from[i] = line[i].from, to[i] = line[i].to, bytes[i] = line[i].bytes;
  const struct ss_network_round round = {.messages = {.count = count, .from = from, .to = to, .bytes = bytes},
                                         .dependent = dependent};
  assert_true(game->model->round(game->network, &round));
}
#define PLAY(game, dependent, ...)                                                                                   \
  play_lines(game, dependent, (struct line[]){__VA_ARGS__}, COUNT(((struct line[]){__VA_ARGS__})))
static struct ss_network_result check_done(struct game *game, const double *wanted, uint32_t count, int line) {
  struct ss_network_result result;
  game->model->finish(game->network, NULL, &result);
  assert_int_equal(count, game->endpoints);
  for (uint32_t i = 0; i < count; i++)
    if (!close_to(result.done[i], wanted[i], 1e-12))
      fail_msg("line %d: endpoint %u is done at %.17g, not %g", line, i, result.done[i], wanted[i]);
  game->model->close(game->network);
  return result;
}
/* When each endpoint is done; the game is over. */
#define DONE(game, ...) check_done(game, (double[]){__VA_ARGS__}, COUNT(((double[]){__VA_ARGS__})), __LINE__)

TEST(two_messages_share_a_card) {
  const struct ss_cluster c = shared_cluster(2, 1);
  struct game g = begin(&c, 4, 0);
  PLAY(&g, true, {0, 2, 8}, {1, 3, 24}); /* 1..3 at half, then 3..5 at full speed */
  DONE(&g, 3, 5, 3, 5);
  g = begin(&c, 4, 0);
  PLAY(&g, true, {0, 2, 8}, {3, 1, 24}); /* out and in are two directions of a card */
  DONE(&g, 2, 4, 2, 4);
  g = begin(&c, 6, 0);
  PLAY(&g, true, {0, 4, 8}, {2, 5, 8}); /* into one card from two */
  DONE(&g, 3, 0, 3, 0, 3, 3);
}

TEST(a_share_that_is_not_taken_goes_to_others) {
  const struct ss_cluster c = shared_cluster(3, 1);
  struct game g = begin(&c, 12, 0);
  /* Out of node 0 go three, of which two enter node 1, which takes four: these get 1/4 each, the third 1/2. */
  PLAY(&g, true, {0, 3, 16}, {1, 4, 16}, {2, 9, 16}, {6, 5, 8});
  /* into node 1: 0, 1, 6: 1/3 each; 2->9 has 1/3 of the card. 6->5: 1 B of 8 at 1/3: 3 s, 1..4. Then 0, 1, 2 share
   * the card out of node 0: 1/3 each on: 16 B take 6 s: 1..7. */
  DONE(&g, 7, 7, 7, 7, 7, 4, 4, 0, 0, 7, 0, 0);
  g = begin(&c, 12, 0);
  /* into node 1: 0, 6, 7, 9: 1/4 each until 1 + 4; out of node 0 is left 3/4 for 1->9... of 24 B: 4 s. */
  PLAY(&g, true, {0, 3, 8}, {6, 4, 8}, {9, 5, 8});
  PLAY(&g, false, {1, 10, 16});
  DONE(&g, 4, 4, 0, 4, 4, 4, 4, 0, 0, 4, 4, 0);
}

TEST(a_window_lets_more_start) {
  struct ss_cluster c = shared_cluster(1, 1);
  c.window = 2;
  struct game g = begin(&c, 4, 0);
  PLAY(&g, true, {0, 1, 8}, {0, 2, 8}, {0, 3, 8});
  /* the first two 0..1, half speed 1..3; the third 3..4, 4..5 */
  DONE(&g, 5, 3, 3, 5);
  c.window = UINT32_MAX;
  g = begin(&c, 4, 0);
  PLAY(&g, true, {0, 1, 8}, {0, 2, 8}, {0, 3, 16}); /* a third each 1..4; the last has 1 left: 4..5 */
  DONE(&g, 5, 4, 4, 5);
}

TEST(uplinks_are_oversubscribed) {
  struct ss_cluster c = shared_cluster(1, 1);
  c.fabric_levels = 1;
  c.fabric[0] = (struct ss_fabric_level){.nodes = 3, .oversubscription = 3, .latency = 2};
  struct game g = begin(&c, 8, 0);
  PLAY(&g, true, {0, 3, 8}, {1, 4, 8}, {2, 0, 8}); /* two share the uplink of 8 B/s, 3..5; one stays below: 0..2 */
  DONE(&g, 5, 5, 2, 5, 5, 0, 0, 0);
  c.fabric[0].oversubscription = 1.5;
  g = begin(&c, 8, 0);
  PLAY(&g, true, {6, 0, 16}, {7, 1, 16}); /* the last group lacks a node; its uplink has 16 B/s all the same */
  struct ss_network_result result = DONE(&g, 5, 5, 0, 0, 0, 0, 5, 5);
  assert_true(result.usage[SS_UPLINK].links == 3 && result.usage[SS_UPLINK].bytes_max == 32);
  c.fabric[0] = (struct ss_fabric_level){.nodes = 3, .bandwidth = 4};
  g = begin(&c, 6, 0);
  PLAY(&g, true, {0, 3, 8}); /* no faster than the uplink */
  result = DONE(&g, 3, 0, 0, 3, 0, 0);
  assert_true(close_to(result.bound, 3, 1e-12) && result.bound_link.kind == SS_EGRESS);
}

TEST(usage_and_bound_are_told) {
  const struct ss_cluster c = shared_cluster(2, 1);
  struct ss_link_use use;
  struct ss_network_result result;
  char name[64];
  struct game g = begin(&c, 6, 0);
  PLAY(&g, true, {0, 2, 24}, {1, 4, 24}, {3, 5, 8});
  g.model->finish(g.network, NULL, &result);
  assert_true(close_to(result.time, 7, 1e-12) && close_to(result.bound, 6, 1e-12));
  assert_string_equal(ss_link_use_name(&result.bound_link, 1, name, sizeof name), "NIC of node 0, out");
  assert_string_equal(ss_link_use_name(&result.bound_link, 2, name, sizeof name), "NIC 0 of node 0, out");
  assert_true(result.usage[SS_NIC_OUT].links == 3 && result.usage[SS_NIC_OUT].bytes_max == 48);
  assert_true(close_to(result.usage[SS_NIC_OUT].bytes_mean, 56.0 / 3, 1e-12));
  assert_true(close_to(result.usage[SS_NIC_OUT].busy_max, 6, 1e-12)); /* 1..7 */
  assert_true(close_to(result.usage[SS_EGRESS].bytes_max, 24, 0));
  uint32_t links = 0;
  double busy = 0;
  for (; g.model->link(g.network, links, &use); links++)
    if (use.kind == SS_NIC_IN && use.index == 2) busy = use.busy;
  assert_int_equal(links, 12 + 6);
  assert_true(close_to(busy, 6, 1e-12));
  g.model->close(g.network);
}

TEST(ports_behind_a_card_are_counted) {
  struct ss_cluster c = shared_cluster(2, 1);
  c.window = 2;
  struct game g = begin(&c, 4, 0);
  PLAY(&g, true, {0, 2, 8}, {0, 3, 8}, {1, 3, 24}); /* 1..4 a third each; then 16 B are left: 4..6 */
  struct ss_network_result result = DONE(&g, 4, 6, 4, 6);
  assert_true(close_to(result.usage[SS_EGRESS].busy_max, 5, 1e-12) && result.usage[SS_EGRESS].bytes_max == 24);
  assert_true(close_to(result.usage[SS_EGRESS].busy_mean, (3 + 5) / 4.0, 1e-12));
  assert_true(close_to(result.usage[SS_INGRESS].busy_mean, (3 + 5) / 4.0, 1e-12));
  c.intra_shared = true;
  g = begin(&c, 2, 0);
  PLAY(&g, true, {0, 1, 16}, {1, 0, 32}); /* of a bus of 16 B/s: 0.5..2.5, and 16 B more: ..3.5 */
  result = DONE(&g, 3.5, 3.5);
  assert_true(close_to(result.usage[SS_EGRESS].busy_max, 3, 1e-12));
  assert_true(close_to(result.usage[SS_EGRESS].busy_mean, (2 + 3) / 2.0, 1e-12));
}

/* --- random cases against the second calculation -------------------------------------------------------------- */

enum { ROUNDS = 14 };

static void compare(uint64_t seed, struct ss_arena *arena) {
  struct dice d = {.seed = seed};
  struct ss_cluster c = random_fair(&d);
  const uint32_t ranks = dice_between(&d, 1, dice_one_in(&d, 4) ? 24 : 9);
  const uint32_t servers = dice_one_in(&d, 3) ? dice_between(&d, 1, 5) : 0, endpoints = ranks + servers;
  const uint32_t count = dice_between(&d, 1, ROUNDS);
  struct ss_network_round rounds[ROUNDS];
  struct reference_times wanted;
  struct ss_network_result got;
  for (uint32_t r = 0; r < count; r++) rounds[r] = random_round(&d, ranks, endpoints, r, arena);
  struct ss_network *network = ss_network_fair.open(&c, ranks, servers);
  assert_non_null(network);
  for (uint32_t r = 0; r < count; r++) assert_true(ss_network_fair.round(network, &rounds[r]));
  ss_network_fair.finish(network, NULL, &got);
  reference_play(&c, ranks, servers, rounds, count, &wanted);
  for (uint32_t e = 0; e < endpoints; e++)
    if (!close_to(got.done[e], wanted.done[e], 1e-9))
      fail_msg("seed %llu: endpoint %u of %u+%u is done at %.17g, not %.17g", (unsigned long long)seed, e, ranks,
               servers, got.done[e], wanted.done[e]);
  if (!close_to(got.time, wanted.time, 1e-9) || !close_to(got.bound, wanted.bound, 1e-9))
    fail_msg("seed %llu: %.17g s and at least %.17g, not %.17g and %.17g", (unsigned long long)seed, got.time,
             got.bound, wanted.time, wanted.bound);
  for (enum ss_link_kind k = SS_NIC_OUT; k < SS_LINK_KINDS; k++) {
    double most, all;
    reference_carried(k, &most, &all);
    const struct ss_link_usage *u = &got.usage[k];
    if (!close_to(u->bytes_max, most, 1e-9) || !close_to(u->bytes_mean * u->links, all, 1e-9))
      fail_msg("seed %llu: %s carried %.17g of %.17g B, not %.17g of %.17g", (unsigned long long)seed,
               ss_link_kind_names[k], u->bytes_max, u->bytes_mean * u->links, most, all);
  }
  if (got.bound > 0 && !close_to(reference_least(&got.bound_link), got.bound, 1e-9))
    fail_msg("seed %llu: the link that is named needs %.17g s, not %.17g", (unsigned long long)seed,
             reference_least(&got.bound_link), got.bound);
  if (got.bound > got.time * (1 + 1e-9))
    fail_msg("seed %llu: %.17g s is less than the bound %.17g", (unsigned long long)seed, got.time, got.bound);
  ss_network_fair.close(network);
}

static void for_each_seed(void (*compare_case)(uint64_t seed, struct ss_arena *arena)) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint64_t seed = 1; seed <= CASES(4000); seed++) {
    compare_case(seed, &arena);
    ss_arena_reset(&arena);
  }
}

TEST(random_cases_agree_with_a_second_calculation) {
  for_each_seed(compare);
}

/* --- nodes that all do the same ------------------------------------------------------------------------------- */

/* Numbers below n in any order. */
static void shuffle(struct dice *d, uint32_t n, uint32_t *out) {
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t at = dice_below(d, i + 1);
    out[i] = out[at];
    out[at] = i;
  }
}

/* What keeps rings from being alike: nothing, a message that goes elsewhere, or two that go to one rank. */
enum flaw { NONE, ONE_ELSEWHERE, TWO_AT_ONE };

/* A number below 2n, modulo n. */
static uint32_t around(uint32_t at, uint32_t n) {
  return at < n ? at : at - n;
}

/* Blocks of messages, as of rings side by side: in each every rank of the first period sends to some rank, no two to
 * ranks at the same index of a period, and those further on do likewise. */
static struct ss_messages random_rings(struct dice *d, uint32_t ranks, uint32_t period, enum flaw flaw,
                                       struct ss_arena *arena) {
  const uint32_t blocks = dice_between(d, 1, 3), count = blocks * ranks;
  uint32_t *from = ss_arena_alloc(arena, count, sizeof *from), *to = ss_arena_alloc(arena, count, sizeof *to);
  uint64_t *bytes = ss_arena_alloc(arena, count, sizeof *bytes);
  struct ss_messages m = {.count = count, .from = from, .to = to, .each = random_size(d, false)};
  for (uint32_t b = 0; b < count; b += ranks) {
    shuffle(d, period, from + b);
    shuffle(d, period, to + b);
    for (uint32_t i = b; i < b + period; i++) to[i] += period * dice_below(d, ranks / period);
    for (uint32_t i = b; i < b + period; i++)
      if (to[i] == from[i]) to[i] = around(to[i] + period, ranks);
    if (flaw == TWO_AT_ONE && period > 1) {
      to[b + 1] = around(to[b] + period, ranks);
      if (to[b + 1] == from[b + 1]) to[b + 1] = around(to[b + 1] + period, ranks);
    }
    for (uint32_t i = b + period; i < b + ranks; i++) {
      from[i] = around(from[i - period] + period, ranks);
      to[i] = around(to[i - period] + period, ranks);
    }
  }
  const uint32_t at = dice_below(d, count);
  if (flaw == ONE_ELSEWHERE) to[at] = around(from[at] + dice_between(d, 1, ranks - 1), ranks);
  for (uint32_t i = 0; i < count; i++) bytes[i] = m.each;
  if (dice_one_in(d, 2)) m.bytes = bytes;
  return m;
}

/* Computations of all ranks, one or two each. */
static void random_works(struct dice *d, uint32_t ranks, struct ss_network_round *round, struct ss_arena *arena) {
  const uint32_t blocks = dice_between(d, 1, 2);
  struct ss_computation *after = ss_arena_alloc(arena, (size_t)blocks * ranks, sizeof *after);
  for (uint32_t b = 0; b < blocks; b++) {
    const double seconds = random_seconds(d);
    const uint32_t first = dice_below(d, ranks);
    for (uint32_t i = 0; i < ranks; i++) after[b * ranks + i] = (struct ss_computation){(first + i) % ranks, seconds};
  }
  round->after = after;
  round->after_count = blocks * ranks;
}

/* Rounds that are alike at all nodes; with `unlike` the last one is not. */
static uint32_t alike_rounds(struct dice *d, uint32_t ranks, uint32_t period, bool unlike,
                             struct ss_network_round rounds[ROUNDS], struct ss_arena *arena) {
  const uint32_t count = dice_between(d, 1, ROUNDS - 1);
  for (uint32_t r = 0; r < count; r++) {
    rounds[r] = (struct ss_network_round){.dependent = dice_one_in(d, 2), .exchange = dice_one_in(d, 2)};
    if (dice_one_in(d, 2)) rounds[r].messages = random_rings(d, ranks, period, NONE, arena);
    else if (!dice_one_in(d, 3))
      rounds[r].messages =
          (struct ss_messages){.count = ranks, .shift = dice_between(d, 1, ranks - 1), .each = random_size(d, false)};
    if (r > 0 && rounds[r - 1].messages.from && dice_one_in(d, 2)) rounds[r].messages = rounds[r - 1].messages;
    if (dice_one_in(d, 3)) random_works(d, ranks, &rounds[r], arena);
  }
  if (!unlike) return count;
  rounds[count] = random_round(d, ranks, ranks, count, arena);
  if (dice_one_in(d, 2))
    rounds[count].messages = random_rings(d, ranks, period, dice_one_in(d, 2) ? ONE_ELSEWHERE : TWO_AT_ONE, arena);
  if (dice_one_in(d, 2)) return count + 1;
  struct ss_computation *after = ss_arena_alloc(arena, ranks, sizeof *after);
  for (uint32_t i = 0; i < ranks; i++) after[i] = (struct ss_computation){i, random_seconds(d)};
  rounds[count] = (struct ss_network_round){.dependent = true, .after = after, .after_count = ranks};
  return count + 1;
}

static void check_same_links(struct ss_network *a, struct ss_network *b, uint64_t seed) {
  struct ss_link_use x, y;
  for (uint32_t i = 0; ss_network_fair.link(a, i, &x); i++) {
    assert_true(ss_network_fair.link(b, i, &y));
    if (x.kind != y.kind || x.index != y.index || x.number != y.number || !close_to(x.bytes, y.bytes, 1e-12) ||
        !close_to(x.busy, y.busy, 1e-9) || !close_to(x.least, y.least, 1e-12))
      fail_msg("seed %llu: link %u carried %.17g B in %.17g s, of all %.17g B in %.17g", (unsigned long long)seed,
               (unsigned)i, x.bytes, x.busy, y.bytes, y.busy);
  }
}

static void compare_alike(uint64_t seed, struct ss_arena *arena) {
  struct dice d = {.seed = seed};
  const struct ss_cluster c = random_fair(&d);
  const uint32_t nodes = c.fabric_levels > 0 ? c.fabric[c.fabric_levels - 1].nodes : 1;
  const uint32_t period = nodes * c.gpus_per_node, ranks = period * dice_between(&d, 2, 4);
  struct ss_network_round rounds[ROUNDS];
  struct reference_times wanted;
  struct ss_network_result got, of_all;
  if (period == 0 || ranks > 40) return;
  const uint32_t count = alike_rounds(&d, ranks, period, dice_one_in(&d, 3), rounds, arena);
  struct ss_network *network = ss_network_fair.open(&c, ranks, 0), *whole = ss_network_fair.open(&c, ranks, 0);
  /* one rank alone does nothing for no time: after that all are played */
  const struct ss_computation nothing = {0, 0};
  const struct ss_network_round unlike = {.after = &nothing, .after_count = 1};
  assert_true(network && whole && ss_network_fair.round(whole, &unlike));
  for (uint32_t r = 0; r < count; r++)
    assert_true(ss_network_fair.round(network, &rounds[r]) && ss_network_fair.round(whole, &rounds[r]));
  ss_network_fair.finish(network, NULL, &got);
  ss_network_fair.finish(whole, NULL, &of_all);
  reference_play(&c, ranks, 0, rounds, count, &wanted);
  for (uint32_t e = 0; e < ranks; e++)
    if (!close_to(got.done[e], wanted.done[e], 1e-9) || !close_to(got.done[e], of_all.done[e], 1e-12))
      fail_msg("seed %llu: endpoint %u of %u is done at %.17g, not %.17g; of all at %.17g", (unsigned long long)seed,
               (unsigned)e, (unsigned)ranks, got.done[e], wanted.done[e], of_all.done[e]);
  assert_true(close_to(got.bound, wanted.bound, 1e-9) && close_to(got.computing, of_all.computing, 1e-12));
  check_same_links(network, whole, seed);
  ss_network_fair.close(network);
  ss_network_fair.close(whole);
}

TEST(nodes_that_do_the_same_are_played_as_one) {
  for_each_seed(compare_alike);
}

/* --- nothing shared ------------------------------------------------------------------------------------------- */

/* A fabric of one group for all: nothing crosses it, but the ports are not played in one pass. */
static struct ss_cluster without_sharing(struct ss_cluster c) {
  snprintf(c.model, sizeof c.model, "fair");
  c.fabric_levels = 1;
  c.fabric[0] = (struct ss_fabric_level){.nodes = 1u << 20, .oversubscription = 1};
  assert_true(ss_network_model_of(&c) == &ss_network_fair);
  return c;
}

/* One setting after the other on ports alone and by fair shares. */
struct both {
  const struct ss_cluster *clusters[2];
  const struct ss_device *device;
  uint32_t ranks;
  struct ss_state memory; /* of the setting's iterations before */
  struct ss_arena arena;
};

static void compare_input(struct both *both, const struct ss_setting *setting, const struct ss_input *input) {
  const struct ss_world world = {.cluster = both->clusters[0],
                                 .clusters = both->clusters,
                                 .cluster_count = 2,
                                 .device = both->device,
                                 .state = &both->memory};
  struct ss_tally tally[2];
  struct ss_outcome outcome = {.tallies = tally};
  struct ss_error error;
  char words[400];
  if (!ss_simulate(setting, &world, input, &both->arena, &outcome, &error))
    fail_msg("%s: %s", setting_text(setting, words, sizeof words), error.text);
  if (!close_to(tally[0].time, tally[1].time, 1e-9) || !close_to(tally[0].kernel, tally[1].kernel, 1e-9) ||
      !close_to(tally[0].bound, tally[1].bound, 1e-9))
    fail_msg("P %u, %s: %.17g s by fair shares of nothing, %.17g by ordered ports; bounds %.17g and %.17g",
             (unsigned)both->ranks, setting_text(setting, words, sizeof words), tally[1].time, tally[0].time,
             tally[1].bound, tally[0].bound);
  const bool alone = both->ranks == 1 || setting->scheme == &ss_scheme_replicas; /* in a group of one */
  assert_true(alone || tally[0].time > 0);
  const bool even = both->clusters[0]->jitter.draw == 0; /* ordered ports count busy time by bytes alone */
  for (int kind = SS_EGRESS; kind <= SS_INGRESS; kind++) {
    const struct ss_link_usage *a = &tally[0].usage[kind], *b = &tally[1].usage[kind];
    if (a->links != b->links || a->bytes_max != b->bytes_max || !close_to(a->bytes_mean, b->bytes_mean, 1e-9) ||
        (even && (!close_to(a->busy_max, b->busy_max, 1e-9) || !close_to(a->busy_mean, b->busy_mean, 1e-9))))
      fail_msg("P %u, %s: ports carried %.17g B in %.17g s, %.17g in %.17g", (unsigned)both->ranks,
               setting_text(setting, words, sizeof words), b->bytes_max, b->busy_max, a->bytes_max, a->busy_max);
  }
}

/* Gradients of which each rank has its own; the schemes' states go on from one to the next. */
static void compare_gradients(struct both *both, const struct ss_setting *setting) {
  struct ss_gradient gradient;
  AUTO(ss_coalesce_free) struct ss_coalesce_scratch scratch = {0};
  struct ss_error error;
  ss_gradient_defaults(&gradient);
  gradient.elements = 80 + both->ranks;
  const struct ss_origin origin = {.gradient = &gradient, .merge = 1};
  for (uint64_t t = 0; t < 2; t++) {
    struct ss_input_options options = ss_setting_input_options(setting, both->ranks, false, false);
    struct ss_input input;
    options.iteration = t;
    if (!ss_input_make(&origin, &options, &both->arena, &scratch, &input, &error)) fail_msg("%s", error.text);
    compare_input(both, setting, &input);
    ss_arena_reset(&both->arena);
  }
}

static void compare_setting(struct both *both, const struct ss_setting *setting, const struct ss_trace *trace) {
  if (ss_scheme_valued(setting->scheme)) {
    compare_gradients(both, setting);
  } else {
    const struct ss_input input = ragged_input(trace, 1, setting, false, &both->arena);
    compare_input(both, setting, &input);
  }
  ss_arena_reset(&both->arena);
  ss_state_free(&both->memory);
  both->memory = (struct ss_state){0};
}

/* A tenth of the elements and more, which 17 ranks can share. */
static void select_enough(struct ss_setting *setting, struct dice *dice) {
  if (setting->scheme->content == SS_SENDS_LARGEST && !setting->given[SS_K])
    setting->real[SS_DENSITY] = 0.1 * dice_between(dice, 1, 10);
}

/* How many settings of the scheme were compared. */
static uint32_t compare_scheme(struct both *both, const struct ss_scheme *scheme, const struct ss_trace *trace,
                               struct dice *dice) {
  const struct ss_device none = ss_device_none();
  const struct ss_device quick = ss_device_of("d", 1e-6, 1e-10);
  const struct ss_layout layout = ss_layout_of(both->clusters[0], both->ranks);
  uint32_t compared = 0;
  for (int hierarchy = 0; hierarchy < (layout.per_node > 1 ? 4 : 1); hierarchy++) {
    struct cases cases = {.scheme = scheme, .layout = layout, .brief = true};
    struct ss_setting setting;
    cases.hierarchy = (enum ss_hierarchy)hierarchy;
    for (; cases_next(&cases, &setting); compared++) {
      setting.exchange_sizes = dice_one_in(dice, 2);
      setting.ragged = (enum ss_ragged)dice_below(dice, 3);
      select_enough(&setting, dice);
      both->device = dice_one_in(dice, 2) ? &quick : &none;
      compare_setting(both, &setting, trace);
    }
  }
  return compared;
}

enum { SCHEMES_MOST = 64 };

static void compare_all(uint32_t ranks, uint32_t compared[SCHEMES_MOST]) {
  struct dice dice = {.seed = ranks};
  struct ss_cluster ordered = flat_cluster(1e-6 * dice_below(&dice, 30), 1e-9);
  ordered.gpus_per_node = dice_between(&dice, 1, 4);
  ordered.has_intra = dice_one_in(&dice, 2);
  if (ordered.has_intra) ordered.intra = (struct ss_link){3e-7, 1e-10};
  ordered.jitter = random_jitter(&dice);
  const struct ss_cluster fair = without_sharing(ordered);
  struct both both = {.clusters = {&ordered, &fair}, .ranks = ranks};
  struct ss_trace *trace = ragged_trace(&dice, SCATTERED, ranks, 300, 3, SS_F32);
  for (size_t i = 0; ss_schemes()[i]; i++) {
    assert_true(i < SCHEMES_MOST);
    compared[i] += compare_scheme(&both, ss_schemes()[i], trace, &dice);
  }
  ss_arena_free(&both.arena);
  ss_trace_close(trace);
}

TEST(where_nothing_is_shared_ports_alone_count) {
  uint32_t compared[SCHEMES_MOST] = {0};
#if defined(__SANITIZE_ADDRESS__)
  const uint32_t most = 6; /* sanitizers slow memory down: more is left to the plain build */
#else
  const uint32_t most = 17;
  compare_all(32, compared);
#endif
  for (uint32_t ranks = 1; ranks <= most; ranks++) compare_all(ranks, compared);
  for (size_t i = 0; ss_schemes()[i]; i++)
    if (compared[i] < 6) fail_msg("%s was compared %u times", ss_schemes()[i]->name, (unsigned)compared[i]);
}

/* --- several threads ----------------------------------------------------------------------------------------- */

enum { CROWD = 192, CLUSTERS = 3 }; /* so many ranks send more than the engine keeps at a time */

/* Ragged exchanges with kernels between them, on all clusters at once. */
static void play_crowd(const struct ss_cluster *const *on, uint32_t threads, struct ss_tally *tally) {
  const struct ss_engine_size size = {.ranks = CROWD, .threads = threads};
  struct ss_computation after[CROWD];
  struct ss_engine engine;
  struct ss_error error;
  uint32_t from[CROWD], to[CROWD];
  uint64_t bytes[CROWD];
  assert_true(ss_engine_open_each(&engine, on, CLUSTERS, size, &error));
  for (uint32_t c = 0; c < CLUSTERS; c++) engine.on[c].pace = 1 + c;
  for (uint32_t s = 1; s < CROWD; s++) {
    for (uint32_t i = 0; i < CROWD; i++) from[i] = i, to[i] = (i + s) % CROWD;
    for (uint32_t i = 0; i < CROWD; i++) bytes[i] = (i * UINT64_C(7919) + s * UINT64_C(104729)) % 50021;
    for (uint32_t i = 0; i < CROWD; i++) after[i] = (struct ss_computation){i, 1e-6 * (i + s)};
    struct ss_round round = {.messages = {.count = CROWD, .from = from, .to = to, .bytes = bytes},
                             .dependent = s % 32 == 1,
                             .exchange = true,
                             .after = after,
                             .after_count = s % 32 == 0 ? CROWD : 0};
    assert_true(engine.player.play(&engine.player, &round, &error));
  }
  assert_true(ss_engine_end(&engine, &error));
  for (uint32_t c = 0; c < CLUSTERS; c++) tally[c] = ss_engine_tally(&engine, c);
  ss_engine_close(&engine);
}

TEST(any_number_of_threads_makes_the_same_of_a_play) {
  struct ss_cluster cluster[CLUSTERS];
  const struct ss_cluster *on[CLUSTERS];
  for (uint32_t c = 0; c < CLUSTERS; c++) {
    cluster[c] = shared_cluster(8, 1);
    cluster[c].inter = (struct ss_link){25e-6, 3.2e-10};
    cluster[c].intra = (struct ss_link){5e-6, 1e-11};
    on[c] = &cluster[c];
  }
  cluster[1].fabric_levels = 1;
  cluster[1].fabric[0] = (struct ss_fabric_level){.nodes = 4, .oversubscription = 3, .latency = 1e-6};
  cluster[2].window = 4;
  cluster[2].intra_shared = true;
  struct ss_tally one[CLUSTERS], several[CLUSTERS];
  play_crowd(on, 1, one);
  assert_true(one[0].time < one[1].time && one[0].kernel < one[1].kernel);
  for (uint32_t threads = 2; threads <= 8; threads += threads < 3 ? 1 : 5) {
    play_crowd(on, threads, several);
    for (uint32_t c = 0; c < CLUSTERS; c++) {
      assert_memory_equal(&several[c].time, &one[c].time, sizeof one[c].time);
      assert_memory_equal(&several[c].bound, &one[c].bound, sizeof one[c].bound);
      assert_memory_equal(several[c].usage, one[c].usage, sizeof one[c].usage);
      assert_true(several[c].bytes == one[c].bytes && several[c].messages == one[c].messages);
    }
  }
}

/* --- the solver alone ---------------------------------------------------------------------------------------- */

enum { LINKS = 12, PATH = 4, FLOWS = 40 };

struct alone {
  struct ss_shares shares;
  double capacity[LINKS];
  struct reference_flow flow[FLOWS]; /* by the solver's number; those under way have links or a cap */
  uint32_t path[FLOWS][PATH];
  double left[FLOWS]; /* B, by the rates that were compared */
  bool under_way[FLOWS];
};

static void open_alone(struct alone *a, struct dice *d) {
  assert_true(ss_shares_open(&a->shares, LINKS, PATH));
  assert_true(ss_shares_reserve(&a->shares, FLOWS));
  for (uint32_t l = 0; l < LINKS; l++)
    a->capacity[l] = a->shares.link[l].capacity = dice_between(d, 1, 8) * (dice_one_in(d, 3) ? 0.3 : 1);
  memset(a->under_way, 0, sizeof a->under_way);
}

/* A flow over distinct links, or over none; where few paths are to be had, many flows are alike. */
static void let_flow(struct alone *a, struct dice *d, bool few, double now) {
  const uint32_t links = few ? 1 + dice_below(d, 2) : dice_below(d, PATH + 1);
  const uint32_t first = dice_below(d, few ? 3 : LINKS), stride = dice_one_in(d, 2) ? 1 : 5;
  uint32_t path[PATH];
  for (uint32_t i = 0; i < PATH; i++) path[i] = (first + i * stride) % LINKS;
  const double cap = dice_one_in(d, few ? 6 : 2) == !few ? 100 : dice_between(d, 1, 20) * 0.25;
  const uint32_t id = a->shares.free != SS_NONE ? a->shares.free : a->shares.used;
  a->left[id] = dice_between(d, 1, 9);
  ss_shares_begin(&a->shares, now, path, links, (struct ss_shares_begun){.bytes = a->left[id], .cap = cap});
  memcpy(a->path[id], path, sizeof path);
  a->flow[id] = (struct reference_flow){a->path[id], links, cap, 0};
  a->under_way[id] = true;
}

static void compare_rates(struct alone *a, uint64_t seed) {
  struct reference_flow wanted[FLOWS];
  uint32_t flows = 0;
  for (uint32_t f = 0; f < FLOWS; f++)
    if (a->under_way[f]) wanted[flows++] = a->flow[f];
  reference_share(a->capacity, LINKS, wanted, flows);
  for (uint32_t f = 0, i = 0; f < FLOWS; f++) {
    if (!a->under_way[f]) continue;
    const double rate = ss_shares_rate(&a->shares, f);
    if (!close_to(rate, wanted[i].rate, 1e-9))
      fail_msg("seed %llu: flow %u has %.17g B/s, not %.17g", (unsigned long long)seed, f, rate, wanted[i].rate);
    i++;
  }
}

/* Those that end at `now`, which have nothing left; returns how many there are. */
static uint32_t end_flows(struct alone *a, uint64_t seed, double now) {
  uint32_t over[FLOWS];
  const uint32_t ended = ss_shares_take(&a->shares, now, over);
  for (uint32_t i = 0; i < ended; i++) {
    if (!(fabs(a->left[over[i]]) < 1e-9))
      fail_msg("seed %llu: flow %u ends with %.17g B left", (unsigned long long)seed, over[i], a->left[over[i]]);
    ss_shares_end(&a->shares, now, over[i]);
    a->under_way[over[i]] = false;
  }
  return ended;
}

static double next_end(struct alone *a, double now) {
  const double next = ss_shares_next(&a->shares);
  if (!(next < HUGE_VAL)) return now;
  for (uint32_t f = 0; f < FLOWS; f++)
    if (a->under_way[f]) a->left[f] -= ss_shares_rate(&a->shares, f) * (next - now);
  return next;
}

/* What is in no cluster: links of any capacity, crossed in any combination, by flows that come and go. */
TEST(shares_alone_are_those_of_progressive_filling) {
  for (uint64_t seed = 1; seed <= CASES(400); seed++) {
    struct dice d = {.seed = seed};
    struct alone a;
    uint32_t count = 0;
    double now = 0;
    open_alone(&a, &d);
    for (uint32_t step = 0; step < 60; step++) {
      for (uint32_t more = dice_below(&d, 4); more > 0 && count < FLOWS; more--, count++)
        let_flow(&a, &d, seed % 2 == 1, now);
      ss_shares_update(&a.shares, now);
      compare_rates(&a, seed);
      now = next_end(&a, now);
      count -= end_flows(&a, seed, now);
      ss_shares_update(&a.shares, now);
      compare_rates(&a, seed);
    }
    ss_shares_close(&a.shares);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
