/* Messages and sums in a device's memory (kernels/gpu.h). Memory is taken once and used again: what is taken grows to
 * twice what it was, and what was taken before stays until the end. */
#pragma once

#include "kernels/cuda/device_memory.h"

struct pool {
  unsigned char *at;
  uint64_t size, used;
};

struct ss_gpu_run {
  struct grid grid;
  struct pool messages, sums;
  struct merge merge; /* what was loaded last; operands 0: dense */
  struct dense dense;
  uint64_t count; /* of the sum */
};

enum { POOL_LEAST = 1 << 20, POOL_APART = 256 /* B */ };

static void *pool_take(struct ss_gpu_run *gpu, struct pool *pool, uint64_t bytes, struct ss_error *error) {
  uint64_t apart;
  if (!ss_add_u64(bytes, POOL_APART, &apart)) apart = UINT64_MAX; /* never none */
  apart -= apart % POOL_APART;
  if (apart > pool->size - pool->used) {
    const uint64_t size = larger(larger(2 * pool->size, apart), POOL_LEAST);
    unsigned char *at = (unsigned char *)grid_take(&gpu->grid, size, 1, error);
    if (!at) return NULL;
    pool->at = at;
    pool->size = size;
    pool->used = 0;
  }
  pool->used += apart;
  return pool->at + pool->used - apart;
}
#define POOL_TAKE(gpu, pointer, count, error)                                                                        \
  (((pointer) = (__typeof__(pointer))pool_take((gpu), &(gpu)->sums, (count) * sizeof *(pointer), (error))) != NULL)

static void *take_message(struct ss_gpu_run *gpu, uint64_t bytes, struct ss_error *error) {
  return pool_take(gpu, &gpu->messages, bytes, error);
}

static void release_messages(struct ss_gpu_run *gpu) {
  gpu->messages.used = 0;
}

static bool put_message(struct ss_gpu_run *gpu, void *to, const void *from_host, uint64_t bytes,
                        struct ss_error *error) {
  return grid_put(&gpu->grid, to, from_host, bytes, error);
}

static bool get_message(struct ss_gpu_run *gpu, void *to_host, const void *from, uint64_t bytes,
                        struct ss_error *error) {
  return grid_get(&gpu->grid, to_host, from, bytes, error);
}

/* --- sums ------------------------------------------------------------------------------------------------- */

static bool load_dense(struct ss_gpu_run *gpu, const struct ss_gpu_sum *sum, struct ss_error *error) {
  const uint64_t bytes = sum->rows * sizeof(float);
  float *a, *b;
  gpu->dense.n = sum->rows;
  if (!POOL_TAKE(gpu, a, sum->rows, error) || !POOL_TAKE(gpu, b, sum->rows, error) ||
      !POOL_TAKE(gpu, gpu->dense.sum, sum->rows, error))
    return false;
  gpu->dense.a = a;
  gpu->dense.b = b;
  return grid_put(&gpu->grid, a, sum->operand[0].values, bytes, error) &&
         grid_put(&gpu->grid, b, sum->operand[1].values, bytes, error);
}

static bool load_list(struct ss_gpu_run *gpu, const struct ss_gpu_sum *sum, uint32_t i, struct ss_error *error) {
  const struct ss_gpu_operand *from = &sum->operand[i];
  const uint64_t elements = from->count * sum->width;
  struct merge *m = &gpu->merge;
  uint32_t *rows;
  float *values;
  if (!POOL_TAKE(gpu, rows, from->count, error) || !POOL_TAKE(gpu, values, elements, error) ||
      (sum->width > 1 && !POOL_TAKE(gpu, m->places[i], from->count, error)))
    return false;
  m->rows[i] = rows;
  m->values[i] = values;
  m->count[i] = (uint32_t)from->count;
  return grid_put(&gpu->grid, rows, from->rows, from->count * sizeof *rows, error) &&
         grid_put(&gpu->grid, values, from->values, elements * sizeof *values, error);
}

static bool load_lists(struct ss_gpu_run *gpu, const struct ss_gpu_sum *sum, uint64_t entries,
                       struct ss_error *error) {
  struct merge *m = &gpu->merge;
  m->operands = sum->operands;
  m->width = sum->width;
  m->words = merge_words(entries, sum->rows);
  m->tiles = (uint32_t)merge_tiles(sum->rows, m->words);
  m->capacity = entries;
  for (uint32_t i = 0; i < sum->operands; i++)
    if (!load_list(gpu, sum, i, error)) return false;
  const uint64_t starts = (uint64_t)m->tiles + 1;
  return POOL_TAKE(gpu, m->bounds, starts * sum->operands, error) && POOL_TAKE(gpu, m->starts, starts, error) &&
         POOL_TAKE(gpu, m->rows_out, entries, error) && POOL_TAKE(gpu, m->sums, entries * sum->width, error);
}

static bool load_sum(struct ss_gpu_run *gpu, const struct ss_gpu_sum *sum, struct ss_error *error) {
  uint64_t entries = 0, elements;
  gpu->sums.used = 0;
  gpu->merge.operands = 0;
  if (!few(sum->rows, sum->operand[0].rows ? "rows" : "elements", error)) return false;
  if (!sum->operand[0].rows) return load_dense(gpu, sum, error);
  for (uint32_t i = 0; i < sum->operands; i++) {
    if (!few(sum->operand[i].count, "entries", error)) return false;
    entries += sum->operand[i].count;
  }
  if (!ss_mul_u64(entries, sum->width, &elements)) elements = UINT64_MAX;
  return few(elements, "elements", error) && load_lists(gpu, sum, entries, error);
}

static bool add_loaded(struct ss_gpu_run *gpu, uint64_t *count, struct ss_error *error) {
  uint32_t found;
  if (gpu->merge.operands == 0) {
    *count = gpu->count = gpu->dense.n;
    return dense_run(&gpu->grid, &gpu->dense, error) && grid_wait(&gpu->grid, error);
  }
  if (!merge_run(&gpu->grid, &gpu->merge, error) ||
      !grid_get(&gpu->grid, &found, gpu->merge.starts + gpu->merge.tiles, sizeof found, error))
    return false;
  *count = gpu->count = found;
  return true;
}

static bool fetch_sum(struct ss_gpu_run *gpu, uint32_t *rows, float *values, struct ss_error *error) {
  const struct merge *m = &gpu->merge;
  if (m->operands == 0) return grid_get(&gpu->grid, values, gpu->dense.sum, gpu->count * sizeof *values, error);
  return grid_get(&gpu->grid, rows, m->rows_out, gpu->count * sizeof *rows, error) &&
         grid_get(&gpu->grid, values, m->sums, gpu->count * m->width * sizeof *values, error);
}

static void close_gpu(struct ss_gpu_run *gpu) {
  if (!gpu) return;
  grid_close(&gpu->grid);
  free(gpu);
}

static bool open_gpu(uint32_t which, struct ss_gpu_run **out, struct ss_error *error) {
  if (!grid_choose(which, error)) return false;
  struct ss_gpu_run *gpu = (struct ss_gpu_run *)ss_alloc_zero(1, sizeof *gpu);
  if (!gpu) return ss_fail_memory(error, "opening a GPU");
  if (grid_open(&gpu->grid, error)) {
    *out = gpu;
    return true;
  }
  close_gpu(gpu);
  return false;
}

#define GPU_DEVICE                                                                                                   \
  { open_gpu, take_message, release_messages, put_message, get_message, load_sum, add_loaded, fetch_sum, close_gpu }
/* SPDX-License-Identifier: Apache-2.0 */
