#include "tensor/coalesce.h"

/* Up to here insertion sort beats clearing a histogram. */
enum { FEW = 32 };
/* So many ids ahead, words of the bitset are fetched, which may be anywhere in it. */
enum { AHEAD = 32 };
/* A histogram of 2^11 counters stays in the first-level cache; short lists would spend longer clearing it than
 * sorting, and take 2^8. */
enum { WIDE_DIGIT = 11, NARROW_DIGIT = 8, SHORT_LIST = 4096 };

/* Scanning the bitset costs one step a word: worth it when there are no more words than ids. */
static bool dense_enough(uint64_t count, uint64_t range) {
  return range / 64 <= count;
}

bool ss_coalesce_reserve(struct ss_coalesce_scratch *scratch, uint64_t count, uint64_t range) {
  const uint64_t words = dense_enough(count, range) ? (range + 63) / 64 : 0;
  if (words > scratch->words) {
    uint64_t *bits = ss_alloc_zero(words, sizeof *bits);
    if (!bits) return false;
    free(scratch->bits);
    scratch->bits = bits;
    scratch->words = words;
  }
  /* Lists that are long against the range never come to be radix-sorted. */
  const uint64_t keys = count < range / 64 ? count : range / 64;
  if (keys > scratch->capacity) {
    uint32_t *grown = ss_alloc(keys, sizeof *grown);
    if (!grown) return false;
    free(scratch->keys);
    scratch->keys = grown;
    scratch->capacity = keys;
  }
  return true;
}

void ss_coalesce_free(struct ss_coalesce_scratch *scratch) {
  free(scratch->bits);
  free(scratch->keys);
  *scratch = (struct ss_coalesce_scratch){0};
}

bool ss_increasing(const uint32_t *rows, uint64_t count) {
  enum { BLOCK = 1024 }; /* no early exit inside a block, so that compilers vectorise it */
  for (uint64_t begin = 1; begin < count; begin += BLOCK) {
    const uint64_t end = count - begin < BLOCK ? count : begin + BLOCK;
    unsigned falls = 0;
    for (uint64_t i = begin; i < end; i++) falls |= rows[i - 1] >= rows[i];
    if (falls) return false;
  }
  return true;
}

static uint64_t by_bitset(const uint32_t *rows, uint64_t count, uint64_t range, uint32_t *out, uint64_t *bits) {
  const uint64_t fetched = count > AHEAD ? count - AHEAD : 0;
  for (uint64_t i = 0; i < fetched; i++) {
    __builtin_prefetch(&bits[rows[i + AHEAD] >> 6], 1);
    bits[rows[i] >> 6] |= UINT64_C(1) << (rows[i] & 63);
  }
  for (uint64_t i = fetched; i < count; i++) bits[rows[i] >> 6] |= UINT64_C(1) << (rows[i] & 63);
  uint64_t found = 0;
  for (uint64_t word = 0; word < (range + 63) / 64; word++) {
    for (uint64_t left = bits[word]; left; left &= left - 1)
      out[found++] = (uint32_t)(word * 64 + (uint64_t)__builtin_ctzll(left));
    bits[word] = 0;
  }
  return found;
}

static void insertion_sort(const uint32_t *rows, uint64_t count, uint32_t *out) {
  for (uint64_t i = 0; i < count; i++) {
    uint64_t to = i;
    for (; to > 0 && out[to - 1] > rows[i]; to--) out[to] = out[to - 1];
    out[to] = rows[i];
  }
}

/* One stable counting pass over the digit at `shift`. */
static void radix_pass(const uint32_t *from, uint64_t count, unsigned shift, unsigned digit, uint32_t *to) {
  uint64_t offset[1 << WIDE_DIGIT];
  const uint32_t mask = (1u << digit) - 1;
  memset(offset, 0, sizeof *offset << digit);
  for (uint64_t i = 0; i < count; i++) offset[(from[i] >> shift) & mask]++;
  uint64_t sum = 0;
  for (uint32_t d = 0; d <= mask; d++) {
    const uint64_t here = offset[d];
    offset[d] = sum;
    sum += here;
  }
  for (uint64_t i = 0; i < count; i++) to[offset[(from[i] >> shift) & mask]++] = from[i];
}

static void radix_sort(const uint32_t *rows, uint64_t count, uint64_t range, uint32_t *out, uint32_t *keys) {
  const unsigned digit = count < SHORT_LIST ? NARROW_DIGIT : WIDE_DIGIT;
  const unsigned bits = range > 1 ? 64u - (unsigned)__builtin_clzll(range - 1) : 1;
  const unsigned passes = (bits + digit - 1) / digit;
  const uint32_t *from = rows;
  uint32_t *to = passes % 2 ? out : keys; /* so that the last pass ends in `out` */
  for (unsigned pass = 0; pass < passes; pass++) {
    radix_pass(from, count, pass * digit, digit, to);
    from = to;
    to = to == out ? keys : out;
  }
}

void ss_sort_rows(const uint32_t *rows, uint64_t count, uint64_t range, uint32_t *out, uint32_t *spare) {
  if (count <= FEW) insertion_sort(rows, count, out);
  else radix_sort(rows, count, range, out, spare);
}

static uint64_t drop_repeats(uint32_t *sorted, uint64_t count) {
  uint64_t kept = count > 0;
  for (uint64_t i = 1; i < count; i++) {
    if (sorted[i] != sorted[kept - 1]) sorted[kept++] = sorted[i];
  }
  return kept;
}

uint64_t ss_coalesce(const uint32_t *rows, uint64_t count, uint64_t range, uint32_t *out,
                     struct ss_coalesce_scratch *scratch) {
  if (ss_increasing(rows, count)) {
    if (count) memcpy(out, rows, count * sizeof *out);
    return count;
  }
  if (count <= FEW) {
    insertion_sort(rows, count, out);
    return drop_repeats(out, count);
  }
  if (dense_enough(count, range)) {
    assert(scratch->words >= (range + 63) / 64);
    return by_bitset(rows, count, range, out, scratch->bits);
  }
  assert(scratch->capacity >= count);
  radix_sort(rows, count, range, out, scratch->keys);
  return drop_repeats(out, count);
}

bool ss_rows_to_elements(const uint32_t **rows, uint64_t *count, uint32_t width, struct ss_arena *arena) {
  uint64_t n;
  if (width == 1) return true;
  if (!ss_mul_u64(*count, width, &n)) return false;
  uint32_t *out = ss_arena_alloc(arena, n, sizeof *out), *at = out;
  if (!out) return false;
  for (uint64_t i = 0, end; i < *count; i = end) {
    for (end = i + 1; end < *count && (*rows)[end] == (*rows)[i];) end++;
    for (uint32_t c = 0; c < width; c++)
      for (uint64_t copy = i; copy < end; copy++) *at++ = (*rows)[i] * width + c;
  }
  *rows = out;
  *count = n;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
