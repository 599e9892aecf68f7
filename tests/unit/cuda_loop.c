#include "cuda_loop.h"

#include "grid_loop.h"
#include "kernels/cuda/device.h"

static uint64_t next_seed;

void cuda_loop_order(uint64_t seed) {
  next_seed = seed;
}

static bool grid_open(struct grid *g, struct ss_error *error) {
  (void)error;
  g->dice = (struct grid_dice){.seed = next_seed};
  return true;
}

uint64_t cuda_loop_hash(uint64_t row, uint64_t seed) {
  return hash_end(hash_lane(row), seed);
}

const struct ss_kernel_device cuda_loop = {
    .name = "loop", .open = open_run, .run = run_kernel, .fetch = fetch, .close = close_run};
