#include "trace/make/gradient.h"

#include "base/random.h"
#include "tensor/chunk.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/* What a stream of random numbers is for. */
enum stream { LAYERS, COMMON, OWN };

void ss_gradient_defaults(struct ss_gradient *g) {
  *g = (struct ss_gradient){.seed = 1, .iterations = 4, .rho = 0.5, .scale = 1, .sigma = 1, .layers = 8};
}

int64_t ss_value_units(double value, int exponent) {
  const double most = INT64_C(1) << SS_VALUE_MAGNITUDE, units = INT64_C(1) << SS_VALUE_BITS;
  const double scaled = exponent == 0 ? value : ldexp(value, exponent);
  return llrint(fmin(fmax(scaled, -most), most) * units); /* the default rounding: half to even */
}

/* In (0, 1): never an end of the distribution. */
static double uniform(uint64_t key, uint64_t i) {
  return ((double)(ss_mix(key, i) >> 11) + 0.5) * 0x1p-53;
}

static double draw(const struct ss_gradient *g, uint64_t key, uint64_t i) {
  const double u = uniform(key, i);
  return g->laplace ? gsl_cdf_laplace_Pinv(u, M_SQRT1_2) : gsl_cdf_ugaussian_Pinv(u);
}

void ss_gradient_make(const struct ss_gradient *gradient, uint64_t iteration, uint32_t ranks,
                      int64_t *const *values) {
  const struct ss_gradient *g = gradient;
  const uint64_t t = iteration;
  const uint64_t layer_key = ss_mix(g->seed, LAYERS), common_key = ss_mix(ss_mix(g->seed, COMMON), t);
  const uint64_t own_key = ss_mix(ss_mix(g->seed, OWN), t);
  const double independent = sqrt(1 - g->rho * g->rho);
  for (uint32_t l = 0; l < g->layers; l++) {
    const uint64_t first = ss_share(g->elements, g->layers, l), end = ss_share(g->elements, g->layers, l + 1);
    const double a = g->scale * exp(g->sigma * gsl_cdf_ugaussian_Pinv(uniform(layer_key, l)));
#pragma omp parallel for schedule(static)
    for (uint64_t i = first; i < end; i++) {
      const double common = g->rho != 0 ? g->rho * draw(g, common_key, i) : 0;
      for (uint32_t r = 0; r < ranks; r++) {
        const double own = independent != 0 ? independent * draw(g, ss_mix(own_key, r), i) : 0;
        values[r][i] = ss_value_units(a * (common + own), 0);
      }
    }
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
