#include "tensor/kernel.h"

#include <stddef.h>

_Thread_local struct ss_kernel_work *ss_kernel_counts;

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
