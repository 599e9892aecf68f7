#include "tensor/wire.h"

#include "tensor/wire_maps.h"

#include "base/base.h"

enum { SS_WIRE_NUMBER = 8 }; /* bytes */

static uint64_t dense_bytes(const struct ss_wire *wire, const struct ss_chunk *c) {
  return (c->high - c->low) * c->width * wire->value_bytes;
}

static uint64_t domain_size(const struct ss_wire *wire, const struct ss_chunk *c) {
  return wire->domains && c->part < wire->domains->parts ? wire->domains->size[c->part] : c->high - c->low;
}

static struct ss_blocks count_blocks(const struct ss_wire *wire, const struct ss_chunk *c) {
  const uint64_t all = (c->high - c->low) * c->width, last_block = all ? (all - 1) / wire->block : 0;
  struct ss_blocks blocks = {0, 0};
  uint64_t next = 0;                                /* the first block not counted yet */
  if (c->distinct && c->width % wire->block == 0) { /* rows are whole blocks, and share none */
    const uint64_t elements = c->count * c->width;
    return (struct ss_blocks){elements / wire->block, elements};
  }
  for (uint64_t i = 0; i < c->count && c->width > 0; i++) {
    uint64_t first = (c->rows[i] - c->low) * c->width, end = first + c->width - 1;
    if (end < next * wire->block) continue; /* counted: no division for each entry */
    first = first / wire->block > next ? first / wire->block : next;
    end = end / wire->block;
    blocks.count += end - first + 1;
    next = end + 1;
  }
  blocks.elements = blocks.count * wire->block;
  if (next == last_block + 1 && all % wire->block) blocks.elements -= wire->block - all % wire->block;
  return blocks;
}

/* Who encodes finds out how many there are by the way: counting them before is no part of a scheme. */
struct ss_blocks ss_wire_blocks(const struct ss_wire *wire, const struct ss_chunk *c) {
  SS_ASIDE;
  return count_blocks(wire, c);
}

/* In a format that is no choice among others. */
static uint64_t bytes_in(const struct ss_wire *wire, const struct ss_chunk *c) {
  uint64_t values = c->count * c->width * wire->value_bytes;
  uint64_t indices = c->count * wire->index_bytes * (wire->index_per_element ? c->width : 1);
  struct ss_blocks blocks;
  switch (wire->format) {
  case SS_WIRE_DENSE: return dense_bytes(wire, c);
  case SS_WIRE_COO: return indices + values;
  case SS_WIRE_INDICES: return indices;
  case SS_WIRE_VALUES: return values;
  case SS_WIRE_BITMAP: return (c->high - c->low + 7) / 8 + values;
  case SS_WIRE_HASH_BITMAP: return (domain_size(wire, c) + 7) / 8 + values;
  case SS_WIRE_BLOCK:
    blocks = ss_wire_blocks(wire, c);
    return blocks.elements * wire->value_bytes + blocks.count * SS_WIRE_BLOCK_NUMBER;
  case SS_WIRE_SKETCH: return (c->high - c->low) * wire->value_bytes + (c->count - (c->high - c->low));
  case SS_WIRE_SMALLER:
  case SS_WIRE_SMALLEST: break; /* see settled */
  }
  return 0;
}

static bool is_open(const struct ss_wire *wire) {
  return wire->format == SS_WIRE_SMALLER || wire->format == SS_WIRE_SMALLEST;
}

/* The wire in the format that the chunk travels in, which follows from what both ends know of it. */
static struct ss_wire settled(const struct ss_wire *wire, const struct ss_chunk *c) {
  static const enum ss_wire_format formats[] = {SS_WIRE_COO, SS_WIRE_DENSE, SS_WIRE_BITMAP, SS_WIRE_HASH_BITMAP};
  const uint32_t count = wire->format == SS_WIRE_SMALLEST ? 4 : 2;
  struct ss_wire least = *wire, other = *wire;
  if (!is_open(wire)) return least;
  least.format = formats[0];
  for (uint32_t i = 1; i < count; i++) {
    other.format = formats[i];
    if (bytes_in(&other, c) < bytes_in(&least, c)) least = other;
  }
  return least;
}

uint64_t ss_wire_bytes(const struct ss_wire *wire, const struct ss_chunk *c) {
  if (!is_open(wire)) return bytes_in(wire, c);
  const struct ss_wire as = settled(wire, c);
  return bytes_in(&as, c);
}

static uint64_t nonzeros(const struct ss_chunk *c) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < c->count; i++) n += c->units[i] != 0;
  return n;
}

uint64_t ss_wire_entries(const struct ss_wire *wire, const struct ss_chunk *c) {
  if (wire->format == SS_WIRE_BLOCK && c->width > 0) return ss_wire_blocks(wire, c).elements / c->width;
  if (is_open(wire) && c->kind == SS_CHUNK_VALUES && c->units && settled(wire, c).format == SS_WIRE_DENSE)
    return nonzeros(c);
  return c->count;
}

/* --- encoding ------------------------------------------------------------------------------------------- */

static unsigned char *put_indices(const struct ss_wire *wire, const struct ss_chunk *c, unsigned char *out) {
  const size_t size = c->count * wire->index_bytes;
  if (wire->index_bytes == sizeof *c->rows) {
    if (size > 0) memcpy(out, c->rows, size); /* little-endian hosts, like the trace format */
    return out + size;
  }
  for (uint64_t i = 0; i < c->count; i++) {
    const uint64_t row = c->rows[i];
    memcpy(out + i * sizeof row, &row, sizeof row);
  }
  return out + size;
}

bool ss_wire_exact(const struct ss_wire *wire, const struct ss_chunk *c) {
  const bool sketch = wire->format == SS_WIRE_SKETCH;
  const int64_t *units = sketch ? c->sketch : c->units;
  const uint64_t values = sketch ? c->high - c->low : c->count;
  for (uint64_t i = 0; wire->units && i < values; i++) {
    if (units[i] > SS_WIRE_UNITS_MOST || units[i] < -SS_WIRE_UNITS_MOST) return false;
  }
  return true;
}

static void put_entry(const struct ss_wire *wire, const struct ss_chunk *c, uint64_t entry, unsigned char *out) {
  if (!wire->units) {
    if (c->values) memcpy(out, c->values + entry * c->stride, c->width * sizeof(float));
    return;
  }
  const float units = (float)c->units[entry];
  memcpy(out, &units, sizeof units);
}

/* The floats of a chunk that lie as they travel; NULL: they do not. */
static const float *in_line(const struct ss_wire *wire, const struct ss_chunk *c) {
  return !wire->units && c->stride == c->width ? c->values : NULL;
}

static void put_values(const struct ss_wire *wire, const struct ss_chunk *c, uint64_t entries, unsigned char *out) {
  const float *values = in_line(wire, c);
  if (values) memcpy(out, values, entries * c->width * sizeof *values);
  for (uint64_t i = 0; !values && i < entries; i++, out += c->width * sizeof(float)) put_entry(wire, c, i, out);
}

static void put_numbers(const struct ss_wire *wire, const struct ss_chunk *c, unsigned char *out) {
  const uint64_t bytes = dense_bytes(wire, c);
  if (bytes > 0) memcpy(out, c->numbers, bytes);
}

static void add_row(const float *values, uint32_t width, unsigned char *out) {
  for (uint32_t c = 0; c < width; c++, out += sizeof(float)) {
    float sum;
    memcpy(&sum, out, sizeof sum);
    sum += values[c];
    memcpy(out, &sum, sizeof sum);
  }
}

/* The listed rows of a sparse chunk among zeros; what is listed twice adds up. */
static void put_among_zeros(const struct ss_wire *wire, const struct ss_chunk *c, unsigned char *out) {
  size_t row = c->width * sizeof(float);
  memset(out, 0, dense_bytes(wire, c));
  for (uint64_t i = 0; i < c->count; i++) {
    unsigned char *to = out + (c->rows[i] - c->low) * row;
    if (i > 0 && c->rows[i] == c->rows[i - 1]) add_row(c->values + i * c->stride, c->width, to);
    else put_entry(wire, c, i, to);
  }
}

const void *ss_wire_as_it_lies(const struct ss_wire *wire, const struct ss_chunk *c) {
  const bool dense = wire->format == SS_WIRE_DENSE && wire->value_bytes == sizeof(float) && c->dense;
  return dense ? in_line(wire, c) : NULL;
}

bool ss_wire_encoder(const struct ss_wire *wire, const struct ss_chunk *c, enum ss_kernel_kind *kernel) {
  switch (settled(wire, c).format) {
  case SS_WIRE_DENSE: *kernel = SS_KERNEL_PACK; return is_open(wire); /* a list becomes an image */
  case SS_WIRE_SKETCH: return false;
  case SS_WIRE_BITMAP: *kernel = SS_KERNEL_BITMAP_ENCODE; return true;
  case SS_WIRE_HASH_BITMAP: *kernel = SS_KERNEL_HASH_BITMAP_ENCODE; return true;
  case SS_WIRE_BLOCK: *kernel = SS_KERNEL_BLOCK_ENCODE; return true;
  case SS_WIRE_COO:
  case SS_WIRE_INDICES:
  case SS_WIRE_VALUES: *kernel = SS_KERNEL_PACK; return true;
  case SS_WIRE_SMALLER:
  case SS_WIRE_SMALLEST: break;
  }
  return false;
}

bool ss_wire_decoder(const struct ss_wire *wire, const struct ss_chunk *c, enum ss_kernel_kind *kernel) {
  switch (settled(wire, c).format) {
  case SS_WIRE_BITMAP: *kernel = SS_KERNEL_BITMAP_DECODE; return true;
  case SS_WIRE_HASH_BITMAP: *kernel = SS_KERNEL_HASH_BITMAP_DECODE; return true;
  case SS_WIRE_BLOCK: *kernel = SS_KERNEL_BLOCK_DECODE; return true;
  default: return false; /* what came lies as it is needed */
  }
}

void ss_wire_encode(const struct ss_wire *wire, const struct ss_chunk *c, unsigned char *out) {
  enum ss_kernel_kind kernel = SS_KERNEL_PACK;
  const bool encodes = ss_wire_encoder(wire, c, &kernel);
  SS_KERNEL_TIMED_IF(encodes, kernel);
  if (ss_kernel_counts && encodes) ss_kernel_ran(kernel, ss_wire_entries(wire, c));
  switch (settled(wire, c).format) {
  case SS_WIRE_DENSE:
    if (wire->value_bytes == SS_WIRE_NUMBER) put_numbers(wire, c, out);
    else if (c->dense) put_values(wire, c, c->high - c->low, out);
    else put_among_zeros(wire, c, out);
    return;
  case SS_WIRE_COO: put_values(wire, c, c->count, put_indices(wire, c, out)); return;
  case SS_WIRE_INDICES: put_indices(wire, c, out); return;
  case SS_WIRE_VALUES: put_values(wire, c, c->count, out); return;
  case SS_WIRE_BITMAP: put_values(wire, c, c->count, ss_wire_put_bits(c, NULL, c->high - c->low, out)); return;
  case SS_WIRE_HASH_BITMAP:
    put_values(wire, c, c->count,
               ss_wire_put_bits(c, wire->domains ? wire->domains->rows[c->part] : NULL, domain_size(wire, c), out));
    return;
  case SS_WIRE_BLOCK: ss_wire_put_blocks(wire, c, out); return;
  case SS_WIRE_SKETCH: ss_wire_put_sketch(wire, c, out); return;
  case SS_WIRE_SMALLER:
  case SS_WIRE_SMALLEST: return;
  }
}

/* --- decoding ------------------------------------------------------------------------------------------- */

/* Bytes of a chunk, from some place on. */
static struct ss_encoded from(struct ss_encoded bytes, size_t offset) {
  return (struct ss_encoded){bytes.at + offset, bytes.size - offset, bytes.stays};
}

/* Four-byte items as they came, where they can stay, or a copy of them. NULL: memory is short. */
static const void *items(uint64_t count, struct ss_encoded bytes, struct ss_arena *arena) {
  const bool aligned = (uintptr_t)bytes.at % _Alignof(uint32_t) == 0;
  if (bytes.stays && aligned && count > 0) return bytes.at;
  uint32_t *copy = ss_arena_alloc(arena, count, sizeof *copy);
  if (copy && count > 0) memcpy(copy, bytes.at, count * sizeof *copy);
  return copy;
}

/* The next index of a chunk, after `least` - 1. */
static bool check_index(const struct ss_chunk *known, uint64_t least, uint64_t row, struct ss_error *error) {
  return (row >= least && row < known->high) ||
         ss_fail(error, SS_UNPROVEN, "received row %llu outside [%llu, %llu) or out of order",
                 (unsigned long long)row, (unsigned long long)known->low, (unsigned long long)known->high);
}

static bool get_wide_indices(const struct ss_chunk *known, struct ss_encoded bytes, uint32_t *rows,
                             struct ss_error *error) {
  uint64_t row, before = known->low;
  for (uint64_t i = 0; i < known->count; i++, before = row) {
    memcpy(&row, bytes.at + i * sizeof row, sizeof row);
    if (!check_index(known, before, row, error)) return false;
    rows[i] = (uint32_t)row;
  }
  return true;
}

static bool get_indices(const struct ss_wire *wire, const struct ss_chunk *known, struct ss_encoded bytes,
                        struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) {
  if (wire->index_bytes != sizeof *out->rows) {
    uint32_t *rows;
    if (!ss_take(arena, rows, known->count)) return ss_fail_memory(error, "decoding indices");
    out->rows = rows;
    return get_wide_indices(known, bytes, rows, error);
  }
  out->rows = items(known->count, bytes, arena);
  if (!out->rows) return ss_fail_memory(error, "decoding indices");
  uint64_t before = known->low;
  for (uint64_t i = 0; i < known->count; before = out->rows[i++])
    if (!check_index(known, before, out->rows[i], error)) return false;
  return true;
}

static bool get_values(uint64_t entries, struct ss_encoded bytes, struct ss_arena *arena, struct ss_chunk *out,
                       struct ss_error *error) {
  out->values = items(entries * out->width, bytes, arena);
  out->stride = out->width;
  return out->values || ss_fail_memory(error, "decoding values");
}

/* A dense image of a sparse chunk: its rows are those that are not zero. */
static bool get_nonzeros(const struct ss_chunk *known, struct ss_encoded bytes, struct ss_arena *arena,
                         struct ss_chunk *out, struct ss_error *error) {
  const uint64_t range = known->high - known->low;
  struct ss_chunk image = *out;
  uint32_t *rows = ss_arena_alloc(arena, range, sizeof *rows);
  uint64_t n = 0;
  if (!rows) return ss_fail_memory(error, "decoding rows");
  bytes.stays = false; /* what is no zero moves together */
  if (!get_values(range, bytes, arena, &image, error)) return false;
  float *values = (float *)image.values;
  for (uint64_t r = 0; r < range; r++) {
    bool zero = true;
    for (uint32_t c = 0; c < out->width; c++) zero = zero && values[r * out->width + c] == 0;
    if (zero) continue;
    memmove(values + n * out->width, values + r * out->width, out->width * sizeof *values);
    rows[n++] = (uint32_t)(known->low + r);
  }
  *out = image;
  out->rows = rows;
  out->count = n;
  return true;
}

static bool get_numbers(const struct ss_wire *wire, const unsigned char *bytes, struct ss_arena *arena,
                        struct ss_chunk *out, struct ss_error *error) {
  const uint64_t numbers = out->high - out->low, most = numbers > out->count ? numbers : out->count;
  uint64_t *number = ss_arena_zero(arena, most, sizeof *number);
  if (!number) return ss_fail_memory(error, "decoding numbers");
  if (numbers > 0) memcpy(number, bytes, dense_bytes(wire, out));
  out->numbers = number;
  out->kind = SS_CHUNK_NUMBERS;
  return true;
}

/* What came as floats becomes units. */
static bool get_units(struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) {
  int64_t *units = ss_arena_alloc(arena, out->count, sizeof *units);
  if (!units) return ss_fail_memory(error, "decoding values");
  for (uint64_t i = 0; out->values && i < out->count; i++) {
    const float value = out->values[i];
    if (!(fabsf(value) <= (float)SS_WIRE_UNITS_MOST) || value < truncf(value) || value > truncf(value))
      return ss_fail(error, SS_UNPROVEN, "received %g, which is no whole number that a float holds", (double)value);
    units[i] = (int64_t)value;
  }
  out->units = units;
  out->kind = SS_CHUNK_VALUES;
  out->values = NULL;
  return true;
}

/* Real schemes go on with the floats that came: what makes ours exact is no part of them. */
static bool get_exact(const struct ss_wire *wire, struct ss_encoded bytes, struct ss_arena *arena,
                      struct ss_chunk *out, struct ss_error *error) {
  SS_ASIDE;
  return wire->format == SS_WIRE_SKETCH ? ss_wire_get_sketch(wire, bytes.at, arena, out, error)
                                        : get_units(arena, out, error);
}

static bool decode(const struct ss_wire *wire, const struct ss_chunk *known, struct ss_encoded bytes,
                   struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) {
  const struct ss_wire as = settled(wire, known);
  if (wire->format == SS_WIRE_BLOCK) return ss_wire_get_blocks(wire, bytes.at, bytes.size, arena, out, error);
  if (bytes.size != ss_wire_bytes(wire, known))
    return ss_fail(error, SS_UNPROVEN, "received %zu bytes where %llu were due", bytes.size,
                   (unsigned long long)ss_wire_bytes(wire, known));
  switch (as.format) {
  case SS_WIRE_BLOCK:
  case SS_WIRE_SMALLER:
  case SS_WIRE_SMALLEST: break;
  case SS_WIRE_SKETCH: return get_exact(wire, bytes, arena, out, error);
  case SS_WIRE_DENSE:
    if (wire->value_bytes == SS_WIRE_NUMBER) return get_numbers(wire, bytes.at, arena, out, error);
    return known->dense ? get_values(known->high - known->low, bytes, arena, out, error)
                        : get_nonzeros(known, bytes, arena, out, error);
  case SS_WIRE_COO:
    return get_indices(wire, known, bytes, arena, out, error) &&
           get_values(known->count, from(bytes, known->count * wire->index_bytes), arena, out, error);
  case SS_WIRE_INDICES: return get_indices(wire, known, bytes, arena, out, error);
  case SS_WIRE_VALUES: return get_values(known->count, bytes, arena, out, error);
  case SS_WIRE_BITMAP:
  case SS_WIRE_HASH_BITMAP: {
    const bool hashed = as.format == SS_WIRE_HASH_BITMAP && wire->domains;
    const uint64_t domain = hashed ? domain_size(wire, known) : known->high - known->low;
    return ss_wire_get_bits(hashed ? wire->domains->rows[known->part] : NULL, domain, bytes.at, arena, out, error) &&
           get_values(known->count, from(bytes, (domain + 7) / 8), arena, out, error);
  }
  }
  return false;
}

bool ss_wire_decode(const struct ss_wire *wire, const struct ss_chunk *known, struct ss_encoded bytes,
                    struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) {
  enum ss_kernel_kind kernel = SS_KERNEL_PACK;
  const bool decodes = ss_wire_decoder(wire, known, &kernel);
  SS_KERNEL_TIMED_IF(decodes, kernel);
  *out = *known;
  out->marks = NULL;
  out->kind = SS_CHUNK_BARE;
  out->author = 0;
  out->values = NULL;
  if (!decode(wire, known, bytes, arena, out, error)) return false;
  if (ss_kernel_counts && decodes) ss_kernel_ran(kernel, ss_wire_entries(wire, out));
  return !wire->units || !out->values || get_exact(wire, bytes, arena, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
