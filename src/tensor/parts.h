/* How a tensor is cut into parts: in even ranges, in ranges with given boundaries, or by hashing every row (ZEN's
 * h0).
 */
#pragma once

#include "tensor/wire.h"

struct ss_parts {
  uint32_t count;
  uint64_t low, high;       /* the rows that are cut */
  const uint64_t *boundary; /* [count + 1] part j is rows [boundary[j], boundary[j + 1]); NULL: hashed */
  /* hashed: */
  uint64_t seed;
  uint32_t owners;      /* ranks whose chunks are cut */
  struct ss_chunk *cut; /* [owners] the entries of each, part after part, ascending in each */
  uint32_t *offset;     /* [owners * (count + 1)] where the parts begin in `cut` */
  struct ss_domains domains;
};

/* Arrays are `arena`'s, and `boundary` the caller's. */
bool ss_parts_even(uint64_t low, uint64_t high, uint32_t count, struct ss_arena *arena, struct ss_parts *out,
                   struct ss_error *error) SS_MUST_CHECK;
/* Row i goes to part mulhi(xxh64(i, seed), count). */
struct ss_hashing {
  uint64_t low, high; /* the rows that are cut */
  uint32_t count;     /* parts */
  uint64_t seed;
  const uint64_t *sizes; /* [count] the rows of [low, high) that each part may hold (ss_hash_sizes) */
};
/* Cuts the chunks of `owners` ranks; those without rows stay without. */
bool ss_parts_hash(const struct ss_hashing *hashing, const struct ss_chunk *own, uint32_t owners,
                   struct ss_arena *arena, struct ss_parts *out, struct ss_error *error) SS_MUST_CHECK;
/* The rows of [low, high) that each part may hold, ascending, for bitmaps to be made: row[sum of sizes] and
 * part[count] are the arena's. */
bool ss_parts_rows(const struct ss_hashing *hashing, struct ss_arena *arena, const uint32_t *const **part,
                   struct ss_error *error) SS_MUST_CHECK;

/* The part without content: its rows lie in [low, high) of the result. */
struct ss_chunk ss_parts_range(const struct ss_parts *parts, uint32_t part);
/* What `own`, the chunk of `owner`, has of the part. */
struct ss_chunk ss_parts_slice(const struct ss_parts *parts, const struct ss_chunk *own, uint32_t owner,
                               uint32_t part);
/* SPDX-License-Identifier: Apache-2.0 */
