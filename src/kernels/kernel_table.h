/* The tensor kernels as a table: one for each device that runs them.
 *
 * A device takes an input into its memory, runs any of the kernels on it, as often as wanted and with no memory taken
 * on the way, and hands out what a kernel made: the same on every device, bit by bit, but for hierarchical hashing,
 * which keeps its promise only for sets (the rows of a partition come in the order of the memory, and which thread
 * came first there is chance). The kernels that take rows with their values (SS_WIDE_KERNELS, kernels/timing.h) take
 * rows of any width, all others rows of one element. */
#pragma once

#include "tensor/chunk.h"
#include "tensor/kernel.h"

#include <stddef.h>
#include <stdint.h>

enum { SS_KERNEL_OPERANDS = 8 };

/* A wire's bytes. */
struct ss_kernel_bytes {
  const unsigned char *at;
  uint64_t size;
};

/* What the kernels work on, all of it in the caller's memory: merge_sum on part[operands], dense_add on both dense
 * tensors, coalesce on the lookups, top-k on dense[0], decoders on what encoders made of part[0] (hash bitmaps: of
 * what it has of a hashed part), sketch_add on `units` of part[0]'s rows and a sketch of zeros, all others on
 * part[0]; pack writes its rows and then its values. */
struct ss_kernel_input {
  uint64_t rows; /* of the tensor, below 2^31 */
  uint32_t operands;
  struct ss_chunk part[SS_KERNEL_OPERANDS]; /* distinct rows, all of one width, and values, row by row */
  const float *dense[2];                    /* [rows] */
  uint64_t keep;                            /* entries that top-k keeps */
  const uint32_t *lookups;                  /* [lookup_count] in any order */
  uint64_t lookup_count;
  uint32_t parts, probes; /* of hashing: how many parts, ZEN's k, and totals of r1 and r2 */
  uint64_t hash_seed, parallel_slots, serial_slots;
  uint32_t block; /* elements of a block */
  uint32_t hashes;
  uint64_t buckets, sketch_seed;
  const int64_t *units; /* [part[0].count] */

  /* ss_kernel_input_derive makes the rest of it, with the CPU's kernels. */
  struct ss_chunk hashed; /* the rows of part[0] that belong to hashed part 0 */
  const uint32_t *domain; /* [domain_size] all rows of that part, ascending */
  uint64_t domain_size;
  struct ss_kernel_bytes bitmap, hash_bitmap, blocks, packed;
  const int64_t *sketch; /* [hashes * buckets] the sketch of `units` */
};

/* Arrays are `arena`'s. */
bool ss_kernel_input_derive(struct ss_kernel_input *input, struct ss_arena *arena,
                            struct ss_error *error) SS_MUST_CHECK;

/* What a kernel made; what it does not make is NULL. */
struct ss_kernel_output {
  uint64_t count;          /* rows, values, numbers */
  const uint32_t *rows;    /* [count] */
  const float *values;     /* [count], of wide rows [count * width] */
  const uint64_t *offsets; /* [parts + 1] */
  struct ss_kernel_bytes wire;
  const int64_t *buckets; /* [hashes * buckets] */
  const double *decoded;  /* [count] */
};

/* What one call goes through. */
struct ss_kernel_traffic {
  double elements; /* as tensor/kernel.h counts them */
  double moved;    /* B: the least a kernel has to read and write, as schemes charge it */
  double floor; /* B: the same, with each access to an address that only a hash knows taken for a sector of 32 bytes,
                   and with the memory that Algorithm 1 clears and reads */
};
struct ss_kernel_traffic ss_kernel_traffic(enum ss_kernel_kind kernel, const struct ss_kernel_input *input,
                                           const struct ss_kernel_output *output);

struct ss_kernel_run; /* an input in a device's memory, with what its kernels need */

struct ss_kernel_device {
  const char *name;
  /* In words, into text[size]; and the bytes of its last cache. Fails where there is no such device. */
  bool (*describe)(char *text, size_t size, uint64_t *cache, struct ss_error *error);
  /* The input must outlive the run. Before a call of `seconds`, `flushed` bytes of other memory are written. */
  bool (*open)(const struct ss_kernel_input *input, uint64_t flushed, struct ss_kernel_run **out,
               struct ss_error *error);
  bool (*run)(struct ss_kernel_run *run, enum ss_kernel_kind kernel, struct ss_error *error);
  /* Runs it, and says how long that took. */
  bool (*seconds)(struct ss_kernel_run *run, enum ss_kernel_kind kernel, double *seconds, struct ss_error *error);
  /* What the kernel made, which must be the one that ran last; the arrays are the run's, until it is used again. */
  bool (*fetch)(struct ss_kernel_run *run, enum ss_kernel_kind kernel, struct ss_kernel_output *out,
                struct ss_error *error);
  /* Bytes read and written a second by a copy of `size` bytes. */
  bool (*copy_rate)(uint64_t size, double *rate, struct ss_error *error);
  void (*close)(struct ss_kernel_run *run); /* NULL is allowed */
};

/* Without CUDA, or a GPU, `describe` says so: it is called before anything else. */
extern const struct ss_kernel_device ss_kernels_cpu, ss_kernels_cuda;
/* SPDX-License-Identifier: Apache-2.0 */
