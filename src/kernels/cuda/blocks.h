/* The blocks of OmniReduce's format: those that hold a listed row, each behind its number. */
#pragma once

#include "kernels/cuda/grid.h"

/* A tile is the blocks that one block of threads writes: several small ones. */
enum { TILE_ELEMENTS = 2048, BLOCKS_PHASES = 3 };

struct blocks {
  const uint32_t *rows;   /* [count] */
  const uint32_t *values; /* [count] the bits of floats */
  uint64_t count, all;    /* all: elements of the tensor */
  uint32_t block;         /* at most TILE_ELEMENTS */
  uint32_t *heads;        /* [count] the first entry of each block that has one */
  uint32_t *found;        /* how many there are */
  uint32_t *wire;
};

GRID_DEVICE static inline uint32_t blocks_head(const struct blocks *a, uint32_t i) {
  return i > 0 && a->rows[i] / a->block == a->rows[i - 1] / a->block ? GRID_NONE(uint32_t) : i;
}
GRID_SELECT(blocks_head, struct blocks, uint32_t)

struct blocks_shared {
  uint32_t element[TILE_ELEMENTS];
  uint32_t head[TILE_ELEMENTS + 1]; /* of each block here, and of the one behind */
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
  for (uint32_t i = thread; i <= here; i += GRID_THREADS)
    s->head[i] = first + i < *a->found ? a->heads[first + i] : (uint32_t)a->count;
}

GRID_DEVICE static inline void blocks_gather(const struct blocks *a, struct blocks_shared *s, uint32_t thread,
                                             uint32_t here) {
  for (uint32_t e = s->head[0] + thread; e < s->head[here]; e += GRID_THREADS) {
    const uint32_t block = (uint32_t)ss_lower_bound(s->head, here + 1, (uint64_t)e + 1) - 1;
    s->element[block * a->block + a->rows[e] % a->block] = a->values[e];
  }
}

GRID_DEVICE static inline void blocks_write(const struct blocks *a, const struct blocks_shared *s, uint32_t tile,
                                            uint32_t thread, uint32_t here) {
  const uint64_t first = (uint64_t)tile * blocks_per_tile(a->block);
  const uint32_t words = a->block + 1;
  for (uint32_t i = thread; i < here * words; i += GRID_THREADS) {
    const uint32_t block = i / words, at = i % words, number = a->rows[s->head[block]] / a->block;
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
  else if (phase == 1) blocks_gather(a, s, thread, here);
  else blocks_write(a, s, tile, thread, here);
}
BLOCK_KERNEL(blocks_encode, struct blocks, struct blocks_shared)

static bool blocks_run(struct grid *g, const struct blocks *a, struct ss_error *error) {
  const uint64_t whole = (a->all + a->block - 1) / a->block, most = whole < a->count ? whole : a->count;
  const uint32_t per = blocks_per_tile(a->block);
  return GRID_RUN_SELECT(g, blocks_head, a, a->count, a->heads, a->found, error) &&
         BLOCK_RUN(g, blocks_encode, a, (most + per - 1) / per, BLOCKS_PHASES, error);
}

/* --- decoding ----------------------------------------------------------------------------------------------- */

struct unblock {
  const uint32_t *wire; /* [words] */
  uint64_t words, all;
  uint32_t block;
  uint32_t *rows, *values; /* [words less one for each block] */
  uint32_t *wrong;         /* set when a number is out of range or out of order, or its block is cut short */
};

GRID_DEVICE static inline bool unblock_fits(const struct unblock *a, uint32_t number, uint32_t head) {
  const uint64_t first = (uint64_t)number * a->block, left = a->words - head - 1;
  if (first >= a->all || (head > 0 && number <= a->wire[head - a->block - 1])) return false;
  const uint64_t length = a->all - first < a->block ? a->all - first : a->block;
  return left >= length && (left == length || length == a->block);
}

GRID_DEVICE static inline void unblock_word(const struct unblock *a, uint32_t i) {
  const uint32_t block = i / (a->block + 1), at = i % (a->block + 1), number = a->wire[i - at];
  if (at == 0) {
    if (!unblock_fits(a, number, i)) grid_set(a->wrong, 1);
    return;
  }
  const uint64_t to = (uint64_t)block * a->block + at - 1;
  a->rows[to] = number * a->block + at - 1;
  a->values[to] = a->wire[i];
}
GRID_KERNEL(unblock_word, struct unblock)

static bool unblock_run(struct grid *g, const struct unblock *a, struct ss_error *error) {
  return grid_fill(g, a->wrong, 0, sizeof *a->wrong, error) && GRID_RUN(g, unblock_word, a, a->words, NULL, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
