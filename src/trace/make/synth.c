#include "trace/make/synth.h"

#include "base/estimate.h"
#include "base/random.h"
#include "trace/file/trace_internal.h"
#include "trace/make/drawn.h"
#include "trace/make/zipf.h"

enum { DISTINCT_MAX = 256 }; /* each draw is held against those before it */

/* Streams of random numbers under one seed. */
enum { STREAM_LOOKUPS = 1, STREAM_SHUFFLE, STREAM_SCATTER, STREAM_SHARED };

const char *const ss_ids_names[] = {"shuffled", "popularity", NULL};

void ss_synth_defaults(struct ss_synth *out) {
  *out = (struct ss_synth)SS_SYNTH_DEFAULTS(SS_SYNTH_LOOKUPS);
}

bool ss_synth_same_law(const struct ss_synth *a, const struct ss_synth *b) {
  return !a->reuse && !b->reuse && a->rows == b->rows && a->distinct == b->distinct && a->zipf == b->zipf &&
         a->hot == b->hot && a->hot_rows == b->hot_rows && a->hot_zipf == b->hot_zipf && a->shared == b->shared &&
         a->ids == b->ids && a->scatter == b->scatter && a->seed == b->seed;
}

/* A pseudo-random permutation of 0..rows-1 without a table: four Feistel rounds on the next even number of bits,
 * walked until the value falls into the range (twice on average at most four times). */
static uint32_t shuffled(uint64_t seed, uint64_t rows, uint64_t id) {
  const unsigned bits = rows > 1 ? 64u - (unsigned)__builtin_clzll(rows - 1) : 1;
  const unsigned half = (bits + 1) / 2;
  const uint64_t mask = (UINT64_C(1) << half) - 1, key = ss_mix(seed, STREAM_SHUFFLE);
  do {
    uint64_t left = id >> half, right = id & mask;
    for (uint64_t round = 0; round < 4; round++) {
      const uint64_t next = left ^ (ss_mix(key + round, right) & mask);
      left = right;
      right = next;
    }
    id = left << half | right;
  } while (id >= rows);
  return (uint32_t)id;
}

static bool scattered(const struct ss_synth *synth, uint64_t row) {
  return synth->scatter > 0 && ss_unit(ss_mix(ss_mix(synth->seed, STREAM_SCATTER), row)) < synth->scatter;
}

/* Where the row of that popularity lies, by a table where there is one. Scattered rows change places among
 * themselves: the shuffle is walked until it meets another of them. */
static uint32_t place(const struct ss_synth *synth, const uint32_t *table, uint64_t popularity) {
  if (table) return table[popularity];
  if (synth->ids == SS_IDS_SHUFFLED) return shuffled(synth->seed, synth->rows, popularity);
  if (!scattered(synth, popularity)) return (uint32_t)popularity;
  uint64_t row = popularity;
  do row = shuffled(synth->seed, synth->rows, row);
  while (!scattered(synth, row));
  return (uint32_t)row;
}

/* What one rank looks up in one iteration. */
struct segment {
  uint64_t iteration;
  uint32_t rank;
};

/* How rows are drawn: those of the hot set, and by one of the two the others. */
struct draws {
  struct ss_zipf hot, zipf;
  struct ss_reuse_law reuse;
  const uint32_t *place; /* of each row by popularity; NULL: found for each lookup */
};

static uint32_t lookup(const struct ss_synth *synth, const struct draws *draws, uint64_t key) {
  const bool hot = synth->hot > 0 && ss_unit(ss_mix(key, 0)) < synth->hot;
  const bool even = hot && synth->hot_zipf == 0;
  return place(synth, draws->place,
               even           ? ss_below(ss_mix(key, 1), synth->hot_rows)
               : hot          ? ss_zipf_draw(&draws->hot, ss_mix(key, 1))
               : synth->reuse ? ss_reuse_draw(&draws->reuse, ss_mix(key, 2))
                              : ss_zipf_draw(&draws->zipf, ss_mix(key, 2)));
}

/* One that none of the `before` is: drawn again; but where hardly any other row is ever drawn, the next free one. */
static uint32_t another(const struct ss_synth *synth, const struct draws *draws, uint64_t key, const uint32_t *drawn,
                        uint64_t before) {
  enum { TRIES = 64, FIRST_STREAM = 3 };
  uint32_t row = lookup(synth, draws, key);
  for (uint64_t i = 0, tries = 0; i < before;) {
    if (row != drawn[i++]) continue;
    if (++tries < TRIES) row = lookup(synth, draws, ss_mix(key, FIRST_STREAM + tries));
    else row = (uint64_t)row + 1 < synth->rows ? row + 1 : 0;
    i = 0;
  }
  return row;
}

static void draw(const struct ss_synth *synth, const struct draws *draws, struct segment at, uint64_t known,
                 uint32_t *out) {
  const uint64_t key = ss_mix(ss_mix(ss_mix(synth->seed, STREAM_LOOKUPS), at.iteration), at.rank);
  const uint64_t all = ss_mix(ss_mix(synth->seed, STREAM_SHARED), at.iteration);
  for (uint64_t n = known; n < synth->lookups; n++) {
    const uint64_t before = n % synth->distinct;
    const bool shared = synth->shared > 0 && ss_unit(ss_mix(all, n)) < synth->shared;
    out[n] = another(synth, draws, ss_mix(shared ? all + 1 : key, n), out + n - before, before);
  }
}

/* Of a trace that is made on the way. */
struct law {
  struct ss_rows_made made;
  struct ss_synth synth;
  struct draws draws;
};

static void draw_again(const void *of, uint64_t iteration, uint32_t rank, uint32_t *out) {
  const struct law *law = of;
  draw(&law->synth, &law->draws, (struct segment){iteration, rank}, 0, out);
}

static void fill(const struct ss_synth *synth, const struct draws *draws, uint32_t *rows) {
  const int64_t segments = (int64_t)(synth->iterations * synth->ranks);
  struct ss_drawn_law *drawn = ss_drawn_open(synth->drawn, synth);
  uint64_t spared = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : spared)
  for (int64_t segment = 0; segment < segments; segment++) {
    const uint64_t iteration = (uint64_t)segment / synth->ranks;
    const uint32_t rank = (uint32_t)((uint64_t)segment % synth->ranks);
    uint32_t *out = rows + (uint64_t)segment * synth->lookups;
    const uint64_t known = ss_drawn_take(drawn, iteration, rank, out, synth->lookups);
    draw(synth, draws, (struct segment){iteration, rank}, known, out);
    ss_drawn_put(drawn, iteration, rank, out, synth->lookups);
    spared += known;
  }
  ss_drawn_close(drawn, spared);
}

static bool within(const char *name, const char *what, double value, double most, struct ss_error *error) {
  return (value >= 0 && value <= most) ||
         ss_fail(error, SS_BAD_INPUT, "%s: %s of %g is not from 0 to %g", name, what, value, most);
}

/* Of the law that rows are drawn by. */
static bool check_law(const struct ss_synth *synth, struct ss_error *error) {
  enum { STEEPEST = 20 };
  if (!within("zipf", "an exponent", synth->zipf, STEEPEST, error)) return false;
  if (synth->reuse && (synth->hot > 0 || synth->zipf != 1))
    return ss_fail(error, SS_BAD_INPUT, "reuse: a histogram takes the place of Zipf's law and of the hot set");
  if (!within("hot", "a share", synth->hot, 1, error)) return false;
  if (synth->rows < 1 || synth->rows > UINT32_MAX)
    return ss_fail(error, SS_BAD_INPUT, "rows: %" PRIu64 " is not from 1 to %" PRIu32, synth->rows, UINT32_MAX);
  if (synth->hot_rows > 0 && !(synth->hot > 0))
    return ss_fail(error, SS_BAD_INPUT, "hot_rows: no lookup goes to a hot set of share 0 (say \"hot\", too)");
  if (synth->hot > 0 && (synth->hot_rows < 1 || synth->hot_rows > synth->rows))
    return ss_fail(error, SS_BAD_INPUT, "hot_rows: %" PRIu64 " is not from 1 to the table's %" PRIu64 " rows",
                   synth->hot_rows, synth->rows);
  if (!within("hot_zipf", "an exponent", synth->hot_zipf, STEEPEST, error)) return false;
  if (synth->hot_zipf > 0 && !(synth->hot > 0))
    return ss_fail(error, SS_BAD_INPUT, "hot_zipf: there is no hot set, which takes hot and hot_rows");
  if (!within("shared", "a share", synth->shared, 1, error)) return false;
  if (synth->scatter > 0 && synth->ids == SS_IDS_SHUFFLED)
    return ss_fail(error, SS_BAD_INPUT, "scatter: shuffled ids lie anywhere already, so it takes ids by popularity");
  return within("scatter", "a share", synth->scatter, 1, error);
}

/* Ranges only; what files and built traces share is checked when the trace is made. */
static bool check(const struct ss_synth *synth, struct ss_error *error) {
  if (!check_law(synth, error)) return false;
  if (synth->distinct < 1 || synth->distinct > synth->rows || synth->distinct > DISTINCT_MAX)
    return ss_fail(error, SS_BAD_INPUT,
                   "distinct: %" PRIu64 " is not from 1 to the table's %" PRIu64 " rows, at most %d", synth->distinct,
                   synth->rows, DISTINCT_MAX);
  if (synth->ranks < 1 || synth->ranks > SS_RANKS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "ranks: %" PRIu32 " is not from 1 to %" PRIu32, synth->ranks, SS_RANKS_MAX);
  if (synth->iterations < 1) return ss_fail(error, SS_BAD_INPUT, "iterations: 0 is not at least 1");
  if (synth->lookups < 1) return ss_fail(error, SS_BAD_INPUT, "lookups: 0 is not at least 1");
  uint64_t segments, total;
  if (!ss_mul_u64(synth->iterations, synth->ranks, &segments) || !ss_mul_u64(segments, synth->lookups, &total) ||
      total > SIZE_MAX / 16)
    return ss_fail(error, SS_BAD_INPUT,
                   "lookups: %" PRIu64 " for %" PRIu64 " iterations of %" PRIu32 " ranks are too many",
                   synth->lookups, synth->iterations, synth->ranks);
  return true;
}

static void describe(const struct ss_synth *synth, const struct draws *draws, char *out, size_t size) {
  char hot[140] = "no hot set", law[100], distinct[60] = "", shared[60] = "", scatter[60] = "";
  if (synth->reuse)
    (void)snprintf(law, sizeof law, "a histogram of reuse (expected shares at most %.2g off)", draws->reuse.off);
  else (void)snprintf(law, sizeof law, "Zipf exponent %.17g", synth->zipf);
  if (synth->distinct > 1)
    (void)snprintf(distinct, sizeof distinct, " of which each %" PRIu64 " are of different rows", synth->distinct);
  if (synth->hot > 0)
    (void)snprintf(hot, sizeof hot, "%.17g of the lookups in a common hot set of %" PRIu64 " rows", synth->hot,
                   synth->hot_rows);
  if (synth->hot_zipf > 0)
    (void)snprintf(hot + strlen(hot), sizeof hot - strlen(hot), " with exponent %.17g", synth->hot_zipf);
  if (synth->scatter > 0) (void)snprintf(scatter, sizeof scatter, " but for %.17g of the rows", synth->scatter);
  if (synth->shared > 0)
    (void)snprintf(shared, sizeof shared, ", %.17g of them the same on all ranks", synth->shared);
  (void)snprintf(out, size,
                 "synthetic: %s over %" PRIu64 " rows, %" PRIu64 " lookups a rank%s%s, %s, ids %s%s, seed %" PRIu64,
                 law, synth->rows, synth->lookups, distinct, shared, hot,
                 synth->ids == SS_IDS_SHUFFLED ? "shuffled" : "by popularity", scatter, synth->seed);
}

/* Where many lookups fall on few rows, each row's place is found once, and kept in the arena. Without memory for that
 * it is found anew: NULL. */
static const uint32_t *lay_out(const struct ss_synth *synth, struct ss_arena *arena) {
  enum { LOOKUPS_OF_A_ROW = 4 };
  if (synth->ids != SS_IDS_SHUFFLED) return NULL;
  if (synth->rows > synth->iterations * synth->ranks * synth->lookups / LOOKUPS_OF_A_ROW) return NULL;
  uint32_t *place = ss_arena_alloc(arena, synth->rows, sizeof *place);
#pragma omp parallel for
  for (uint64_t row = 0; row < (place ? synth->rows : 0); row++) place[row] = shuffled(synth->seed, synth->rows, row);
  return place;
}

/* What is of different rows makes a bag: a token with its experts. */
static bool make_bags(const struct ss_synth *synth, uint64_t segments, struct ss_arena *data, struct ss_bags *out) {
  const uint64_t each = (synth->lookups - 1) / synth->distinct + 1;
  uint64_t *first = ss_arena_alloc(data, segments + 1, sizeof *first);
  uint64_t *offsets = ss_arena_alloc(data, segments * each + 1, sizeof *offsets);
  if (!first || !offsets) return false;
  for (uint64_t s = 0; s <= segments; s++) first[s] = s * each;
  for (uint64_t b = 0; b <= segments * each; b++) offsets[b] = b / each * synth->lookups + b % each * synth->distinct;
  *out = (struct ss_bags){first, offsets};
  return true;
}

static bool make(const struct ss_synth *synth, struct draws *draws, struct ss_arena *data, struct ss_trace **out,
                 struct ss_error *error) {
  const uint64_t segments = synth->iterations * synth->ranks;
  const uint64_t bytes = ss_estimate_mul(segments * synth->lookups, sizeof(uint32_t));
  const bool held = synth->held == 0 || bytes <= synth->held || synth->reuse;
  char source[500];
  if (held && !ss_estimate_fits(bytes, "fewer iterations, ranks or lookups take less", error, "a synthetic trace"))
    return false;
  uint64_t *offsets = ss_arena_alloc(data, segments + 1, sizeof *offsets);
  uint32_t *rows = held ? ss_arena_alloc(data, segments * synth->lookups, sizeof *rows) : NULL;
  struct law *law = ss_arena_alloc(data, 1, sizeof *law);
  SS_AUTO_FREE uint64_t *tokens = ss_alloc(segments, sizeof *tokens);
  if (!offsets || (held && !rows) || !law || !tokens) return ss_fail_memory(error, "making a synthetic trace");
  for (uint64_t i = 0; i <= segments; i++) offsets[i] = i * synth->lookups;
  for (uint64_t i = 0; i < segments; i++) tokens[i] = synth->lookups;
  SS_AUTO(ss_arena_free) struct ss_arena now = {0};
  draws->place = lay_out(synth, held ? &now : data);
  *law = (struct law){{draw_again, law}, *synth, *draws};
  if (held) fill(synth, draws, rows);
  struct ss_bags bags = {NULL, NULL};
  if (synth->distinct > 1 && !make_bags(synth, segments, data, &bags))
    return ss_fail_memory(error, "making a synthetic trace");
  describe(synth, draws, source, sizeof source);

  const struct ss_tensor tensor = {synth->tensor, synth->rows, synth->row_width, synth->dtype};
  const uint32_t *const drawn = rows;
  const struct ss_trace_content content = {.source = source,
                                           .iterations = synth->iterations,
                                           .ranks = synth->ranks,
                                           .tensors = 1,
                                           .tensor = &tensor,
                                           .offsets = (const uint64_t *const[]){offsets},
                                           .rows = held ? &drawn : NULL,
                                           .made = held ? NULL : &law->made,
                                           .tokens = tokens,
                                           .bags = &bags,
                                           .pad_id = -1};
  return ss_trace_adopt("synthetic", &content, data, out, error);
}

bool ss_trace_synth(const struct ss_synth *synth, struct ss_trace **out, struct ss_error *error) {
  SS_AUTO(ss_arena_free) struct ss_arena data = {0};
  struct draws draws = {0};
  if (!check(synth, error)) return false;
  if (synth->reuse && !ss_reuse_fit(synth->reuse, synth->ranks * synth->lookups, synth->rows, &draws.reuse, error))
    return false;
  if (!synth->reuse) draws.zipf = ss_zipf_new(synth->zipf, synth->rows);
  if (synth->hot_zipf > 0) draws.hot = ss_zipf_new(synth->hot_zipf, synth->hot_rows);
  return make(synth, &draws, &data, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
