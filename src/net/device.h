/* A device: how long a kernel takes. Read from models/devices/; "none" charges nothing. */
#ifndef SS_NET_DEVICE_H
#define SS_NET_DEVICE_H

#include "base/json.h"

#include <stdint.h>

/* time = launch + bytes moved / (bandwidth * efficiency): for people who have no calibration. */
struct ss_device {
  char name[128];
  bool counted; /* false: "none", kernels are not counted */
  double launch;
  double per_byte;
};

/* {"name", "memory_bandwidth", "efficiency", "launch", "source"}. */
bool ss_device_read(struct ss_node node, struct ss_device *out, struct ss_error *error) SS_MUST_CHECK;
struct ss_device ss_device_none(void);

static inline double ss_device_time(const struct ss_device *device, uint64_t bytes_moved) {
  return device->counted ? device->launch + (double)bytes_moved * device->per_byte : 0.0;
}

#endif
