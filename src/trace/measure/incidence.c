#include "trace/measure/incidence.h"

#include "tensor/coalesce.h"
#include "trace/measure/rank_sets.h"

/* Rows are counted a chunk at a time, so that the counters stay in the cache whatever the table's size. */
enum { CHUNK = 1 << 16 };

/* The counting of a tensor's rows in iterations [first, end) and ranks [0, ranks), for `count` windows. */
struct counting {
  const struct ss_trace *trace;
  size_t tensor;
  uint64_t first, end;
  uint32_t ranks;
  struct ss_incidence *windows;
  size_t count;
  uint32_t *holders;   /* [CHUNK] all 0 between calls */
  uint64_t *from, *to; /* [ranks] of each list, the part within the chunk */
  uint64_t *hist;      /* [ranks + 1] rows by how many lists hold them */
};

/* The chunk of the least id that is left; false when no list has any. */
static bool next_chunk(const struct counting *c, const uint32_t *const *list, const uint64_t *size, uint32_t ranks,
                       uint64_t *end) {
  uint64_t least = UINT64_MAX;
  for (uint32_t r = 0; r < ranks; r++)
    if (c->to[r] < size[r] && list[r][c->to[r]] < least) least = list[r][c->to[r]];
  *end = (least / CHUNK + 1) * CHUNK;
  return least != UINT64_MAX;
}

static void count_rows(struct counting *c, const uint32_t *const *list, const uint64_t *size, uint32_t ranks) {
  uint64_t end;
  for (uint32_t r = 0; r <= ranks; r++) c->hist[r] = 0;
  for (uint32_t r = 0; r < ranks; r++) c->to[r] = 0;
  while (next_chunk(c, list, size, ranks, &end)) {
    for (uint32_t r = 0; r < ranks; r++) {
      c->from[r] = c->to[r];
      for (; c->to[r] < size[r] && list[r][c->to[r]] < end; c->to[r]++) c->holders[list[r][c->to[r]] % CHUNK]++;
    }
    for (uint32_t r = 0; r < ranks; r++)
      for (uint64_t i = c->from[r]; i < c->to[r]; i++) {
        uint32_t *holders = &c->holders[list[r][i] % CHUNK];
        if (*holders) c->hist[*holders]++;
        *holders = 0;
      }
  }
}

/* --- one iteration, for all windows ----------------------------------------------------------------------- */

/* Sums that become means. */
struct sums {
  double nnz, gamma;
  uint64_t gammas;
};

static void add_iteration(struct counting *c, const struct ss_rank_sets *sets, struct ss_incidence *w,
                          struct sums *sums) {
  double rows = 0, nnz = 0;
  count_rows(c, sets->list + w->first, sets->size + w->first, w->ranks);
  for (uint32_t j = 1; j <= w->ranks; j++) {
    w->once[j] += (double)c->hist[j];
    rows += (double)c->hist[j];
    nnz += (double)j * (double)c->hist[j];
  }
  w->rows += rows;
  sums->nnz += nnz;
  if (nnz <= 0) return;
  sums->gamma += rows / (nnz / w->ranks);
  sums->gammas++;
}

static void make_means(struct ss_incidence *w, const struct sums *sums, double iterations) {
  for (uint32_t j = 1; j <= w->ranks; j++) w->once[j] /= iterations;
  w->rows /= iterations;
  w->nnz = sums->nnz / iterations / w->ranks;
  w->gamma = sums->gammas ? sums->gamma / (double)sums->gammas : NAN;
}

static bool count_once(struct counting *c) {
  SS_AUTO(ss_rank_sets_free) struct ss_rank_sets sets = {0};
  SS_AUTO_FREE struct sums *sums = ss_alloc_zero(c->count, sizeof *sums);
  if (!sums || !ss_rank_sets_init(&sets, c->ranks)) return false;
  for (uint64_t t = c->first; t < c->end; t++) {
    if (!ss_rank_sets_load(&sets, c->trace, c->tensor, t)) return false;
    for (size_t i = 0; i < c->count; i++) add_iteration(c, &sets, &c->windows[i], &sums[i]);
  }
  for (size_t i = 0; i < c->count; i++) make_means(&c->windows[i], &sums[i], (double)(c->end - c->first));
  return true;
}

/* --- all iterations together ------------------------------------------------------------------------------ */

/* Every row that the rank looks up in the iterations, sorted and distinct; the list is the caller's. */
static bool rank_rows(const struct counting *c, uint32_t rank, struct ss_coalesce_scratch *scratch, uint32_t **list,
                      uint64_t *size) {
  const struct ss_trace *trace = c->trace;
  const size_t tensor = c->tensor;
  uint64_t total = 0, offset = 0;
  for (uint64_t t = c->first; t < c->end; t++) total += ss_trace_count(trace, tensor, t, rank);
  SS_AUTO_FREE uint32_t *looked_up = ss_alloc(total, sizeof *looked_up);
  uint32_t *distinct = ss_alloc(total, sizeof *distinct);
  *list = distinct;
  if (!looked_up || !distinct || !ss_coalesce_reserve(scratch, total, ss_trace_tensor(trace, tensor)->rows))
    return false;
  for (uint64_t t = c->first; t < c->end; t++) {
    ss_trace_rows(trace, tensor, t, rank, looked_up + offset);
    offset += ss_trace_count(trace, tensor, t, rank);
  }
  *size = ss_coalesce(looked_up, total, ss_trace_tensor(trace, tensor)->rows, distinct, scratch);
  uint32_t *shrunk = ss_realloc(distinct, *size, sizeof *distinct);
  if (shrunk) *list = shrunk;
  return true;
}

static bool count_ever(struct counting *c) {
  const uint32_t ranks = c->ranks;
  struct ss_coalesce_scratch scratch = {0};
  SS_AUTO_FREE uint32_t **list = ss_alloc_zero(ranks, sizeof *list);
  SS_AUTO_FREE uint64_t *size = ss_alloc_zero(ranks, sizeof *size);
  bool good = list && size;
  for (uint32_t r = 0; good && r < ranks; r++) good = rank_rows(c, r, &scratch, &list[r], &size[r]);
  for (size_t i = 0; good && i < c->count; i++) {
    struct ss_incidence *w = &c->windows[i];
    count_rows(c, (const uint32_t *const *)list + w->first, size + w->first, w->ranks);
    for (uint32_t j = 1; j <= w->ranks; j++) w->ever[j] = (double)c->hist[j];
  }
  for (uint32_t r = 0; list && r < ranks; r++) free(list[r]);
  ss_coalesce_free(&scratch);
  return good;
}

/* --- the whole -------------------------------------------------------------------------------------------- */

bool ss_incidence_count(const struct ss_trace *trace, size_t tensor, uint64_t first, uint64_t end,
                        struct ss_incidence *windows, size_t count) {
  uint32_t ranks = 0;
  bool good = true;
  for (size_t i = 0; i < count; i++) {
    struct ss_incidence *w = &windows[i];
    const uint32_t last = w->first + w->ranks;
    ranks = last > ranks ? last : ranks;
    w->rows = w->nnz = 0;
    w->once = ss_alloc_zero((size_t)w->ranks + 1, sizeof *w->once);
    w->ever = ss_alloc_zero((size_t)w->ranks + 1, sizeof *w->ever);
    good = good && w->once && w->ever;
  }
  SS_AUTO_FREE uint32_t *holders = ss_alloc_zero(CHUNK, sizeof *holders);
  SS_AUTO_FREE uint64_t *ends = ss_alloc(ranks, 2 * sizeof *ends);
  SS_AUTO_FREE uint64_t *hist = ss_alloc((size_t)ranks + 1, sizeof *hist);
  if (!good || !holders || !ends || !hist) return false;
  struct counting c = {.trace = trace,
                       .tensor = tensor,
                       .first = first,
                       .end = end,
                       .ranks = ranks,
                       .windows = windows,
                       .count = count,
                       .holders = holders,
                       .from = ends,
                       .to = ends + ranks,
                       .hist = hist};
  return count_once(&c) && count_ever(&c);
}

void ss_incidence_free(struct ss_incidence *windows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(windows[i].once);
    free(windows[i].ever);
    windows[i].once = windows[i].ever = NULL;
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
