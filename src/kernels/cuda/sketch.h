/* Count-sketches: sums of whole numbers, which come out the same in any order. */
#pragma once

#include "kernels/cuda/hashing.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "tensor/sketch.h"
#include "tensor/sketch_cell.h"
#ifdef __cplusplus
}
#endif

struct sketch {
  const uint32_t *rows; /* [count] */
  uint64_t count, buckets, seed;
  uint32_t hashes;
  const uint64_t *units; /* [count] to be added */
  uint64_t *cells;       /* [hashes][buckets] */
  double *decoded;       /* [count] */
};

/* Which cell of sketch row j an element has, and the mask of its sign. */
GRID_DEVICE static inline uint64_t *sketch_cell(const struct sketch *a, uint64_t lane, uint32_t j, uint64_t *minus) {
  const uint64_t seed = a->seed + 2 * (uint64_t)j;
  *minus = (uint64_t)0 - (hash_end(lane, seed + 1) & 1);
  return a->cells + j * a->buckets + ss_below(hash_end(lane, seed), a->buckets);
}

GRID_DEVICE static inline void sketch_put(const struct sketch *a, uint32_t i) {
  const uint64_t lane = hash_lane(a->rows[i]), value = a->units[i];
  for (uint32_t j = 0; j < a->hashes; j++) {
    uint64_t minus, *cell = sketch_cell(a, lane, j, &minus);
    grid_add_long(cell, ss_sketch_signed(value, minus));
  }
}
GRID_KERNEL(sketch_put, struct sketch)

GRID_DEVICE static inline void sketch_look(const struct sketch *a, uint32_t i) {
  const uint64_t lane = hash_lane(a->rows[i]);
  int64_t said[SS_SKETCH_HASHES];
  uint32_t j = 0;
  do { /* there is one at least */
    uint64_t minus;
    const uint64_t *cell = sketch_cell(a, lane, j, &minus);
    said[j] = (int64_t)ss_sketch_signed(*cell, minus);
  } while (++j < a->hashes);
  a->decoded[i] = ss_sketch_median(said, j);
}
GRID_KERNEL(sketch_look, struct sketch)

static bool sketch_add(struct grid *g, const struct sketch *a, struct ss_error *error) {
  return grid_fill(g, a->cells, 0, a->hashes * a->buckets * sizeof *a->cells, error) &&
         GRID_RUN(g, sketch_put, a, a->count, NULL, error);
}

static bool sketch_decode(struct grid *g, const struct sketch *a, struct ss_error *error) {
  return GRID_RUN(g, sketch_look, a, a->count, NULL, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
