/* The rounds of broadcasts and reductions (sim/collectives/patterns.h), of which the model knows sizes alone, with
 * data over MPI: what a rank sends in a round is what it holds before it. A broadcast ends with rank 0's vector
 * everywhere, a reduction with the sum of all vectors at rank 0. The first that does not is named on standard error,
 * and ends all.
 */
#include "sim/collectives/patterns.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS = 5040, RANKS = 16, KIB = 1024 };

struct rank {
  struct ss_player player; /* first: a player is what it stands in */
  uint32_t me, ranks;
  bool reduces, chain;
  int64_t held[UNITS], came[RANKS][UNITS];
  uint32_t first, end;                   /* of a reduction by halves: what of the sum is this rank's to make */
  uint32_t sent[RANKS], received[RANKS]; /* of a chain: chunks to, and from, each */
  uint32_t last;                         /* of a ring: the block that came last */
  bool whole[UNITS];                     /* of a broadcast: what came */
};

/* Units of a message. */
struct part {
  uint32_t first, count;
  bool add;
};

static bool answered(const struct ss_messages *m, uint32_t at) {
  for (uint32_t i = 0; i < m->count; i++)
    if (ss_message_from(m, i) == ss_message_to(m, at) && ss_message_to(m, i) == ss_message_from(m, at)) return true;
  return false;
}

/* What message `at` carries, from this rank (`out`) or to it. */
static struct part part_of(struct rank *r, const struct ss_messages *m, uint32_t at, bool out) {
  const uint32_t units = (uint32_t)(ss_message_bytes(m, at) / KIB), from = ss_message_from(m, at),
                 to = ss_message_to(m, at), block = UNITS / r->ranks;
  if (r->chain) { /* chunk after chunk */
    const uint32_t k = out ? r->sent[to]++ : r->received[from]++;
    return (struct part){k * units, units, r->reduces};
  }
  if (units == UNITS) return (struct part){0, UNITS, r->reduces};
  if (!r->reduces && !m->from)
    return (struct part){(out ? r->last : (r->last + r->ranks - 1) % r->ranks) * block, units, false};
  if (!r->reduces) return (struct part){to * block, units, false};
  if (!answered(m, at)) return (struct part){out ? r->first : r->end, units, false}; /* halves come back together */
  const bool low = r->me < (out ? to : from); /* the lower rank makes the lower half of the sum */
  return (struct part){low != out ? r->first : r->first + units, units, true};
}

static bool have(const struct rank *r, struct part part) {
  bool all = part.first + part.count <= UNITS;
  for (uint32_t u = part.first; all && u < part.first + part.count; u++) all = r->reduces || r->whole[u];
  return all;
}

static void take(struct rank *r, const struct ss_messages *m, struct part part, const int64_t *came) {
  for (uint32_t u = 0; u < part.count; u++) {
    r->held[part.first + u] = came[u] + (part.add ? r->held[part.first + u] : 0);
    r->whole[part.first + u] = true;
  }
  if (!m->from) r->last = part.first / (UNITS / r->ranks);
  if (r->chain || !r->reduces || part.count == UNITS) return;
  if (!part.add) r->end += part.count;
  else r->first = part.first, r->end = part.first + part.count;
}

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct rank *r = (struct rank *)player;
  const struct ss_messages *m = &round->messages;
  MPI_Request request[2 * RANKS];
  struct part part[RANKS];
  uint32_t arrivals = 0;
  int requests = 0;
  static int64_t going[RANKS][UNITS];
  for (uint32_t i = 0; i < m->count; i++)
    if (ss_message_from(m, i) == r->me) {
      const struct part out = part_of(r, m, i, true);
      if (!have(r, out)) return ss_fail(error, SS_BAD_INPUT, "rank %u sends what it does not have", r->me);
      memcpy(going[requests], r->held + out.first, out.count * sizeof **going);
      MPI_Isend(going[requests], (int)out.count, MPI_INT64_T, (int)ss_message_to(m, i), 0, MPI_COMM_WORLD,
                &request[requests]);
      requests++;
    }
  for (uint32_t i = 0; i < m->count; i++)
    if (ss_message_to(m, i) == r->me) {
      part[arrivals] = part_of(r, m, i, false);
      MPI_Irecv(r->came[arrivals], (int)part[arrivals].count, MPI_INT64_T, (int)ss_message_from(m, i), 0,
                MPI_COMM_WORLD, &request[requests++]);
      arrivals++;
    }
  MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
  for (uint32_t i = 0; i < arrivals; i++) take(r, m, part[i], r->came[i]);
  return true;
}

static int64_t own(uint32_t rank, uint32_t unit) {
  return (int64_t)(rank + 1) * 1000003 + (int64_t)unit * unit;
}

static bool right(const struct rank *r) {
  for (uint32_t u = 0; u < UNITS && (!r->reduces || r->me == 0); u++) {
    int64_t due = r->reduces ? 0 : own(0, u);
    for (uint32_t p = 0; r->reduces && p < r->ranks; p++) due += own(p, u);
    if (r->held[u] != due) return false;
  }
  return true;
}

static void prove(const struct ss_algorithm *algorithm, enum ss_library_kind library, uint32_t me, uint32_t ranks,
                  uint32_t chunks) {
  static struct rank r;
  struct ss_error error = {.text = "ends with something else"};
  const struct ss_pattern_call call = {
      .algorithm = algorithm, .ranks = ranks, .bytes = (uint64_t)UNITS * KIB, .chunks = chunks, .library = library};
  memset(&r, 0, sizeof r);
  r = (struct rank){.player = {.play = play},
                    .me = me,
                    .ranks = ranks,
                    .reduces = algorithm->collective == SS_REDUCE,
                    .chain = algorithm->rings,
                    .end = UNITS};
  for (uint32_t u = 0; u < UNITS; u++) {
    r.held[u] = own(me, u);
    r.whole[u] = me == 0;
  }
  r.last = me;
  if (ss_pattern_play(&call, 1, &r.player, &error) && right(&r)) return;
  fprintf(stderr, "rank %u of %u: %s's %s of %s, %u chunks: %s\n", me, ranks, ss_library_names[library],
          algorithm->name, r.reduces ? "reduce" : "broadcast", chunks, error.text);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

int main(int count, char **arguments) {
  int me, ranks;
  size_t algorithms;
  const struct ss_algorithm *list = ss_algorithms(&algorithms);
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (size_t i = 0; i < algorithms; i++)
    for (uint32_t chunks = 1; chunks <= (list[i].rings ? 7 : 1); chunks += 3)
      if (list[i].collective == SS_BROADCAST || list[i].collective == SS_REDUCE)
        for (int k = SS_NO_LIBRARY; k <= SS_MPICH; k++)
          prove(&list[i], (enum ss_library_kind)k, (uint32_t)me, (uint32_t)ranks, chunks);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
/* SPDX-License-Identifier: Apache-2.0 */
