#include "cuda_loop.h"

#include "grid_loop.h"
#include "kernels/cuda/buffers.h"
#include "kernels/cuda/launches.h"

#include <malloc.h>

static uint64_t next_seed;
static const struct grid *opened;

void cuda_loop_order(uint64_t seed) {
  next_seed = seed;
}

static bool grid_open(struct grid *g, struct ss_error *error) {
  (void)error;
  opened = g;
  g->dice = (struct grid_dice){.seed = next_seed};
  return true;
}

static bool grid_sort_pairs(struct grid *g, const struct grid_pairs *p, struct ss_error *error) {
  uint64_t *places = grid_sorted(p->n, p->key_bytes == 1 ? grid_key_byte : grid_key_short, p->keys, p->bits);
  (void)g, (void)error;
  for (uint64_t i = 0; i < p->n; i++) p->values_to[i] = p->values[places[i]];
  free(places);
  return true;
}

bool cuda_loop_owns(const void *at) {
  bool owned = !opened;
  for (uint32_t i = 0; !owned && i < opened->count; i++) {
    const uintptr_t first = (uintptr_t)opened->taken[i], size = malloc_usable_size(opened->taken[i]);
    owned = (uintptr_t)at >= first && (uintptr_t)at - first < size;
  }
  return owned;
}

uint64_t cuda_loop_hash(uint64_t row, uint64_t seed) {
  return hash_end(hash_lane(row), seed);
}

const struct ss_kernel_device cuda_loop = {
    .name = "loop", .open = open_run, .run = run_kernel, .fetch = fetch, .close = close_run};
const struct ss_gpu_device gpu_loop = GPU_DEVICE;
/* SPDX-License-Identifier: Apache-2.0 */
