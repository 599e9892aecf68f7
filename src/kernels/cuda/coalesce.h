/* Coalescing: by a bitmap where there are enough ids for its words, else by sorting (as tensor/coalesce.c). */
#pragma once

#include "kernels/cuda/bits.h"

struct ids {
  const uint32_t *rows;
  uint32_t *words;
};

/* Reading first spares most of the atomic operations on ids that come often. */
GRID_DEVICE static inline void ids_mark(const struct ids *a, uint32_t i) {
  uint32_t *word = &a->words[a->rows[i] / WORD];
  const uint32_t bit = UINT32_C(1) << a->rows[i] % WORD;
  if (!(grid_look(word) & bit)) grid_or(word, bit);
}
GRID_KERNEL(ids_mark, struct ids)

GRID_DEVICE static inline uint32_t ids_distinct(const struct ids *a, uint32_t i) {
  return i > 0 && a->rows[i] == a->rows[i - 1] ? GRID_NONE(uint32_t) : a->rows[i];
}
GRID_SELECT(ids_distinct, struct ids, uint32_t)

struct coalescing {
  const uint32_t *rows; /* [count] in any order */
  uint64_t count, range;
  uint32_t *words, *tiles; /* of a bitmap of the range */
  uint32_t *sorted;        /* [count] */
  uint32_t *out;           /* [count] */
  uint32_t *found;         /* how many are in `out` */
};

static bool coalesce_by_bits(struct grid *g, const struct coalescing *c, struct ss_error *error) {
  const struct ids ids = {.rows = c->rows, .words = c->words};
  const struct bits bits = {
      .words = c->words, .size = c->range, .tiles = c->tiles, .rows = c->out, .capacity = c->count};
  return grid_fill(g, c->words, 0, bits_words(c->range) * sizeof *c->words, error) &&
         GRID_RUN(g, ids_mark, &ids, c->count, NULL, error) && bits_to_rows(g, &bits, error) &&
         grid_copy(g, c->found, c->tiles + bits_tiles(c->range), sizeof *c->found, error);
}

static int bits_of(uint64_t most) {
  int bits = 1;
  while (bits < 32 && most >> bits) bits++;
  return bits;
}

static bool coalesce_by_sorting(struct grid *g, const struct coalescing *c, struct ss_error *error) {
  const struct ids ids = {.rows = c->sorted};
  return grid_sort_rows(g, c->rows, c->sorted, c->count, bits_of(c->range), error) &&
         GRID_RUN_SELECT(g, ids_distinct, &ids, c->count, c->out, c->found, error);
}

static bool coalesce_run(struct grid *g, const struct coalescing *c, struct ss_error *error) {
  if (c->count == 0) return grid_fill(g, c->found, 0, sizeof *c->found, error);
  return c->range / 64 <= c->count ? coalesce_by_bits(g, c, error) : coalesce_by_sorting(g, c, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
