#include "trace/measure/set_counts.h"

#include "base/list.h"
#include "base/memory.h"

#include <string.h>

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
