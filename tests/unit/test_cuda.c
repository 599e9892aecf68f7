/* The kernels on a GPU, where there is one. */
#include "cuda_cases.h"
#include "support.h"

enum { SEEDS = 400 };

TEST(a_gpu_makes_what_the_cpu_makes) {
  compare_with_cpu(&ss_kernels_cuda, SEEDS, NULL);
}

TEST(a_gpu_refuses_what_cannot_be) {
  refuse_what_cannot_be(&ss_kernels_cuda);
}

/* cmocka's own way to skip reads as a failure to meson. */
static int skip_all(const char *why) {
  printf("1..1\nok 1 - a GPU's kernels # SKIP %s\n", why);
  return 0;
}

int main(int argc, char **argv) {
  char text[256];
  uint64_t cache;
  struct ss_error error;
  if (!ss_kernels_cuda.describe(text, sizeof text, &cache, &error)) return skip_all(error.text);
  return run_listed(argc, argv, NULL, NULL);
}
/* SPDX-License-Identifier: Apache-2.0 */
