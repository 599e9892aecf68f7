#include "scheme_traffic.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// NOLINTBEGIN(clang-analyzer-core.*): ranks are at least 1, and arrays are filled up to them before they are read;
// the analyzer does not follow the numbers from the layout to here

struct truth truth_of(const struct ss_trace *trace, uint64_t iteration, uint32_t merge, bool element) {
  const struct ss_tensor *tensor = ss_trace_tensor(trace, 0);
  uint32_t factor = element ? tensor->row_width : 1, rows = (uint32_t)tensor->rows;
  struct truth t = {.ranks = ss_trace_ranks(trace) / merge, .rows = rows * factor};
  t.trace = trace;
  t.iteration = iteration;
  t.merge = merge;
  t.width = element ? 1 : tensor->row_width;
  t.value_bytes = ss_dtype_bytes(tensor->dtype);
  t.n = calloc((size_t)t.ranks * t.rows + 1, sizeof *t.n);
  assert_non_null(t.n);
  for (uint32_t r = 0; r < t.ranks * merge; r++) {
    uint64_t count = ss_trace_count(trace, 0, iteration, r);
    uint32_t *ids = calloc(count + 1, sizeof *ids);
    assert_non_null(ids);
    ss_trace_rows(trace, 0, iteration, r, ids);
    for (uint64_t i = 0; i < count; i++)
      for (uint32_t c = 0; c < factor; c++) t.n[r / merge * t.rows + ids[i] * factor + c]++;
    free(ids);
  }
  return t;
}

uint64_t rows_in(const struct truth *t, uint32_t rank, uint64_t low, uint64_t high, bool lookups) {
  uint64_t n = 0;
  for (uint64_t row = low; row < high; row++) {
    uint32_t times = t->n[rank * t->rows + row];
    n += lookups ? times : times > 0;
  }
  return n;
}

uint64_t bags_in(const struct truth *t, uint32_t rank, uint64_t low, uint64_t high, bool padded) {
  uint64_t n = 0;
  for (uint32_t r = rank * t->merge; r < (rank + 1) * t->merge; r++) {
    const uint64_t *at = ss_trace_bag_offsets(t->trace, 0, t->iteration, r);
    uint32_t *ids = calloc(ss_trace_count(t->trace, 0, t->iteration, r) + 1, sizeof *ids);
    assert_non_null(ids);
    ss_trace_rows(t->trace, 0, t->iteration, r, ids);
    for (uint64_t b = 0; b < ss_trace_bags(t->trace, 0, t->iteration, r); b++) {
      bool any = padded;
      for (uint64_t i = at[b] - at[0]; i < at[b + 1] - at[0]; i++) any = any || (ids[i] >= low && ids[i] < high);
      n += any;
    }
    free(ids);
  }
  return n;
}

uint64_t union_in(const struct truth *t, uint64_t low, uint64_t high) {
  uint64_t n = 0;
  for (uint64_t row = low; row < high; row++) {
    bool any = false;
    for (uint32_t r = 0; r < t->ranks; r++) any = any || t->n[r * t->rows + row];
    n += any;
  }
  return n;
}

uint64_t cut(uint64_t n, uint32_t p, uint32_t j) {
  return n * j / p;
}

/* --- definitions: who sends whom how much ---------------------------------------------------------------- */

static void say(struct traffic *t, uint32_t from, uint32_t to, uint64_t bytes) {
  assert_true(from != to && from < MOST_ENDS && to < MOST_ENDS);
  t->messages++;
  t->sent[from] += bytes;
  t->received[to] += bytes;
}

static void announce(struct traffic *t, const struct ss_setting *setting) {
  uint32_t P = t->ranks;
  for (uint32_t step = 1; setting->exchange_sizes && step < P; step *= 2)
    for (uint32_t r = 0; r < P; r++) say(t, r, (r + P - step) % P, 8ull * (step < P - step ? step : P - step));
}

static void gather_ring(struct traffic *t, const uint64_t *block) {
  uint32_t P = t->ranks;
  for (uint32_t s = 1; s < P; s++)
    for (uint32_t r = 0; r < P; r++) say(t, r, (r + 1) % P, block[(r + P - s + 1) % P]);
}

static void gather_direct(struct traffic *t, const uint64_t *block) {
  uint32_t P = t->ranks;
  for (uint32_t s = 1; s < P; s++)
    for (uint32_t r = 0; r < P; r++) say(t, r, (r + s) % P, block[r]);
}

static void gather_bruck(struct traffic *t, const uint64_t *block) {
  uint32_t P = t->ranks;
  for (uint32_t step = 1; step < P; step *= 2)
    for (uint32_t r = 0; r < P; r++) {
      uint64_t bytes = 0;
      for (uint32_t i = 0; i < step && i < P - step; i++) bytes += block[(r + i) % P];
      say(t, r, (r + P - step) % P, bytes);
    }
}

/* The ranks that go on when P is no power of two: not the even ones of the first q pairs. */
static uint32_t core_ranks(uint32_t P, uint32_t *core, uint32_t *q) {
  uint32_t Q = 1, n = 0;
  while (2 * Q <= P) Q *= 2;
  *q = P - Q;
  for (uint32_t r = 0; r < P; r++)
    if (r >= 2 * *q || r % 2 == 1) core[n++] = r;
  assert_int_equal(n, Q);
  return Q;
}

static void gather_doubling(struct traffic *t, const uint64_t *block) {
  uint32_t P = t->ranks, core[MOST_RANKS] = {0}, q, Q = core_ranks(P, core, &q);
  uint64_t held[MOST_RANKS] = {0}, all = 0;
  for (uint32_t r = 0; r < P; r++) all += held[r] = block[r];
  for (uint32_t i = 0; i < q; i++) {
    say(t, 2 * i, 2 * i + 1, block[2 * i]);
    held[2 * i + 1] += block[2 * i];
  }
  for (uint32_t step = 1; step < Q; step *= 2) {
    for (uint32_t p = 0; p < Q; p++) say(t, core[p], core[p ^ step], held[core[p]]);
    for (uint32_t p = 0; p < Q; p++)
      if (p < (p ^ step)) held[core[p]] = held[core[p ^ step]] = held[core[p]] + held[core[p ^ step]];
  }
  for (uint32_t i = 0; i < q; i++) say(t, 2 * i + 1, 2 * i, all - block[2 * i]);
}

static const char *choice(const struct ss_setting *s, const char *name) {
  for (uint32_t i = 0; s->scheme->options[i].name; i++)
    if (strcmp(s->scheme->options[i].name, name) == 0) return s->scheme->options[i].choices[s->value[i]];
  fail_msg("no option %s", name);
  return NULL;
}

bool chosen(const struct ss_setting *s, const char *name, const char *value) {
  return strcmp(choice(s, name), value) == 0;
}

static void define_allgather(struct traffic *t, const struct truth *a, const struct ss_setting *s) {
  bool separate = *ss_setting_find(s, "separate"), lookups = !*ss_setting_find(s, "coalesce");
  for (uint32_t half = 0; half < 1u + separate; half++) {
    uint64_t block[MOST_RANKS] = {0};
    for (uint32_t r = 0; r < a->ranks; r++) {
      uint64_t n = rows_in(a, r, 0, a->rows, lookups), index = s->index_bytes, values = a->width * a->value_bytes;
      block[r] = n * (!separate ? index + values : half == 0 ? index : values);
    }
    announce(t, s);
    if (chosen(s, "algorithm", "ring")) gather_ring(t, block);
    if (chosen(s, "algorithm", "direct")) gather_direct(t, block);
    if (chosen(s, "algorithm", "bruck")) gather_bruck(t, block);
    if (chosen(s, "algorithm", "recursive-doubling")) gather_doubling(t, block);
  }
}

static uint64_t dense_bytes(const struct truth *a, uint32_t parts, uint32_t first, uint32_t end) {
  return (cut(a->rows, parts, end) - cut(a->rows, parts, first)) * a->width * a->value_bytes;
}

/* Of chunks each is a ring of its own, in P of all P * chunks shares that follow each other. */
static void reduce_ring(struct traffic *t, const struct truth *a, uint32_t chunks) {
  uint32_t P = t->ranks;
  for (uint32_t k = 0; k < chunks; k++) {
    uint64_t part[MOST_RANKS] = {0};
    for (uint32_t j = 0; j < P; j++) part[j] = dense_bytes(a, P * chunks, k * P + j, k * P + j + 1);
    for (uint32_t s = 1; s < P; s++)
      for (uint32_t r = 0; r < P; r++) say(t, r, (r + 1) % P, part[(r + P - s) % P]);
    gather_ring(t, part);
  }
}

static void reduce_rabenseifner(struct traffic *t, const struct truth *a) {
  uint32_t core[MOST_RANKS] = {0}, q, Q = core_ranks(t->ranks, core, &q);
  for (uint32_t i = 0; i < q; i++) say(t, 2 * i, 2 * i + 1, dense_bytes(a, 1, 0, 1));
  for (uint32_t half = Q / 2; half > 0; half /= 2)
    for (uint32_t p = 0; p < Q; p++) { /* halving: the half of the parts that the partner keeps */
      uint32_t theirs = (p ^ half) / half * half;
      say(t, core[p], core[p ^ half], dense_bytes(a, Q, theirs, theirs + half));
    }
  for (uint32_t half = 1; half < Q; half *= 2)
    for (uint32_t p = 0; p < Q; p++) /* doubling: all that it holds */
      say(t, core[p], core[p ^ half], dense_bytes(a, Q, p / half * half, p / half * half + half));
  for (uint32_t i = 0; i < q; i++) say(t, 2 * i + 1, 2 * i, dense_bytes(a, 1, 0, 1));
}

static void broadcast(struct traffic *t, uint32_t root, uint64_t bytes) {
  for (uint32_t v = 1; v < t->ranks; v++) { /* v receives from v without its lowest bit */
    uint32_t from = v & (v - 1);
    say(t, (from + root) % t->ranks, (v + root) % t->ranks, bytes);
  }
}

static void define_allreduce(struct traffic *t, const struct truth *a, const struct ss_setting *s) {
  if (chosen(s, "algorithm", "ring")) reduce_ring(t, a, (uint32_t)*ss_setting_find(s, "chunks"));
  if (chosen(s, "algorithm", "rabenseifner")) reduce_rabenseifner(t, a);
  if (!chosen(s, "algorithm", "tree")) return;
  for (uint32_t r = 1; r < t->ranks; r++) say(t, r, r & (r - 1), dense_bytes(a, 1, 0, 1));
  broadcast(t, 0, dense_bytes(a, 1, 0, 1));
}

/* Part j goes to its owner, and comes back. */
static void define_part(struct traffic *t, const struct truth *a, const struct ss_setting *s, uint32_t parts,
                        uint32_t j) {
  uint32_t P = t->ranks, owner = *ss_setting_find(s, "colocated") ? j : P + j;
  bool dense = *ss_setting_find(s, "dense"), rows = chosen(s, "pull", "rows"), all = chosen(s, "pull", "union");
  bool again = !*ss_setting_find(s, "coalesce");
  uint64_t entry = a->width * a->value_bytes + s->index_bytes, low = cut(a->rows, parts, j);
  uint64_t high = cut(a->rows, parts, j + 1), n = union_in(a, low, high), piece[MOST_RANKS] = {0};
  for (uint32_t r = 0; r < P; r++) {
    uint64_t whole = dense_bytes(a, parts, j, j + 1), mine = rows_in(a, r, low, high, false) * entry;
    piece[r] = (cut(n, P, r + 1) - cut(n, P, r)) * entry;
    if (r == owner) continue;
    say(t, r, owner, dense ? whole : rows_in(a, r, low, high, again) * entry); /* each row comes back once */
    if (all || rows) say(t, owner, r, dense ? whole : rows ? mine : n * entry);
    if (chosen(s, "pull", "broadcast-scatter")) say(t, owner, r, piece[r]);
  }
  if (chosen(s, "pull", "broadcast-binomial")) broadcast(t, j, n * entry);
  if (chosen(s, "pull", "broadcast-scatter")) gather_ring(t, piece);
}

static void define_ps(struct traffic *t, const struct truth *a, const struct ss_setting *s, uint32_t nodes) {
  uint32_t servers = (uint32_t)*ss_setting_find(s, "servers"), parts = servers ? servers : nodes;
  if (*ss_setting_find(s, "colocated")) parts = t->ranks;
  for (uint32_t way = 0; way < 2 && !*ss_setting_find(s, "dense"); way++) announce(t, s);
  for (uint32_t j = 0; j < parts; j++) define_part(t, a, s, parts, j);
}

static bool pools(const struct ss_setting *s) {
  return !chosen(s, "pooling", "none");
}

/* Rank i owns what it sends j as parameters, and gets from j as gradients. */
/* What rank i owns of the one table there is, and what it and j send each other of it. */
static void define_pair(struct traffic *t, const struct truth *a, const struct ss_setting *s, uint32_t i,
                        uint32_t j) {
  const uint32_t P = t->ranks;
  const bool by_row = chosen(s, "partition", "row"), whole = chosen(s, "partition", "table"),
             tokens = chosen(s, "exchange", "tokens"), again = tokens || !*ss_setting_find(s, "coalesce");
  uint64_t low = by_row ? cut(a->rows, P, i) : 0, high = by_row ? cut(a->rows, P, i + 1) : a->rows;
  uint64_t w = by_row ? a->width : cut(a->width, P, i + 1) - cut(a->width, P, i);
  if (whole) w = i == 0 ? a->width : 0; /* the only table is the first rank's */
  uint64_t index = s->index_bytes * (s->element ? w : 1), looked_up = rows_in(a, j, low, high, true);
  const bool ids = *ss_setting_find(s, "gather_ids") && (whole || chosen(s, "partition", "placed"));
  if (ids) say(t, j, i, w ? 8 * (looked_up + (pools(s) ? bags_in(a, j, 0, 0, true) : 0)) : 0);
  if (pools(s)) { /* a vector a bag, without an index */
    const uint64_t vectors = bags_in(a, j, low, high, chosen(s, "pooling", "padded")) * w * a->value_bytes;
    if (!chosen(s, "exchange", "gradients")) say(t, i, j, vectors);
    if (!chosen(s, "exchange", "lookups")) say(t, j, i, vectors);
    return;
  }
  if (!chosen(s, "exchange", "gradients")) say(t, i, j, looked_up * w * a->value_bytes);
  if (!chosen(s, "exchange", "lookups"))
    say(t, j, i, w ? rows_in(a, j, low, high, again) * (w * a->value_bytes + index) : 0);
}

static void define_alltoall(struct traffic *t, const struct truth *a, const struct ss_setting *s) {
  uint32_t P = t->ranks;
  uint64_t ids[MOST_RANKS] = {0};
  const bool all = chosen(s, "partition", "column") || chosen(s, "partition", "row");
  for (uint32_t r = 0; r < P; r++) ids[r] = 8 * rows_in(a, r, 0, a->rows, true);
  for (uint32_t r = 0; r < P && pools(s); r++) ids[r] += 8 * bags_in(a, r, 0, 0, true);
  if (all && *ss_setting_find(s, "gather_ids")) gather_ring(t, ids);
  if (!chosen(s, "exchange", "lookups") && !pools(s)) announce(t, s); /* owners have the ids of bags */
  for (uint32_t i = 0; i < P; i++)
    for (uint32_t j = 0; j < P; j++)
      if (i != j) define_pair(t, a, s, i, j);
}

/* --- parts and formats ------------------------------------------------------------------------------------ */

/* How a tensor is cut: whose every row is, where the parts' ranges begin and end, and how many rows each may hold.
 * `members[row]`: a bit for each rank that has it. */
struct plan {
  const struct truth *a;
  uint32_t parts, index_bytes, block;
  uint32_t *owner, *row; /* row[begin[j]..begin[j + 1]) are the rows of part j */
  uint64_t *members;
  uint64_t begin[MOST_RANKS + 1], low[MOST_RANKS], high[MOST_RANKS];
};

static const uint64_t everyone = UINT64_MAX;

/* ZEN's h0, from its definition. */
static uint32_t hashed_owner(uint64_t row, uint64_t seed, uint32_t parts) {
  unsigned char bytes[8];
  for (uint32_t i = 0; i < 8; i++) bytes[i] = (unsigned char)(row >> 8 * i);
  return (uint32_t)(((unsigned __int128)XXH64(bytes, sizeof bytes, seed) * parts) >> 64);
}

/* `boundary` NULL: by hash. */
static struct plan plan_of(const struct truth *a, const struct ss_setting *s, uint32_t parts,
                           const uint64_t *boundary, uint64_t seed, uint32_t block) {
  struct plan p = {.a = a, .parts = parts, .index_bytes = s->index_bytes, .block = block};
  uint64_t n = 0;
  p.owner = calloc(a->rows + 1, sizeof *p.owner);
  p.row = calloc(a->rows + 1, sizeof *p.row);
  p.members = calloc(a->rows + 1, sizeof *p.members);
  assert_true(p.owner && p.row && p.members && parts <= MOST_RANKS);
  for (uint32_t row = 0; row < a->rows; row++) {
    for (uint32_t r = 0; r < a->ranks; r++)
      if (a->n[r * a->rows + row]) p.members[row] |= UINT64_C(1) << r;
    if (!boundary) p.owner[row] = hashed_owner(a->first + row, seed, parts);
    else
      while (row >= boundary[p.owner[row] + 1]) p.owner[row]++;
  }
  for (uint32_t j = 0; j < parts; j++) {
    p.low[j] = boundary ? boundary[j] : 0;
    p.high[j] = boundary ? boundary[j + 1] : a->rows;
    p.begin[j] = n;
    for (uint32_t row = 0; row < a->rows; row++)
      if (p.owner[row] == j) p.row[n++] = row;
  }
  p.begin[parts] = n;
  assert_int_equal(n, a->rows);
  return p;
}

static struct plan plan_even(const struct truth *a, const struct ss_setting *s, uint32_t parts, uint32_t block) {
  uint64_t boundary[MOST_RANKS + 1];
  for (uint32_t j = 0; j <= parts; j++) boundary[j] = cut(a->rows, parts, j);
  return plan_of(a, s, parts, boundary, 0, block);
}

/* Boundary j is the row at floor(j |union| / P) of the union. */
static struct plan plan_sorted(const struct truth *a, const struct truth *found, const struct ss_setting *s,
                               uint32_t parts, uint32_t block) {
  uint64_t boundary[MOST_RANKS + 1] = {0}, all = union_in(found, 0, a->rows);
  for (uint32_t j = 0; j <= parts; j++) {
    uint64_t before = 0, row = 0, wanted = cut(all, parts, j);
    for (; row < a->rows && (before < wanted || !union_in(found, row, row + 1)); row++)
      before += union_in(found, row, row + 1);
    boundary[j] = j == 0 ? 0 : j == parts ? a->rows : all ? row : cut(a->rows, parts, j);
  }
  return plan_of(a, s, parts, boundary, 0, block);
}

static void plan_free(struct plan *p) {
  free(p->owner);
  free(p->row);
  free(p->members);
}

/* Blocks of the range that hold an element of a listed row: those that are marked. */
static uint64_t block_bytes(const struct plan *p, uint64_t mask, uint32_t j) {
  uint64_t elements = (p->high[j] - p->low[j]) * p->a->width, bytes = 0;
  bool *marked = calloc(elements / p->block + 1, sizeof *marked);
  assert_non_null(marked);
  for (uint64_t i = p->begin[j]; i < p->begin[j + 1]; i++)
    for (uint64_t c = 0; c < p->a->width && p->members[p->row[i]] & mask; c++)
      marked[((p->row[i] - p->low[j]) * p->a->width + c) / p->block] = true;
  for (uint64_t first = 0; first < elements; first += p->block)
    if (marked[first / p->block])
      bytes += (elements - first < p->block ? elements - first : p->block) * p->a->value_bytes + 4;
  free(marked);
  return bytes;
}

/* Part j of the union of the ranks in `mask`, in a format. */
static uint64_t piece(const struct plan *p, const char *format, uint64_t mask, uint32_t j) {
  const uint64_t row = p->a->width * p->a->value_bytes, range = p->high[j] - p->low[j];
  uint64_t n = 0;
  if (strcmp(format, "block") == 0) return block_bytes(p, mask, j);
  for (uint64_t i = p->begin[j]; i < p->begin[j + 1]; i++) n += (p->members[p->row[i]] & mask) != 0;
  if (strcmp(format, "coo") == 0) return n * (row + p->index_bytes);
  if (strcmp(format, "bitmap") == 0) return (range + 7) / 8 + n * row;
  if (strcmp(format, "hash-bitmap") == 0) return (p->begin[j + 1] - p->begin[j] + 7) / 8 + n * row;
  assert_string_equal(format, "smaller");
  return range * row < n * (row + p->index_bytes) ? range * row : n * (row + p->index_bytes);
}

static uint64_t just(uint32_t rank) {
  return UINT64_C(1) << rank;
}

/* --- pushes, pulls and running sums ------------------------------------------------------------------------ */

static void push_pairwise(struct traffic *t, const struct plan *p, const char *format, bool servers) {
  for (uint32_t r = 0; r < t->ranks; r++)
    for (uint32_t j = 0; j < p->parts; j++)
      if (servers || r != j) say(t, r, servers ? t->ranks + j : j, piece(p, format, just(r), j));
}

static void pull_direct(struct traffic *t, const struct plan *p, const char *format, bool servers) {
  for (uint32_t j = 0; j < p->parts; j++) {
    uint64_t bytes = piece(p, format, everyone, j);
    for (uint32_t r = 0; r < t->ranks; r++)
      if (servers || r != j) say(t, servers ? t->ranks + j : j, r, bytes);
  }
}

/* What a rank that has the tensors of `mask` sends of part j: one by one, or their sum. */
static uint64_t pile(const struct plan *p, const char *format, bool summed, uint64_t mask, uint32_t j) {
  uint64_t bytes = 0;
  if (summed) return piece(p, format, mask, j);
  for (uint32_t r = 0; r < p->a->ranks; r++)
    if (mask & just(r)) bytes += piece(p, format, just(r), j);
  return bytes;
}

/* The ranks whose tensors r has of what it passes on in step s. */
static uint64_t ring_mask(uint32_t P, uint32_t r, uint32_t s) {
  uint64_t mask = 0;
  for (uint32_t i = 0; i < s; i++) mask |= just((r + P - i) % P);
  return mask;
}

static void push_ring(struct traffic *t, const struct ss_setting *s, const struct plan *p, const char *format,
                      bool summed) {
  uint32_t P = t->ranks;
  for (uint32_t step = 1; step < P; step++) {
    if (summed || step == 1) announce(t, s);
    for (uint32_t r = 0; r < P; r++)
      say(t, r, (r + 1) % P, pile(p, format, summed, ring_mask(P, r, step), (r + P - step) % P));
  }
}

/* Recursive halving: members[c] core position c has them; parts that it stands for are its own, and its even
 * partner's. */
static void push_halving(struct traffic *t, const struct ss_setting *s, const struct plan *p, const char *format,
                         bool summed) {
  uint32_t P = t->ranks, core[MOST_RANKS] = {0}, q, Q = core_ranks(P, core, &q);
  uint64_t has[MOST_RANKS], before[MOST_RANKS];
  bool announced = false;
  for (uint32_t c = 0; c < Q; c++) has[c] = just(core[c]) | (c < q ? just(core[c] - 1) : 0);
  if (q > 0) announce(t, s), announced = true;
  for (uint32_t i = 0; i < q; i++) {
    uint64_t bytes = 0;
    for (uint32_t j = 0; j < P; j++) bytes += piece(p, format, just(2 * i), j);
    say(t, 2 * i, 2 * i + 1, bytes);
  }
  for (uint32_t half = Q / 2; half > 0; half /= 2) {
    if (summed || !announced) announce(t, s), announced = true;
    memcpy(before, has, sizeof before);
    for (uint32_t c = 0; c < Q; c++) {
      uint64_t bytes = 0;
      for (uint32_t d = (c ^ half) / half * half; d < (c ^ half) / half * half + half; d++) {
        bytes += pile(p, format, summed, before[c], core[d]);
        if (d < q) bytes += pile(p, format, summed, before[c], core[d] - 1);
      }
      say(t, core[c], core[c ^ half], bytes);
      has[c ^ half] |= before[c];
    }
  }
  if (q > 0 && summed) announce(t, s);
  for (uint32_t i = 0; i < q; i++) say(t, 2 * i + 1, 2 * i, piece(p, format, everyone, 2 * i));
}

static void running_doubling(struct traffic *t, const struct ss_setting *s, const struct plan *whole,
                             const char *format) {
  uint32_t P = t->ranks, core[MOST_RANKS] = {0}, q, Q = core_ranks(P, core, &q);
  uint64_t has[MOST_RANKS], before[MOST_RANKS];
  for (uint32_t c = 0; c < Q; c++) has[c] = just(core[c]) | (c < q ? just(core[c] - 1) : 0);
  if (q > 0) announce(t, s);
  for (uint32_t i = 0; i < q; i++) say(t, 2 * i, 2 * i + 1, piece(whole, format, just(2 * i), 0));
  for (uint32_t step = 1; step < Q; step *= 2) {
    announce(t, s);
    memcpy(before, has, sizeof before);
    for (uint32_t c = 0; c < Q; c++) {
      say(t, core[c], core[c ^ step], piece(whole, format, before[c], 0));
      has[c ^ step] |= before[c];
    }
  }
  if (q > 0) announce(t, s);
  for (uint32_t i = 0; i < q; i++) say(t, 2 * i + 1, 2 * i, piece(whole, format, everyone, 0));
}

static void running_ring(struct traffic *t, const struct ss_setting *s, const struct plan *whole,
                         const char *format) {
  uint32_t P = t->ranks;
  for (uint32_t step = 1; step < P; step++) {
    announce(t, s);
    for (uint32_t r = 0; r < P; r++) say(t, r, (r + 1) % P, piece(whole, format, ring_mask(P, r, step), 0));
  }
}

/* --- schemes that have them -------------------------------------------------------------------------------- */

static void define_sparcml_rd(struct traffic *t, const struct truth *a, const struct ss_setting *s) {
  struct plan whole = plan_even(a, s, 1, 1);
  running_doubling(t, s, &whole, "coo");
  plan_free(&whole);
}

static void define_sparcml_split(struct traffic *t, const struct truth *a, const struct ss_setting *s,
                                 const char *pull) {
  struct plan p = plan_even(a, s, t->ranks, 1);
  uint64_t block[MOST_RANKS];
  announce(t, s);
  push_pairwise(t, &p, "coo", false);
  announce(t, s);
  for (uint32_t j = 0; j < t->ranks; j++) block[j] = piece(&p, pull, everyone, j);
  gather_bruck(t, block);
  plan_free(&p);
}

static void define_omnireduce(struct traffic *t, const struct truth *a, const struct ss_setting *s) {
  uint32_t servers = (uint32_t)*ss_setting_find(s, "aggregators");
  struct plan p = plan_even(a, s, servers ? servers : t->ranks, (uint32_t)*ss_setting_find(s, "block"));
  announce(t, s);
  push_pairwise(t, &p, "block", servers);
  announce(t, s);
  pull_direct(t, &p, "block", servers);
  plan_free(&p);
}

void define_zen(struct traffic *t, const struct truth *a, const struct truth *found, const struct ss_setting *s) {
  const char *format = choice(s, "format");
  struct plan p;
  *t = (struct traffic){.ranks = a->ranks};
  if (chosen(s, "balance", "hash")) p = plan_of(a, s, t->ranks, NULL, *ss_setting_find(s, "seed"), 256);
  else if (chosen(s, "balance", "even")) p = plan_even(a, s, t->ranks, 256);
  else p = plan_sorted(a, found, s, t->ranks, 256);
  announce(t, s);
  push_pairwise(t, &p, strcmp(format, "block") == 0 ? "block" : "coo", false);
  announce(t, s);
  pull_direct(t, &p, format, false);
  plan_free(&p);
}

static void define_central(struct traffic *t, const struct truth *a, const struct ss_setting *s) {
  struct plan whole = plan_even(a, s, 1, 256);
  const char *format = choice(s, "format");
  bool summed = chosen(s, "aggregation", "incremental");
  uint64_t block[MOST_RANKS];
  for (uint32_t r = 0; r < t->ranks; r++) block[r] = piece(&whole, format, just(r), 0);
  if (!summed || chosen(s, "communication", "p2p")) {
    announce(t, s);
    if (chosen(s, "communication", "p2p")) gather_direct(t, block);
    if (chosen(s, "communication", "ring")) gather_ring(t, block);
    if (chosen(s, "communication", "hierarchy")) gather_doubling(t, block);
  } else {
    if (chosen(s, "communication", "ring")) running_ring(t, s, &whole, format);
    if (chosen(s, "communication", "hierarchy")) running_doubling(t, s, &whole, format);
  }
  plan_free(&whole);
}

static void define_design(struct traffic *t, const struct truth *a, const struct ss_setting *s) {
  if (chosen(s, "partition", "central")) {
    define_central(t, a, s);
    return;
  }
  struct plan p =
      chosen(s, "balance", "even") ? plan_even(a, s, t->ranks, 256) : plan_of(a, s, t->ranks, NULL, 1, 256);
  const char *push = chosen(s, "format", "block") ? "block" : "coo";
  bool summed = chosen(s, "aggregation", "incremental");
  if (chosen(s, "communication", "p2p")) {
    announce(t, s);
    push_pairwise(t, &p, push, false);
  }
  if (chosen(s, "communication", "ring")) push_ring(t, s, &p, push, summed);
  if (chosen(s, "communication", "hierarchy")) push_halving(t, s, &p, push, summed);
  announce(t, s);
  pull_direct(t, &p, choice(s, "format"), false);
  plan_free(&p);
}

bool define_flat(struct traffic *t, const struct truth *a, const struct ss_setting *s, uint32_t nodes) {
  const char *name = s->scheme->name;
  *t = (struct traffic){.ranks = a->ranks};
  assert_true(a->ranks <= MOST_RANKS);
  if (a->ranks == 1) return true;
  if (strcmp(name, "allreduce") == 0) define_allreduce(t, a, s);
  else if (strcmp(name, "allgather") == 0) define_allgather(t, a, s);
  else if (strcmp(name, "ps") == 0) define_ps(t, a, s, nodes);
  else if (strcmp(name, "alltoall") == 0) define_alltoall(t, a, s);
  else if (strcmp(name, "sparcml-rd") == 0) define_sparcml_rd(t, a, s);
  else if (strcmp(name, "sparcml-split") == 0) define_sparcml_split(t, a, s, "coo");
  else if (strcmp(name, "sparcml-dsar") == 0) define_sparcml_split(t, a, s, "smaller");
  else if (strcmp(name, "omnireduce") == 0) define_omnireduce(t, a, s);
  else if (strcmp(name, "zen") == 0) define_zen(t, a, a, s);
  else if (strcmp(name, "design") == 0) define_design(t, a, s);
  else return false;
  return true;
}

/* --- hierarchies ------------------------------------------------------------------------------------------- */

/* Rows [low, high), and of every node what its ranks have together. A node of one rank has what that looked up. */
static struct truth among_nodes(const struct truth *a, struct ss_layout layout, uint32_t low, uint32_t high) {
  struct truth t = {.ranks = layout.nodes, .rows = high - low, .width = a->width, .value_bytes = a->value_bytes};
  t.first = a->first + low;
  t.n = calloc((size_t)t.ranks * t.rows + 1, sizeof *t.n);
  assert_non_null(t.n);
  for (uint32_t r = 0; r < a->ranks; r++)
    for (uint32_t row = 0; row < t.rows; row++) {
      uint32_t node = r / layout.per_node, times = a->n[r * a->rows + low + row];
      bool alone = node * layout.per_node + 1 == a->ranks;
      if (times) t.n[node * t.rows + row] = alone ? times : 1;
    }
  return t;
}

/* Ring reduce-scatter and ring all-gather of dense parts, or binomial trees, inside a node of ranks [first, end). */
static void define_node(struct traffic *t, const struct truth *a, enum ss_hierarchy hierarchy, uint32_t first,
                        uint32_t end) {
  struct traffic node = {.ranks = end - first};
  if (hierarchy == SS_SHARD) {
    reduce_ring(&node, a, 1);
  } else {
    for (uint32_t r = 1; r < node.ranks; r++) say(&node, r, r & (r - 1), dense_bytes(a, 1, 0, 1));
    broadcast(&node, 0, dense_bytes(a, 1, 0, 1));
  }
  t->messages += node.messages;
  for (uint32_t i = 0; i < node.ranks; i++) {
    t->sent[first + i] += node.sent[i];
    t->received[first + i] += node.received[i];
  }
}

static bool define_team(struct traffic *t, const struct truth *a, const struct ss_setting *s, struct ss_layout layout,
                        uint32_t shard, uint32_t shards) {
  struct truth part =
      among_nodes(a, layout, (uint32_t)cut(a->rows, shards, shard), (uint32_t)cut(a->rows, shards, shard + 1));
  struct traffic team;
  bool known = define_flat(&team, &part, s, layout.nodes);
  uint32_t servers = 0;
  for (uint32_t e = layout.nodes; known && e < MOST_ENDS; e++)
    if (team.sent[e] + team.received[e] > 0) servers = e - layout.nodes + 1;
  if (layout.nodes > 1) servers = ss_setting_traits(s, (struct ss_layout){layout.nodes, layout.nodes, 1}).servers;
  for (uint32_t e = 0; known && e < layout.nodes + servers; e++) {
    uint32_t to = e < layout.nodes ? e * layout.per_node + shard : layout.ranks + shard * servers + e - layout.nodes;
    assert_true(to < MOST_ENDS);
    t->sent[to] += team.sent[e];
    t->received[to] += team.received[e];
  }
  t->messages += team.messages;
  free(part.n);
  return known;
}

bool define(struct traffic *t, const struct truth *a, const struct ss_setting *s, struct ss_layout layout) {
  if (s->hierarchy == SS_FLAT) return define_flat(t, a, s, layout.nodes);
  uint32_t g = layout.per_node, inside = layout.ranks < g ? layout.ranks : g;
  uint32_t shards = s->hierarchy == SS_SHARD ? inside : 1;
  bool known = true;
  *t = (struct traffic){.ranks = a->ranks};
  for (uint32_t first = 0; first < layout.ranks; first += g)
    define_node(t, a, s->hierarchy, first, first + g < layout.ranks ? first + g : layout.ranks);
  for (uint32_t i = 0; known && i < shards; i++) known = define_team(t, a, s, layout, i, shards);
  return known;
}

/* --- comparing --------------------------------------------------------------------------------------------- */

static uint64_t most(const uint64_t *values, uint32_t from, uint32_t to) {
  uint64_t m = 0;
  for (uint32_t i = from; i < to; i++) m = values[i] > m ? values[i] : m;
  return m;
}

void check_traffic(const struct traffic *t, const struct ss_outcome *o, const char *words) {
  uint64_t bytes = 0;
  for (uint32_t e = 0; e < MOST_ENDS; e++) bytes += t->sent[e];
  if (o->tally.bytes != bytes || o->tally.messages != t->messages)
    fail_msg("%s: %llu bytes in %llu messages, by definition %llu in %llu", words, (unsigned long long)o->tally.bytes,
             (unsigned long long)o->tally.messages, (unsigned long long)bytes, (unsigned long long)t->messages);
  for (uint32_t r = 0; r < t->ranks; r++)
    if (o->rank_sent[r] != t->sent[r] || o->rank_received[r] != t->received[r])
      fail_msg("%s: rank %u sent %llu and received %llu bytes, by definition %llu and %llu", words, r,
               (unsigned long long)o->rank_sent[r], (unsigned long long)o->rank_received[r],
               (unsigned long long)t->sent[r], (unsigned long long)t->received[r]);
  uint64_t sent = most(t->sent, t->ranks, MOST_ENDS), received = most(t->received, t->ranks, MOST_ENDS);
  assert_int_equal(o->tally.sent_max, most(t->sent, 0, t->ranks));
  assert_int_equal(o->tally.received_max, most(t->received, 0, t->ranks));
  assert_int_equal(o->tally.server_max, sent > received ? sent : received);
}
// NOLINTEND(clang-analyzer-core.*)
