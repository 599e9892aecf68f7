#include "tensor/topk.h"

#include "tensor/kernel.h"
#include "tensor/topk_key.h"

#include <string.h>

/* Up to here sorting beats clearing a histogram. */
enum { FEW = 48 };
enum { DIGIT = 11, GROUP = 32 };
/* See log_bucket; below the last of EXACT each bucket is one magnitude. */
enum { LOG_BUCKETS = 58 * 32 + 64, EXACT = 64 };

/* What to keep: all above the threshold, and the first `ties` that equal it. */
struct cut {
  uint64_t threshold, ties;
};

static const struct cut KEEP_ALL = {0, 0}, KEEP_NONE = {UINT64_MAX, 0};

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

/* --- entries of a chunk ------------------------------------------------------------------------------------ */

/* Monotone in the magnitude, 32 buckets an octave: gradients spread over many octaves, where a linear histogram would
 * find nearly all of them in its lowest bucket. Below 64 a bucket is one magnitude. */
static uint32_t log_bucket(uint64_t magnitude) {
  const unsigned shift = 58u - (unsigned)__builtin_clzll(magnitude | 32);
  return (shift << 5) + (uint32_t)(magnitude >> shift);
}

static struct cut cut_of_few(const int64_t *units, uint64_t count, uint64_t k) {
  uint64_t magnitudes[FEW], nonzero = 0;
  for (uint64_t i = 0; i < count; i++)
    if (units[i]) magnitudes[nonzero++] = ss_magnitude(units[i]);
  if (nonzero < k) return KEEP_ALL;
  const uint64_t threshold = kth_of_few(magnitudes, nonzero, &k);
  return (struct cut){threshold, k};
}

static bool find_cut(const int64_t *units, uint64_t count, uint64_t k, struct cut *cut, struct ss_error *error) {
  *cut = k == 0 ? KEEP_NONE : KEEP_ALL;
  if (k == 0 || count < k) return true;
  if (count <= FEW) {
    *cut = cut_of_few(units, count, k);
    return true;
  }
  uint64_t histogram[LOG_BUCKETS] = {0};
  for (uint64_t i = 0; i < count; i++) histogram[log_bucket(ss_magnitude(units[i]))]++;
  if (count - histogram[0] < k) return true;

  const uint32_t bucket = bucket_of_kth(histogram, LOG_BUCKETS, &k);
  if (bucket < EXACT) {
    *cut = (struct cut){bucket, k};
    return true;
  }
  /* one more than needed: what does not belong is written behind and overwritten */
  SS_AUTO_FREE uint64_t *candidates = ss_alloc(histogram[bucket] + 1, sizeof *candidates);
  if (!candidates) return ss_fail_memory(error, "selecting the largest values");
  for (uint64_t i = 0, n = 0; i < count; i++) {
    candidates[n] = ss_magnitude(units[i]);
    n += log_bucket(candidates[n]) == bucket;
  }
  cut->threshold = kth_largest(candidates, histogram[bucket], &k);
  cut->ties = k;
  return true;
}

struct kept {
  uint32_t *rows;
  int64_t *units;
  float *values; /* NULL when there are none */
  uint64_t count;
};

/* Room for `most` entries, and one more that is written but does not count. */
static bool reserve(const struct ss_chunk *from, uint64_t most, struct ss_arena *arena, struct kept *kept,
                    struct ss_error *error) {
  uint64_t elements = 0;
  *kept = (struct kept){0};
  if (!ss_mul_u64(most, from->width, &elements)) return ss_fail_memory(error, "selecting the largest values");
  return (ss_take(arena, kept->rows, most + 1) && ss_take(arena, kept->units, most + 1) &&
          (!from->values || ss_take(arena, kept->values, elements))) ||
         ss_fail_memory(error, "selecting the largest values");
}

static bool any_kept(const int64_t *units, uint64_t count, uint64_t threshold) {
  bool any = false;
  for (uint64_t i = 0; i < count; i++) any |= ss_magnitude(units[i]) >= threshold;
  return any;
}

/* Groups of which nothing stays, as most do where little is selected, are passed over. */
static void keep(const struct ss_chunk *from, struct cut cut, struct kept *kept) {
  uint64_t n = kept->count;
  for (uint64_t begin = 0; begin < from->count; begin += GROUP) {
    const uint64_t end = from->count - begin < GROUP ? from->count : begin + GROUP;
    if (!any_kept(from->units + begin, end - begin, cut.threshold)) continue;
    for (uint64_t i = begin; i < end; i++) {
      const uint64_t magnitude = ss_magnitude(from->units[i]);
      const bool tie = (magnitude == cut.threshold) & (cut.ties > 0), stays = (magnitude > cut.threshold) | tie;
      kept->rows[n] = from->rows[i];
      kept->units[n] = from->units[i];
      if (kept->values && stays)
        memcpy(kept->values + n * from->width, from->values + i * from->stride, from->width * sizeof *kept->values);
      n += stays;
      cut.ties -= tie;
    }
  }
  kept->count = n;
}

static inline void keep_entry(const struct ss_chunk *from, uint64_t entry, struct kept *kept) {
  const uint64_t n = kept->count++;
  kept->rows[n] = from->rows[entry];
  kept->units[n] = from->units[entry];
  if (kept->values)
    memcpy(kept->values + n * from->width, from->values + entry * from->stride, from->width * sizeof *kept->values);
}

/* --- many entries of which few stay: a sample gives a magnitude that fewer than k of them should be below of; one
 * pass gathers those at or above it, and the exact selection is among these. */
enum { MANY = 1 << 13, SAMPLED = 1 << 10, TOGETHER = 1 << 10 };

struct gathered {
  uint64_t *magnitudes, *entries,
      *keys; /* [room]; the keys are the magnitudes again, for the selection to overwrite */
  uint64_t count, room;
};

static uint64_t bound_by_sample(const int64_t *units, uint64_t count, uint64_t order) {
  uint64_t keys[SAMPLED];
  for (uint64_t i = 0; i < SAMPLED; i++) keys[i] = ss_magnitude(units[ss_topk_sampled(count, SAMPLED, i)]);
  return kth_largest(keys, SAMPLED, &order);
}

/* False when there is no room for all at or above the bound. */
static bool gather_entries(const int64_t *units, uint64_t count, uint64_t bound, struct gathered *g) {
  uint64_t *restrict magnitudes = g->magnitudes, *restrict entries = g->entries;
  uint64_t n = 0;
  for (uint64_t begin = 0; begin < count; begin += TOGETHER) {
    const uint64_t end = count - begin < TOGETHER ? count : begin + TOGETHER;
    if (n + TOGETHER > g->room) return false;
    for (uint64_t i = begin; i < end; i++) {
      const uint64_t magnitude = ss_magnitude(units[i]);
      magnitudes[n] = magnitude;
      entries[n] = i;
      n += magnitude >= bound;
    }
  }
  g->count = n;
  return true;
}

/* Appends the k largest to `kept`; false, with nothing changed, where the sample did not help. */
static bool keep_by_sample(const struct ss_chunk *from, uint64_t k, struct kept *kept) {
  if (from->count < MANY || k == 0 || k > from->count / 8) return false;
  const uint64_t order = ss_topk_order(from->count, SAMPLED, k);
  const uint64_t bound = bound_by_sample(from->units, from->count, order);
  struct gathered g = {.room = 2 * order * (from->count / SAMPLED + 1) + TOGETHER};
  SS_AUTO_FREE uint64_t *magnitudes = ss_alloc(g.room, sizeof *magnitudes);
  SS_AUTO_FREE uint64_t *entries = ss_alloc(g.room, sizeof *entries);
  SS_AUTO_FREE uint64_t *keys = ss_alloc(g.room, sizeof *keys);
  g.magnitudes = magnitudes, g.entries = entries, g.keys = keys;
  if (!magnitudes || !entries || !keys || bound == 0) return false;
  if (!gather_entries(from->units, from->count, bound, &g) || g.count < k) return false;
  memcpy(g.keys, g.magnitudes, g.count * sizeof *g.keys);
  uint64_t ties = k;
  const uint64_t threshold = kth_largest(g.keys, g.count, &ties);
  for (uint64_t c = 0; c < g.count; c++) {
    const bool tie = g.magnitudes[c] == threshold && ties > 0;
    if (g.magnitudes[c] > threshold || tie) keep_entry(from, g.entries[c], kept);
    ties -= tie;
  }
  return true;
}

/* Appends the k largest to `kept`. */
static bool keep_largest(const struct ss_chunk *from, uint64_t k, struct kept *kept, struct ss_error *error) {
  struct cut cut;
  if (keep_by_sample(from, k, kept)) return true;
  if (!find_cut(from->units, from->count, k, &cut, error)) return false;
  keep(from, cut, kept);
  return true;
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
  const struct cut cut = {threshold > 0 ? threshold - 1 : 0, 0};
  struct kept kept;
  uint64_t count = 0;
  SS_KERNEL_TIMED(SS_KERNEL_PACK);
  ss_kernel_ran(SS_KERNEL_PACK, from->count);
  for (uint64_t i = 0; i < from->count; i++) count += ss_magnitude(from->units[i]) > cut.threshold;
  if (!reserve(from, count, arena, &kept, error)) return false;
  keep(from, cut, &kept);
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
