/* Reusable rounds: the building blocks of every scheme (docs/model.md, "Building blocks").
 *
 * Each is for all ranks of a play (groups of them play at once by sim/groups.h), and for any number of them; one
 * alone sends nothing. */
#pragma once

#include "sim/collectives/receipts.h"
#include "sim/collectives/steps.h"

/* --- all-gather: every member ends with every block ------------------------------------------------------ */

/* One block a member. Blocks are kept twice in a row, so that any run modulo their number is contiguous. */
struct ss_gather {
  uint32_t size;
  const uint32_t *rank; /* [size] the members, who go by their positions here; NULL: ranks 0..size-1 */
  const struct ss_wire *wire;
  struct ss_chunk *block;       /* [2 * size], filled for members that live here */
  struct ss_receipts receipts;  /* receiver: position */
  const struct ss_chunk *known; /* as `block`: rows that receivers hold already (SS_WIRE_VALUES), or NULL */
  uint64_t *bytes;              /* as `block`: what each takes on the wire */
  uint64_t *upto;               /* [2 * size + 1] bytes of the blocks before this one */
  bool uniform;                 /* all blocks take the same bytes */
  bool padded;                  /* for they are as long as the longest */
  uint64_t low, high;           /* rows that the blocks cover together */
  struct ss_chunk shared;       /* their sum, once for all members that hold them as sent */
};

/* Makes room; block[] is then the caller's to set by ss_gather_set, before ss_gather_play. */
bool ss_gather_open(struct ss_gather *gather, uint32_t size, const struct ss_wire *wire, uint64_t low, uint64_t high,
                    struct ss_error *error) SS_MUST_CHECK;
void ss_gather_set(struct ss_gather *gather, uint32_t position, const struct ss_chunk *block);
void ss_gather_close(struct ss_gather *gather);

typedef bool ss_allgather(struct ss_play *play, struct ss_gather *gather, struct ss_error *error);
/* Counts the blocks' bytes, and plays one of the following. */
bool ss_gather_play(struct ss_play *play, struct ss_gather *gather, ss_allgather *how,
                    struct ss_error *error) SS_MUST_CHECK;
/* The same for blocks of unlike lengths among all ranks, as the play has them: of broadcasts, or padded. Where they
 * are `counted`, sizes are announced before if the play wants it. */
bool ss_gather_ragged(struct ss_play *play, struct ss_gather *gather, bool counted, ss_allgather *how,
                      struct ss_error *error) SS_MUST_CHECK;
/* Members hold ragged blocks of others from then on, if they do not let go of them here; dense ones go where the
 * tensor has them. */
void ss_gather_drop(struct ss_play *play, const struct ss_gather *gather);
/* The sum of the blocks that the member holds. */
bool ss_gather_sum(struct ss_play *play, struct ss_gather *gather, uint32_t position, struct ss_chunk *out,
                   struct ss_error *error) SS_MUST_CHECK;

/* As SS_RING, SS_DIRECT, SS_BRUCK of steps.h, and as SS_DOUBLE between folds. Of the direct one's rounds the first is
 * dependent, the rest are not. */
bool ss_allgather_ring(struct ss_play *play, struct ss_gather *gather, struct ss_error *error) SS_MUST_CHECK;
bool ss_allgather_direct(struct ss_play *play, struct ss_gather *gather, struct ss_error *error) SS_MUST_CHECK;
bool ss_allgather_bruck(struct ss_play *play, struct ss_gather *gather, struct ss_error *error) SS_MUST_CHECK;
bool ss_allgather_doubling(struct ss_play *play, struct ss_gather *gather, struct ss_error *error) SS_MUST_CHECK;

/* A group of broadcasts, one a rank, under way at once along the ring: blocks go in pieces, of which each goes one
 * hop in a step, and each a step behind the one before it. A step's pieces that go their first hop are a dependent
 * round, those that go their second an independent one, and so on. With one piece a block it is the ring. It stands
 * for any all-gather but the direct one where the play is SS_RAGGED_BROADCASTS. */
bool ss_allgather_broadcasts(struct ss_play *play, struct ss_gather *gather, struct ss_error *error) SS_MUST_CHECK;
/* B: one of the 8 steps (NCCL_STEPS, src/include/devcomm.h) of a buffer of 4 MiB (NCCL_BUFFSIZE of its guide), which
 * a broadcast fills one at a time (BROADCAST_CHUNKSTEPS 1, src/include/collectives.h). */
enum { SS_BROADCAST_PIECE = 1 << 19 };

/* All ranks learn a number each: part[ranks] are dense chunks that hold one where their rank lives here, or none,
 * which is 0. What came other than it was sent is a mismatch. */
bool ss_allgather_numbers(struct ss_play *play, const struct ss_chunk *part, ss_allgather *how, uint64_t *number,
                          struct ss_error *error) SS_MUST_CHECK;
/* How such numbers travel: 8 bytes each. */
extern const struct ss_wire ss_number_wire;

/* A Bruck all-gather of 8 bytes a rank that announces sizes, when the play wants it ("sizes": "exchanged"); then
 * hosts wait. */
bool ss_announce_sizes(struct ss_play *play, struct ss_error *error) SS_MUST_CHECK;
/* The same with size[ranks], which processes know of ranks that live there, if it is `counted`; else the play pools
 * what it needs to know. Of a play without payloads they are known. */
bool ss_tell_sizes(struct ss_play *play, bool counted, uint64_t *size, struct ss_error *error) SS_MUST_CHECK;
/* All-gathers block[size of the gather], which is open, sizes first. */
bool ss_gather_announced(struct ss_play *play, struct ss_gather *gather, const struct ss_chunk *block,
                         ss_allgather *how, struct ss_error *error) SS_MUST_CHECK;

/* --- exchanges: every message its own payload ------------------------------------------------------------ */

/* Whose receipts take a chunk: see struct ss_receipts. */
struct ss_slot {
  uint32_t receiver, block;
};

/* Messages of several chunks each. */
struct ss_several {
  uint32_t (*count)(const void *context, uint32_t from, uint32_t to); /* how many `from` has for `to` */
  struct ss_slot (*slot)(const void *context, uint32_t from, uint32_t to, uint32_t k);
  struct ss_chunk *scratch; /* [as many as a round has] */
};

struct ss_exchange {
  void *context;
  /* The chunk that `from` has for `to` (ranks, or worker and server index), or all of `several`. In another process
   * only their origin and part matter. */
  bool (*give)(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error);
  /* Rows that `to` knows it gets from `from`, a chunk for each (SS_WIRE_VALUES), or NULL. */
  const struct ss_chunk *(*known)(void *context, uint32_t from, uint32_t to);
  const struct ss_wire *wire;
  bool counted;                     /* receivers need sizes: they are announced when the play wants it */
  bool follows;                     /* of servers: none of its rounds is dependent; they go on with those before */
  const struct ss_several *several; /* NULL: one chunk a message, for receiver `to`, block `from` */
  struct ss_receipts *receipts;     /* not touched when the play has no payloads */
  uint64_t *held;       /* [ranks + servers] B that came are added, and held by then; NULL: they are not counted */
  bool uniform, padded; /* every message has `each` bytes; uniform: and no payload, `give` is not asked */
  uint64_t each;
};

/* Where exchanges are counted, 8 bytes go first over each of their pairs, in an exchange like it, and hosts wait.
 *
 * Round s = 1..P-1: r sends to (r + s) mod P; the first dependent, the rest independent. Where the play pads, and the
 * chunks are ragged, to the longest message of all pairs; then a Bruck all-gather tells every rank's longest. */
bool ss_pairwise(struct ss_play *play, struct ss_exchange *exchange, struct ss_error *error) SS_MUST_CHECK;
/* Round t = 0..P-1: server s (endpoint ranks + s) receives from worker (s + t) mod P; fan-out the other way. */
bool ss_fan_in(struct ss_play *play, struct ss_exchange *exchange, struct ss_error *error) SS_MUST_CHECK;
bool ss_fan_out(struct ss_play *play, struct ss_exchange *exchange, struct ss_error *error) SS_MUST_CHECK;
/* Owner sends to owner + s mod P in round s = 1..P-1: first dependent, the rest independent. */
bool ss_scatter(struct ss_play *play, uint32_t owner, struct ss_exchange *exchange,
                struct ss_error *error) SS_MUST_CHECK;

/* --- trees ----------------------------------------------------------------------------------------------- */

/* Reversed binomial steps relative to `root`: position v = (r - root) mod P receives from v - 2^t where v mod 2^(t+1)
 * = 2^t, t falling. In the beginning every held[r] describes the root's chunk (range, bytes, origin, part; the
 * content is the root's alone), in the end it is what rank r got. */
bool ss_broadcast_binomial(struct ss_play *play, uint32_t root, const struct ss_wire *wire, struct ss_chunk *held,
                           struct ss_error *error) SS_MUST_CHECK;

/* The same by a scatter of even shares of the root's entries (root sends to root + s mod P in round s, the first
 * dependent, the rest independent) and a ring all-gather of the shares. */
bool ss_broadcast_scatter(struct ss_play *play, uint32_t root, const struct ss_wire *wire, struct ss_chunk *held,
                          struct ss_error *error) SS_MUST_CHECK;

/* --- dense sums ------------------------------------------------------------------------------------------ */

/* A dense tensor being summed, rows [low, high). Its smallest parts, the proof units, are `units` even shares of
 * them. What travels takes the bytes of the dense rows; inside it has a proof integer a unit and/or all values, or,
 * with `lists`, only the rows that are not zero. */
struct ss_dense_sum {
  const struct ss_wire *wire;
  uint64_t low, high;
  uint32_t width, units;
  uint32_t first;  /* unit with which the ring's own ones begin: the others are of rings beside it */
  uint32_t chunks; /* of each part of a ring, of which one is added while the next is on its way; 0 is 1 */
  bool lists;
  bool fused;           /* adds take no time of their own: the library's step has them */
  const uint32_t *rank; /* [ranks of the play] of a ring: who has which position in it (as ss_ring_order); NULL:
                           everyone its own number */
  void *context;
  /* For payloads of another make, or NULL: the chunk of units [first, first + count) without content, and a + b of
   * two of them. */
  struct ss_chunk (*range)(const void *context, uint32_t first, uint32_t count);
  bool (*add)(const struct ss_chunk *a, const struct ss_chunk *b, struct ss_arena *arena, struct ss_chunk *out,
              struct ss_error *error);
  /* Turns the chunk of some units, without content, into what the rank contributes to them: over the same rows, and
   * the same part. Without payloads it is not asked. */
  bool (*give)(void *context, uint32_t rank, struct ss_arena *arena, struct ss_chunk *chunk, struct ss_error *error);
};

/* For the blocks themselves: the rows of units [first, first + count); a dependent round of dense chunks, whose
 * receivers then add what they got, and what the receiver of message `at` does with it: it was to get `due`, and adds
 * it to `held`. */
bool ss_dense_round(struct ss_play *play, const struct ss_dense_sum *sum, uint32_t count,
                    struct ss_error *error) SS_MUST_CHECK;
bool ss_dense_take(struct ss_play *play, const struct ss_dense_sum *sum, uint32_t at, const struct ss_chunk *due,
                   struct ss_chunk *held, struct ss_error *error) SS_MUST_CHECK;

/* The chunk of units [first, first + count), without content: origin 0, part `first`. */
struct ss_chunk ss_dense_units(const struct ss_dense_sum *sum, uint32_t first, uint32_t count);

/* A ring has P * chunks units: chunk k of part j is its unit k * P + j. Step s: r sends the chunks of part (r - s)
 * mod P, one behind the other, to r + 1, which adds its own; r ends with those of part r in part[k * P + r]. Only the
 * first chunk of a step waits for what came before. */
bool ss_reduce_scatter_ring(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *part,
                            struct ss_error *error) SS_MUST_CHECK;
/* The same, and for each chunk a ring all-gather of what all have of it, in gather[chunks] that are the caller's to
 * be closed, also after a failure. Part r is known to come from r. */
bool ss_allreduce_ring(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_gather *gather,
                       struct ss_error *error) SS_MUST_CHECK;
/* Two trees, of the places of ss_trees_plant, carry half of the ring's units each, as many as `chunks`, one behind
 * the other, up and down at once: in step t of the pipeline who has a chunk of its branch sends it up, to be added,
 * and who has the sum passes it down. units = 2 * chunks of each ring; held[u * P + r] is what r contributes to the
 * u-th of them, and in the end the sum; NULL: sizes alone are played. */
bool ss_allreduce_trees(struct ss_play *play, const struct ss_dense_sum *sum, const struct ss_tree_place *place,
                        uint32_t height, struct ss_chunk *held, struct ss_error *error) SS_MUST_CHECK;
/* units = Q, the power of two not above P. Recursive halving, then doubling. whole[p] is what p contributes (all
 * units, without content where p does not live here), and in the end the sum that it holds. */
bool ss_allreduce_rabenseifner(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *whole,
                               struct ss_error *error) SS_MUST_CHECK;
/* units = 1. Step t: p with p mod 2^(t+1) = 2^t sends its sum to p - 2^t; whole[p] is what p contributes (origin p),
 * and in the end whole[0] is the sum. */
bool ss_reduce_binomial(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *whole,
                        struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
