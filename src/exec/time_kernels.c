#include "exec/time_kernels.h"

#include "base/memory.h"
#include "tensor/coalesce.h"
#include "tensor/hash.h"
#include "tensor/sketch.h"
#include "tensor/topk.h"
#include "tensor/wire.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPERANDS = 4, PARTS = 16, BLOCK = 256, PAIR = 8 /* B of an index and a float */ };

struct bench {
  struct ss_timing timing;
  struct ss_chunk part[OPERANDS], dense[2];
  uint64_t most; /* entries of the longest operand */
  uint32_t *lookups, *rows_out;
  float *floats;
  int64_t *units, *buckets;
  double *decoded;
  unsigned char *wire, *cache;
  struct ss_arena data, work;
  struct ss_sum_scratch sums;
  struct ss_coalesce_scratch coalesce;
  double bytes; /* moved by the last kernel */
};

static const struct ss_wire bitmap = {.format = SS_WIRE_BITMAP, .value_bytes = 4, .index_bytes = 4};
static const struct ss_wire blocks = {.format = SS_WIRE_BLOCK, .value_bytes = 4, .index_bytes = 4, .block = BLOCK};

/* --- kernels ---------------------------------------------------------------------------------------------- */

static bool coalesce(struct bench *b, struct ss_error *error) {
  (void)error;
  const uint64_t n = b->part[0].count;
  b->bytes = 4 * (double)(n + ss_coalesce(b->lookups, n, b->timing.rows, b->rows_out, &b->coalesce));
  return true;
}

static bool merge_sum(struct bench *b, struct ss_error *error) {
  struct ss_chunk sum;
  if (!ss_chunk_sum(b->part, OPERANDS, 0, b->timing.rows, &b->work, &b->sums, &sum, error)) return false;
  b->bytes = PAIR * (double)sum.count;
  for (int i = 0; i < OPERANDS; i++) b->bytes += PAIR * (double)b->part[i].count;
  return true;
}

static bool dense_add(struct bench *b, struct ss_error *error) {
  struct ss_chunk sum;
  b->bytes = 12 * (double)b->timing.rows;
  return ss_chunk_add_dense(&b->dense[0], &b->dense[1], &b->work, &sum, error);
}

static bool top_k(struct bench *b, struct ss_error *error) {
  uint64_t count;
  if (!ss_topk_floats(b->floats, b->timing.rows, b->part[0].count, &b->work, b->rows_out, &count, error))
    return false;
  b->bytes = 4 * (double)(b->timing.rows + count);
  return true;
}

static bool hash_partition(struct bench *b, struct ss_error *error) {
  uint64_t offsets[PARTS + 1];
  b->bytes = 8 * (double)b->part[0].count;
  return ss_hash_partition(b->part[0].rows, NULL, b->part[0].count, 1, PARTS, b->rows_out, NULL, offsets, error);
}

static bool hierarchical_hashing(struct bench *b, struct ss_error *error) {
  struct ss_hash_tally tally;
  const struct ss_hash_memory memory = ss_hash_memory_zen(PARTS, b->part[0].count);
  uint64_t offsets[PARTS + 1];
  b->bytes = 8 * (double)b->part[0].count;
  return ss_hash_hierarchical(&memory, b->part[0].rows, b->part[0].count, b->rows_out, offsets, &tally, error);
}

static bool bitmap_encode(struct bench *b, struct ss_error *error) {
  (void)error;
  ss_wire_encode(&bitmap, &b->part[0], b->wire);
  b->bytes = PAIR * (double)b->part[0].count + (double)ss_wire_bytes(&bitmap, &b->part[0]);
  return true;
}

static bool block_encode(struct bench *b, struct ss_error *error) {
  (void)error;
  ss_wire_encode(&blocks, &b->part[0], b->wire);
  b->bytes = PAIR * (double)b->part[0].count + (double)ss_wire_bytes(&blocks, &b->part[0]);
  return true;
}

static struct ss_sketch shape_of(const struct bench *b) {
  return (struct ss_sketch){.hashes = 1, .buckets = b->most, .seed = 1};
}

static bool sketch_add(struct bench *b, struct ss_error *error) {
  (void)error;
  const struct ss_sketch shape = shape_of(b);
  const struct ss_sketch_rows rows = {b->part[0].rows, b->part[0].count, 1};
  ss_sketch_add(&shape, &rows, b->units, b->buckets);
  b->bytes = 12 * (double)b->part[0].count + 8 * (double)b->most;
  return true;
}

static bool sketch_decode(struct bench *b, struct ss_error *error) {
  (void)error;
  const struct ss_sketch shape = shape_of(b);
  const struct ss_sketch_rows rows = {b->part[0].rows, b->part[0].count, 1};
  ss_sketch_decode(&shape, &rows, b->buckets, b->decoded);
  b->bytes = 12 * (double)b->part[0].count + 8 * (double)b->most;
  return true;
}

static const struct {
  const char *name;
  bool (*run)(struct bench *b, struct ss_error *error);
} kernels[] = {{"merge_sum", merge_sum},
               {"dense_add", dense_add},
               {"coalesce", coalesce},
               {"top_k", top_k},
               {"hash_partition", hash_partition},
               {"hierarchical_hashing", hierarchical_hashing},
               {"bitmap_encode", bitmap_encode},
               {"block_encode", block_encode},
               {"sketch_add", sketch_add},
               {"sketch_decode", sketch_decode}};
_Static_assert(sizeof kernels / sizeof *kernels == SS_TIMED_KERNELS, "the header says how many there are");

const char *ss_timed_name(size_t kernel) {
  return kernel < SS_TIMED_KERNELS ? kernels[kernel].name : NULL;
}

/* --- inputs ----------------------------------------------------------------------------------------------- */

/* Each row with the probability of the density, on its own. */
static bool make_part(struct bench *b, uint32_t p) {
  const uint64_t rows = b->timing.rows;
  uint64_t count = 0;
  for (uint64_t i = 0; i < rows; i++) count += ss_unit(ss_mix(p + 1, i)) < b->timing.density;
  uint32_t *list = ss_arena_alloc(&b->data, count, sizeof *list);
  if (!list) return false;
  count = 0;
  for (uint64_t i = 0; i < rows; i++)
    if (ss_unit(ss_mix(p + 1, i)) < b->timing.density) list[count++] = (uint32_t)i;
  b->part[p] = (struct ss_chunk){
      .rows = list, .values = b->floats, .count = count, .high = rows, .width = 1, .stride = 1, .distinct = true};
  if (count > b->most) b->most = count;
  return true;
}

static bool make_arrays(struct bench *b) {
  const uint64_t rows = b->timing.rows, n = b->most;
  b->lookups = ss_arena_alloc(&b->data, n, sizeof *b->lookups);
  b->rows_out = ss_arena_alloc(&b->data, n, sizeof *b->rows_out);
  b->units = ss_arena_alloc(&b->data, n, sizeof *b->units);
  b->buckets = ss_arena_alloc(&b->data, n, sizeof *b->buckets);
  b->decoded = ss_arena_alloc(&b->data, n, sizeof *b->decoded);
  b->wire = ss_arena_alloc(&b->data, 8 * (rows / BLOCK + 1) + 4 * rows + rows / 8 + 1, 1);
  b->cache = ss_arena_alloc(&b->data, 2 * b->timing.cache, 1);
  if (!b->lookups || !b->rows_out || !b->units || !b->buckets || !b->decoded || !b->wire || !b->cache) return false;
  for (uint64_t i = 0; i < n; i++) {
    b->lookups[i] = (uint32_t)ss_below(ss_mix(100, i), rows);
    b->units[i] = (int64_t)(ss_mix(101, i) >> 40);
  }
  memset(b->buckets, 0, n * sizeof *b->buckets);
  return ss_coalesce_reserve(&b->coalesce, n, rows);
}

static bool make(struct bench *b) {
  const uint64_t rows = b->timing.rows;
  b->floats = ss_arena_alloc(&b->data, rows, sizeof *b->floats);
  if (!b->floats) return false;
  for (uint64_t i = 0; i < rows; i++) b->floats[i] = (float)ss_unit(ss_mix(102, i));
  for (uint32_t p = 0; p < OPERANDS; p++)
    if (!make_part(b, p)) return false;
  for (int i = 0; i < 2; i++)
    b->dense[i] =
        (struct ss_chunk){.values = b->floats, .count = rows, .high = rows, .width = 1, .stride = 1, .dense = true};
  float *other = ss_arena_alloc(&b->data, rows, sizeof *other);
  if (!other || !make_arrays(b)) return false;
  memcpy(other, b->floats, rows * sizeof *other);
  b->dense[1].values = other;
  return true;
}

/* --- clocks ----------------------------------------------------------------------------------------------- */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static bool time_kernel(struct bench *b, size_t kernel, struct ss_timed *out, struct ss_error *error) {
  double seconds[SS_TIMED_REPEATS_MAX];
  const uint32_t repeats = b->timing.repeats;
  for (uint32_t i = 0; i <= repeats; i++) {
    ss_arena_reset(&b->work);
    memset(b->cache, (int)i, 2 * b->timing.cache);
    const double start = now();
    if (!kernels[kernel].run(b, error)) return false;
    if (i > 0) seconds[i - 1] = now() - start; /* the first call warms up */
  }
  qsort(seconds, repeats, sizeof *seconds, ascending);
  *out = (struct ss_timed){b->bytes, (seconds[(repeats - 1) / 2] + seconds[repeats / 2]) / 2};
  return true;
}

bool ss_time_kernels(const struct ss_timing *timing, struct ss_timed out[SS_TIMED_KERNELS], struct ss_error *error) {
  struct bench b = {.timing = *timing};
  bool ok = make(&b) || ss_fail_memory(error, "making inputs of kernels");
  for (size_t k = 0; ok && k < SS_TIMED_KERNELS; k++) ok = time_kernel(&b, k, &out[k], error);
  ss_arena_free(&b.data);
  ss_arena_free(&b.work);
  ss_sum_scratch_free(&b.sums);
  ss_coalesce_free(&b.coalesce);
  return ok;
}
