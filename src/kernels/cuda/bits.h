/* Bits of a bitmap: from rows, and back to rows. Coalescing, bitmaps and hash bitmaps are made of these.
 *
 * A tile is what one block turns into rows: it counts the bits of all tiles, sums the counts, and writes each tile's
 * rows from its index on, by way of shared memory, so that threads side by side write side by side. */
#pragma once

#include "kernels/cuda/grid.h"

enum { WORD = 32, THREAD_WORDS = 4, TILE_WORDS = GRID_THREADS * THREAD_WORDS, TILE_BITS = TILE_WORDS * WORD };
/* Rows that are put in order at once: a tile of nothing but ones takes several windows. */
enum { WINDOW = TILE_BITS / 4, WINDOWS = TILE_BITS / WINDOW };
enum { BITS_COUNT_PHASES = 3, BITS_EMIT_PHASES = 3 + 2 * WINDOWS };

/* --- bits to rows ----------------------------------------------------------------------------------------- */

struct bits {
  const uint32_t *words; /* little-endian; what lies behind `size` bits is ignored */
  uint64_t size;         /* bits */
  uint32_t *tiles; /* [bits_tiles(size) + 1] for counts of tiles, then where each begins; the last is the total */
  const uint32_t *domain; /* which row bit i stands for; NULL: row i */
  uint32_t *rows;         /* [room]; more are not written */
  uint64_t capacity;
};

SS_DEVICE static inline uint64_t bits_words(uint64_t size) {
  return (size + WORD - 1) / WORD;
}
SS_DEVICE static inline uint64_t bits_tiles(uint64_t size) {
  return (size + TILE_BITS - 1) / TILE_BITS;
}

GRID_DEVICE static inline uint32_t bits_word(const struct bits *a, uint64_t word) {
  if (word * WORD >= a->size) return 0;
  const uint64_t left = a->size - word * WORD;
  return left >= WORD ? a->words[word] : a->words[word] & ((UINT32_C(1) << left) - 1);
}

GRID_DEVICE static inline void bits_count(const struct bits *a, struct block_sum *s, uint32_t tile, uint32_t thread,
                                          uint32_t phase) {
  uint32_t count = 0;
  switch (phase) {
  case 0: /* a thread's words lie apart, those of neighbours together */
    for (uint32_t i = 0; i < THREAD_WORDS; i++)
      count += grid_ones(bits_word(a, (uint64_t)tile * TILE_WORDS + i * GRID_THREADS + thread));
    block_sum_put(s, thread, count);
    break;
  case 1: block_sum_group(s, thread); break;
  default:
    if (thread == 0) a->tiles[tile] = block_sum_total(s);
  }
}
BLOCK_KERNEL(bits_count, struct bits, struct block_sum)

struct bits_shared {
  struct block_sum sum;
  uint32_t word[TILE_WORDS];
  uint32_t start[GRID_THREADS]; /* where a thread's rows begin within the tile */
  uint16_t staged[WINDOW];      /* bits, within the tile */
};

/* Here a thread's words lie together, and so do their rows. */
GRID_DEVICE static inline void bits_load(const struct bits *a, struct bits_shared *s, uint32_t tile,
                                         uint32_t thread) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < THREAD_WORDS; i++) {
    const uint32_t at = thread * THREAD_WORDS + i, word = bits_word(a, (uint64_t)tile * TILE_WORDS + at);
    s->word[at] = word;
    count += grid_ones(word);
  }
  block_sum_put(&s->sum, thread, count);
}

GRID_DEVICE static inline void bits_stage(struct bits_shared *s, uint32_t thread, uint32_t window) {
  const uint32_t low = window * WINDOW, high = low + WINDOW;
  uint32_t index = s->start[thread];
  if (index >= high || index + s->sum.count[thread] <= low) return;
  for (uint32_t i = 0; i < THREAD_WORDS; i++) {
    const uint32_t at = thread * THREAD_WORDS + i;
    for (uint32_t left = s->word[at]; left; left &= left - 1, index++)
      if (index >= low && index < high) s->staged[index - low] = (uint16_t)(at * WORD + grid_lowest(left));
  }
}

GRID_DEVICE static inline void bits_flush(const struct bits *a, const struct bits_shared *s, uint32_t tile,
                                          uint32_t thread, uint32_t window) {
  const uint32_t total = s->start[GRID_THREADS - 1] + s->sum.count[GRID_THREADS - 1], low = window * WINDOW;
  for (uint32_t i = low + thread; i < total && i < low + WINDOW; i += GRID_THREADS) {
    const uint64_t to = (uint64_t)a->tiles[tile] + i, bit = (uint64_t)tile * TILE_BITS + s->staged[i - low];
    if (to < a->capacity) a->rows[to] = a->domain ? a->domain[bit] : (uint32_t)bit;
  }
}

GRID_DEVICE static inline void bits_emit(const struct bits *a, struct bits_shared *s, uint32_t tile, uint32_t thread,
                                         uint32_t phase) {
  if (phase == 0) bits_load(a, s, tile, thread);
  else if (phase == 1) block_sum_group(&s->sum, thread);
  else if (phase == 2) s->start[thread] = block_sum_before(&s->sum, thread);
  else if (phase % 2 == 1) bits_stage(s, thread, (phase - 3) / 2);
  else bits_flush(a, s, tile, thread, (phase - 3) / 2);
}
BLOCK_KERNEL(bits_emit, struct bits, struct bits_shared)

static bool bits_to_rows(struct grid *g, const struct bits *a, struct ss_error *error) {
  const uint64_t tiles = bits_tiles(a->size);
  return grid_fill(g, a->tiles + tiles, 0, sizeof *a->tiles, error) &&
         BLOCK_RUN(g, bits_count, a, tiles, BITS_COUNT_PHASES, error) && grid_scan(g, a->tiles, tiles + 1, error) &&
         BLOCK_RUN(g, bits_emit, a, tiles, BITS_EMIT_PHASES, error);
}

/* --- rows to bits ----------------------------------------------------------------------------------------- */

enum { ENTRIES = 4 /* of a thread: neighbours share words, and a word is written once for all that it gets */ };

/* A domain's guide says where the rows of each stretch of STRETCH begin, so that a row is found in few steps. */
enum { STRETCH = 512 };

struct marks {
  const uint32_t *rows; /* [count] ascending */
  uint32_t count;
  const uint32_t *domain, *guide; /* the rows that have a bit each, [STRETCHES + 1]; NULL: row i is bit i */
  uint32_t *words;                /* zeros, where there is no other bit yet */
};

GRID_DEVICE static inline uint32_t marks_bit(const struct marks *a, uint32_t row) {
  if (!a->domain) return row;
  const uint32_t first = a->guide[row / STRETCH], end = a->guide[row / STRETCH + 1];
  return first + (uint32_t)ss_lower_bound(a->domain + first, end - first, row);
}

GRID_DEVICE static inline void marks_put(const struct marks *a, uint32_t i) {
  const uint32_t first = i * ENTRIES, end = a->count - first < ENTRIES ? a->count : first + ENTRIES;
  uint32_t word = 0, bits = 0;
  for (uint32_t e = first; e < end; e++) {
    const uint32_t bit = marks_bit(a, a->rows[e]);
    if (bits && bit / WORD != word) {
      grid_or(&a->words[word], bits);
      bits = 0;
    }
    word = bit / WORD;
    bits |= UINT32_C(1) << bit % WORD;
  }
  if (bits) grid_or(&a->words[word], bits);
}
GRID_KERNEL(marks_put, struct marks)

static bool rows_to_bits(struct grid *g, const struct marks *a, struct ss_error *error) {
  return GRID_RUN(g, marks_put, a, (a->count + (uint64_t)ENTRIES - 1) / ENTRIES, NULL, error);
}

struct guide {
  const uint32_t *domain;
  uint32_t count;
  uint32_t *guide;
};

GRID_DEVICE static inline void guide_put(const struct guide *a, uint32_t i) {
  a->guide[i] = (uint32_t)ss_lower_bound(a->domain, a->count, (uint64_t)i * STRETCH);
}
GRID_KERNEL(guide_put, struct guide)

/* --- values behind bits ----------------------------------------------------------------------------------- */

/* Bits take whole bytes, and values follow at once: words of the wire hold the end of one value and the beginning of
 * the next, `shift` bytes into the word. */
struct tail {
  const uint32_t *values;
  uint32_t count;
  uint32_t *wire;
  uint64_t first; /* the word of the wire where the values begin */
  uint32_t shift; /* 0 to 3 */
};

/* Word i of those that hold values. The first has bits too, and the last may end early: they are or-ed to. */
GRID_DEVICE static inline void tail_put(const struct tail *a, uint32_t i) {
  const uint32_t shift = 8 * a->shift;
  uint32_t word = i < a->count ? a->values[i] << shift : 0;
  if (shift > 0 && i > 0) word |= a->values[i - 1] >> (WORD - shift);
  if (shift > 0 && (i == 0 || i == a->count)) grid_or(&a->wire[a->first + i], word);
  else a->wire[a->first + i] = word;
}
GRID_KERNEL(tail_put, struct tail)

struct head {
  const uint32_t *wire;
  uint64_t first;
  uint32_t shift;
  uint32_t *values;
};

GRID_DEVICE static inline void tail_get(const struct head *a, uint32_t i) {
  const uint32_t *from = &a->wire[a->first + i], shift = 8 * a->shift;
  a->values[i] = shift > 0 ? from[0] >> shift | from[1] << (WORD - shift) : from[0];
}
GRID_KERNEL(tail_get, struct head)

/* --- bitmaps ---------------------------------------------------------------------------------------------- */

/* A bitmap of `size` bits and its values, on the device. `wire` has room for whole words, and one more. */
struct bitmap {
  const uint32_t *rows;
  const uint32_t *values; /* [count * width] the bits of floats */
  uint32_t count, width;
  uint64_t size;
  const uint32_t *domain, *guide;
  uint32_t *wire;
};

static uint64_t bitmap_bytes(const struct bitmap *b) {
  return (b->size + 7) / 8 + 4 * (uint64_t)b->count * b->width;
}

static bool bitmap_encode(struct grid *g, const struct bitmap *b, struct ss_error *error) {
  const uint64_t bytes = (b->size + 7) / 8;
  const struct marks marks = {
      .rows = b->rows, .count = b->count, .domain = b->domain, .guide = b->guide, .words = b->wire};
  const struct tail tail = {.values = b->values,
                            .count = b->count * b->width,
                            .wire = b->wire,
                            .first = bytes / 4,
                            .shift = (uint32_t)(bytes % 4)};
  return grid_fill(g, b->wire, 0, (bytes / 4 + 1) * 4, error) &&
         grid_fill(g, b->wire + bitmap_bytes(b) / 4, 0, 4, error) && rows_to_bits(g, &marks, error) &&
         GRID_RUN(g, tail_put, &tail, tail.count > 0 ? tail.count + (uint64_t)(tail.shift > 0) : 0, NULL, error);
}

/* Into rows[count] and values[count * width], `count` being what the receiver knows; tiles[last] becomes what came.
 */
static bool bitmap_decode(struct grid *g, const struct bitmap *b, uint32_t *tiles, uint32_t *rows, uint32_t *values,
                          struct ss_error *error) {
  const uint64_t bytes = (b->size + 7) / 8;
  struct bits bits = {.words = b->wire, .size = b->size, .domain = b->domain, .capacity = b->count};
  struct head head = {.wire = b->wire, .first = bytes / 4, .shift = (uint32_t)(bytes % 4)};
  bits.tiles = tiles;
  bits.rows = rows;
  head.values = values;
  return bits_to_rows(g, &bits, error) && GRID_RUN(g, tail_get, &head, (uint64_t)b->count * b->width, NULL, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
