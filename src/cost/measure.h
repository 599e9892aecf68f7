/* What the closed forms need to know of an input: measured on its lists. */
#ifndef SS_COST_MEASURE_H
#define SS_COST_MEASURE_H

#include "cost/formula.h"
#include "trace/input.h"

/* Means over one iteration's ranks; averaged over iterations by ss_measure_add. NaN where lists are not known and the
 * counts do not say. */
struct ss_measure {
  double nnz, lookups;
  double density;  /* nnz / rows */
  double gamma;    /* rows of the union / nnz */
  double s_1, s_P; /* skewness ratio over P even ranges, of one rank and of the union (ZEN Def. 5) */
};

bool ss_measure_input(const struct ss_input *input, const struct ss_origin *origin, struct ss_measure *out,
                      struct ss_error *error) SS_MUST_CHECK;

/* Fills the symbols that depend on the input; alpha, beta and S are the caller's. gamma(k) is known at 1 and P. */
void ss_measure_symbols(const struct ss_measure *measure, const struct ss_input *shape, uint32_t ranks,
                        uint32_t index_bytes, struct ss_symbols *out);

#endif
