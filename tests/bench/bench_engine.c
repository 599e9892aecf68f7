/* How long the engine takes for a message, beside a loop over plain arrays that does no more than the arithmetic.
 *
 *   bench_engine                   prints one JSON object a line and number of ranks:
 *     engine-shift                 ring rounds as the engine gets them: a shift, one size, all dependent
 *     engine-list                  rounds of a pairwise exchange as lists: from, to and bytes of every message
 *   bench_engine --fair [WORD]     the model "fair" on nodes of 8 ranks that share a card (of items with WORD alone):
 *     fair-ragged-P                a pairwise exchange of P ranks, sizes as they come
 *     fair-equal-P                 sizes all alike, of which one node is played
 *     fair-listed-P                the same sizes in lists, which nobody looks through: all nodes are played
 *     fair-ring-P                  a ring all-reduce
 *   bench_engine --floor P         what a message of a pairwise exchange of P ranks costs that is worked out for
 * nothing: bytes of its state that its begin and its end touch, and the time that takes bench_engine --instructions
 * plays a little of everything and prints what came out (for callgrind)
 *
 * plain_ns_per_message is the loop's: end = max(out[from], in[to]) + alpha + bytes * beta, over lists of the same
 * messages. */
#include "machine/fair_time.h"
#include "sim/engine.h"

#include "base/memory.h"
#include "ragged.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MESSAGES = 20000000, TIMES = 5, LISTS = 4 };

static const struct ss_cluster flat = {
    .name = "flat", .model = "alpha-beta", .inter = {5e-6, 8e-11}, .intra = {5e-6, 8e-11}, .gpus_per_node = 1};
static const struct ss_cluster nodes = {.name = "nodes",
                                        .model = "alpha-beta",
                                        .inter = {5e-6, 8e-11},
                                        .intra = {2e-6, 3e-12},
                                        .has_intra = true,
                                        .nic_per_node = true,
                                        .gpus_per_node = 8};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *need(void *memory) {
  if (memory) return memory;
  fprintf(stderr, "bench_engine: out of memory\n");
  exit(3);
}

/* Rounds in which i sends to (i + shift) mod ranks, as lists. Some are at hand, as a scheme's one list would be. */
struct lists {
  uint32_t ranks, *from[LISTS], *to[LISTS];
  uint64_t *bytes[LISTS];
};

static struct lists make_lists(uint32_t ranks, bool ring) {
  struct lists lists = {.ranks = ranks};
  const uint32_t shift[LISTS] = {1, 2, ranks / 2, ranks - 1};
  for (uint32_t l = 0; l < LISTS; l++) {
    lists.from[l] = need(ss_alloc(ranks, sizeof *lists.from[l]));
    lists.to[l] = need(ss_alloc(ranks, sizeof *lists.to[l]));
    lists.bytes[l] = need(ss_alloc(ranks, sizeof *lists.bytes[l]));
    for (uint32_t i = 0; i < ranks; i++) {
      lists.from[l][i] = i;
      lists.to[l][i] = (i + (ring ? 1 : shift[l])) % ranks;
      lists.bytes[l][i] = ring ? 65536 : 4096 * (uint64_t)(1 + (i + l) % 31);
    }
  }
  return lists;
}

static void free_lists(struct lists *lists) {
  for (uint32_t l = 0; l < LISTS; l++) {
    free(lists->from[l]);
    free(lists->to[l]);
    free(lists->bytes[l]);
  }
}

/* --- the loop over plain arrays --------------------------------------------------------------------------- */

static void plain_round(const struct lists *lists, uint32_t l, double *out, double *in) {
  const uint32_t *from = lists->from[l], *to = lists->to[l];
  const uint64_t *bytes = lists->bytes[l];
  const double alpha = flat.inter.alpha, beta = flat.inter.beta;
  for (uint32_t i = 0; i < lists->ranks; i++) {
    const double start = out[from[i]] > in[to[i]] ? out[from[i]] : in[to[i]];
    out[from[i]] = in[to[i]] = start + (alpha + (double)bytes[i] * beta);
  }
}

static double plain_time(const struct lists *lists, uint32_t rounds) {
  double *out = need(ss_alloc_zero(lists->ranks, sizeof *out)), *in = need(ss_alloc_zero(lists->ranks, sizeof *in));
  double end = 0;
  for (uint32_t r = 0; r < rounds; r++) plain_round(lists, r % LISTS, out, in);
  for (uint32_t i = 0; i < lists->ranks; i++) end = fmax(end, in[i]);
  free(out);
  free(in);
  return end;
}

/* --- the engine ------------------------------------------------------------------------------------------- */

static struct ss_engine opened(const struct ss_cluster *cluster, uint32_t ranks) {
  struct ss_engine engine;
  struct ss_error error;
  if (ss_engine_open(&engine, cluster, ranks, 0, &error)) return engine;
  fprintf(stderr, "bench_engine: %s\n", error.text);
  exit(3);
}

static void play(struct ss_engine *engine, struct ss_messages messages, bool dependent) {
  struct ss_round round = {.messages = messages, .dependent = dependent};
  if (!engine->player.play(&engine->player, &round, NULL)) exit(3);
}

static struct ss_messages listed(const struct lists *lists, uint32_t l) {
  return (struct ss_messages){
      .count = lists->ranks, .from = lists->from[l], .to = lists->to[l], .bytes = lists->bytes[l]};
}

static double shift_time(const struct lists *lists, uint32_t rounds) {
  struct ss_engine engine = opened(&flat, lists->ranks);
  for (uint32_t r = 0; r < rounds; r++)
    play(&engine, (struct ss_messages){.count = lists->ranks, .shift = 1, .each = 65536}, true);
  const double end = ss_engine_tally(&engine, 0).time;
  ss_engine_close(&engine);
  return end;
}

static double list_time(const struct lists *lists, uint32_t rounds) {
  struct ss_engine engine = opened(&flat, lists->ranks);
  for (uint32_t r = 0; r < rounds; r++) play(&engine, listed(lists, r % LISTS), r % (lists->ranks - 1) == 0);
  const double end = ss_engine_tally(&engine, 0).time;
  ss_engine_close(&engine);
  return end;
}

/* --- the curve -------------------------------------------------------------------------------------------- */

typedef double simulation(const struct lists *lists, uint32_t rounds);

/* Best of several, in nanoseconds a message; *end is what was simulated. */
static double measure(simulation *simulate, const struct lists *lists, double *end) {
  const uint32_t rounds = MESSAGES / lists->ranks;
  double best = HUGE_VAL;
  for (uint32_t i = 0; i < TIMES; i++) {
    const double begin = now();
    *end = simulate(lists, rounds);
    best = fmin(best, now() - begin);
  }
  return best * 1e9 / ((double)rounds * lists->ranks);
}

/* What was simulated is printed, so that no compiler can leave it out. */
static void print_point(const char *item, simulation *simulate, uint32_t ranks, bool ring) {
  struct lists lists = make_lists(ranks, ring);
  double end, plain_end;
  const double plain = measure(plain_time, &lists, &plain_end), ours = measure(simulate, &lists, &end);
  printf("{\"item\": \"%s\", \"ranks\": %" PRIu32 ", \"ns_per_message\": %.4f, \"plain_ns_per_message\": %.4f, "
         "\"time_s\": %.9g, \"plain_time_s\": %.9g}\n",
         item, ranks, ours, plain, end, plain_end);
  fflush(stdout);
  free_lists(&lists);
}

/* --- what callgrind counts -------------------------------------------------------------------------------- */

static void play_mix(const struct ss_cluster *cluster) {
  struct lists lists = make_lists(1024, false);
  struct ss_engine engine = opened(cluster, lists.ranks);
  for (uint32_t r = 0; r < 200; r++) {
    const bool dependent = r % 8 < 4;
    if (r % 4 == 0) play(&engine, (struct ss_messages){.count = 1024, .shift = 1 + r, .each = 65536}, dependent);
    else if (r % 4 == 1)
      play(&engine, (struct ss_messages){.count = 1024, .shift = 1 + r, .bytes = lists.bytes[0]}, dependent);
    else play(&engine, listed(&lists, r / 4 % LISTS), dependent);
  }
  const struct ss_tally tally = ss_engine_tally(&engine, 0);
  printf("%s: %.17g s, %" PRIu64 " messages, %" PRIu64 " bytes\n", cluster->name, tally.time, tally.messages,
         tally.bytes);
  ss_engine_close(&engine);
  free_lists(&lists);
}

/* --- cards that are shared --------------------------------------------------------------------------------- */

static const struct ss_cluster cards = {.name = "cards",
                                        .model = "fair",
                                        .inter = {25e-6, 8 / 25e9},
                                        .intra = {3e-6, 1 / 1e11},
                                        .has_intra = true,
                                        .nic_per_node = true,
                                        .gpus_per_node = 8};

enum work { RING, EQUAL, LISTED, RAGGED }; /* LISTED: equal sizes, each in the list */

static double exchange_time(uint32_t ranks, enum work work) {
  struct ss_engine engine = opened(&cards, ranks);
  uint64_t *bytes = need(ss_alloc(ranks, sizeof *bytes)), each = 1u << 20;
  for (uint32_t s = 1; s < ranks; s++) {
    for (uint32_t i = 0; i < ranks && work != EQUAL; i++) bytes[i] = work == RAGGED ? ragged_bytes(i, s) : each;
    play(&engine,
         (struct ss_messages){.count = ranks, .shift = s, .bytes = work == EQUAL ? NULL : bytes, .each = each},
         s == 1);
  }
  const double end = ss_engine_tally(&engine, 0).time;
  ss_engine_close(&engine);
  free(bytes);
  return end;
}

static double ring_time(uint32_t ranks) {
  struct ss_engine engine = opened(&cards, ranks);
  for (uint32_t s = 0; s < 2 * (ranks - 1); s++)
    play(&engine, (struct ss_messages){.count = ranks, .shift = 1, .each = 65536}, true);
  const double end = ss_engine_tally(&engine, 0).time;
  ss_engine_close(&engine);
  return end;
}

/* s of processor time: what else runs does not count. */
static double used(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void print_fair(const char *word) {
  static const struct {
    const char *item;
    uint32_t ranks;
    enum work work;
  } points[] = {{"fair-ragged-64", 64, RAGGED},     {"fair-ragged-256", 256, RAGGED},
                {"fair-ring-4096", 4096, RING},     {"fair-equal-1024", 1024, EQUAL},
                {"fair-listed-1024", 1024, LISTED}, {"fair-ragged-1024", 1024, RAGGED}};
  for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
    if (word && !strstr(points[i].item, word)) continue;
    const uint32_t ranks = points[i].ranks;
    const bool ring = points[i].work == RING;
    const double messages = (double)ranks * (ranks - 1) * (ring ? 2 : 1), begin = used();
    const double end = ring ? ring_time(ranks) : exchange_time(ranks, points[i].work);
    printf("{\"item\": \"%s\", \"ranks\": %" PRIu32 ", \"ns_per_message\": %.2f, \"time_s\": %.12g}\n",
           points[i].item, ranks, (used() - begin) * 1e9 / messages, end);
    fflush(stdout);
  }
}

/* --- the floor ---------------------------------------------------------------------------------------------- */

/* What is kept of a message, of its ends, its flow, and the two cards that it crosses: of every rank one is under
 * way, and every line of it is read and written when it begins and when it ends. */
struct state {
  struct ss_fair_message *message;
  struct ss_fair_end *end;
  struct ss_shares_flow *flow;
  struct ss_shares_bundle *bundle;
  struct ss_shares_slot *slot;
  struct ss_shares_link *link;
};

enum {
  A_NODE = 8,
  STATE = sizeof(struct ss_fair_message) + 2 * sizeof(struct ss_fair_end) + sizeof(struct ss_shares_flow) +
          sizeof(struct ss_shares_bundle) + 2 * (sizeof(struct ss_shares_slot) + sizeof(struct ss_shares_link))
};

static void touch(void *at, size_t size) {
  enum { LINE = 64 };
  volatile unsigned char *byte = at;
  for (size_t i = 0; i < size; i += LINE) byte[i]++;
}

static void touch_message(const struct state *s, uint32_t ranks, uint32_t from, uint32_t to) {
  touch(&s->message[from], sizeof *s->message);
  touch(&s->end[from], sizeof *s->end);
  touch(&s->end[to], sizeof *s->end);
  touch(&s->flow[from], sizeof *s->flow);
  touch(&s->bundle[from], sizeof *s->bundle);
  touch(&s->slot[2 * (size_t)from], 2 * sizeof *s->slot);
  touch(&s->link[from / A_NODE], sizeof *s->link);
  touch(&s->link[(ranks + to) / A_NODE], sizeof *s->link);
}

static void print_floor(uint32_t ranks) {
  enum { EVENTS = 2 };
  const size_t cards_each_way = (ranks + A_NODE - 1) / A_NODE + 1;
  struct state s = {
      need(ss_alloc_zero(ranks, sizeof *s.message)),  need(ss_alloc_zero(ranks, sizeof *s.end)),
      need(ss_alloc_zero(ranks, sizeof *s.flow)),     need(ss_alloc_zero(ranks, sizeof *s.bundle)),
      need(ss_alloc_zero(ranks, 2 * sizeof *s.slot)), need(ss_alloc_zero(2 * cards_each_way, sizeof *s.link))};
  const uint32_t rounds = ranks - 1 < MESSAGES / ranks ? ranks - 1 : MESSAGES / ranks;
  const double begin = used();
  for (uint32_t r = 1; r <= rounds; r++)
    for (uint32_t event = 0; event < EVENTS; event++)
      for (uint32_t i = 0; i < ranks; i++) touch_message(&s, ranks, i, (i + r) % ranks);
  printf("{\"ranks\": %" PRIu32 ", \"bytes_per_event\": %d, \"ns_per_message\": %.3f}\n", ranks, STATE,
         (used() - begin) * 1e9 / ((double)rounds * ranks));
  free(s.message);
  free(s.end);
  free(s.flow);
  free(s.bundle);
  free(s.slot);
  free(s.link);
}

int main(int count, char **arguments) {
  if (count == 2 && strcmp(arguments[1], "--instructions") == 0) {
    play_mix(&flat);
    play_mix(&nodes);
    return 0;
  }
  if (count > 1 && count < 4 && strcmp(arguments[1], "--fair") == 0) {
    print_fair(count == 3 ? arguments[2] : NULL);
    return 0;
  }
  if (count == 3 && strcmp(arguments[1], "--floor") == 0 && atoi(arguments[2]) > 1) {
    print_floor((uint32_t)atoi(arguments[2]));
    return 0;
  }
  if (count != 1) {
    fprintf(stderr, "usage: bench_engine [--instructions | --fair [WORD] | --floor RANKS]\n");
    return 2;
  }
  for (uint32_t ranks = 64; ranks <= 16384; ranks *= 4) print_point("engine-shift", shift_time, ranks, true);
  for (uint32_t ranks = 64; ranks <= 16384; ranks *= 4) print_point("engine-list", list_time, ranks, false);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
