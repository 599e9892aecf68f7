/* Zipf's law by rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from
 * monotone discrete distributions", ACM TOMACS 6(3), 1996. Constant time a draw whatever the number of rows. */
#pragma once

#include <stdint.h>

struct ss_zipf {
  double s; /* P(k) is proportional to k^-s, k = 1..n */
  uint64_t n;
  double first, last; /* H(1.5) - h(1) and H(n + 0.5): the range that is inverted */
  double shortcut;    /* candidates whose rounding stays below this are taken without evaluating H */
};

/* s at least 0 (0 is uniform), n from 1 to 2^32. */
struct ss_zipf ss_zipf_new(double s, uint64_t n);
/* A variate in 0..n-1 (0 the most popular), from the stream of random numbers that `key` names. */
uint64_t ss_zipf_draw(const struct ss_zipf *zipf, uint64_t key);
/* SPDX-License-Identifier: Apache-2.0 */
