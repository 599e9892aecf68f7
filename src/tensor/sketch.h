/* Count-sketches of rows of values (S2; docs/model.md, "S2").
 *
 * A sketch has `hashes` rows of `buckets` each. In sketch row j, element e = row * width + column goes to bucket
 * mulhi(xxh64(e, seed + 2j), buckets), with sign + when the lowest bit of xxh64(e, seed + 2j + 1) is 0; e as 8
 * little-endian bytes. Buckets are 64-bit integers (units of 2^-20) that wrap, so they can be summed in any order:
 * results are the same at any number of threads. */
#pragma once

#include <stdint.h>

enum { SS_SKETCH_HASHES = 32 };

struct ss_sketch {
  uint32_t hashes; /* 1 to SS_SKETCH_HASHES */
  uint64_t buckets, seed;
};

/* The elements of rows[count], `width` consecutive ones each. (A run of a dense tensor is one wide row.) */
struct ss_sketch_rows {
  const uint32_t *rows; /* distinct */
  uint64_t count;
  uint32_t width;
};

/* Adds values[count * width] to `buckets`, [hashes][shape->buckets]. */
void ss_sketch_add(const struct ss_sketch *shape, const struct ss_sketch_rows *rows, const int64_t *values,
                   int64_t *buckets);

/* What the sketch says of each element, in units: the median over the sketch rows of sign * bucket, for an even
 * number of them the mean of the middle two; into out[count * width]. */
void ss_sketch_decode(const struct ss_sketch *shape, const struct ss_sketch_rows *rows, const int64_t *buckets,
                      double *out);
/* SPDX-License-Identifier: Apache-2.0 */
