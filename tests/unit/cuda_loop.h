/* The GPU's kernels as loops on this CPU (grid_loop.h), as a device of the table. */
#pragma once

#include "kernels/gpu.h"

/* Without clocks. */
extern const struct ss_kernel_device cuda_loop;
/* Its memory and sums for exec. */
extern const struct ss_gpu_device gpu_loop;
/* Whether that address is in the memory of what was opened last; before that, any is. */
bool cuda_loop_owns(const void *at);
/* Says in which order threads come in the runs that are opened from now on. */
void cuda_loop_order(uint64_t seed);
/* The hash of a row as the GPU's kernels have it. */
uint64_t cuda_loop_hash(uint64_t row, uint64_t seed);
/* SPDX-License-Identifier: Apache-2.0 */
