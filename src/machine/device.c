#include "machine/device.h"

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
  device->page *= factor;
  for (int k = 0; k < SS_KERNELS; k++)
    for (uint32_t i = 0; i < device->line[k].pieces; i++) {
      struct ss_kernel_piece *piece = &device->line[k].piece[i];
      piece->t0 *= factor;
      piece->per_element *= factor;
      piece->per_byte *= factor;
    }
}

void ss_device_represent(struct ss_device *device, double count) {
  device->page *= count;
  device->page_from /= count;
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

#define COSTS                                                                                                        \
  {"t0", "of every call", SS_IS_TIME, .required = true, SS_STORED(struct ss_kernel_piece, t0)},                      \
      {"per_element", "for each element gone through", SS_IS_TIME, SS_STORED(struct ss_kernel_piece, per_element)},  \
  {                                                                                                                  \
    "per_byte", "for each byte moved", SS_IS_TIME, SS_STORED(struct ss_kernel_piece, per_byte)                       \
  }
#define TAKES_TIME                                                                                                   \
  "'anyOf': [{'required': ['per_byte'], 'properties': {'per_byte': {'not': {'const': 0}}}}, "                        \
  "{'required': ['per_element'], 'properties': {'per_element': {'not': {'const': 0}}}}]"

static const struct ss_field_spec cost_fields[] = {COSTS, {.name = NULL}};
static const struct ss_object_spec cost_spec = {.field = cost_fields};

/* The costs among the members of a line or a piece. */
static bool read_costs(struct ss_node node, struct ss_kernel_piece *out, struct ss_error *error) {
  const struct ss_node per_element = ss_node_get(node, "per_element"), per_byte = ss_node_get(node, "per_byte");
  struct ss_node needed;
  *out = (struct ss_kernel_piece){.up_to = INFINITY};
  if (!ss_object_read_known(&cost_spec, node, out, error)) return false;
  if (!ss_node_present(per_element) && !ss_node_need(node, "per_byte", &needed, error)) return false;
  return out->per_element + out->per_byte > 0 ||
         ss_node_fail(ss_node_present(per_byte) ? per_byte : per_element, error,
                      "a kernel takes time for its elements or its bytes: per_element or per_byte above 0");
}

static const struct ss_field_spec piece_fields[] = {
    {"up_to", "bytes moved by a call", .kind = SS_SPEC_POSITIVE, .dimension = SS_BYTES}, COSTS, {.name = NULL}};
static const struct ss_object_spec piece_spec = {.field = piece_fields, .rules = "{" TAKES_TIME "}"};
static const struct ss_field_spec a_piece = {NULL, NULL, SS_IS_OBJECT(&piece_spec)},
                                  a_size = {NULL, NULL, SS_IS_BYTES};

/* All but the last say up to where they are meant. */
static bool read_pieces(struct ss_node list, struct ss_kernel_line *out, struct ss_error *error) {
  double before = 0;
  if (!ss_node_is_array(list) || ss_node_size(list) == 0 || ss_node_size(list) > SS_KERNEL_PIECES)
    return ss_node_fail(list, error, "expected a list of 1 to %d pieces", SS_KERNEL_PIECES);
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    struct ss_kernel_piece *piece = &out->piece[out->pieces++];
    const bool last = out->pieces == ss_node_size(list);
    struct ss_node up_to = ss_node_get(n, "up_to");
    if (!ss_object_check_keys(&piece_spec, n, error) || !read_costs(n, piece, error)) return false;
    if (last && ss_node_present(up_to)) return ss_node_fail(up_to, error, "the last piece is for all larger calls");
    if (last) return true;
    if (!ss_node_need(n, "up_to", &up_to, error) || !ss_node_positive(up_to, SS_BYTES, &piece->up_to, error))
      return false;
    if (piece->up_to <= before) return ss_node_fail(up_to, error, "is not above the piece before it");
    before = piece->up_to;
  }
  return true;
}

static const struct ss_field_spec line_fields[] = {
    {"t0", "of every call", SS_IS_TIME},
    {"per_element", "for each element gone through", SS_IS_TIME},
    {"per_byte", "for each byte moved", SS_IS_TIME},
    {"pieces", "by the size of a call, smallest first; all but the last say up to where",
     SS_IS_LIST(&a_piece, 1, SS_KERNEL_PIECES), .against = "t0 per_element per_byte"},
    {"valid", "smallest and largest size that was measured, in bytes moved", SS_IS_LIST(&a_size, 2, 2)},
    {"samples", NULL, SS_IS_NUMBER},
    {"outliers", NULL, SS_IS_NUMBER},
    {"residual_median", NULL, SS_IS_NUMBER},
    {"residual_max", NULL, SS_IS_NUMBER},
    {"source", "where the line was published", SS_IS_TEXT},
    {.name = NULL}};
static const struct ss_object_spec line_spec = {.name = "kernel",
                                                .field = line_fields,
                                                .rules = "{'anyOf': [{'required': ['t0'], " TAKES_TIME
                                                         "}, {'required': ['pieces']}]}"};
static const struct ss_field_spec a_line = {NULL, NULL, SS_IS_OBJECT(&line_spec)};

static bool read_line(struct ss_node node, struct ss_kernel_line *out, struct ss_error *error) {
  const struct ss_node pieces = ss_node_get(node, "pieces");
  *out = (struct ss_kernel_line){.known = true};
  if (!ss_object_check_keys(&line_spec, node, error) || !read_valid(ss_node_get(node, "valid"), error)) return false;
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

/* A sum moves three bytes for each that comes in. Who only supposes what sums take says so in the source. */
static bool read_memory(struct ss_node node, struct ss_node memory, struct ss_device *out, struct ss_error *error) {
  static const char *const instead[] = {"kernels", "memory_bandwidth", "efficiency", "launch"};
  const struct ss_node source = ss_node_get(ss_node_get(node, "source"), "memory");
  const char *where;
  struct ss_host_memory host;
  for (size_t i = 0; i < sizeof instead / sizeof *instead; i++)
    if (ss_node_present(ss_node_get(node, instead[i])))
      return ss_node_fail(memory, error, "stands in place of \"%s\": give one of both", instead[i]);
  if (!ss_host_memory_read(memory, &host, error)) return false;
  const struct ss_host_piece large = ss_host_at(&host, UINT64_MAX);
  *out = ss_device_of(out->name, 0, large.sum / 3);
  out->moves = true;
  out->page = large.page;
  out->page_from = SS_GIVEN_BACK;
  out->line[SS_KERNEL_DENSE_ADD].known =
      !ss_node_text(source, &where, NULL) || strncmp(where, "estimated", strlen("estimated")) != 0;
  return true;
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
  const struct ss_node memory = ss_node_get(node, "memory");
  struct ss_node needed;
  if (ss_node_present(memory)) return read_memory(node, memory, out, error);
  if (!ss_node_present(bandwidth) && !estimates && ss_node_present(kernels))
    return read_measured(kernels, out, error);
  if (!ss_node_need(node, "memory_bandwidth", &needed, error) || !read_bandwidth(node, bandwidth, out, error))
    return false;
  return !ss_node_present(kernels) || read_lines(kernels, out, error);
}

static const char *kernel_name(size_t number) {
  return ss_kernel_name((enum ss_kernel_kind)number);
}

static const struct ss_object_spec kernels_spec = {.others = &a_line, .choice = kernel_name};
#define DEVICE_FIELDS                                                                                                \
  SS_SPEC_SUMMARY,                                                                                                   \
      {"memory_size", "how much there is: results say what does not fit", .kind = SS_SPEC_POSITIVE,                  \
       .dimension = SS_BYTES},                                                                                       \
      {"memory_bandwidth", NULL, SS_IS_RATE},                                                                        \
      {"efficiency", "share of the memory bandwidth that kernels reach", SS_IS_SHARE, .most = 1},                    \
      {"launch", "of a kernel", SS_IS_TIME},                                                                         \
      {"slower", "every element and byte takes so many times as long, starts as long as ever", SS_IS_ABOVE_0,        \
       .most = 1e9},                                                                                                 \
      {"kernels", "what was measured or published; all others are estimated by the bandwidth, or by dense_add",      \
       SS_IS_OBJECT(&kernels_spec)},                                                                                 \
      {"memory", NULL, SS_IS_OBJECT(&ss_host_memory_fields)},                                                        \
      {"measured", "by what command, when; not read by the program", .kind = SS_SPEC_ANY}, SS_SPEC_SOURCE,           \
      SS_SPEC_NOTES, {                                                                                               \
    .name = NULL                                                                                                     \
  }
static const struct ss_field_spec device_fields[] = {
    {"name", NULL, SS_IS_TEXT, .required = true, SS_STORED(struct ss_device, name)}, DEVICE_FIELDS};
static const struct ss_field_spec like_fields[] = {
    {"like", NULL, SS_IS_NAME, .required = true}, {"name", NULL, SS_IS_TEXT}, DEVICE_FIELDS};
static const struct ss_object_spec like_spec = {
    .name = "like",
    .says = "the model of that name, or path, with the other fields in place of its own",
    .field = like_fields};
const struct ss_field_spec ss_device_forms[] = {{NULL, NULL, SS_IS_NAME},
                                                {NULL, NULL, SS_IS_OBJECT(&ss_device_fields)},
                                                {NULL, NULL, SS_IS_OBJECT(&like_spec)},
                                                {.name = NULL}};
#define UNLESS_MEASURED                                                                                              \
  "{'anyOf': [{'required': ['memory'], 'properties': {'kernels': false, 'memory_bandwidth': false, "                 \
  "'efficiency': false, 'launch': false}}, {'required': ['memory_bandwidth', 'efficiency', 'launch']}, "             \
  "{'required': ['kernels'], 'properties': {"                                                                        \
  "'kernels': {'required': ['merge_sum', 'dense_add']}, 'memory_bandwidth': false, 'efficiency': false, "            \
  "'launch': false}}]}"
const struct ss_object_spec ss_device_fields = {
    .name = "device",
    .title = "A device: models/devices/*.json, or inline in a scenario",
    .says =
        "A kernel takes t0 + elements * per_element + bytes * per_byte where it has a line, or pieces of one by the "
        "size of a call, else launch + bytes / (memory_bandwidth * efficiency). docs/calibration.md",
    .field = device_fields,
    .rules = UNLESS_MEASURED};

bool ss_device_read(struct ss_node node, struct ss_device *out, struct ss_error *error) {
  const struct ss_node size = ss_node_get(node, "memory_size");
  *out = (struct ss_device){.counted = true};
  if (!ss_node_is_object(node)) return ss_node_fail(node, error, "must be an object");
  return ss_object_read(&ss_device_fields, node, out, error) && read_all(node, out, error) &&
         read_slower(ss_node_get(node, "slower"), out, error) &&
         (!ss_node_present(size) || ss_node_positive(size, SS_BYTES, &out->memory_size, error));
}
/* SPDX-License-Identifier: Apache-2.0 */
