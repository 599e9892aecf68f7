/* Wire formats: how many bytes a chunk takes on the wire, and the bytes themselves.
 * ss_wire_encode's length equals ss_wire_bytes; the receiver knows counts, ranges and parts beforehand ("sizes:
 * free"), so nothing but the stated content travels. (docs/model.md, "Wire formats") */
#ifndef SS_TENSOR_WIRE_H
#define SS_TENSOR_WIRE_H

#include "tensor/chunk.h"

enum ss_wire_format {
  SS_WIRE_DENSE,   /* every element of the range */
  SS_WIRE_COO,     /* indices, then values */
  SS_WIRE_INDICES, /* the indices alone (AGsparse's first all-gather) */
  SS_WIRE_VALUES   /* the values alone, of rows that the receiver knows */
};

struct ss_wire {
  enum ss_wire_format format;
  uint32_t value_bytes;   /* bytes of an element: 4 or 2 */
  uint32_t index_bytes;   /* bytes of an index: 4; 8 is PyTorch's, 0 EmbRace's Table 2 */
  bool index_per_element; /* element granularity on row slices: an index an element */
};

static inline uint64_t ss_wire_bytes(const struct ss_wire *wire, const struct ss_chunk *c) {
  uint64_t values = c->count * c->width * wire->value_bytes;
  uint64_t indices = c->count * wire->index_bytes * (wire->index_per_element ? c->width : 1);
  switch (wire->format) {
  case SS_WIRE_DENSE: return (c->high - c->low) * c->width * wire->value_bytes;
  case SS_WIRE_COO: return indices + values;
  case SS_WIRE_INDICES: return indices;
  case SS_WIRE_VALUES: return values;
  }
  return 0;
}

/* Writes the ss_wire_bytes(wire, chunk) bytes of a chunk that has values (where the format needs them). Needs
 * value_bytes 4, index_bytes 4 or 8, one index a row. */
void ss_wire_encode(const struct ss_wire *wire, const struct ss_chunk *chunk, unsigned char *out);

/* The inverse. `known` says count, range, width, origin and part, and for SS_WIRE_VALUES also the rows. `size` must
 * be the bytes of `known`; rows that are out of range or not ascending are an error. Arrays are `arena`'s. */
bool ss_wire_decode(const struct ss_wire *wire, const struct ss_chunk *known, const unsigned char *bytes, size_t size,
                    struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;

#endif
