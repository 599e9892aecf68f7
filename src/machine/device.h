/* A device: how long a kernel takes. Read from models/devices/; "none" charges nothing. */
#ifndef SS_MACHINE_DEVICE_H
#define SS_MACHINE_DEVICE_H

#include "base/json.h"
#include "tensor/kernel.h"

/* time = t0 + elements * per_element + bytes * per_byte, as tensor/kernel.h counts them. */
struct ss_kernel_line {
  double t0, per_element, per_byte;
  bool known; /* measured, or published; false: estimated, as below */
};

/* A line for each kernel that somebody measured (`sparsync calibrate kernels`) or published. All others are
 * estimated: launch + bytes / (memory bandwidth * efficiency), or, where the file does not say these, as long as a
 * dense add of so many bytes takes. */
struct ss_device {
  char name[128];
  bool counted; /* false: "none", kernels are not counted */
  struct ss_kernel_line line[SS_KERNELS];
};

/* {"name", "memory_bandwidth", "efficiency", "launch", "source"}, {"name", "kernels": {NAME: {"t0", "per_element",
 * "per_byte", "valid"}}, "measured"}, or both; without a bandwidth merge_sum and dense_add must be among the
 * kernels. "slower": 200 makes every element and byte take 200 times as long, starts as long as ever: for tensors
 * that are 200 times smaller than those that they stand for. */
bool ss_device_read(struct ss_node node, struct ss_device *out, struct ss_error *error) SS_MUST_CHECK;
struct ss_device ss_device_none(void);
/* All kernels take launch + bytes * per_byte, estimated. */
struct ss_device ss_device_of(const char *name, double launch, double per_byte);

/* The seconds that all the calls take, one after the other. */
static inline double ss_device_time(const struct ss_device *device, enum ss_kernel_kind kernel,
                                    struct ss_kernel_work work) {
  const struct ss_kernel_line *line = &device->line[kernel];
  if (!device->counted) return 0;
  return (double)work.calls * line->t0 + (double)work.elements * line->per_element +
         (double)work.bytes * line->per_byte;
}

/* Every element and byte takes `factor` times as long. */
static inline void ss_device_scale(struct ss_device *device, double factor) {
  for (int i = 0; i < SS_KERNELS; i++) {
    device->line[i].per_element *= factor;
    device->line[i].per_byte *= factor;
  }
}

#endif
