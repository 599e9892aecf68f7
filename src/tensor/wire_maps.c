#include "tensor/wire_maps.h"

#include "base/base.h"

/* Where the row stands in the domain, from `at` on: in steps that double, then by halves. */
static uint64_t find_row(const uint32_t *domain, uint64_t at, uint64_t size, uint32_t row) {
  uint64_t step = 1, end;
  for (; at + step < size && domain[at + step] <= row; step *= 2) at += step;
  for (end = at + step < size ? at + step : size; end - at > 1;) {
    const uint64_t middle = at + (end - at) / 2;
    if (domain[middle] <= row) at = middle;
    else end = middle;
  }
  return at;
}

unsigned char *ss_wire_put_bits(const struct ss_chunk *c, const uint32_t *domain, uint64_t size, unsigned char *out) {
  memset(out, 0, (size + 7) / 8);
  for (uint64_t i = 0, at = 0; i < c->count; i++) {
    at = domain ? find_row(domain, at, size, c->rows[i]) : c->rows[i] - c->low;
    out[at / 8] |= (unsigned char)(1u << (at % 8));
  }
  return out + (size + 7) / 8;
}

/* 64 bits from a multiple of 64 on; beyond the size they are zero. */
static uint64_t word_of(const unsigned char *bits, uint64_t at, uint64_t size) {
  uint64_t word = 0;
  const uint64_t left = size - at;
  memcpy(&word, bits + at / 8, left < 64 ? (left + 7) / 8 : sizeof word);
  return left < 64 ? word & ((UINT64_C(1) << left) - 1) : word;
}

bool ss_wire_get_bits(const uint32_t *domain, uint64_t size, const unsigned char *bits, struct ss_arena *arena,
                      struct ss_chunk *out, struct ss_error *error) {
  uint32_t *rows = ss_arena_alloc(arena, out->count, sizeof *rows);
  uint64_t n = 0;
  if (!rows) return ss_fail_memory(error, "decoding a bitmap");
  for (uint64_t from = 0; from < size; from += 64)
    for (uint64_t word = word_of(bits, from, size); word; word &= word - 1, n++) {
      const uint64_t at = from + (uint64_t)__builtin_ctzll(word);
      if (n < out->count) rows[n] = domain ? domain[at] : (uint32_t)(out->low + at);
    }
  if (n != out->count)
    return ss_fail(error, SS_UNPROVEN, "received a bitmap of %llu rows where %llu were due", (unsigned long long)n,
                   (unsigned long long)out->count);
  out->rows = rows;
  return true;
}

/* --- sketches ------------------------------------------------------------------------------------------- */

/* What a bucket counts: products with a power of two are exact. */
static double unit_of(const struct ss_wire *wire) {
  return wire->units ? 1 : 0x1p-20;
}

/* A real sketch is of floats, which travel as they lie: that ours are numbers is no part of a scheme. */
void ss_wire_put_sketch(const struct ss_wire *wire, const struct ss_chunk *c, unsigned char *out) {
  const uint64_t buckets = c->high - c->low;
  const double unit = unit_of(wire);
  const struct ss_aside aside = ss_aside_begin();
  for (uint64_t i = 0; i < buckets; i++, out += wire->value_bytes) {
    const float value = (float)((double)c->sketch[i] * unit);
    memcpy(out, &value, sizeof value);
  }
  for (uint64_t i = buckets; i < c->count; i++) *out++ = (unsigned char)c->sketch[i];
  ss_aside_end(&aside);
}

bool ss_wire_get_sketch(const struct ss_wire *wire, const unsigned char *bytes, struct ss_arena *arena,
                        struct ss_chunk *out, struct ss_error *error) {
  const uint64_t buckets = out->high - out->low;
  const double units = 1 / unit_of(wire);
  int64_t *sketch = ss_arena_alloc(arena, out->count, sizeof *sketch);
  if (!sketch) return ss_fail_memory(error, "decoding a sketch");
  for (uint64_t i = 0; i < buckets; i++, bytes += sizeof(float)) {
    float value;
    memcpy(&value, bytes, sizeof value);
    if (!(fabsf(value) < 0x1p42F)) return ss_fail(error, SS_UNPROVEN, "received a bucket that is no sum of values");
    sketch[i] = llrint((double)value * units);
  }
  for (uint64_t i = buckets; i < out->count; i++) sketch[i] = *bytes++;
  out->sketch = sketch;
  out->kind = SS_CHUNK_SKETCH;
  return true;
}

/* --- blocks --------------------------------------------------------------------------------------------- */

/* Elements of block `number` of a range of `all` elements. */
static uint64_t block_length(const struct ss_wire *wire, uint64_t all, uint64_t number) {
  uint64_t rest = all - number * wire->block;
  return rest < wire->block ? rest : wire->block;
}

/* The part of entry i that lies in elements [first, first + length). */
static void put_row(const struct ss_chunk *c, uint64_t i, uint64_t first, uint64_t length, unsigned char *out) {
  const uint64_t begin = (c->rows[i] - c->low) * c->width, end = begin + c->width;
  const uint64_t from = begin > first ? begin : first, to = end < first + length ? end : first + length;
  const float *values = c->values + i * c->stride + (from - begin);
  out += (from - first) * sizeof *values;
  if (to - from == 1) memcpy(out, values, sizeof *values); /* no call for it */
  else memcpy(out, values, (to - from) * sizeof *values);
}

/* Whether so many entries from i on are rows one after the other, whose values lie as they travel. */
static bool is_run(const struct ss_chunk *c, uint64_t i, uint64_t rows) {
  return c->distinct && c->stride == c->width && rows <= c->count - i &&
         c->rows[i + rows - 1] - c->rows[i] == rows - 1;
}

/* Block `number`, of which entry i is the first, to *out, which goes on behind it. Returns how many entries need not
 * be looked at again. */
static uint64_t put_block(const struct ss_wire *wire, const struct ss_chunk *c, uint64_t i, uint64_t number,
                          unsigned char **out) {
  const uint64_t first = number * wire->block, length = block_length(wire, (c->high - c->low) * c->width, number);
  const uint64_t rows = length / c->width;
  const uint32_t written = (uint32_t)number;
  unsigned char *to = *out + SS_WIRE_BLOCK_NUMBER;
  memcpy(*out, &written, sizeof written);
  *out = to + length * sizeof(float);
  if ((c->rows[i] - c->low) * c->width == first && rows * c->width == length && is_run(c, i, rows)) {
    memcpy(to, c->values + i * c->width, length * sizeof(float));
    return rows;
  }
  memset(to, 0, length * sizeof(float));
  /* rows that begin before the block were looked at with the block before */
  for (uint64_t e = i; e < c->count && (c->rows[e] - c->low) * c->width < first + length; e++)
    put_row(c, e, first, length, to);
  return 0;
}

void ss_wire_put_blocks(const struct ss_wire *wire, const struct ss_chunk *c, unsigned char *out) {
  uint64_t next = 0;
  for (uint64_t i = 0; i < c->count && c->width > 0;) {
    const uint64_t begin = (c->rows[i] - c->low) * c->width, end = begin + c->width;
    uint64_t done = 0;
    /* else it lies in blocks that are written: no division for each entry */
    if (end > next * wire->block) {
      if (begin / wire->block > next) next = begin / wire->block;
      while (done == 0 && next * wire->block < end) done = put_block(wire, c, i, next++, &out);
    }
    i += done > 0 ? done : 1;
  }
}

struct blocks {
  const struct ss_wire *wire;
  uint64_t all; /* elements of the range */
  uint32_t *rows;
  float *values;
  uint64_t count;  /* rows so far */
  uint64_t filled; /* elements of the last row so far, when it is not complete */
  uint32_t width;
};

/* A part of a row from that column on. A row of which an element is missing is none. */
static void take_part(struct blocks *b, uint64_t row, uint64_t column, uint64_t elements,
                      const unsigned char *bytes) {
  if (column == 0) b->filled = 0;
  if (column != b->filled) return;
  memcpy(b->values + b->count * b->width + column, bytes, elements * sizeof *b->values);
  b->filled += elements;
  if (b->filled < b->width) return;
  b->rows[b->count++] = (uint32_t)row;
  b->filled = 0;
}

static void take_rows(struct blocks *b, uint64_t row, uint64_t rows, const unsigned char *bytes) {
  memcpy(b->values + b->count * b->width, bytes, rows * b->width * sizeof *b->values);
  for (uint64_t i = 0; i < rows; i++) b->rows[b->count++] = (uint32_t)(row + i);
  b->filled = 0;
}

/* The elements of a block go to the rows that they are of: the rest of one, whole ones, the beginning of another. */
static void take_block(struct blocks *b, uint64_t low, uint64_t number, const unsigned char *bytes) {
  const uint64_t first = number * b->wire->block, column = first % b->width;
  uint64_t row = low + first / b->width, left = block_length(b->wire, b->all, number);
  if (column > 0) {
    const uint64_t rest = b->width - column < left ? b->width - column : left;
    take_part(b, row++, column, rest, bytes);
    bytes += rest * sizeof(float);
    left -= rest;
  }
  const uint64_t whole = left / b->width;
  if (whole > 0) take_rows(b, row, whole, bytes);
  if (left % b->width > 0) take_part(b, row + whole, 0, left % b->width, bytes + whole * b->width * sizeof(float));
}

bool ss_wire_get_blocks(const struct ss_wire *wire, const unsigned char *bytes, size_t size, struct ss_arena *arena,
                        struct ss_chunk *out, struct ss_error *error) {
  /* whole rows that so many bytes can hold, and one that is begun */
  const uint64_t most = out->width > 0 ? size / (out->width * sizeof(float)) + 1 : 1;
  struct blocks b = {.wire = wire, .all = (out->high - out->low) * out->width, .width = out->width};
  if (!ss_take(arena, b.rows, most) || !ss_take(arena, b.values, most * out->width))
    return ss_fail_memory(error, "decoding blocks");
  uint64_t next = 0;
  for (size_t at = 0; at < size;) {
    uint32_t number = 0;
    if (size - at >= SS_WIRE_BLOCK_NUMBER) memcpy(&number, bytes + at, sizeof number);
    if (size - at < SS_WIRE_BLOCK_NUMBER || number < next || number * (uint64_t)wire->block >= b.all ||
        size - at - SS_WIRE_BLOCK_NUMBER < block_length(wire, b.all, number) * sizeof(float))
      return ss_fail(error, SS_UNPROVEN, "received a block that is cut short, out of range or out of order");
    if (number != next) b.filled = 0;
    take_block(&b, out->low, number, bytes + at + SS_WIRE_BLOCK_NUMBER);
    at += SS_WIRE_BLOCK_NUMBER + block_length(wire, b.all, number) * sizeof(float);
    next = (uint64_t)number + 1;
  }
  out->rows = b.rows;
  out->values = b.values;
  out->stride = out->width;
  out->count = b.count;
  out->distinct = true;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
