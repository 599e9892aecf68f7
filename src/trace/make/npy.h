/* Arrays of whole numbers in NumPy's .npy files (format 1 to 3: numpy.org, "A simple file format for NumPy arrays"),
 * in one or two dimensions, mapped and read in place. */
#pragma once

#include "base/file.h"

struct ss_npy {
  const char *name;
  struct ss_mapping mapping; /* of the whole file */
  const unsigned char *data; /* of the numbers, little-endian, anywhere */
  uint32_t bytes;            /* of a number: 1, 2, 4 or 8 */
  bool is_signed;
  uint64_t rows, columns; /* one dimension: columns 0, and rows its length */
  uint64_t count;         /* of all numbers */
};

/* Files whose header is not as it should be, or promises another size than the file has, are SS_BAD_INPUT errors, as
 * are arrays of anything but whole numbers, in more dimensions, in Fortran's order or big-endian. */
bool ss_npy_open(const char *path, struct ss_npy *out, struct ss_error *error) SS_MUST_CHECK;
/* The same of bytes in memory, which are not unmapped by closing. */
bool ss_npy_read(const char *name, const unsigned char *bytes, size_t size, struct ss_npy *out,
                 struct ss_error *error) SS_MUST_CHECK;
void ss_npy_close(struct ss_npy *npy);

/* Number i; one of 2^63 and more comes out as INT64_MAX, which is no id either. */
int64_t ss_npy_get(const struct ss_npy *npy, uint64_t i);
/* Numbers [first, first + count) as they are wanted of a trace: from 0 on and below 2^32 - 1, checked before. */
void ss_npy_ids(const struct ss_npy *npy, uint64_t first, uint64_t count, uint32_t *out);
/* SPDX-License-Identifier: Apache-2.0 */
