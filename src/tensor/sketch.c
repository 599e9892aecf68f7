#include "tensor/sketch.h"

#include "tensor/kernel.h"

#include "tensor/chunk.h"
#include "tensor/hash_row.h"
#include "tensor/sketch_cell.h"

#include <omp.h>

/* Elements whose buckets are fetched together, as many as a core can wait for at once; at most so many are hashed
 * together; up to so many, threads do not pay. */
enum { BATCH = 64, HASHED = 512, SPAN = 1 << 14 };

/* The elements, row * width + column, at flat positions [begin, begin + count) among the rows' elements. */
static void list_elements(const struct ss_sketch_rows *rows, uint64_t begin, uint64_t count, uint64_t *element) {
  const uint64_t width = rows->width;
  if (width == 1) {
    for (uint64_t i = 0; i < count; i++) element[i] = rows->rows[begin + i];
    return;
  }
  const uint32_t *row = rows->rows + begin / width;
  uint64_t column = begin % width;
  for (uint64_t i = 0; i < count; row++, column = 0) {
    const uint64_t first = *row * width + column, left = count - i,
                   run = width - column < left ? width - column : left;
    for (uint64_t k = 0; k < run; k++) element[i + k] = first + k;
    i += run;
  }
}

/* Where at most HASHED elements go in sketch row j: twice the bucket, plus one for the sign -. */
static void find_cells(const struct ss_sketch *shape, const struct ss_sketch_rows *rows, uint64_t begin,
                       uint64_t count, uint64_t j, uint64_t *cells) {
  uint64_t element[HASHED];
  list_elements(rows, begin, count, element);
  ss_hash_cells(element, count, shape->seed + 2 * j, shape->buckets, cells);
}

static inline uint64_t signed_by(uint64_t cell, uint64_t value) {
  return ss_sketch_signed(value, -(cell & 1));
}

/* Where a batch goes in all rows of the sketch. */
struct batch {
  uint64_t cells[SS_SKETCH_HASHES][BATCH];
};

static uint64_t up_to(uint64_t most, uint64_t begin, uint64_t end) {
  return end - begin < most ? end - begin : most;
}

/* Finds the cells of a batch, and fetches the buckets: one by one, each addition would wait for memory. */
static void fetch_batch(const struct ss_sketch *shape, const struct ss_sketch_rows *rows, uint64_t begin,
                        uint64_t count, const uint64_t *buckets, struct batch *batch) {
  for (uint64_t j = 0; j < shape->hashes; j++) {
    const uint64_t *row = buckets + j * shape->buckets, *cells = batch->cells[j];
    find_cells(shape, rows, begin, count, j, batch->cells[j]);
    for (uint64_t i = 0; i < count; i++) __builtin_prefetch(row + (cells[i] >> 1));
  }
}

/* The additions of one call. */
struct addition {
  const struct ss_sketch *shape;
  const struct ss_sketch_rows *rows;
  const int64_t *values;
  uint64_t elements, lists; /* in so many lists do several threads hash them */
  unsigned shift;           /* a bucket's lane: its position in its row of the sketch, shifted right */
  uint32_t lanes;           /* of each row of the sketch; 0: too many */
};

/* --- by one thread */

static void add_alone(const struct addition *a, uint64_t *buckets) {
  struct batch batch;
  for (uint64_t begin = 0; begin < a->elements; begin += BATCH) {
    const uint64_t count = up_to(BATCH, begin, a->elements);
    fetch_batch(a->shape, a->rows, begin, count, buckets, &batch);
    for (uint64_t j = 0; j < a->shape->hashes; j++) {
      const uint64_t *cells = batch.cells[j];
      uint64_t *row = buckets + j * a->shape->buckets;
      for (uint64_t i = 0; i < count; i++) row[cells[i] >> 1] += signed_by(cells[i], (uint64_t)a->values[begin + i]);
    }
  }
}

/* --- by several: each row of the sketch is cut into lanes of buckets; first all hash, and post what is to be added
 * to the lanes, then each lane is added to by one thread. Threads never meet at a bucket, and a lane's buckets stay
 * in a core's own cache. A round posts so many elements before it adds any that a bucket's cache line, once fetched,
 * serves several of them, and so few that its memory is one that malloc keeps for the next call. */
enum { LEAF = 1 << 14, ROUND = 192, LEAST_BITS = 8, LANE_BITS = 16, FEW_LANES = 16, LANES = 2048 };

/* What so many elements post in one row of the sketch, lane by lane. */
struct leaf {
  uint64_t value[LEAF];
  uint16_t bucket[LEAF]; /* in its lane */
  uint32_t starts[LANES + 1];
};

/* Where the leaf's elements go; counts those of lane l in next[l + 1]. Meanwhile the leaf, which will be written in
 * no order that the processor could guess, is fetched. */
static void find_lanes(const struct addition *a, uint64_t begin, uint64_t count, uint64_t j, uint32_t *cells,
                       uint32_t *next, const struct leaf *leaf) {
  uint64_t found[HASHED]; /* whose upper halves are 0: there are lanes for no more buckets */
  for (uint64_t at = 0; at < count; at += HASHED) {
    const uint64_t end = at + up_to(HASHED, at, count);
    for (uint64_t i = at; i < end; i += 8) __builtin_prefetch(&leaf->value[i], 1);
    for (uint64_t i = at; i < end; i += 32) __builtin_prefetch(&leaf->bucket[i], 1);
    find_cells(a->shape, a->rows, begin + at, end - at, j, found);
    for (uint64_t i = at; i < end; i++) cells[i] = (uint32_t)found[i - at];
    for (uint64_t i = at; i < end; i++) next[(cells[i] >> 1 >> a->shift) + 1]++;
  }
}

/* List l of the elements' even shares, at most LEAF each. */
static void post(const struct addition *a, uint64_t l, uint64_t j, struct leaf *leaf) {
  const uint64_t begin = ss_share(a->elements, a->lists, l), count = ss_share(a->elements, a->lists, l + 1) - begin;
  const uint64_t mask = (UINT64_C(1) << a->shift) - 1;
  uint32_t cells[LEAF], next[LANES + 1];
  memset(next, 0, (a->lanes + 1) * sizeof *next);
  find_lanes(a, begin, count, j, cells, next, leaf);
  for (uint32_t lane = 0; lane < a->lanes; lane++) next[lane + 1] += next[lane];
  memcpy(leaf->starts, next, (a->lanes + 1) * sizeof *next);
  for (uint64_t i = 0; i < count; i++) {
    const uint32_t bucket = cells[i] >> 1;
    const uint32_t to = next[bucket >> a->shift]++;
    leaf->bucket[to] = (uint16_t)(bucket & mask);
    leaf->value[to] = signed_by(cells[i], (uint64_t)a->values[begin + i]);
  }
}

static void add_lane(const struct addition *a, const struct leaf *leaves, uint64_t count, uint64_t lane,
                     uint64_t *buckets) {
  const uint64_t j = lane / a->lanes, of_row = lane % a->lanes;
  uint64_t *first = buckets + j * a->shape->buckets + (of_row << a->shift);
  for (uint64_t l = j; l < count; l += a->shape->hashes)
    for (uint32_t i = leaves[l].starts[of_row]; i < leaves[l].starts[of_row + 1]; i++)
      first[leaves[l].bucket[i]] += leaves[l].value[i];
}

static void add_by_lanes(const struct addition *a, struct leaf *leaves, uint64_t *buckets) {
  const uint64_t hashes = a->shape->hashes, lists = a->lists, at_once = ROUND / hashes;
#pragma omp parallel
  for (uint64_t first = 0; first < lists; first += at_once) {
    const uint64_t count = up_to(at_once, first, lists) * hashes;
#pragma omp for schedule(dynamic)
    for (uint64_t l = 0; l < count; l++) post(a, first + l / hashes, l % hashes, &leaves[l]);
#pragma omp for schedule(dynamic)
    for (uint64_t lane = 0; lane < hashes * a->lanes; lane++) add_lane(a, leaves, count, lane, buckets);
  }
}

void ss_sketch_add(const struct ss_sketch *shape, const struct ss_sketch_rows *rows, const int64_t *values,
                   int64_t *buckets) {
  struct addition a = {
      .shape = shape, .rows = rows, .values = values, .elements = rows->count * rows->width, .shift = LANE_BITS};
  SS_KERNEL_TIMED(SS_KERNEL_SKETCH_ADD);
  ss_kernel_ran(SS_KERNEL_SKETCH_ADD, a.elements * shape->hashes);
  a.lists = (a.elements + LEAF - 1) / LEAF;
  while (a.shift > LEAST_BITS && (shape->buckets - 1) >> a.shift < FEW_LANES) a.shift--;
  const uint64_t lanes = ((shape->buckets - 1) >> a.shift) + 1;
  a.lanes = lanes <= LANES ? (uint32_t)lanes : 0;
  SS_AUTO_FREE struct leaf *leaves = NULL;
  if (a.elements > SPAN && a.lanes > 0 && omp_get_max_threads() > 1)
    leaves = ss_alloc(up_to(ROUND, 0, a.lists * shape->hashes), sizeof *leaves);
  if (leaves) add_by_lanes(&a, leaves, (uint64_t *)buckets);
  else add_alone(&a, (uint64_t *)buckets); /* slower, but it needs no memory */
}

/* --- decoding ------------------------------------------------------------------------------------------------ */

static void read_batch(const struct ss_sketch *shape, uint64_t count, const struct batch *batch,
                       const uint64_t *buckets, double *out) {
  const uint64_t hashes = shape->hashes;
  int64_t found[SS_SKETCH_HASHES];
  assert(hashes > 0);
  for (uint64_t i = 0; i < count; i++) {
    for (uint64_t j = 0; j < hashes; j++) {
      const uint64_t cell = batch->cells[j][i];
      found[j] = (int64_t)signed_by(cell, buckets[j * shape->buckets + (cell >> 1)]);
    }
    out[i] = ss_sketch_median(found, hashes);
  }
}

void ss_sketch_decode(const struct ss_sketch *shape, const struct ss_sketch_rows *rows, const int64_t *buckets,
                      double *out) {
  const uint64_t total = rows->count * rows->width, *sums = (const uint64_t *)buckets;
  SS_KERNEL_TIMED(SS_KERNEL_SKETCH_DECODE);
  ss_kernel_ran(SS_KERNEL_SKETCH_DECODE, total * shape->hashes);
#pragma omp parallel for schedule(static) if (total > SPAN)
  for (uint64_t begin = 0; begin < total; begin += BATCH) {
    const uint64_t count = up_to(BATCH, begin, total);
    struct batch batch;
    fetch_batch(shape, rows, begin, count, sums, &batch);
    read_batch(shape, count, &batch, sums, out + begin);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
