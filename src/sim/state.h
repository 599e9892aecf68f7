/* What a scheme keeps from one iteration to the next: residuals of every rank, and state of its own (thresholds,
 * boundaries, step sizes).
 *
 * One state belongs to one point of a scenario: a scheme on a tensor at a number of ranks. Shards of a hierarchy have
 * one each inside. */
#pragma once

#include "tensor/chunk.h"

struct ss_state {
  uint64_t iteration;         /* iterations before this one */
  uint32_t ranks;             /* 0: not begun */
  struct ss_chunk *residual;  /* [ranks] what each kept of the iterations before; SS_CHUNK_VALUES */
  struct ss_chunk *kept;      /* [ranks] what each keeps now, for the next iteration */
  struct ss_arena arena[2];   /* of the residuals of odd and even iterations */
  struct ss_arena lasting;    /* of all else; freed with the state */
  void *own;                  /* the scheme's own, of all ranks together; NULL: not asked for yet */
  void *each;                 /* [ranks] the scheme's own of every rank */
  size_t own_size, each_size; /* B; each_size of all ranks together */
  void *settled;              /* what follows from the point alone, not from its iterations; NULL: nothing yet */
  uint32_t shards;
  struct ss_state *shard; /* [shards] */
};

/* A zeroed struct is empty. Begins an iteration of `ranks` ranks. */
bool ss_state_begin(struct ss_state *state, uint32_t ranks, struct ss_error *error) SS_MUST_CHECK;
/* Ends it: what was kept becomes the residual. */
void ss_state_end(struct ss_state *state);
void ss_state_free(struct ss_state *state);
/* For an iteration that is played twice: saves what it changes before it ends. `saved` is empty, and to be freed. A
 * rewound state has to be begun again. */
bool ss_state_save(const struct ss_state *state, struct ss_state *saved, struct ss_error *error) SS_MUST_CHECK;
void ss_state_rewind(struct ss_state *state, const struct ss_state *saved);
/* Makes room for the scheme's own state of a begun state, zeroed: `own` bytes for all ranks together, `each` for
 * every rank. Later calls leave what is there. */
bool ss_state_take(struct ss_state *state, size_t own, size_t each, struct ss_error *error) SS_MUST_CHECK;
/* Makes room for what follows from the point alone, `size` bytes, zeroed; not rewound. Later calls leave what is
 * there. */
bool ss_state_settle(struct ss_state *state, size_t size, struct ss_error *error) SS_MUST_CHECK;
/* States of `shards` shards. */
bool ss_state_split(struct ss_state *state, uint32_t shards, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
