#include "train/lookups.h"

#include "base/estimate.h"

enum { ITERATIONS_OF_SYNTH = 8, LOOKUPS_MAX_BITS = 31 };

static bool short_of_memory(struct ss_error *error) {
  return ss_fail_memory(error, "reading lookups");
}

void ss_lookups_free(struct ss_lookups *l) {
  if (l->borrowed) *l = (struct ss_lookups){0};
  free(l->first);
  free(l->distinct_first);
  free(l->row);
  free(l->distinct);
  *l = (struct ss_lookups){0};
}

/* --- from a trace --------------------------------------------------------------------------------------- */

struct gathering {
  struct ss_lookups *l;
  const struct ss_trace *trace;
  const size_t *tensor; /* [tensors] of the trace: their lookups go into one table */
  size_t tensors;
  uint32_t merge;
};

static uint64_t count_of(const struct gathering *g, uint64_t t, uint32_t rank) {
  uint64_t n = 0;
  for (size_t k = 0; k < g->tensors; k++)
    for (uint32_t i = 0; i < g->merge; i++) n += ss_trace_count(g->trace, g->tensor[k], t, rank * g->merge + i);
  return n;
}

static void rows_of(const struct gathering *g, uint64_t t, uint32_t rank, uint32_t *out) {
  for (size_t k = 0; k < g->tensors; k++)
    for (uint32_t i = 0; i < g->merge; i++) {
      const uint32_t from = rank * g->merge + i;
      ss_trace_rows(g->trace, g->tensor[k], t, from, out);
      out += ss_trace_count(g->trace, g->tensor[k], t, from);
      ss_trace_release(g->trace, g->tensor[k], t, from);
    }
}

static bool allocate(struct ss_lookups *l, uint64_t total, struct ss_error *error) {
  const uint64_t segments = l->iterations * l->ranks;
  if (total >> LOOKUPS_MAX_BITS)
    return ss_fail(error, SS_BAD_INPUT, "%s: %llu lookups are more than 2^%d", l->module->name,
                   (unsigned long long)total, LOOKUPS_MAX_BITS);
  if (!ss_estimate_fits(ss_estimate_mul(total, sizeof *l->row + sizeof *l->distinct),
                        "fewer ranks or iterations take less", error, "%s: what %" PRIu32 " ranks look up",
                        l->module->name, l->ranks))
    return false;
  l->first = ss_alloc_zero(segments + 1, sizeof *l->first);
  l->distinct_first = ss_alloc_zero(segments + 1, sizeof *l->distinct_first);
  l->row = ss_alloc(total, sizeof *l->row);
  l->distinct = ss_alloc(total, sizeof *l->distinct);
  return l->first && l->distinct_first && l->row && l->distinct ? true : short_of_memory(error);
}

/* Sorts and coalesces segment after segment. */
static bool gather(struct gathering *g, struct ss_error *error) {
  struct ss_lookups *l = g->l;
  const uint64_t range = l->module->rows;
  uint64_t total = 0, longest = 0;
  for (uint64_t s = 0; s < l->iterations * l->ranks; s++) {
    const uint64_t n = count_of(g, s / l->ranks, (uint32_t)(s % l->ranks));
    total += n;
    longest = n > longest ? n : longest;
  }
  if (!allocate(l, total, error)) return false;
  SS_AUTO(ss_coalesce_free) struct ss_coalesce_scratch scratch = {0};
  SS_AUTO_FREE uint32_t *looked_up = ss_alloc(longest, sizeof *looked_up);
  SS_AUTO_FREE uint32_t *spare = ss_alloc(longest, sizeof *spare);
  if (!looked_up || !spare || !ss_coalesce_reserve(&scratch, longest, range)) return short_of_memory(error);
  for (uint64_t s = 0; s < l->iterations * l->ranks; s++) {
    const uint64_t n = count_of(g, s / l->ranks, (uint32_t)(s % l->ranks));
    rows_of(g, s / l->ranks, (uint32_t)(s % l->ranks), looked_up);
    ss_sort_rows(looked_up, n, range, l->row + l->first[s], spare);
    l->first[s + 1] = l->first[s] + n;
    l->distinct_first[s + 1] =
        l->distinct_first[s] + ss_coalesce(looked_up, n, range, l->distinct + l->distinct_first[s], &scratch);
  }
  return true;
}

static bool find_tensor(const struct ss_trace *trace, const char *name, size_t *out) {
  for (*out = 0; *out < ss_trace_tensors(trace); ++*out)
    if (strcmp(ss_trace_tensor(trace, *out)->name, name) == 0) return true;
  return false;
}

static bool no_tensor(const struct ss_module *m, const struct ss_trace *trace, const char *name,
                      struct ss_error *error) {
  char list[300] = "";
  for (size_t i = 0; i < ss_trace_tensors(trace); i++) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%.60s", i ? ", " : "", ss_trace_tensor(trace, i)->name);
  }
  return ss_fail(
      error, SS_BAD_INPUT,
      "module \"%s\" is fed by tensor \"%s\", which %s lacks: it has %s (\"feeds\": {\"%s\": \"...\"} says "
      "which to take)",
      m->name, name, ss_trace_name(trace), list, m->name);
}

static bool from_trace(const struct ss_feeding *f, struct ss_lookups *l, struct ss_error *error) {
  const struct ss_module *m = l->module;
  const struct ss_trace *trace = f->trace;
  SS_AUTO_FREE size_t *tensor = ss_alloc(m->feed.tensors, sizeof *tensor);
  if (!tensor) return short_of_memory(error);
  if (!trace)
    return ss_fail(error, SS_BAD_INPUT,
                   "module \"%s\" is fed by tensor \"%s\" of a trace, and there is none (--trace FILE)", m->name,
                   m->feed.tensor[0]);
  for (size_t i = 0; i < m->feed.tensors; i++) {
    const char *name = f->rename ? f->rename(f->context, m->name, m->feed.tensor[i]) : m->feed.tensor[i];
    if (!find_tensor(trace, name, &tensor[i])) return no_tensor(m, trace, name, error);
    const struct ss_tensor *found = ss_trace_tensor(trace, tensor[i]);
    if (found->rows > m->rows)
      return ss_fail(error, SS_BAD_INPUT,
                     "module \"%s\" has %llu rows, but tensor \"%s\" of %s, which feeds it, looks up %llu", m->name,
                     (unsigned long long)m->rows, name, ss_trace_name(trace), (unsigned long long)found->rows);
    if (f->used) f->used[tensor[i]] = true;
  }
  l->iterations = ss_trace_iterations(trace);
  const struct ss_tensor *only = ss_trace_tensor(trace, tensor[0]);
  if (m->feed.tensors == 1 && ss_trace_has_values(trace, tensor[0]) && only->row_width == m->row_width) {
    l->valued = trace;
    l->tensor = tensor[0];
  }
  return gather(&(struct gathering){l, trace, tensor, m->feed.tensors, f->merge}, error);
}

static bool from_synth(const struct ss_workload *w, struct ss_drawn *drawn, struct ss_lookups *l,
                       struct ss_error *error) {
  struct ss_synth synth = l->module->feed.synth;
  const size_t first = 0;
  synth.iterations = w->iterations ? w->iterations : ITERATIONS_OF_SYNTH;
  synth.ranks = l->ranks;
  synth.drawn = drawn;
  SS_AUTO_TRACE struct ss_trace *trace = NULL;
  if (!ss_trace_synth(&synth, &trace, error)) return ss_fail_prefix(error, "%s: %s", w->name, l->module->name);
  l->iterations = synth.iterations;
  return gather(&(struct gathering){l, trace, &first, 1, 1}, error);
}

/* --- from counts ---------------------------------------------------------------------------------------- */

/* One row in each of so many even strata: the first, the rank's own, or one at random. */
static uint32_t row_of(const struct ss_module *m, uint32_t rank, uint64_t i) {
  const uint64_t low = ss_share(m->rows, m->feed.coalesced, i),
                 size = ss_share(m->rows, m->feed.coalesced, i + 1) - low;
  uint64_t at = 0;
  if (m->feed.overlap == SS_OVERLAP_NONE) at = rank;
  if (m->feed.overlap == SS_OVERLAP_RANDOM) at = ss_below(ss_mix(ss_mix(1, rank), i), size);
  return (uint32_t)(low + at);
}

static bool from_counts(struct ss_lookups *l, struct ss_error *error) {
  const struct ss_module *m = l->module;
  const struct ss_feed *f = &m->feed;
  if (f->overlap == SS_OVERLAP_NONE && f->coalesced && m->rows / f->coalesced < l->ranks)
    return ss_fail(
        error, SS_BAD_INPUT,
        "module \"%s\": %u ranks with %llu rows each, none shared, need more than %llu rows (say \"overlap\": "
        "\"random\")",
        m->name, l->ranks, (unsigned long long)f->coalesced, (unsigned long long)m->rows);
  l->iterations = 1;
  uint64_t total;
  if (!ss_mul_u64(f->lookups, l->ranks, &total)) return short_of_memory(error);
  if (!allocate(l, total, error)) return false;
  for (uint32_t r = 0; r < l->ranks; r++) {
    uint32_t *distinct = l->distinct + l->distinct_first[r], *row = l->row + l->first[r];
    for (uint64_t i = 0; i < f->coalesced; i++) {
      distinct[i] = row_of(m, r, i);
      for (uint64_t k = ss_share(f->lookups, f->coalesced, i); k < ss_share(f->lookups, f->coalesced, i + 1); k++)
        row[k] = distinct[i];
    }
    l->distinct_first[r + 1] = l->distinct_first[r] + f->coalesced;
    l->first[r + 1] = l->first[r] + f->lookups;
  }
  return true;
}

bool ss_lookups_borrow(const struct ss_lookups *like, const struct ss_workload *w, const struct ss_module *module,
                       const struct ss_feeding *feeding, struct ss_lookups *out) {
  const uint64_t iterations = w->iterations ? w->iterations : ITERATIONS_OF_SYNTH;
  const struct ss_feed *a = like->module ? &like->module->feed : NULL, *b = &module->feed;
  if (!a || a->kind != SS_FEED_SYNTH || b->kind != SS_FEED_SYNTH || !ss_synth_same_law(&a->synth, &b->synth) ||
      a->synth.lookups != b->synth.lookups || like->dtype != w->dtype || like->iterations != iterations ||
      like->ranks != feeding->ranks || like->module->rows != module->rows)
    return false;
  *out = *like;
  out->module = module;
  out->borrowed = true;
  return true;
}

bool ss_lookups_make(const struct ss_workload *w, const struct ss_module *module, const struct ss_feeding *feeding,
                     struct ss_lookups *out, struct ss_error *error) {
  *out = (struct ss_lookups){.module = module, .dtype = w->dtype, .ranks = feeding->ranks, .merge = feeding->merge};
  switch (module->feed.kind) {
  case SS_FEED_TENSOR: return from_trace(feeding, out, error);
  case SS_FEED_SYNTH: return from_synth(w, feeding->drawn, out, error);
  case SS_FEED_COUNTS: return from_counts(out, error);
  }
  return false;
}

/* --- comparing ------------------------------------------------------------------------------------------ */

static bool same_counts(const struct ss_feed *a, const struct ss_feed *b) {
  return a->kind == b->kind && a->lookups == b->lookups && a->coalesced == b->coalesced && a->prior == b->prior;
}

bool ss_lookups_same(const struct ss_lookups *a, const struct ss_lookups *b) {
  if (a == b) return true;
  if (!a || !b || a->iterations != b->iterations || a->ranks != b->ranks || a->dtype != b->dtype ||
      a->module->rows != b->module->rows || a->module->row_width != b->module->row_width ||
      !same_counts(&a->module->feed, &b->module->feed) || a->valued != b->valued || a->tensor != b->tensor ||
      a->merge != b->merge)
    return false;
  const uint64_t segments = a->iterations * a->ranks;
  if (a->first == b->first && a->row == b->row) return true;
  return memcmp(a->first, b->first, (segments + 1) * sizeof *a->first) == 0 &&
         memcmp(a->row, b->row, a->first[segments] * sizeof *a->row) == 0;
}

/* --- Algorithm 1 ---------------------------------------------------------------------------------------- */

struct segment {
  const uint32_t *row;
  uint64_t count;
};

static struct segment distinct_of(const struct ss_lookups *l, uint64_t iteration, uint32_t rank) {
  const uint64_t s = iteration % l->iterations * l->ranks + rank;
  return (struct segment){l->distinct + l->distinct_first[s], l->distinct_first[s + 1] - l->distinct_first[s]};
}

static struct segment lookups_of(const struct ss_lookups *l, uint64_t iteration, uint32_t rank) {
  const uint64_t s = iteration % l->iterations * l->ranks + rank;
  return (struct segment){l->row + l->first[s], l->first[s + 1] - l->first[s]};
}

/* Which rows any rank looks up in the iteration, as bits. */
static uint64_t *touched(const struct ss_lookups *l, uint64_t iteration, uint32_t ranks) {
  uint64_t *bits = ss_alloc_zero(l->module->rows / 64 + 1, sizeof *bits);
  for (uint32_t r = 0; bits && r < ranks; r++) {
    const struct segment s = distinct_of(l, iteration, r);
    for (uint64_t i = 0; i < s.count; i++) bits[s.row[i] / 64] |= UINT64_C(1) << (s.row[i] % 64);
  }
  return bits;
}

/* Row i of those that a rank has: is it in the share? Of printed counts, prior rows lie evenly among all. */
static bool in_share(const struct ss_lookups *l, const uint64_t *next, enum ss_share_of_rows share, uint32_t row,
                     uint64_t i) {
  const struct ss_feed *f = &l->module->feed;
  const bool prior = f->kind == SS_FEED_COUNTS
                         ? ss_share(f->prior, f->coalesced, i + 1) > ss_share(f->prior, f->coalesced, i)
                         : next[row / 64] >> (row % 64) & 1;
  return prior == (share == SS_ROWS_PRIOR);
}

static bool select_rows(const struct ss_lookups *l, const struct ss_lookups_options *options, uint64_t *count,
                        const uint32_t **row, struct ss_arena *arena) {
  const struct ss_input_options *wanted = &options->input;
  SS_AUTO_FREE uint64_t *next = touched(l, wanted->iteration + 1, wanted->ranks);
  if (!next) return false;
  for (uint32_t r = 0; r < wanted->ranks; r++) {
    const struct segment all = distinct_of(l, wanted->iteration, r);
    uint32_t *some = ss_arena_alloc(arena, all.count, sizeof *some);
    if (!some) return false;
    row[r] = some;
    count[r] = 0;
    for (uint64_t i = 0; i < all.count; i++)
      if (in_share(l, next, options->share, all.row[i], i)) some[count[r]++] = all.row[i];
  }
  return true;
}

bool ss_lookups_touched(const struct ss_lookups *l, uint64_t iteration, uint32_t ranks, uint64_t *rows) {
  SS_AUTO_FREE uint64_t *bits = touched(l, iteration, ranks);
  *rows = 0;
  for (uint64_t i = 0; bits && i <= l->module->rows / 64; i++) *rows += (uint64_t)__builtin_popcountll(bits[i]);
  return bits != NULL;
}

uint64_t ss_lookups_gathered(const struct ss_lookups *l, uint64_t iteration, uint32_t ranks) {
  uint64_t gathered = 0;
  for (uint32_t r = 0; r < ranks; r++) gathered += lookups_of(l, iteration, r).count;
  return gathered;
}

uint64_t ss_lookups_most(const struct ss_lookups *l, uint32_t ranks) {
  uint64_t most = 0;
  for (uint64_t t = 0; t < l->iterations; t++) {
    uint64_t rows = 0;
    for (uint32_t r = 0; r < ranks; r++) rows += distinct_of(l, t, r).count;
    most = rows > most ? rows : most;
  }
  return most;
}

void ss_lookups_split_work(const struct ss_lookups *l, uint64_t iteration, uint32_t rank, uint64_t next,
                           struct ss_split_work *work) {
  enum { INDEX = 4 };
  const uint64_t row = (uint64_t)l->module->row_width * ss_dtype_bytes(l->dtype);
  const uint64_t looked_up = lookups_of(l, iteration, rank).count, own = distinct_of(l, iteration, rank).count;
  /* COALESCE and UNIQUE: read lookups, write distinct rows */
  work->coalesce.elements += looked_up;
  work->coalesce.bytes += (looked_up + own) * INDEX;
  work->pack.elements += looked_up;
  work->pack.bytes += (looked_up + own) * row;
  work->pack.elements += 2 * own + next; /* the intersection and the difference: read both sets, write two */
  work->pack.bytes += (2 * own + next) * INDEX;
  work->pack.elements += own; /* INDEX_SELECT, twice: read and write each row once */
  work->pack.bytes += 2 * own * row;
}

/* --- inputs --------------------------------------------------------------------------------------------- */

/* Magnitudes in [1, 2), of either sign: never zero, and no two ranks alike. */
static int64_t *make_values(uint64_t iteration, uint32_t rank, uint64_t count, struct ss_arena *arena) {
  int64_t *value = ss_arena_alloc(arena, count, sizeof *value);
  const uint64_t key = ss_mix(ss_mix(1, iteration), rank);
  for (uint64_t i = 0; value && i < count; i++) {
    const uint64_t draw = ss_mix(key, i);
    value[i] = INT64_C(1) << SS_VALUE_BITS | (int64_t)(draw >> (64 - SS_VALUE_BITS));
    if (draw & 1) value[i] = -value[i];
  }
  return value;
}

static bool set_shape(const struct ss_lookups *l, const struct ss_lookups_options *options, struct ss_input *out,
                      struct ss_error *error) {
  const struct ss_module *m = l->module;
  const uint32_t width = options->columns ? options->columns : m->row_width;
  *out = (struct ss_input){.rows = m->rows,
                           .width = width,
                           .row_width = width,
                           .elements = m->rows * width,
                           .value_bytes = ss_dtype_bytes(l->dtype)};
  if (!options->input.element) return true;
  if (out->elements >> 32)
    return ss_fail(error, SS_BAD_INPUT,
                   "module \"%s\": %llu x %u elements are more than 2^32 - 1 indices, which this scheme cannot count",
                   m->name, (unsigned long long)m->rows, width);
  out->rows = out->elements;
  out->width = 1;
  return true;
}

static bool traced_values(const struct ss_lookups *l, struct ss_input_options wanted, struct ss_arena *arena,
                          struct ss_input *out, struct ss_error *error) {
  struct ss_origin origin = {.trace = l->valued, .tensor = l->tensor, .merge = l->merge};
  const struct ss_input shape = *out;
  wanted.iteration %= l->iterations;
  SS_AUTO(ss_coalesce_free) struct ss_coalesce_scratch scratch = {0};
  const bool ok = ss_origin_exponent(&origin, &origin.exponent, error) &&
                  ss_input_make(&origin, &wanted, arena, &scratch, out, error);
  out->rows = shape.rows;
  out->elements = shape.elements;
  return ok;
}

bool ss_lookups_input(const struct ss_lookups *l, const struct ss_lookups_options *options, struct ss_arena *arena,
                      struct ss_input *out, struct ss_error *error) {
  const struct ss_input_options *wanted = &options->input;
  const uint32_t P = wanted->ranks;
  if (!set_shape(l, options, out, error)) return false;
  const uint32_t width = wanted->element ? out->row_width : 1;
  if (wanted->values && l->valued && options->share == SS_ROWS_ALL)
    return traced_values(l, *wanted, arena, out, error);
  uint64_t *count = ss_arena_alloc(arena, P, sizeof *count), *lookups = ss_arena_alloc(arena, P, sizeof *lookups);
  const uint32_t **row = ss_arena_alloc(arena, P, sizeof *row), **lookup = ss_arena_alloc(arena, P, sizeof *lookup);
  const int64_t **value = ss_arena_alloc(arena, P, sizeof *value);
  if (!count || !lookups || !row || !lookup || !value) return short_of_memory(error);
  if (options->share != SS_ROWS_ALL && !select_rows(l, options, count, row, arena)) return short_of_memory(error);
  /* prior and delayed rows are what the split made of rows that it had coalesced */
  const bool coalesces = wanted->before && wanted->coalesces && options->share == SS_ROWS_ALL;
  if (coalesces && !ss_input_begin_before(out, P, arena)) return short_of_memory(error);
  for (uint32_t r = 0; r < P; r++) {
    const struct segment own = distinct_of(l, wanted->iteration, r), all = lookups_of(l, wanted->iteration, r);
    if (options->share == SS_ROWS_ALL) {
      row[r] = own.row;
      count[r] = own.count;
    }
    lookup[r] = all.row;
    lookups[r] = all.count;
    if (coalesces) ss_input_coalesced(out, r, all.count, own.count);
    if (!ss_rows_to_elements(&row[r], &count[r], width, arena) ||
        (wanted->lookups && !ss_rows_to_elements(&lookup[r], &lookups[r], width, arena)) ||
        (wanted->values && !(value[r] = make_values(wanted->iteration, r, count[r] * out->width, arena))))
      return short_of_memory(error);
  }
  out->ranks = P;
  out->count = count;
  out->lookups = lookups;
  out->row = row;
  out->lookup = wanted->lookups ? lookup : NULL;
  out->value = wanted->values ? value : NULL;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
