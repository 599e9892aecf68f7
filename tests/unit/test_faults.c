/* The proof of exactness, from its other side: whatever goes wrong with one message that carries a row must be seen.
 *
 * A player hands every round on to the engine and then meddles with exactly one message of the run. Every scheme,
 * every combination of its options that is lossless, every message, every way of meddling. */
#include "scheme_cases.h"

#include "schemes/registry.h"

enum fault {
  NOTHING,       /* only counts messages */
  DROP_PAYLOAD,  /* the message has no chunk */
  DROP_CHUNK,    /* its chunks have no entries, but still claim their range */
  DROP_RANGE,    /* its chunks have no entries, and claim no range */
  DROP_LAST,     /* the last chunk of several is missing */
  REPEAT,        /* the payload comes twice in one message */
  DOUBLE_MARKS,  /* every proof integer is added twice */
  DOUBLE_ROWS,   /* every entry comes twice */
  TRUNCATE,      /* the last entry is missing */
  TRUNCATE_HEAD, /* the first entry is missing */
  SWAP,          /* another message of the round got it, and it got the other's */
  SHIFT_ROW,     /* one row number is off by one */
  OTHER_CONTENT, /* right sender, part and rows; one proof integer is another */
  FAULTS
};
static const char *const fault_names[] = {
    "nothing",
    "drop the payload",
    "drop the entries",
    "drop entries and range",
    "drop the last chunk",
    "repeat",
    "double the marks",
    "double the rows",
    "truncate",
    "truncate the head",
    "swap",
    "shift a row",
    "another proof integer",
};

struct meddler {
  struct ss_player player; /* first: a player is the meddler it stands in */
  struct ss_engine engine;
  struct ss_arena arena;
  enum fault fault;
  uint64_t target;   /* the message to meddle with, counted over those that carry rows */
  uint32_t partner;  /* SWAP: which of the later messages of its round */
  bool every;        /* count messages without rows too */
  uint64_t carriers; /* messages so far that carry rows */
  bool done;         /* the fault applied to the target */
  bool partners;     /* SWAP: there was such a partner, alike or not */
};

static bool carries(const struct ss_payload *payload) {
  for (uint32_t i = 0; i < payload->count; i++) {
    const struct ss_chunk *c = &payload->chunks[i];
    if (c->count > 0 && (!c->dense || c->high > c->low)) return true;
  }
  return false;
}

static bool has_marks(const struct ss_chunk *c) {
  return c->count > 0 && ss_chunk_marked(c) && (c->rows || c->kind != SS_CHUNK_CONTRIBUTIONS);
}
static bool alike(const struct ss_payload *a, const struct ss_payload *b) {
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++) {
    const struct ss_chunk *x = &a->chunks[i], *y = &b->chunks[i];
    if (x->origin != y->origin || x->part != y->part || x->count != y->count || x->width != y->width) return false;
    if (x->rows && y->rows && x->count && memcmp(x->rows, y->rows, x->count * sizeof *x->rows) != 0) return false;
    for (uint64_t e = 0; has_marks(x) && has_marks(y) && e < x->count; e++)
      if (ss_chunk_mark(x, e) != ss_chunk_mark(y, e)) return false;
  }
  return true;
}

static void *copy(struct meddler *m, const void *from, uint64_t count, size_t size, uint64_t capacity) {
  void *to = ss_arena_alloc(&m->arena, capacity, size);
  assert_non_null(to);
  if (from && count) memcpy(to, from, count * size);
  return to;
}

/* Marks that can be changed: contributions are written out. */
static uint64_t *own_marks(struct meddler *m, struct ss_chunk *c) {
  uint64_t *marks = copy(m, NULL, 0, sizeof *marks, c->count);
  for (uint64_t i = 0; i < c->count; i++) marks[i] = ss_chunk_mark(c, i);
  c->marks = marks;
  if (c->kind == SS_CHUNK_CONTRIBUTIONS) c->kind = SS_CHUNK_PROOFS;
  c->author = 0;
  return marks;
}

static bool double_marks(struct meddler *m, struct ss_chunk *c) {
  if (!has_marks(c)) return false;
  uint64_t *marks = own_marks(m, c), any = 0;
  for (uint64_t i = 0; i < c->count; i++) {
    any |= marks[i];
    marks[i] *= 2;
  }
  return any != 0; /* bags of nothing are zeros, and stay so */
}

static bool double_rows(struct meddler *m, struct ss_chunk *c) {
  if (c->dense || !c->rows || c->count == 0) return false;
  uint32_t *rows = copy(m, NULL, 0, sizeof *rows, 2 * c->count);
  uint64_t *marks = has_marks(c) ? copy(m, NULL, 0, sizeof *marks, 2 * c->count) : NULL;
  for (uint64_t i = 0; i < 2 * c->count; i++) {
    rows[i] = c->rows[i / 2];
    if (marks) marks[i] = ss_chunk_mark(c, i / 2);
  }
  c->rows = rows;
  c->marks = marks;
  if (c->kind == SS_CHUNK_CONTRIBUTIONS) c->kind = SS_CHUNK_PROOFS;
  c->author = 0;
  c->distinct = false;
  c->count *= 2;
  return true;
}

/* A dense chunk of fewer units claims the range of those alone. */
static bool truncate_chunk(struct ss_chunk *c, bool head) {
  if (c->count == 0) return false;
  uint64_t first = head, count = c->count - 1;
  if (c->dense && head) return false;
  struct ss_chunk less = ss_chunk_entries(c, first, count);
  if (c->dense) less.high = c->low + (c->high - c->low) * count / c->count;
  *c = less;
  return true;
}

/* Within the chunk's range where that has another row. */
static bool shift_row(struct meddler *m, struct ss_chunk *c) {
  if (c->dense || !c->rows || c->count == 0 || c->high - c->low < 2) return false;
  uint32_t *rows = copy(m, c->rows, c->count, sizeof *rows, c->count);
  uint64_t at = m->target % c->count;
  if (has_marks(c)) own_marks(m, c); /* the integer stays, of another row */
  c->distinct = false;
  rows[at] = rows[at] + 1 < c->high ? rows[at] + 1 : rows[at] - 1;
  c->rows = rows;
  return true;
}

static bool other_content(struct meddler *m, struct ss_chunk *c) {
  if (!has_marks(c)) return false;
  uint64_t *marks = own_marks(m, c);
  marks[m->target % c->count] ^= UINT64_C(1) << (m->target % 64);
  return true;
}

/* Marks do not travel with indices, nor rows with values: those are the receiver's own then. But parameters, which
 * have no marks, are known by their rows. */
static bool travels(const struct meddler *m, const struct ss_wire *wire, const struct ss_chunk *c) {
  switch (m->fault) {
  case DOUBLE_MARKS:
  case OTHER_CONTENT: return wire->format != SS_WIRE_INDICES;
  case SHIFT_ROW: return wire->format != SS_WIRE_VALUES || !ss_chunk_marked(c);
  default: return true;
  }
}

static bool meddle_chunk(struct meddler *m, const struct ss_wire *wire, struct ss_chunk *c) {
  if (!travels(m, wire, c)) return false;
  switch (m->fault) {
  case DROP_CHUNK: c->count = 0; return true;
  case DROP_RANGE:
    c->count = 0;
    if (m->target % 2) c->low = c->high; /* an empty range somewhere */
    else c->high = c->low;
    return true;
  case DOUBLE_MARKS: return double_marks(m, c);
  case DOUBLE_ROWS: return double_rows(m, c);
  case TRUNCATE: return truncate_chunk(c, false);
  case TRUNCATE_HEAD: return truncate_chunk(c, true);
  case SHIFT_ROW: return shift_row(m, c);
  case OTHER_CONTENT: return other_content(m, c);
  default: return false;
  }
}

static bool swap(struct meddler *m, struct ss_round *round, uint32_t at) {
  uint32_t with = at + 1 + m->partner;
  m->partners = with < round->messages.count;
  if (!m->partners || alike(&round->payloads[at], &round->payloads[with])) return false;
  struct ss_payload mine = round->payloads[at];
  round->payloads[at] = round->payloads[with];
  round->payloads[with] = mine;
  return true;
}

static bool meddle(struct meddler *m, struct ss_round *round, uint32_t at) {
  struct ss_payload *p = &round->payloads[at];
  if (m->fault == SWAP) return swap(m, round, at);
  if (m->fault == DROP_LAST && p->count < 2) return false;
  if (m->fault == DROP_PAYLOAD || m->fault == DROP_LAST) {
    p->count -= m->fault == DROP_LAST ? 1 : p->count;
    return m->fault == DROP_PAYLOAD || carries(&(struct ss_payload){.chunks = p->chunks + p->count, .count = 1});
  }
  struct ss_chunk *chunks = copy(m, p->chunks, p->count, sizeof *chunks, 2 * p->count);
  bool done = m->fault == REPEAT;
  memcpy(chunks + p->count, p->chunks, p->count * sizeof *chunks);
  for (uint32_t i = 0; i < p->count && m->fault != REPEAT; i++) {
    /* one chunk is enough, and the harder to notice; but all of them are dropped */
    bool drop = m->fault == DROP_CHUNK || m->fault == DROP_RANGE;
    if ((!done || drop) && meddle_chunk(m, ss_round_wire(round, at), &chunks[i])) done = true;
  }
  p->chunks = chunks;
  if (m->fault == REPEAT) p->count *= 2;
  return done;
}

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct meddler *m = (struct meddler *)player;
  if (!m->engine.player.play(&m->engine.player, round, error)) return false;
  uint32_t target = UINT32_MAX;
  for (uint32_t i = 0; round->payloads && i < round->messages.count; i++)
    if ((m->every || carries(&round->payloads[i])) && m->carriers++ == m->target) target = i;
  if (target != UINT32_MAX && m->fault != NOTHING) m->done = meddle(m, round, target);
  return true;
}

/* --- runs ----------------------------------------------------------------------------------------------- */

struct bench {
  struct ss_setting setting;
  struct ss_input input;
  struct ss_cluster cluster;
  struct ss_proof *proof;
  uint32_t servers;
  uint64_t iteration; /* that is played */
  double moved[2];    /* what zen counted in those before: its state begins with it */
  struct ss_arena arena, own_arena;
  const struct ss_chunk *own;
  char words[400];
  uint64_t settings; /* that were tried before */
  bool told[FAULTS]; /* one example of a kind is enough */
};

static bool plans_itself(const struct ss_setting *s) {
  return strcmp(s->scheme->name, "zen") == 0 && *ss_setting_find(s, "plan") == 1;
}

static struct ss_outcome run(struct bench *b, struct meddler *m, bool *ended) {
  struct ss_outcome outcome = {0};
  struct ss_error error;
  m->player.play = play;
  assert_true(ss_engine_open(&m->engine, &b->cluster, b->input.ranks, b->servers, &error));
  ss_arena_reset(&b->arena);
  struct ss_state kept = {0};
  /* a proof remembers arrays that it has seen, which are gone after a run */
  assert_true(ss_reference_open(&b->setting, &b->input, &b->proof, &error));
  const struct ss_stage stage = {.setting = &b->setting,
                                 .input = &b->input,
                                 .servers = b->servers,
                                 .per_node = b->cluster.gpus_per_node,
                                 .player = &m->player,
                                 .payloads = true,
                                 .own = b->own,
                                 .proof = b->proof,
                                 .state = &kept,
                                 .arena = &b->arena};
  kept.iteration = b->iteration;
  assert_true(ss_state_begin(&kept, b->input.ranks, &error));
  if (plans_itself(&b->setting)) {
    assert_true(ss_state_take(&kept, b->setting.scheme->state_size, b->setting.scheme->rank_state_size, &error));
    memcpy(kept.own, b->moved, sizeof b->moved);
  }
  *ended = ss_stage_run(&stage, NULL, &outcome, &error);
  ss_state_free(&kept);
  ss_reference_close(b->proof);
  ss_engine_close(&m->engine);
  ss_arena_reset(&m->arena);
  return outcome;
}

static uint64_t survivors, meddled;

/* On many ranks some messages are enough, others for the next setting: the rest play the same parts among fewer
 * ranks, where every message is tried. Sanitizers, which look at memory and not at what shows, slow all of it down.
 */
static uint64_t stride_of(uint32_t ranks) {
#if defined(__SANITIZE_ADDRESS__)
  (void)ranks;
  return 11;
#else
  return ranks > 5 ? 11 : ranks > 3 ? 5 : ranks > 2 ? 2 : 1;
#endif
}

static void try_fault(struct bench *b, struct meddler *m) {
  bool ended;
  m->carriers = 0;
  m->done = false;
  struct ss_outcome outcome = run(b, m, &ended);
  if (!m->done) return;
  meddled++;
  if (!ended || !outcome.exact) {
    if (ended && !outcome.mismatch[0]) fail_msg("P %u %s: inexact without a word", b->input.ranks, b->words);
    return;
  }
  survivors++;
  if (!b->told[m->fault])
    print_message("# P %u, %s: unseen: \"%s\" of message %llu\n", b->input.ranks, b->words, fault_names[m->fault],
                  (unsigned long long)m->target);
  b->told[m->fault] = true;
}

static void try_swaps(struct bench *b, struct meddler *m, uint32_t most) {
  m->fault = SWAP;
  for (m->partner = 0; m->partner < most; m->partner++) {
    m->partners = false;
    try_fault(b, m);
    if (!m->partners) break;
  }
}

/* That a message did not come, or came twice, shows even when it carries nothing. */
static void try_all_messages(struct bench *b, struct meddler *m) {
  static const enum fault faults[] = {DROP_PAYLOAD, REPEAT};
  const uint64_t stride = stride_of(b->input.ranks);
  m->every = true;
  for (uint32_t i = 0; i < COUNT(faults); i++) {
    m->fault = faults[i];
    m->target = b->settings % stride;
    for (m->carriers = m->target + 1; m->target < m->carriers; m->target += stride) try_fault(b, m);
  }
  m->every = false;
}

static void try_setting(struct bench *b, uint32_t swaps) {
  struct meddler m = {.fault = NOTHING, .target = UINT64_MAX};
  struct ss_error error;
  bool ended;
  memset(b->told, 0, sizeof b->told);
  setting_text(&b->setting, b->words, sizeof b->words);
  assert_true(
      ss_run_own(&b->setting, &b->input, (struct ss_own_content){.proofs = true}, &b->own_arena, &b->own, &error));
  b->servers = ss_setting_servers(&b->setting, ss_layout_of(&b->cluster, b->input.ranks));
  struct ss_outcome outcome = run(b, &m, &ended);
  if (!ended || !outcome.exact) fail_msg("P %u %s: inexact without a fault", b->input.ranks, b->words);
  const uint64_t carriers = m.carriers, stride = stride_of(b->input.ranks);
  for (m.target = b->settings++ % stride; m.target < carriers; m.target += stride) {
    for (int fault = DROP_PAYLOAD; fault < FAULTS; fault++) {
      m.fault = (enum fault)fault;
      if (fault != SWAP) try_fault(b, &m);
    }
    try_swaps(b, &m, swaps);
  }
  try_all_messages(b, &m);
  ss_arena_free(&m.arena);
}

struct scene {
  uint32_t ranks, per_node;
  enum ss_hierarchy hierarchy;
  enum shape shape;
  uint32_t rows, width;
  bool element, exchanged;
};

/* A plan made from the iterations before goes either way by what they moved. */
static void try_plans(struct bench *b, uint32_t swaps) {
  b->iteration = 5;
  for (uint32_t way = 0; way < 2; way++) {
    b->moved[way] = 1;
    b->moved[1 - way] = 0;
    try_setting(b, swaps);
  }
  b->iteration = 0;
  b->moved[0] = b->moved[1] = 0;
}

/* Schemes that place several tables get two: the first cut by columns, the second whole on the last rank, which so
 * owns parts of both. */
static void split_into_tables(struct bench *b) {
  static const uint32_t ranks[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  static struct ss_shards shards[2];
  static struct ss_input_table table[2];
  const uint64_t rows = b->input.rows, first = rows / 2;
  const struct ss_traits traits = ss_setting_traits(&b->setting, ss_layout_of(&b->cluster, b->input.ranks));
  if (!traits.placed || traits.pools || first == 0) return; /* bags are of one table */
  assert_true(b->input.ranks <= COUNT(ranks));
  shards[0] = (struct ss_shards){SS_BY_COLUMN, b->input.ranks, ranks};
  shards[1] = (struct ss_shards){SS_BY_TABLE, 1, &ranks[b->input.ranks - 1]};
  table[0] = (struct ss_input_table){"a", 0, first, b->input.width, &shards[0]};
  table[1] = (struct ss_input_table){"b", first, rows - first, b->input.width, &shards[1]};
  b->input.table = table;
  b->input.tables = 2;
}

static void try_scheme(const struct ss_scheme *scheme, const struct scene *scene) {
  const uint32_t ranks = scene->ranks, swaps = ranks > 4 ? 2 : UINT32_MAX;
  struct dice dice = {.seed = 77 + ranks + 100 * (uint64_t)scene->shape};
  struct ss_trace *trace = ragged_trace(&dice, scene->shape, ranks, scene->rows, scene->width, SS_F32);
  struct bench b = {.cluster = flat_cluster(1e-6, 1e-9)};
  b.cluster.gpus_per_node = scene->per_node;
  struct cases cases = {
      .scheme = scheme, .layout = ss_layout_of(&b.cluster, ranks), .hierarchy = scene->hierarchy, .brief = true};
  while (cases_next(&cases, &b.setting)) {
    b.setting.element = scene->element;
    b.setting.exchange_sizes = scene->exchanged;
    b.setting.ragged = (enum ss_ragged)(scene->ranks % 3);
    ss_arena_reset(&b.own_arena);
    b.input = ragged_input(trace, 1, &b.setting, true, &b.own_arena);
    split_into_tables(&b);
    if (plans_itself(&b.setting)) try_plans(&b, swaps);
    else try_setting(&b, swaps);
  }
  ss_arena_free(&b.own_arena);
  ss_arena_free(&b.arena);
  ss_trace_close(trace);
}

/* Sanitizers slow memory down: the larger sizes are left to the plain build. */
#if defined(__SANITIZE_ADDRESS__)
enum { MOST_SCENES = 3, MOST_DEEP_SCENES = 2 };
#else
enum { MOST_SCENES = 12, MOST_DEEP_SCENES = 8 };
#endif

static const struct scene flat_scenes[12] = {
    {2, 2, SS_FLAT, SCATTERED, 11, 9, false, false}, {3, 2, SS_FLAT, SOME_EMPTY, 4, 2, true, true},
    {3, 2, SS_FLAT, ALIKE, 7, 3, false, false},      {3, 2, SS_FLAT, SCATTERED, 11, 9, false, false},
    {2, 2, SS_FLAT, SOME_EMPTY, 4, 2, true, true},   {2, 2, SS_FLAT, ALIKE, 7, 3, false, false},
    {5, 2, SS_FLAT, SCATTERED, 11, 9, false, false}, {5, 2, SS_FLAT, SOME_EMPTY, 4, 2, true, true},
    {5, 2, SS_FLAT, ALIKE, 7, 3, false, false},      {8, 2, SS_FLAT, SCATTERED, 11, 9, false, false},
    {8, 2, SS_FLAT, SOME_EMPTY, 4, 2, true, true},   {8, 2, SS_FLAT, ALIKE, 7, 3, false, false},
};
static const struct scene deep_scenes[8] = {
    {4, 2, SS_SHARD, SCATTERED, 9, 3, false, false},
    {5, 2, SS_LEADER, SCATTERED, 9, 3, false, true},
    {3, 8, SS_SHARD, SCATTERED, 5, 2, false, false},
    {6, 3, SS_SHARD, SOME_EMPTY, 8, 1, false, true},
    {6, 2, SS_SHARD, ALIKE, 6, 2, false, false},
    {4, 3, SS_LEADER, ALIKE, 6, 2, false, false},
    {4, 2, SS_SPARSE_SHARD, SCATTERED, 9, 3, false, false},
    {6, 3, SS_SPARSE_SHARD, SOME_EMPTY, 8, 1, false, true},
};

static void every_fault_shows(const char *name, const struct scene *scenes, uint32_t count) {
  const struct ss_scheme *scheme = ss_scheme_find(name);
  survivors = meddled = 0;
  assert_non_null(scheme);
  if (!ss_scheme_lossless(scheme)) return;
  for (uint32_t i = 0; i < count; i++) try_scheme(scheme, &scenes[i]);
  assert_true(meddled > 100 / stride_of(2) || (ss_scheme_model_parallel(scheme) && scenes == deep_scenes));
  if (survivors)
    fail_msg("%s: %llu of %llu faults went unseen", name, (unsigned long long)survivors, (unsigned long long)meddled);
}

TEST(faults_show) {
  for (size_t i = 0; ss_schemes()[i]; i++) every_fault_shows(ss_schemes()[i]->name, flat_scenes, MOST_SCENES);
}

TEST(faults_in_hierarchies_show) {
  for (size_t i = 0; ss_schemes()[i]; i++) every_fault_shows(ss_schemes()[i]->name, deep_scenes, MOST_DEEP_SCENES);
}
/* SPDX-License-Identifier: Apache-2.0 */
