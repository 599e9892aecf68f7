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

/* Leaves the entries of which some element, or the unit, is not zero: a sum that travelled dense, or in blocks, lists
 * them all. The arrays are `arena`'s. */
bool ss_chunk_drop_zeros(struct ss_chunk *chunk, struct ss_arena *arena, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
