/* What the closed forms need to know of an input: measured on its lists, iteration by iteration. */
#pragma once

#include "cost/formula.h"
#include "schemes/input.h"
#include "schemes/scheme.h"

/* Means over ranks and iterations, each over the iterations in which it is defined. NaN where lists are not known and
 * the counts do not say. */
struct ss_measure {
  double nnz, lookups;
  double longest, longest_lookups; /* of the rank that has most */
  double density;                  /* nnz / rows */
  double gamma;                    /* rows of the union / nnz */
  double s_1, s_P;                 /* skewness ratio over P even ranges, of one rank and of the union (ZEN Def. 5) */
  uint32_t ranks;
  const double *gammas; /* [ranks] of the first rank, the first 2's union, ...: gamma(k) at k - 1 */
  const double
      *blocks; /* [ranks] non-zero blocks of one rank (mean), of the first 2's union, ...; NaN: not counted */
};

/* The iterations of one point. A zeroed struct is empty; it may be begun again and again, and is freed once. */
struct ss_measures {
  uint32_t ranks, block;
  struct ss_measure sum, count, mean;
  uint64_t rows, lookups, iterations; /* of all ranks */
  uint64_t longest, longest_lookups;  /* of one */
  double unions, *curve;              /* iterations that have a union; [4 * ranks] sums and means of the two curves */
  uint64_t *present, words;
};

/* `block` elements make a block (ss_cost_block); 0: blocks are not counted. */
bool ss_measure_begin(struct ss_measures *measures, uint32_t ranks, uint32_t block,
                      struct ss_error *error) SS_MUST_CHECK;
/* Linear in the listed rows, and in the tensor's rows / 64. */
bool ss_measure_add(struct ss_measures *measures, const struct ss_input *input, const struct ss_origin *origin,
                    struct ss_error *error) SS_MUST_CHECK;
/* Lives as long as the measures, until they are begun again. */
const struct ss_measure *ss_measure_mean(struct ss_measures *measures);
void ss_measure_free(struct ss_measures *measures);

/* Fills the symbols that depend on the input and the setting; alpha, beta and S are the caller's, and the measure
 * must outlive the symbols. `shape` is the tensor as the scheme has it. */
void ss_measure_symbols(const struct ss_measure *measure, const struct ss_input *shape,
                        const struct ss_setting *setting, struct ss_symbols *out);
/* SPDX-License-Identifier: Apache-2.0 */
