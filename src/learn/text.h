/* What `train --learn --trace` reads: a text that `trace import` has turned into row ids before. */
#ifndef SS_LEARN_TEXT_H
#define SS_LEARN_TEXT_H

#include "trace/file/trace.h"

struct ss_text_options {
  uint32_t ranks; /* the first ones; 0: all */
  uint64_t batch; /* sequences of a rank in an iteration: must divide what it reads */
  uint64_t vocab; /* rows of the table; rarer words become the unknown one (1) */
};

/* A trace in memory with the words of the file, whose rows are numbered by frequency from padding (0) and unknown (1)
 * on. To be closed. */
bool ss_learn_trace(const char *path, const struct ss_text_options *options, struct ss_trace **out,
                    struct ss_error *error) SS_MUST_CHECK;

#endif
