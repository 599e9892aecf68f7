/* Wire formats: how many bytes a chunk takes on the wire, and the bytes themselves.
 * ss_wire_encode's length equals ss_wire_bytes; the receiver knows counts, ranges and parts beforehand ("sizes:
 * free"), so nothing but the stated content travels. (docs/model.md, "Wire formats") */
#pragma once

#include "tensor/chunk.h"
#include "tensor/kernel.h"

enum ss_wire_format {
  SS_WIRE_DENSE,       /* every element of the range */
  SS_WIRE_COO,         /* indices, then values */
  SS_WIRE_INDICES,     /* the indices alone (AGsparse's first all-gather) */
  SS_WIRE_VALUES,      /* the values alone, of rows that the receiver knows */
  SS_WIRE_BITMAP,      /* a bit for every row of the range, then values (ZEN §3.3) */
  SS_WIRE_HASH_BITMAP, /* a bit for every row of the part's domain, then values (ZEN §3.3, Algorithm 2) */
  SS_WIRE_BLOCK,       /* blocks of elements that hold a listed row, each with its number (OmniReduce, ZEN §2.4) */
  SS_WIRE_SKETCH,      /* high - low buckets of a count-sketch, then bytes of a bitmap: SS_CHUNK_SKETCH (S2) */
  SS_WIRE_SMALLER,     /* COO, or dense where that is smaller (SparCML's DSAR) */
  SS_WIRE_SMALLEST     /* what takes least of COO, dense, bitmap and hash bitmap; of equals the first */
};

/* The rows that each part of a hashed tensor may hold. */
struct ss_domains {
  uint32_t parts;
  const uint64_t *size;        /* [parts] */
  const uint32_t *const *rows; /* [parts][size] ascending; NULL unless bytes are to be made */
};

struct ss_wire {
  enum ss_wire_format format;
  uint32_t value_bytes;             /* bytes of an element: 4 or 2; 8 of SS_CHUNK_NUMBERS */
  uint32_t index_bytes;             /* bytes of an index: 4; 8 is PyTorch's, 0 EmbRace's Table 2 */
  bool index_per_element;           /* element granularity on row slices: an index an element */
  bool units;                       /* of SS_CHUNK_VALUES: whole numbers, which travel as floats */
  uint32_t block;                   /* elements of a block (SS_WIRE_BLOCK) */
  const struct ss_domains *domains; /* of hashed parts (SS_WIRE_HASH_BITMAP); NULL: a part's domain is its range */
};

/* Bytes depend on what a chunk holds, not on its range alone. */
static inline bool ss_wire_ragged(const struct ss_wire *wire) {
  return wire->format != SS_WIRE_DENSE && wire->format != SS_WIRE_SKETCH;
}

/* Blocks of SS_WIRE_BLOCK that hold a listed row, and the elements in them. Blocks are aligned to the start of the
 * chunk's range; the last one is short. */
struct ss_blocks {
  uint64_t count, elements;
};
struct ss_blocks ss_wire_blocks(const struct ss_wire *wire, const struct ss_chunk *chunk);

uint64_t ss_wire_bytes(const struct ss_wire *wire, const struct ss_chunk *chunk);
/* The entries that come: those listed; of blocks as many rows as they have elements for; of values in a dense image
 * those that are not zero. */
uint64_t ss_wire_entries(const struct ss_wire *wire, const struct ss_chunk *chunk);

/* Of a wire that takes units: floats carry the chunk's values exactly. */
enum { SS_WIRE_UNITS_MOST = 1 << 24 };
bool ss_wire_exact(const struct ss_wire *wire, const struct ss_chunk *chunk);

/* The kernel that encodes a chunk, or decodes it; false: none does, its bytes lie in memory as they travel. */
bool ss_wire_encoder(const struct ss_wire *wire, const struct ss_chunk *chunk, enum ss_kernel_kind *kernel);
bool ss_wire_decoder(const struct ss_wire *wire, const struct ss_chunk *chunk, enum ss_kernel_kind *kernel);

/* The bytes of a chunk that lie in its memory as they travel, so that none have to be made (dense floats); else NULL.
 */
const void *ss_wire_as_it_lies(const struct ss_wire *wire, const struct ss_chunk *chunk);

/* Writes the ss_wire_bytes(wire, chunk) bytes of a chunk that has floats (where the format needs them), or the
 * units, numbers or sketch that travel. Needs value_bytes 4 (or 8: numbers), index_bytes 4 or 8, one index a row. */
void ss_wire_encode(const struct ss_wire *wire, const struct ss_chunk *chunk, unsigned char *out);

/* The inverse. `known` says count, range, width, origin and part, and for SS_WIRE_VALUES also the rows. Their
 * number must be the bytes of `known` (of blocks: what came; rows that lie wholly in them count as listed); rows that
 * are out of range or not ascending are an error. Arrays are `arena`'s, or lie in the bytes where these stay and have
 * them as they are needed. */
struct ss_encoded {
  const unsigned char *at;
  size_t size;
  bool stays; /* as long as the chunk */
};
bool ss_wire_decode(const struct ss_wire *wire, const struct ss_chunk *known, struct ss_encoded bytes,
                    struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
