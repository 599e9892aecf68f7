/* Hashing rows: one, or many at once, with vectors of eight where the processor multiplies them (AVX-512), which
 * takes a quarter of the time. Both give the same bits. */
#pragma once

#include "base/random.h"

#include "base/base.h"

#include <endian.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* XXH64 of the row as 8 little-endian bytes. (flatten: GCC would call XXH64's last rounds, at a third of the speed.)
 */
__attribute__((flatten)) static inline uint64_t ss_hash_row(uint64_t row, uint64_t seed) {
  const uint64_t bytes = htole64(row);
  return XXH64(&bytes, sizeof bytes, seed);
}

/* indices[i] = ss_below(ss_hash_row(keys[i], seed), n), n > 0; `indices` may be `keys`. */
void ss_hash_indices(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *indices);
/* cells[i] = 2 ss_below(ss_hash_row(keys[i], seed), n) + the lowest bit of ss_hash_row(keys[i], seed + 1), for
 * 0 < n < 2^63: a bucket of a count-sketch and a sign. */
void ss_hash_cells(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *cells);

/* The same without vectors, which tests hold against them. */
void ss_hash_indices_plain(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *indices);
void ss_hash_cells_plain(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *cells);
/* SPDX-License-Identifier: Apache-2.0 */
