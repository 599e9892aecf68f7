/* In place of cuda/, where the program is built without it. */
#include "kernels/kernel_table.h"

// NOLINTNEXTLINE(readability-non-const-parameter): the table of devices has this type
static bool describe(char *text, size_t size, uint64_t *cache, struct ss_error *error) {
  (void)text, (void)size, (void)cache;
  return ss_fail(error, SS_BAD_INPUT,
                 "--device cuda: this sparsync was built without CUDA; `./dev cuda build` builds one where nvcc is");
}

/* No run can begin. */
const struct ss_kernel_device ss_kernels_cuda = {.name = "cuda", .describe = describe};
/* SPDX-License-Identifier: Apache-2.0 */
