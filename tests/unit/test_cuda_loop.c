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

static void refuse_sum(struct ss_gpu_run *gpu, struct ss_gpu_sum sum, const char *says) {
  struct ss_error error = {0};
  assert_false(gpu_loop.load(gpu, &sum, &error));
  assert_int_equal(error.status, SS_BAD_INPUT);
  if (!strstr(error.text, says)) fail_msg("%s: not \"%s\"", error.text, says);
}

/* What entries, elements, or rows are too many for is told before any of it is read. */
TEST(sums_that_are_too_large_are_refused) {
  const uint32_t row = 0;
  const float value = 1;
  const struct ss_gpu_operand one = {&row, &value, 1}, many = {&row, &value, UINT64_C(1) << 31},
                              half = {&row, &value, UINT64_C(1) << 30};
  struct ss_error error;
  struct ss_gpu_run *gpu;
  assert_true(gpu_loop.open(0, &gpu, &error));
  refuse_sum(gpu, (struct ss_gpu_sum){{one, one}, 2, 1, UINT64_C(1) << 31}, "2147483648 rows");
  refuse_sum(gpu, (struct ss_gpu_sum){{one, many}, 2, 1, 9}, "2147483648 entries");
  refuse_sum(gpu, (struct ss_gpu_sum){{half, half}, 2, 1, 9}, "2147483648 elements");
  refuse_sum(gpu, (struct ss_gpu_sum){{one, half}, 2, UINT32_MAX, 9}, "elements");
  refuse_sum(gpu, (struct ss_gpu_sum){{{.values = &value}, {.values = &value}}, 2, 1, UINT64_C(1) << 31},
             "2147483648 elements");
  gpu_loop.close(gpu);
}

/* Also where memory grows between two that are in use. */
TEST(memory_for_messages_is_there_to_its_end) {
  static const uint64_t sizes[] = {0, 700000, 300, 900000, 3000000, 2900000, 5};
  struct ss_error error;
  struct ss_gpu_run *gpu;
  assert_true(gpu_loop.open(0, &gpu, &error));
  for (int round = 0; round < 3; round++, gpu_loop.release(gpu)) {
    unsigned char *at[COUNT(sizes)];
    for (uint32_t i = 0; i < COUNT(sizes); i++) {
      at[i] = gpu_loop.take(gpu, sizes[i], &error);
      assert_true(at[i] && cuda_loop_owns(at[i]) && (sizes[i] == 0 || cuda_loop_owns(at[i] + sizes[i] - 1)));
      memset(at[i], (int)i, sizes[i]);
    }
    for (uint32_t i = 1; i < COUNT(sizes); i++) assert_true(at[i][0] == i && at[i][sizes[i] - 1] == i);
  }
  gpu_loop.close(gpu);
}

TEST(rows_are_hashed_as_on_the_cpu) {
  struct dice d = {.seed = 5};
  for (uint32_t i = 0; i < 10000; i++) {
    const uint64_t row = i < 300 ? i : i % 3 ? dice_next(&d) >> 32 : dice_next(&d), seed = dice_next(&d) >> i % 64;
    assert_true(cuda_loop_hash(row, seed) == ss_hash_row(row, seed));
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
