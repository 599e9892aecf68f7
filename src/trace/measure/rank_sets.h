/* The row sets of one iteration: each rank's coalesced list, in place where the trace holds it sorted already. */
#ifndef SS_TRACE_MEASURE_RANK_SETS_H
#define SS_TRACE_MEASURE_RANK_SETS_H

#include "trace/file/trace.h"

struct sets {
  uint32_t ranks;
  const uint32_t **list; /* [ranks] strictly increasing */
  uint64_t *size;        /* [ranks] */
  uint64_t *place;       /* [ranks] where a list that had to be coalesced lies in `copies` */
  uint32_t *copies;
  uint64_t capacity; /* of `copies` */
  uint64_t lookups, coalesced;
};

bool sets_init(struct sets *sets, uint32_t ranks) SS_MUST_CHECK;
void sets_free(struct sets *sets);
/* Loads an iteration of a tensor, reusing the memory; false when it is short. The trace must outlive the lists. */
bool sets_load(struct sets *sets, const struct ss_trace *trace, size_t tensor, uint64_t iteration) SS_MUST_CHECK;

#endif
