/* Robust regression of times: seconds = sum of costs, each of which is not below 0 (Huber's weights, then Tukey's
 * bisquare, by repeated least squares with costs of at least 0, on GSL's linear algebra).
 *
 * Residuals are relative to what is predicted, since that is what noise is. Huber's fit has one solution; what lies
 * within 6 of its deviations (median absolute residual / 0.6745) is fitted again with the bisquare. What ends without
 * weight is an outlier. A cost that would come out below 0 is held at 0. */
#pragma once

#include "base/base.h"

/* What is supposed of a cost before anything is measured, and gives way to times that tell it: cost[of] is `value`,
 * or `value` * cost[like], give or take a factor of e^spread (a standard deviation). */
struct ss_cost_prior {
  size_t of, like; /* SIZE_MAX: of no other */
  double value, spread;
  double unit; /* about what cost[of] is: deviations are relative to it */
};

/* seconds[i] = sum over k of per[i * costs + k] * cost[k]. Of each order, sum over k of order[k] * cost[k] is not
 * below 0, but for what a penalty leaves of it (some 1e-5 of the largest of its terms). */
struct ss_times {
  size_t count, costs, orders;
  const double *per; /* [count * costs] not below 0 */
  const double *seconds;
  const double *order; /* [orders * costs] */
  const struct ss_cost_prior *prior;
  size_t priors;
};

struct ss_robust_cost {
  double value, error; /* the error is a standard one */
  bool absent;         /* no time depends on it: 0, and nothing is known of it */
  bool held;           /* it came out below 0 */
};

/* `cost` [costs], `weight` [count]: 0 of outliers, else up to 1; NULL: only the first, Huber's half of it, without
 * errors, for comparing suppositions. Fails (SS_BAD_INPUT) where nothing fits. */
bool ss_robust_fit(const struct ss_times *times, struct ss_robust_cost *cost, double *weight,
                   struct ss_error *error) SS_MUST_CHECK;
double ss_times_predict(const struct ss_times *times, size_t i, const struct ss_robust_cost *cost);

/* Median and largest of |seconds / predicted - 1| of those with weight; how many, all together, and without weight
 * (outliers). */
struct ss_residuals {
  size_t samples, outliers;
  double typical, worst;
};
bool ss_residuals_of(const double *residual, const double *weight, size_t count, struct ss_residuals *out);

/* --- one line ---------------------------------------------------------------------------------------------- */

struct ss_line_sample {
  double elements, bytes, seconds;
};
struct ss_line {
  double low, high; /* B: smallest and largest sample */
  double t0, per_element, per_byte;
  double per_byte_error; /* standard */
  struct ss_residuals residuals;
};
/* seconds = t0 + bytes * per_byte; and + elements * per_element where that makes the median residual smaller by a
 * fifth at least. Fewer than four samples of three sizes, and times that do not grow with size beyond noise, are
 * SS_BAD_INPUT. */
bool ss_line_fit(const struct ss_line_sample *samples, size_t count, struct ss_line *out,
                 struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
