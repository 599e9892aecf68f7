/* A device: how long a kernel takes. Read from models/devices/; "none" charges nothing. */
#pragma once

#include "machine/host_memory.h"
#include "tensor/kernel.h"

enum { SS_KERNEL_PIECES = 4 };

/* time = t0 + elements * per_element + bytes * per_byte, as tensor/kernel.h counts them; of calls of up to so many
 * bytes, since what fits in a cache goes faster. */
struct ss_kernel_piece {
  double up_to; /* B of a call; INFINITY of the last */
  double t0, per_element, per_byte;
};

struct ss_kernel_line {
  struct ss_kernel_piece piece[SS_KERNEL_PIECES]; /* [pieces] by size */
  uint32_t pieces;                                /* at least 1 where kernels are counted */
  bool known;                                     /* measured, or published; false: estimated, as below */
};

/* A line for each kernel that somebody measured (`sparsync calibrate kernels`) or published. All others are
 * estimated: launch + bytes / (memory bandwidth * efficiency), or, where the file does not say these, as long as a
 * dense add of so many bytes takes. */
struct ss_device {
  char name[128];
  bool counted;       /* false: "none", kernels are not counted */
  double memory_size; /* B; 0: not said */
  struct ss_kernel_line line[SS_KERNELS];
  bool moves;             /* what libraries copy and allocate within memory is charged: of "memory" */
  double page, page_from; /* s a byte of the buffers of so many bytes or more, whose pages come anew */
};

/* {"name", "memory_bandwidth", "efficiency", "launch", "source"}, {"name", "kernels": {NAME: {"t0", "per_element",
 * "per_byte", "valid"}}, "measured"}, or both; without a bandwidth merge_sum and dense_add must be among the
 * kernels. "memory_size" is how much memory it has. A kernel may have "pieces" instead: [{"up_to", "t0",
 * "per_element", "per_byte"}, ..., {"t0", ...}]. "memory" in place of all of these: a host's, as clusters have it
 * (machine/host_memory.h), by the cost of its largest vectors. "slower": 200 makes every element and byte take 200
 * times as long, starts as long as ever: for tensors that are 200 times smaller than those that they stand for. */
extern const struct ss_object_spec ss_device_fields;
/* The ways to say which in a scenario: a name, a path or "none", an object, what is like another. */
extern const struct ss_field_spec ss_device_forms[];
bool ss_device_read(struct ss_node node, struct ss_device *out, struct ss_error *error) SS_MUST_CHECK;
struct ss_device ss_device_none(void);
/* All kernels take launch + bytes * per_byte, estimated. */
struct ss_device ss_device_of(const char *name, double launch, double per_byte);

/* The piece for calls of so many bytes. */
static inline const struct ss_kernel_piece *ss_kernel_piece_of(const struct ss_kernel_line *line, double bytes) {
  const struct ss_kernel_piece *piece = line->piece;
  while (piece + 1 < line->piece + line->pieces && bytes > piece->up_to) piece++;
  return piece;
}

/* The seconds that the calls take, one after the other, which are of one size. */
static inline double ss_device_time(const struct ss_device *device, enum ss_kernel_kind kernel,
                                    struct ss_kernel_work work) {
  if (!device->counted) return 0;
  const double calls = work.calls > 1 ? (double)work.calls : 1;
  const struct ss_kernel_piece *piece = ss_kernel_piece_of(&device->line[kernel], (double)work.bytes / calls);
  return (double)work.calls * piece->t0 + (double)work.elements * piece->per_element +
         (double)work.bytes * piece->per_byte;
}

/* s of the pages of so many filled buffers of `bytes`. */
static inline double ss_device_pages(const struct ss_device *device, double bytes, double filled) {
  return device->moves && !(bytes < device->page_from) ? device->page * bytes * filled : 0;
}

/* Every kernel takes `factor` times as long. */
void ss_device_scale(struct ss_device *device, double factor);
/* Every element and byte stands for `count`; starts are as they were. */
void ss_device_represent(struct ss_device *device, double count);
/* SPDX-License-Identifier: Apache-2.0 */
