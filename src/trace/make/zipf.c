#include "trace/make/zipf.h"

#include "base/random.h"

#include <math.h>

/* log1p(x)/x and expm1(x)/x, also where they are 0/0. */
static double log1p_over(double x) {
  return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x * (0.5 - x / 3);
}

static double expm1_over(double x) {
  return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2 * (1 + x / 3);
}

/* h(x) = x^-s, and H an integral of it: (x^(1-s) - 1) / (1-s), or log x at s = 1. */
static double density(double s, double x) {
  return exp(-s * log(x));
}

static double integral(double s, double x) {
  const double l = log(x);
  return expm1_over((1 - s) * l) * l;
}

static double inverse(double s, double y) {
  const double t = y * (1 - s);
  return exp(log1p_over(t > -1 ? t : -1) * y); /* rounding may step below what H takes on */
}

struct ss_zipf ss_zipf_new(double s, uint64_t n) {
  return (struct ss_zipf){.s = s,
                          .n = n,
                          .first = integral(s, 1.5) - 1,
                          .last = integral(s, (double)n + 0.5),
                          .shortcut = 2 - inverse(s, integral(s, 2.5) - density(s, 2))};
}

uint64_t ss_zipf_draw(const struct ss_zipf *zipf, uint64_t key) {
  for (uint64_t attempt = 0;; attempt++) {
    const double u = zipf->last + ss_unit(ss_mix(key, attempt)) * (zipf->first - zipf->last);
    const double x = inverse(zipf->s, u);
    const double nearest = floor(x + 0.5), from_1 = nearest > 1 ? nearest : 1;
    const double k = from_1 < (double)zipf->n ? from_1 : (double)zipf->n;
    if (k - x <= zipf->shortcut || u >= integral(zipf->s, k + 0.5) - density(zipf->s, k)) return (uint64_t)k - 1;
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
