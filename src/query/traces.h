/* The trace of a question. */
#ifndef SS_QUERY_TRACES_H
#define SS_QUERY_TRACES_H

#include "study/sources.h"

/* The object's "trace", as a scenario has it: a file, or {"synth": ...}. It is the sources', which are to be closed
 * also after a failure. */
bool ss_question_trace(struct ss_node object, struct ss_sources *sources, const struct ss_trace **out,
                       struct ss_error *error) SS_MUST_CHECK;

#endif
