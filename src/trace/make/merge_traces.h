/* One trace out of several, such as one file per process of a captured run. */
#pragma once

#include "trace/file/trace.h"

struct ss_merge_options {
  const char *source;        /* of the merged trace; NULL: theirs, which must agree then */
  const char *const *tensor; /* [tensors] names of those to keep; none: all */
  size_t tensors;
};

/* The ranks of all parts, in the order given. Tensors, iterations and metadata must agree, else the error says what
 * differs; of a captured training (ss_trace_training) all ranks must be there. The parts stay the caller's. */
bool ss_trace_merge(const struct ss_trace *const *parts, size_t count, const struct ss_merge_options *options,
                    struct ss_trace **out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
