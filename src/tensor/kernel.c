#include "tensor/kernel.h"

#include <stddef.h>
#include <time.h>

_Thread_local struct ss_kernel_work *ss_kernel_counts;
_Thread_local double *ss_kernel_seconds;
_Thread_local double *ss_seconds_aside;
/* s, of kernels that ended within the one that is under way */
static _Thread_local double within;

static double now(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

struct ss_aside ss_aside_begin(void) {
  const struct ss_aside aside = {ss_kernel_pause(), ss_seconds_aside, ss_seconds_aside ? now() : 0};
  ss_seconds_aside = NULL;
  return aside;
}

void ss_aside_end(const struct ss_aside *aside) {
  ss_kernel_resume(aside->kernels);
  ss_seconds_aside = aside->seconds;
  if (aside->seconds) *aside->seconds += now() - aside->since;
}

static double aside_so_far(void) {
  return ss_seconds_aside ? *ss_seconds_aside : 0;
}

struct ss_kernel_span ss_kernel_span_begin(enum ss_kernel_kind kernel) {
  const struct ss_kernel_span span = {&ss_kernel_seconds[kernel], now(), aside_so_far(), within};
  within = 0;
  return span;
}

void ss_kernel_span_end(const struct ss_kernel_span *span) {
  const double all = now() - span->since - (aside_so_far() - span->aside);
  *span->seconds += all - within;
  within = span->within + all;
}

static const char *const names[] = {[SS_KERNEL_MERGE_SUM] = "merge_sum",
                                    [SS_KERNEL_DENSE_ADD] = "dense_add",
                                    [SS_KERNEL_COALESCE] = "coalesce",
                                    [SS_KERNEL_TOP_K] = "top_k",
                                    [SS_KERNEL_HASH_PARTITION] = "hash_partition",
                                    [SS_KERNEL_HIERARCHICAL_HASHING] = "hierarchical_hashing",
                                    [SS_KERNEL_BITMAP_ENCODE] = "bitmap_encode",
                                    [SS_KERNEL_BITMAP_DECODE] = "bitmap_decode",
                                    [SS_KERNEL_HASH_BITMAP_ENCODE] = "hash_bitmap_encode",
                                    [SS_KERNEL_HASH_BITMAP_DECODE] = "hash_bitmap_decode",
                                    [SS_KERNEL_BLOCK_ENCODE] = "block_encode",
                                    [SS_KERNEL_BLOCK_DECODE] = "block_decode",
                                    [SS_KERNEL_SKETCH_ADD] = "sketch_add",
                                    [SS_KERNEL_SKETCH_DECODE] = "sketch_decode",
                                    [SS_KERNEL_PACK] = "pack"};
_Static_assert(sizeof names / sizeof *names == SS_KERNELS, "every kernel has a name");

const char *ss_kernel_name(enum ss_kernel_kind kernel) {
  return kernel < SS_KERNELS ? names[kernel] : NULL;
}
/* SPDX-License-Identifier: Apache-2.0 */
