/* A device's kernels against the CPU's, on random ragged inputs; and inputs that it must refuse. */
#pragma once

#include "kernels/kernel_table.h"

/* Fails the test where anything differs. `begin`, which may be NULL, is told each seed. */
void compare_with_cpu(const struct ss_kernel_device *device, uint64_t seeds, void (*begin)(uint64_t seed));
void refuse_what_cannot_be(const struct ss_kernel_device *device);
/* SPDX-License-Identifier: Apache-2.0 */
