/* Groups that play at once: their messages in one list a round, group after group; times as if the list had been
 * played by hand, and, where groups share no port, as if each had been alone; errors and residents come through. */
#include "support.h"

#include "base/memory.h"
#include "sim/engine.h"
#include "sim/groups.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_GROUPS = 6, MOST_ROUNDS = 8, MOST_SIZE = 6, ENDS = 80 };

/* --- what groups play -------------------------------------------------------------------------------------- */

struct plan_round {
  bool dependent;
  uint32_t count, from[MOST_SIZE], to[MOST_SIZE]; /* of the group's own numbers, each sender and receiver once */
  uint64_t bytes[MOST_SIZE];
  uint32_t kernels;
  struct ss_computation kernel[MOST_SIZE];
};

struct plan {
  uint32_t groups, ranks, servers;
  struct ss_group group[MOST_GROUPS];
  uint32_t rank[ENDS], server[ENDS];
  uint32_t rounds[MOST_GROUPS];
  struct plan_round round[MOST_GROUPS][MOST_ROUNDS];
};

static uint32_t outside(const struct plan *p, uint32_t group, uint32_t end) {
  const struct ss_group *g = &p->group[group];
  return end < g->ranks ? g->rank[end] : g->server[end - g->ranks];
}

static void shuffle(struct dice *d, uint32_t *values, uint32_t n) {
  for (uint32_t i = n; i > 1; i--) {
    uint32_t k = dice_below(d, i), v = values[k];
    values[k] = values[i - 1];
    values[i - 1] = v;
  }
}

static void plan_a_round(struct dice *d, const struct ss_group *g, bool first, struct plan_round *round) {
  uint32_t ends = g->ranks + g->servers, from[MOST_SIZE * 2], to[MOST_SIZE * 2];
  *round = (struct plan_round){.dependent = first || dice_one_in(d, 2)};
  for (uint32_t e = 0; e < ends; e++) from[e] = to[e] = e;
  shuffle(d, from, ends);
  shuffle(d, to, ends);
  for (uint32_t e = 0; e < ends && round->count < g->ranks; e++) {
    if (from[e] == to[e] || dice_one_in(d, 4)) continue;
    round->from[round->count] = from[e];
    round->to[round->count] = to[e];
    round->bytes[round->count++] = dice_below(d, 1000);
  }
  for (uint32_t e = 0; e < g->ranks && round->dependent && dice_one_in(d, 3); e++)
    round->kernel[round->kernels++] = (struct ss_computation){e, 1e-6 * dice_below(d, 50)};
}

/* `alike`: all groups have dependent and independent rounds at the same places. */
static void make_plan(struct plan *p, uint64_t seed, bool alike) {
  struct dice d = {.seed = seed};
  *p = (struct plan){.groups = dice_between(&d, 1, MOST_GROUPS)};
  uint32_t size[MOST_GROUPS] = {0}, servers[MOST_GROUPS] = {0};
  for (uint32_t k = 0; k < p->groups; k++) {
    size[k] = dice_between(&d, 2, MOST_SIZE);
    servers[k] = dice_below(&d, 3);
    p->ranks += size[k];
    p->servers += servers[k];
  }
  for (uint32_t r = 0; r < p->ranks; r++) p->rank[r] = r;
  for (uint32_t s = 0; s < p->servers; s++) p->server[s] = p->ranks + s;
  if (seed % 2) shuffle(&d, p->rank, p->ranks);
  for (uint32_t k = 0, r = 0, s = 0; k < p->groups; r += size[k], s += servers[k], k++) {
    p->group[k] =
        (struct ss_group){.ranks = size[k], .servers = servers[k], .rank = p->rank + r, .server = p->server + s};
    p->rounds[k] = dice_below(&d, MOST_ROUNDS + 1);
    for (uint32_t i = 0; i < p->rounds[k]; i++) {
      plan_a_round(&d, &p->group[k], i == 0, &p->round[k][i]);
      if (!alike) continue;
      p->round[k][i].dependent = i % 3 == 0;
      if (i % 3 != 0) p->round[k][i].kernels = 0;
    }
  }
}

static bool play_one(struct ss_play *play, const struct plan_round *round, struct ss_error *error) {
  struct ss_round r = {
      .messages = {.count = round->count, .from = round->from, .to = round->to, .bytes = round->bytes},
      .dependent = round->dependent,
      .after = round->kernel,
      .after_count = round->kernels};
  return play->player->play(play->player, &r, error);
}

static bool body(void *context, uint32_t group, struct ss_play *play, struct ss_error *error) {
  const struct plan *p = context;
  assert_true(play->ranks == p->group[group].ranks && play->servers == p->group[group].servers);
  for (uint32_t i = 0; i < p->rounds[group]; i++)
    if (!play_one(play, &p->round[group][i], error)) return false;
  return true;
}

/* --- by hand ------------------------------------------------------------------------------------------------ */

/* Round i of all groups that have it: of those that are dependent first, and of the others. */
static void play_by_hand(const struct plan *p, struct ss_player *player) {
  struct ss_error error;
  for (uint32_t i = 0; i < MOST_ROUNDS; i++)
    for (int dependent = 1; dependent >= 0; dependent--) {
      uint32_t from[ENDS], to[ENDS], n = 0, kernels = 0, groups = 0;
      uint64_t bytes[ENDS];
      struct ss_computation kernel[ENDS];
      for (uint32_t k = 0; k < p->groups; k++) {
        const struct plan_round *round = &p->round[k][i];
        if (i >= p->rounds[k] || round->dependent != (dependent == 1)) continue;
        groups++;
        for (uint32_t m = 0; m < round->count; m++, n++) {
          from[n] = outside(p, k, round->from[m]);
          to[n] = outside(p, k, round->to[m]);
          bytes[n] = round->bytes[m];
        }
        for (uint32_t m = 0; m < round->kernels; m++)
          kernel[kernels++] =
              (struct ss_computation){outside(p, k, round->kernel[m].endpoint), round->kernel[m].seconds};
      }
      struct ss_round all = {.messages = {.count = n, .from = from, .to = to, .bytes = bytes},
                             .dependent = dependent == 1,
                             .after = kernel,
                             .after_count = kernels};
      if (groups > 0) assert_true(player->play(player, &all, &error));
    }
}

/* Writes down what it is given, and hands it on. */
struct recorder {
  struct ss_player player;
  struct ss_engine engine;
  char *text;
  size_t length;
  FILE *out;
};

static bool record(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct recorder *r = (struct recorder *)player;
  fprintf(r->out, "%s\n", round->dependent ? "dependent" : "independent");
  for (uint32_t i = 0; i < round->messages.count; i++)
    fprintf(r->out, "%u %u %llu\n", ss_message_from(&round->messages, i), ss_message_to(&round->messages, i),
            (unsigned long long)ss_message_bytes(&round->messages, i));
  for (uint32_t i = 0; i < round->after_count; i++)
    fprintf(r->out, "kernel %u %g\n", round->after[i].endpoint, round->after[i].seconds);
  return r->engine.player.play(&r->engine.player, round, error);
}

static void open_recorder(struct recorder *r, const struct plan *p, const struct ss_cluster *cluster) {
  struct ss_error error;
  *r = (struct recorder){.player = {.play = record}};
  r->out = open_memstream(&r->text, &r->length);
  assert_non_null(r->out);
  assert_true(ss_engine_open(&r->engine, cluster, p->ranks, p->servers, &error));
}

static struct ss_tally close_recorder(struct recorder *r) {
  struct ss_tally tally = ss_engine_tally(&r->engine, 0);
  ss_engine_close(&r->engine);
  return tally;
}

static struct ss_tally play_together(const struct plan *p, struct recorder *r, const struct ss_cluster *cluster) {
  struct ss_play play;
  struct ss_error error;
  open_recorder(r, p, cluster);
  assert_true(ss_play_open(&play, &r->player, p->ranks, p->servers, &error));
  if (!ss_groups_play(&play, p->groups, p->group, body, (void *)p, &error)) fail_msg("%s", error.text);
  ss_play_close(&play);
  fclose(r->out);
  return close_recorder(r);
}

TEST(rounds_are_put_together_group_after_group) {
  static struct plan p;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    struct ss_cluster cluster = flat_cluster(1e-6, 1e-9);
    struct recorder a, b;
    cluster.gpus_per_node = 1 + (uint32_t)seed % 3;
    cluster.nic_per_node = seed % 2;
    make_plan(&p, seed, seed % 4 < 2);
    struct ss_tally together = play_together(&p, &a, &cluster);
    open_recorder(&b, &p, &cluster);
    play_by_hand(&p, &b.player);
    fclose(b.out);
    struct ss_tally by_hand = close_recorder(&b);
    if (strcmp(a.text, b.text) != 0)
      fail_msg("seed %llu: played\n%sinstead of\n%s", (unsigned long long)seed, a.text, b.text);
    if (seed % 4 < 2)
      assert_true(together.time == by_hand.time && together.kernel == by_hand.kernel &&
                  together.messages == by_hand.messages && together.rounds == by_hand.rounds &&
                  together.bytes == by_hand.bytes && together.sent_max == by_hand.sent_max &&
                  together.received_max == by_hand.received_max && together.server_max == by_hand.server_max);
    free(a.text);
    free(b.text);
  }
}

/* --- alone -------------------------------------------------------------------------------------------------- */

/* Groups that share no port do not feel each other: all is over when the slowest is. */
static void compare_with_alone(bool alike) {
  static struct plan p, one;
  const struct ss_cluster cluster = flat_cluster(1e-6, 1e-9);
  for (uint64_t seed = 1; seed <= 400; seed++) {
    struct recorder r;
    double slowest = 0;
    uint64_t messages = 0, bytes = 0;
    make_plan(&p, seed, alike);
    struct ss_tally all = play_together(&p, &r, &cluster);
    free(r.text);
    for (uint32_t k = 0; k < p.groups; k++) {
      one = p;
      for (uint32_t other = 0; other < p.groups; other++)
        if (other != k) one.rounds[other] = 0;
      struct ss_tally alone = play_together(&one, &r, &cluster);
      free(r.text);
      slowest = fmax(slowest, alone.time);
      messages += alone.messages;
      bytes += alone.bytes;
    }
    if (!close_to(all.time, slowest, 1e-12))
      fail_msg("seed %llu: %g s together, the slowest of %u groups %g s alone", (unsigned long long)seed, all.time,
               p.groups, slowest);
    assert_true(all.messages == messages && all.bytes == bytes);
  }
}

TEST(groups_without_a_common_port_take_as_long_as_alone) {
  compare_with_alone(true);
}

/* Also where one has a dependent round while another has one that waits only for ports. */
TEST(so_do_groups_of_different_patterns) {
  compare_with_alone(false);
}

/* --- payloads, errors, residents ---------------------------------------------------------------------------- */

struct talk {
  struct ss_arena arena;
  uint32_t heard[4], fails; /* the group whose body fails after its second round; 4: none */
  const struct ss_group *groups;
};

/* Three rounds in which each rank tells the next a number that only its group knows. */
static bool talk(void *context, uint32_t group, struct ss_play *play, struct ss_error *error) {
  struct talk *t = context;
  static const struct ss_wire wire = {.format = SS_WIRE_COO, .value_bytes = 4, .index_bytes = 4};
  for (uint32_t i = 0; i < 3; i++) {
    if (i == 2 && t->fails == group) return ss_fail(error, SS_BAD_INPUT, "group %u gives up", group);
    uint32_t *row = ss_arena_alloc(&t->arena, play->ranks, sizeof *row);
    for (uint32_t r = 0; r < play->ranks; r++) {
      row[r] = 100 * group + 10 * i + r;
      play->given[r] =
          (struct ss_chunk){.rows = row + r, .count = 1, .high = 1000, .width = 1, .origin = r, .part = group};
      play->from[r] = r;
      play->to[r] = (r + 1) % play->ranks;
      play->bytes[r] = 8;
      play->payload[r] = (struct ss_payload){.chunks = &play->given[r], .count = 1};
    }
    struct ss_error why = {.status = SS_OK};
    if (!ss_play_messages(play, play->ranks, true, &wire, &why)) return ss_fail(error, why.status, "%s", why.text);
    for (uint32_t r = 0; r < play->ranks; r++) {
      const struct ss_chunk *got = ss_play_got(play, r);
      if (got && got->rows[0] == 100 * group + 10 * i + r) t->heard[group]++;
    }
  }
  if (group == 2) ss_play_mismatch(play, "group %u saw something", group);
  return true;
}

static const uint32_t talkers[] = {0, 3, 1, 4, 2, 5, 6, 7};
static const struct ss_group talking[] = {
    {.ranks = 2, .rank = talkers}, {.ranks = 3, .rank = talkers + 2}, {.ranks = 3, .rank = talkers + 5}};

static bool play_talk(struct talk *t, struct ss_player *player, struct ss_play *play, struct ss_error *error) {
  assert_true(ss_play_open(play, player, 8, 0, error));
  play->payloads = true;
  play->arena = &t->arena;
  bool ok = ss_groups_play(play, 3, talking, talk, t, error);
  ss_arena_free(&t->arena);
  ss_play_close(play);
  return ok;
}

TEST(payloads_stay_in_their_group) {
  const struct ss_cluster cluster = flat_cluster(1e-6, 1e-9);
  struct talk t = {.fails = 4};
  struct ss_engine engine;
  struct ss_play play;
  struct ss_error error;
  assert_true(ss_engine_open(&engine, &cluster, 8, 0, &error));
  assert_true(play_talk(&t, &engine.player, &play, &error));
  assert_true(t.heard[0] == 6 && t.heard[1] == 9 && t.heard[2] == 9);
  assert_true(play.mismatches == 1);
  assert_string_equal(play.mismatch, "group 2 saw something");
  ss_engine_close(&engine);
}

/* In the first round two messages change places. */
struct crossing {
  struct ss_player player; /* first: a player is the crossing it stands in */
  struct ss_engine engine;
  uint32_t message[2];
  bool done;
};

static bool play_crossed(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct crossing *x = (struct crossing *)player;
  if (!x->engine.player.play(&x->engine.player, round, error)) return false;
  if (x->done || !round->payloads) return true;
  const struct ss_payload first = round->payloads[x->message[0]];
  round->payloads[x->message[0]] = round->payloads[x->message[1]];
  round->payloads[x->message[1]] = first;
  return x->done = true;
}

/* Of the groups' 2, 3 and 3 messages each of one against each of another: who gets what is another group's is told,
 * and hears nothing. */
TEST(what_another_group_sent_is_told) {
  static const uint32_t group[] = {0, 0, 1, 1, 1, 2, 2, 2}, to[] = {3, 0, 4, 2, 1, 6, 7, 5};
  const struct ss_cluster cluster = flat_cluster(1e-6, 1e-9);
  for (uint32_t a = 0; a < COUNT(to); a++)
    for (uint32_t b = a + 1; b < COUNT(to); b++) {
      struct crossing x = {.player = {.play = play_crossed}, .message = {a, b}};
      struct talk t = {.fails = 4};
      struct ss_play play;
      struct ss_error error;
      char told[80];
      if (group[a] == group[b]) continue;
      assert_true(ss_engine_open(&x.engine, &cluster, 8, 0, &error));
      assert_true(play_talk(&t, &x.player, &play, &error));
      assert_true(play.mismatches >= 3); /* one of them is what group 2 says anyway */
      snprintf(told, sizeof told, "endpoint %u received what another group sent", to[a]);
      assert_string_equal(play.mismatch, told);
      for (uint32_t g = 0; g < 3; g++) assert_int_equal(t.heard[g], (g ? 9 : 6) - (group[a] == g) - (group[b] == g));
      ss_engine_close(&x.engine);
    }
}

TEST(an_error_of_one_group_comes_out) {
  const struct ss_cluster cluster = flat_cluster(1e-6, 1e-9);
  for (uint32_t fails = 0; fails < 3; fails++) {
    struct talk t = {.fails = fails};
    struct ss_engine engine;
    struct ss_play play;
    struct ss_error error = {.status = SS_OK};
    char wanted[50];
    assert_true(ss_engine_open(&engine, &cluster, 8, 0, &error));
    assert_false(play_talk(&t, &engine.player, &play, &error));
    snprintf(wanted, sizeof wanted, "group %u gives up", fails);
    assert_string_equal(error.text, wanted);
    assert_int_equal(error.status, SS_BAD_INPUT);
    for (uint32_t k = 0; k < 3; k++) /* the others went on */
      assert_int_equal(t.heard[k], talking[k].ranks * (k == fails ? 2 : 3));
    ss_engine_close(&engine);
  }
}

static uint32_t rounds_left;
static bool break_down(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  (void)player;
  (void)round;
  return rounds_left-- > 0 || ss_fail(error, SS_MACHINE, "the network is down");
}

TEST(an_error_of_the_player_comes_out) {
  for (uint32_t rounds = 0; rounds < 3; rounds++) {
    struct ss_player player = {.play = break_down};
    struct talk t = {.fails = 4};
    struct ss_play play;
    struct ss_error error = {.status = SS_OK};
    rounds_left = rounds;
    assert_false(play_talk(&t, &player, &play, &error));
    assert_string_equal(error.text, "the network is down");
    assert_int_equal(error.status, SS_MACHINE);
    for (uint32_t k = 0; k < 3; k++) assert_int_equal(t.heard[k], rounds * talking[k].ranks);
  }
}

static bool even_ones(const struct ss_player *player, uint32_t endpoint) {
  (void)player;
  return endpoint % 2 == 0;
}

static bool ask_residents(void *context, uint32_t group, struct ss_play *play, struct ss_error *error) {
  uint32_t *asked = context;
  (void)error;
  for (uint32_t r = 0; r < play->ranks; r++, ++*asked)
    assert_int_equal(ss_play_resident(play, r), talking[group].rank[r] % 2 == 0);
  return true;
}

TEST(residents_are_those_outside) {
  struct ss_player player = {.play = break_down, .resident = even_ones};
  struct ss_play play;
  struct ss_error error;
  uint32_t asked = 0;
  assert_true(ss_play_open(&play, &player, 8, 0, &error));
  assert_true(ss_groups_play(&play, 3, talking, ask_residents, &asked, &error));
  assert_int_equal(asked, 8);
  ss_play_close(&play);
}

/* --- stacks --------------------------------------------------------------------------------------------------- */

#if !defined(__SANITIZE_ADDRESS__)
/* Uses one KiB of stack a call, and looks at it afterwards, so that no compiler drops it. */
__attribute__((noinline)) static uint32_t use_stack(uint32_t calls) {
  volatile unsigned char used[1024];
  for (uint32_t i = 0; i < sizeof used; i += 64) used[i] = (unsigned char)calls;
  return calls == 0 ? used[0] : use_stack(calls - 1) + used[64];
}

/* The second group uses more than its stack of 256 KiB, but less than that and its neighbour's. */
static bool use_too_much(void *context, uint32_t group, struct ss_play *play, struct ss_error *error) {
  uint32_t *used = context;
  (void)play;
  (void)error;
  if (group == 1) *used = use_stack(320);
  return true;
}

TEST(a_stack_that_overflows_ends_the_program) {
  const pid_t child = fork();
  if (child == 0) {
    static const uint32_t ranks[] = {0, 1};
    const struct ss_group groups[] = {{.ranks = 1, .rank = &ranks[0]}, {.ranks = 1, .rank = &ranks[1]}};
    struct ss_player silent = {0};
    struct ss_play play;
    struct ss_error error;
    uint32_t used;
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    (void)signal(SIGSEGV, SIG_DFL);
    _exit(ss_play_open(&play, &silent, 2, 0, &error) && ss_groups_play(&play, 2, groups, use_too_much, &used, &error)
              ? 0
              : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}
#endif
/* SPDX-License-Identifier: Apache-2.0 */
