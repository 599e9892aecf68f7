/* Synthetic dense gradients: any element by its index, the same on every machine and thread count.
 *
 * g(t, r, i) = scale * a_i * (rho * s(t, i) + sqrt(1 - rho^2) * n(t, r, i)): a_i = exp(sigma * z_layer), one standard
 * normal z a layer, the layers equal parts of the tensor; s is common to all ranks, n each rank's own, both normal or
 * Laplace of unit variance. (docs/model.md, "Traces") */
#pragma once

#include "base/base.h"

/* Values are whole numbers of 2^-20, magnitudes up to 2^10: sums are exact in any order. */
enum { SS_VALUE_BITS = 20, SS_VALUE_MAGNITUDE = 10 };

struct ss_gradient {
  uint64_t elements, seed, iterations;
  double rho, scale, sigma;
  uint32_t layers;
  bool laplace;
};

void ss_gradient_defaults(struct ss_gradient *gradient);
/* The values of all ranks in iteration t, in units: values[r][i]. Uses all threads. */
void ss_gradient_make(const struct ss_gradient *gradient, uint64_t iteration, uint32_t ranks, int64_t *const *values);

/* A value times 2^exponent in units, half to even, at most 2^10 in magnitude. */
int64_t ss_value_units(double value, int exponent);
/* SPDX-License-Identifier: Apache-2.0 */
