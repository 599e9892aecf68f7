/* The row sets of one iteration: each rank's coalesced list, in place where the trace holds it sorted already. */
#ifndef SS_TRACE_MEASURE_RANK_SETS_H
#define SS_TRACE_MEASURE_RANK_SETS_H

#include "trace/file/trace.h"

struct ss_rank_sets {
  uint32_t ranks;
  const uint32_t **list; /* [ranks] strictly increasing */
  uint64_t *size;        /* [ranks] */
  uint64_t *place;       /* [ranks] where a list that had to be coalesced lies in `copies` */
  uint32_t *copies;
  uint64_t capacity; /* of `copies` */
  uint64_t lookups, coalesced;
};

bool ss_rank_sets_init(struct ss_rank_sets *sets, uint32_t ranks) SS_MUST_CHECK;
void ss_rank_sets_free(struct ss_rank_sets *sets);
/* Loads an iteration of a tensor, reusing the memory; false when it is short. The trace must outlive the lists. */
bool ss_rank_sets_load(struct ss_rank_sets *sets, const struct ss_trace *trace, size_t tensor,
                       uint64_t iteration) SS_MUST_CHECK;

#endif
