/* One trace out of several, such as one file per process of a captured run. */
#ifndef SS_TRACE_MERGE_H
#define SS_TRACE_MERGE_H

#include "trace/trace.h"

/* The ranks of all parts, in the order given. Tensors, iterations and metadata must agree, else the error says what
 * differs; `source`, when not NULL, stands for all theirs, which then may differ. The parts stay the caller's. */
bool ss_trace_merge(const struct ss_trace *const *parts, size_t count, const char *source, struct ss_trace **out,
                    struct ss_error *error) SS_MUST_CHECK;

#endif
