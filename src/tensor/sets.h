/* Rows as sets: what two chunks share, and what they do not.
 * (The intersection as a chunk is ss_chunk_select, the sum ss_chunk_sum.) */
#pragma once

#include "tensor/chunk.h"

/* How many rows two ascending lists of distinct rows share. Linear in both, or, when one list is far longer, in the
 * shorter with a binary search each. */
uint64_t ss_rows_common(const uint32_t *a, uint64_t a_count, const uint32_t *b, uint64_t b_count);

/* The entries of `from` whose rows `other` lists too, or does not list, with their marks and values; all other fields
 * as in `from`. The arrays are `arena`'s. */
bool ss_chunk_select(const struct ss_chunk *from, const struct ss_chunk *other, struct ss_arena *arena,
                     struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
bool ss_chunk_without(const struct ss_chunk *from, const struct ss_chunk *other, struct ss_arena *arena,
                      struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;

/* --- values that lie dense: an element a row of the range, zeros included ------------------------------------ */

/* Values lie dense where that takes less than a list of 4-byte rows and values (docs/model.md, "Kernels"). */
static inline bool ss_chunk_lies_dense(const struct ss_chunk *chunk) {
  return chunk->kind == SS_CHUNK_VALUES && chunk->width == 1 && !chunk->values &&
         2 * chunk->count > chunk->high - chunk->low;
}
/* Every row of the range is there. */
static inline bool ss_chunk_is_full(const struct ss_chunk *chunk) {
  return chunk->kind == SS_CHUNK_VALUES && chunk->distinct && chunk->count == chunk->high - chunk->low;
}
/* Some operand does: so does their sum. */
bool ss_operands_lie_dense(const struct ss_operands *operands);
/* The sum of values that lie in memory: where some lie dense one pass over the range (SS_KERNEL_DENSE_ADD) that gives
 * an entry a row, else ss_sum_values. Operands are parts of the range, their rows distinct. The arrays are `arena`'s,
 * or the rows are an operand's. */
bool ss_sum_held(const struct ss_operands *operands, struct ss_arena *arena, struct ss_sum_scratch *scratch,
                 struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* What is left of `from` without the rows of `other`: where that lies dense all rows of the range, with zeros where
 * `from` has none and where `other` has one, as compressors of dense tensors keep residuals; else ss_chunk_without.
 */
bool ss_chunk_rest(const struct ss_chunk *from, const struct ss_chunk *other, struct ss_arena *arena,
                   struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* The entries that a full `from` has of the rows of `other`, which are in its range: looked up, one by one. */
bool ss_chunk_gather(const struct ss_chunk *from, const struct ss_chunk *other, struct ss_arena *arena,
                     struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;

/* Leaves the entries of which some element, or the unit, is not zero: a sum that travelled dense, or in blocks, lists
 * them all. The arrays are `arena`'s. */
bool ss_chunk_drop_zeros(struct ss_chunk *chunk, struct ss_arena *arena, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
