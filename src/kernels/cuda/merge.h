/* Sums of sorted chunks, and of dense tensors.
 *
 * A tile is TILE_BITS rows, which one block sums: it marks the rows that any operand lists, counts the marks, and
 * adds one operand after the other to the indices that the counts say, so that every sum is taken in the order of the
 * operands, as on a CPU. A pass before that counts the rows of the tiles, so that they know where to write. */
#pragma once

#include "kernels/cuda/bits.h"

/* Phases: those of the tally, one more in each pass, and in the second one for each operand, two where rows are wide.
 */
enum { MERGE_OPERANDS = 8, MERGE_TALLY = 4, MERGE_BEFORE = MERGE_TALLY + 1 };
enum { MERGE_AT_ONCE = 4, MERGE_WORDS = THREAD_WORDS /* of a thread, in a large tile */ };

struct merge {
  uint32_t operands, words; /* words: of a thread, 1 or MERGE_WORDS */
  uint32_t width;           /* elements of a row */
  uint32_t tiles;           /* merge_tiles(rows, words) */
  const uint32_t *rows[MERGE_OPERANDS];
  const float *values[MERGE_OPERANDS];
  uint32_t count[MERGE_OPERANDS];
  uint32_t *places[MERGE_OPERANDS]; /* [count] of wide rows: where each entry goes; scratch */
  uint32_t *bounds;                 /* [operands][tiles + 1] the first entry of each tile */
  uint32_t *starts;                 /* [tiles + 1] rows of each tile, then where they go */
  uint32_t *rows_out;               /* [room] */
  float *sums;
  uint64_t capacity; /* for the sum of the counts, that cannot be too little */
};

SS_DEVICE static inline uint32_t merge_rows(uint32_t words) {
  return words * GRID_THREADS * WORD;
}

/* Words of a thread, so that a tile has some thousand entries. */
static uint32_t merge_words(uint64_t entries, uint64_t rows) {
  return entries < rows / 4 ? MERGE_WORDS : 1;
}

static uint64_t merge_tiles(uint64_t rows, uint32_t words) {
  return (rows + merge_rows(words) - 1) / merge_rows(words);
}

GRID_DEVICE static inline void merge_bound(const struct merge *a, uint32_t i) {
  const uint32_t operand = i / (a->tiles + 1), tile = i % (a->tiles + 1);
  a->bounds[i] = (uint32_t)ss_lower_bound(a->rows[operand], a->count[operand], (uint64_t)tile * merge_rows(a->words));
}
GRID_KERNEL(merge_bound, struct merge)

struct merge_shared {
  struct block_sum sum;
  uint32_t present[TILE_WORDS]; /* rows that any operand lists */
  uint32_t before[TILE_WORDS];  /* and how many of them lie before this word */
  uint32_t added[TILE_WORDS];   /* rows that an operand was added to */
};

GRID_DEVICE static inline void merge_clear(const struct merge *a, struct merge_shared *s, uint32_t thread) {
  for (uint32_t i = thread; i < a->words * GRID_THREADS; i += GRID_THREADS) s->present[i] = s->added[i] = 0;
}

/* The entries of an operand in a tile. */
struct span {
  uint32_t first, end;
};

GRID_DEVICE static inline struct span merge_span(const struct merge *a, uint32_t tile, uint32_t operand) {
  const uint32_t *bound = a->bounds + (uint64_t)operand * (a->tiles + 1) + tile;
  const struct span span = {bound[0], bound[1]};
  return span;
}

GRID_DEVICE static inline void merge_mark(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                          uint32_t thread) {
  const uint32_t base = tile * merge_rows(a->words);
  for (uint32_t o = 0; o < a->operands; o++) {
    const struct span span = merge_span(a, tile, o);
    const uint32_t *rows = a->rows[o];
    for (uint32_t e = span.first + thread; e < span.end; e += MERGE_AT_ONCE * GRID_THREADS) {
      uint32_t at[MERGE_AT_ONCE];
      for (uint32_t i = 0; i < MERGE_AT_ONCE; i++)
        at[i] = e + i * GRID_THREADS < span.end ? rows[e + i * GRID_THREADS] - base : GRID_NONE(uint32_t);
      for (uint32_t i = 0; i < MERGE_AT_ONCE; i++)
        if (at[i] != GRID_NONE(uint32_t)) grid_or(&s->present[at[i] / WORD], UINT32_C(1) << at[i] % WORD);
    }
  }
}

GRID_DEVICE static inline void merge_sum_words(const struct merge *a, struct merge_shared *s, uint32_t thread) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < a->words; i++) count += grid_ones(s->present[thread * a->words + i]);
  block_sum_put(&s->sum, thread, count);
}

/* The first phases of both passes: marks the tile's rows, and counts them. */
GRID_DEVICE static inline void merge_tally(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                           uint32_t thread, uint32_t phase) {
  switch (phase) {
  case 0: merge_clear(a, s, thread); break;
  case 1: merge_mark(a, s, tile, thread); break;
  case 2: merge_sum_words(a, s, thread); break;
  default: block_sum_group(&s->sum, thread);
  }
}

GRID_DEVICE static inline void merge_count(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                           uint32_t thread, uint32_t phase) {
  if (phase < MERGE_TALLY) merge_tally(a, s, tile, thread, phase);
  else if (thread == 0) a->starts[tile] = block_sum_total(&s->sum);
}
BLOCK_KERNEL(merge_count, struct merge, struct merge_shared)

GRID_DEVICE static inline void merge_place_words(const struct merge *a, struct merge_shared *s, uint32_t thread) {
  uint32_t before = block_sum_before(&s->sum, thread);
  for (uint32_t i = 0; i < a->words; i++) {
    const uint32_t word = thread * a->words + i;
    s->before[word] = before;
    before += grid_ones(s->present[word]);
  }
}

/* An entry on its way to its row's place. */
struct entry {
  uint32_t row, to; /* row: GRID_NONE when there is none */
  float value, sum;
};

GRID_DEVICE static inline struct entry merge_entry(const struct merge *a, uint32_t operand, uint32_t e,
                                                   uint32_t end) {
  struct entry entry = {GRID_NONE(uint32_t), 0, 0, 0};
  if (e >= end) return entry;
  entry.row = a->rows[operand][e];
  entry.value = a->values[operand][e];
  return entry;
}

/* Finds the place of a row, and whether an operand before this one has it. */
GRID_DEVICE static inline uint32_t merge_place(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                               uint32_t row, bool *known) {
  const uint32_t at = row - tile * merge_rows(a->words), bit = UINT32_C(1) << at % WORD;
  const uint32_t to = a->starts[tile] + s->before[at / WORD] + grid_ones(s->present[at / WORD] & (bit - 1));
  *known = (grid_or(&s->added[at / WORD], bit) & bit) != 0;
  if (!*known && to < a->capacity) a->rows_out[to] = row;
  return to;
}

/* Finds the place, and the sum that is there; of a row that comes for the first time that is 0, so that the sum of
 * -0 alone is 0. */
GRID_DEVICE static inline void merge_find(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                          struct entry *entry) {
  bool known;
  if (entry->row == GRID_NONE(uint32_t)) return;
  entry->to = merge_place(a, s, tile, entry->row, &known);
  if (entry->to >= a->capacity) entry->row = GRID_NONE(uint32_t);
  else entry->sum = known ? a->sums[entry->to] : 0;
}

/* One operand's entries, each to its row's place. Its rows are distinct: no two threads meet at a place. */
GRID_DEVICE static inline void merge_add(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                         uint32_t thread, uint32_t operand) {
  const struct span span = merge_span(a, tile, operand);
  for (uint32_t e = span.first + thread; e < span.end; e += MERGE_AT_ONCE * GRID_THREADS) {
    struct entry entry[MERGE_AT_ONCE];
    for (uint32_t i = 0; i < MERGE_AT_ONCE; i++) entry[i] = merge_entry(a, operand, e + i * GRID_THREADS, span.end);
    for (uint32_t i = 0; i < MERGE_AT_ONCE; i++) merge_find(a, s, tile, &entry[i]);
    for (uint32_t i = 0; i < MERGE_AT_ONCE; i++)
      if (entry[i].row != GRID_NONE(uint32_t)) a->sums[entry[i].to] = entry[i].sum + entry[i].value;
  }
}

/* Wide rows take two phases: threads find the entries' places, and then add the entries' elements. */
#define MERGE_KNOWN (UINT32_C(1) << 31) /* in a place: an operand before this one has the row */

GRID_DEVICE static inline void merge_seek(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                          uint32_t thread, uint32_t operand) {
  const struct span span = merge_span(a, tile, operand);
  for (uint32_t e = span.first + thread; e < span.end; e += GRID_THREADS) {
    bool known;
    const uint32_t to = merge_place(a, s, tile, a->rows[operand][e], &known);
    a->places[operand][e] = known ? to | MERGE_KNOWN : to;
  }
}

GRID_DEVICE static inline void merge_add_wide(const struct merge *a, uint32_t tile, uint32_t thread,
                                              uint32_t operand) {
  const struct span span = merge_span(a, tile, operand);
  for (uint32_t i = span.first * a->width + thread; i < span.end * a->width; i += GRID_THREADS) {
    const uint32_t place = a->places[operand][i / a->width], to = place & ~MERGE_KNOWN;
    if (to >= a->capacity) continue;
    float *sum = &a->sums[to * a->width + i % a->width];
    *sum = (place == to ? 0 : *sum) + a->values[operand][i];
  }
}

GRID_DEVICE static inline void merge_write(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                           uint32_t thread, uint32_t phase) {
  if (phase < MERGE_TALLY) merge_tally(a, s, tile, thread, phase);
  else if (phase == MERGE_TALLY) merge_place_words(a, s, thread);
  else if (a->width == 1) merge_add(a, s, tile, thread, phase - MERGE_BEFORE);
  else if ((phase - MERGE_BEFORE) % 2 == 0) merge_seek(a, s, tile, thread, (phase - MERGE_BEFORE) / 2);
  else merge_add_wide(a, tile, thread, (phase - MERGE_BEFORE) / 2);
}
BLOCK_KERNEL(merge_write, struct merge, struct merge_shared)

static bool merge_run(struct grid *g, const struct merge *a, struct ss_error *error) {
  return GRID_RUN(g, merge_bound, a, (uint64_t)a->operands * (a->tiles + 1), NULL, error) &&
         grid_fill(g, a->starts + a->tiles, 0, sizeof *a->starts, error) &&
         BLOCK_RUN(g, merge_count, a, a->tiles, MERGE_TALLY + 1, error) &&
         grid_scan(g, a->starts, (uint64_t)a->tiles + 1, error) &&
         BLOCK_RUN(g, merge_write, a, a->tiles, MERGE_BEFORE + a->operands * (a->width == 1 ? 1 : 2), error);
}

struct dense {
  const float *a, *b;
  float *sum;
  uint64_t n;
};

/* So many numbers are read and written at once: memory that a grid owns is aligned to more. */
enum { DENSE_AT_ONCE = 4 };
struct four {
  float x[DENSE_AT_ONCE];
} __attribute__((aligned(16)));

GRID_DEVICE static inline void dense_add(const struct dense *a, uint32_t i) {
  const uint64_t first = (uint64_t)i * DENSE_AT_ONCE;
  if (a->n - first >= DENSE_AT_ONCE) {
    struct four x = ((const struct four *)(const void *)a->a)[i];
    const struct four y = ((const struct four *)(const void *)a->b)[i];
    for (uint32_t k = 0; k < DENSE_AT_ONCE; k++) x.x[k] += y.x[k];
    ((struct four *)(void *)a->sum)[i] = x;
  } else {
    for (uint64_t k = first; k < a->n; k++) a->sum[k] = a->a[k] + a->b[k];
  }
}
GRID_KERNEL(dense_add, struct dense)

static bool dense_run(struct grid *g, const struct dense *a, struct ss_error *error) {
  return GRID_RUN(g, dense_add, a, (a->n + DENSE_AT_ONCE - 1) / DENSE_AT_ONCE, NULL, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
