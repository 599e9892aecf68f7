#include "machine/device.h"

#include <stdio.h>

struct ss_device ss_device_none(void) {
  return (struct ss_device){.name = "none"};
}

static bool read_analytic(struct ss_node node, struct ss_device *out, struct ss_error *error) {
  static const char *const known[] = {"name",  "summary", "memory_bandwidth", "efficiency", "launch", "source",
                                      "notes", NULL};
  struct ss_node bandwidth, efficiency, launch;
  double rate, share;
  if (!ss_node_keys(node, known, error)) return false;
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

static bool read_valid(struct ss_node valid, struct ss_error *error) {
  double low, high;
  if (!ss_node_present(valid)) return true;
  if (!ss_node_is_array(valid) || ss_node_size(valid) != 2)
    return ss_node_fail(valid, error, "must be the smallest and the largest size, in bytes: [65536, 1e9]");
  const struct ss_node first = ss_node_first(valid), second = ss_node_next(first);
  if (!ss_node_nonnegative(first, SS_BYTES, &low, error) || !ss_node_nonnegative(second, SS_BYTES, &high, error))
    return false;
  return low <= high || ss_node_fail(valid, error, "begins behind its end");
}

static bool read_line(struct ss_node node, struct ss_kernel_line *out, struct ss_error *error) {
  static const char *const known[] = {"t0",       "per_byte",        "valid",        "samples",
                                      "outliers", "residual_median", "residual_max", NULL};
  struct ss_node t0, per_byte;
  if (!ss_node_keys(node, known, error) || !ss_node_need(node, "t0", &t0, error) ||
      !ss_node_need(node, "per_byte", &per_byte, error))
    return false;
  return ss_node_nonnegative(t0, SS_TIME, &out->t0, error) &&
         ss_node_positive(per_byte, SS_TIME, &out->per_byte, error) && read_valid(ss_node_get(node, "valid"), error);
}

static bool read_measured(struct ss_node node, struct ss_node kernels, struct ss_device *out,
                          struct ss_error *error) {
  static const char *const known[] = {"name", "summary", "kernels", "measured", "source", "notes", NULL};
  static const char *const charged[] = {[SS_MERGE_SUM] = "merge_sum", [SS_DENSE_ADD] = "dense_add"};
  struct ss_kernel_line other;
  struct ss_node need;
  out->measured = true;
  if (!ss_node_keys(node, known, error)) return false;
  if (!ss_node_is_object(kernels)) return ss_node_fail(kernels, error, "must be an object of kernels");
  for (struct ss_node k = ss_node_first(kernels); ss_node_present(k); k = ss_node_next(k))
    if (!read_line(k, &other, error)) return false;
  for (int i = 0; i < SS_CHARGES; i++)
    if (!ss_node_need(kernels, charged[i], &need, error) || !read_line(need, &out->line[i], error)) return false;
  return true;
}

bool ss_device_read(struct ss_node node, struct ss_device *out, struct ss_error *error) {
  const struct ss_node kernels = ss_node_get(node, "kernels");
  struct ss_node name;
  const char *text;
  *out = (struct ss_device){.counted = true};
  if (!ss_node_is_object(node)) return ss_node_fail(node, error, "must be an object");
  if (!ss_node_need(node, "name", &name, error) || !ss_node_text(name, &text, error)) return false;
  snprintf(out->name, sizeof out->name, "%s", text);
  return ss_node_present(kernels) ? read_measured(node, kernels, out, error) : read_analytic(node, out, error);
}
