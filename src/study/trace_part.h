/* Which part of a trace a document means: its "iterations" and "tensors". */
#ifndef SS_STUDY_TRACE_PART_H
#define SS_STUDY_TRACE_PART_H

#include "base/json.h"
#include "trace/file/trace.h"

/* Iterations [*first, *end) of `most`: a count (the first so many) or the text "A:B", either of which may be left
 * out. An absent node: from 0 to where *end is already. */
bool ss_iterations_read(struct ss_node node, uint64_t most, uint64_t *first, uint64_t *end,
                        struct ss_error *error) SS_MUST_CHECK;

/* Into tensor[*count], which has room for all of the trace: those that a name or a list of names means; of an absent
 * node all. */
bool ss_tensors_read(struct ss_node node, const struct ss_trace *trace, size_t *tensor, size_t *count,
                     struct ss_error *error) SS_MUST_CHECK;

#endif
