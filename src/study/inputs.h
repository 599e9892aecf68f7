/* What iterations start from, kept for the next scheme that starts from the same: groups that follow each other on
 * one thread mostly differ in their scheme alone. */
#ifndef SS_STUDY_INPUTS_H
#define SS_STUDY_INPUTS_H

#include "study/identity.h"

/* A zeroed struct with `budget` set is empty. */
struct ss_inputs {
  size_t budget; /* B that may be kept */
  struct ss_identity key;
  struct ss_arena arena;
  struct ss_input *input; /* [count] of the first iterations of the job */
  uint64_t count, capacity;
  uint64_t bytes;
  struct ss_coalesce_scratch scratch;
};

/* The input of iteration options->iteration of the job: what was kept, or a new one, which is kept while the budget
 * lasts and else lives in `passing`. It is not to be written to. */
bool ss_inputs_get(struct ss_inputs *inputs, const struct ss_job *job, const struct ss_input_options *options,
                   struct ss_arena *passing, struct ss_input *out, struct ss_error *error) SS_MUST_CHECK;
void ss_inputs_free(struct ss_inputs *inputs);

#endif
