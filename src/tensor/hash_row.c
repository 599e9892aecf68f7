#include "tensor/hash_row.h"

void ss_hash_indices_plain(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *indices) {
  for (uint64_t i = 0; i < count; i++) indices[i] = ss_below(ss_hash_row(keys[i], seed), n);
}

void ss_hash_cells_plain(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *cells) {
  for (uint64_t i = 0; i < count; i++)
    cells[i] = ss_below(ss_hash_row(keys[i], seed), n) << 1 | (ss_hash_row(keys[i], seed + 1) & 1);
}

#ifdef __x86_64__

#include <immintrin.h>

#define WIDE __attribute__((target("avx512f,avx512dq,avx512vl")))
#define WIDE_INLINE WIDE static inline __attribute__((always_inline))

WIDE_INLINE __m512i all(uint64_t value) {
  return _mm512_set1_epi64((long long)value);
}

WIDE_INLINE __m512i times(__m512i a, uint64_t b) {
  return _mm512_mullo_epi64(a, all(b));
}

/* What XXH64 of eight bytes makes of them before the seed comes in: the same for all seeds. */
WIDE_INLINE __m512i scramble(__m512i keys) {
  return times(_mm512_rol_epi64(times(keys, XXH_PRIME64_2), 31), XXH_PRIME64_1);
}

WIDE_INLINE __m512i finish(__m512i scrambled, uint64_t seed) {
  __m512i h = _mm512_xor_si512(scrambled, all(seed + XXH_PRIME64_5 + 8));
  h = _mm512_add_epi64(times(_mm512_rol_epi64(h, 27), XXH_PRIME64_1), all(XXH_PRIME64_4));
  h = times(_mm512_xor_si512(h, _mm512_srli_epi64(h, 33)), XXH_PRIME64_2);
  h = times(_mm512_xor_si512(h, _mm512_srli_epi64(h, 29)), XXH_PRIME64_3);
  return _mm512_xor_si512(h, _mm512_srli_epi64(h, 32));
}

/* ss_below for n < 2^32: the product's upper half out of two products of 32 bits, whose sum does not overflow. */
WIDE_INLINE __m512i below(__m512i hash, uint64_t n) {
  const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(hash, 32), all(n));
  const __m512i low = _mm512_mul_epu32(hash, all(n));
  return _mm512_srli_epi64(_mm512_add_epi64(high, _mm512_srli_epi64(low, 32)), 32);
}

/* The lanes of keys i to i + 7 that there are. */
WIDE_INLINE __mmask8 lanes(uint64_t i, uint64_t count) {
  return (__mmask8)(count - i < 8 ? (1u << (count - i)) - 1 : 0xff);
}

WIDE static void indices_wide(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *indices) {
  for (uint64_t i = 0; i < count; i += 8) {
    const __mmask8 mask = lanes(i, count);
    const __m512i scrambled = scramble(_mm512_maskz_loadu_epi64(mask, keys + i));
    _mm512_mask_storeu_epi64(indices + i, mask, below(finish(scrambled, seed), n));
  }
}

WIDE static void cells_wide(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *cells) {
  for (uint64_t i = 0; i < count; i += 8) {
    const __mmask8 mask = lanes(i, count);
    const __m512i scrambled = scramble(_mm512_maskz_loadu_epi64(mask, keys + i));
    const __m512i minus = _mm512_and_si512(finish(scrambled, seed + 1), all(1));
    const __m512i bucket = _mm512_slli_epi64(below(finish(scrambled, seed), n), 1);
    _mm512_mask_storeu_epi64(cells + i, mask, _mm512_or_si512(bucket, minus));
  }
}

static bool wide(uint64_t n) {
  return n <= UINT32_MAX && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

void ss_hash_indices(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *indices) {
  if (wide(n)) indices_wide(keys, count, seed, n, indices);
  else ss_hash_indices_plain(keys, count, seed, n, indices);
}

void ss_hash_cells(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *cells) {
  if (wide(n)) cells_wide(keys, count, seed, n, cells);
  else ss_hash_cells_plain(keys, count, seed, n, cells);
}

#else

void ss_hash_indices(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *indices) {
  ss_hash_indices_plain(keys, count, seed, n, indices);
}

void ss_hash_cells(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *cells) {
  ss_hash_cells_plain(keys, count, seed, n, cells);
}

#endif
/* SPDX-License-Identifier: Apache-2.0 */
