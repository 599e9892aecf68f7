/* The numeric kernels against plain references: selection, hashing, sketches, sets. Every kernel that works in
 * parallel meets its reference at 1, 2, 3 and 7 threads. */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "kernels/timing.h"
#include "tensor/chunk.h"
#include "tensor/hash.h"
#include "tensor/sets.h"
#include "tensor/sketch.h"
#include "tensor/topk.h"
#include "tensor/topk_key.h"

#include <omp.h>
#include <time.h>

static void use_threads(uint64_t seed) {
  static const int threads[] = {1, 2, 3, 7};
  omp_set_num_threads(threads[seed % COUNT(threads)]);
}

/* --- inputs ---------------------------------------------------------------------------------------------- */

enum kind { ZEROS, EQUAL, SMALL_NUMBERS, SKEWED, ANY_BITS, MOSTLY_ZERO, KINDS };

static uint64_t random_mark(struct dice *d, enum kind kind) {
  const uint64_t sign = dice_one_in(d, 2) ? UINT64_MAX : 1;
  switch (kind) {
  case ZEROS: return 0;
  case EQUAL: return sign * 12345;
  case SMALL_NUMBERS: return sign * dice_below(d, 80); /* from 64 on two share a bucket of the histogram */
  case SKEWED: return sign * (dice_next(d) >> dice_between(d, 1, 63));
  case ANY_BITS: return dice_one_in(d, 50) ? UINT64_C(1) << 63 : dice_next(d);
  default: return dice_one_in(d, 10) ? sign * dice_below(d, 100000) : 0;
  }
}

/* A value chunk of about `count` ascending distinct rows from `low` on. */
static struct ss_chunk value_chunk(struct dice *d, struct ss_arena *arena, uint64_t low, uint64_t count,
                                   enum kind kind, bool values) {
  uint32_t *rows = ss_arena_alloc(arena, count, sizeof *rows);
  uint64_t *marks = ss_arena_alloc(arena, count, sizeof *marks), row = low + dice_below(d, 3);
  const uint32_t width = dice_between(d, 1, 3), stride = width + dice_below(d, 2);
  float *floats = ss_arena_alloc(arena, count * stride, sizeof *floats);
  for (uint64_t i = 0; i < count; i++) {
    rows[i] = (uint32_t)row;
    row += 1 + (dice_one_in(d, 4) ? dice_below(d, 9) : 0);
    marks[i] = random_mark(d, kind);
    for (uint32_t c = 0; c < stride; c++) floats[i * stride + c] = (float)(i + c);
  }
  return (struct ss_chunk){.rows = rows,
                           .marks = marks,
                           .kind = SS_CHUNK_VALUES,
                           .values = values ? floats : NULL,
                           .count = count,
                           .low = low,
                           .high = row + dice_below(d, 5),
                           .width = width,
                           .stride = stride,
                           .origin = 3,
                           .part = 4};
}

static uint64_t random_count(struct dice *d) {
  static const uint64_t special[] = {0, 1, 2, 47, 48, 49, 50, 2000};
  if (dice_one_in(d, 3)) return special[dice_below(d, COUNT(special))];
  return dice_below(d, 3000);
}

static uint64_t random_k(struct dice *d, uint64_t count) {
  switch (dice_below(d, 5)) {
  case 0: return dice_below(d, 3);
  case 1: return count + dice_below(d, 3);
  case 2: return count / 100;
  default: return dice_below(d, (uint32_t)count + 1);
  }
}

/* --- selection ------------------------------------------------------------------------------------------- */

struct entry {
  uint64_t magnitude, place;
};

/* The rule: larger magnitude first, ties to the lower place. */
static int by_rule(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  if (x->magnitude != y->magnitude) return x->magnitude > y->magnitude ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

static int by_place(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* Sorts entries[count] by the rule, cuts it after k non-zeros, and puts what is left in order of place. */
static uint64_t plain_topk(struct entry *entries, uint64_t count, uint64_t k) {
  qsort(entries, count, sizeof *entries, by_rule);
  uint64_t kept = 0;
  while (kept < count && kept < k && entries[kept].magnitude > 0) kept++;
  qsort(entries, kept, sizeof *entries, by_place);
  return kept;
}

static uint64_t plain_magnitude(uint64_t mark) {
  const __int128 value = (int64_t)mark;
  return (uint64_t)(value < 0 ? -value : value);
}

static struct entry *entries_of(const struct ss_chunk *c) {
  struct entry *entries = malloc((c->count + 1) * sizeof *entries);
  for (uint64_t i = 0; i < c->count; i++) entries[i] = (struct entry){plain_magnitude(c->marks[i]), i};
  return entries;
}

/* `got` is the `count` entries of `from` at these places. */
static void check_entries(const struct ss_chunk *got, const struct ss_chunk *from, const struct entry *entries,
                          uint64_t count, uint64_t seed) {
  if (got->count != count)
    fail_msg("seed %llu: %llu entries instead of %llu", (unsigned long long)seed, (unsigned long long)got->count,
             (unsigned long long)count);
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t at = entries[i].place;
    if (got->rows[i] != from->rows[at] || got->marks[i] != from->marks[at])
      fail_msg("seed %llu: entry %llu is row %u instead of %u", (unsigned long long)seed, (unsigned long long)i,
               got->rows[i], from->rows[at]);
    for (uint32_t c = 0; from->values && c < from->width; c++)
      assert_true(got->values[i * got->stride + c] == from->values[at * from->stride + c]);
  }
  assert_true((got->values != NULL) == (from->values != NULL));
  assert_true(got->low == from->low && got->high == from->high && got->width == from->width);
  assert_true(got->origin == 3 && got->part == 4 && !got->dense);
}

static void topk_once(uint64_t seed, uint64_t least, struct ss_arena *arena) {
  struct dice d = {.seed = seed};
  struct ss_error error;
  const uint64_t low = dice_below(&d, 100), count = least + random_count(&d);
  struct ss_chunk from = value_chunk(&d, arena, low, count, seed % KINDS, dice_one_in(&d, 2)), got;
  const uint64_t k = random_k(&d, from.count) / (least > 0 ? 8 : 1);
  struct entry *entries = entries_of(&from);
  const uint64_t kept = plain_topk(entries, from.count, k);
  assert_true(ss_topk(&from, k, arena, &got, &error));
  check_entries(&got, &from, entries, kept, seed);

  uint64_t threshold = k > 0 && kept < k ? 0 : UINT64_MAX;
  for (uint64_t i = 0; k > 0 && kept == k && i < kept; i++)
    if (entries[i].magnitude < threshold) threshold = entries[i].magnitude;

  free(entries);
  entries = entries_of(&from);
  uint64_t n = 0;
  for (uint64_t i = 0; i < from.count; i++)
    if (entries[i].magnitude > 0 && entries[i].magnitude >= threshold) entries[n++] = entries[i];
  assert_true(ss_at_least(&from, threshold, arena, &got, &error));
  check_entries(&got, &from, entries, n, seed);
  free(entries);
}

TEST(topk_is_the_front_of_the_sorted_list) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint64_t seed = 1; seed <= CASES(1200); seed++) {
    topk_once(seed, 0, &arena);
    ss_arena_reset(&arena);
  }
  for (uint64_t seed = 1; seed <= CASES(120); seed++) { /* by a sample */
    topk_once(seed, 8000, &arena);
    ss_arena_reset(&arena);
  }
}

/* The entries that the sample sees are the largest, and fewer than k: they say nothing of the k-th. */
TEST(topk_survives_a_sample_that_misleads) {
  enum { N = 20000, K = 2000, SAMPLED = 1 << 10 };
  struct dice d = {.seed = 1};
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error;
  struct ss_chunk from = value_chunk(&d, &arena, 0, N, SMALL_NUMBERS, false), got;
  int64_t *units = (int64_t *)(uintptr_t)from.units;
  for (uint64_t i = 0; i < SAMPLED; i++) units[ss_topk_sampled(N, SAMPLED, i)] = 1000 + (int64_t)i;
  struct entry *entries = entries_of(&from);
  const uint64_t kept = plain_topk(entries, N, K);
  assert_true(ss_topk(&from, K, &arena, &got, &error));
  check_entries(&got, &from, entries, kept, 1);
  free(entries);
}

static void parts_once(uint64_t seed, uint64_t least, struct ss_arena *arena) {
  struct dice d = {.seed = seed};
  struct ss_error error;
  const uint32_t parts = dice_between(&d, 1, dice_one_in(&d, 3) ? 400 : 9);
  const uint64_t low = dice_one_in(&d, 4) ? UINT32_MAX - 40000 : dice_below(&d, 100);
  const uint64_t entries_wanted = least + random_count(&d);
  struct ss_chunk from = value_chunk(&d, arena, low, entries_wanted, seed % KINDS, dice_one_in(&d, 3)), got;
  const uint64_t k = random_k(&d, from.count), range = from.high - from.low;
  struct entry *entries = entries_of(&from), *kept = malloc((from.count + 1) * sizeof *kept);
  uint64_t n = 0, first = 0;
  for (uint64_t b = 0; b < parts; b++) {
    uint64_t end = first;
    while (end < from.count && from.rows[end] < low + (b + 1) * range / parts) end++;
    const uint64_t quota = (b + 1) * k / parts - b * k / parts;
    const uint64_t count = plain_topk(entries + first, end - first, quota);
    memcpy(kept + n, entries + first, count * sizeof *kept);
    n += count;
    first = end;
  }
  assert_true(ss_topk_parts(&from, k, parts, arena, &got, &error));
  check_entries(&got, &from, kept, n, seed);
  free(entries);
  free(kept);
}

TEST(parts_keep_their_own_topk) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint64_t seed = 1; seed <= CASES(900); seed++) {
    parts_once(seed, seed % 10 == 0 ? 8192 : 0, &arena);
    ss_arena_reset(&arena);
  }
}

/* --- blocks ---------------------------------------------------------------------------------------------- */

struct norm {
  unsigned __int128 sum;
  uint64_t place;
};

static int by_norm(const void *a, const void *b) {
  const struct norm *x = a, *y = b;
  if (x->sum != y->sum) return x->sum > y->sum ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

static int by_block(const void *a, const void *b) {
  const struct norm *x = a, *y = b;
  return x->place < y->place ? -1 : x->place > y->place;
}

static void blocks_once(uint64_t seed, struct ss_arena *arena) {
  struct dice d = {.seed = seed};
  struct ss_error error;
  const uint32_t block = dice_one_in(&d, 2) ? 256 : dice_between(&d, 1, 20);
  const uint64_t n = dice_one_in(&d, 9) ? 0 : dice_below(&d, dice_one_in(&d, 5) ? 100000 : 3000);
  const uint64_t blocks = (n + block - 1) / block;
  const enum kind kind = seed % KINDS;
  int64_t *values = calloc(n + 1, sizeof *values);
  struct norm *norms = calloc(blocks + 1, sizeof *norms);
  for (uint64_t i = 0; i < n; i++) {
    values[i] = (int64_t)random_mark(&d, kind);
    if (kind == ANY_BITS || kind == SKEWED) values[i] /= 16; /* below 2^60 */
    const __int128 v = values[i];
    norms[i / block].sum += (unsigned __int128)(v * v);
  }
  for (uint64_t b = 0; b < blocks; b++) norms[b].place = b;
  const uint64_t keep = random_k(&d, blocks);
  qsort(norms, blocks, sizeof *norms, by_norm);
  uint64_t kept = 0;
  while (kept < keep && kept < blocks && norms[kept].sum > 0) kept++;
  qsort(norms, kept, sizeof *norms, by_block);
  struct ss_row_list got;
  assert_true(ss_top_blocks(values, n, (struct ss_block_choice){block, keep}, arena, &got, &error));
  if (got.count != kept) fail_msg("seed %llu: another number of blocks", (unsigned long long)seed);
  for (uint64_t i = 0; i < kept; i++)
    if (got.rows[i] != norms[i].place) fail_msg("seed %llu: another block", (unsigned long long)seed);
  free(values);
  free(norms);
}

TEST(blocks_of_largest_norm_are_kept) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint64_t seed = 1; seed <= CASES(600); seed++) {
    use_threads(seed / KINDS);
    blocks_once(seed, &arena);
    ss_arena_reset(&arena);
  }
}

/* Norms that differ in their last bit only, far beyond what a double could tell apart. */
TEST(norms_are_compared_exactly) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error;
  const int64_t big = INT64_C(1) << 59;
  const int64_t values[] = {big, 1, 0, -big, 1, 1, big, 0, 0, big, -1, 0};
  struct ss_row_list got;
  assert_true(ss_top_blocks(values, COUNT(values), (struct ss_block_choice){3, 3}, &arena, &got, &error));
  assert_true(got.count == 3 && got.rows[0] == 0 && got.rows[1] == 1 && got.rows[2] == 3);
  assert_true(ss_top_blocks(values, COUNT(values), (struct ss_block_choice){3, 2}, &arena, &got, &error));
  assert_true(got.count == 2 && got.rows[0] == 0 && got.rows[1] == 1); /* blocks 0 and 3 tie */
}

/* --- floats ---------------------------------------------------------------------------------------------- */

enum float_kind { FLAT, LAYERED, FEW_NONZERO, SAME, TINY, SAMPLED_HIGH, FLOAT_KINDS };

static float random_float(struct dice *d, enum float_kind kind, uint64_t place, uint64_t n) {
  const float value = (float)(dice_unit(d) - 0.5);
  const uint64_t layer = place * 8 / n;
  switch (kind) {
  case LAYERED: return value * (float)exp2((double)layer * 9 - 40);
  case FEW_NONZERO: return dice_one_in(d, 3000) ? value : -0.0f;
  case SAME: return value < 0 ? -3.0f : 3.0f;
  case TINY: return value * 0x1p-140f;
  default: return value;
  }
}

/* Puts large values where the kernel samples, if it samples as it does today: its guess is then too high. */
static void raise_sample(float *values, uint64_t n) {
  enum { SAMPLE = 1 << 16 };
  for (uint64_t i = 0; i < SAMPLE; i++) {
    const uint64_t low = ss_share(n, SAMPLE, i), high = ss_share(n, SAMPLE, i + 1);
    values[low + ss_below(ss_mix(0, i), high - low)] *= 1000;
  }
}

static uint64_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits & INT32_MAX;
}

static void check_floats(const float *values, uint64_t n, uint64_t k, struct ss_arena *scratch, uint64_t seed) {
  struct ss_error error;
  struct entry *entries = malloc((n + 1) * sizeof *entries);
  struct ss_row_list got = {.rows = malloc(((k < n ? k : n) + 1) * sizeof *got.rows)};
  for (uint64_t i = 0; i < n; i++) entries[i] = (struct entry){bits_of(values[i]), i};
  const uint64_t kept = plain_topk(entries, n, k);
  for (uint64_t t = 0; t < 4; t++) {
    use_threads(t);
    assert_true(ss_topk_floats(values, n, k, scratch, &got, &error));
    if (got.count != kept) fail_msg("seed %llu: another number of floats", (unsigned long long)seed);
    for (uint64_t i = 0; i < kept; i++)
      if (got.rows[i] != entries[i].place) fail_msg("seed %llu: another float", (unsigned long long)seed);
  }
  free(entries);
  free(got.rows);
}

static void floats_once(uint64_t seed, uint64_t n, uint64_t k, struct ss_arena *scratch) {
  struct dice d = {.seed = seed};
  const enum float_kind kind = seed % FLOAT_KINDS;
  float *values = malloc((n + 1) * sizeof *values);
  for (uint64_t i = 0; i < n; i++) values[i] = random_float(&d, kind, i, n);
  if (kind == SAMPLED_HIGH && n > 1 << 17) raise_sample(values, n);
  if (n > 100) values[n / 2] = INFINITY, values[n / 3] = -INFINITY;
  check_floats(values, n, k, scratch, seed);
  free(values);
}

TEST(floats_are_selected_by_the_same_rule) {
  AUTO(ss_arena_free) struct ss_arena scratch = {0};
  for (uint64_t seed = 1; seed <= CASES(200); seed++) {
    struct dice d = {.seed = seed + 1000};
    const uint64_t n = random_count(&d);
    floats_once(seed, n, random_k(&d, n), &scratch);
  }
  static const uint64_t sizes[] = {262144, 262145, 300000, 400001}; /* the sample begins above 2^18 */
  for (uint64_t seed = 1; seed <= 18; seed++) {
    const uint64_t n = sizes[seed % COUNT(sizes)], part[] = {100, 1000, 3};
    floats_once(seed, n, n / part[seed / FLOAT_KINDS % 3], &scratch);
  }
}

/* Nothing but what a sample sees is not zero, and that is less than k: no zero is selected. */
TEST(floats_that_a_sample_alone_sees) {
  enum { N = 300000 };
  AUTO(ss_arena_free) struct ss_arena scratch = {0};
  float *values = calloc(N, sizeof *values);
  for (uint64_t i = 0; i < SS_TOPK_SAMPLE; i++)
    values[ss_topk_sampled(N, SS_TOPK_SAMPLE, i)] = i % 2 ? 1 + (float)i : -0.0f;
  for (uint64_t k = 1; k < N; k = k * 3 + 1) check_floats(values, N, k, &scratch, k);
  free(values);
}

TEST(floats_that_are_no_numbers_are_refused) {
  enum { N = 300000 };
  AUTO(ss_arena_free) struct ss_arena scratch = {0};
  struct ss_error error;
  float *values = calloc(N, sizeof *values);
  uint32_t rows[10];
  struct ss_row_list got = {.rows = rows};
  for (uint32_t i = 0; i < N; i++) values[i] = (float)(i % 1000);
  values[1234] = NAN, values[299999] = -NAN;
  for (uint64_t t = 0; t < 4; t++) {
    use_threads(t);
    assert_false(ss_topk_floats(values, N, 10, &scratch, &got, &error));
    assert_int_equal(error.status, SS_BAD_INPUT);
    assert_string_equal(error.text, "element 1234 is not a number: there is no top-k with it");
  }
  assert_false(ss_topk_floats(values, 2000, 10, &scratch, &got, &error));
  /* NaNs have magnitudes too; however many there are, the larger must not hide the others */
  const uint32_t least = 0x7f800001;
  for (uint32_t i = 0; i < N; i++) values[i] = NAN;
  memcpy(&values[0], &least, sizeof least);
  assert_false(ss_topk_floats(values, N, 10, &scratch, &got, &error));
  assert_string_equal(error.text, "element 0 is not a number: there is no top-k with it");
  assert_true(ss_topk_floats(values, N, 0, &scratch, &got, &error));
  assert_int_equal(got.count, 0);
  free(values);
}

/* --- hashing --------------------------------------------------------------------------------------------- */

/* ZEN's Fig. 10: 15 indices, three servers. With our h0 (and second_model.py's XXH64) the servers have these; the
 * paper's hash is not known. */
TEST(fifteen_rows_go_to_three_servers) {
  static const uint32_t wanted[] = {2, 3, 5, 6, 1, 7, 8, 10, 11, 13, 14, 4, 9, 12, 15};
  struct ss_error error;
  uint32_t rows[15], out[15] = {0};
  uint64_t marks[15], marks_out[15] = {0}, offsets[4], sizes[3];
  for (uint32_t i = 0; i < 15; i++) rows[i] = i + 1, marks[i] = UINT64_MAX - i;
  assert_true(ss_hash_partition(&(struct ss_hash_input){.rows = rows, .marks = marks, .count = 15}, 1, 3,
                                &(struct ss_hash_output){.rows = out, .marks = marks_out, .offsets = offsets},
                                &error));
  assert_true(offsets[0] == 0 && offsets[1] == 4 && offsets[2] == 11 && offsets[3] == 15);
  for (uint32_t i = 0; i < 15; i++) assert_true(out[i] == wanted[i] && marks_out[i] == UINT64_MAX - (wanted[i] - 1));
  assert_true(ss_hash_sizes(1, 16, 1, 3, sizes, &error));
  assert_true(sizes[0] == 4 && sizes[1] == 7 && sizes[2] == 4);
}

/* Distinct rows in any order. */
static uint32_t *shuffled_rows(struct dice *d, uint64_t count) {
  uint32_t *rows = malloc((count + 1) * sizeof *rows);
  const uint32_t base = dice_below(d, 1000), step = dice_between(d, 1, 20);
  for (uint64_t i = 0; i < count; i++) rows[i] = base + (uint32_t)i * step;
  if (dice_one_in(d, 2)) return rows;
  for (uint64_t i = count; i > 1; i--) {
    const uint64_t other = ss_below(dice_next(d), i);
    const uint32_t row = rows[i - 1];
    rows[i - 1] = rows[other];
    rows[other] = row;
  }
  return rows;
}

enum { WIDTH_MOST = 3 };

/* Of `count` rows that lie `width` + 1 apart: value k of row i is 4 i + k. */
static float *numbered_values(uint64_t count, uint64_t width) {
  float *values = calloc(count * (width + 1) + 1, sizeof *values);
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t k = 0; k < width; k++) values[i * (width + 1) + k] = (float)(4 * i + k);
  return values;
}

/* Values go with their rows wherever marks do, and where there are none; of width 0 there are no values. */
static void partition_once(uint64_t seed, uint64_t count, uint32_t parts, bool with_marks) {
  struct dice d = {.seed = seed};
  const uint64_t width = seed % (WIDTH_MOST + 1);
  float *values = numbered_values(count, width), *values_out = calloc(count * WIDTH_MOST + 1, sizeof *values_out);
  struct ss_error error;
  uint32_t *rows = shuffled_rows(&d, count), *out = calloc(count + 1, sizeof *out);
  uint64_t *marks = calloc(count + 1, sizeof *marks), *marks_out = calloc(count + 1, sizeof *marks_out);
  uint64_t *offsets = calloc((size_t)parts + 1, sizeof *offsets), *next = calloc(parts, sizeof *next);
  for (uint64_t i = 0; i < count; i++) marks[i] = dice_next(&d);
  assert_true(ss_hash_partition(
      &(struct ss_hash_input){rows, with_marks ? marks : NULL, count, width ? values : NULL, width, width + 1}, seed,
      parts, &(struct ss_hash_output){out, with_marks ? marks_out : NULL, offsets, values_out}, &error));
  assert_true(offsets[0] == 0 && offsets[parts] == count);
  memcpy(next, offsets, parts * sizeof *next);
  for (uint64_t i = 0; i < count; i++) { /* row by row: each is the next of its part */
    const uint64_t part = (uint64_t)(((unsigned __int128)ss_hash_row(rows[i], seed) * parts) >> 64),
                   at = next[part]++;
    bool same = at < offsets[part + 1] && out[at] == rows[i] && (!with_marks || marks_out[at] == marks[i]);
    for (uint64_t k = 0; same && k < width; k++) same = values_out[at * width + k] == (float)(4 * i + k);
    if (!same) fail_msg("seed %llu: row %u is not the next of its part", (unsigned long long)seed, rows[i]);
  }
  free(rows), free(out), free(marks), free(marks_out), free(offsets), free(next), free(values), free(values_out);
}

TEST(partitions_are_stable) {
  for (uint64_t seed = 1; seed <= CASES(300); seed++) {
    struct dice d = {.seed = seed};
    use_threads(seed);
    partition_once(seed, random_count(&d), dice_between(&d, 1, 40), seed / 4 % 2);
  }
  for (uint64_t seed = 1; seed <= 8; seed++) {
    use_threads(seed);
    partition_once(seed, 200000 + seed, seed % 3 ? 16 : 30000, seed > 4);
  }
  partition_once(1, 1000, SS_HASH_PARTS, true);
}

TEST(sizes_are_counted) {
  struct ss_error error;
  for (uint64_t seed = 1; seed <= 80; seed++) {
    struct dice d = {.seed = seed};
    const uint32_t parts = dice_between(&d, 1, 70);
    const uint64_t low = dice_one_in(&d, 3) ? UINT32_MAX - 100000 : dice_below(&d, 1000);
    const uint64_t high = low + dice_below(&d, dice_one_in(&d, 4) ? 1000 : 200000);
    uint64_t sizes[70], wanted[70] = {0};
    for (uint64_t row = low; row < high; row++) wanted[ss_hash_part(row, seed, parts)]++;
    use_threads(seed);
    assert_true(ss_hash_sizes(low, high, seed, parts, sizes, &error));
    assert_memory_equal(sizes, wanted, parts * sizeof *sizes);
  }
}

/* Algorithm 1 as it is printed, one row after the other: memory x, a cell a slot, 0 when empty. */
struct plain_memory {
  uint64_t *cells[16], slots[16], serial[16], in_serial[16], placed[SS_HASH_PROBES];
  bool overflown;
};

static void plain_insert(struct plain_memory *x, const struct ss_hash_memory *m, uint32_t row) {
  const uint32_t p = ss_hash_part(row, m->seed, m->parts);
  for (uint32_t i = 1; i <= m->probes && x->slots[p] > 0; i++) {
    const uint64_t q = ss_below(ss_hash_row(row, m->seed + i), x->slots[p]);
    if (x->cells[p][q] != 0) continue;
    x->cells[p][q] = row + UINT64_C(1);
    x->placed[i - 1]++;
    return;
  }
  if (x->in_serial[p] == x->serial[p]) x->overflown = true;
  else x->cells[p][x->slots[p] + x->in_serial[p]++] = row + UINT64_C(1);
}

static struct plain_memory plain_hierarchical(const struct ss_hash_memory *m, const uint32_t *rows, uint64_t count) {
  struct plain_memory x = {0};
  for (uint32_t p = 0; p < m->parts; p++) {
    x.slots[p] = (p + 1) * m->parallel_slots / m->parts - p * m->parallel_slots / m->parts;
    x.serial[p] = (p + 1) * m->serial_slots / m->parts - p * m->serial_slots / m->parts;
    x.cells[p] = calloc(x.slots[p] + x.serial[p] + 1, sizeof *x.cells[p]);
  }
  for (uint64_t i = 0; i < count; i++) plain_insert(&x, m, rows[i]);
  return x;
}

static void check_hierarchical(const struct ss_hash_memory *m, const struct plain_memory *x, const uint32_t *out,
                               const uint64_t *offsets, const struct ss_hash_tally *tally) {
  uint64_t n = 0, serial = 0, fullest = 0;
  for (uint32_t p = 0; p < m->parts; p++) {
    assert_int_equal(offsets[p], n);
    for (uint64_t q = 0; q < x->slots[p] + x->serial[p]; q++)
      if (x->cells[p][q]) assert_int_equal(out[n++], x->cells[p][q] - 1);
    serial += x->in_serial[p];
    if (x->in_serial[p] > fullest) fullest = x->in_serial[p];
  }
  assert_int_equal(offsets[m->parts], n);
  assert_true(tally->serial == serial && tally->serial_fullest == fullest);
  assert_memory_equal(tally->placed, x->placed, sizeof x->placed);
}

static void hierarchical_once(uint64_t seed, uint64_t count, uint32_t *overflows) {
  struct dice d = {.seed = seed};
  struct ss_error error;
  struct ss_hash_memory m = ss_hash_memory_zen(dice_between(&d, 1, 16), count);
  struct ss_hash_tally tally;
  if (dice_one_in(&d, 2)) {
    m.seed = seed, m.probes = dice_below(&d, SS_HASH_PROBES + 1);
    m.parallel_slots = dice_below(&d, 3 * (uint32_t)count + 1),
    m.serial_slots = dice_below(&d, 2 * (uint32_t)count + 1);
  }
  uint32_t *rows = shuffled_rows(&d, count), *out = calloc(count + 1, sizeof *out);
  uint64_t offsets[17];
  struct plain_memory x = plain_hierarchical(&m, rows, count);
  use_threads(seed);
  if (ss_hash_hierarchical(&m, &(struct ss_hash_input){.rows = rows, .count = count},
                           &(struct ss_hash_output){.rows = out, .offsets = offsets}, &tally, &error)) {
    assert_false(x.overflown);
    check_hierarchical(&m, &x, out, offsets, &tally);
  } else {
    assert_true(x.overflown);
    assert_int_equal(error.status, SS_BAD_INPUT);
    assert_non_null(strstr(error.text, "serial memory"));
    ++*overflows;
  }
  for (uint32_t p = 0; p < m.parts; p++) free(x.cells[p]);
  free(rows);
  free(out);
}

/* MurmurHash3_x86_32 of a row as four little-endian bytes: ZEN's hash (§4), where ours is XXH64. */
static uint32_t murmur(uint32_t row, uint32_t seed) {
  uint32_t k = row * 0xcc9e2d51, h = seed;
  k = (k << 15 | k >> 17) * 0x1b873593;
  h ^= k;
  h = (h << 13 | h >> 19) * 5 + 0xe6546b64;
  h ^= 4;
  h = (h ^ h >> 16) * 0x85ebca6b;
  h = (h ^ h >> 13) * 0xc2b2ae35;
  return h ^ h >> 16;
}

/* Row i of a table's non-zero ones: spread at random, all at the front, every so many-th, or ever thinner. */
static uint32_t row_of(struct dice *d, uint32_t table, uint32_t i) {
  switch (table) {
  case 0: return i * 512 + dice_below(d, 512);
  case 1: return i;
  case 2: return i * 1024;
  default: return i + (uint32_t)((uint64_t)i * i / 64);
  }
}

/* How far the fullest of n parts of m rows is above the mean, against sqrt(n ln n / m) of it: by h0, and by Murmur.
 */
static void toss(uint64_t seed, uint32_t n, uint32_t m, double excess[2]) {
  struct dice d = {.seed = seed};
  uint32_t *count[2] = {calloc(n, sizeof **count), calloc(n, sizeof **count)};
  for (uint32_t i = 0; i < m; i++) {
    const uint32_t row = row_of(&d, seed % 4, i);
    count[0][ss_hash_part(row, seed, n)]++;
    count[1][(uint64_t)murmur(row, (uint32_t)seed) * n >> 32]++;
  }
  for (int h = 0; h < 2; h++) {
    uint32_t most = 0;
    for (uint32_t p = 0; p < n; p++) most = count[h][p] > most ? count[h][p] : most;
    excess[h] = ((double)most * n / m - 1) / sqrt(n * log(n) / m);
    free(count[h]);
  }
}

/* ZEN's Theorem 2, of Push with m = |G|d rows of a rank and of Pull with the union's: an imbalance of 1 +
 * Theta(sqrt(n log n / m)) in all but a share 1/n of cases. By Chernoff's bound of each part, and n of them, its
 * constant is at most 2; by Raab and Steger it tends to sqrt(2). Neither the table nor the hash matters. */
TEST(balance_scales_as_theorem_2_says) {
  assert_int_equal(murmur(0x87654321, 0), 0xf55b516b); /* published test vectors */
  assert_int_equal(murmur(0x87654321, 0x5082edee), 0x2362f9de);
  for (int sparse = 0; sparse < 2; sparse++) {
    double sum[2] = {0}, beyond[2] = {0}, allowed = 0, excess[2];
    for (uint64_t seed = 1; seed <= CASES(400); seed++) {
      struct dice d = {.seed = seed};
      const uint32_t n = dice_between(&d, 4, 128), each = sparse ? 40 : 400;
      toss(seed, n, n * dice_between(&d, each, 2 * each), excess);
      allowed += 1.0 / n;
      for (int h = 0; h < 2; h++) sum[h] += excess[h], beyond[h] += excess[h] > 2;
    }
    for (int h = 0; h < 2; h++) {
      assert_true(sum[h] / CASES(400) > 0.9 && sum[h] / CASES(400) < sqrt(2));
      assert_true(beyond[h] <= allowed);
    }
    assert_true(fabs(sum[0] - sum[1]) / CASES(400) < 0.1);
  }
}

TEST(hierarchical_hashing_is_algorithm_1) {
  uint32_t overflows = 0;
  for (uint64_t seed = 1; seed <= CASES(400); seed++) {
    struct dice d = {.seed = seed};
    hierarchical_once(seed, random_count(&d), &overflows);
  }
  assert_in_range(overflows, CASES(400) / 20, CASES(400) - CASES(400) / 20); /* both ends are tried */
  overflows = 0;
  for (uint64_t seed = 1; seed <= 8; seed++) hierarchical_once(seed, 60000 + seed * 7, &overflows);
  assert_in_range(overflows, 0, 5);
}

/* What sequential probing leaves over goes down by the factor that docs/model.md works out: about load^k / (k+1). */
TEST(few_rows_go_to_serial_memory) {
  enum { N = 400000 };
  struct dice d = {.seed = 5};
  struct ss_error error;
  struct ss_hash_tally tally;
  uint32_t *rows = shuffled_rows(&d, N), *out = calloc(N, sizeof *out);
  uint64_t offsets[17];
  struct ss_hash_memory m = ss_hash_memory_zen(16, N);
  for (uint32_t probes = 1; probes <= 4; probes++) {
    m.probes = probes;
    m.serial_slots = N;
    assert_true(ss_hash_hierarchical(&m, &(struct ss_hash_input){.rows = rows, .count = N},
                                     &(struct ss_hash_output){.rows = out, .offsets = offsets}, &tally, &error));
    const double left = (double)tally.serial / N, leading = pow(0.5, probes) / (probes + 1);
    assert_true(left < leading && left > 0.8 * leading); /* less: rows in serial memory fill no slot */
    assert_int_equal(offsets[16], N);
  }
  free(rows);
  free(out);
}

TEST(hierarchical_hashing_says_what_it_cannot) {
  struct ss_error error;
  struct ss_hash_tally tally;
  const uint32_t rows[] = {1, 2, UINT32_MAX};
  uint32_t out[3];
  uint64_t offsets[2];
  struct ss_hash_memory m = {.seed = 1, .parts = 1, .probes = 2, .parallel_slots = 1, .serial_slots = 1};
  assert_true(ss_hash_hierarchical(&m, &(struct ss_hash_input){.rows = rows, .count = 2},
                                   &(struct ss_hash_output){.rows = out, .offsets = offsets}, &tally, &error));
  m.serial_slots = 0;
  assert_false(ss_hash_hierarchical(&m, &(struct ss_hash_input){.rows = rows, .count = 2},
                                    &(struct ss_hash_output){.rows = out, .offsets = offsets}, &tally, &error));
  assert_string_equal(error.text, "hierarchical hashing: the 2 rows of partition 0 overflow its 0 slots of serial "
                                  "memory (behind 1 parallel slots and 2 probes)");
  m.parallel_slots = 100;
  assert_false(ss_hash_hierarchical(&m, &(struct ss_hash_input){.rows = rows, .count = 3},
                                    &(struct ss_hash_output){.rows = out, .offsets = offsets}, &tally,
                                    &error)); /* an id that cannot be stored */
  assert_int_equal(error.status, SS_UNPROVEN);
  m.probes = SS_HASH_PROBES + 1;
  assert_false(ss_hash_hierarchical(&m, &(struct ss_hash_input){.rows = rows, .count = 2},
                                    &(struct ss_hash_output){.rows = out, .offsets = offsets}, &tally, &error));
  assert_int_equal(error.status, SS_BAD_INPUT);
  assert_false(ss_hash_partition(&(struct ss_hash_input){.rows = rows, .count = 2}, 1, SS_HASH_PARTS + 1,
                                 &(struct ss_hash_output){.rows = out, .offsets = offsets}, &error));
  assert_int_equal(error.status, SS_BAD_INPUT);
}

static void lossy_once(uint64_t seed) {
  struct dice d = {.seed = seed};
  struct ss_error error;
  const uint64_t count = random_count(&d), slots = dice_below(&d, 400);
  const uint32_t parts = dice_between(&d, 1, 16);
  uint32_t *rows = shuffled_rows(&d, count), *out = calloc(count + 1, sizeof *out);
  uint64_t offsets[17], *cells = calloc(parts * slots + 1, sizeof *cells), n = 0;
  for (uint64_t i = 0; slots > 0 && i < count; i++)
    cells[ss_below(ss_hash_row(rows[i], seed), parts * slots)] = rows[i] + UINT64_C(1);
  assert_true(ss_hash_lossy(&(struct ss_hash_memory){.seed = seed, .parts = parts, .parallel_slots = slots},
                            &(struct ss_hash_input){.rows = rows, .count = count},
                            &(struct ss_hash_output){.rows = out, .offsets = offsets}, &error));
  for (uint64_t q = 0; q < parts * slots; q++) {
    if (q % slots == 0) assert_int_equal(offsets[q / slots], n);
    if (cells[q]) assert_int_equal(out[n++], cells[q] - 1);
  }
  assert_int_equal(offsets[parts], n);
  free(rows);
  free(out);
  free(cells);
}

TEST(the_strawman_loses_what_collides) {
  for (uint64_t seed = 1; seed <= CASES(200); seed++) lossy_once(seed);
  enum { N = 200000 };
  static const double loads[] = {0.1, 0.4};
  struct dice d = {.seed = 1};
  struct ss_error error;
  uint32_t *rows = shuffled_rows(&d, N), *out = calloc(N, sizeof *out);
  uint64_t offsets[17];
  for (uint32_t i = 0; i < COUNT(loads); i++) { /* loss 1 - (1 - e^-load) / load: 4.8% and 17.6% */
    assert_true(ss_hash_lossy(
        &(struct ss_hash_memory){.seed = 1, .parts = 16, .parallel_slots = (uint64_t)(N / loads[i] / 16)},
        &(struct ss_hash_input){.rows = rows, .count = N}, &(struct ss_hash_output){.rows = out, .offsets = offsets},
        &error));
    const double loss = 1 - (double)offsets[16] / N, wanted = 1 - (1 - exp(-loads[i])) / loads[i];
    assert_true(fabs(loss - wanted) < 0.003);
  }
  free(rows);
  free(out);
}

/* --- many keys at once ------------------------------------------------------------------------------------ */

/* What there is for vectors, and what there is without, against one key after the other. */
static void batch_once(struct dice *d, uint64_t count) {
  enum { MOST = 70 };
  uint64_t keys[MOST] = {0}, places[MOST + 1], plain[MOST + 1], cells[MOST + 1], plain_cells[MOST + 1];
  const uint64_t seed = dice_one_in(d, 4) ? UINT64_MAX - dice_below(d, 2) : dice_next(d);
  const uint64_t limits[] = {1, 2, 1 + dice_below(d, 1000), UINT32_MAX, UINT64_C(1) << 32, dice_next(d) >> 2 | 1};
  const uint64_t n = limits[dice_below(d, 6)], guard = UINT64_C(0x123456789abcdef);
  for (uint64_t i = 0; i < count; i++) keys[i] = dice_one_in(d, 2) ? dice_next(d) : dice_below(d, 100);
  memcpy(places, keys, sizeof keys);
  places[count] = plain[count] = cells[count] = plain_cells[count] = guard;
  ss_hash_indices(places, count, seed, n, places);
  ss_hash_indices_plain(keys, count, seed, n, plain);
  ss_hash_cells(keys, count, seed, n, cells);
  ss_hash_cells_plain(keys, count, seed, n, plain_cells);
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t hash = XXH64(&keys[i], 8, seed), sign = XXH64(&keys[i], 8, seed + 1) % 2;
    const uint64_t place = (uint64_t)(((unsigned __int128)hash * n) >> 64);
    assert_true(places[i] == place && plain[i] == place);
    assert_true(cells[i] == 2 * place + sign && plain_cells[i] == cells[i]);
  }
  assert_true(places[count] == guard && plain[count] == guard && cells[count] == guard &&
              plain_cells[count] == guard);
}

TEST(many_keys_hash_as_one) {
  struct dice d = {.seed = 1};
  for (uint32_t i = 0; i < CASES(2000); i++) batch_once(&d, dice_below(&d, 70));
}

/* --- sketches -------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  const double *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

struct sketched {
  struct ss_sketch shape;
  struct ss_sketch_rows rows;
  int64_t *values, *buckets, *wanted;
  double *decoded;
};

static struct sketched random_sketch(struct dice *d, uint64_t elements) {
  struct sketched s = {.rows.width = dice_one_in(d, 2) ? 1 : dice_between(d, 1, 300)};
  s.rows.count = elements / s.rows.width;
  s.shape.hashes = dice_between(d, 1, dice_one_in(d, 20) ? SS_SKETCH_HASHES : 5);
  s.shape.buckets = 1 + dice_below(d, (uint32_t)elements + 1);
  s.shape.seed = dice_one_in(d, 5) ? UINT64_MAX - 1 : dice_next(d);
  const uint64_t n = s.rows.count * s.rows.width, size = s.shape.hashes * s.shape.buckets;
  s.rows.rows = shuffled_rows(d, s.rows.count);
  s.values = calloc(n + 1, sizeof *s.values);
  s.decoded = calloc(n + 1, sizeof *s.decoded);
  s.buckets = calloc(size, sizeof *s.buckets);
  s.wanted = calloc(size, sizeof *s.wanted);
  for (uint64_t i = 0; i < n; i++) s.values[i] = (int64_t)dice_next(d) >> 24; /* sums stay exact in double */
  for (uint64_t i = 0; i < size; i++) s.buckets[i] = s.wanted[i] = (int64_t)dice_below(d, 1000);
  return s;
}

static void sketch_free(struct sketched *s) {
  free((void *)(uintptr_t)s->rows.rows);
  free(s->values), free(s->decoded), free(s->buckets), free(s->wanted);
}

/* Sketch row j's bucket of the element at a flat position, and its sign. */
static uint64_t plain_bucket(const struct sketched *s, uint64_t position, uint64_t j, int64_t *sign) {
  const uint64_t width = s->rows.width, element = s->rows.rows[position / width] * width + position % width;
  const uint64_t hash = XXH64(&element, 8, s->shape.seed + 2 * j);
  *sign = XXH64(&element, 8, s->shape.seed + 2 * j + 1) % 2 == 0 ? 1 : -1;
  return j * s->shape.buckets + (uint64_t)(((unsigned __int128)hash * s->shape.buckets) >> 64);
}

static void sketch_once(uint64_t seed, uint64_t elements) {
  struct dice d = {.seed = seed};
  struct sketched s = random_sketch(&d, elements);
  const uint64_t n = s.rows.count * s.rows.width, r = s.shape.hashes;
  int64_t sign;
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t j = 0; j < r; j++) {
      const uint64_t at = plain_bucket(&s, i, j, &sign);
      s.wanted[at] += sign * s.values[i];
    }
  use_threads(seed);
  ss_sketch_add(&s.shape, &s.rows, s.values, s.buckets);
  if (memcmp(s.buckets, s.wanted, r * s.shape.buckets * sizeof *s.buckets) != 0)
    fail_msg("seed %llu: another sketch", (unsigned long long)seed);
  ss_sketch_decode(&s.shape, &s.rows, s.buckets, s.decoded);
  for (uint64_t i = 0; i < n; i++) {
    double found[SS_SKETCH_HASHES] = {0};
    for (uint64_t j = 0; j < r; j++) {
      const uint64_t at = plain_bucket(&s, i, j, &sign);
      found[j] = (double)(sign * s.wanted[at]);
    }
    qsort(found, r, sizeof *found, by_value);
    if (s.decoded[i] != (found[(r - 1) / 2] + found[r / 2]) / 2)
      fail_msg("seed %llu: element %llu is decoded as %g", (unsigned long long)seed, (unsigned long long)i,
               s.decoded[i]);
  }
  sketch_free(&s);
}

TEST(sketches_are_sums_by_hash) {
  for (uint64_t seed = 1; seed <= CASES(300); seed++) {
    struct dice d = {.seed = seed};
    sketch_once(seed, random_count(&d));
  }
  for (uint64_t seed = 1; seed <= 24; seed++) sketch_once(seed, 60000 + 1000 * seed); /* in parallel */
  for (uint64_t seed = 1; seed <= 4; seed++) sketch_once(seed, 3300000);              /* in several rounds */
}

/* --- sets ------------------------------------------------------------------------------------------------ */

/* Two chunks over the same range: alike, of very different lengths, empty, equal. */
static void two_chunks(struct dice *d, struct ss_arena *arena, enum kind kind, struct ss_chunk *a,
                       struct ss_chunk *b) {
  *a = value_chunk(d, arena, dice_below(d, 100), random_count(d), kind, dice_one_in(d, 2));
  *b = value_chunk(d, arena, a->low, dice_one_in(d, 2) ? random_count(d) : dice_below(d, 20), kind, false);
  if (dice_one_in(d, 8)) *b = *a;
  if (dice_one_in(d, 2)) return;
  const struct ss_chunk c = *a; /* the other way round */
  *a = *b, *b = c;
}

static void sets_once(uint64_t seed, struct ss_arena *arena) {
  struct dice d = {.seed = seed};
  struct ss_error error;
  struct ss_chunk a, b, got;
  two_chunks(&d, arena, seed % KINDS, &a, &b);
  struct entry *left = malloc((a.count + 1) * sizeof *left);
  uint64_t common = 0, kept = 0;
  for (uint64_t i = 0, j = 0; i < a.count; i++) {
    while (j < b.count && b.rows[j] < a.rows[i]) j++;
    if (j < b.count && b.rows[j] == a.rows[i]) common++;
    else left[kept++] = (struct entry){0, i};
  }
  if (ss_rows_common(a.rows, a.count, b.rows, b.count) != common)
    fail_msg("seed %llu: another number of common rows", (unsigned long long)seed);
  assert_true(ss_chunk_without(&a, &b, arena, &got, &error));
  check_entries(&got, &a, left, kept, seed);
  free(left);
}

TEST(sets_equal_those_of_a_plain_loop) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint64_t seed = 1; seed <= CASES(1500); seed++) {
    sets_once(seed, &arena);
    ss_arena_reset(&arena);
  }
}

/* --- values that lie dense ------------------------------------------------------------------------------- */

enum { RANGE = 40 };

/* From a few of the rows [low, high) to all of them. */
static struct ss_chunk some_of(struct dice *d, struct ss_arena *arena, uint64_t low, uint64_t high) {
  uint32_t *rows = ss_arena_alloc(arena, RANGE, sizeof *rows);
  int64_t *units = ss_arena_alloc(arena, RANGE, sizeof *units);
  const uint64_t most = dice_below(d, 5);
  uint64_t n = 0;
  for (uint64_t row = low; row < high; row++) {
    if (dice_below(d, 4) >= most) continue;
    rows[n] = (uint32_t)row;
    units[n++] = (int64_t)dice_below(d, 9) - 4;
  }
  return ss_chunk_of_values(rows, units, n, low, high);
}

static void add_by_row(const struct ss_chunk *c, uint64_t low, int64_t values[RANGE], bool there[RANGE]) {
  for (uint64_t i = 0; i < c->count; i++) {
    values[c->rows[i] - low] += c->units[i];
    there[c->rows[i] - low] = true;
  }
}

/* The chunk has those values, all rows where more than half are there, else these alone. */
static void check_held(const struct ss_chunk *got, uint64_t low, uint64_t n, const int64_t *values, const bool *there,
                       bool dense) {
  uint64_t at = 0;
  for (uint64_t i = 0; i < n; i++) {
    if (!dense && !there[i]) continue;
    assert_true(at < got->count);
    assert_int_equal(got->rows[at], low + i);
    assert_int_equal(got->units[at++], values[i]);
  }
  assert_int_equal(at, got->count);
}

static uint64_t count_of(const bool *there, uint64_t n) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < n; i++) count += there[i];
  return count;
}

/* Sums, rests and gathers against arrays of elements; what runs is counted as what it is. */
static void held_once(struct dice *d, struct ss_arena *arena, struct ss_sum_scratch *scratch) {
  const uint32_t low = dice_below(d, 50), n = dice_between(d, 1, RANGE);
  struct ss_kernel_work ran[SS_KERNELS] = {{0}};
  struct ss_chunk part[3], got;
  struct ss_error error;
  int64_t values[RANGE] = {0};
  bool there[RANGE] = {false}, dense = false;
  uint64_t listed = 0;
  for (uint32_t i = 0; i < 3; i++) {
    const uint64_t from = i < 2 ? 0 : dice_below(d, n);
    part[i] = some_of(d, arena, low + from, low + n);
    dense = dense || 2 * part[i].count > n - from;
    listed += part[i].count;
    add_by_row(&part[i], low, values, there);
  }
  ss_kernel_counts = ran;
  assert_true(ss_sum_held(&(struct ss_operands){part, 3, low, low + n}, arena, scratch, &got, &error));
  check_held(&got, low, n, values, there, dense);
  assert_int_equal(ran[SS_KERNEL_DENSE_ADD].elements, dense ? n : 0);
  assert_int_equal(ran[SS_KERNEL_MERGE_SUM].elements, dense ? 0 : listed);

  const struct ss_chunk sum = got, *sent = &part[0];
  for (uint64_t i = 0; dense && i < n; i++) there[i] = true;
  for (uint64_t i = 0; i < sent->count; i++) values[sent->rows[i] - low] = 0, there[sent->rows[i] - low] = false;
  assert_true(ss_chunk_rest(&sum, sent, arena, &got, &error));
  check_held(&got, low, n, values, there, 2 * count_of(there, n) > n);
  assert_int_equal(ran[SS_KERNEL_PACK].elements, sum.count);
  if (ss_chunk_is_full(&sum)) {
    assert_true(ss_chunk_gather(&sum, sent, arena, &got, &error));
    assert_int_equal(got.count, sent->count);
    for (uint64_t i = 0; i < got.count; i++) assert_int_equal(got.units[i], sum.units[sent->rows[i] - low]);
    assert_int_equal(ran[SS_KERNEL_PACK].elements, sum.count + sent->count);
  }
  ss_kernel_counts = NULL;
}

TEST(held_values_are_those_of_arrays) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  AUTO(ss_sum_scratch_free) struct ss_sum_scratch scratch = {0};
  struct dice d = {.seed = 39};
  for (uint64_t i = 0; i < CASES(4000); i++) {
    held_once(&d, &arena, &scratch);
    ss_arena_reset(&arena);
  }
}

/* What is timed lists each row in each operand with the density, on its own: of 4 operands with a tenth each the sum
 * has 1 - 0.9^4 of the rows. A sum reads 8 bytes a row and operand, and writes 8 a row. Within 5 sigma. */
TEST(timed_operands_differ) {
  enum { ROWS = 200000, OPERANDS = 4 };
  const struct ss_timing timing = {.device = &ss_kernels_cpu, .rows = ROWS, .density = 0.1, .width = 1, .repeats = 1};
  struct ss_timed timed[SS_KERNELS];
  struct ss_error error = {0};
  const double whole = 1 - pow(0.9, OPERANDS), pairs = OPERANDS * 0.1 + whole;
  if (!ss_time_kernels(&timing, 1u << SS_KERNEL_MERGE_SUM, timed, &error)) fail_msg("%s", error.text);
  const double deviation = sqrt(OPERANDS * 0.09 / ROWS) + sqrt(whole * (1 - whole) / ROWS);
  assert_true(fabs(timed[SS_KERNEL_MERGE_SUM].traffic.moved / (8.0 * ROWS) - pairs) < 5 * deviation);
}

/* Rows of three elements: pack reads 4 + 12 B a row, and writes as much; a bitmap has a bit a row beside its values.
 * Of sixteen hashed parts one is encoded, whose decoder also reads its domain's rows. */
TEST(traffic_of_wide_rows_is_that_of_their_values) {
  enum { ROWS = 4096, WIDTH = 3 };
  const struct ss_timing timing = {
      .device = &ss_kernels_cpu, .rows = ROWS, .density = 0.25, .width = WIDTH, .repeats = 1};
  struct ss_timed timed[SS_KERNELS];
  struct ss_error error = {0};
  if (!ss_time_kernels(&timing, SS_WIDE_KERNELS, timed, &error)) fail_msg("%s", error.text);
#define MOVED(kernel) ((uint64_t)timed[SS_KERNEL_##kernel].traffic.moved)
  const uint64_t rows = (uint64_t)timed[SS_KERNEL_PACK].traffic.elements;
  const uint64_t hashed = (uint64_t)timed[SS_KERNEL_HASH_BITMAP_ENCODE].traffic.elements;
  assert_in_range(rows, ROWS / 4 - 150, ROWS / 4 + 150);
  assert_in_range(hashed, rows / 32, rows / 8);
  assert_int_equal(MOVED(PACK), 2 * (4 + 4 * WIDTH) * rows);
  assert_int_equal(MOVED(BITMAP_ENCODE), (4 + 8 * WIDTH) * rows + ROWS / 8);
  assert_int_equal(MOVED(BITMAP_DECODE), (4 + 8 * WIDTH) * rows + ROWS / 8);
  assert_int_equal(MOVED(HASH_BITMAP_DECODE) - MOVED(HASH_BITMAP_ENCODE), 4 * hashed);
#undef MOVED
}

/* Until the clock has moved. */
static void spin(void) {
  struct timespec from, now;
  (void)clock_gettime(CLOCK_MONOTONIC, &from);
  do (void)clock_gettime(CLOCK_MONOTONIC, &now);
  while (now.tv_nsec == from.tv_nsec && now.tv_sec == from.tv_sec);
}

static void spin_for(double seconds, enum ss_kernel_kind kernel) {
  SS_KERNEL_TIMED(kernel);
  struct timespec from, now;
  (void)clock_gettime(CLOCK_MONOTONIC, &from);
  do (void)clock_gettime(CLOCK_MONOTONIC, &now);
  while ((double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) * 1e-9 < seconds);
}

static void spin_within_a_sum(double seconds) {
  SS_KERNEL_TIMED(SS_KERNEL_MERGE_SUM);
  spin_for(seconds, SS_KERNEL_PACK);
  const struct ss_aside aside = ss_aside_begin();
  spin_for(seconds, SS_KERNEL_TOP_K); /* is set aside: nobody's */
  ss_aside_end(&aside);
  const struct ss_kernel_paused paused = ss_kernel_pause();
  spin_for(seconds, SS_KERNEL_TOP_K); /* stands for a part of the sum */
  ss_kernel_resume(paused);
}

/* However slow the machine: no span is shorter than what spins in it, and the whole is the sum of its parts. */
TEST(kernels_within_kernels_are_timed_once) {
  enum { MICROSECONDS = 500 };
  const double spun = MICROSECONDS * 1e-6;
  double seconds[SS_KERNELS] = {0}, aside = 0;
  struct timespec from, until;
  spin_within_a_sum(spun); /* nobody asks */
  ss_kernel_seconds = seconds;
  ss_seconds_aside = &aside;
  (void)clock_gettime(CLOCK_MONOTONIC, &from);
  spin_within_a_sum(spun);
  (void)clock_gettime(CLOCK_MONOTONIC, &until);
  ss_kernel_seconds = NULL;
  ss_seconds_aside = NULL;
  const double all = (double)(until.tv_sec - from.tv_sec) + (double)(until.tv_nsec - from.tv_nsec) * 1e-9;
  assert_true(seconds[SS_KERNEL_PACK] >= spun && aside >= spun && seconds[SS_KERNEL_MERGE_SUM] >= spun);
  assert_true(seconds[SS_KERNEL_PACK] + aside + seconds[SS_KERNEL_MERGE_SUM] <= all);
  assert_true(seconds[SS_KERNEL_TOP_K] <= 0);
}

/* What is set aside is neither counted nor timed, and what is set aside in it is not timed twice. */
TEST(what_is_set_aside_counts_nowhere) {
  struct ss_kernel_work counts[SS_KERNELS] = {{0}};
  double seconds = 0;
  ss_kernel_counts = counts;
  ss_seconds_aside = &seconds;
  ss_kernel_ran(SS_KERNEL_PACK, 2);
  const struct ss_aside aside = ss_aside_begin();
  ss_kernel_ran(SS_KERNEL_PACK, 2);
  const struct ss_aside within = ss_aside_begin();
  spin();
  ss_aside_end(&within);
  const double inner = seconds;
  ss_kernel_ran(SS_KERNEL_PACK, 2);
  ss_aside_end(&aside);
  ss_kernel_ran(SS_KERNEL_PACK, 3);
  const bool back = ss_seconds_aside == &seconds;
  ss_kernel_counts = NULL;
  ss_seconds_aside = NULL;
  assert_true(back && inner < 1e-12 && seconds > 0);
  assert_int_equal(counts[SS_KERNEL_PACK].calls, 2);
  assert_int_equal(counts[SS_KERNEL_PACK].elements, 5);
}
/* SPDX-License-Identifier: Apache-2.0 */
