/* Selection by magnitude: top-k, thresholds, top-k by blocks, and the blocks of largest norm.
 *
 * A value is a 64-bit signed integer in units of 2^-20; chunks here are SS_CHUNK_VALUES, with rows. One rule
 * everywhere: the larger magnitude first, ties to the lower index, zeros never; where fewer non-zeros than asked for
 * are there, all of them. (docs/model.md, "Selection") */
#pragma once

#include "tensor/chunk.h"

/* The magnitude of a value; 2^63 for the lowest. */
static inline uint64_t ss_magnitude(int64_t units) {
  return units < 0 ? 0 - (uint64_t)units : (uint64_t)units;
}

/* The k entries of `from` that come first by the rule, ascending by row; all other fields as in `from`. Cost: three
 * passes over `from`, whatever the values. The arrays are `arena`'s. */
bool ss_topk(const struct ss_chunk *from, uint64_t k, struct ss_arena *arena, struct ss_chunk *out,
             struct ss_error *error) SS_MUST_CHECK;

/* All non-zero entries whose magnitude is `threshold` or more. */
bool ss_at_least(const struct ss_chunk *from, uint64_t threshold, struct ss_arena *arena, struct ss_chunk *out,
                 struct ss_error *error) SS_MUST_CHECK;

/* The least magnitude of the chunk's entries; 0: there are none. */
uint64_t ss_smallest(const struct ss_chunk *chunk);

/* Block-wise: part b of the `parts` even shares of [low, high) keeps its own first floor((b+1)k/parts) -
 * floor(bk/parts) entries. */
bool ss_topk_parts(const struct ss_chunk *from, uint64_t k, uint32_t parts, struct ss_arena *arena,
                   struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;

/* Of a dense tensor cut into blocks of `size` values (the last may be short): the `keep` of largest l2 norm. */
struct ss_block_choice {
  uint32_t size;
  uint64_t keep;
};
/* The chosen blocks of values[n], ascending, into `out`, whose array is the arena's (S2 section 2.2). Sums of squares
 * are compared exactly and must stay below 2^128: for blocks of 256, magnitudes below 2^60. Ties to the lower block,
 * zero blocks never. There must be at most 2^32 blocks. */
bool ss_top_blocks(const int64_t *values, uint64_t n, struct ss_block_choice choice, struct ss_arena *arena,
                   struct ss_row_list *out, struct ss_error *error) SS_MUST_CHECK;

/* The same rule on n floats (at most 2^32), in parallel; the result does not depend on the number of threads. The
 * caller's out->rows has room for min(k, n) indices; they come ascending. `scratch` is reset and used: what it held
 * before is void.
 *
 * Infinities are larger than every number. A NaN has no magnitude, and a gradient that holds one is lost: for k > 0
 * that is an SS_BAD_INPUT error, which names the first. */
bool ss_topk_floats(const float *values, uint64_t n, uint64_t k, struct ss_arena *scratch, struct ss_row_list *out,
                    struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
