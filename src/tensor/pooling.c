#include "tensor/pooling.h"

#include "base/base.h"

/* What a rank looked up, range after range, of each in the order of bags. */
struct ss_pooled_rank {
  uint64_t *at;        /* [ranges + 1] lookups before each range */
  uint32_t *row, *bag; /* [lookups] */
  uint64_t *some_at;   /* [ranges + 1] likewise of: */
  uint32_t *some;      /* bags with a row in the range, each once */
};

/* The range of table's rows that has the row: those of the table are [first, end). */
static uint32_t range_of(const struct ss_pooling *p, uint32_t first, uint32_t end, uint64_t row) {
  while (end - first > 1) {
    const uint32_t middle = first + (end - first) / 2;
    if (p->range[middle].low > row) end = middle;
    else first = middle;
  }
  return first;
}

/* Calls `note` for each lookup, in the order of bags, with its range. */
static void each_lookup(const struct ss_pooling *p, uint32_t rank,
                        void (*note)(struct ss_pooled_rank *, uint32_t range, uint32_t row, uint32_t bag)) {
  const struct ss_bagged *b = &p->bagged[rank];
  uint32_t first = 0, end = 0;
  for (uint64_t i = 0; i < p->lookups[rank]; i++) {
    while (end == first || b->bag[i] >= b->first[p->range[first].table + 1]) {
      for (first = end; end < p->ranges && p->range[end].table == p->range[first].table;) end++;
    }
    note(&p->rank[rank], range_of(p, first, end, b->row[i]), b->row[i], b->bag[i]);
  }
}

static void count_lookup(struct ss_pooled_rank *r, uint32_t range, uint32_t row, uint32_t bag) {
  (void)row;
  (void)bag;
  r->at[range + 1]++;
}

static void put_lookup(struct ss_pooled_rank *r, uint32_t range, uint32_t row, uint32_t bag) {
  r->row[r->at[range]] = row;
  r->bag[r->at[range]++] = bag;
}

/* Every bag of a range once. */
static void list_bags(struct ss_pooled_rank *r, uint32_t ranges) {
  uint64_t n = 0;
  for (uint32_t k = 0; k < ranges; k++) {
    r->some_at[k] = n;
    for (uint64_t i = r->at[k]; i < r->at[k + 1]; i++)
      if (i == r->at[k] || r->bag[i] != r->bag[i - 1]) r->some[n++] = r->bag[i];
  }
  r->some_at[ranges] = n;
}

static bool sort_rank(struct ss_pooling *p, uint32_t rank, struct ss_arena *arena) {
  struct ss_pooled_rank *r = &p->rank[rank];
  const uint64_t n = p->lookups[rank];
  if (!ss_take_zero(arena, r->at, (size_t)p->ranges + 1) || !ss_take(arena, r->some_at, (size_t)p->ranges + 1) ||
      !ss_take(arena, r->row, n) || !ss_take(arena, r->bag, n) || !ss_take(arena, r->some, n))
    return false;
  each_lookup(p, rank, count_lookup);
  for (uint32_t k = 0; k < p->ranges; k++) r->at[k + 1] += r->at[k];
  each_lookup(p, rank, put_lookup);
  memmove(r->at + 1, r->at, p->ranges * sizeof *r->at); /* each had come to be where the next one's begin */
  r->at[0] = 0;
  list_bags(r, p->ranges);
  return true;
}

bool ss_pooling_open(struct ss_pooling *p, bool padded, struct ss_arena *arena, struct ss_error *error) {
  uint64_t most = 0;
  uint32_t *all = NULL;
  for (uint32_t r = 0; r < p->ranks; r++)
    if (p->bagged[r].count > most) most = p->bagged[r].count;
  if (!ss_take(arena, p->rank, p->ranks) || (padded && !ss_take(arena, all, most)))
    return ss_fail_memory(error, "listing bags");
  for (uint64_t i = 0; all && i < most; i++) all[i] = (uint32_t)i;
  p->all = all;
  for (uint32_t r = 0; r < p->ranks; r++)
    if (!sort_rank(p, r, arena)) return ss_fail_memory(error, "listing bags");
  return true;
}

struct ss_chunk ss_pooling_bags(const struct ss_pooling *p, uint32_t rank, uint32_t range) {
  const struct ss_pooled_rank *r = &p->rank[rank];
  const uint32_t table = p->range[range].table;
  const uint64_t low = p->bagged[rank].first[table], high = p->bagged[rank].first[table + 1];
  struct ss_chunk bags = {.low = low, .high = high, .distinct = true};
  bags.rows = p->all ? p->all + low : r->some + r->some_at[range];
  bags.count = p->all ? high - low : r->some_at[range + 1] - r->some_at[range];
  return bags;
}

uint64_t ss_pooling_lookups(const struct ss_pooling *p, uint32_t rank, uint32_t range) {
  return p->rank[rank].at[range + 1] - p->rank[rank].at[range];
}

/* --- content ------------------------------------------------------------------------------------------------ */

/* What bags are filled with. */
struct filling {
  uint64_t *marks; /* [count], zero; NULL: none */
  float *values;   /* [count * width], zero; NULL: none */
};

static bool begin(const struct ss_pool_content *content, struct ss_chunk *bags, struct filling *out,
                  struct ss_error *error) {
  *out = (struct filling){0};
  if (content->marks && !ss_take_zero(content->arena, out->marks, bags->count))
    return ss_fail_memory(error, "pooling");
  if (content->values) {
    out->values = ss_arena_zero(content->arena, bags->count * bags->width, sizeof *out->values);
    if (!out->values) return ss_fail_memory(error, "pooling");
  }
  bags->stride = bags->width;
  if (content->marks) {
    bags->marks = out->marks;
    bags->kind = SS_CHUNK_PROOFS;
  }
  bags->values = out->values;
  return true;
}

static void add(const struct ss_pool_content *content, const struct filling *to, uint32_t width, uint64_t at,
                uint64_t mark) {
  if (to->marks) to->marks[at] += mark;
  for (uint32_t c = 0; to->values && c < width; c++)
    to->values[at * width + c] += ss_contribution_value(mark, content->column + c);
}

bool ss_pooling_parameters(const struct ss_pooling *p, uint32_t rank, uint32_t range,
                           const struct ss_pool_content *content, struct ss_chunk *bags, struct ss_error *error) {
  const struct ss_pooled_rank *r = &p->rank[rank];
  struct filling to;
  uint64_t at = 0;
  if (!begin(content, bags, &to, error)) return false;
  for (uint64_t i = r->at[range]; i < r->at[range + 1] && bags->count > 0; i++) {
    while (bags->rows[at] != r->bag[i]) at++; /* every bag with a lookup here is listed */
    add(content, &to, bags->width, at, ss_contribution(SS_PARAMETERS, r->row[i], 0));
  }
  return true;
}

bool ss_pooling_gradients(uint32_t rank, const struct ss_pool_content *content, struct ss_chunk *bags,
                          struct ss_error *error) {
  struct filling to;
  if (!begin(content, bags, &to, error)) return false;
  for (uint64_t i = 0; i < bags->count; i++)
    add(content, &to, bags->width, i, ss_contribution(rank, bags->rows[i], 0));
  return true;
}

/* --- from bags to rows -------------------------------------------------------------------------------------- */

static int by_row(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static bool copy_content(const struct ss_chunk *bags, const uint64_t *key, struct ss_arena *arena,
                         struct ss_chunk *out) {
  uint64_t *marks = NULL;
  float *values = NULL;
  const uint32_t width = bags->width;
  if (bags->kind != SS_CHUNK_BARE && !ss_take(arena, marks, out->count)) return false;
  if (bags->values) {
    values = ss_arena_alloc(arena, out->count * width, sizeof *values);
    if (!values) return false;
  }
  for (uint64_t i = 0; i < out->count; i++) {
    const uint64_t at = (uint32_t)key[i];
    if (marks) marks[i] = ss_chunk_mark(bags, at);
    if (values) memcpy(values + i * width, bags->values + at * bags->stride, width * sizeof *values);
  }
  if (marks) {
    out->marks = marks;
    out->kind = SS_CHUNK_PROOFS;
  }
  out->values = values;
  return true;
}

bool ss_pooling_spread(const struct ss_pooling *p, uint32_t rank, uint32_t range, const struct ss_chunk *bags,
                       struct ss_arena *arena, struct ss_chunk *out) {
  const struct ss_pooled_rank *r = &p->rank[rank];
  const uint64_t most = ss_pooling_lookups(p, rank, range);
  uint64_t *key, n = 0, at = 0; /* row, and where its bag stands */
  uint32_t *rows;
  if (!ss_take(arena, key, most) || !ss_take(arena, rows, most)) return false;
  for (uint64_t i = r->at[range]; i < r->at[range + 1]; i++) {
    while (at < bags->count && bags->rows[at] < r->bag[i]) at++;
    if (at < bags->count && bags->rows[at] == r->bag[i]) key[n++] = (uint64_t)r->row[i] << 32 | at;
  }
  qsort(key, n, sizeof *key, by_row);
  for (uint64_t i = 0; i < n; i++) rows[i] = (uint32_t)(key[i] >> 32);
  *out = (struct ss_chunk){.rows = rows,
                           .count = n,
                           .low = p->range[range].low,
                           .high = p->range[range].high,
                           .width = bags->width,
                           .stride = bags->width};
  return copy_content(bags, key, arena, out);
}
/* SPDX-License-Identifier: Apache-2.0 */
