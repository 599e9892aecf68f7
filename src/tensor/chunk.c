#include "tensor/chunk.h"

#include "tensor/kernel.h"
#include "tensor/summer.h"

#include <string.h>

uint64_t ss_chunk_find(const struct ss_chunk *chunk, uint64_t low, uint64_t high, uint64_t *first) {
  *first = ss_lower_bound(chunk->rows, chunk->count, low);
  return ss_lower_bound(chunk->rows + *first, chunk->count - *first, high);
}

struct ss_chunk ss_chunk_entries(const struct ss_chunk *chunk, uint64_t first, uint64_t count) {
  struct ss_chunk view = *chunk;
  view.count = count;
  if (chunk->rows) view.rows += first;
  if (chunk->marks) view.marks += first;
  if (chunk->values) view.values += first * chunk->stride;
  return view;
}

struct ss_chunk ss_chunk_slice(const struct ss_chunk *chunk, uint64_t low, uint64_t high) {
  uint64_t first = 0, count;
  if (chunk->rows) {
    count = ss_chunk_find(chunk, low, high, &first);
  } else {
    uint64_t range = chunk->high - chunk->low;
    count = range == 0
                ? 0
                : ss_share(chunk->count, range, high - chunk->low) - ss_share(chunk->count, range, low - chunk->low);
  }
  struct ss_chunk view = ss_chunk_entries(chunk, first, count);
  view.low = low;
  view.high = high;
  return view;
}

struct ss_chunk ss_chunk_columns(const struct ss_chunk *chunk, uint32_t first, uint32_t width) {
  struct ss_chunk view = *chunk;
  view.width = width;
  if (chunk->values) view.values += first;
  return view;
}

bool ss_chunk_equal(const struct ss_chunk *a, const struct ss_chunk *b) {
  if (a->count != b->count || a->dense != b->dense) return false;
  if (a->count == 0) return true;
  if (!ss_chunk_marked(a) || !ss_chunk_marked(b) || (!a->dense && (!a->rows || !b->rows))) return false;
  if (!a->dense && memcmp(a->rows, b->rows, a->count * sizeof *a->rows) != 0) return false;
  if (a->kind != SS_CHUNK_CONTRIBUTIONS && b->kind != SS_CHUNK_CONTRIBUTIONS)
    return memcmp(a->marks, b->marks, a->count * sizeof *a->marks) == 0;
  for (uint64_t i = 0; i < a->count; i++)
    if (ss_chunk_mark(a, i) != ss_chunk_mark(b, i)) return false;
  return true;
}

double ss_chunk_energy(const struct ss_chunk *chunk) {
  double sum = 0;
  for (uint64_t i = 0; i < chunk->count; i++) sum += (double)chunk->units[i] * (double)chunk->units[i];
  return sum;
}

bool ss_chunk_add_dense(const struct ss_chunk *a, const struct ss_chunk *b, struct ss_arena *arena,
                        struct ss_chunk *out, struct ss_error *error) {
  struct ss_chunk sum = *a;
  SS_KERNEL_TIMED(SS_KERNEL_DENSE_ADD);
  ss_kernel_ran(SS_KERNEL_DENSE_ADD, (a->high - a->low) * a->width);
  if (a->marks && b->marks && a->kind == b->kind) {
    uint64_t *marks = ss_arena_alloc(arena, a->count, sizeof *marks);
    if (!marks) return ss_fail_memory(error, "adding dense gradients");
    for (uint64_t i = 0; i < a->count; i++) marks[i] = a->marks[i] + b->marks[i];
    sum.marks = marks;
  } else {
    sum.marks = NULL;
    sum.kind = SS_CHUNK_BARE;
  }
  if (a->values && b->values) {
    uint64_t n = (a->high - a->low) * a->width;
    float *values = ss_arena_alloc(arena, n, sizeof *values);
    if (!values) return ss_fail_memory(error, "adding dense gradients");
    if (ss_summer && !ss_summer->dense(ss_summer, a->values, b->values, n, values, error)) return false;
    for (uint64_t i = 0; !ss_summer && i < n; i++) values[i] = a->values[i] + b->values[i];
    sum.values = values;
  } else {
    sum.values = NULL;
  }
  *out = sum;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
