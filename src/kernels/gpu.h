/* A GPU's memory and sums, for schemes that are executed with their messages there (exec --gpu-buffers): beside the
 * table of kernels (kernels/kernel_table.h), which runs each of them alone. All calls wait until they are done, so
 * that MPI may read what they wrote. */
#pragma once

#include "kernels/kernel_table.h"

struct ss_gpu_run;

/* Of a sum of lists: distinct rows, ascending, and `width` floats for each, row by row; of two dense tensors: floats.
 */
struct ss_gpu_operand {
  const uint32_t *rows; /* [count]; NULL: dense */
  const float *values;  /* [count * width] */
  uint64_t count;
};

struct ss_gpu_sum {
  struct ss_gpu_operand operand[SS_KERNEL_OPERANDS];
  uint32_t operands, width;
  uint64_t rows; /* all lie below; of dense tensors: floats */
};

struct ss_gpu_device {
  /* The which-th GPU of this machine, counted round and round. Fails, with words that say what to do, where there is
   * none, or where the program was built without CUDA. */
  bool (*open)(uint32_t which, struct ss_gpu_run **out, struct ss_error *error);
  /* Memory of the GPU until `release`; NULL and an error: there is none left. */
  void *(*take)(struct ss_gpu_run *gpu, uint64_t bytes, struct ss_error *error);
  void (*release)(struct ss_gpu_run *gpu);
  bool (*put)(struct ss_gpu_run *gpu, void *to, const void *from_host, uint64_t bytes, struct ss_error *error);
  bool (*get)(struct ss_gpu_run *gpu, void *to_host, const void *from, uint64_t bytes, struct ss_error *error);
  /* Operands to the GPU; their sum there, of *count rows or floats, in the order of the operands; and the sum from
   * there: rows[count], unless it is dense, and values[count * width]. What the kernels cannot take is SS_BAD_INPUT.
   */
  bool (*load)(struct ss_gpu_run *gpu, const struct ss_gpu_sum *sum, struct ss_error *error);
  bool (*add)(struct ss_gpu_run *gpu, uint64_t *count, struct ss_error *error);
  bool (*fetch)(struct ss_gpu_run *gpu, uint32_t *rows, float *values, struct ss_error *error);
  void (*close)(struct ss_gpu_run *gpu); /* NULL is allowed */
};

extern const struct ss_gpu_device ss_gpu_cuda;
/* SPDX-License-Identifier: Apache-2.0 */
