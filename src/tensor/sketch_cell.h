/* What a count-sketch does with one number: the same on CPU and GPU. */
#pragma once

#include "base/both.h"

#include <stdint.h>

/* The value, or, where `minus` is all ones, its negative: by arithmetic, since no branch predictor can guess a hash.
 */
SS_DEVICE static inline uint64_t ss_sketch_signed(uint64_t value, uint64_t minus) {
  return (value ^ minus) - minus;
}

/* The median of values[count], count > 0, of an even number the mean of the middle two. Sorts them. */
SS_DEVICE static inline double ss_sketch_median(int64_t *values, uint64_t count) {
  for (uint64_t i = 1; i < count; i++) {
    const int64_t value = values[i];
    uint64_t to = i;
    for (; to > 0 && values[to - 1] > value; to--) values[to] = values[to - 1];
    values[to] = value;
  }
  const uint64_t middle = count / 2;
  const double upper = (double)values[middle];
  return count % 2 ? upper : (double)values[middle - 1] / 2 + upper / 2;
}
/* SPDX-License-Identifier: Apache-2.0 */
