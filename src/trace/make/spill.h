/* Ids that come row by row and are wanted column by column: kept in blocks of a few MB, column after column within a
 * block, and beyond the first block in a nameless file. Memory does not grow with their number. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct ss_spill {
  const char *beside; /* in whose folder the file lies */
  size_t columns;
  uint64_t block;   /* rows of a block */
  uint64_t rows;    /* added so far */
  uint64_t written; /* of those, in the file: whole blocks */
  uint32_t *ids;    /* [columns][block] rows that are not in the file */
  int file;         /* below 0: none yet */
};

/* `beside` stays the caller's: the file to be written in the end, NULL for standard output. */
bool ss_spill_open(struct ss_spill *spill, size_t columns, const char *beside, struct ss_error *error) SS_MUST_CHECK;
/* Harmless for a zeroed one that was never opened, if its file is below 0. */
void ss_spill_close(struct ss_spill *spill);

/* Where the next row has its id of column 0; that of column c lies c * spill->block behind it. NULL: an error.
 * ss_spill_added says that all are there. */
uint32_t *ss_spill_next(struct ss_spill *spill, struct ss_error *error) SS_MUST_CHECK;
static inline void ss_spill_added(struct ss_spill *spill) {
  spill->rows++;
}

/* The ids of rows [first, first + count), which were added, into out[count]. */
bool ss_spill_read(const struct ss_spill *spill, size_t column, uint64_t first, uint64_t count, uint32_t *out,
                   struct ss_error *error) SS_MUST_CHECK;
