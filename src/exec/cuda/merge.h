/* Sums of sorted chunks, and of dense tensors.
 *
 * A tile is TILE_BITS rows, which one block sums: it marks the rows that any operand lists, counts the marks, and
 * adds one operand after the other to the places that the counts say, so that every sum is taken in the order of the
 * operands, as on a CPU. A pass before that counts the rows of the tiles, so that they know where to write. */
#ifndef SS_EXEC_CUDA_MERGE_H
#define SS_EXEC_CUDA_MERGE_H

#include "exec/cuda/bits.h"

enum { MERGE_OPERANDS = 8, MERGE_MARK_PHASES = 5, MERGE_BEFORE = 5 /* phases before those of the operands */ };

struct merge {
  uint32_t operands, tiles;
  const uint32_t *rows[MERGE_OPERANDS];
  const float *values[MERGE_OPERANDS];
  uint32_t count[MERGE_OPERANDS];
  uint32_t *bounds;   /* [operands][tiles + 1] the first entry of each tile */
  uint32_t *places;   /* [tiles + 1] rows of each tile, then where they go */
  uint32_t *rows_out; /* [room] */
  float *sums;
  uint64_t room; /* for the sum of the counts, that cannot be too little */
};

GRID_DEVICE static inline void merge_bound(const struct merge *a, uint32_t i) {
  const uint32_t operand = i / (a->tiles + 1), tile = i % (a->tiles + 1);
  a->bounds[i] = lower_bound(a->rows[operand], a->count[operand], (uint64_t)tile * TILE_BITS);
}
GRID_KERNEL(merge_bound, struct merge)

struct merge_shared {
  struct block_sum sum;
  uint32_t present[TILE_WORDS]; /* rows that any operand lists */
  uint32_t before[TILE_WORDS];  /* and how many of them lie before this word */
  uint32_t added[TILE_WORDS];   /* rows that an operand was added to */
};

GRID_DEVICE static inline void merge_clear(struct merge_shared *s, uint32_t thread) {
  for (uint32_t i = thread; i < TILE_WORDS; i += GRID_THREADS) s->present[i] = s->added[i] = 0;
}

GRID_DEVICE static inline void merge_mark(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                          uint32_t thread) {
  for (uint32_t o = 0; o < a->operands; o++) {
    const uint32_t *bound = a->bounds + (uint64_t)o * (a->tiles + 1) + tile;
    for (uint32_t e = bound[0] + thread; e < bound[1]; e += GRID_THREADS) {
      const uint32_t at = a->rows[o][e] % TILE_BITS;
      grid_or(&s->present[at / WORD], UINT32_C(1) << at % WORD);
    }
  }
}

GRID_DEVICE static inline void merge_sum_words(struct merge_shared *s, uint32_t thread) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < THREAD_WORDS; i++) count += grid_ones(s->present[thread * THREAD_WORDS + i]);
  block_sum_put(&s->sum, thread, count);
}

GRID_DEVICE static inline void merge_count(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                           uint32_t thread, uint32_t phase) {
  switch (phase) {
  case 0: merge_clear(s, thread); break;
  case 1: merge_mark(a, s, tile, thread); break;
  case 2: merge_sum_words(s, thread); break;
  case 3: block_sum_group(&s->sum, thread); break;
  default:
    if (thread == 0) a->places[tile] = block_sum_total(&s->sum);
  }
}
BLOCK_KERNEL(merge_count, struct merge, struct merge_shared)

GRID_DEVICE static inline void merge_place_words(struct merge_shared *s, uint32_t thread) {
  uint32_t before = block_sum_before(&s->sum, thread);
  for (uint32_t i = 0; i < THREAD_WORDS; i++) {
    const uint32_t word = thread * THREAD_WORDS + i;
    s->before[word] = before;
    before += grid_ones(s->present[word]);
  }
}

/* One operand's entries, each to its row's place. Its rows are distinct: no two threads meet at a place. */
GRID_DEVICE static inline void merge_add(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                         uint32_t thread, uint32_t operand) {
  const uint32_t *bound = a->bounds + (uint64_t)operand * (a->tiles + 1) + tile;
  for (uint32_t e = bound[0] + thread; e < bound[1]; e += GRID_THREADS) {
    const uint32_t row = a->rows[operand][e], at = row % TILE_BITS, bit = UINT32_C(1) << at % WORD;
    const uint64_t to =
        (uint64_t)a->places[tile] + s->before[at / WORD] + grid_ones(s->present[at / WORD] & (bit - 1));
    if (to >= a->room) continue;
    if (grid_or(&s->added[at / WORD], bit) & bit) {
      a->sums[to] += a->values[operand][e];
    } else {
      a->rows_out[to] = row;
      a->sums[to] = 0.0F + a->values[operand][e]; /* a sum begins at 0: of -0 alone it is 0 */
    }
  }
}

GRID_DEVICE static inline void merge_write(const struct merge *a, struct merge_shared *s, uint32_t tile,
                                           uint32_t thread, uint32_t phase) {
  switch (phase) {
  case 0: merge_clear(s, thread); break;
  case 1: merge_mark(a, s, tile, thread); break;
  case 2: merge_sum_words(s, thread); break;
  case 3: block_sum_group(&s->sum, thread); break;
  case 4: merge_place_words(s, thread); break;
  default: merge_add(a, s, tile, thread, phase - MERGE_BEFORE);
  }
}
BLOCK_KERNEL(merge_write, struct merge, struct merge_shared)

static bool merge_run(struct grid *g, const struct merge *a, struct ss_error *error) {
  return GRID_RUN(g, merge_bound, a, (uint64_t)a->operands * (a->tiles + 1), NULL, error) &&
         grid_fill(g, a->places + a->tiles, 0, sizeof *a->places, error) &&
         BLOCK_RUN(g, merge_count, a, a->tiles, MERGE_MARK_PHASES, error) &&
         grid_scan(g, a->places, (uint64_t)a->tiles + 1, error) &&
         BLOCK_RUN(g, merge_write, a, a->tiles, MERGE_BEFORE + a->operands, error);
}

struct dense {
  const float *a, *b;
  float *sum;
};

GRID_DEVICE static inline void dense_add(const struct dense *a, uint32_t i) {
  a->sum[i] = a->a[i] + a->b[i];
}
GRID_KERNEL(dense_add, struct dense)

#endif
