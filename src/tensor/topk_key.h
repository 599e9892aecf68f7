/* How top-k of floats orders them, and what it guesses from a sample: the same on CPU and GPU. */
#pragma once

#include "tensor/chunk.h"

#include <math.h>
#include <string.h>

enum { SS_TOPK_SAMPLE = 1 << 16, SS_TOPK_INFINITE = 0x7f800000 };

/* A float without its sign, as an integer, orders as its magnitude does; NaNs lie above SS_TOPK_INFINITE. */
SS_DEVICE static inline int32_t ss_topk_key(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (int32_t)(bits & INT32_MAX);
}

/* A candidate is its key above the complement of its index, so that candidates are distinct and order by the rule. */
SS_DEVICE static inline uint64_t ss_topk_candidate(int32_t key, uint64_t index) {
  return (uint64_t)key << 32 | (uint32_t)~index;
}

SS_DEVICE static inline uint32_t ss_topk_index(uint64_t candidate) {
  return ~(uint32_t)candidate;
}

/* Which of n the i-th of a sample of `size` is: anywhere in its stratum, as a fixed stride would see but some columns
 * of a tensor. */
SS_DEVICE static inline uint64_t ss_topk_sampled(uint64_t n, uint64_t size, uint64_t i) {
  const uint64_t low = ss_share(n, size, i), high = ss_share(n, size, i + 1);
  return low + ss_below(ss_mix(0, i), high - low);
}

/* The order in the sample, from the largest on, of a key that at least k of the n should reach. */
static inline uint64_t ss_topk_order(uint64_t n, uint64_t size, uint64_t k) {
  const double expected = (double)k / (double)n * (double)size;
  return (uint64_t)(expected + 4 * sqrt(expected) + 8);
}

/* The least key of a candidate: that of the sample, but never a zero's, and such that every NaN is one. */
SS_DEVICE static inline int32_t ss_topk_bound(uint64_t key) {
  if (key == 0) return 1;
  return key > SS_TOPK_INFINITE ? SS_TOPK_INFINITE + 1 : (int32_t)key;
}
/* SPDX-License-Identifier: Apache-2.0 */
