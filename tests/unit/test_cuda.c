/* The kernels on a GPU, where there is one. */
#include "cuda_cases.h"
#include "support.h"

enum { SEEDS = 400 };

static void a_gpu_makes_what_the_cpu_makes(void **state) {
  (void)state;
  compare_with_cpu(&ss_kernels_cuda, SEEDS, NULL);
}

static void a_gpu_refuses_what_cannot_be(void **state) {
  (void)state;
  refuse_what_cannot_be(&ss_kernels_cuda);
}

/* cmocka's own way to skip reads as a failure to meson. */
static int skip_all(const char *why) {
  printf("1..1\nok 1 - a GPU's kernels # SKIP %s\n", why);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_gpu_makes_what_the_cpu_makes),
      cmocka_unit_test(a_gpu_refuses_what_cannot_be),
  };
  char text[256];
  uint64_t cache;
  struct ss_error error;
  if (!ss_kernels_cuda.describe(text, sizeof text, &cache, &error)) return skip_all(error.text);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
