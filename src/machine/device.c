#include "machine/device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DENSE_ADD_BYTES = 12 }; /* that a dense add moves for an element of a float */

struct ss_device ss_device_none(void) {
  return (struct ss_device){.name = "none"};
}

struct ss_device ss_device_of(const char *name, double launch, double per_byte) {
  struct ss_device device = {.counted = true};
  (void)snprintf(device.name, sizeof device.name, "%s", name);
  for (int k = 0; k < SS_KERNELS; k++)
    device.line[k] = (struct ss_kernel_line){.piece = {{INFINITY, launch, 0, per_byte}}, .pieces = 1};
  return device;
}

void ss_device_scale(struct ss_device *device, double factor) {
  for (int k = 0; k < SS_KERNELS; k++)
    for (uint32_t i = 0; i < device->line[k].pieces; i++) {
      struct ss_kernel_piece *piece = &device->line[k].piece[i];
      piece->t0 *= factor;
      piece->per_element *= factor;
      piece->per_byte *= factor;
    }
}

void ss_device_represent(struct ss_device *device, double count) {
  for (int k = 0; k < SS_KERNELS; k++)
    for (uint32_t i = 0; i < device->line[k].pieces; i++) {
      struct ss_kernel_piece *piece = &device->line[k].piece[i];
      piece->up_to /= count;
      piece->per_element *= count;
      piece->per_byte *= count;
    }
}

/* The estimate of every kernel, from the bandwidth of the memory. */
static bool read_bandwidth(struct ss_node node, struct ss_node bandwidth, struct ss_device *out,
                           struct ss_error *error) {
  struct ss_node efficiency, launch;
  double rate, share, start;
  if (!ss_node_need(node, "efficiency", &efficiency, error) || !ss_node_need(node, "launch", &launch, error) ||
      !ss_node_positive(bandwidth, SS_RATE, &rate, error) || !ss_node_positive(efficiency, SS_RATIO, &share, error) ||
      !ss_node_nonnegative(launch, SS_TIME, &start, error))
    return false;
  if (share > 1)
    return ss_node_fail(efficiency, error, "%g is above 1 (it is a share of the memory bandwidth)", share);
  if (!(1.0 / (rate * share) <= 1e300)) return ss_node_fail(bandwidth, error, "%g B/s is out of range", rate);
  *out = ss_device_of(out->name, start, 1.0 / (rate * share));
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

static bool read_costs(struct ss_node node, struct ss_kernel_piece *out, struct ss_error *error) {
  const struct ss_node per_element = ss_node_get(node, "per_element"), per_byte = ss_node_get(node, "per_byte");
  struct ss_node t0;
  *out = (struct ss_kernel_piece){.up_to = INFINITY};
  if (!ss_node_need(node, "t0", &t0, error) || !ss_node_nonnegative(t0, SS_TIME, &out->t0, error)) return false;
  if (!ss_node_present(per_element) && !ss_node_need(node, "per_byte", &t0, error)) return false;
  if ((ss_node_present(per_element) && !ss_node_nonnegative(per_element, SS_TIME, &out->per_element, error)) ||
      (ss_node_present(per_byte) && !ss_node_nonnegative(per_byte, SS_TIME, &out->per_byte, error)))
    return false;
  return out->per_element + out->per_byte > 0 ||
         ss_node_fail(ss_node_present(per_byte) ? per_byte : per_element, error,
                      "a kernel takes time for its elements or its bytes: per_element or per_byte above 0");
}

/* All but the last say up to where they are meant. */
static bool read_pieces(struct ss_node list, struct ss_kernel_line *out, struct ss_error *error) {
  static const char *const known[] = {"up_to", "t0", "per_element", "per_byte", NULL};
  double before = 0;
  if (!ss_node_is_array(list) || ss_node_size(list) == 0 || ss_node_size(list) > SS_KERNEL_PIECES)
    return ss_node_fail(list, error, "expected a list of 1 to %d pieces", SS_KERNEL_PIECES);
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    struct ss_kernel_piece *piece = &out->piece[out->pieces++];
    const bool last = out->pieces == ss_node_size(list);
    struct ss_node up_to = ss_node_get(n, "up_to");
    if (!ss_node_keys(n, known, error) || !read_costs(n, piece, error)) return false;
    if (last && ss_node_present(up_to)) return ss_node_fail(up_to, error, "the last piece is for all larger calls");
    if (last) return true;
    if (!ss_node_need(n, "up_to", &up_to, error) || !ss_node_positive(up_to, SS_BYTES, &piece->up_to, error))
      return false;
    if (piece->up_to <= before) return ss_node_fail(up_to, error, "is not above the piece before it");
    before = piece->up_to;
  }
  return true;
}

static bool read_line(struct ss_node node, struct ss_kernel_line *out, struct ss_error *error) {
  static const char *const known[] = {"t0",       "per_element",     "per_byte",     "pieces", "valid", "samples",
                                      "outliers", "residual_median", "residual_max", "source", NULL};
  const struct ss_node pieces = ss_node_get(node, "pieces");
  *out = (struct ss_kernel_line){.known = true};
  if (!ss_node_keys(node, known, error) || !read_valid(ss_node_get(node, "valid"), error)) return false;
  for (int i = 0; ss_node_present(pieces) && i < 3; i++) /* t0, per_element, per_byte */
    if (ss_node_present(ss_node_get(node, known[i])))
      return ss_node_fail(ss_node_get(node, known[i]), error, "each piece has costs of its own: leave this out");
  if (ss_node_present(pieces)) return read_pieces(pieces, out, error);
  out->pieces = 1;
  return read_costs(node, &out->piece[0], error);
}

static bool read_lines(struct ss_node kernels, struct ss_device *out, struct ss_error *error) {
  const char *names[SS_KERNELS + 1] = {NULL};
  if (!ss_node_is_object(kernels)) return ss_node_fail(kernels, error, "must be an object of kernels");
  for (int k = 0; k < SS_KERNELS; k++) names[k] = ss_kernel_name((enum ss_kernel_kind)k);
  if (!ss_node_keys(kernels, names, error)) return false;
  for (int k = 0; k < SS_KERNELS; k++) {
    const struct ss_node line = ss_node_get(kernels, names[k]);
    if (ss_node_present(line) && !read_line(line, &out->line[k], error)) return false;
  }
  return true;
}

/* Where no bandwidth is said, what is not measured is taken for as fast as a dense add. */
static bool read_measured(struct ss_node kernels, struct ss_device *out, struct ss_error *error) {
  struct ss_kernel_line like;
  struct ss_node sum, add;
  if (!ss_node_is_object(kernels)) return ss_node_fail(kernels, error, "must be an object of kernels");
  if (!ss_node_need(kernels, ss_kernel_name(SS_KERNEL_MERGE_SUM), &sum, error) ||
      !ss_node_need(kernels, ss_kernel_name(SS_KERNEL_DENSE_ADD), &add, error) || !read_line(add, &like, error))
    return false;
  /* by its largest calls */
  const struct ss_kernel_piece *large = &like.piece[like.pieces - 1];
  *out = ss_device_of(out->name, large->t0, large->per_byte + large->per_element / DENSE_ADD_BYTES);
  return read_lines(kernels, out, error);
}

/* What the file says of elements and bytes takes so many times as long. */
static bool read_slower(struct ss_node slower, struct ss_device *out, struct ss_error *error) {
  double factor;
  if (!ss_node_present(slower)) return true;
  if (!ss_node_positive(slower, SS_NUMBER, &factor, error)) return false;
  if (factor < 1e-9 || factor > 1e9)
    return ss_node_fail(slower, error, "%g: factors from 1e-9 to 1e9 make sense", factor);
  ss_device_represent(out, factor);
  const size_t length = strlen(out->name);
  if (factor != 1) (void)snprintf(out->name + length, sizeof out->name - length, " (%g times slower)", factor);
  return true;
}

static bool read_all(struct ss_node node, struct ss_device *out, struct ss_error *error) {
  const struct ss_node kernels = ss_node_get(node, "kernels"), bandwidth = ss_node_get(node, "memory_bandwidth");
  const bool estimates =
      ss_node_present(ss_node_get(node, "efficiency")) || ss_node_present(ss_node_get(node, "launch"));
  struct ss_node needed;
  if (!ss_node_present(bandwidth) && !estimates && ss_node_present(kernels))
    return read_measured(kernels, out, error);
  if (!ss_node_need(node, "memory_bandwidth", &needed, error) || !read_bandwidth(node, bandwidth, out, error))
    return false;
  return !ss_node_present(kernels) || read_lines(kernels, out, error);
}

bool ss_device_read(struct ss_node node, struct ss_device *out, struct ss_error *error) {
  static const char *const known[] = {"name",    "summary",  "memory_bandwidth", "efficiency", "launch", "slower",
                                      "kernels", "measured", "source",           "notes",      NULL};
  struct ss_node name;
  const char *text;
  *out = (struct ss_device){.counted = true};
  if (!ss_node_is_object(node)) return ss_node_fail(node, error, "must be an object");
  if (!ss_node_keys(node, known, error) || !ss_node_need(node, "name", &name, error) ||
      !ss_node_text(name, &text, error))
    return false;
  (void)snprintf(out->name, sizeof out->name, "%s", text);
  return read_all(node, out, error) && read_slower(ss_node_get(node, "slower"), out, error);
}
