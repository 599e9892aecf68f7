/* How long a device's tensor kernels take: for device files (machine/device.h).
 *
 * Inputs are made up: `rows` rows, of which each operand lists a share. Before each call twice the
 * cache is written over, so that a kernel finds nothing of its input there. */
#pragma once

#include "kernels/kernel_table.h"

enum { SS_TIMED_REPEATS_MAX = 101 };

struct ss_timed {
  struct ss_kernel_traffic traffic;
  double seconds; /* median */
};

struct ss_timing {
  const struct ss_kernel_device *device;
  uint64_t rows;
  double density; /* (0, 1] */
  uint32_t width; /* elements a row: 1, or, of SS_WIDE_KERNELS, more */
  uint32_t repeats;
  uint64_t cache; /* B */
};

/* The kernels whose bit is set in `which`, 1 << enum ss_kernel_kind, on one input, after one call each that does not
 * count; operands that none of them needs are empty. */
enum {
  SS_ALL_KERNELS = (1 << SS_KERNELS) - 1,
  /* those that take rows with their values */
  SS_WIDE_KERNELS = 1 << SS_KERNEL_MERGE_SUM | 1 << SS_KERNEL_BITMAP_ENCODE | 1 << SS_KERNEL_BITMAP_DECODE |
                    1 << SS_KERNEL_HASH_BITMAP_ENCODE | 1 << SS_KERNEL_HASH_BITMAP_DECODE |
                    1 << SS_KERNEL_BLOCK_ENCODE | 1 << SS_KERNEL_BLOCK_DECODE | 1 << SS_KERNEL_PACK
};
bool ss_time_kernels(const struct ss_timing *timing, uint32_t which, struct ss_timed out[SS_KERNELS],
                     struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
