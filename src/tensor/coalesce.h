/* Coalescing: from row ids as they were looked up, in any order and with duplicates, to the sorted distinct ones.
 *
 * Lists that are strictly increasing already are only copied; dense ones pass through a bitset, sparse ones through
 * a radix sort. Reserving memory is apart from coalescing, so that the loop over ranks cannot fail in its middle. */
#pragma once

#include "base/base.h"

/* Working memory, one per thread, kept between calls. A zeroed struct is empty and valid. */
struct ss_coalesce_scratch {
  uint64_t *bits; /* all zero between calls */
  uint64_t words;
  uint32_t *keys;
  uint64_t capacity;
};

/* Makes room for lists of at most `count` ids below `range`; false when memory is short. */
bool ss_coalesce_reserve(struct ss_coalesce_scratch *scratch, uint64_t count, uint64_t range)
    __attribute__((warn_unused_result));
void ss_coalesce_free(struct ss_coalesce_scratch *scratch);

/* Writes the sorted distinct ids of rows[count], each below `range` (at most 2^32), to out[count] and returns how
 * many they are. `out` must not overlap `rows`, and `scratch` must have been reserved for at least this count and
 * this range. */
uint64_t ss_coalesce(const uint32_t *rows, uint64_t count, uint64_t range, uint32_t *out,
                     struct ss_coalesce_scratch *scratch);

/* Sorts rows[count], each below `range`, into out[count], duplicates kept; `spare` has room for as many. No two of
 * the arrays may overlap. */
void ss_sort_rows(const uint32_t *rows, uint64_t count, uint64_t range, uint32_t *out, uint32_t *spare);

/* Row i becomes elements i * width .. i * width + width - 1; the list stays ascending, also where rows stand several
 * times. *rows becomes the arena's and *count that of the elements; rows of one element stay as they are. False when
 * memory is short. */
bool ss_rows_to_elements(const uint32_t **rows, uint64_t *count, uint32_t width,
                         struct ss_arena *arena) SS_MUST_CHECK;

/* True when each id is above the one before: the list is its own coalesced form. */
bool ss_increasing(const uint32_t *rows, uint64_t count);
/* SPDX-License-Identifier: Apache-2.0 */
