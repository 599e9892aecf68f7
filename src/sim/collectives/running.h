/* Running sums of sparse tensors: what is passed on is the sum of what came.
 *
 * Identical sums are computed once, by the identity of their operands, however many ranks make them; and given back
 * as soon as nobody needs them. */
#pragma once

#include "sim/collectives/collectives.h"

/* Sums held by ranks, each in memory of its own. */
struct ss_running {
  struct ss_play *play;
  const struct ss_wire *wire;
  uint64_t low, high;
  struct ss_chunk *held;  /* [ranks] what each has added up so far; origin is the rank, part 0 */
  uint64_t *bytes;        /* [ranks] that these sums take; 0: of what the rank had to begin with */
  struct ss_chunk *came;  /* [ranks] in the round just played; `part` is 1 where something came */
  struct ss_arena *arena; /* [2 * ranks] in turn */
  uint32_t turn;
  uint32_t round; /* rounds so far */
  bool as_sent;   /* in the round just played, everything came as it was sent */
  bool last;      /* the sums made now are the result */
};

/* held[r] is the chunk of rank r, own->chunk[r], to begin with. Close also after a failed open. What ranks hold in
 * the end is the play's arena's. */
bool ss_running_open(struct ss_play *play, const struct ss_wire *wire, const struct ss_operands *own,
                     struct ss_running *running, struct ss_error *error) SS_MUST_CHECK;
void ss_running_close(struct ss_running *running);

/* Recursive doubling: in round t, ranks whose positions differ in bit t exchange their sums and add; ranks beyond a
 * power of two fold. Each round announces sizes when the play wants it. In the end everyone holds the sum. */
bool ss_running_doubling(struct ss_running *running, struct ss_error *error) SS_MUST_CHECK;
/* The ends of it alone, for a sum that the core ranks make otherwise: those beyond a power of two hand what they hold
 * to the other of their pair, which adds it to its own; and in the end get what that one holds. */
bool ss_running_fold_in(struct ss_running *running, struct ss_error *error) SS_MUST_CHECK;
bool ss_running_fold_out(struct ss_running *running, struct ss_error *error) SS_MUST_CHECK;
/* Step s = 1..P-1: r sends the sum of the s tensors r, r-1, ... that it holds to r + 1, which adds its own to it. */
bool ss_running_ring(struct ss_running *running, const struct ss_chunk *own, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
