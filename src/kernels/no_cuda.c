/* In place of cuda/, where the program is built without it. */
#include "kernels/gpu.h"

// NOLINTNEXTLINE(readability-non-const-parameter): the table of devices has this type
static bool describe(char *text, size_t size, uint64_t *cache, struct ss_error *error) {
  (void)text, (void)size, (void)cache;
  return ss_fail(error, SS_BAD_INPUT,
                 "--device cuda: this sparsync was built without CUDA; `./dev cuda build` builds one where nvcc is");
}

// NOLINTNEXTLINE(readability-non-const-parameter): the table has this type
static bool open_gpu(uint32_t which, struct ss_gpu_run **out, struct ss_error *error) {
  (void)which, (void)out;
  return ss_fail(error, SS_BAD_INPUT,
                 "--gpu-buffers: this sparsync was built without CUDA; `meson setup build -Dcuda=enabled` and `ninja "
                 "-C build` build one where nvcc is");
}

/* No run can begin. */
const struct ss_kernel_device ss_kernels_cuda = {.name = "cuda", .describe = describe};
const struct ss_gpu_device ss_gpu_cuda = {.open = open_gpu};
/* SPDX-License-Identifier: Apache-2.0 */
