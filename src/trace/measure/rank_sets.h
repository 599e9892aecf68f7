/* The row sets of one iteration: each rank's coalesced list, in place where the trace holds it sorted already. */
#pragma once

#include "trace/file/trace.h"

struct ss_rank_sets {
  uint32_t ranks;
  const uint32_t **list; /* [ranks] strictly increasing */
  uint64_t *size;        /* [ranks] */
  uint64_t *offset;      /* [ranks] where a list that had to be coalesced lies in `copies` */
  uint32_t *copies;
  uint64_t capacity; /* of `copies` */
  uint64_t lookups, coalesced;
  struct ss_arena arena; /* of the lists but `copies` */
};

bool ss_rank_sets_init(struct ss_rank_sets *sets, uint32_t ranks) SS_MUST_CHECK;
void ss_rank_sets_free(struct ss_rank_sets *sets);
/* Loads an iteration of a tensor, reusing the memory; false when it is short. The trace must outlive the lists. */
bool ss_rank_sets_load(struct ss_rank_sets *sets, const struct ss_trace *trace, size_t tensor,
                       uint64_t iteration) SS_MUST_CHECK;

/* Densest of so many even ranges of the rows, by the ascending list of those that are there, over the density of the
 * whole; the list is not empty. */
double ss_skewness(const uint32_t *list, uint64_t size, uint64_t rows, uint32_t ranges);

/* --- counting: unions, pairwise intersections, and what the next iteration needs again -----------------------
 *
 * The range of rows is cut into chunks whose bitset stays in the cache; threads share them out. All results are
 * integers added over chunks, so they are the same at any thread count. */

struct ss_rank_pair {
  uint32_t a, b; /* ranks, a < b */
};

struct ss_set_counts {
  size_t pairs;
  const struct ss_rank_pair *pair; /* those of equal `a` side by side */
  uint64_t *shared;                /* [pairs] rows that both ranks have */
  uint64_t *fresh;                 /* [ranks] rows of rank r that no rank below r has */
  uint64_t *again;                 /* [ranks] rows of rank r in the iteration before that any rank has in this one */
};

/* Overwrites the counts. `before` may be NULL: then `again` is all 0. False when memory is short. */
bool ss_set_counts_make(const struct ss_rank_sets *now, const struct ss_rank_sets *before, uint64_t rows,
                        const struct ss_set_counts *tally) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
