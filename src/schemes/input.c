#include "schemes/input.h"

enum { ROWS_MAX_BITS = 32 };

/* Tables one after the other, as wide as the widest. */
static bool joint_shape(const struct ss_origin *origin, struct ss_input *out, struct ss_error *error) {
  const struct ss_tensor *first = ss_trace_tensor(origin->trace, origin->joint->tensor[0]);
  out->value_bytes = ss_dtype_bytes(first->dtype);
  for (uint32_t k = 0; k < origin->joint->tables; k++) {
    const struct ss_tensor *tensor = ss_trace_tensor(origin->trace, origin->joint->tensor[k]);
    if (tensor->dtype != first->dtype)
      return ss_fail(error, SS_BAD_INPUT,
                     "tables that travel together are of one type: %s is of %s, %s of %s (name those that are alike "
                     "in \"tensors\")",
                     first->name, ss_dtype_name(first->dtype), tensor->name, ss_dtype_name(tensor->dtype));
    out->rows += tensor->rows;
    out->elements += tensor->rows * tensor->row_width;
    if (tensor->row_width > out->width) out->width = tensor->row_width;
    if (out->rows >> ROWS_MAX_BITS)
      return ss_fail(error, SS_BAD_INPUT,
                     "tables that travel together have at most 2^32 - 1 rows between them: name fewer in "
                     "\"tensors\"");
  }
  out->row_width = out->width;
  return true;
}

bool ss_input_shape(const struct ss_origin *origin, bool element, struct ss_input *out, struct ss_error *error) {
  *out = (struct ss_input){0};
  if (origin->joint) return joint_shape(origin, out, error);
  if (origin->trace) {
    const struct ss_tensor *tensor = ss_trace_tensor(origin->trace, origin->tensor);
    out->rows = tensor->rows;
    out->width = tensor->row_width;
    out->value_bytes = ss_dtype_bytes(tensor->dtype);
  } else if (origin->gradient) {
    out->rows = origin->gradient->elements;
    out->width = 1;
    out->value_bytes = sizeof(float);
  } else {
    out->rows = origin->uniform.rows;
    out->width = origin->uniform.width;
    out->value_bytes = origin->uniform.value_bytes;
    out->even = true;
  }
  out->row_width = out->width;
  out->elements = out->rows * out->width;
  if (!element) return true;
  uint64_t elements;
  if (!ss_mul_u64(out->rows, out->width, &elements) || elements >> ROWS_MAX_BITS)
    return ss_fail(error, SS_BAD_INPUT,
                   "granularity \"element\" makes %llu x %u elements: more than 2^32 - 1 indices (say \"row\")",
                   (unsigned long long)out->rows, out->width);
  out->rows = elements;
  out->width = 1;
  return true;
}

bool ss_origin_exponent(const struct ss_origin *o, int *out, struct ss_error *error) {
  double most;
  *out = 0;
  if (!o->trace) return true;
  if (!ss_trace_values_most(o->trace, o->tensor, &most, error)) return false;
  if (most > 0) *out = SS_VALUE_MAGNITUDE - 1 - ilogb(most);
  return true;
}

struct maker {
  const struct ss_origin *origin;
  const struct ss_input_options *options;
  struct ss_arena *arena;
  struct ss_arena *temporary; /* what is needed for one rank only */
  struct ss_coalesce_scratch *scratch;
  uint32_t factor; /* elements a row becomes: 1, or the width under element granularity */
  uint64_t *count, *lookups;
  const uint32_t **row, **lookup;
  struct ss_bagged *bagged; /* NULL: not wanted */
  int64_t **value;          /* NULL: not wanted */
  uint64_t *dropped;
};

/* Rows of a merged rank as looked up: its members' one after the other. */
static uint32_t *looked_up(const struct maker *m, uint32_t rank, uint64_t *count) {
  const struct ss_origin *o = m->origin;
  uint64_t t = m->options->iteration, total = 0;
  for (uint32_t i = 0; i < o->merge; i++) total += ss_trace_count(o->trace, o->tensor, t, rank * o->merge + i);
  uint32_t *rows = ss_arena_alloc(m->temporary, total, sizeof *rows);
  *count = total;
  for (uint32_t i = 0, *at = rows; rows && i < o->merge; i++) {
    ss_trace_rows(o->trace, o->tensor, t, rank * o->merge + i, at);
    at += ss_trace_count(o->trace, o->tensor, t, rank * o->merge + i);
    ss_trace_release(o->trace, o->tensor, t, rank * o->merge + i);
  }
  return rows;
}

/* The bags of a merged rank: its members' one after the other. */
static bool add_bags(const struct maker *m, uint32_t rank, const uint32_t *rows, uint64_t count) {
  const struct ss_origin *o = m->origin;
  struct ss_bagged *out = &m->bagged[rank];
  uint32_t *row = ss_arena_alloc(m->arena, count, sizeof *row), *bag = ss_arena_alloc(m->arena, count, sizeof *bag);
  uint64_t *first = ss_arena_zero(m->arena, 2, sizeof *first), at = 0;
  *out = (struct ss_bagged){.first = first, .row = row, .bag = bag};
  if (!row || !bag || !first) return false;
  if (count) memcpy(row, rows, count * sizeof *row);
  for (uint32_t i = 0; i < o->merge; i++) {
    const uint32_t from = rank * o->merge + i;
    const uint64_t n = ss_trace_bags(o->trace, o->tensor, m->options->iteration, from);
    const uint64_t *offsets = ss_trace_bag_offsets(o->trace, o->tensor, m->options->iteration, from);
    for (uint64_t b = 0; b < n; b++, out->count++)
      for (uint64_t k = offsets[b]; k < offsets[b + 1]; k++) bag[at++] = (uint32_t)out->count;
  }
  first[1] = out->count;
  return true;
}

/* Bags of a rank in all tables have 32-bit numbers. */
static bool check_bags(const struct ss_origin *o, const struct ss_input_options *options, struct ss_error *error) {
  if (!o->trace || !ss_trace_has_bags(o->trace, o->tensor))
    return ss_fail(error, SS_BAD_INPUT, "%s does not say which lookups make a bag",
                   o->trace ? ss_trace_tensor(o->trace, o->tensor)->name : "a tensor that is made up");
  if (o->capacity > 0)
    return ss_fail(error, SS_BAD_INPUT, "\"capacity\" drops lookups, and bags are pooled whole: leave it out");
  for (uint32_t r = 0; r < options->ranks; r++) {
    uint64_t bags = 0;
    for (uint32_t i = 0; i < o->merge; i++)
      bags += ss_trace_bags(o->trace, o->tensor, options->iteration, r * o->merge + i);
    if (bags > UINT32_MAX)
      return ss_fail(error, SS_BAD_INPUT, "rank %u has %llu bags of %s: at most 2^32 - 1 are numbered", r,
                     (unsigned long long)bags, ss_trace_tensor(o->trace, o->tensor)->name);
  }
  return true;
}

/* Leaves out the lookups of a row beyond its capacity, and returns how many are left. What rounding adds to a
 * product of whole numbers makes no room for one more. */
static bool admit(const struct maker *m, uint32_t *rows, uint64_t range, uint64_t *count) {
  const double limit = m->origin->capacity * (double)*count / (double)range;
  uint64_t kept = 0;
  if (!(m->origin->capacity > 0)) return true;
  double *load = ss_arena_zero(m->temporary, range, sizeof *load);
  for (uint64_t i = 0; load && i < *count; i++)
    if (++load[rows[i]] <= ceil(limit * (1 - 1e-12))) rows[kept++] = rows[i];
  *m->dropped += *count - kept;
  *count = kept;
  return load;
}

/* Values of the distinct rows: those of its lookups, added up. */
static bool add_values(const struct maker *m, uint32_t rank) {
  const struct ss_origin *o = m->origin;
  const uint32_t width = ss_trace_tensor(o->trace, o->tensor)->row_width;
  struct ss_chunk distinct = {.rows = m->row[rank], .count = m->count[rank]};
  int64_t *sum = ss_arena_zero(m->arena, distinct.count * width, sizeof *sum);
  if (!sum) return false;
  for (uint32_t i = 0; i < o->merge; i++) {
    const uint32_t from = rank * o->merge + i;
    const uint64_t count = ss_trace_count(o->trace, o->tensor, m->options->iteration, from);
    enum ss_dtype dtype = SS_F32;
    const void *values = ss_trace_values(o->trace, o->tensor, m->options->iteration, from, &dtype);
    uint32_t *rows = ss_arena_alloc(m->arena, count, sizeof *rows);
    if (!rows) return false;
    ss_trace_rows(o->trace, o->tensor, m->options->iteration, from, rows);
    for (uint64_t e = 0; e < count; e++) {
      uint64_t at;
      ss_chunk_find(&distinct, rows[e], (uint64_t)rows[e] + 1, &at);
      for (uint32_t c = 0; c < width; c++)
        sum[at * width + c] += ss_value_units(ss_dtype_value(dtype, values, e * width + c), o->exponent);
    }
  }
  m->value[rank] = sum;
  return true;
}

static bool from_trace(const struct maker *m, uint32_t rank) {
  uint64_t range = ss_trace_tensor(m->origin->trace, m->origin->tensor)->rows, count;
  ss_arena_reset(m->temporary);
  uint32_t *rows = looked_up(m, rank, &count);
  uint32_t *distinct = ss_arena_alloc(m->temporary, count, sizeof *distinct);
  if (!rows || !distinct || !ss_coalesce_reserve(m->scratch, count, range)) return false;
  if (!admit(m, rows, range, &count)) return false;
  m->lookups[rank] = count * m->factor;
  m->count[rank] = ss_coalesce(rows, count, range, distinct, m->scratch);
  uint32_t *kept = ss_arena_alloc(m->arena, m->count[rank], sizeof *kept);
  if (!kept) return false;
  if (m->count[rank] > 0) memcpy(kept, distinct, m->count[rank] * sizeof *kept);
  m->row[rank] = kept;
  if (m->value && !add_values(m, rank)) return false;
  if (m->bagged && !add_bags(m, rank, rows, count)) return false;
  if (!ss_rows_to_elements(&m->row[rank], &m->count[rank], m->factor, m->arena)) return false;
  if (!m->options->lookups) return true;
  uint32_t *sorted = ss_arena_alloc(m->arena, count, sizeof *sorted);
  uint32_t *spare = ss_arena_alloc(m->temporary, count, sizeof *spare);
  if (!sorted || !spare) return false;
  ss_sort_rows(rows, count, range, sorted, spare);
  m->lookup[rank] = sorted;
  return ss_rows_to_elements(&m->lookup[rank], &count, m->factor, m->arena);
}

/* Values of a uniform tensor, never zero: the same on every rank under full overlap. */
static bool made_up(const struct maker *m, uint32_t rank) {
  const struct ss_uniform *u = &m->origin->uniform;
  const uint64_t key = ss_mix(u->seed, u->overlap == SS_OVERLAP_FULL ? 0 : rank + 1);
  int64_t *value = ss_arena_alloc(m->arena, m->count[rank], sizeof *value);
  if (!value) return false;
  for (uint64_t i = 0; i < m->count[rank]; i++)
    value[i] = INT64_C(1) << SS_VALUE_BITS | (int64_t)(ss_mix(key, m->row[rank][i]) >> (64 - SS_VALUE_BITS));
  m->value[rank] = value;
  return true;
}

/* One row in each of nnz even strata: the first, the rank's own, or one at random. */
static bool from_uniform(const struct maker *m, uint32_t rank) {
  const struct ss_uniform *u = &m->origin->uniform;
  m->count[rank] = m->lookups[rank] = u->nnz * m->factor;
  if (!m->options->lists) return true;
  uint32_t *rows = ss_arena_alloc(m->arena, u->nnz, sizeof *rows);
  if (!rows) return false;
  uint64_t seed = ss_mix(u->seed, (m->options->iteration << 20) ^ rank);
  for (uint64_t i = 0; i < u->nnz; i++) {
    uint64_t low = ss_share(u->rows, u->nnz, i), size = ss_share(u->rows, u->nnz, i + 1) - low, at = 0;
    if (u->overlap == SS_OVERLAP_NONE) at = rank;
    if (u->overlap == SS_OVERLAP_RANDOM) at = ss_below(ss_mix(seed, i), size);
    rows[i] = (uint32_t)(low + at);
  }
  uint64_t count = u->nnz;
  m->row[rank] = rows;
  if (!ss_rows_to_elements(&m->row[rank], &count, m->factor, m->arena)) return false;
  if (m->options->lookups) m->lookup[rank] = m->row[rank];
  return !m->value || made_up(m, rank);
}

/* All ranks list all elements. */
static bool from_gradient(const struct maker *m) {
  const struct ss_gradient *g = m->origin->gradient;
  uint32_t *all = ss_arena_alloc(m->arena, g->elements, sizeof *all);
  if (!all) return false;
  for (uint64_t i = 0; i < g->elements; i++) all[i] = (uint32_t)i;
  for (uint32_t r = 0; r < m->options->ranks; r++) {
    m->count[r] = m->lookups[r] = g->elements;
    m->row[r] = m->lookup[r] = all;
    if (!m->value) continue;
    m->value[r] = ss_arena_alloc(m->arena, g->elements, sizeof **m->value);
    if (!m->value[r]) return false;
  }
  if (m->value) ss_gradient_make(g, m->options->iteration, m->options->ranks, m->value);
  return true;
}

bool ss_input_begin_before(struct ss_input *input, uint32_t ranks, struct ss_arena *arena) {
  input->before = ss_arena_zero(arena, (uint64_t)ranks * SS_KERNELS, sizeof *input->before);
  return input->before != NULL;
}

void ss_input_coalesced(struct ss_input *input, uint32_t rank, uint64_t lookups, uint64_t distinct) {
  enum { INDEX = 4 };
  const uint64_t row = (uint64_t)input->row_width * input->value_bytes;
  struct ss_kernel_work *work = input->before + (size_t)rank * SS_KERNELS;
  if (lookups == 0) return;
  work[SS_KERNEL_COALESCE] = (struct ss_kernel_work){1, lookups, (lookups + distinct) * INDEX};
  work[SS_KERNEL_PACK] = (struct ss_kernel_work){1, lookups, (lookups + distinct) * row};
}

/* What ranks computed to have this. */
static bool note_before(const struct maker *m, struct ss_input *out) {
  if (!ss_input_begin_before(out, m->options->ranks, m->arena)) return false;
  for (uint32_t r = 0; m->options->coalesces && m->origin->trace && r < m->options->ranks; r++)
    ss_input_coalesced(out, r, m->lookups[r] / m->factor, m->count[r] / m->factor);
  return true;
}

static bool make_one(const struct ss_origin *origin, const struct ss_input_options *options, struct ss_arena *arena,
                     struct ss_coalesce_scratch *scratch, struct ss_input *out, struct ss_error *error) {
  struct ss_input rows;
  if (options->values && origin->capacity > 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "\"capacity\" drops lookups, and what is sent here are their values: leave it out");
  if (options->bags && !check_bags(origin, options, error)) return false;
  if (!ss_input_shape(origin, false, &rows, error) || !ss_input_shape(origin, options->element, out, error))
    return false;
  struct ss_arena temporary = {0};
  struct maker m = {.origin = origin,
                    .options = options,
                    .arena = arena,
                    .temporary = &temporary,
                    .scratch = scratch,
                    .dropped = &out->dropped};
  m.factor = options->element ? rows.width : 1;
  bool ok = ss_take(arena, m.count, options->ranks) && ss_take(arena, m.lookups, options->ranks) &&
            ss_take(arena, m.row, options->ranks) && ss_take(arena, m.lookup, options->ranks) &&
            (!options->values || ss_take(arena, m.value, options->ranks)) &&
            (!options->bags || ss_take(arena, m.bagged, options->ranks));
  bool lists = origin->trace || origin->gradient || options->lists;
  for (uint32_t r = 0; ok && !origin->gradient && r < options->ranks; r++) {
    m.row[r] = m.lookup[r] = NULL;
    ok = origin->trace ? from_trace(&m, r) : from_uniform(&m, r);
  }
  if (ok && origin->gradient) ok = from_gradient(&m);
  ss_arena_free(&temporary);
  if (!ok) return ss_fail_memory(error, "reading an iteration");
  out->ranks = options->ranks;
  out->count = m.count;
  out->lookups = m.lookups;
  out->row = lists ? m.row : NULL;
  out->value = (const int64_t *const *)m.value;
  out->bagged = m.bagged;
  out->lookup = options->lookups && lists ? m.lookup : NULL;
  return !options->before || note_before(&m, out) || ss_fail_memory(error, "reading an iteration");
}

/* --- tables together ---------------------------------------------------------------------------------------- */

/* The lists of one rank in all tables of `out`, rows numbered on. */
static const uint32_t *append(const struct ss_input *each, const struct ss_input *out, uint32_t rank, bool lookups,
                              struct ss_arena *arena, uint64_t *count) {
  const struct ss_input_table *table = out->table;
  *count = 0;
  for (uint32_t k = 0; k < out->tables; k++) *count += lookups ? each[k].lookups[rank] : each[k].count[rank];
  uint32_t *all = ss_arena_alloc(arena, *count, sizeof *all), *at = all;
  for (uint32_t k = 0; all && k < out->tables; k++) {
    const uint32_t *rows = lookups ? each[k].lookup[rank] : each[k].row[rank];
    const uint64_t n = lookups ? each[k].lookups[rank] : each[k].count[rank];
    for (uint64_t i = 0; i < n; i++) *at++ = (uint32_t)table[k].low + rows[i];
  }
  return all;
}

/* Of one rank: tables, and their bags, one after the other. False: memory is short. */
static bool join_bags(const struct ss_input *each, const struct ss_input *out, uint32_t rank, struct ss_arena *arena,
                      struct ss_bagged *all) {
  uint64_t *first = ss_arena_zero(arena, (size_t)out->tables + 1, sizeof *first), n = 0;
  for (uint32_t k = 0; k < out->tables; k++) n += each[k].lookups[rank];
  uint32_t *row = ss_arena_alloc(arena, n, sizeof *row), *bag = ss_arena_alloc(arena, n, sizeof *bag);
  if (!first || !row || !bag) return false;
  *all = (struct ss_bagged){.first = first, .row = row, .bag = bag};
  for (uint32_t k = 0; k < out->tables; k++) {
    const struct ss_bagged *of = &each[k].bagged[rank];
    for (uint64_t i = 0; i < each[k].lookups[rank]; i++) {
      *row++ = (uint32_t)out->table[k].low + of->row[i];
      *bag++ = (uint32_t)all->count + of->bag[i];
    }
    all->count += of->count;
    first[k + 1] = all->count;
  }
  return true;
}

static bool join_all_bags(const struct ss_input *each, struct ss_arena *arena, struct ss_input *out,
                          struct ss_error *error) {
  struct ss_bagged *bagged;
  if (!each[0].bagged) return true;
  if (!ss_take(arena, bagged, out->ranks)) return ss_fail_memory(error, "reading an iteration");
  for (uint32_t r = 0; r < out->ranks; r++) {
    if (!join_bags(each, out, r, arena, &bagged[r])) return ss_fail_memory(error, "reading an iteration");
    if (bagged[r].count > UINT32_MAX)
      return ss_fail(error, SS_BAD_INPUT, "rank %u has %llu bags: at most 2^32 - 1 are numbered", r,
                     (unsigned long long)bagged[r].count);
  }
  out->bagged = bagged;
  return true;
}

static bool join(const struct ss_input *each, struct ss_arena *arena, struct ss_input *out) {
  const uint32_t ranks = out->ranks, tables = out->tables;
  const uint32_t **row, **lookup;
  uint64_t *count, *lookups;
  const bool lists = each[0].lookup;
  if (!ss_take(arena, row, ranks) || !ss_take(arena, lookup, ranks) || !ss_take(arena, count, ranks) ||
      !ss_take_zero(arena, lookups, ranks))
    return false;
  if (each[0].before && !ss_take_zero(arena, out->before, (uint64_t)ranks * SS_KERNELS)) return false;
  for (uint32_t r = 0; r < ranks; r++) {
    row[r] = append(each, out, r, false, arena, &count[r]);
    lookup[r] = lists ? append(each, out, r, true, arena, &lookups[r]) : NULL;
    if (!row[r] || (lists && !lookup[r])) return false;
    for (uint32_t k = 0; !lists && k < tables; k++) lookups[r] += each[k].lookups[r];
  }
  for (uint32_t k = 0; k < tables; k++) {
    out->dropped += each[k].dropped;
    for (uint32_t i = 0; each[k].before && i < ranks * SS_KERNELS; i++) {
      out->before[i].calls += each[k].before[i].calls;
      out->before[i].elements += each[k].before[i].elements;
      out->before[i].bytes += each[k].before[i].bytes;
    }
  }
  out->row = row;
  out->lookup = lists ? lookup : NULL;
  out->count = count;
  out->lookups = lookups;
  return true;
}

static bool make_joint(const struct ss_origin *origin, const struct ss_input_options *options, struct ss_arena *arena,
                       struct ss_coalesce_scratch *scratch, struct ss_input *out, struct ss_error *error) {
  const struct ss_joint *joint = origin->joint;
  SS_AUTO_FREE struct ss_input *each = ss_alloc(joint->tables, sizeof *each);
  struct ss_input_table *table = ss_arena_alloc(arena, joint->tables, sizeof *table);
  uint64_t low = 0;
  if (!each || !table) return ss_fail_memory(error, "reading an iteration");
  if (!joint_shape(origin, out, error)) return false;
  if (options->values || options->element)
    return ss_fail(error, SS_BAD_INPUT, "tables travel together by rows, not by elements or values");
  for (uint32_t k = 0; k < joint->tables; k++) {
    const struct ss_tensor *tensor = ss_trace_tensor(origin->trace, joint->tensor[k]);
    struct ss_origin one = *origin;
    one.joint = NULL;
    one.tensor = joint->tensor[k];
    if (!make_one(&one, options, arena, scratch, &each[k], error)) return false;
    table[k] =
        (struct ss_input_table){.name = tensor->name, .low = low, .rows = tensor->rows, .width = tensor->row_width};
    if (joint->shards) table[k].shards = &joint->shards[k];
    low += tensor->rows;
  }
  out->ranks = options->ranks;
  out->table = table;
  out->tables = joint->tables;
  if (!join(each, arena, out)) return ss_fail_memory(error, "reading an iteration");
  return join_all_bags(each, arena, out, error);
}

bool ss_input_make(const struct ss_origin *origin, const struct ss_input_options *options, struct ss_arena *arena,
                   struct ss_coalesce_scratch *scratch, struct ss_input *out, struct ss_error *error) {
  *out = (struct ss_input){0};
  return (origin->joint ? make_joint : make_one)(origin, options, arena, scratch, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
