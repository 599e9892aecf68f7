/* Values that wait: what ranks have to give, select and keep, in schemes that select the largest elements. */
#ifndef SS_SCHEMES_RESIDUAL_H
#define SS_SCHEMES_RESIDUAL_H

#include "schemes/run.h"

/* How many elements a rank selects ("k", or "density" of all; a shard has its even share); 0: the scheme selects
 * none. */
uint64_t ss_run_k(const struct ss_run *run);

/* What the rank has to give: its gradient and what it kept. */
bool ss_run_copy(struct ss_run *run, uint32_t rank, struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* The rank's copy and its `k` largest entries (ties to the lower index). */
bool ss_run_select(struct ss_run *run, uint32_t rank, uint64_t k, struct ss_chunk *copy, struct ss_chunk *selected,
                   struct ss_error *error) SS_MUST_CHECK;
/* What every rank selects, all of ss_run_k; each keeps the rest. selected[ranks] is the arena's. */
bool ss_run_select_all(struct ss_run *run, struct ss_chunk **selected, struct ss_error *error) SS_MUST_CHECK;

/* What the rank keeps until the next iteration; the arrays are copied. */
bool ss_run_keep(struct ss_run *run, uint32_t rank, const struct ss_chunk *residual,
                 struct ss_error *error) SS_MUST_CHECK;
/* The rank keeps what it had (`copy`) and did not send: copy without the rows of `sent`. */
bool ss_run_keep_without(struct ss_run *run, uint32_t rank, const struct ss_chunk *copy, const struct ss_chunk *sent,
                         struct ss_error *error) SS_MUST_CHECK;
/* The rank keeps all of its copy but what it selected and what is in the result too. */
bool ss_run_keep_unapplied(struct ss_run *run, uint32_t rank, const struct ss_chunk *copy,
                           const struct ss_chunk *selected, const struct ss_chunk *result,
                           struct ss_error *error) SS_MUST_CHECK;

#endif
