/* Who has received which block: the receivers' side of every gather and exchange.
 *
 * In one process all ranks share the blocks they gather, so what rank r holds is one bit a block. Only a block that
 * arrives other than it was sent (in tests, which meddle; in exec, where it comes off the wire) is kept as such.
 * Adding, never overwriting: a block that arrives twice is a mismatch. */
#pragma once

#include "sim/play.h"

struct ss_receipt {
  uint32_t receiver, block;
  struct ss_chunk chunk;
};

struct ss_receipts {
  uint32_t receivers, blocks;
  uint64_t words;
  uint64_t *bits;           /* [receivers * words] */
  struct ss_receipt *other; /* blocks that arrived other than they were sent */
  uint64_t others, capacity;
};

/* Nothing received yet. Memory is malloc's: free it. */
bool ss_receipts_open(struct ss_receipts *receipts, uint32_t receivers, uint32_t blocks,
                      struct ss_error *error) SS_MUST_CHECK;
void ss_receipts_close(struct ss_receipts *receipts);

bool ss_receipts_has(const struct ss_receipts *receipts, uint32_t receiver, uint32_t block);
/* A receiver got `got` where `due` was sent (rows may be unknown to it: NULL in another process). */
struct ss_arrival {
  uint32_t receiver, block;
  const struct ss_chunk *due, *got;
};
/* Records the arrival; checks origin and part against what was due, and that it came once. */
bool ss_receipts_add(struct ss_play *play, struct ss_receipts *receipts, const struct ss_arrival *arrival,
                     struct ss_error *error) SS_MUST_CHECK;
/* A run of blocks exactly as sent. */
void ss_receipts_add_run(struct ss_play *play, struct ss_receipts *receipts, uint32_t receiver, uint32_t first,
                         uint32_t count);
/* The receiver holds exactly the blocks of all senders, all as sent. */
bool ss_receipts_regular(const struct ss_receipts *receipts, uint32_t receiver);
/* The chunk that the receiver holds for the block: what came, or `sent`. NULL when nothing came. */
const struct ss_chunk *ss_receipts_held(const struct ss_receipts *receipts, uint32_t receiver, uint32_t block,
                                        const struct ss_chunk *sent);

/* Blocks as they were sent, with what receivers have of them; to be summed over rows [low, high). */
struct ss_received {
  const struct ss_receipts *receipts;
  const struct ss_chunk *block; /* [receipts->blocks] */
  uint64_t low, high;
  struct ss_chunk *shared; /* zeroed at first: the one sum of all receivers that hold every block as sent */
};
/* The sum of all blocks that `receiver` holds; blocks that never came are mismatches. */
bool ss_receipts_sum(struct ss_play *play, const struct ss_received *received, uint32_t receiver,
                     struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
