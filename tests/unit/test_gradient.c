/* Synthetic gradients and values: clipped, rounded, the same on any threads. Their formula, and what ranks select of
 * them with what they keep for the next iteration, is written again in tests/cli/second_model.py. */
#include "support.h"

#include "base/memory.h"
#include "trace/file/trace.h"
#include "trace/make/gradient.h"

#include <omp.h>

static int64_t **make(const struct ss_gradient *g, uint64_t t, uint32_t ranks) {
  int64_t **values = calloc(ranks, sizeof *values);
  for (uint32_t r = 0; r < ranks; r++) {
    values[r] = malloc((g->elements + 1) * sizeof **values);
    values[r][g->elements] = 42;
  }
  ss_gradient_make(g, t, ranks, values);
  for (uint32_t r = 0; r < ranks; r++) assert_int_equal(values[r][g->elements], 42);
  return values;
}

static void drop(int64_t **values, uint32_t ranks) {
  for (uint32_t r = 0; r < ranks; r++) free(values[r]);
  free(values);
}

TEST(threads_change_nothing) {
  struct ss_gradient g;
  const int before = omp_get_max_threads();
  ss_gradient_defaults(&g);
  g.elements = 30011;
  omp_set_num_threads(1);
  int64_t **one = make(&g, 2, 3);
  for (int threads = 2; threads <= 7; threads += 5) {
    omp_set_num_threads(threads);
    int64_t **many = make(&g, 2, 3);
    for (uint32_t r = 0; r < 3; r++) assert_memory_equal(one[r], many[r], g.elements * sizeof **one);
    drop(many, 3);
  }
  drop(one, 3);
  omp_set_num_threads(before);
}

TEST(values_are_clipped) {
  struct ss_gradient g;
  uint32_t clipped = 0;
  ss_gradient_defaults(&g);
  g.elements = 5000;
  g.scale = 800;
  int64_t **values = make(&g, 0, 2);
  for (uint32_t r = 0; r < 2; r++)
    for (uint64_t i = 0; i < g.elements; i++) {
      assert_true(values[r][i] <= 1 << 30 && values[r][i] >= -(1 << 30));
      clipped += values[r][i] == 1 << 30 || values[r][i] == -(1 << 30);
    }
  assert_true(clipped > 100 && clipped < 9000);
  drop(values, 2);
}

TEST(units_are_rounded_half_to_even) {
  const double unit = 1.0 / 1048576;
  assert_int_equal(ss_value_units(1, 0), 1 << 20);
  assert_int_equal(ss_value_units(-3.25, 2), -13 * (1 << 20));
  assert_int_equal(ss_value_units(0.5 * unit, 0), 0);
  assert_int_equal(ss_value_units(1.5 * unit, 0), 2);
  assert_int_equal(ss_value_units(-2.5 * unit, 0), -2);
  assert_int_equal(ss_value_units(5 * unit, -1), 2);
  assert_int_equal(ss_value_units(1024, 0), 1 << 30);
  assert_int_equal(ss_value_units(1e300, 0), 1 << 30);
  assert_int_equal(ss_value_units(-1e300, 5), -(1 << 30));
}

/* Bit patterns from the formats' definitions (IEEE 754 binary16; bfloat16 is the upper half of a single). */
TEST(half_precision_values) {
  static const uint16_t halves[] = {0x0000, 0x3C00, 0xC000, 0x7BFF, 0x0001, 0x0400, 0x3555, 0xFC00};
  static const double values[] = {0, 1, -2, 65504, 0x1p-24, 0x1p-14, 0.333251953125, -INFINITY};
  static const uint16_t brains[] = {0x3F80, 0xC040, 0x0080};
  for (size_t i = 0; i < COUNT(halves); i++) assert_true(ss_dtype_value(SS_F16, halves, i) == values[i]);
  assert_true(isnan(ss_dtype_value(SS_F16, (const uint16_t[]){0x7E00}, 0)));
  assert_true(ss_dtype_value(SS_BF16, brains, 0) == 1);
  assert_true(ss_dtype_value(SS_BF16, brains, 1) == -3);
  assert_true(ss_dtype_value(SS_BF16, brains, 2) == 0x1p-126);
}
/* SPDX-License-Identifier: Apache-2.0 */
