#include "trace/measure/rank_sets.h"

#include "tensor/coalesce.h"

/* One iteration being loaded. */
struct load {
  struct ss_rank_sets *sets;
  const struct ss_trace *trace;
  size_t tensor;
  uint64_t iteration;
};

bool ss_rank_sets_init(struct ss_rank_sets *sets, uint32_t ranks) {
  *sets = (struct ss_rank_sets){.ranks = ranks};
  if (ss_take(&sets->arena, sets->list, ranks) && ss_take(&sets->arena, sets->size, ranks) &&
      ss_take(&sets->arena, sets->offset, ranks))
    return true;
  ss_rank_sets_free(sets);
  return false;
}

void ss_rank_sets_free(struct ss_rank_sets *sets) {
  ss_arena_free(&sets->arena);
  free(sets->copies);
  *sets = (struct ss_rank_sets){0};
}

/* Takes the lists that are sets already; the others' stay NULL. */
static void find_sorted(const struct load *load) {
  struct ss_rank_sets *sets = load->sets;
#pragma omp parallel for schedule(dynamic)
  for (uint32_t r = 0; r < sets->ranks; r++) {
    const uint64_t count = ss_trace_count(load->trace, load->tensor, load->iteration, r);
    const uint32_t *rows = ss_trace_rows_mapped(load->trace, load->tensor, load->iteration, r);
    sets->list[r] = rows && ss_increasing(rows, count) ? rows : NULL;
    sets->size[r] = count;
  }
}

/* Gives each remaining list room for as many ids as it has lookups; *longest is the longest of them. */
static bool allocate(struct ss_rank_sets *sets, uint64_t *longest) {
  uint64_t capacity = 0;
  *longest = 0;
  for (uint32_t r = 0; r < sets->ranks; r++) {
    sets->offset[r] = capacity;
    if (sets->list[r]) continue;
    capacity += sets->size[r];
    *longest = sets->size[r] > *longest ? sets->size[r] : *longest;
  }
  if (capacity <= sets->capacity && sets->copies) return true;
  free(sets->copies);
  sets->copies = ss_alloc(capacity, sizeof *sets->copies);
  sets->capacity = sets->copies ? capacity : 0;
  return sets->copies != NULL;
}

static void coalesce_one(const struct load *load, uint32_t r, uint32_t *unpacked,
                         struct ss_coalesce_scratch *scratch) {
  struct ss_rank_sets *sets = load->sets;
  const uint64_t range = ss_trace_tensor(load->trace, load->tensor)->rows;
  const uint32_t *rows = ss_trace_rows_mapped(load->trace, load->tensor, load->iteration, r);
  if (!rows) {
    ss_trace_rows(load->trace, load->tensor, load->iteration, r, unpacked);
    rows = unpacked;
  }
  uint32_t *out = sets->copies + sets->offset[r];
  sets->size[r] = ss_coalesce(rows, sets->size[r], range, out, scratch);
  sets->list[r] = out;
}

static bool coalesce_rest(const struct load *load, uint64_t longest) {
  struct ss_rank_sets *sets = load->sets;
  const uint64_t range = ss_trace_tensor(load->trace, load->tensor)->rows;
  bool good = true;
#pragma omp parallel reduction(&& : good)
  {
    struct ss_coalesce_scratch scratch = {0};
    uint32_t *unpacked = ss_alloc(longest, sizeof *unpacked);
    good = unpacked && ss_coalesce_reserve(&scratch, longest, range);
#pragma omp for schedule(dynamic)
    for (uint32_t r = 0; r < sets->ranks; r++)
      if (good && !sets->list[r]) coalesce_one(load, r, unpacked, &scratch);
    free(unpacked);
    ss_coalesce_free(&scratch);
  }
  return good;
}

bool ss_rank_sets_load(struct ss_rank_sets *sets, const struct ss_trace *trace, size_t tensor, uint64_t iteration) {
  const struct load load = {sets, trace, tensor, iteration};
  uint64_t longest;
  find_sorted(&load);
  sets->lookups = sets->coalesced = 0;
  for (uint32_t r = 0; r < sets->ranks; r++) sets->lookups += sets->size[r];
  if (!allocate(sets, &longest)) return false;
  if (longest > 0 && !coalesce_rest(&load, longest)) return false;
  for (uint32_t r = 0; r < sets->ranks; r++) {
    if (!sets->list[r]) sets->list[r] = sets->copies; /* an empty list of 64-bit ids: any address will do */
    sets->coalesced += sets->size[r];
  }
  return true;
}

/* --- skew --------------------------------------------------------------------------------------------------- */

/* Most rows per length that any of p even row ranges has, found range by range. */
static double densest_by_range(const uint32_t *list, uint64_t size, uint64_t rows, uint32_t p) {
  double most = 0;
  uint64_t begin = 0, low = 0;
  for (uint64_t j = 1; j <= p; j++) {
    const uint64_t high = j * rows / p;
    const uint64_t end = begin + ss_lower_bound(list + begin, size - begin, high);
    most = fmax(most, (double)(end - begin) / (double)(high - low));
    begin = end;
    low = high;
  }
  return most;
}

/* The same, id by id. Range j holds the id i when floor(j*rows/p) <= i, that is j < p*(i+1)/rows, and j is the last
 * such. */
static double densest_by_id(const uint32_t *list, uint64_t size, uint64_t rows, uint32_t p) {
  double most = 0;
  for (uint64_t i = 0; i < size;) {
    const uint64_t j = (((uint64_t)list[i] + 1) * p - 1) / rows;
    const uint64_t low = j * rows / p, high = (j + 1) * rows / p, begin = i;
    while (i < size && list[i] < high) i++;
    most = fmax(most, (double)(i - begin) / (double)(high - low));
  }
  return most;
}

/* Thousands of ranges are mostly empty: then the ids are the shorter way through. */
double ss_skewness(const uint32_t *list, uint64_t size, uint64_t rows, uint32_t ranges) {
  const double most =
      size < ranges ? densest_by_id(list, size, rows, ranges) : densest_by_range(list, size, rows, ranges);
  return most * (double)rows / (double)size;
}

/* --- counting ----------------------------------------------------------------------------------------------- */

/* 2^20 rows make a bitset of 128 KiB, which the second-level cache holds; beyond 256 chunks, finding each rank's part
 * of a chunk would begin to cost more than it saves. */
enum { WIDEST = 1 << 20, NARROWEST = 1 << 14, CHUNKS_WANTED = 16, CHUNKS_MOST = 256 };

static uint64_t chunk_width(uint64_t rows) {
  uint64_t width = rows / CHUNKS_WANTED;
  if (width < NARROWEST) width = NARROWEST;
  if (width > WIDEST) width = WIDEST;
  if (width < rows / CHUNKS_MOST + 1) width = rows / CHUNKS_MOST + 1;
  return (width + 63) / 64 * 64;
}

/* Part of a list that lies in the chunk. */
struct slice {
  const uint32_t *ids;
  uint64_t count;
};

/* What one thread works with. */
struct worker {
  uint64_t *bits;                     /* all zero between uses */
  struct slice *slice, *slice_before; /* [ranks] */
  struct ss_set_counts sum;
  struct ss_arena arena;
};

static void cut(const struct ss_rank_sets *sets, uint64_t low, uint64_t high, struct slice *out) {
  for (uint32_t r = 0; r < sets->ranks; r++) {
    const uint64_t begin = ss_lower_bound(sets->list[r], sets->size[r], low);
    out[r].ids = sets->list[r] + begin;
    out[r].count = ss_lower_bound(out[r].ids, sets->size[r] - begin, high);
  }
}

/* Marks the ids and returns how many were not marked before. */
static uint64_t mark(uint64_t *bits, struct slice slice, uint64_t low) {
  uint64_t fresh = 0;
  for (uint64_t i = 0; i < slice.count; i++) {
    const uint64_t at = slice.ids[i] - low, bit = UINT64_C(1) << (at & 63), word = bits[at >> 6];
    fresh += !(word & bit);
    bits[at >> 6] = word | bit;
  }
  return fresh;
}

static uint64_t count_marked(const uint64_t *bits, struct slice slice, uint64_t low) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < slice.count; i++) {
    const uint64_t at = slice.ids[i] - low;
    found += bits[at >> 6] >> (at & 63) & 1;
  }
  return found;
}

static void unmark(uint64_t *bits, struct slice slice, uint64_t low) {
  for (uint64_t i = 0; i < slice.count; i++) bits[(slice.ids[i] - low) >> 6] = 0;
}

static void count_union(const struct ss_rank_sets *now, const struct ss_rank_sets *before, uint64_t low,
                        struct worker *worker) {
  for (uint32_t r = 0; r < now->ranks; r++) worker->sum.fresh[r] += mark(worker->bits, worker->slice[r], low);
  if (before)
    for (uint32_t r = 0; r < now->ranks; r++)
      worker->sum.again[r] += count_marked(worker->bits, worker->slice_before[r], low);
  for (uint32_t r = 0; r < now->ranks; r++) unmark(worker->bits, worker->slice[r], low);
}

static void count_pairs(struct worker *worker, uint64_t low) {
  const struct ss_set_counts *sum = &worker->sum;
  for (size_t i = 0; i < sum->pairs;) {
    const uint32_t a = sum->pair[i].a;
    (void)mark(worker->bits, worker->slice[a], low);
    for (; i < sum->pairs && sum->pair[i].a == a; i++)
      sum->shared[i] += count_marked(worker->bits, worker->slice[sum->pair[i].b], low);
    unmark(worker->bits, worker->slice[a], low);
  }
}

static bool worker_init(struct worker *worker, uint32_t ranks, const struct ss_set_counts *tally, uint64_t width) {
  struct ss_arena *arena = &worker->arena;
  *worker = (struct worker){.sum = *tally};
  return ss_take_zero(arena, worker->bits, width / 64) && ss_take(arena, worker->slice, ranks) &&
         ss_take(arena, worker->slice_before, ranks) && ss_take_zero(arena, worker->sum.shared, tally->pairs) &&
         ss_take_zero(arena, worker->sum.fresh, ranks) && ss_take_zero(arena, worker->sum.again, ranks);
}

static void add(const struct ss_set_counts *to, const struct ss_set_counts *from, uint32_t ranks) {
  for (size_t i = 0; i < to->pairs; i++) to->shared[i] += from->shared[i];
  for (uint32_t r = 0; r < ranks; r++) {
    to->fresh[r] += from->fresh[r];
    to->again[r] += from->again[r];
  }
}

bool ss_set_counts_make(const struct ss_rank_sets *now, const struct ss_rank_sets *before, uint64_t rows,
                        const struct ss_set_counts *tally) {
  const uint64_t width = chunk_width(rows);
  const int64_t chunks = (int64_t)((rows + width - 1) / width);
  bool good = true;
  memset(tally->shared, 0, tally->pairs * sizeof *tally->shared);
  memset(tally->fresh, 0, now->ranks * sizeof *tally->fresh);
  memset(tally->again, 0, now->ranks * sizeof *tally->again);
#pragma omp parallel reduction(&& : good)
  {
    struct worker worker;
    good = worker_init(&worker, now->ranks, tally, width);
#pragma omp for schedule(dynamic)
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
      if (!good) continue;
      const uint64_t low = (uint64_t)chunk * width;
      cut(now, low, low + width, worker.slice);
      if (before) cut(before, low, low + width, worker.slice_before);
      count_union(now, before, low, &worker);
      count_pairs(&worker, low);
    }
#pragma omp critical
    if (good) add(tally, &worker.sum, now->ranks);
    ss_arena_free(&worker.arena);
  }
  return good;
}
/* SPDX-License-Identifier: Apache-2.0 */
