/* A spool: many streams of bytes that are written side by side and read one after the other, by way of one file that
 * has no name and goes with the process. Memory does not grow with what is written. */
#pragma once

#include "base/base.h"

struct ss_spool_stream;

struct ss_spool {
  const char *beside;
  int file; /* below 0: none yet */
  uint32_t streams;
  size_t block_bytes; /* B of a block */
  struct ss_spool_stream *stream;
  unsigned char *block; /* [streams][block_bytes] */
  uint64_t blocks;      /* blocks of the file that are taken */
};

/* The file is made, once memory does not suffice, where the output at `beside` will be ("-", NULL: in the folder for
 * temporary files): there should be room. The text stays the caller's. */
bool ss_spool_open(struct ss_spool *spool, const char *beside, uint32_t streams,
                   struct ss_error *error) SS_MUST_CHECK;
/* A disk that is full is SS_MACHINE. */
bool ss_spool_add(struct ss_spool *spool, uint32_t stream, const void *bytes, size_t size,
                  struct ss_error *error) SS_MUST_CHECK;
/* The next bytes of a stream, of those that were added; a zeroed cursor stands before the first. */
struct ss_spool_cursor {
  uint64_t block, at; /* the number of its block; B before it */
};
bool ss_spool_read(const struct ss_spool *spool, uint32_t stream, struct ss_spool_cursor *cursor, void *bytes,
                   size_t size, struct ss_error *error) SS_MUST_CHECK;
/* Writes all that was added to a stream; whether `to` could be written is seen when it is closed. */
bool ss_spool_copy(const struct ss_spool *spool, uint32_t stream, FILE *to, struct ss_error *error) SS_MUST_CHECK;
/* A zeroed spool is closed. */
void ss_spool_close(struct ss_spool *spool);
/* SPDX-License-Identifier: Apache-2.0 */
