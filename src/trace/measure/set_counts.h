/* Counting over the row sets of an iteration: unions, pairwise intersections, and what the next iteration needs
 * again.
 *
 * The range of rows is cut into chunks whose bitset stays in the cache; threads share them out. All results are
 * integers added over chunks, so they are the same at any thread count. */
#ifndef SS_TRACE_MEASURE_SET_COUNTS_H
#define SS_TRACE_MEASURE_SET_COUNTS_H

#include "trace/measure/rank_sets.h"

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

#endif
