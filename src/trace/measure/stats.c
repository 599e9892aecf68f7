#include "trace/measure/stats.h"

#include "base/random.h"
#include "trace/measure/rank_sets.h"

/* Beyond this many pairs of ranks, overlap is the mean over as many seeded ones. */
enum { PAIRS_MOST = 100, PAIRS_SEED = 1 };
/* Powers of two among ranks, which are below 2^21, and the ranks themselves. */
enum { PARTS_MOST = 22 };

/* A mean over those iterations that have something to say. */
struct mean {
  double sum;
  uint64_t count;
};

static void mean_add(struct mean *mean, double value) {
  mean->sum += value;
  mean->count++;
}

static double mean_of(struct mean mean) {
  return mean.count ? mean.sum / (double)mean.count : NAN;
}

/* One tensor at work. */
struct job {
  const struct ss_trace *trace;
  size_t tensor;
  uint64_t rows;
  const struct ss_stats *window;
  struct ss_rank_sets sets[2]; /* this iteration's and the one's before, in turn */
  struct ss_set_counts tally;
  struct mean overlap;
  struct mean *gamma; /* [ranks] */
  size_t parts;
  const uint32_t *part;
  struct mean *skewness; /* [parts] */
  double *skew;          /* [ranks * parts] of one iteration */
  uint64_t lookups, coalesced, prior, bags;
  struct ss_arena arena;
};

/* --- pairs of ranks ------------------------------------------------------------------------------------- */

static int compare_pairs(const void *a, const void *b) {
  const struct ss_rank_pair *x = a, *y = b;
  if (x->a != y->a) return x->a < y->a ? -1 : 1;
  return x->b < y->b ? -1 : x->b > y->b;
}

static bool listed(const struct ss_rank_pair *pairs, size_t count, struct ss_rank_pair wanted) {
  for (size_t i = 0; i < count; i++)
    if (compare_pairs(&pairs[i], &wanted) == 0) return true;
  return false;
}

/* All pairs when they are few, else distinct ones drawn at random; sorted. Returns how many. */
static size_t choose_pairs(uint32_t ranks, struct ss_rank_pair *out) {
  const uint64_t all = (uint64_t)ranks * (ranks - 1) / 2;
  size_t count = 0;
  if (all <= PAIRS_MOST) {
    for (uint32_t a = 0; a < ranks; a++)
      for (uint32_t b = a + 1; b < ranks; b++) out[count++] = (struct ss_rank_pair){a, b};
    return count;
  }
  for (uint64_t draw = 0; count < PAIRS_MOST; draw += 2) {
    const uint32_t x = (uint32_t)ss_below(ss_mix(PAIRS_SEED, draw), ranks);
    const uint32_t other = (uint32_t)ss_below(ss_mix(PAIRS_SEED, draw + 1), ranks - 1);
    const uint32_t y = other + (other >= x);
    const struct ss_rank_pair pair = x < y ? (struct ss_rank_pair){x, y} : (struct ss_rank_pair){y, x};
    if (!listed(out, count, pair)) out[count++] = pair;
  }
  qsort(out, count, sizeof *out, compare_pairs);
  return count;
}

/* --- one iteration -------------------------------------------------------------------------------------- */

static void add_overlap(struct job *job, const struct ss_rank_sets *sets) {
  struct mean pairs = {0};
  for (size_t i = 0; i < job->tally.pairs; i++) {
    const uint64_t a = sets->size[job->tally.pair[i].a], b = sets->size[job->tally.pair[i].b];
    const uint64_t least = a < b ? a : b;
    if (least > 0) mean_add(&pairs, (double)job->tally.shared[i] / (double)least);
  }
  if (pairs.count) mean_add(&job->overlap, mean_of(pairs));
}

static void add_gamma(struct job *job, const struct ss_rank_sets *sets) {
  const double mean = (double)sets->coalesced / sets->ranks;
  uint64_t joined = 0;
  if (sets->coalesced == 0) return;
  for (uint32_t r = 0; r < sets->ranks; r++) {
    joined += job->tally.fresh[r];
    mean_add(&job->gamma[r], (double)joined / mean);
  }
}

static void add_skewness(struct job *job, const struct ss_rank_sets *sets) {
  const size_t parts = job->parts;
#pragma omp parallel for schedule(dynamic)
  for (uint32_t r = 0; r < sets->ranks; r++)
    for (size_t i = 0; i < parts; i++)
      if (sets->size[r] > 0)
        job->skew[r * parts + i] = ss_skewness(sets->list[r], sets->size[r], job->rows, job->part[i]);
  for (size_t i = 0; i < parts; i++) {
    struct mean ranks = {0};
    for (uint32_t r = 0; r < sets->ranks; r++)
      if (sets->size[r] > 0) mean_add(&ranks, job->skew[r * parts + i]);
    if (ranks.count) mean_add(&job->skewness[i], mean_of(ranks));
  }
}

static bool add_iteration(struct job *job, uint64_t iteration) {
  struct ss_rank_sets *now = &job->sets[iteration % 2];
  const struct ss_rank_sets *before = iteration > job->window->first ? &job->sets[(iteration + 1) % 2] : NULL;
  if (!ss_rank_sets_load(now, job->trace, job->tensor, iteration)) return false;
  if (!ss_set_counts_make(now, before, job->rows, &job->tally)) return false;
  add_overlap(job, now);
  add_gamma(job, now);
  add_skewness(job, now);
  job->lookups += now->lookups;
  job->coalesced += now->coalesced;
  for (uint32_t r = 0; r < now->ranks; r++) {
    job->prior += job->tally.again[r];
    job->bags += ss_trace_bags(job->trace, job->tensor, iteration, r);
  }
  return true;
}

/* --- one tensor ----------------------------------------------------------------------------------------- */

static bool job_init(struct job *job, struct ss_rank_pair *pairs) {
  const uint32_t ranks = job->window->ranks;
  job->tally.pairs = choose_pairs(ranks, pairs);
  job->tally.pair = pairs;
  return ss_take(&job->arena, job->tally.shared, job->tally.pairs) && ss_take(&job->arena, job->tally.fresh, ranks) &&
         ss_take(&job->arena, job->tally.again, ranks) && ss_take_zero(&job->arena, job->gamma, ranks) &&
         ss_take_zero(&job->arena, job->skewness, job->parts) &&
         ss_take(&job->arena, job->skew, ranks * job->parts) && ss_rank_sets_init(&job->sets[0], ranks) &&
         ss_rank_sets_init(&job->sets[1], ranks);
}

static void job_free(struct job *job) {
  for (size_t i = 0; i < 2; i++) ss_rank_sets_free(&job->sets[i]);
  ss_arena_free(&job->arena);
}

static void job_result(const struct job *job, struct ss_tensor_stats *out) {
  const uint32_t ranks = job->window->ranks;
  const double segments = (double)(job->window->end - job->window->first) * ranks;
  const double row_bytes = (double)out->tensor.row_width * ss_dtype_bytes(out->tensor.dtype);
  out->lookups = (double)job->lookups / segments;
  out->coalesced = (double)job->coalesced / segments;
  /* the last iteration has none after it */
  out->prior = (double)job->prior / (segments - ranks);
  out->bags = ss_trace_has_bags(job->trace, job->tensor) ? (double)job->bags / segments : NAN;
  out->pooling = job->bags > 0 ? (double)job->lookups / (double)job->bags : NAN;
  out->lookups_bytes = out->lookups * row_bytes;
  out->coalesced_bytes = out->coalesced * row_bytes;
  out->prior_bytes = out->prior * row_bytes;
  out->density = out->coalesced / (double)job->rows;
  out->overlap = mean_of(job->overlap);
  for (uint32_t r = 0; r < ranks; r++) out->gamma[r] = mean_of(job->gamma[r]);
  for (size_t i = 0; i < out->parts; i++) out->skewness[i] = mean_of(job->skewness[i]);
}

/* And one, as no step is free. */
static double lookups_of(const struct ss_trace *trace, size_t tensor, uint64_t t, uint32_t ranks) {
  double sum = 1;
  for (uint32_t r = 0; r < ranks; r++) sum += (double)ss_trace_count(trace, tensor, t, r);
  return sum;
}

static bool measure_tensor(const struct ss_trace *trace, size_t tensor, const struct ss_stats *window,
                           const struct ss_stats_window *asked, double whole, struct ss_tensor_stats *out) {
  struct ss_rank_pair pairs[PAIRS_MOST];
  SS_AUTO(job_free)
  struct job job = {.trace = trace,
                    .tensor = tensor,
                    .rows = out->tensor.rows,
                    .window = window,
                    .parts = out->parts,
                    .part = out->part};
  if (!job_init(&job, pairs)) return false;
  for (uint64_t t = window->first; t < window->end; t++) {
    if (!add_iteration(&job, t)) return false;
    ss_watcher_advance(asked->watcher, 1, lookups_of(trace, tensor, t, window->ranks), whole);
  }
  job_result(&job, out);
  return true;
}

/* --- the whole ------------------------------------------------------------------------------------------ */

/* The powers of two up to `ranks` and `ranks` itself, as far as each part has a row. */
static size_t choose_parts(uint32_t ranks, uint64_t rows, uint32_t *out) {
  size_t count = 0;
  for (uint32_t p = 1; p <= ranks && p <= rows; p *= 2) out[count++] = p;
  if (ranks <= rows && out[count - 1] != ranks) out[count++] = ranks;
  return count;
}

static bool tensor_init(struct ss_stats *stats, const struct ss_tensor *tensor, struct ss_tensor_stats *out) {
  out->tensor = *tensor;
  if (!ss_take(&stats->arena, out->gamma, stats->ranks) || !ss_take(&stats->arena, out->part, PARTS_MOST) ||
      !ss_take(&stats->arena, out->skewness, PARTS_MOST))
    return false;
  out->parts = choose_parts(stats->ranks, tensor->rows, out->part);
  return true;
}

/* Where the trace has the i-th of those that are asked for. */
static size_t tensor_at(const struct ss_stats_window *asked, size_t i) {
  return asked->tensors > 0 ? asked->tensor[i] : i;
}

static bool measure(const struct ss_trace *trace, const struct ss_stats_window *asked, struct ss_stats *stats) {
  stats->tensors = asked->tensors > 0 ? asked->tensors : ss_trace_tensors(trace);
  stats->tensor = ss_arena_zero(&stats->arena, stats->tensors, sizeof *stats->tensor);
  bool good = stats->tensor != NULL;
  double whole = 0;
  for (size_t i = 0; i < stats->tensors; i++)
    for (uint64_t t = stats->first; t < stats->end; t++)
      whole += lookups_of(trace, tensor_at(asked, i), t, stats->ranks);
  ss_watcher_begin(asked->watcher, "iterations", (stats->end - stats->first) * stats->tensors);
  for (size_t i = 0; good && i < stats->tensors; i++) {
    const size_t at = tensor_at(asked, i);
    good = tensor_init(stats, ss_trace_tensor(trace, at), &stats->tensor[i]) &&
           measure_tensor(trace, at, stats, asked, whole, &stats->tensor[i]);
  }
  ss_watcher_end(asked->watcher);
  return good;
}

bool ss_trace_stats(const struct ss_trace *trace, struct ss_stats_window window, struct ss_stats **out,
                    struct ss_error *error) {
  if (!ss_trace_window(trace, window.first, &window.end, &window.ranks, error)) return false;
  struct ss_stats *stats = ss_alloc_zero(1, sizeof *stats);
  if (!stats) return ss_fail_memory(error, "measuring a trace");
  stats->first = window.first;
  stats->end = window.end;
  stats->ranks = window.ranks;
  if (measure(trace, &window, stats)) {
    *out = stats;
    return true;
  }
  ss_stats_free(stats);
  return ss_fail_memory(error, "measuring a trace");
}

void ss_stats_free(struct ss_stats *stats) {
  if (!stats) return;
  ss_arena_free(&stats->arena);
  free(stats);
}
/* SPDX-License-Identifier: Apache-2.0 */
