#include "net/device.h"

#include <stdio.h>

struct ss_device ss_device_none(void) {
  return (struct ss_device){.name = "none"};
}

bool ss_device_read(struct ss_node node, struct ss_device *out, struct ss_error *error) {
  static const char *const known[] = {"name",  "summary", "memory_bandwidth", "efficiency", "launch", "source",
                                      "notes", NULL};
  struct ss_node name, bandwidth, efficiency, launch;
  const char *text;
  double rate, share;
  *out = (struct ss_device){.counted = true};
  if (!ss_node_keys(node, known, error)) return false;
  if (!ss_node_need(node, "name", &name, error) || !ss_node_text(name, &text, error)) return false;
  snprintf(out->name, sizeof out->name, "%s", text);
  if (!ss_node_need(node, "memory_bandwidth", &bandwidth, error) ||
      !ss_node_need(node, "efficiency", &efficiency, error) || !ss_node_need(node, "launch", &launch, error))
    return false;
  if (!ss_node_positive(bandwidth, SS_RATE, &rate, error) || !ss_node_positive(efficiency, SS_RATIO, &share, error) ||
      !ss_node_nonnegative(launch, SS_TIME, &out->launch, error))
    return false;
  if (share > 1)
    return ss_node_fail(efficiency, error, "%g is above 1 (it is a share of the memory bandwidth)", share);
  out->per_byte = 1.0 / (rate * share);
  if (!(out->per_byte <= 1e300)) return ss_node_fail(bandwidth, error, "%g B/s is out of range", rate);
  return true;
}
