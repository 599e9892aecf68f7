/* Who adds floats in place of this CPU, in sums of several operands: exec's GPU. */
#pragma once

#include "tensor/chunk.h"

struct ss_summer {
  /* Whether it takes these operands, whose sum is of that kind: BARE, of floats, or VALUES. */
  bool (*takes)(struct ss_summer *summer, const struct ss_operands *operands, enum ss_chunk_kind kind);
  /* As ss_chunk_sum. */
  bool (*sparse)(struct ss_summer *summer, const struct ss_operands *operands, enum ss_chunk_kind kind,
                 struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error);
  /* a[n] + b[n] to sum[n]. */
  bool (*dense)(struct ss_summer *summer, const float *a, const float *b, uint64_t n, float *sum,
                struct ss_error *error);
};
/* Of this thread; NULL, as at first: nobody. */
extern _Thread_local struct ss_summer *ss_summer;
/* SPDX-License-Identifier: Apache-2.0 */
