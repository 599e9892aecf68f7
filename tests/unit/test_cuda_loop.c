/* The GPU's kernels as loops in which threads come in any order (grid_loop.h): all of their source but what a GPU and
 * its library do. */
#include "cuda_cases.h"
#include "cuda_loop.h"
#include "support.h"

#include "tensor/hash.h"

#if defined(__SANITIZE_ADDRESS__)
enum { SEEDS = 12 }; /* sanitizers slow memory down: more is left to the plain build */
#else
enum { SEEDS = 60 };
#endif

TEST(threads_in_any_order_make_what_the_cpu_makes) {
  compare_with_cpu(&cuda_loop, SEEDS, cuda_loop_order);
}

TEST(what_cannot_be_is_refused) {
  refuse_what_cannot_be(&cuda_loop);
}

TEST(rows_are_hashed_as_on_the_cpu) {
  struct dice d = {.seed = 5};
  for (uint32_t i = 0; i < 10000; i++) {
    const uint64_t row = i < 300 ? i : i % 3 ? dice_next(&d) >> 32 : dice_next(&d), seed = dice_next(&d) >> i % 64;
    assert_true(cuda_loop_hash(row, seed) == ss_hash_row(row, seed));
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
