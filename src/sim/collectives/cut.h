/* A tensor cut into parts, in ZEN's ways (§2.2, §3), for owners (owners.h) who sum them. */
#pragma once

#include "sim/collectives/owners.h"
#include "tensor/parts.h"

enum ss_balance { SS_BALANCE_HASH, SS_BALANCE_EVEN, SS_BALANCE_SORTED };
enum ss_pull_format {
  SS_PULL_HASH_BITMAP,
  SS_PULL_COO,
  SS_PULL_BITMAP,
  SS_PULL_BLOCK,
  SS_PULL_SMALLEST,
  SS_PULL_SMALLER
};

/* Of hashed parts, the same in all iterations; all zero at first. */
struct ss_cut_domains {
  uint64_t *size;             /* [parts] rows that a part may hold */
  const uint32_t *const *row; /* [parts] these rows, where bytes are to be made */
};
/* Of sorted parts, kept from iteration to iteration; all zero at first. */
struct ss_cut_state {
  uint64_t *boundary; /* [parts + 1] */
  uint64_t found;     /* 1 + the iteration that the boundaries are of; 0: none */
};

struct ss_cut {
  enum ss_balance balance;
  enum ss_pull_format format;     /* of the pull; blocks are pushed as blocks, everything else as COO */
  uint64_t seed;                  /* of the hash */
  bool hierarchical;              /* it is ZEN's Algorithm 1, else a stable partition */
  uint64_t refresh;               /* iterations that sorted boundaries last */
  uint32_t block;                 /* elements of a block */
  uint32_t servers;               /* owners of their own; 0: the ranks */
  bool bruck;                     /* the pull is Bruck's all-gather instead of pairwise */
  struct ss_cut_domains *domains; /* NULL without hashed parts, */
  struct ss_cut_state *state;     /* and this without sorted ones */
  struct ss_arena *lasting;       /* what these point to lies there */
  uint64_t iteration;

  const struct ss_chunk *own; /* [ranks of the play] what is cut: */
  uint64_t low, high;         /* its rows */
  uint32_t width;
  struct ss_wire coo; /* how sparse payloads travel */

  /* made by ss_cut_make */
  struct ss_play *play;
  struct ss_parts parts;
  struct ss_wire push, pull;
  struct ss_owners owners; /* ready to be opened; its context is this struct, which must stay where it is */
};
bool ss_cut_make(struct ss_play *play, struct ss_cut *cut, struct ss_error *error) SS_MUST_CHECK;
/* Pushes, sums and pulls the parts of open owners. */
bool ss_cut_exchange(struct ss_cut *cut, struct ss_error *error) SS_MUST_CHECK;

/* Which rows ranks [first, own->count) have, wherever they live: sets those bits of rows [own->low, own->high), of
 * which bits[(high - low + 63) / 64] has the others already. All processes call it (ss_play_pool). */
bool ss_cut_add_rows(struct ss_play *play, const struct ss_operands *own, uint32_t first, uint64_t *bits,
                     struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
