/* What the kernels of this folder are written in: threads of a grid, memory of a device, and the few primitives that
 * a library has.
 *
 * Kernels and the order in which they run (bits.h, merge.h, ...) are one source in the common part of C and C++. nvcc
 * compiles it for GPUs (grid_cuda.h). A unit test includes a vocabulary of its own before it includes this header, in
 * which threads come one after the other in an order drawn at random: so tests meet all of it but the primitives,
 * copies and what real threads do to memory.
 *
 * A grid kernel is a function body(a, i), which thread i of n does, in any order and all at once:
 *     GRID_KERNEL(body, struct its_arguments)
 *     GRID_RUN(grid, body, &arguments, n, limit, error)     limit: NULL, or where the device keeps a smaller n
 *
 * A block kernel is a function body(a, shared, block, thread, phase). All GRID_THREADS threads of a block do a phase
 * before one of them begins the next; blocks know nothing of each other. `shared` begins with any content.
 *     BLOCK_KERNEL(body, struct its_arguments, struct its_shared)
 *     BLOCK_RUN(grid, body, &arguments, blocks, phases, error)
 *
 * A selection is a function body(a, i) of a type that GRID_NONE has; what is not GRID_NONE(type), for i from 0 to
 * n-1, is written one after the other, and how many there are goes to *count on the device. GRID_SELECT(body, struct
 * its_arguments, type) GRID_RUN_SELECT(grid, body, &arguments, n, out, count, error)
 *
 * Everything is enqueued; only grid_get, grid_put and grid_wait wait. All return false with an error that says what
 * failed. */
#pragma once

#include "base/both.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "base/error.h"
#include "base/random.h"
#include "tensor/chunk.h"
#ifdef __cplusplus
}
#endif

#include <stdint.h>

enum { GRID_THREADS = 256 };
/* Threads and entries are counted in 31 bits: what a library's primitives take. */
#define GRID_MOST ((uint64_t)INT32_MAX)
#define GRID_NONE(type) ((type) ~(type)0)

struct grid;

/* NOLINTBEGIN(readability-redundant-declaration): the loop of the tests defines them before this. */
/* A zeroed grid may be closed. */
static bool grid_open(struct grid *g, struct ss_error *error) SS_MUST_CHECK;
static void grid_close(struct grid *g);
/* Memory that the grid owns and gives back when it is closed; NULL, and an error, where there is none. */
static void *grid_take(struct grid *g, uint64_t count, size_t size, struct ss_error *error);
#define GRID_TAKE(g, pointer, count, error)                                                                          \
  (((pointer) = (__typeof__(pointer))grid_take((g), (count), sizeof *(pointer), (error))) != NULL)
static bool grid_put(struct grid *g, void *to, const void *from_host, uint64_t bytes,
                     struct ss_error *error) SS_MUST_CHECK;
static bool grid_get(struct grid *g, void *to_host, const void *from, uint64_t bytes,
                     struct ss_error *error) SS_MUST_CHECK;
/* Until all that was enqueued is done. */
static bool grid_wait(struct grid *g, struct ss_error *error) SS_MUST_CHECK;
/* Which device grid_open takes: the which-th, counted round and round; not called: the first. */
static bool grid_choose(uint32_t which, struct ss_error *error) SS_MUST_CHECK;
/* Every byte of `at` becomes `byte`. */
static bool grid_fill(struct grid *g, void *at, int byte, uint64_t bytes, struct ss_error *error) SS_MUST_CHECK;
static bool grid_copy(struct grid *g, void *to, const void *from, uint64_t bytes,
                      struct ss_error *error) SS_MUST_CHECK;
/* data[i] becomes the sum of those before it. */
static bool grid_scan(struct grid *g, uint32_t *data, uint64_t n, struct ss_error *error) SS_MUST_CHECK;
/* Sorted by the lowest `bits` bits, equal ones in the order they had. */
static bool grid_sort_rows(struct grid *g, const uint32_t *from, uint32_t *to, uint64_t n, int bits,
                           struct ss_error *error) SS_MUST_CHECK;
/* NOLINTEND(readability-redundant-declaration) */
/* Values that are sorted by keys in the same way. Keys are uint8_t (key_bytes 1) or uint16_t (2). */
struct grid_pairs {
  int key_bytes, bits;
  const void *keys;
  void *keys_to; /* [n] scratch */
  const uint32_t *values;
  uint32_t *values_to;
  uint64_t n;
};
static bool grid_sort_pairs(struct grid *g, const struct grid_pairs *p, struct ss_error *error) SS_MUST_CHECK;

#ifdef __CUDACC__
#define GRID_DEVICE __device__ /* what threads do */
#include "kernels/cuda/grid_cuda.h"
#elif !defined GRID_DEVICE
#error "no nvcc: include a vocabulary of loops before this header"
#endif

/* --- in kernels ------------------------------------------------------------------------------------------- */

/* Each returns what was there, and nobody comes between: grid_or, grid_add, grid_max; grid_next(counter) adds 1;
 * grid_add_long, on 64 bits, returns nothing. grid_look and grid_set read and write what others may write meanwhile:
 * a thread that looks may miss what another has set in the same launch.
 * grid_ones counts bits, and grid_lowest finds the lowest. */

/* A sum over a block's threads, from the counts before each: put, phase, group, phase, before. */
enum { BLOCK_GROUP = 16, BLOCK_GROUPS = GRID_THREADS / BLOCK_GROUP };
struct block_sum {
  uint32_t count[GRID_THREADS], group[BLOCK_GROUPS];
};

GRID_DEVICE static inline void block_sum_put(struct block_sum *s, uint32_t thread, uint32_t count) {
  s->count[thread] = count;
}

GRID_DEVICE static inline void block_sum_group(struct block_sum *s, uint32_t thread) {
  if (thread >= BLOCK_GROUPS) return;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < BLOCK_GROUP; i++) sum += s->count[thread * BLOCK_GROUP + i];
  s->group[thread] = sum;
}

GRID_DEVICE static inline uint32_t block_sum_before(const struct block_sum *s, uint32_t thread) {
  const uint32_t group = thread / BLOCK_GROUP;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < group; i++) sum += s->group[i];
  for (uint32_t i = group * BLOCK_GROUP; i < thread; i++) sum += s->count[i];
  return sum;
}

GRID_DEVICE static inline uint32_t block_sum_total(const struct block_sum *s) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < BLOCK_GROUPS; i++) sum += s->group[i];
  return sum;
}
/* SPDX-License-Identifier: Apache-2.0 */
