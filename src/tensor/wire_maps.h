/* For wire.c alone: the formats that say by position which rows come. */
#pragma once

#include "tensor/wire.h"

/* Bytes of the number that goes with each block. OmniReduce's is the offset of the next non-zero block; ours is the
 * block's own, which says the same in the same bytes. */
enum { SS_WIRE_BLOCK_NUMBER = 4 };

/* A bit for each of `size` rows of the domain (NULL: the rows from chunk->low on), set where the chunk lists it.
 * Returns the end. */
unsigned char *ss_wire_put_bits(const struct ss_chunk *chunk, const uint32_t *domain, uint64_t size,
                                unsigned char *out);
/* Sets out->rows to the out->count rows that the bits say; another number of them is an error. */
bool ss_wire_get_bits(const uint32_t *domain, uint64_t size, const unsigned char *bits, struct ss_arena *arena,
                      struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;

/* Buckets as floats (whole numbers of 2^-20), then the bitmap's bytes. */
void ss_wire_put_sketch(const struct ss_wire *wire, const struct ss_chunk *chunk, unsigned char *out);
bool ss_wire_get_sketch(const struct ss_wire *wire, const unsigned char *bytes, struct ss_arena *arena,
                        struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;

void ss_wire_put_blocks(const struct ss_wire *wire, const struct ss_chunk *chunk, unsigned char *out);
/* Sets rows, values and count of `out` to the rows that lie wholly in the blocks. */
bool ss_wire_get_blocks(const struct ss_wire *wire, const unsigned char *bytes, size_t size, struct ss_arena *arena,
                        struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
