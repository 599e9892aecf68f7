#include "tensor/sketch.h"

#include "tensor/kernel.h"

#include "base/memory.h"
#include "tensor/hash.h"
#include "tensor/sketch_cell.h"

#include <omp.h>
#include <string.h>

enum { SPAN = 1 << 14, BATCH = 1024, DECODED = 64 };
/* A round's postings stay in the last-level cache, a lane's buckets in a core's own. */
enum { ROUND = 512, LANES = 32 };

/* A few elements, and where they go in one row of the sketch. Hashing them all first lets their buckets be fetched
 * together: one by one, each addition would wait for memory. */
struct batch {
  uint64_t begin, count;                /* flat positions among the rows' elements */
  uint64_t element[BATCH];              /* row * width + column */
  uint64_t bucket[BATCH], minus[BATCH]; /* minus: all ones for the sign -, else 0 */
};

static void fill_batch(const struct ss_sketch_rows *rows, uint64_t begin, uint64_t end, struct batch *batch) {
  const uint64_t width = rows->width;
  const uint32_t *row = rows->rows + begin / width;
  uint64_t column = begin % width;
  batch->begin = begin;
  batch->count = end - begin < BATCH ? end - begin : BATCH;
  for (uint64_t i = 0; i < batch->count; i++) {
    batch->element[i] = *row * width + column;
    column++;
    row += column == width;
    column = column == width ? 0 : column;
  }
}

static inline __attribute__((always_inline)) void hash_elements(struct batch *batch, uint64_t seed,
                                                                uint64_t buckets) {
  for (uint64_t i = 0; i < batch->count; i++) batch->bucket[i] = ss_hash_row(batch->element[i], seed);
  for (uint64_t i = 0; i < batch->count; i++) batch->minus[i] = -(ss_hash_row(batch->element[i], seed + 1) & 1);
  for (uint64_t i = 0; i < batch->count; i++) batch->bucket[i] = ss_below(batch->bucket[i], buckets);
}

#ifdef __x86_64__
/* The same, where vectors of 64-bit integers can be multiplied: nearly twice as fast. */
__attribute__((target("avx512f,avx512dq,avx512vl"))) static void hash_wide(struct batch *batch, uint64_t seed,
                                                                           uint64_t buckets) {
  hash_elements(batch, seed, buckets);
}
#endif

/* `row` has the buckets that are to be fetched; NULL when they are not wanted now. */
static void hash_batch(struct batch *batch, uint64_t seed, uint64_t buckets, const void *row) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) hash_wide(batch, seed, buckets);
  else
#endif
    hash_elements(batch, seed, buckets);
  for (uint64_t i = 0; row && i < batch->count; i++) __builtin_prefetch((const uint64_t *)row + batch->bucket[i], 1);
}

/* The additions of one call. */
struct addition {
  const struct ss_sketch *shape;
  const struct ss_sketch_rows *rows;
  const int64_t *values;
  uint64_t elements;
  unsigned shift; /* a bucket's lane: its position in the whole sketch, shifted right */
};

/* --- by one thread */

static void add_alone(const struct addition *a, uint64_t *buckets) {
  struct batch batch;
  for (uint64_t begin = 0; begin < a->elements; begin += BATCH) {
    fill_batch(a->rows, begin, a->elements, &batch);
    for (uint64_t j = 0; j < a->shape->hashes; j++) {
      uint64_t *row = buckets + j * a->shape->buckets;
      hash_batch(&batch, a->shape->seed + 2 * j, a->shape->buckets, row);
      for (uint64_t i = 0; i < batch.count; i++)
        row[batch.bucket[i]] += ss_sketch_signed((uint64_t)a->values[begin + i], batch.minus[i]);
    }
  }
}

/* --- by several: the sketch is cut into lanes of buckets; first all hash, and post what is to be added to the lanes,
 * then each lane is added to by one thread. Threads never meet at a bucket, and a lane's buckets stay in cache. */

struct posting {
  uint64_t position, value;
};

/* What one batch posts in one sketch row, lane by lane. */
struct leaf {
  struct posting posted[BATCH];
  uint32_t starts[LANES + 1];
};

static void post_batch(const struct addition *a, struct batch *batch, uint64_t j, struct leaf *leaf) {
  uint32_t place[LANES + 1] = {0};
  hash_batch(batch, a->shape->seed + 2 * j, a->shape->buckets, NULL);
  for (uint64_t i = 0; i < batch->count; i++) {
    batch->bucket[i] += j * a->shape->buckets;
    place[(batch->bucket[i] >> a->shift) + 1]++;
  }
  for (uint32_t lane = 0; lane < LANES; lane++) place[lane + 1] += place[lane];
  memcpy(leaf->starts, place, sizeof place);
  for (uint64_t i = 0; i < batch->count; i++)
    leaf->posted[place[batch->bucket[i] >> a->shift]++] =
        (struct posting){batch->bucket[i], ss_sketch_signed((uint64_t)a->values[batch->begin + i], batch->minus[i])};
}

/* A lane's share of the leaf after next; no hardware guesses strides of a leaf. */
static void fetch_share(const struct leaf *leaf, uint32_t lane) {
  const char *from = (const char *)&leaf->posted[leaf->starts[lane]];
  const char *until = (const char *)&leaf->posted[leaf->starts[lane + 1]];
  for (; from < until; from += 64) __builtin_prefetch(from);
}

static void add_lane(const struct leaf *leaves, uint64_t count, uint32_t lane, uint64_t *buckets) {
  for (uint64_t l = 0; l < count; l++) {
    if (l + 2 < count) fetch_share(&leaves[l + 2], lane);
    for (uint32_t i = leaves[l].starts[lane]; i < leaves[l].starts[lane + 1]; i++)
      buckets[leaves[l].posted[i].position] += leaves[l].posted[i].value;
  }
}

static void add_by_lanes(const struct addition *a, struct leaf *leaves, uint64_t *buckets) {
  const uint64_t hashes = a->shape->hashes, batches = (a->elements + BATCH - 1) / BATCH, at_once = ROUND / hashes;
#pragma omp parallel
  for (uint64_t first = 0; first < batches; first += at_once) {
    const uint64_t count = batches - first < at_once ? batches - first : at_once;
#pragma omp for schedule(static)
    for (uint64_t b = 0; b < count; b++) {
      struct batch batch;
      fill_batch(a->rows, (first + b) * BATCH, a->elements, &batch);
      for (uint64_t j = 0; j < hashes; j++) post_batch(a, &batch, j, &leaves[b * hashes + j]);
    }
    /* one by one in turn: the last lanes may have no buckets */
#pragma omp for schedule(static, 1)
    for (uint32_t lane = 0; lane < LANES; lane++) add_lane(leaves, count * hashes, lane, buckets);
  }
}

void ss_sketch_add(const struct ss_sketch *shape, const struct ss_sketch_rows *rows, const int64_t *values,
                   int64_t *buckets) {
  struct addition a = {.shape = shape, .rows = rows, .values = values, .elements = rows->count * rows->width};
  SS_KERNEL_TIMED(SS_KERNEL_SKETCH_ADD);
  ss_kernel_ran(SS_KERNEL_SKETCH_ADD, a.elements * shape->hashes);
  while ((shape->hashes * shape->buckets - 1) >> a.shift >= LANES) a.shift++;
  SS_AUTO_FREE struct leaf *leaves = NULL;
  if (a.elements > SPAN && omp_get_max_threads() > 1) leaves = ss_alloc(ROUND, sizeof *leaves);
  if (leaves) add_by_lanes(&a, leaves, (uint64_t *)buckets);
  else add_alone(&a, (uint64_t *)buckets); /* slower, but it needs no memory */
}

/* --- decoding ------------------------------------------------------------------------------------------------ */

/* `found`, [DECODED][hashes], is for what each row of the sketch says. */
static void decode_batch(const struct ss_sketch *shape, struct batch *batch, const int64_t *buckets, int64_t *found,
                         double *out) {
  const uint64_t hashes = shape->hashes;
  for (uint64_t j = 0; j < hashes; j++) {
    const int64_t *row = buckets + j * shape->buckets;
    hash_batch(batch, shape->seed + 2 * j, shape->buckets, row);
    for (uint64_t i = 0; i < batch->count; i++)
      found[i * hashes + j] = (int64_t)ss_sketch_signed((uint64_t)row[batch->bucket[i]], batch->minus[i]);
  }
  for (uint64_t i = 0; i < batch->count; i++) out[batch->begin + i] = ss_sketch_median(found + i * hashes, hashes);
}

void ss_sketch_decode(const struct ss_sketch *shape, const struct ss_sketch_rows *rows, const int64_t *buckets,
                      double *out) {
  const uint64_t total = rows->count * rows->width;
  SS_KERNEL_TIMED(SS_KERNEL_SKETCH_DECODE);
  ss_kernel_ran(SS_KERNEL_SKETCH_DECODE, total * shape->hashes);
#pragma omp parallel for schedule(static) if (total > SPAN)
  for (uint64_t begin = 0; begin < total; begin += SPAN) {
    const uint64_t end = total - begin < SPAN ? total : begin + SPAN;
    int64_t found[DECODED * SS_SKETCH_HASHES] = {0};
    for (uint64_t at = begin; at < end; at += DECODED) {
      struct batch batch;
      fill_batch(rows, at, end - at < DECODED ? end : at + DECODED, &batch);
      decode_batch(shape, &batch, buckets, found, out);
    }
  }
}
