/* Statistics against a slow reference that works on one bool per row, and coalescing against qsort. */
#include "listed.h"

#include "base/memory.h"
#include "base/random.h"
#include "tensor/coalesce.h"
#include "trace/measure/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Declared here because Clang without its own OpenMP package has no header for it. */
void omp_set_num_threads(int threads);

static void *need(size_t count, size_t size) {
  void *memory = ss_alloc_zero(count, size);
  assert_non_null(memory);
  return memory;
}

/* --- coalescing ------------------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static uint64_t coalesce_slowly(const uint32_t *rows, uint64_t count, uint32_t *out) {
  uint64_t kept = 0;
  if (count) memcpy(out, rows, count * sizeof *out);
  qsort(out, count, sizeof *out, compare_ids);
  for (uint64_t i = 0; i < count; i++)
    if (i == 0 || out[i] != out[i - 1]) out[kept++] = out[i];
  return kept;
}

static void check_coalesce(const uint32_t *rows, uint64_t count, uint64_t range,
                           struct ss_coalesce_scratch *scratch) {
  uint32_t *fast = need(count, sizeof *fast), *slow = need(count, sizeof *slow);
  assert_true(ss_coalesce_reserve(scratch, count, range));
  const uint64_t found = ss_coalesce(rows, count, range, fast, scratch);
  assert_int_equal(found, coalesce_slowly(rows, count, slow));
  if (found) assert_memory_equal(fast, slow, found * sizeof *fast);
  assert_int_equal(ss_increasing(rows, count),
                   found == count && (!count || memcmp(rows, slow, count * sizeof *rows) == 0));
  assert_true(ss_increasing(fast, found));
  free(fast);
  free(slow);
}

/* Around every turn between insertion, bitset, and radix sort with narrow and wide digits. */
TEST(test_coalesce) {
  static const uint64_t counts[] = {0, 1, 2, 3, 31, 32, 33, 100, 1000, 1024, 1025, 4095, 4096, 20000};
  static const uint64_t ranges[] = {1,          2,
                                    63,         64,
                                    65,         255,
                                    256,        257,
                                    2048,       65536,
                                    1000000,    1 << 22,
                                    1 << 23,    UINT64_C(1) << 31,
                                    UINT32_MAX, UINT64_C(1) << 32};
  struct ss_coalesce_scratch scratch = {0};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
      uint32_t *rows = need(counts[c] + 1, sizeof *rows);
      for (uint64_t i = 0; i < counts[c]; i++) rows[i] = (uint32_t)ss_below(ss_mix(c * 100 + r, i), ranges[r]);
      check_coalesce(rows, counts[c], ranges[r], &scratch);
      qsort(rows, counts[c], sizeof *rows, compare_ids);
      check_coalesce(rows, counts[c], ranges[r], &scratch);
      for (uint64_t i = 0; i < counts[c]; i++) rows[i] = (uint32_t)(ranges[r] - 1);
      check_coalesce(rows, counts[c], ranges[r], &scratch);
      free(rows);
    }
  ss_coalesce_free(&scratch);
}

/* --- random ragged traces --------------------------------------------------------------------------------- */

struct shape {
  uint64_t iterations, rows, longest;
  uint32_t ranks;
  bool sorted; /* every segment strictly increasing */
};

static struct ss_trace *random_trace(struct shape shape, uint64_t seed) {
  const uint64_t segments = shape.iterations * shape.ranks;
  uint64_t *offsets = need(segments + 1, sizeof *offsets);
  uint32_t *ids = need(segments * shape.longest + 1, sizeof *ids);
  for (uint64_t s = 0; s < segments; s++) {
    /* every third segment is empty, the others have any length */
    const uint64_t count = ss_mix(seed, s) % 3 ? ss_below(ss_mix(seed + 1, s), shape.longest + 1) : 0;
    uint32_t *out = ids + offsets[s];
    for (uint64_t i = 0; i < count; i++) {
      const double u = ss_unit(ss_mix(ss_mix(seed + 2, s), i)); /* squared: low rows are popular */
      out[i] = (uint32_t)(u * u * (double)shape.rows);
    }
    uint64_t kept = count;
    if (shape.sorted) kept = coalesce_slowly(out, count, out);
    offsets[s + 1] = offsets[s] + kept;
  }
  const struct ss_tensor tensor = {"T", shape.rows, 3, SS_F16};
  const struct ss_trace_content content = {.iterations = shape.iterations,
                                           .ranks = shape.ranks,
                                           .tensors = 1,
                                           .tensor = &tensor,
                                           .offsets = (const uint64_t *const[]){offsets},
                                           .rows = (const uint32_t *const[]){ids},
                                           .pad_id = -1};
  struct ss_trace *trace;
  struct ss_error error;
  assert_true(ss_trace_build("random", &content, &trace, &error));
  free(offsets);
  free(ids);
  return trace;
}

/* --- the reference ---------------------------------------------------------------------------------------- */

/* has[r][i]: rank r looks up row i in iteration t. */
static bool *sets_of(const struct ss_trace *trace, uint64_t t, uint32_t ranks) {
  const uint64_t rows = ss_trace_tensor(trace, 0)->rows;
  bool *has = need(ranks * rows, sizeof *has);
  for (uint32_t r = 0; r < ranks; r++) {
    const uint64_t count = ss_trace_count(trace, 0, t, r);
    uint32_t *ids = need(count, sizeof *ids);
    ss_trace_rows(trace, 0, t, r, ids);
    for (uint64_t i = 0; i < count; i++) has[r * rows + ids[i]] = true;
    free(ids);
  }
  return has;
}

static uint64_t size_of(const bool *has, uint64_t from, uint64_t to) {
  uint64_t size = 0;
  for (uint64_t i = from; i < to; i++) size += has[i];
  return size;
}

static uint64_t union_of(const bool *has, uint32_t ranks, uint64_t rows) {
  uint64_t size = 0;
  for (uint64_t i = 0; i < rows; i++) {
    bool any = false;
    for (uint32_t r = 0; r < ranks; r++) any = any || has[r * rows + i];
    size += any;
  }
  return size;
}

static uint64_t shared_of(const bool *a, const bool *b, uint64_t rows) {
  uint64_t size = 0;
  for (uint64_t i = 0; i < rows; i++) size += a[i] && b[i];
  return size;
}

struct average {
  double sum, count;
};

static void note(struct average *average, double value) {
  average->sum += value;
  average->count++;
}

static void expect(double found, double wanted, const char *what) {
  if (isnan(found) && isnan(wanted)) return;
  if (!(fabs(found - wanted) <= 1e-12 * fmax(1, fabs(wanted))))
    fail_msg("%s is %.17g, not %.17g", what, found, wanted);
}

static void expect_mean(double found, struct average wanted, const char *what) {
  expect(found, wanted.count > 0 ? wanted.sum / wanted.count : NAN, what);
}

static struct average overlap_of(const bool *has, uint32_t ranks, uint64_t rows) {
  struct average pairs = {0};
  for (uint32_t a = 0; a < ranks; a++)
    for (uint32_t b = a + 1; b < ranks; b++) {
      const uint64_t x = size_of(has + a * rows, 0, rows), y = size_of(has + b * rows, 0, rows);
      if (x && y) note(&pairs, (double)shared_of(has + a * rows, has + b * rows, rows) / (double)(x < y ? x : y));
    }
  return pairs;
}

static struct average skewness_of(const bool *has, uint32_t ranks, uint64_t rows, uint32_t p) {
  struct average mean = {0};
  for (uint32_t r = 0; r < ranks; r++) {
    const bool *mine = has + r * rows;
    double most = 0;
    for (uint64_t j = 0; j < p; j++) {
      const uint64_t low = j * rows / p, high = (j + 1) * rows / p;
      most = fmax(most, (double)size_of(mine, low, high) / (double)(high - low));
    }
    const uint64_t size = size_of(mine, 0, rows);
    if (size) note(&mean, most / ((double)size / (double)rows));
  }
  return mean;
}

/* What the reference sums up. */
struct reference {
  uint64_t rows;
  uint32_t ranks;
  struct average density, overlap, lookups, prior;
  struct average *gamma;    /* [ranks] */
  struct average *skewness; /* [parts] */
};

/* Rows that rank r has and any rank has in `next`; NULL: there is none. */
static uint64_t again_of(const bool *has, const bool *next, uint32_t r, const struct reference *ref) {
  uint64_t again = 0;
  for (uint64_t row = 0; row < ref->rows; row++) {
    bool any = false;
    for (uint32_t other = 0; other < ref->ranks; other++) any = any || next[other * ref->rows + row];
    again += any && has[r * ref->rows + row];
  }
  return again;
}

static void note_iteration(struct reference *ref, const bool *has, const bool *next,
                           const struct ss_tensor_stats *t) {
  const double all = (double)size_of(has, 0, ref->ranks * ref->rows);
  for (uint32_t r = 0; r < ref->ranks; r++) {
    if (next) note(&ref->prior, (double)again_of(has, next, r, ref));
    note(&ref->density, (double)size_of(has + r * ref->rows, 0, ref->rows));
    if (all > 0) note(&ref->gamma[r], (double)union_of(has, r + 1, ref->rows) / (all / ref->ranks));
  }
  const struct average pairs = overlap_of(has, ref->ranks, ref->rows);
  if (pairs.count > 0) note(&ref->overlap, pairs.sum / pairs.count);
  for (size_t p = 0; p < t->parts; p++) {
    const struct average mean = skewness_of(has, ref->ranks, ref->rows, t->part[p]);
    if (mean.count > 0) note(&ref->skewness[p], mean.sum / mean.count);
  }
}

static void compare(const struct ss_tensor_stats *t, const struct reference *ref) {
  expect_mean(t->lookups, ref->lookups, "lookups");
  expect_mean(t->coalesced, ref->density, "coalesced");
  expect_mean(t->density * (double)ref->rows, ref->density, "density");
  expect_mean(t->prior, ref->prior, "prior");
  expect(t->prior_bytes, t->prior * 6, "bytes of prior");
  expect(t->lookups_bytes, t->lookups * 6, "bytes of lookups");
  expect(t->coalesced_bytes, t->coalesced * 6, "bytes of coalesced");
  if (ref->ranks <= 14) expect_mean(t->overlap, ref->overlap, "overlap");
  for (uint32_t r = 0; r < ref->ranks; r++) expect_mean(t->gamma[r], ref->gamma[r], "gamma");
  for (size_t p = 0; p < t->parts; p++) expect_mean(t->skewness[p], ref->skewness[p], "skewness");
}

static void check_stats(const struct ss_trace *trace, struct ss_stats_window window) {
  struct ss_stats *stats;
  struct ss_error error;
  assert_true(ss_trace_stats(trace, window, &stats, &error));
  const struct ss_tensor_stats *t = &stats->tensor[0];
  struct reference ref = {.rows = t->tensor.rows, .ranks = stats->ranks};
  ref.gamma = need(ref.ranks, sizeof *ref.gamma);
  ref.skewness = need(t->parts, sizeof *ref.skewness);
  bool *next = sets_of(trace, stats->first, ref.ranks);
  for (uint64_t i = stats->first; i < stats->end; i++) {
    bool *has = next;
    next = i + 1 < stats->end ? sets_of(trace, i + 1, ref.ranks) : need(ref.ranks * ref.rows, sizeof *next);
    note_iteration(&ref, has, i + 1 < stats->end ? next : NULL, t);
    for (uint32_t r = 0; r < ref.ranks; r++) note(&ref.lookups, (double)ss_trace_count(trace, 0, i, r));
    free(has);
  }
  free(next);
  compare(t, &ref);
  free(ref.gamma);
  free(ref.skewness);
  ss_stats_free(stats);
}

TEST(test_against_reference) {
  static const struct shape shapes[] = {
      {1, 1, 3, 1, false},    {3, 1, 2, 5, false},     {4, 10, 8, 3, false},     {2, 100, 50, 14, false},
      {3, 1000, 40, 7, true}, {5, 333, 200, 4, false}, {2, 40000, 300, 6, true}, {2, 50000, 900, 9, false},
      {3, 7, 5, 33, false},   {2, 5000, 10, 33, true}, {6, 20, 0, 4, false},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (uint64_t seed = 1; seed <= 3; seed++) {
      struct ss_trace *trace = random_trace(shapes[i], seed * 10);
      check_stats(trace, (struct ss_stats_window){0});
      if (shapes[i].iterations > 1) check_stats(trace, (struct ss_stats_window){.first = 1});
      check_stats(trace, (struct ss_stats_window){.end = 1, .ranks = (shapes[i].ranks + 1) / 2});
      ss_trace_close(trace);
    }
}

/* By hand: rows 8, ranks {0,1,2,3} and {3,3,4}, then {3} and {}. */
TEST(test_by_hand) {
  static const uint64_t offsets[5] = {0, 4, 7, 8, 8};
  static const uint32_t ids[8] = {2, 0, 1, 3, 3, 3, 4, 3};
  const struct ss_tensor tensor = {"T", 8, 10, SS_F32};
  const struct ss_trace_content content = {.iterations = 2,
                                           .ranks = 2,
                                           .tensors = 1,
                                           .tensor = &tensor,
                                           .offsets = (const uint64_t *const[]){offsets},
                                           .rows = (const uint32_t *const[]){ids},
                                           .pad_id = -1};
  struct ss_trace *trace;
  struct ss_stats *stats;
  struct ss_error error;
  assert_true(ss_trace_build("hand", &content, &trace, &error));
  assert_true(ss_trace_stats(trace, (struct ss_stats_window){0}, &stats, &error));
  const struct ss_tensor_stats *t = &stats->tensor[0];
  expect(t->lookups, 8. / 4, "lookups");
  expect(t->coalesced, 7. / 4, "coalesced");
  expect(t->density, 7. / 32, "density");
  expect(t->overlap, 1. / 2, "overlap"); /* the second iteration has an empty set */
  expect(t->gamma[0], (4 / 3. + 1 / 0.5) / 2, "gamma(1)");
  expect(t->gamma[1], (5 / 3. + 1 / 0.5) / 2, "gamma(2)");
  assert_int_equal(t->parts, 2);
  assert_int_equal(t->part[1], 2);
  expect(t->skewness[1], ((2 + 1) / 2. + 2) / 2, "skewness(2)");
  expect(t->prior, 2. / 2, "prior"); /* row 3 of both ranks, of the iteration that has a next one */
  expect(t->prior_bytes, 40, "bytes of prior");
  ss_stats_free(stats);
  ss_trace_close(trace);
}

/* With more than 100 pairs a sample stands for all; of equal sets any sample says 1. */
TEST(test_many_pairs) {
  enum { RANKS = 40 };
  uint64_t offsets[RANKS + 1];
  uint32_t ids[RANKS * 2];
  for (uint32_t r = 0; r <= RANKS; r++) offsets[r] = 2 * (uint64_t)r;
  for (uint32_t i = 0; i < RANKS * 2; i++) ids[i] = i % 2 ? 5 : 70;
  const struct ss_tensor tensor = {"T", 100, 1, SS_F32};
  struct ss_trace_content content = {.iterations = 1,
                                     .ranks = RANKS,
                                     .tensors = 1,
                                     .tensor = &tensor,
                                     .offsets = (const uint64_t *const[]){offsets},
                                     .rows = (const uint32_t *const[]){ids},
                                     .pad_id = -1};
  struct ss_trace *trace;
  struct ss_stats *stats;
  struct ss_error error;
  assert_true(ss_trace_build("same", &content, &trace, &error));
  assert_true(ss_trace_stats(trace, (struct ss_stats_window){0}, &stats, &error));
  expect(stats->tensor[0].overlap, 1, "overlap of equal sets");
  ss_stats_free(stats);
  ss_trace_close(trace);
  for (uint32_t i = 0; i < RANKS * 2; i++) ids[i] = i % 2 ? 99 : i / 2; /* one of two shared */
  assert_true(ss_trace_build("half", &content, &trace, &error));
  assert_true(ss_trace_stats(trace, (struct ss_stats_window){0}, &stats, &error));
  expect(stats->tensor[0].overlap, 0.5, "overlap of half-equal sets");
  ss_stats_free(stats);
  ss_trace_close(trace);
}

TEST(test_threads) {
  struct ss_trace *trace = random_trace((struct shape){3, 300000, 5000, 20, false}, 5);
  struct ss_stats *stats[3];
  struct ss_error error;
  for (int i = 0; i < 3; i++) {
    omp_set_num_threads(1 + 2 * i);
    assert_true(ss_trace_stats(trace, (struct ss_stats_window){0}, &stats[i], &error));
  }
  for (int i = 1; i < 3; i++) {
    const struct ss_tensor_stats *a = &stats[0]->tensor[0], *b = &stats[i]->tensor[0];
    assert_true(a->overlap == b->overlap && a->prior == b->prior && a->coalesced == b->coalesced);
    assert_memory_equal(a->gamma, b->gamma, 20 * sizeof *a->gamma);
    assert_memory_equal(a->skewness, b->skewness, a->parts * sizeof *a->skewness);
  }
  for (int i = 0; i < 3; i++) ss_stats_free(stats[i]);
  ss_trace_close(trace);
}

TEST(test_bad_window) {
  struct ss_trace *trace = random_trace((struct shape){3, 10, 5, 4, false}, 5);
  static const struct ss_stats_window windows[] = {
      {.end = 4}, {.first = 3}, {.first = 2, .end = 1}, {.first = 1, .end = 1}, {.ranks = 5}};
  struct ss_stats *stats;
  struct ss_error error;
  for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
    assert_false(ss_trace_stats(trace, windows[i], &stats, &error));
    assert_int_equal(error.status, SS_BAD_INPUT);
  }
  ss_trace_close(trace);
}
/* SPDX-License-Identifier: Apache-2.0 */
