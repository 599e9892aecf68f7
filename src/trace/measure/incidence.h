/* How many ranks have a row: the counts from which unseen rows are estimated.
 *
 * A window is some neighbouring ranks. Of each window, once[j] counts the rows that exactly j of its ranks look up in
 * an iteration (mean over iterations), ever[j] those that exactly j of them look up in any of the iterations. */
#pragma once

#include "trace/file/trace.h"

struct ss_incidence {
  uint32_t first, ranks; /* the window: ranks first..first+ranks-1 */
  double *once, *ever;   /* [ranks + 1]; [0] is 0 */
  double rows;           /* of the union of an iteration, mean over iterations */
  double nnz;            /* distinct rows of a rank in an iteration, mean over both */
  double gamma;          /* mean of union / mean nnz over iterations that look anything up; NaN: none does */
};

/* Fills the windows of a tensor, whose `first` and `ranks` are set and within the trace, from iterations
 * [first, end). Linear in the lookups. The arrays are the caller's, also after a failure (memory was short). */
bool ss_incidence_count(const struct ss_trace *trace, size_t tensor, uint64_t first, uint64_t end,
                        struct ss_incidence *windows, size_t count) SS_MUST_CHECK;
void ss_incidence_free(struct ss_incidence *windows, size_t count);
/* SPDX-License-Identifier: Apache-2.0 */
