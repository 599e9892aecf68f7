#include "tensor/wire.h"

#include <string.h>

static unsigned char *put_indices(const struct ss_wire *wire, const struct ss_chunk *c, unsigned char *out) {
  for (uint64_t i = 0; i < c->count; i++, out += wire->index_bytes) {
    uint64_t row = c->rows[i];
    memcpy(out, &row, wire->index_bytes); /* little-endian hosts, like the trace format */
  }
  return out;
}

static void put_values(const struct ss_chunk *c, uint64_t entries, unsigned char *out) {
  size_t row = c->width * sizeof(float);
  for (uint64_t i = 0; i < entries; i++, out += row) memcpy(out, c->values + i * c->stride, row);
}

void ss_wire_encode(const struct ss_wire *wire, const struct ss_chunk *c, unsigned char *out) {
  if (wire->format == SS_WIRE_DENSE) {
    put_values(c, c->high - c->low, out);
    return;
  }
  if (wire->format != SS_WIRE_VALUES) out = put_indices(wire, c, out);
  if (wire->format != SS_WIRE_INDICES) put_values(c, c->count, out);
}

static bool get_indices(const struct ss_wire *wire, const struct ss_chunk *known, const unsigned char *bytes,
                        struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) {
  uint32_t *rows = ss_arena_alloc(arena, known->count, sizeof *rows);
  if (!rows) return ss_fail_memory(error, "decoding indices");
  uint64_t before = known->low;
  for (uint64_t i = 0; i < known->count; i++, bytes += wire->index_bytes) {
    uint64_t row = 0;
    memcpy(&row, bytes, wire->index_bytes);
    if (row < before || row >= known->high)
      return ss_fail(error, SS_UNPROVEN, "received row %llu outside [%llu, %llu) or out of order",
                     (unsigned long long)row, (unsigned long long)known->low, (unsigned long long)known->high);
    before = row;
    rows[i] = (uint32_t)row;
  }
  out->rows = rows;
  return true;
}

static bool get_values(uint64_t entries, const unsigned char *bytes, struct ss_arena *arena, struct ss_chunk *out,
                       struct ss_error *error) {
  float *values = ss_arena_alloc(arena, entries * out->width, sizeof *values);
  if (!values) return ss_fail_memory(error, "decoding values");
  memcpy(values, bytes, entries * out->width * sizeof *values);
  out->values = values;
  out->stride = out->width;
  return true;
}

bool ss_wire_decode(const struct ss_wire *wire, const struct ss_chunk *known, const unsigned char *bytes, size_t size,
                    struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) {
  if (size != ss_wire_bytes(wire, known))
    return ss_fail(error, SS_UNPROVEN, "received %zu bytes where %llu were due", size,
                   (unsigned long long)ss_wire_bytes(wire, known));
  *out = *known;
  out->marks = NULL;
  out->values = NULL;
  if (wire->format == SS_WIRE_DENSE) return get_values(known->high - known->low, bytes, arena, out, error);
  if (wire->format != SS_WIRE_VALUES) {
    if (!get_indices(wire, known, bytes, arena, out, error)) return false;
    bytes += known->count * wire->index_bytes;
  }
  return wire->format == SS_WIRE_INDICES || get_values(known->count, bytes, arena, out, error);
}
