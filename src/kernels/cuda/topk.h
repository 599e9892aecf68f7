/* Top-k of floats, as tensor/topk.c: a sample gives a bound that a few more than k floats should reach, one pass
 * gathers those that do, in order, and among these the k-th is found, digit by digit. */
#pragma once

#include "kernels/cuda/grid.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "tensor/topk_key.h"
#ifdef __cplusplus
}
#endif

/* --- the k-th largest of distinct or equal keys ------------------------------------------------------------- */

enum { DIGIT = 11, BINS = 1 << DIGIT, THREAD_BINS = BINS / GRID_THREADS, BLOCK_KEYS = 16 * GRID_THREADS };
enum { HISTOGRAM_PHASES = 3, PICK_PHASES = 4 };

struct kth {
  uint64_t prefix; /* the digits found so far; when it is done: the least key of those wanted, or less */
  uint32_t order;  /* of the wanted key, from 1 for the largest, among those that begin so */
  uint32_t done;   /* all that begin so are wanted: no digit that follows parts them */
};

struct digit {
  const uint64_t *keys; /* [count] */
  uint64_t count;
  uint32_t *histogram; /* [BINS] zeros between digits */
  struct kth *state;
  uint32_t shift, width; /* of the digit that is looked at; together below 64 */
  uint32_t order;        /* of the key that is looked for */
};

GRID_DEVICE static inline bool digit_begins(const struct digit *a, uint64_t key) {
  return key >> (a->shift + a->width) == a->state->prefix;
}

struct digit_shared {
  uint32_t count[BINS];
};

GRID_DEVICE static inline void digit_count(const struct digit *a, struct digit_shared *s, uint32_t block,
                                           uint32_t thread, uint32_t phase) {
  const uint64_t first = (uint64_t)block * BLOCK_KEYS, last = first + BLOCK_KEYS,
                 end = last < a->count ? last : a->count;
  switch (phase) {
  case 0:
    for (uint32_t i = thread; i < BINS; i += GRID_THREADS) s->count[i] = 0;
    break;
  case 1:
    for (uint64_t i = first + thread; i < end && !a->state->done; i += GRID_THREADS)
      if (digit_begins(a, a->keys[i]))
        grid_add(&s->count[a->keys[i] >> a->shift & ((UINT32_C(1) << a->width) - 1)], 1);
    break;
  default:
    for (uint32_t i = thread; i < BINS; i += GRID_THREADS)
      if (s->count[i]) grid_add(&a->histogram[i], s->count[i]);
  }
}
BLOCK_KERNEL(digit_count, struct digit, struct digit_shared)

struct pick_shared {
  struct block_sum sum;
  struct kth state;
};

/* Thread t has the t-th THREAD_BINS bins from the top. (When it is done, nothing is counted any more, and found.) */
GRID_DEVICE static inline uint32_t pick_bin(uint32_t thread, uint32_t i) {
  return BINS - 1 - (thread * THREAD_BINS + i);
}

GRID_DEVICE static inline void pick_digit(const struct digit *a, struct pick_shared *s, uint32_t thread) {
  uint32_t above = block_sum_before(&s->sum, thread);
  if (above >= s->state.order || above + s->sum.count[thread] < s->state.order) return;
  for (uint32_t i = 0; i < THREAD_BINS; i++) {
    const uint32_t bin = pick_bin(thread, i), count = a->histogram[bin];
    if (above + count >= s->state.order) {
      a->state->order = s->state.order - above;
      a->state->done = a->shift == 0 || count == s->state.order - above;
      a->state->prefix = (s->state.prefix << a->width | bin) << (a->state->done ? a->shift : 0);
      return;
    }
    above += count;
  }
}

/* By one block. */
GRID_DEVICE static inline void pick(const struct digit *a, struct pick_shared *s, uint32_t block, uint32_t thread,
                                    uint32_t phase) {
  uint32_t count = 0;
  (void)block;
  switch (phase) {
  case 0:
    for (uint32_t i = 0; i < THREAD_BINS; i++) count += a->histogram[pick_bin(thread, i)];
    block_sum_put(&s->sum, thread, count);
    if (thread == 0) s->state = *a->state;
    break;
  case 1: block_sum_group(&s->sum, thread); break;
  case 2: pick_digit(a, s, thread); break;
  default:
    for (uint32_t i = 0; i < THREAD_BINS; i++) a->histogram[pick_bin(thread, i)] = 0;
  }
}
BLOCK_KERNEL(pick, struct digit, struct pick_shared)

GRID_DEVICE static inline void digit_begin(const struct digit *a, uint32_t i) {
  (void)i;
  a->state->prefix = 0;
  a->state->order = a->order;
  a->state->done = 0;
}
GRID_KERNEL(digit_begin, struct digit)

/* A bound that the first `order` keys, and no more, reach, into state->prefix. Keys are below 2^bits; those that
 * equal the order-th reach it with it. 1 <= order <= count. */
static bool find_kth(struct grid *g, const struct digit *a, uint32_t bits, struct ss_error *error) {
  const uint64_t blocks = (a->count + BLOCK_KEYS - 1) / BLOCK_KEYS;
  struct digit now = *a;
  if (!GRID_RUN(g, digit_begin, a, 1, NULL, error)) return false;
  for (uint32_t left = bits; left > 0; left = now.shift) {
    now.width = left < DIGIT ? left : (uint32_t)DIGIT;
    now.shift = left - now.width;
    if (!BLOCK_RUN(g, digit_count, &now, blocks, HISTOGRAM_PHASES, error) ||
        !BLOCK_RUN(g, pick, &now, 1, PICK_PHASES, error))
      return false;
  }
  return true;
}

/* --- floats ------------------------------------------------------------------------------------------------- */

struct topk {
  const float *values; /* [n] */
  uint64_t n, k;
  struct digit digit; /* its keys: [n], and no less than the sample */
  uint64_t *keys;     /* the same, to write to */
  int32_t *bound;     /* least key of a candidate */
  uint32_t *found;    /* how many candidates there are; then, how many are kept */
  uint32_t *lost;     /* the complement of the lowest index of a NaN, or 0 */
  uint32_t *out;      /* [min(k, n)] */
  uint32_t guessed;   /* by a sample, else every number but zero is a candidate */
  uint32_t all;       /* no more candidates than k: all are kept */
};

enum { TOPK_SMALL = 4 * SS_TOPK_SAMPLE, KEY_BITS = 31, CANDIDATE_BITS = 63 };

GRID_DEVICE static inline void topk_sample(const struct topk *a, uint32_t i) {
  a->keys[i] = (uint64_t)ss_topk_key(a->values[ss_topk_sampled(a->n, SS_TOPK_SAMPLE, i)]);
}
GRID_KERNEL(topk_sample, struct topk)

GRID_DEVICE static inline void topk_set_bound(const struct topk *a, uint32_t i) {
  (void)i;
  *a->bound = a->guessed ? ss_topk_bound(a->digit.state->prefix) : 1;
}
GRID_KERNEL(topk_set_bound, struct topk)

GRID_DEVICE static inline uint64_t topk_candidate(const struct topk *a, uint32_t i) {
  const int32_t key = ss_topk_key(a->values[i]);
  if (key > SS_TOPK_INFINITE) grid_max(a->lost, ~i);
  return key >= *a->bound ? ss_topk_candidate(key, i) : GRID_NONE(uint64_t);
}
GRID_SELECT(topk_candidate, struct topk, uint64_t)

GRID_DEVICE static inline uint32_t topk_kept(const struct topk *a, uint32_t i) {
  return a->all || a->keys[i] >= a->digit.state->prefix ? ss_topk_index(a->keys[i]) : GRID_NONE(uint32_t);
}
GRID_SELECT(topk_kept, struct topk, uint32_t)

/* The candidates, and how many they are: waits to hear that. */
static bool topk_gather(struct grid *g, const struct topk *a, uint32_t *found, struct ss_error *error) {
  return GRID_RUN(g, topk_set_bound, a, 1, NULL, error) &&
         GRID_RUN_SELECT(g, topk_candidate, a, a->n, a->keys, a->found, error) &&
         grid_get(g, found, a->found, sizeof *found, error);
}

static bool topk_guess(struct grid *g, struct topk *a, uint32_t *found, struct ss_error *error) {
  const uint64_t order = ss_topk_order(a->n, SS_TOPK_SAMPLE, a->k);
  struct digit sample = a->digit;
  a->guessed = a->n > TOPK_SMALL && order <= SS_TOPK_SAMPLE;
  if (!a->guessed) return topk_gather(g, a, found, error);
  sample.count = SS_TOPK_SAMPLE;
  sample.order = (uint32_t)order;
  if (!GRID_RUN(g, topk_sample, a, SS_TOPK_SAMPLE, NULL, error) || !find_kth(g, &sample, KEY_BITS, error) ||
      !topk_gather(g, a, found, error))
    return false;
  if (*found >= a->k) return true;
  a->guessed = false; /* the guess was too high */
  return topk_gather(g, a, found, error);
}

static bool topk_run(struct grid *g, const struct topk *a, struct ss_error *error) {
  struct topk now = *a;
  uint32_t found;
  if (!grid_fill(g, a->lost, 0, sizeof *a->lost, error)) return false;
  if (a->k == 0 || a->n == 0) return grid_fill(g, a->found, 0, sizeof *a->found, error);
  if (!topk_guess(g, &now, &found, error)) return false;
  now.all = found <= a->k;
  now.digit.count = found;
  now.digit.order = (uint32_t)a->k;
  if (!now.all && !find_kth(g, &now.digit, CANDIDATE_BITS, error)) return false;
  return GRID_RUN_SELECT(g, topk_kept, &now, found, a->out, a->found, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
