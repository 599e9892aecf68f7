/* The blocks of OmniReduce's format: those that hold a listed row, each behind its number. */
#pragma once

#include "kernels/cuda/grid.h"

/* A tile is the blocks that one block of threads writes: several small ones. */
enum { TILE_ELEMENTS = 2048, BLOCKS_PHASES = 3 };

struct blocks {
  const uint32_t *rows;   /* [count] */
  const uint32_t *values; /* [count * width] the bits of floats */
  uint64_t count, all;    /* all: elements of the tensor */
  uint32_t width;         /* elements of a row */
  uint32_t block;         /* at most TILE_ELEMENTS */
  uint32_t each;          /* blocks_each(width, block) */
  uint32_t *heads;        /* [count * each] of each block that comes: its first entry times `each`, and which of the
                             blocks that this entry lies in it is */
  uint32_t *found;        /* how many there are */
  uint32_t *wire;
};

/* The most blocks that one row can lie in. */
SS_DEVICE static inline uint64_t blocks_each(uint64_t width, uint32_t block) {
  return (width + block - 2) / block + 1;
}

/* a / b; a division of 64 bits takes a GPU several times as long as one of 32. */
GRID_DEVICE static inline uint64_t blocks_ratio(uint64_t a, uint32_t b) {
  return a >> 32 ? a / b : (uint32_t)a / b;
}

/* The first and the last block that an entry lies in. */
GRID_DEVICE static inline uint64_t blocks_first(const struct blocks *a, uint32_t entry) {
  return blocks_ratio((uint64_t)a->rows[entry] * a->width, a->block);
}
GRID_DEVICE static inline uint64_t blocks_last(const struct blocks *a, uint32_t entry) {
  return blocks_ratio(((uint64_t)a->rows[entry] + 1) * a->width - 1, a->block);
}

GRID_DEVICE static inline uint32_t blocks_head(const struct blocks *a, uint32_t i) {
  const uint32_t entry = i / a->each;
  const uint64_t number = blocks_first(a, entry) + i % a->each;
  if (number > blocks_last(a, entry) || (entry > 0 && number <= blocks_last(a, entry - 1)))
    return GRID_NONE(uint32_t);
  return i;
}
GRID_SELECT(blocks_head, struct blocks, uint32_t)

struct blocks_shared {
  uint32_t element[TILE_ELEMENTS];
  uint32_t number[TILE_ELEMENTS]; /* of each block here */
};

/* Blocks of a tile. */
SS_DEVICE static inline uint32_t blocks_per_tile(uint32_t block) {
  return TILE_ELEMENTS / block;
}

GRID_DEVICE static inline uint32_t blocks_here(const struct blocks *a, uint32_t tile) {
  const uint64_t first = (uint64_t)tile * blocks_per_tile(a->block), found = *a->found;
  if (first >= found) return 0;
  return found - first < blocks_per_tile(a->block) ? (uint32_t)(found - first) : blocks_per_tile(a->block);
}

GRID_DEVICE static inline void blocks_prepare(const struct blocks *a, struct blocks_shared *s, uint32_t tile,
                                              uint32_t thread, uint32_t here) {
  const uint64_t first = (uint64_t)tile * blocks_per_tile(a->block);
  for (uint32_t i = thread; i < here * a->block; i += GRID_THREADS) s->element[i] = 0;
  for (uint32_t i = thread; i < here; i += GRID_THREADS) {
    const uint32_t head = a->heads[first + i];
    s->number[i] = (uint32_t)(blocks_first(a, head / a->each) + head % a->each);
  }
}

/* Which of an entry's values are the first at or behind an element of the tensor. */
GRID_DEVICE static inline uint32_t blocks_value(const struct blocks *a, uint32_t entry, uint64_t element) {
  const uint64_t begin = (uint64_t)a->rows[entry] * a->width, skip = element > begin ? element - begin : 0;
  return entry * a->width + (skip < a->width ? (uint32_t)skip : a->width);
}

/* The values from where the first block here begins to where the last one ends: all that lies between is of blocks
 * that are here. */
GRID_DEVICE static inline void blocks_gather(const struct blocks *a, struct blocks_shared *s, uint32_t tile,
                                             uint32_t thread, uint32_t here) {
  const uint64_t first = (uint64_t)tile * blocks_per_tile(a->block), next = first + here;
  const uint32_t last = next < *a->found ? a->heads[next] / a->each : (uint32_t)a->count - 1;
  const uint32_t begin = blocks_value(a, a->heads[first] / a->each, (uint64_t)s->number[0] * a->block);
  const uint32_t end = blocks_value(a, last, ((uint64_t)s->number[here - 1] + 1) * a->block);
  for (uint32_t i = begin + thread; i < end; i += GRID_THREADS) {
    const uint64_t element = (uint64_t)a->rows[i / a->width] * a->width + i % a->width;
    const uint64_t number = blocks_ratio(element, a->block);
    const uint32_t block = (uint32_t)ss_lower_bound(s->number, here, number);
    s->element[block * a->block + (uint32_t)(element - number * a->block)] = a->values[i];
  }
}

GRID_DEVICE static inline void blocks_write(const struct blocks *a, const struct blocks_shared *s, uint32_t tile,
                                            uint32_t thread, uint32_t here) {
  const uint64_t first = (uint64_t)tile * blocks_per_tile(a->block);
  const uint32_t words = a->block + 1;
  for (uint32_t i = thread; i < here * words; i += GRID_THREADS) {
    const uint32_t block = i / words, at = i % words, number = s->number[block];
    uint32_t *out = &a->wire[first * words + i];
    if (at == 0) *out = number;
    else if ((uint64_t)number * a->block + at <= a->all) *out = s->element[block * a->block + at - 1];
  }
}

GRID_DEVICE static inline void blocks_encode(const struct blocks *a, struct blocks_shared *s, uint32_t tile,
                                             uint32_t thread, uint32_t phase) {
  const uint32_t here = blocks_here(a, tile);
  if (here == 0) return;
  if (phase == 0) blocks_prepare(a, s, tile, thread, here);
  else if (phase == 1) blocks_gather(a, s, tile, thread, here);
  else blocks_write(a, s, tile, thread, here);
}
BLOCK_KERNEL(blocks_encode, struct blocks, struct blocks_shared)

static bool blocks_run(struct grid *g, const struct blocks *a, struct ss_error *error) {
  const uint64_t whole = (a->all + a->block - 1) / a->block, pairs = a->count * a->each;
  const uint64_t most = whole < pairs ? whole : pairs;
  const uint32_t per = blocks_per_tile(a->block);
  return GRID_RUN_SELECT(g, blocks_head, a, pairs, a->heads, a->found, error) &&
         BLOCK_RUN(g, blocks_encode, a, (most + per - 1) / per, BLOCKS_PHASES, error);
}

/* --- decoding ----------------------------------------------------------------------------------------------- */

/* A row is written by the block that it ends in, if all blocks that it lies in came: their numbers ascend, so that
 * the one which is d before it must lie d before it. */
struct unblock {
  const uint32_t *wire; /* [words] */
  uint64_t words, all;
  uint32_t width, block;
  uint32_t *starts; /* [unblock_blocks + 1] rows that each block writes, then where to; the last is the total */
  uint32_t *rows, *values; /* [words / width], [words] */
  uint32_t *wrong;         /* set when a number is out of range or out of order, or its block is cut short */
};

SS_DEVICE static inline uint64_t unblock_blocks(const struct unblock *a) {
  return (a->words + a->block) / (a->block + UINT64_C(1));
}

GRID_DEVICE static inline uint32_t unblock_number(const struct unblock *a, uint64_t block) {
  return a->wire[block * (a->block + UINT64_C(1))];
}

/* Elements of a block by its number. */
GRID_DEVICE static inline uint64_t unblock_length(const struct unblock *a, uint32_t number) {
  const uint64_t first = (uint64_t)number * a->block, left = first < a->all ? a->all - first : 0;
  return left < a->block ? left : a->block;
}

GRID_DEVICE static inline bool unblock_fits(const struct unblock *a, uint32_t block) {
  const uint32_t number = unblock_number(a, block);
  const uint64_t length = unblock_length(a, number), left = a->words - block * (a->block + UINT64_C(1)) - 1;
  if (length == 0 || (block > 0 && number <= unblock_number(a, block - 1))) return false;
  return left >= length && (left == length || length == a->block);
}

/* Rows from `low` to below `high`. */
struct ended {
  uint64_t low, high;
};

/* The rows that a block writes. Only the first that ends here may have begun before. */
GRID_DEVICE static inline struct ended unblock_ended(const struct unblock *a, uint64_t block) {
  const uint32_t number = unblock_number(a, block);
  const uint64_t first = (uint64_t)number * a->block, end = first + unblock_length(a, number);
  struct ended rows = {blocks_ratio(first, a->width), blocks_ratio(end, a->width)};
  const uint64_t begin = blocks_ratio(rows.low * a->width, a->block), back = number - begin;
  if (rows.low < rows.high && (back > block || unblock_number(a, block - back) != begin)) rows.low++;
  return rows;
}

GRID_DEVICE static inline void unblock_count(const struct unblock *a, uint32_t block) {
  const struct ended rows = unblock_ended(a, block);
  if (!unblock_fits(a, block)) grid_set(a->wrong, 1);
  a->starts[block] = (uint32_t)(rows.high - rows.low);
}
GRID_KERNEL(unblock_count, struct unblock)

GRID_DEVICE static inline void unblock_word(const struct unblock *a, uint32_t i) {
  const uint32_t block = i / (a->block + 1), at = i % (a->block + 1), number = a->wire[i - at];
  if (at == 0) return;
  const uint64_t element = (uint64_t)number * a->block + at - 1, row = blocks_ratio(element, a->width);
  const uint64_t last = blocks_ratio((row + 1) * a->width - 1, a->block), end = block + (last - number);
  if (end >= unblock_blocks(a)) return;
  const struct ended rows = unblock_ended(a, end);
  const uint64_t to = a->starts[end] + (row - rows.low), column = element - row * a->width;
  if (row < rows.low || row >= rows.high || (to + 1) * a->width > a->words) return;
  if (column == 0) a->rows[to] = (uint32_t)row;
  a->values[to * a->width + column] = a->wire[i];
}
GRID_KERNEL(unblock_word, struct unblock)

static bool unblock_run(struct grid *g, const struct unblock *a, struct ss_error *error) {
  const uint64_t blocks = unblock_blocks(a);
  return grid_fill(g, a->wrong, 0, sizeof *a->wrong, error) &&
         grid_fill(g, a->starts + blocks, 0, sizeof *a->starts, error) &&
         GRID_RUN(g, unblock_count, a, blocks, NULL, error) && grid_scan(g, a->starts, blocks + 1, error) &&
         GRID_RUN(g, unblock_word, a, a->words, NULL, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
