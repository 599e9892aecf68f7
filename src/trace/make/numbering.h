/* Categories of a table's columns, numbered: which row of its embedding table each value is.
 *
 * Row 0 is the missing value (and with `most`, every rarer one). Others are either hashed, row 1 + XXH64(value, seed
 * 0) mod (rows - 1), which takes no memory and knows at once; or numbered by frequency, the most frequent first and
 * ties by first occurrence, which is known once all values have been seen. Until then they bear numbers by first
 * occurrence. There a value is known by its 64-bit hash: of n distinct ones two are taken for one with a probability
 * of n^2 / 2^65, 3e-6 among ten million. It takes 20 to 40 bytes a distinct value. */
#pragma once

#include "base/base.h"

struct ss_known_value;
struct ss_numbering {
  uint64_t hash_rows;          /* rows of a hashed table; 0: numbered by frequency */
  struct ss_known_value *slot; /* [slots] */
  uint64_t slots, known;
  uint32_t *row; /* [known + 1] after ranking: the row of each number */
  uint64_t rows; /* of the table, once ranked; of a hashed one always */
};

/* `hash_rows` 0 or at least 2, at most 2^32 - 1. Takes no memory yet. */
void ss_numbering_init(struct ss_numbering *numbering, uint64_t hash_rows);
void ss_numbering_free(struct ss_numbering *numbering);

/* The number of a value that is not missing; it is seen once more. False when memory is short. */
bool ss_numbering_see(struct ss_numbering *numbering, const char *value, size_t size, uint32_t *out)
    __attribute__((warn_unused_result));
/* All values have been seen: numbers become rows. `most` bounds the table's rows (0: it does not). False when memory
 * is short. */
bool ss_numbering_rank(struct ss_numbering *numbering, uint64_t most) __attribute__((warn_unused_result));
/* The row of a number, in a table that was ranked. */
static inline uint32_t ss_numbering_row(const struct ss_numbering *numbering, uint32_t number) {
  return numbering->row ? numbering->row[number] : number;
}
/* SPDX-License-Identifier: Apache-2.0 */
