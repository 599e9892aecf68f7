/* Ok-Topk against a slow plain reference: dense arrays, one element after the other, and every message written down.
 * Results, what ranks keep, what is lost (nothing), and the bytes and order of all messages must be the same. */
#include "support.h"

#include "schemes/registry.h"
#include "schemes/simulate.h"

enum { MOST_RANKS = 17, EXACT = 0, REUSED = 1 };

/* --- messages ------------------------------------------------------------------------------------------- */

struct message {
  uint32_t round, from, to;
  bool dependent;
  uint64_t bytes;
};

struct log {
  struct message *message;
  size_t count, capacity;
  uint32_t rounds;
};

static void say(struct log *log, bool dependent, uint32_t from, uint32_t to, uint64_t bytes) {
  if (log->count == log->capacity) {
    log->capacity = log->capacity ? 2 * log->capacity : 256;
    log->message = ss_realloc(log->message, log->capacity, sizeof *log->message);
    assert_non_null(log->message);
  }
  log->message[log->count++] = (struct message){log->rounds, from, to, dependent, bytes};
}

static void assert_same_messages(const struct log *got, const struct log *wanted, const char *words) {
  if (got->count != wanted->count) fail_msg("%s: %zu messages, not %zu", words, got->count, wanted->count);
  for (size_t i = 0; i < got->count; i++) {
    const struct message *a = &got->message[i], *b = &wanted->message[i];
    if (a->round != b->round || a->from != b->from || a->to != b->to || a->dependent != b->dependent ||
        a->bytes != b->bytes)
      fail_msg("%s: message %zu is %u: %u -> %u, %llu B%s; not %u: %u -> %u, %llu B%s", words, i, a->round, a->from,
               a->to, (unsigned long long)a->bytes, a->dependent ? "" : " (independent)", b->round, b->from, b->to,
               (unsigned long long)b->bytes, b->dependent ? "" : " (independent)");
  }
}

/* --- the scheme, on a player that writes down, and may meddle with one message ---------------------------- */

enum fault { NOTHING, DROP, TWICE, EMPTY, OTHER_MARK, OTHER_ROW, SWAP, FAULTS };

struct scribe {
  struct ss_player player; /* first: a player is the scribe it stands in */
  struct log log;
  enum fault fault;
  uint64_t target, seen; /* which of the messages that have a payload, and how many there were */
  bool done, number;     /* it was meddled with; it carries cuts or sizes */
  struct ss_arena arena;
};

static bool meddle(struct scribe *s, struct ss_round *round, uint32_t at) {
  struct ss_payload *p = &round->payloads[at];
  if (s->fault == SWAP) {
    if (at + 1 == round->messages.count) return false;
    struct ss_payload other = round->payloads[at + 1];
    round->payloads[at + 1] = *p;
    *p = other;
    return true;
  }
  struct ss_chunk *chunk = ss_arena_alloc(&s->arena, 2 * p->count, sizeof *chunk), *last = chunk + p->count - 1;
  memcpy(chunk, p->chunks, p->count * sizeof *chunk);
  memcpy(chunk + p->count, p->chunks, p->count * sizeof *chunk);
  p->chunks = chunk;
  if (s->fault == DROP) p->count = 0;
  if (s->fault == TWICE) p->count *= 2;
  if (s->fault == DROP || s->fault == TWICE) return true;
  /* A unit without rows carries nothing. */
  if (last->count == 0 || (last->dense && last->low == last->high)) return false;
  if (s->fault == OTHER_ROW && (last->dense || last->high - last->low < 2)) return false;
  const size_t entry = (size_t)(s->target % last->count);
  uint64_t *marks = ss_arena_alloc(&s->arena, last->count, sizeof *marks);
  memcpy(marks, last->marks, last->count * sizeof *marks);
  last->marks = marks;
  if (s->fault == EMPTY) last->count = 0;
  if (s->fault == OTHER_MARK) marks[entry] += 1;
  if (s->fault == OTHER_MARK && last->dense) marks[entry] = s->target % 2 ? UINT64_C(1) << 50 : 0;
  if (s->fault == OTHER_ROW) {
    uint32_t *rows = ss_arena_alloc(&s->arena, last->count, sizeof *rows);
    memcpy(rows, last->rows, last->count * sizeof *rows);
    rows[last->count - 1] += rows[last->count - 1] + 1 < last->high ? 1 : UINT32_MAX;
    last->rows = rows;
  }
  return true;
}

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct scribe *s = (struct scribe *)player;
  (void)error;
  for (uint32_t i = 0; i < round->messages.count; i++)
    say(&s->log, round->dependent, round->messages.from[i], round->messages.to[i], round->messages.bytes[i]);
  s->log.rounds += round->messages.count > 0;
  uint32_t target = UINT32_MAX;
  for (uint32_t i = 0; round->payloads && i < round->messages.count; i++)
    if (s->seen++ == s->target) target = i;
  if (s->fault == NOTHING || target == UINT32_MAX) return true;
  s->number = round->wire->format == SS_WIRE_DENSE;
  s->done = meddle(s, round, target);
  return true;
}

struct subject {
  struct ss_setting setting;
  uint32_t ranks, n;
  struct ss_state memory;
  struct ss_arena arena;
  struct scribe scribe;
  struct ss_outcome outcome;
  int64_t *result;   /* [n] */
  int64_t *residual; /* [ranks][n] */
};

static struct subject open_subject(uint32_t ranks, uint32_t n, uint64_t k, uint64_t thresholds, bool exchanged) {
  struct subject s = {.ranks = ranks, .n = n, .scribe = {.player = {.play = play}, .target = UINT64_MAX}};
  s.setting = (struct ss_setting){.scheme = &ss_scheme_oktopk,
                                  .label = "oktopk",
                                  .value = {0, k, thresholds},
                                  .given = {false, true, true},
                                  .index_bytes = 4,
                                  .exchange_sizes = exchanged};
  s.result = ss_alloc_zero(n, sizeof *s.result);
  s.residual = ss_alloc_zero((size_t)ranks * n, sizeof *s.residual);
  assert_non_null(s.result);
  assert_non_null(s.residual);
  return s;
}

static void close_subject(struct subject *s) {
  ss_state_free(&s->memory);
  ss_arena_free(&s->arena);
  ss_arena_free(&s->scribe.arena);
  free(s->scribe.log.message);
  free(s->result);
  free(s->residual);
}

/* Ranks have the elements that are not zero. */
static struct ss_input input_of(struct subject *s, const int64_t *gradient) {
  uint64_t *count = ss_arena_alloc(&s->arena, s->ranks, sizeof *count);
  const uint32_t **row = ss_arena_alloc(&s->arena, s->ranks, sizeof *row);
  const int64_t **value = ss_arena_alloc(&s->arena, s->ranks, sizeof *value);
  for (uint32_t r = 0; r < s->ranks; r++) {
    uint32_t *rows = ss_arena_alloc(&s->arena, s->n, sizeof *rows);
    int64_t *values = ss_arena_alloc(&s->arena, s->n, sizeof *values);
    count[r] = 0;
    for (uint32_t i = 0; i < s->n; i++) {
      if (gradient[(size_t)r * s->n + i] == 0) continue;
      rows[count[r]] = i;
      values[count[r]++] = gradient[(size_t)r * s->n + i];
    }
    row[r] = rows;
    value[r] = values;
  }
  return (struct ss_input){.rows = s->n,
                           .ranks = s->ranks,
                           .width = 1,
                           .row_width = 1,
                           .value_bytes = 4,
                           .count = count,
                           .row = row,
                           .value = value};
}

static void spread(const struct ss_chunk *chunk, int64_t *table, uint32_t n) {
  memset(table, 0, n * sizeof *table);
  for (uint64_t i = 0; i < chunk->count; i++) table[chunk->rows[i]] = (int64_t)chunk->marks[i];
}

static bool run_subject(struct subject *s, const int64_t *gradient) {
  const struct ss_device device = ss_device_none();
  struct ss_final final = {.grain = 0};
  struct ss_error error;
  ss_arena_reset(&s->arena);
  const struct ss_input input = input_of(s, gradient);
  struct ss_stage stage = {.setting = &s->setting,
                           .input = &input,
                           .per_node = 1,
                           .player = &s->scribe.player,
                           .device = &device,
                           .payloads = true,
                           .state = &s->memory,
                           .arena = &s->arena};
  s->scribe.log.count = s->scribe.log.rounds = 0;
  s->outcome = (struct ss_outcome){0};
  assert_true(ss_state_begin(&s->memory, s->ranks, &error));
  assert_true(
      ss_run_own(&s->setting, &input, (struct ss_own_content){.proofs = true}, &s->arena, &stage.own, &error));
  if (!ss_stage_run(&stage, &final, &s->outcome, &error)) return false;
  ss_state_end(&s->memory);
  spread(&final.chunk, s->result, s->n);
  for (uint32_t r = 0; r < s->ranks; r++) spread(&s->memory.residual[r], s->residual + (size_t)r * s->n, s->n);
  return true;
}

/* --- the reference -------------------------------------------------------------------------------------- */

struct plain {
  uint32_t P, n, iteration;
  uint64_t k;
  bool reused, exchanged;
  double local[MOST_RANKS], global;
  uint32_t cut[MOST_RANKS + 1];
  int64_t *copy, *residual; /* [P][n] */
  bool *selected;           /* [P][n] */
  int64_t *sum, *result;    /* [n] */
  bool *taken;              /* [n] */
  struct log log;
  bool evened;
  uint64_t most_local, least_local, global_count; /* selected in the last iteration */
};

static struct plain open_plain(uint32_t P, uint32_t n, uint64_t k, bool reused, bool exchanged) {
  struct plain x = {.P = P, .n = n, .k = k, .reused = reused, .exchanged = exchanged};
  x.copy = calloc((size_t)P * n, sizeof *x.copy);
  x.residual = calloc((size_t)P * n, sizeof *x.residual);
  x.selected = calloc((size_t)P * n, sizeof *x.selected);
  x.sum = calloc(n, sizeof *x.sum);
  x.result = calloc(n, sizeof *x.result);
  x.taken = calloc(n, sizeof *x.taken);
  return x;
}

static void close_plain(struct plain *x) {
  free(x->copy);
  free(x->residual);
  free(x->selected);
  free(x->sum);
  free(x->result);
  free(x->taken);
  free(x->log.message);
}

static uint64_t top(const int64_t *value, uint32_t n, uint64_t k, bool *in) {
  uint64_t taken = 0;
  memset(in, 0, n * sizeof *in);
  for (; taken < k; taken++) {
    uint32_t best = n;
    for (uint32_t i = 0; i < n; i++)
      if (!in[i] && value[i] != 0 && (best == n || llabs(value[i]) > llabs(value[best]))) best = i;
    if (best == n) break;
    in[best] = true;
  }
  return taken;
}

static uint64_t passing(const int64_t *value, uint32_t n, double threshold, bool *in) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < n; i++) count += in[i] = value[i] != 0 && (double)llabs(value[i]) >= threshold;
  return count;
}

static double least(const int64_t *value, uint32_t n, const bool *in) {
  double found = INFINITY;
  for (uint32_t i = 0; i < n; i++)
    if (in[i] && (double)llabs(value[i]) < found) found = (double)llabs(value[i]);
  return isinf(found) ? 0 : found;
}

static void select_all(struct plain *x) {
  x->most_local = 0;
  x->least_local = UINT64_MAX;
  for (uint32_t r = 0; r < x->P; r++) {
    const int64_t *copy = x->copy + (size_t)r * x->n;
    bool *in = x->selected + (size_t)r * x->n;
    uint64_t count;
    if (!x->reused || x->iteration % 32 == 0) {
      count = top(copy, x->n, x->k, in);
      x->local[r] = least(copy, x->n, in);
    } else {
      count = passing(copy, x->n, x->local[r], in);
      for (int raised = 0; raised < 5 && (double)count > 4.0 / 3.0 * (double)x->k; raised++)
        count = passing(copy, x->n, x->local[r] *= 1.03, in);
      if ((double)count > 1.25 * (double)x->k) x->local[r] *= 1.012;
      else if (3 * count < 2 * x->k) x->local[r] /= 1.012;
    }
    if (count > x->most_local) x->most_local = count;
    if (count < x->least_local) x->least_local = count;
  }
}

static uint32_t nth_selected(const struct plain *x, uint32_t r, uint64_t place) {
  for (uint32_t i = 0;; i++)
    if (x->selected[(size_t)r * x->n + i] && place-- == 0) return i;
}

static uint64_t number_bytes(uint32_t P, uint32_t part) { /* of P - 1 numbers */
  return 8 * ((uint64_t)(part + 1) * (P - 1) / P - (uint64_t)part * (P - 1) / P);
}

static void cut_plain(struct plain *x) {
  const uint32_t P = x->P;
  for (uint32_t j = 1; j < P; j++) {
    uint64_t sum = 0;
    for (uint32_t r = 0; r < P; r++) {
      uint64_t count = 0;
      for (uint32_t i = 0; i < x->n; i++) count += x->selected[(size_t)r * x->n + i];
      sum += count ? nth_selected(x, r, j * count / P) : (uint64_t)j * x->n / P;
    }
    x->cut[j] = (uint32_t)(sum / P);
  }
  x->cut[0] = 0;
  x->cut[P] = x->n;
  for (uint32_t s = 1; s < P; s++, x->log.rounds++)
    for (uint32_t r = 0; r < P; r++) say(&x->log, true, r, (r + 1) % P, number_bytes(P, (r + P - s) % P));
  for (uint32_t s = 1; s < P; s++, x->log.rounds++)
    for (uint32_t r = 0; r < P; r++) say(&x->log, true, r, (r + 1) % P, number_bytes(P, (r + 1 + P - s) % P));
}

static uint32_t region_of(const struct plain *x, uint32_t i) {
  for (uint32_t j = x->P - 1;; j--)
    if (i >= x->cut[j] && i < x->cut[j + 1]) return j;
}

static void say_bruck(struct plain *x, const uint64_t *bytes) {
  for (uint32_t step = 1; step < x->P; step *= 2, x->log.rounds++)
    for (uint32_t r = 0; r < x->P; r++) {
      uint64_t all = 0;
      for (uint32_t b = 0; b < step && b < x->P - step; b++) all += bytes[(r + b) % x->P];
      say(&x->log, true, r, (r + x->P - step) % x->P, all);
    }
}

static void say_eights(struct plain *x) {
  uint64_t eight[MOST_RANKS];
  for (uint32_t r = 0; r < x->P; r++) eight[r] = 8;
  say_bruck(x, eight);
}

static void say_pairwise(struct plain *x, uint64_t entries[MOST_RANKS][MOST_RANKS]) {
  for (uint32_t s = 1; s < x->P; s++, x->log.rounds++)
    for (uint32_t r = 0; r < x->P; r++) {
      const uint32_t to = (r + s) % x->P;
      say(&x->log, s == 1, r, to, 8 * entries[r][to]);
    }
}

static void split_plain(struct plain *x) {
  uint64_t entries[MOST_RANKS][MOST_RANKS] = {{0}};
  memset(x->sum, 0, x->n * sizeof *x->sum);
  for (uint32_t r = 0; r < x->P; r++)
    for (uint32_t i = 0; i < x->n; i++) {
      if (!x->selected[(size_t)r * x->n + i]) continue;
      x->sum[i] += x->copy[(size_t)r * x->n + i];
      entries[r][region_of(x, i)]++;
    }
  if (x->exchanged) say_eights(x);
  say_pairwise(x, entries);
}

static void say_sums(struct plain *x) {
  uint64_t bytes[MOST_RANKS] = {0};
  for (uint32_t i = 0; i < x->n; i++) {
    bool any = false;
    for (uint32_t r = 0; r < x->P; r++) any = any || x->selected[(size_t)r * x->n + i];
    if (any) bytes[region_of(x, i)] += 8;
  }
  if (x->exchanged) say_eights(x);
  say_bruck(x, bytes);
}

static void say_kept(struct plain *x, uint64_t all) {
  uint64_t kept[MOST_RANKS] = {0}, most = 0, moved[MOST_RANKS][MOST_RANKS] = {{0}}, bytes[MOST_RANKS] = {0};
  for (uint32_t i = 0; i < x->n; i++) kept[region_of(x, i)] += x->taken[i];
  for (uint32_t r = 0; r < x->P; r++) most = kept[r] > most ? kept[r] : most;
  say_eights(x);
  x->evened = (double)most > 4.0 * ((double)all / x->P);
  uint64_t place = 0;
  uint32_t run = 0;
  for (uint32_t i = 0; i < x->n; i++) {
    if (!x->taken[i]) continue;
    while ((place + 1) * x->P > (run + 1) * all) run++; /* place >= floor((run + 1) * all / P) */
    moved[region_of(x, i)][run]++;
    bytes[x->evened ? run : region_of(x, i)] += 8;
    place++;
  }
  if (x->evened) say_pairwise(x, moved);
  say_bruck(x, bytes);
}

static void run_plain(struct plain *x, const int64_t *gradient) {
  const size_t all = (size_t)x->P * x->n;
  const bool evaluate = x->iteration % 32 == 0;
  uint64_t count;
  x->log.count = x->log.rounds = 0;
  x->evened = false;
  for (size_t i = 0; i < all; i++) x->copy[i] = gradient[i] + x->residual[i];
  select_all(x);
  if (x->iteration % 64 == 0) cut_plain(x);
  split_plain(x);
  if (evaluate || !x->reused) count = top(x->sum, x->n, x->k, x->taken);
  else count = passing(x->sum, x->n, x->global, x->taken);
  if (evaluate) {
    x->global = least(x->sum, x->n, x->taken);
    say_sums(x);
  } else {
    say_kept(x, count);
    if (3 * count > 4 * x->k) x->global *= 1.008;
    else if (3 * count < 2 * x->k) x->global /= 1.008;
  }
  x->global_count = count;
  for (uint32_t i = 0; i < x->n; i++) x->result[i] = x->taken[i] ? x->sum[i] : 0;
  for (size_t i = 0; i < all; i++) x->residual[i] = x->selected[i] && x->taken[i % x->n] ? 0 : x->copy[i];
  x->iteration++;
}

/* --- gradients ------------------------------------------------------------------------------------------ */

enum shape { TIES, WIDE, SOME_EMPTY, ALL_ON_ONE, ALIKE, SKEWED, SHAPES };
static const char *const shape_names[] = {"ties", "wide", "some empty", "all on one", "alike", "skewed"};

static int64_t draw(struct dice *d, enum shape shape, uint32_t iteration, uint32_t n, uint32_t i) {
  const int64_t v = (int64_t)dice_below(d, 2000001) - 1000000;
  const bool here = i >= n / 3 && i < n / 3 + n / 16 + 1;
  if (shape == TIES) return dice_one_in(d, 2) ? (int64_t)dice_below(d, 7) - 3 : 0;
  if (shape == WIDE) return dice_one_in(d, 3) ? v : 0;
  /* Once regions are cut evenly, all that is large comes in one of them. */
  if (shape == SKEWED && iteration > 0) return here ? v * 1000 : v / 1000;
  return v;
}

static void make_gradient(struct dice *d, enum shape shape, uint32_t iteration, uint32_t P, uint32_t n, int64_t *g) {
  for (uint32_t r = 0; r < P; r++)
    for (uint32_t i = 0; i < n; i++) {
      int64_t *at = &g[(size_t)r * n + i];
      *at = draw(d, shape, iteration, n, i);
      if (shape == SOME_EMPTY && (r + iteration) % 3 == 0) *at = 0;
      if (shape == ALL_ON_ONE && r != P / 2) *at = 0;
      if (shape == ALIKE && r > 0) *at = g[i];
    }
}

static void assert_same(const struct subject *s, const struct plain *x, const char *words) {
  if (!s->outcome.sound) fail_msg("%s: %s", words, s->outcome.mismatch);
  for (uint32_t i = 0; i < x->n; i++) {
    int64_t had = 0, kept = 0;
    if (s->result[i] != x->result[i])
      fail_msg("%s: element %u is %lld, not %lld", words, i, (long long)s->result[i], (long long)x->result[i]);
    for (uint32_t r = 0; r < x->P; r++) {
      const size_t at = (size_t)r * x->n + i;
      if (s->residual[at] != x->residual[at])
        fail_msg("%s: rank %u keeps %lld of element %u, not %lld", words, r, (long long)s->residual[at], i,
                 (long long)x->residual[at]);
      had += x->copy[at];
      kept += s->residual[at];
    }
    if (had != s->result[i] + kept) fail_msg("%s: of element %u something was lost", words, i);
  }
  assert_same_messages(&s->scribe.log, &x->log, words);
}

static uint64_t evened, exactly_k;

/* What both are run on. */
struct trial {
  uint32_t P, n;
  uint64_t k;
  enum shape shape;
  uint64_t thresholds;
  bool exchanged;
  uint32_t iterations;
};

static void compare(const struct trial *trial) {
  const uint32_t P = trial->P, n = trial->n;
  struct dice d = {.seed = 1000 * P + 10 * (uint64_t)trial->shape + trial->thresholds};
  struct subject s = open_subject(P, n, trial->k, trial->thresholds, trial->exchanged);
  struct plain x = open_plain(P, n, trial->k, trial->thresholds == REUSED, trial->exchanged);
  int64_t *gradient = calloc((size_t)P * n, sizeof *gradient);
  char words[160];
  for (uint32_t t = 0; t < trial->iterations; t++) {
    (void)snprintf(words, sizeof words, "P %u, n %u, k %llu, %s, %s, iteration %u", P, n,
                   (unsigned long long)trial->k, shape_names[trial->shape],
                   trial->thresholds == REUSED ? "reused" : "exact", t);
    make_gradient(&d, trial->shape, t, P, n, gradient);
    run_plain(&x, gradient);
    assert_true(run_subject(&s, gradient));
    assert_same(&s, &x, words);
    evened += x.evened;
    exactly_k += x.global_count == trial->k;
  }
  free(gradient);
  close_plain(&x);
  close_subject(&s);
}

/* --- tests ---------------------------------------------------------------------------------------------- */

static void as_the_reference(uint64_t thresholds) {
  evened = exactly_k = 0;
  for (uint32_t P = 1; P <= MOST_RANKS; P++)
    for (enum shape shape = 0; shape < SHAPES; shape++) {
      compare(&(struct trial){P, 61, 9, shape, thresholds, .exchanged = P % 2 == 0, .iterations = 6});
      compare(&(struct trial){P, 7, 3, shape, thresholds, .iterations = 4}); /* fewer elements than ranks */
    }
  assert_true(evened > 10);
  assert_true(exactly_k > 100);
}

static void exact_thresholds_as_the_reference(void **state) {
  (void)state;
  as_the_reference(EXACT);
}

static void reused_thresholds_as_the_reference(void **state) {
  (void)state;
  as_the_reference(REUSED);
}

/* Over re-evaluations, and over new regions. */
static void long_runs_as_the_reference(void **state) {
  static const uint32_t sizes[] = {1, 2, 5, 8, 13};
  (void)state;
  evened = 0;
  for (uint32_t i = 0; i < COUNT(sizes); i++)
    for (enum shape shape = 0; shape < SHAPES; shape++)
      for (uint64_t thresholds = EXACT; thresholds <= REUSED; thresholds++)
        compare(&(struct trial){sizes[i], 90, 6, shape, thresholds, .exchanged = true, .iterations = 70});
  assert_true(evened > 10);
}

static void assert_bytes(const struct log *log, uint32_t ranks, const uint64_t *bytes, uint32_t rounds) {
  assert_int_equal(log->rounds, rounds);
  assert_int_equal(log->count, rounds * ranks);
  for (size_t i = 0; i < log->count; i++)
    if (log->message[i].bytes != bytes[i])
      fail_msg("round %u, rank %u sends %llu B, not %llu", log->message[i].round, log->message[i].from,
               (unsigned long long)log->message[i].bytes, (unsigned long long)bytes[i]);
}

/* Three ranks, k = 3, worked out by hand. Cuts: (1+5+10)/3 = 5 and (2+6+11)/3 = 6. */
static void three_ranks_by_hand(void **state) {
  static const int64_t first[3][12] = {{10, 9, 8, 1}, {2, 0, 0, 0, 7, -6, 5}, {0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 3, 2}};
  static const int64_t nothing[3][12] = {{0}};
  static const int64_t result[2][12] = {{10, 9, 8}, {0, 0, 0, 0, 7, -6, 5}};
  static const int64_t residual[3][12] = {{0, 0, 0, 1}, {2}, {0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 3, 2}};
  static const uint64_t evaluated[] = {
      8,  0, 8,  8,  8, 0,  /* cuts: reduce-scatter of parts of 0, 1 and 1 numbers */
      0,  8, 8,  8,  0, 8,  /* and all-gather */
      8,  8, 8,  8,  8, 8,  /* sizes */
      0,  8, 0,  0,  8, 0,  /* the split: rank 1 gives one to each of the others */
      8,  8, 8,  8,  8, 8,  /* sizes */
      32, 8, 32, 32, 8, 32, /* all sums */
  };
  static const uint64_t between[] = {
      8, 8, 8, 8, 8, 8, /* sizes */
      0, 8, 0, 0, 8, 0, /* the split */
      8, 8, 8, 8, 8, 8, /* sizes of what is kept */
      8, 8, 8, 8, 8, 8, /* which is one entry each */
  };
  (void)state;
  struct subject s = open_subject(3, 12, 3, EXACT, true);
  assert_true(run_subject(&s, &first[0][0]));
  assert_memory_equal(s.result, result[0], sizeof result[0]);
  assert_bytes(&s.scribe.log, 3, evaluated, 12);
  assert_true(run_subject(&s, &nothing[0][0]));
  assert_true(s.outcome.sound);
  assert_memory_equal(s.result, result[1], sizeof result[1]);
  assert_memory_equal(s.residual, residual, sizeof residual);
  assert_bytes(&s.scribe.log, 3, between, 8);
  close_subject(&s);
}

/* Gradients that ranks share in part, as in training; 1% is selected. */
static void reused_thresholds_stay_near_k(void **state) {
  enum { P = 8, N = 4000, K = 40, ITERATIONS = 100 };
  struct dice d = {.seed = 5};
  struct plain x = open_plain(P, N, K, true, false);
  struct subject s = open_subject(P, N, K, REUSED, false);
  int64_t *gradient = calloc((size_t)P * N, sizeof *gradient);
  uint64_t most = 0, fewest = UINT64_MAX;
  double selected = 0, early = 0, late = 0;
  (void)state;
  for (uint32_t t = 0; t < ITERATIONS; t++) {
    for (uint32_t i = 0; i < N; i++) {
      double shared = 0;
      for (uint32_t r = 0; r <= P; r++) { /* sums of uniform numbers: nearly normal */
        double v = -3;
        for (int u = 0; u < 6; u++) v += dice_unit(&d);
        if (r == 0) shared = v;
        else gradient[(size_t)(r - 1) * N + i] = (int64_t)((0.5 * shared + 0.866 * v) * 1000000);
      }
    }
    run_plain(&x, gradient);
    assert_true(run_subject(&s, gradient));
    assert_same(&s, &x, "staying near k");
    if (t >= 4 && x.most_local > most) most = x.most_local;
    if (t >= 4 && x.least_local < fewest) fewest = x.least_local;
    selected += (double)(x.least_local + x.most_local) / 2 / ITERATIONS;
    if (t < 33) early += (double)x.global_count / 33;
    if (t >= ITERATIONS - 35) late += (double)x.global_count / 35;
  }
  print_message("# k %d: ranks select %g, from iteration 4 on %llu to %llu; kept are %g at first, %g at last\n", K,
                selected, (unsigned long long)fewest, (unsigned long long)most, early, late);
  /* The first threshold is one of gradients without residuals, too low: what is kept comes down to k slowly. */
  assert_true(most <= 4 * K / 3 + 10 && fewest >= K / 2);
  assert_true(early < 12 * K && late < 2 * K && late > K);
  free(gradient);
  close_plain(&x);
  close_subject(&s);
}

/* Iteration 0 cuts regions and re-evaluates; in iteration 1 all that is large falls into one region of [14, 28). */
static void make_uneven(struct dice *d, uint32_t iteration, uint32_t P, uint32_t n, int64_t *g) {
  for (uint32_t r = 0; r < P; r++)
    for (uint32_t i = 0; i < n; i++) {
      const bool large = iteration == 0 ? i % 7 == 0 && i < 56 : i > 15 && i < 24;
      g[(size_t)r * n + i] = (int64_t)dice_between(d, 1, 99) + (large ? 1000 * ((int64_t)iteration + 1) : 0);
    }
}

static uint64_t try_fault(uint64_t thresholds, uint32_t with, enum fault fault, uint64_t target, bool *done) {
  enum { P = 6, N = 60, K = 8 };
  struct dice d = {.seed = 8};
  struct subject s = open_subject(P, N, K, thresholds, false);
  struct plain x = open_plain(P, N, K, thresholds == REUSED, false);
  int64_t gradient[P * N];
  bool ended = true;
  for (uint32_t t = 0; t <= with; t++) {
    s.scribe.seen = 0;
    s.scribe.fault = t == with ? fault : NOTHING;
    s.scribe.target = target;
    make_uneven(&d, t, P, N, gradient);
    run_plain(&x, gradient);
    ended = run_subject(&s, gradient);
  }
  assert_true(with == 0 || x.evened);
  *done = s.scribe.done;
  /* sums that the threshold drops anyway; a copy that says the same may be reported all the same */
  if (ended && s.outcome.sound) assert_same(&s, &x, "a fault that nobody reports");
  if (*done && s.scribe.number) assert_false(ended && s.outcome.sound);
  if (ended && !s.outcome.sound && !s.outcome.mismatch[0]) fail_msg("unsound without a word");
  const uint64_t seen = s.scribe.seen;
  close_plain(&x);
  close_subject(&s);
  return seen;
}

static void every_fault_shows(void **state) {
  uint64_t faults = 0;
  bool done;
  (void)state;
  for (uint64_t thresholds = EXACT; thresholds <= REUSED; thresholds++)
    for (uint32_t with = 0; with < 2; with++) {
      const uint64_t messages = try_fault(thresholds, with, NOTHING, UINT64_MAX, &done);
      for (int fault = DROP; fault < FAULTS; fault++)
        for (uint64_t target = 0; target < messages; target++, faults += done)
          (void)try_fault(thresholds, with, (enum fault)fault, target, &done);
    }
  assert_true(faults > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(three_ranks_by_hand),
      cmocka_unit_test(exact_thresholds_as_the_reference),
      cmocka_unit_test(reused_thresholds_as_the_reference),
      cmocka_unit_test(long_runs_as_the_reference),
      cmocka_unit_test(reused_thresholds_stay_near_k),
      cmocka_unit_test(every_fault_shows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
