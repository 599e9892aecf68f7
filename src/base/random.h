/* Counter-based hashing and random numbers: any value by its index, the same on every machine and thread count. */
#pragma once

#include "base/both.h"

#include <stdint.h>

/* Two rounds of the splitmix64 finaliser over (a, b): a bijection of b for each a, well mixed. */
SS_DEVICE static inline uint64_t ss_mix(uint64_t a, uint64_t b) {
  uint64_t z = b + (a + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  z ^= z >> 31;
  z = (z ^ (z >> 33)) * UINT64_C(0xff51afd7ed558ccd);
  return z ^ (z >> 32);
}

/* Uniform in [0, n), n > 0, by multiply-high (bias below n / 2^64). */
SS_DEVICE static inline uint64_t ss_below(uint64_t random, uint64_t n) {
  return (uint64_t)(((unsigned __int128)random * n) >> 64);
}

/* Uniform in [0, 1), 53 bits. */
SS_DEVICE static inline double ss_unit(uint64_t random) {
  return (double)(random >> 11) * 0x1p-53;
}
/* SPDX-License-Identifier: Apache-2.0 */
