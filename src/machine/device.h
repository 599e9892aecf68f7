/* A device: how long a kernel takes. Read from models/devices/; "none" charges nothing. */
#ifndef SS_MACHINE_DEVICE_H
#define SS_MACHINE_DEVICE_H

#include "base/json.h"

#include <stdint.h>

/* The kernels that schemes charge (docs/model.md, "Kernels"). */
enum ss_charge { SS_MERGE_SUM, SS_DENSE_ADD, SS_CHARGES };

struct ss_kernel_line {
  double t0, per_byte;
};

/* Either measured, a line for each kernel (`sparsync calibrate kernels`); or, for people who have no calibration,
 * time = launch + bytes moved / (bandwidth * efficiency). */
struct ss_device {
  char name[128];
  bool counted;  /* false: "none", kernels are not counted */
  bool measured; /* `line` counts, else: */
  double launch;
  double per_byte;
  struct ss_kernel_line line[SS_CHARGES];
};

/* {"name", "memory_bandwidth", "efficiency", "launch", "source"}, or {"name", "kernels": {NAME: {"t0", "per_byte",
 * "valid"}}, "measured"}, of which the kernels that are charged must be there. */
bool ss_device_read(struct ss_node node, struct ss_device *out, struct ss_error *error) SS_MUST_CHECK;
struct ss_device ss_device_none(void);

static inline double ss_device_time(const struct ss_device *device, enum ss_charge kernel, uint64_t bytes_moved) {
  if (!device->counted) return 0;
  if (!device->measured) return device->launch + (double)bytes_moved * device->per_byte;
  return device->line[kernel].t0 + (double)bytes_moved * device->line[kernel].per_byte;
}

/* Every byte takes `factor` times as long. */
static inline void ss_device_scale(struct ss_device *device, double factor) {
  device->per_byte *= factor;
  for (int i = 0; i < SS_CHARGES; i++) device->line[i].per_byte *= factor;
}

#endif
