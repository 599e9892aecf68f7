/* The vocabulary of kernels/cuda/grid.h on a CPU, to be included before it: threads and blocks come one after the
 * other, in an order that is drawn anew for every launch and phase, so that whatever depends on the order shows. What
 * some threads set, others see only after a while, as when a GPU's threads meet: what one of them looked at, another
 * may have written since. Memory begins with other bytes than zeros. */
#pragma once

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* The draws of all launches, one after the other. */
struct grid_dice {
  uint64_t seed, thrown;
};

#define GRID_DEVICE

enum { GRID_LATE = 64, GRID_ALLOCATIONS = 96 };

struct grid {
  void *taken[GRID_ALLOCATIONS]; /* each on its own: a sanitizer sees what goes beyond */
  uint32_t count;
  struct grid_dice dice;
};

/* --- orders ----------------------------------------------------------------------------------------------- */

/* Threads offset, offset + step, and so on mod n: all of them, once each, as step and n have no common divisor. */
struct grid_order {
  uint64_t n, step, offset;
};

static inline uint64_t grid_draw(struct grid_dice *dice, uint64_t n) {
  return ss_below(ss_mix(dice->seed, dice->thrown++), n);
}

static inline uint64_t grid_divisor(uint64_t a, uint64_t b) {
  while (b) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static inline struct grid_order grid_order(struct grid_dice *dice, uint64_t n) {
  struct grid_order order = {n, 1 + grid_draw(dice, n), grid_draw(dice, n)};
  while (grid_divisor(order.step, n) != 1) order.step = order.step % n + 1;
  return order;
}

/* Whose turn it is; whoever comes after is next. */
static inline uint32_t grid_turn(struct grid_order *order) {
  const uint64_t turn = order->offset;
  order->offset += order->step;
  if (order->offset >= order->n) order->offset -= order->n;
  return (uint32_t)turn;
}

/* --- what threads have set, and others do not see yet ------------------------------------------------------ */

static struct { uint32_t *at, value; } grid_late[GRID_LATE];
static size_t grid_late_count;

static inline void grid_land(void) {
  for (size_t i = 0; i < grid_late_count; i++) *grid_late[i].at = grid_late[i].value;
  grid_late_count = 0;
}

static inline void grid_set(uint32_t *at, uint32_t value) {
  if (grid_late_count == GRID_LATE) grid_land();
  grid_late[grid_late_count].at = at;
  grid_late[grid_late_count++].value = value;
}

/* --- launches --------------------------------------------------------------------------------------------- */

static inline uint64_t grid_limit(uint64_t n, const uint32_t *limit) {
  return limit && *limit < n ? *limit : n;
}

#define GRID_KERNEL(body, arguments)                                                                                 \
  static bool body##_run(struct grid *g, const arguments *a, uint64_t n, const uint32_t *limit,                      \
                         struct ss_error *error) {                                                                   \
    const uint64_t end = grid_limit(n, limit);                                                                       \
    if (end == 0) return true;                                                                                       \
    struct grid_order order = grid_order(&g->dice, end);                                                             \
    for (uint64_t left = end, some; left > 0; left -= some) {                                                        \
      some = 1 + grid_draw(&g->dice, left < GRID_LATE ? left : GRID_LATE);                                           \
      for (uint64_t i = 0; i < some; i++) body(a, grid_turn(&order));                                                \
      grid_land();                                                                                                   \
    }                                                                                                                \
    (void)error;                                                                                                     \
    return true;                                                                                                     \
  }

#define GRID_RUN(g, body, a, n, limit, error) body##_run((g), (a), (n), (limit), (error))

#define BLOCK_KERNEL(body, arguments, shared_type)                                                                   \
  static void body##_block(struct grid *g, const arguments *a, uint32_t block, uint32_t phases) {                    \
    shared_type shared;                                                                                              \
    memset(&shared, 0xa5, sizeof shared);                                                                            \
    for (uint32_t phase = 0; phase < phases; phase++) {                                                              \
      struct grid_order order = grid_order(&g->dice, GRID_THREADS);                                                  \
      for (uint64_t i = 0; i < GRID_THREADS; i++) body(a, &shared, block, grid_turn(&order), phase);                 \
      grid_land();                                                                                                   \
    }                                                                                                                \
  }                                                                                                                  \
  static bool body##_run(struct grid *g, const arguments *a, uint64_t blocks, uint32_t phases,                       \
                         struct ss_error *error) {                                                                   \
    if (blocks == 0) return true;                                                                                    \
    struct grid_order order = grid_order(&g->dice, blocks);                                                          \
    for (uint64_t i = 0; i < blocks; i++) body##_block(g, a, grid_turn(&order), phases);                             \
    (void)error;                                                                                                     \
    return true;                                                                                                     \
  }
#define BLOCK_RUN(g, body, a, blocks, phases, error) body##_run((g), (a), (blocks), (phases), (error))

#define GRID_SELECT(body, arguments, type)                                                                           \
  static bool body##_run(struct grid *g, const arguments *a, uint64_t n, __typeof__(type) *out, uint32_t *count,     \
                         struct ss_error *error) {                                                                   \
    *count = 0;                                                                                                      \
    for (uint64_t i = 0; i < n; i++) {                                                                               \
      const type item = body(a, (uint32_t)i);                                                                        \
      if (item != GRID_NONE(type)) out[(*count)++] = item;                                                           \
    }                                                                                                                \
    (void)g, (void)error;                                                                                            \
    return true;                                                                                                     \
  }
#define GRID_RUN_SELECT(g, body, a, n, out, count, error) body##_run((g), (a), (n), (out), (count), (error))

/* --- memory ----------------------------------------------------------------------------------------------- */

static void grid_close(struct grid *g) {
  for (uint32_t i = 0; i < g->count; i++) free(g->taken[i]);
}

static void *grid_take(struct grid *g, uint64_t count, size_t size, struct ss_error *error) {
  void *memory = g->count < GRID_ALLOCATIONS ? ss_alloc(count, size) : NULL;
  if (!memory) {
    (void)ss_fail_memory(error, "looping over threads");
    return NULL;
  }
  g->taken[g->count++] = memory;
  memset(memory, 0xa5, count * size);
  return memory;
}

static inline bool grid_move(void *to, const void *from, uint64_t bytes) {
  if (bytes > 0) memcpy(to, from, bytes);
  return true;
}

SS_MUST_CHECK static bool grid_put(struct grid *g, void *to, const void *from_host, uint64_t bytes,
                                   struct ss_error *error) {
  (void)g, (void)error;
  return grid_move(to, from_host, bytes);
}

SS_MUST_CHECK static bool grid_get(struct grid *g, void *to_host, const void *from, uint64_t bytes,
                                   struct ss_error *error) {
  (void)g, (void)error;
  return grid_move(to_host, from, bytes);
}

SS_MUST_CHECK static bool grid_copy(struct grid *g, void *to, const void *from, uint64_t bytes,
                                    struct ss_error *error) {
  (void)g, (void)error;
  return grid_move(to, from, bytes);
}

SS_MUST_CHECK static bool grid_wait(struct grid *g, struct ss_error *error) {
  (void)g, (void)error;
  return true;
}

SS_MUST_CHECK static bool grid_choose(uint32_t which, struct ss_error *error) {
  (void)which, (void)error;
  return true;
}

SS_MUST_CHECK static bool grid_fill(struct grid *g, void *at, int byte, uint64_t bytes, struct ss_error *error) {
  (void)g, (void)error;
  if (bytes > 0) memset(at, byte, bytes);
  return true;
}

/* --- primitives ------------------------------------------------------------------------------------------- */

SS_MUST_CHECK static bool grid_scan(struct grid *g, uint32_t *data, uint64_t n, struct ss_error *error) {
  uint32_t sum = 0;
  (void)g, (void)error;
  for (uint64_t i = 0; i < n; i++) {
    const uint32_t here = data[i];
    data[i] = sum;
    sum += here;
  }
  return true;
}

static inline int grid_compare(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Sorts by the lowest bits of key i, then by i, and says for each place whose it is. */
static inline uint64_t *grid_sorted(uint64_t n, uint32_t (*key)(const void *keys, uint64_t i), const void *keys,
                                    int bits) {
  uint64_t *places = ss_alloc(n, sizeof *places);
  const uint32_t mask = bits < 32 ? (UINT32_C(1) << bits) - 1 : UINT32_MAX;
  if (!places) abort();
  for (uint64_t i = 0; i < n; i++) places[i] = (uint64_t)(key(keys, i) & mask) << 32 | i;
  qsort(places, n, sizeof *places, grid_compare);
  for (uint64_t i = 0; i < n; i++) places[i] = (uint32_t)places[i];
  return places;
}

static inline uint32_t grid_key_word(const void *keys, uint64_t i) {
  return ((const uint32_t *)keys)[i];
}
static inline uint32_t grid_key_short(const void *keys, uint64_t i) {
  return ((const uint16_t *)keys)[i];
}
static inline uint32_t grid_key_byte(const void *keys, uint64_t i) {
  return ((const uint8_t *)keys)[i];
}

SS_MUST_CHECK static bool grid_sort_rows(struct grid *g, const uint32_t *from, uint32_t *to, uint64_t n, int bits,
                                         struct ss_error *error) {
  uint64_t *places = grid_sorted(n, grid_key_word, from, bits);
  (void)g, (void)error;
  for (uint64_t i = 0; i < n; i++) to[i] = from[places[i]];
  free(places);
  return true;
}

/* --- in kernels ------------------------------------------------------------------------------------------- */

static inline uint32_t grid_or(uint32_t *at, uint32_t bits) {
  const uint32_t was = *at;
  *at |= bits;
  return was;
}
static inline uint32_t grid_add(uint32_t *at, uint32_t more) {
  const uint32_t was = *at;
  *at += more;
  return was;
}
static inline uint32_t grid_max(uint32_t *at, uint32_t other) {
  const uint32_t was = *at;
  if (other > was) *at = other;
  return was;
}
static inline void grid_add_long(uint64_t *at, uint64_t more) {
  *at += more;
}
static inline uint32_t grid_next(uint32_t *counter) {
  return grid_add(counter, 1);
}
static inline uint32_t grid_look(const uint32_t *at) {
  return *at;
}
static inline uint32_t grid_ones(uint32_t word) {
  return (uint32_t)__builtin_popcount(word);
}
static inline uint32_t grid_lowest(uint32_t word) {
  return (uint32_t)__builtin_ctz(word);
}
/* SPDX-License-Identifier: Apache-2.0 */
