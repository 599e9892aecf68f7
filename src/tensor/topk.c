#include "tensor/topk.h"

#include "tensor/kernel.h"
#include "tensor/topk_key.h"

#include <string.h>

/* Up to here sorting beats clearing a histogram. */
enum { FEW = 48 };
enum { DIGIT = 11, GROUP = 32 };

/* --- the k-th largest ------------------------------------------------------------------------------------- */

/* The bucket that holds the k-th from above, which must be there; *k becomes its order within it. */
static uint32_t bucket_of_kth(const uint64_t *histogram, uint32_t buckets, uint64_t *k) {
  uint32_t bucket = buckets - 1;
  for (; histogram[bucket] < *k; bucket--) *k -= histogram[bucket];
  return bucket;
}

static uint64_t kth_of_few(uint64_t *keys, uint64_t count, uint64_t *k) {
  for (uint64_t i = 1; i < count; i++) {
    const uint64_t key = keys[i];
    uint64_t to = i;
    for (; to > 0 && keys[to - 1] < key; to--) keys[to] = keys[to - 1];
    keys[to] = key;
  }
  const uint64_t found = keys[*k - 1];
  uint64_t above = 0;
  while (keys[above] > found) above++;
  *k -= above;
  return found;
}

/* One step of the radix select: keeps, in front, the keys that share their leading digit with the k-th largest, and
 * returns how many they are. The digit is taken from the keys' own range, so that no step is spent on leading bits in
 * which they agree. */
static uint64_t narrow(uint64_t *keys, uint64_t count, uint64_t low, uint64_t high, uint64_t *k) {
  uint64_t histogram[1 << DIGIT] = {0}, kept = 0;
  const unsigned bits = 64u - (unsigned)__builtin_clzll(high - low), shift = bits > DIGIT ? bits - DIGIT : 0;
  for (uint64_t i = 0; i < count; i++) histogram[(keys[i] - low) >> shift]++;
  const uint32_t bucket = bucket_of_kth(histogram, 1 << DIGIT, k);
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t key = keys[i];
    keys[kept] = key;
    kept += (key - low) >> shift == bucket;
  }
  return kept;
}

/* The k-th largest of keys[count], 1 <= k <= count. *k becomes its order among the keys that equal it; `keys` is
 * overwritten. */
static uint64_t kth_largest(uint64_t *keys, uint64_t count, uint64_t *k) {
  while (count > FEW) {
    uint64_t low = UINT64_MAX, high = 0;
    for (uint64_t i = 0; i < count; i++) {
      low = keys[i] < low ? keys[i] : low;
      high = keys[i] > high ? keys[i] : high;
    }
    if (low == high) return low;
    count = narrow(keys, count, low, high, k);
  }
  return kth_of_few(keys, count, k);
}

/* --- entries of a chunk ------------------------------------------------------------------------------------

 * Of many entries of which not too many stay, a sample gives a magnitude that fewer than k of them should be below
 of.
 * One pass gathers those at or above it; the exact selection is among these. Of few entries, or where the guess was
 * too high, every one that is not zero is gathered. */
enum { MANY = 1 << 11, SAMPLED = 1 << 10, OF_EACH = 16, TOGETHER = 1 << 10 };

struct kept {
  uint32_t *rows;
  int64_t *units;
  float *values; /* NULL when there are none */
  uint64_t count;
};

static bool reserve(const struct ss_chunk *from, uint64_t most, struct ss_arena *arena, struct kept *kept,
                    struct ss_error *error) {
  uint64_t elements = 0;
  *kept = (struct kept){0};
  return (ss_mul_u64(most, from->width, &elements) && ss_take(arena, kept->rows, most) &&
          ss_take(arena, kept->units, most) && (!from->values || ss_take(arena, kept->values, elements))) ||
         ss_fail_memory(error, "selecting the largest values");
}

static inline void keep_entry(const struct ss_chunk *from, uint64_t entry, struct kept *kept) {
  const uint64_t n = kept->count++;
  kept->rows[n] = from->rows[entry];
  kept->units[n] = from->units[entry];
  if (kept->values)
    memcpy(kept->values + n * from->width, from->values + entry * from->stride, from->width * sizeof *kept->values);
}

static uint64_t bound_by_sample(const int64_t *units, uint64_t count, uint64_t sampled, uint64_t order) {
  uint64_t keys[SAMPLED];
  for (uint64_t i = 0; i < sampled; i++) keys[i] = ss_magnitude(units[ss_topk_sampled(count, sampled, i)]);
  return kth_largest(keys, sampled, &order);
}

struct gathered {
  uint64_t *magnitudes;
  uint32_t *entries;
  uint64_t count, room;
};

/* False when there is no room for all at or above the bound. */
static bool gather_entries(const int64_t *units, uint64_t count, uint64_t bound, struct gathered *g) {
  uint64_t *restrict magnitudes = g->magnitudes;
  uint32_t *restrict entries = g->entries;
  uint64_t n = 0;
  for (uint64_t begin = 0; begin < count; begin += TOGETHER) {
    const uint64_t end = count - begin < TOGETHER ? count : begin + TOGETHER;
    if (n + end - begin > g->room) return false;
    for (uint64_t i = begin; i < end; i++) {
      const uint64_t magnitude = ss_magnitude(units[i]);
      magnitudes[n] = magnitude;
      entries[n] = (uint32_t)i;
      n += magnitude >= bound;
    }
  }
  g->count = n;
  return true;
}

/* Appends the k largest to `kept`; *enough is false, and nothing changed, where fewer than k are at or above the
 * bound, which is above 1, or more than there is room for. */
static bool keep_from(const struct ss_chunk *from, uint64_t k, uint64_t bound, uint64_t room, struct kept *kept,
                      bool *enough) {
  SS_AUTO_FREE uint64_t *magnitudes = ss_alloc(room, sizeof *magnitudes);
  SS_AUTO_FREE uint32_t *entries = ss_alloc(room, sizeof *entries);
  struct gathered g = {.magnitudes = magnitudes, .entries = entries, .room = room};
  uint64_t threshold = 0, ties = k;
  if (!magnitudes || !entries) return false;
  *enough = gather_entries(from->units, from->count, bound, &g) && (g.count >= k || bound == 1);
  if (!*enough) return true;
  if (g.count > k) threshold = kth_largest(magnitudes, g.count, &ties);
  for (uint64_t c = 0; c < g.count; c++) {
    const uint64_t magnitude = ss_magnitude(from->units[entries[c]]);
    const bool tie = magnitude == threshold && ties > 0;
    if (magnitude > threshold || tie) keep_entry(from, entries[c], kept);
    ties -= tie;
  }
  return true;
}

/* Appends the k largest to `kept`. */
static bool keep_largest(const struct ss_chunk *from, uint64_t k, struct kept *kept, struct ss_error *error) {
  bool ok = true, enough = k == 0 || from->count == 0;
  if (!enough && from->count >= MANY) {
    const uint64_t sampled = from->count < OF_EACH * SAMPLED ? from->count / OF_EACH : SAMPLED;
    const uint64_t order = ss_topk_order(from->count, sampled, k), room = 2 * order * (from->count / sampled + 1);
    const uint64_t bound = order <= sampled / 2 ? bound_by_sample(from->units, from->count, sampled, order) : 0;
    if (bound > 1) ok = keep_from(from, k, bound, room + TOGETHER, kept, &enough);
  }
  if (ok && !enough) ok = keep_from(from, k, 1, from->count + 1, kept, &enough);
  return ok || ss_fail_memory(error, "selecting the largest values");
}

static struct ss_chunk chunk_of(const struct ss_chunk *from, const struct kept *kept) {
  struct ss_chunk out = *from;
  out.rows = kept->rows;
  out.units = kept->units;
  out.values = kept->values;
  out.stride = from->width;
  out.count = kept->count;
  return out;
}

bool ss_topk(const struct ss_chunk *from, uint64_t k, struct ss_arena *arena, struct ss_chunk *out,
             struct ss_error *error) {
  struct kept kept;
  SS_KERNEL_TIMED(SS_KERNEL_TOP_K);
  if (!reserve(from, k < from->count ? k : from->count, arena, &kept, error)) return false;
  if (!keep_largest(from, k, &kept, error)) return false;
  ss_kernel_ran(SS_KERNEL_TOP_K, ss_top_k_elements(from->count, kept.count));
  *out = chunk_of(from, &kept);
  return true;
}

bool ss_at_least(const struct ss_chunk *from, uint64_t threshold, struct ss_arena *arena, struct ss_chunk *out,
                 struct ss_error *error) {
  const uint64_t least = threshold > 0 ? threshold : 1;
  struct kept kept;
  uint64_t count = 0;
  bool enough;
  SS_KERNEL_TIMED(SS_KERNEL_PACK);
  ss_kernel_ran(SS_KERNEL_PACK, from->count);
  for (uint64_t i = 0; i < from->count; i++) count += ss_magnitude(from->units[i]) >= least;
  if (!reserve(from, count, arena, &kept, error)) return false;
  if (!keep_from(from, count, least, from->count + 1, &kept, &enough))
    return ss_fail_memory(error, "selecting the largest values");
  *out = chunk_of(from, &kept);
  return true;
}

uint64_t ss_smallest(const struct ss_chunk *chunk) {
  uint64_t least = chunk->count > 0 ? UINT64_MAX : 0;
  for (uint64_t i = 0; i < chunk->count; i++)
    if (ss_magnitude(chunk->units[i]) < least) least = ss_magnitude(chunk->units[i]);
  return least;
}

bool ss_topk_parts(const struct ss_chunk *from, uint64_t k, uint32_t parts, struct ss_arena *arena,
                   struct ss_chunk *out, struct ss_error *error) {
  const uint64_t range = from->high - from->low;
  struct kept kept;
  SS_KERNEL_TIMED(SS_KERNEL_TOP_K);
  if (!reserve(from, k < from->count ? k : from->count, arena, &kept, error)) return false;
  for (uint64_t b = 0; b < parts; b++) {
    const struct ss_chunk part =
        ss_chunk_slice(from, from->low + ss_share(range, parts, b), from->low + ss_share(range, parts, b + 1));
    if (!keep_largest(&part, ss_share(k, parts, b + 1) - ss_share(k, parts, b), &kept, error)) return false;
  }
  ss_kernel_ran(SS_KERNEL_TOP_K, ss_top_k_elements(from->count, kept.count));
  *out = chunk_of(from, &kept);
  return true;
}

/* --- blocks of a dense tensor ------------------------------------------------------------------------------- */

typedef unsigned __int128 square_sum;

static square_sum sum_of_squares(const int64_t *values, uint64_t n) {
  square_sum sum = 0;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t m = ss_magnitude(values[i]);
    sum += (square_sum)m * m;
  }
  return sum;
}

/* The k-th largest norm, 1 <= k <= blocks, a byte at a time from the top; *k becomes its order among its equals. The
 * norms are so few against the values that sixteen plain passes do not show. */
static square_sum kth_norm(const square_sum *norms, uint64_t blocks, uint64_t *k) {
  square_sum prefix = 0;
  for (unsigned shift = 128; shift > 0;) {
    uint64_t histogram[256] = {0};
    shift -= 8;
    for (uint64_t b = 0; b < blocks; b++)
      if (shift == 120 || norms[b] >> (shift + 8) == prefix) histogram[(uint8_t)(norms[b] >> shift)]++;
    prefix = prefix << 8 | bucket_of_kth(histogram, 256, k);
  }
  return prefix;
}

bool ss_top_blocks(const int64_t *values, uint64_t n, struct ss_block_choice choice, struct ss_arena *arena,
                   struct ss_row_list *out, struct ss_error *error) {
  const uint64_t block = choice.size;
  const uint64_t blocks = n / block + (n % block > 0);
  SS_AUTO_FREE square_sum *norms = ss_alloc(blocks, sizeof *norms);
  if (!norms) return ss_fail_memory(error, "selecting blocks");
  uint64_t nonzero = 0;
#pragma omp parallel for reduction(+ : nonzero)
  for (uint64_t b = 0; b < blocks; b++) {
    norms[b] = sum_of_squares(values + b * block, n - b * block < block ? n - b * block : block);
    nonzero += norms[b] > 0;
  }

  const uint64_t kept = choice.keep < nonzero ? choice.keep : nonzero;
  uint32_t *found = ss_arena_alloc(arena, kept, sizeof *found);
  if (!found) return ss_fail_memory(error, "selecting blocks");
  uint64_t ties = kept, put = 0;
  const square_sum threshold = kept > 0 ? kth_norm(norms, blocks, &ties) : 0;
  for (uint64_t b = 0; b < blocks && put < kept; b++) {
    const bool tie = norms[b] == threshold && ties > 0;
    if (norms[b] > threshold || tie) found[put++] = (uint32_t)b;
    ties -= tie;
  }
  *out = (struct ss_row_list){found, kept};
  return true;
}

/* --- floats ------------------------------------------------------------------------------------------------- */

/* A sample of the floats gives a magnitude that fewer than k of them should be below of, one pass counts those at or
 * above it, one gathers them; the exact selection is among these. A guess that was too high shows in the count, and
 * then every non-zero is a candidate. */
enum { SAMPLE = SS_TOPK_SAMPLE, SMALL = 4 * SAMPLE, CHUNK = 1 << 16 };
static int32_t guess_bound(const float *values, uint64_t n, uint64_t k, uint64_t *keys) {
  uint64_t order = ss_topk_order(n, SAMPLE, k);
  if (n <= SMALL || order > SAMPLE) return 1;
  for (uint64_t i = 0; i < SAMPLE; i++) keys[i] = (uint64_t)ss_topk_key(values[ss_topk_sampled(n, SAMPLE, i)]);
  return ss_topk_bound(kth_largest(keys, SAMPLE, &order));
}

static uint64_t count_candidates(const float *values, uint64_t n, int32_t bound) {
  uint32_t count = 0; /* n is at most CHUNK: a narrow sum, that more lanes fit */
  for (uint64_t i = 0; i < n; i++) count += ss_topk_key(values[i]) >= bound;
  return count;
}

/* Writes the candidates of values[first .. end). */
static void gather_candidates(const float *values, uint64_t first, uint64_t end, int32_t bound, uint64_t *out) {
  for (uint64_t begin = first; begin < end; begin += GROUP) {
    const uint64_t stop = end - begin < GROUP ? end : begin + GROUP;
    int32_t any = 0;
    for (uint64_t i = begin; i < stop; i++) any |= ss_topk_key(values[i]) >= bound;
    if (!any) continue;
    for (uint64_t i = begin; i < stop; i++)
      if (ss_topk_key(values[i]) >= bound) *out++ = ss_topk_candidate(ss_topk_key(values[i]), i);
  }
}

struct candidates {
  uint64_t *ends; /* [chunks + 1] candidates before chunk c, from the second on: an end each */
  uint64_t *list;
  uint64_t chunks;
};

/* How many there are at or above the bound; c->ends set. */
static uint64_t count_all(const float *values, uint64_t n, int32_t bound, const struct candidates *c) {
  c->ends[0] = 0;
#pragma omp parallel for schedule(static)
  for (uint64_t chunk = 0; chunk < c->chunks; chunk++) {
    const uint64_t first = chunk * CHUNK, size = n - first < CHUNK ? n - first : CHUNK;
    c->ends[chunk + 1] = count_candidates(values + first, size, bound);
  }
  for (uint64_t chunk = 0; chunk < c->chunks; chunk++) c->ends[chunk + 1] += c->ends[chunk];
  return c->ends[c->chunks];
}

static void gather_all(const float *values, uint64_t n, int32_t bound, const struct candidates *c) {
#pragma omp parallel for schedule(static)
  for (uint64_t chunk = 0; chunk < c->chunks; chunk++) {
    const uint64_t first = chunk * CHUNK, size = n - first < CHUNK ? n - first : CHUNK;
    if (c->ends[chunk] < c->ends[chunk + 1])
      gather_candidates(values, first, first + size, bound, c->list + c->ends[chunk]);
  }
}

static bool refuse_nan(const uint64_t *list, uint64_t count, struct ss_error *error) {
  for (uint64_t i = 0; i < count; i++)
    if (list[i] >> 32 > SS_TOPK_INFINITE)
      return ss_fail(error, SS_BAD_INPUT, "element %u is not a number: there is no top-k with it",
                     ss_topk_index(list[i]));
  return true;
}

bool ss_topk_floats(const float *values, uint64_t n, uint64_t k, struct ss_arena *scratch, struct ss_row_list *out,
                    struct ss_error *error) {
  out->count = 0;
  if (k == 0 || n == 0) return true;
  ss_arena_reset(scratch);
  struct candidates c = {.chunks = n / CHUNK + (n % CHUNK > 0)};
  uint64_t *keys = ss_arena_alloc(scratch, SAMPLE, sizeof *keys);
  c.ends = ss_arena_alloc(scratch, c.chunks + 1, sizeof *c.ends);
  if (!keys || !c.ends) return ss_fail_memory(error, "selecting the largest floats");

  int32_t bound = guess_bound(values, n, k, keys);
  uint64_t found = count_all(values, n, bound, &c);
  if (found < k && bound > 1) {
    bound = 1;
    found = count_all(values, n, bound, &c);
  }
  if (!ss_take(scratch, c.list, found) || !ss_take(scratch, keys, found))
    return ss_fail_memory(error, "selecting the largest floats");
  gather_all(values, n, bound, &c);
  if (!refuse_nan(c.list, found, error)) return false;

  uint64_t least = 0, order = k;
  if (found > k) {
    memcpy(keys, c.list, found * sizeof *keys);
    least = kth_largest(keys, found, &order);
  }
  for (uint64_t i = 0; i < found; i++)
    if (c.list[i] >= least) out->rows[out->count++] = ss_topk_index(c.list[i]);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
