/* Fitting numbers that nobody measured to what a simulator says of others: Gauss-Newton steps with numeric
 * derivatives, damped (Levenberg, Marquardt), within bounds, with priors, on Huber's weights; GSL solves the
 * equations.
 *
 * A residual is ln(predicted / measured), so that 2 is as far off as 1/2. A deviation of 0.1 is taken as usual at
 * first, then that of the residuals (1.48 times their median size, from 0.005 to 0.2), which weighs them against the
 * priors; what is beyond twice it counts less. An unknown x is fitted as it is, or its logarithm; its prior says
 * where that lies, give or take `spread`, a standard deviation. */
#pragma once

#include "base/base.h"

enum { SS_INFERRED_MOST = 32 }; /* unknowns at once */

struct ss_inference_unknown {
  double usual, spread; /* of what is fitted: x, or (logarithm) ln x */
  double low, high;     /* bounds of that */
  bool logarithm;
};

/* What is to be fitted to what. */
struct ss_inference_problem {
  const struct ss_inference_unknown *unknown;
  size_t unknowns, numbers;
  const double *measured; /* [numbers] above 0 */
  const bool *use;        /* [numbers] those that are fitted to; NULL: all */
  /* Predicts all numbers for each of `sets` choices x[sets][unknowns], into out[sets][numbers]. */
  bool (*predict)(void *context, const double *x, size_t sets, double *out, struct ss_error *error);
  void *context;
};

struct ss_inference {
  double x[SS_INFERRED_MOST];                           /* the caller's: where to begin; then what came of it */
  double low[SS_INFERRED_MOST], high[SS_INFERRED_MOST]; /* 90%: the wider of what leaving out each number in turn
                                                            (jackknife, one step each) and what prior and residuals
                                                            leave open */
  double deviation;                                     /* of residuals; the caller's, where it is known, else 0 */
  size_t fitted;                                        /* numbers that it was fitted to */
  double half, most; /* factors within which half, and 90%, of these are predicted, each left out (one step each) */
  double *predicted; /* [numbers] those that were not fitted to, too */
};

/* Values of all unknowns at their priors, as x. */
void ss_inference_begin(const struct ss_inference_problem *problem, struct ss_inference *out);
/* Fits from out->x; to be freed, also after a failure. SS_BAD_INPUT where a prediction is not above 0. */
bool ss_infer(const struct ss_inference_problem *problem, struct ss_inference *out,
              struct ss_error *error) SS_MUST_CHECK;
void ss_inference_free(struct ss_inference *inference);
/* SPDX-License-Identifier: Apache-2.0 */
