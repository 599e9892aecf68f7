/* What a trace's sparsity is like: the quantities that decide which scheme wins (definitions: docs/traces.md). */
#pragma once

#include "base/watcher.h"
#include "trace/file/trace.h"

/* Which part of the trace: iterations first..end-1, the first `ranks` ranks, tensor[tensors]; 0 for `end`, `ranks` or
 * `tensors` means all. */
struct ss_stats_window {
  uint64_t first, end;
  uint32_t ranks;
  const size_t *tensor;
  size_t tensors;
  const struct ss_watcher *watcher; /* told after each iteration of each tensor; NULL: nobody */
};

/* Where every set that enters a mean is empty, the mean is NaN. */
struct ss_tensor_stats {
  struct ss_tensor tensor; /* its name belongs to the trace */
  double density;          /* unique rows of a rank / rows */
  double overlap;          /* |I1 and I2| / min(|I1|, |I2|); NaN for one rank */
  double *gamma;           /* [ranks] gamma[k-1] is the densification ratio of ranks 0..k-1 */
  size_t parts;
  uint32_t *part;   /* [parts] ascending: the powers of two up to `ranks`, and `ranks`, as far as rows suffice */
  double *skewness; /* [parts] densest of part[i] even row ranges / density */
  double lookups, coalesced, prior; /* rows of a rank in an iteration: as looked up, unique, needed again in the next
                                       one, of those that have one (NaN: a single iteration) */
  double bags, pooling;             /* bags of a rank in an iteration, and lookups a bag; NaN: the tensor has none */
  double lookups_bytes, coalesced_bytes, prior_bytes; /* the same as rows * row_width * bytes of an element */
};

struct ss_stats {
  uint64_t first, end;
  uint32_t ranks;
  size_t tensors;
  struct ss_tensor_stats *tensor;
  struct ss_arena arena; /* of the arrays */
};

/* Of the window, means over its iterations. A window outside the trace is an error. The result is the
 * caller's, to be freed with ss_stats_free before the trace is closed. */
bool ss_trace_stats(const struct ss_trace *trace, struct ss_stats_window window, struct ss_stats **out,
                    struct ss_error *error) SS_MUST_CHECK;
/* NULL is allowed. */
void ss_stats_free(struct ss_stats *stats);
/* SPDX-License-Identifier: Apache-2.0 */
