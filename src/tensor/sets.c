#include "tensor/sets.h"

#include "tensor/kernel.h"

#include <string.h>

/* From this ratio of lengths on, a binary search for each row of the shorter list beats reading the longer one. */
enum { FAR_LONGER = 64 };
/* From this one on, entries that stay are copied in runs, each found by steps that double. */
enum { LONGER = 8 };

/* A merge whose steps are arithmetic: which list comes next is a coin toss that no branch predictor wins. */
static uint64_t common_by_merge(const uint32_t *a, uint64_t a_count, const uint32_t *b, uint64_t b_count) {
  uint64_t i = 0, j = 0, common = 0;
  while (i < a_count && j < b_count) {
    const uint32_t x = a[i], y = b[j];
    common += x == y;
    i += x <= y;
    j += y <= x;
  }
  return common;
}

static uint64_t common_by_search(const uint32_t *few, uint64_t few_count, const uint32_t *many, uint64_t many_count) {
  uint64_t common = 0;
  struct ss_chunk left = {.rows = many, .count = many_count};
  for (uint64_t i = 0; i < few_count && left.count > 0; i++) {
    uint64_t first;
    const uint64_t found = ss_chunk_find(&left, few[i], (uint64_t)few[i] + 1, &first);
    common += found;
    left = ss_chunk_entries(&left, first + found, left.count - first - found);
  }
  return common;
}

uint64_t ss_rows_common(const uint32_t *a, uint64_t a_count, const uint32_t *b, uint64_t b_count) {
  if (a_count / FAR_LONGER > b_count) return common_by_search(b, b_count, a, a_count);
  if (b_count / FAR_LONGER > a_count) return common_by_search(a, a_count, b, b_count);
  /* Two halves side by side: the steps of one merge wait for each other. */
  if (a_count == 0) return 0;
  const uint64_t middle = a_count / 2;
  const struct ss_chunk other = {.rows = b, .count = b_count};
  uint64_t cut, common = 0, i = 0, j = 0, k = middle;
  (void)ss_chunk_find(&other, a[middle], a[middle], &cut);
  uint64_t l = cut;
  while (i < middle && j < cut && k < a_count && l < b_count) {
    const uint32_t x = a[i], y = b[j], u = a[k], v = b[l];
    common += (uint64_t)(x == y) + (u == v);
    i += x <= y;
    j += y <= x;
    k += u <= v;
    l += v <= u;
  }
  common += common_by_merge(a + i, middle - i, b + j, cut - j);
  return common + common_by_merge(a + k, a_count - k, b + l, b_count - l);
}

/* Marks, rows and values of a chunk that is being made, with room for one entry that is written and does not count.
 */
struct sifted {
  uint32_t *rows;
  uint64_t *marks; /* NULL when there are none */
  float *values;   /* NULL when there are none */
};

/* The entry stays if its row is in `other`, or if it is not. As above: steps are arithmetic, an entry is written in
 * any case, and counts if it stays. */
static inline __attribute__((always_inline)) uint64_t pass_entries(const struct ss_chunk *from,
                                                                   const struct ss_chunk *other, bool in_other,
                                                                   const struct sifted *to) {
  uint64_t i = 0, j = 0, n = 0;
  while (i < from->count && j < other->count) {
    const uint32_t x = from->rows[i], y = other->rows[j];
    const bool stays = in_other ? x == y : x < y;
    to->rows[n] = x;
    if (to->marks) to->marks[n] = from->marks[i];
    if (to->values && stays)
      memcpy(to->values + n * from->width, from->values + i * from->stride, from->width * sizeof *to->values);
    n += stays;
    i += x <= y;
    j += y <= x;
  }
  for (; !in_other && i < from->count; i++, n++) {
    to->rows[n] = from->rows[i];
    if (to->marks) to->marks[n] = from->marks[i];
    if (to->values)
      memcpy(to->values + n * from->width, from->values + i * from->stride, from->width * sizeof *to->values);
  }
  return n;
}

static void copy_run(const struct ss_chunk *from, uint64_t first, uint64_t count, const struct sifted *to,
                     uint64_t n) {
  memcpy(to->rows + n, from->rows + first, count * sizeof *to->rows);
  if (to->marks) memcpy(to->marks + n, from->marks + first, count * sizeof *to->marks);
  for (uint64_t i = 0; to->values && i < count; i++)
    memcpy(to->values + (n + i) * from->width, from->values + (first + i) * from->stride,
           from->width * sizeof *to->values);
}

/* The first entry from `at` on whose row is not below `row`; it is near. */
static uint64_t seek(const struct ss_chunk *from, uint64_t at, uint32_t row) {
  uint64_t step = 1;
  while (step < from->count - at && from->rows[at + step] < row) step *= 2;
  const uint64_t end = step < from->count - at ? at + step : from->count, begin = at + step / 2;
  return begin + ss_lower_bound(from->rows + begin, end - begin, row);
}

/* The entries whose rows are not in `other`, which is far shorter. */
static uint64_t pass_runs(const struct ss_chunk *from, const struct ss_chunk *other, const struct sifted *to) {
  uint64_t i = 0, n = 0;
  for (uint64_t j = 0; j < other->count && i < from->count; j++) {
    const uint64_t end = seek(from, i, other->rows[j]);
    copy_run(from, i, end - i, to, n);
    n += end - i;
    i = end + (end < from->count && from->rows[end] == other->rows[j]);
  }
  copy_run(from, i, from->count - i, to, n);
  return n + from->count - i;
}

static uint64_t pass(const struct ss_chunk *from, const struct ss_chunk *other, bool in_other,
                     const struct sifted *to) {
  if (in_other) return pass_entries(from, other, true, to);
  return from->count / LONGER > other->count ? pass_runs(from, other, to) : pass_entries(from, other, false, to);
}

/* Makes *out of the `most` entries of `from` at the most whose rows are in `other`, or are not. */
static bool sift(const struct ss_chunk *from, const struct ss_chunk *other, bool in_other, uint64_t most,
                 struct ss_arena *arena, struct ss_chunk *out) {
  struct sifted to = {0};
  uint64_t elements;
  if (!ss_mul_u64(most, from->width, &elements)) return false;
  SS_KERNEL_TIMED(SS_KERNEL_PACK);
  ss_kernel_ran(SS_KERNEL_PACK, from->count);
  to.rows = ss_arena_alloc(arena, most + 1, sizeof *to.rows);
  to.marks = from->marks ? ss_arena_alloc(arena, most + 1, sizeof *to.marks) : NULL;
  to.values = from->values ? ss_arena_alloc(arena, elements, sizeof *to.values) : NULL;
  if (!to.rows || (from->marks && !to.marks) || (from->values && !to.values)) return false;
  *out = *from;
  out->count = pass(from, other, in_other, &to);
  out->rows = to.rows;
  out->marks = to.marks;
  out->values = to.values;
  out->stride = from->width;
  return true;
}

bool ss_chunk_select(const struct ss_chunk *from, const struct ss_chunk *other, struct ss_arena *arena,
                     struct ss_chunk *out, struct ss_error *error) {
  const uint64_t most = from->count < other->count ? from->count : other->count;
  return sift(from, other, true, most, arena, out) || ss_fail_memory(error, "selecting rows");
}

bool ss_chunk_without(const struct ss_chunk *from, const struct ss_chunk *other, struct ss_arena *arena,
                      struct ss_chunk *out, struct ss_error *error) {
  return sift(from, other, false, from->count, arena, out) || ss_fail_memory(error, "taking rows away");
}

/* --- values that lie dense ------------------------------------------------------------------------------------ */

bool ss_operands_lie_dense(const struct ss_operands *of) {
  for (uint32_t i = 0; i < of->count; i++)
    if (ss_chunk_lies_dense(&of->chunk[i])) return true;
  return false;
}

/* Who holds an element a row needs no list of rows: writing one is this program's. */
static bool list_rows(uint64_t low, uint64_t high, struct ss_arena *arena, const uint32_t **out) {
  SS_ASIDE;
  uint32_t *rows = ss_arena_alloc(arena, high - low, sizeof *rows);
  *out = rows;
  for (uint64_t i = 0; rows && i < high - low; i++) rows[i] = (uint32_t)(low + i);
  return rows;
}

/* Adds its entries to the elements from row `low` on. */
static void add_to(const struct ss_chunk *c, uint64_t low, int64_t *restrict units) {
  if (ss_chunk_is_full(c))
    for (uint64_t i = 0; i < c->count; i++) units[c->low - low + i] += c->units[i];
  else
    for (uint64_t i = 0; i < c->count; i++) units[c->rows[i] - low] += c->units[i];
}

/* The first two operands that have every row of the range. */
static void find_full(const struct ss_operands *of, const struct ss_chunk *all[2]) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < of->count && found < 2; i++)
    if (ss_chunk_is_full(&of->chunk[i]) && of->chunk[i].count == of->high - of->low) all[found++] = &of->chunk[i];
}

static bool sum_dense(const struct ss_operands *of, struct ss_arena *arena, struct ss_chunk *out,
                      struct ss_error *error) {
  const uint64_t low = of->low, n = of->high - of->low;
  const struct ss_chunk *all[2] = {NULL, NULL};
  SS_KERNEL_TIMED_IF(of->count > 1, SS_KERNEL_DENSE_ADD);
  if (of->count > 1) ss_kernel_ran(SS_KERNEL_DENSE_ADD, n);
  find_full(of, all);
  int64_t *units = ss_arena_alloc(arena, n, sizeof *units);
  const uint32_t *rows = all[0] ? all[0]->rows : NULL;
  if (!units || (!rows && !list_rows(low, of->high, arena, &rows)))
    return ss_fail_memory(error, "adding dense gradients");
  if (!all[0]) memset(units, 0, n * sizeof *units);
  else if (!all[1]) memcpy(units, all[0]->units, n * sizeof *units);
  else
    for (uint64_t i = 0; i < n; i++) units[i] = all[0]->units[i] + all[1]->units[i];
  for (uint32_t i = 0; i < of->count; i++)
    if (&of->chunk[i] != all[0] && &of->chunk[i] != all[1]) add_to(&of->chunk[i], low, units);
  *out = ss_chunk_of_values(rows, units, n, low, of->high);
  return true;
}

bool ss_sum_held(const struct ss_operands *of, struct ss_arena *arena, struct ss_sum_scratch *scratch,
                 struct ss_chunk *out, struct ss_error *error) {
  return ss_operands_lie_dense(of) ? sum_dense(of, arena, out, error) : ss_sum_values(of, arena, scratch, out, error);
}

/* What is left of it lies dense, too. */
static bool rest_lies_dense(const struct ss_chunk *from, const struct ss_chunk *other) {
  struct ss_chunk rest = *from;
  uint64_t first;
  if (!ss_chunk_lies_dense(from)) return false;
  rest.count -= ss_chunk_is_full(from) ? (other->count > 0 ? ss_chunk_find(other, from->low, from->high, &first) : 0)
                                       : ss_rows_common(from->rows, from->count, other->rows, other->count);
  return ss_chunk_lies_dense(&rest);
}

bool ss_chunk_rest(const struct ss_chunk *from, const struct ss_chunk *other, struct ss_arena *arena,
                   struct ss_chunk *out, struct ss_error *error) {
  const uint64_t low = from->low, n = from->high - from->low;
  if (!rest_lies_dense(from, other)) return ss_chunk_without(from, other, arena, out, error);
  SS_KERNEL_TIMED(SS_KERNEL_PACK);
  ss_kernel_ran(SS_KERNEL_PACK, from->count);
  int64_t *units = ss_arena_alloc(arena, n, sizeof *units);
  *out = *from;
  if (!units || !list_rows(low, from->high, arena, &out->rows)) return ss_fail_memory(error, "taking rows away");
  if (ss_chunk_is_full(from)) {
    memcpy(units, from->units, n * sizeof *units);
  } else {
    memset(units, 0, n * sizeof *units);
    add_to(from, low, units);
  }
  for (uint64_t i = 0; i < other->count; i++)
    if (other->rows[i] >= low && other->rows[i] < from->high) units[other->rows[i] - low] = 0;
  out->units = units;
  out->count = n;
  out->distinct = true;
  return true;
}

bool ss_chunk_gather(const struct ss_chunk *from, const struct ss_chunk *other, struct ss_arena *arena,
                     struct ss_chunk *out, struct ss_error *error) {
  SS_KERNEL_TIMED(SS_KERNEL_PACK);
  ss_kernel_ran(SS_KERNEL_PACK, other->count);
  uint32_t *rows = ss_arena_alloc(arena, other->count, sizeof *rows);
  int64_t *units = ss_arena_alloc(arena, other->count, sizeof *units);
  if (!rows || !units) return ss_fail_memory(error, "gathering values");
  for (uint64_t i = 0; i < other->count; i++) {
    rows[i] = other->rows[i];
    units[i] = from->units[rows[i] - from->low];
  }
  *out = *from;
  out->rows = rows;
  out->units = units;
  out->count = other->count;
  return true;
}

/* An entry of which every element is zero. */
static bool is_zero(const struct ss_chunk *chunk, uint64_t entry) {
  if (chunk->kind == SS_CHUNK_VALUES) return chunk->units[entry] == 0;
  for (uint32_t c = 0; c < chunk->width; c++)
    if (chunk->values[entry * chunk->stride + c] != 0) return false;
  return true;
}

bool ss_chunk_drop_zeros(struct ss_chunk *chunk, struct ss_arena *arena, struct ss_error *error) {
  const bool units = chunk->kind == SS_CHUNK_VALUES;
  uint32_t *rows = ss_arena_alloc(arena, chunk->count, sizeof *rows);
  int64_t *unit = ss_arena_alloc(arena, units ? chunk->count : 0, sizeof *unit);
  float *values = ss_arena_alloc(arena, units ? 0 : chunk->count * chunk->width, sizeof *values);
  uint64_t n = 0;
  if (!rows || !unit || !values) return ss_fail_memory(error, "dropping zeros");
  for (uint64_t i = 0; i < chunk->count; i++) {
    if (is_zero(chunk, i)) continue;
    rows[n] = chunk->rows[i];
    if (units) unit[n] = chunk->units[i];
    else memcpy(values + n * chunk->width, chunk->values + i * chunk->stride, chunk->width * sizeof *values);
    n++;
  }
  chunk->rows = rows;
  chunk->count = n;
  if (units) {
    chunk->units = unit;
  } else {
    chunk->values = values;
    chunk->stride = chunk->width;
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
