/* Schemes that aggregate values: over iterations with residuals, for any number of ranks, nothing is lost that must
 * not be, all ranks end alike, and a message that is lost or changed on the way shows. What they select and send, and
 * how large their errors are, tests/cli/second_model.py says. */
#include "scheme_cases.h"

#include "schemes/registry.h"

#include <math.h>

enum { ELEMENTS = 60, ITERATIONS = 3 };
#if defined(__SANITIZE_ADDRESS__)
enum { ALL_RANKS = 5 }; /* sanitizers slow memory down: more is left to the plain build */
#else
enum { ALL_RANKS = 33 };
#endif

/* --- gradients ------------------------------------------------------------------------------------------ */

/* Dense tables of values, most of them different; ragged shapes have ranks without any. */
static void fill(struct dice *dice, enum shape shape, uint32_t ranks, int64_t *g) {
  const uint32_t giver = dice_below(dice, ranks);
  for (uint32_t r = 0; r < ranks; r++) {
    const bool empty =
        shape == ALL_EMPTY || (shape == ONE_HAS_ALL && r != giver) || (shape == SOME_EMPTY && dice_one_in(dice, 2));
    for (uint32_t i = 0; i < ELEMENTS; i++) {
      int64_t v = (int64_t)dice_below(dice, 2001) - 1000;
      if (shape == HOT) v *= i < ELEMENTS / 8 ? 50 : 1;
      if (shape == ALIKE && r > 0) v = g[i];
      if (empty || (shape == SCATTERED && dice_one_in(dice, 3))) v = 0;
      g[(size_t)r * ELEMENTS + i] = v;
    }
  }
}

static struct ss_input input_of(const int64_t *g, uint32_t ranks, struct ss_arena *arena) {
  uint64_t *count = ss_arena_alloc(arena, ranks, sizeof *count);
  const uint32_t **row = ss_arena_alloc(arena, ranks, sizeof *row);
  const int64_t **value = ss_arena_alloc(arena, ranks, sizeof *value);
  for (uint32_t r = 0; r < ranks; r++) {
    uint32_t *rows = ss_arena_alloc(arena, ELEMENTS, sizeof *rows);
    int64_t *values = ss_arena_alloc(arena, ELEMENTS, sizeof *values);
    uint64_t n = 0;
    for (uint32_t i = 0; i < ELEMENTS; i++) {
      if (g[(size_t)r * ELEMENTS + i] == 0) continue;
      rows[n] = i;
      values[n++] = g[(size_t)r * ELEMENTS + i];
    }
    count[r] = n;
    row[r] = rows;
    value[r] = values;
  }
  return (struct ss_input){.rows = ELEMENTS,
                           .elements = ELEMENTS,
                           .ranks = ranks,
                           .width = 1,
                           .row_width = 4,
                           .value_bytes = 4,
                           .count = count,
                           .lookups = count,
                           .row = row,
                           .value = value};
}

static const struct ss_cluster flat = {
    .name = "flat", .model = "alpha-beta", .inter = {1e-6, 1e-9}, .intra = {1e-6, 1e-9}, .gpus_per_node = 1};

static const struct ss_selection everything = {.selects = false};

/* --- every scheme, every option, any number of ranks -------------------------------------------------------- */

static void run_iterations(struct dice *dice, const struct ss_setting *setting, const struct ss_cluster *cluster,
                           const struct ss_selection *selection, enum shape shape, uint32_t ranks) {
  int64_t *g = calloc((size_t)ranks * ELEMENTS, sizeof *g);
  struct ss_state memory = {0};
  struct ss_selector selector = {.selection = *selection};
  struct ss_arena arena = {0};
  struct ss_world world = {.cluster = cluster, .verify = true, .state = &memory};
  char text[300];
  for (uint32_t t = 0; t < ITERATIONS; t++) {
    struct ss_outcome out = {0};
    struct ss_error error;
    fill(dice, shape, ranks, g);
    ss_arena_reset(&arena);
    struct ss_input input = input_of(g, ranks, &arena);
    if (!ss_iteration_select(setting, &selector, &input, &arena, &error) ||
        !ss_simulate(setting, &world, &input, &arena, &out, &error))
      fail_msg("%s, %u ranks: %s", setting_text(setting, text, sizeof text), ranks, error.text);
    if (!out.sound)
      fail_msg("%s, %u ranks, shape %d, blocks of %u, iteration %u: %s", setting_text(setting, text, sizeof text),
               ranks, (int)shape, selection->block, t, out.mismatch);
    if (ss_setting_conserves(setting)) assert_true(out.energy_lost == 0);
    if (ss_scheme_valued(setting->scheme)) assert_true(out.energy >= 0);
    if (ranks == 1) assert_int_equal(out.tally.messages, 0);
  }
  ss_selector_free(&selector);
  ss_state_free(&memory);
  ss_arena_free(&arena);
  free(g);
}

TEST(every_scheme_keeps_its_word) {
  struct dice dice = {.seed = 7};
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++)
    for (uint32_t P = 1; ss_scheme_valued((*s)) && P <= ALL_RANKS; P++) {
      struct cases c = {.scheme = *s, .layout = flat_layout(P), .brief = P > 8};
      struct ss_setting setting;
      for (uint32_t n = 0; cases_next(&c, &setting); n++) {
        setting.exchange_sizes = n % 2;
        setting.ragged = (enum ss_ragged)((n + P) % 3);
        run_iterations(&dice, &setting, &flat, &everything, (enum shape)((n + P) % SHAPES), P);
      }
    }
}

TEST(so_they_do_among_nodes) {
  static const struct ss_layout layouts[] = {{4, 2, 2, 0, false, false, false}, {8, 2, 4, 0, false, false, false},
                                             {8, 4, 2, 0, false, false, false}, {3, 1, 8, 0, false, false, false},
                                             {7, 3, 3, 0, false, false, false}, {16, 4, 4, 0, false, false, false}};
  struct dice dice = {.seed = 8};
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++)
    for (size_t i = 0; ss_scheme_valued(*s) && i < COUNT(layouts) && layouts[i].ranks <= ALL_RANKS; i++)
      for (int h = SS_SHARD; h <= SS_SPARSE_SHARD; h++) {
        struct ss_cluster cluster = flat;
        struct cases c = {.scheme = *s, .layout = layouts[i], .hierarchy = (enum ss_hierarchy)h, .brief = true};
        struct ss_setting setting;
        cluster.gpus_per_node = layouts[i].per_node;
        for (uint32_t n = 0; cases_next(&c, &setting); n++)
          run_iterations(&dice, &setting, &cluster, &everything, (enum shape)(n % SHAPES), layouts[i].ranks);
      }
}

/* Of blocks that do not divide the tensor, or are longer than it. */
static const uint32_t odd_blocks[] = {1, 7, 16, ELEMENTS - 1, ELEMENTS + 1};

/* A rank's part of the input, of as many elements as its blocks have with what pads the last. */
static void judge_blocks(const struct ss_selection *s, const struct ss_input *in, uint32_t r, int64_t *had) {
  const uint32_t b = s->block, blocks = (ELEMENTS + b - 1) / b;
  int64_t got[3 * ELEMENTS] = {0}, least = INT64_MAX, most = 0;
  uint64_t kept = 0, some = 0;
  assert_int_equal(in->rows * in->width, (uint64_t)blocks * b);
  assert_int_equal(in->elements, ELEMENTS);
  for (uint64_t i = 0; i < in->count[r] * in->width; i++)
    got[in->row[r][i / in->width] * in->width + i % in->width] = in->value[r][i];
  for (uint32_t e = ELEMENTS; e < blocks * b; e++) assert_int_equal(got[e], 0);
  for (uint32_t k = 0; k < blocks; k++) {
    int64_t sent = 0, there = 0;
    for (uint32_t e = k * b; e < ELEMENTS && e < (k + 1) * b; e++) {
      sent += got[e] * got[e];
      there += had[e] * had[e];
    }
    some += there > 0;
    kept += sent > 0;
    if (sent == 0 && there > most) most = there;
    if (sent > 0 && sent < least) least = sent;
    for (uint32_t e = k * b; e < ELEMENTS && e < (k + 1) * b; e++) {
      assert_int_equal(got[e], sent > 0 ? had[e] : 0);
      had[e] = s->residual ? had[e] - got[e] : 0;
    }
  }
  const uint64_t k = (uint64_t)fmax(1, floor(s->density * blocks + 0.5));
  assert_int_equal(kept, k < some ? k : some);
  assert_true(least >= most);
}

TEST(the_largest_blocks_are_taken_whole) {
  enum { P = 3 };
  struct dice dice = {.seed = 10};
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint32_t n = 0; n < 4 * SHAPES * COUNT(odd_blocks); n++) {
    const struct ss_selection some = {
        .selects = true, .residual = n % 2, .density = 0.4, .block = odd_blocks[n / 4 % COUNT(odd_blocks)]};
    struct ss_selector selector = {.selection = some};
    int64_t g[P * ELEMENTS], had[P * ELEMENTS] = {0};
    struct ss_error error;
    for (uint32_t t = 0; t < ITERATIONS; t++) {
      ss_arena_reset(&arena);
      fill(&dice, (enum shape)(n / 4 / COUNT(odd_blocks)), P, g);
      for (size_t i = 0; i < COUNT(g); i++) had[i] += g[i];
      struct ss_input input = input_of(g, P, &arena);
      assert_true(ss_selector_apply(&selector, n / 2 % 2, &input, &arena, &error));
      for (uint32_t r = 0; r < P; r++) judge_blocks(&some, &input, r, had + r * ELEMENTS);
    }
    ss_selector_free(&selector);
  }
}

/* So every scheme plays them, lossless ones too. */
TEST(blocks_that_do_not_divide_are_played) {
  static const uint32_t ranks[] = {1, 3, 8};
  struct dice dice = {.seed = 9};
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++)
    for (size_t i = 0; i < COUNT(ranks) && ranks[i] <= ALL_RANKS; i++) {
      struct cases c = {.scheme = *s, .layout = flat_layout(ranks[i]), .brief = true};
      struct ss_setting setting;
      for (uint32_t n = 0; cases_next(&c, &setting); n++) {
        const struct ss_selection some = {
            .selects = true, .residual = n % 2, .density = 0.4, .block = odd_blocks[(n + i) % COUNT(odd_blocks)]};
        /* `learn` alone plays such residuals, and bags are of traces alone. */
        if (ss_setting_says(&setting, "residuals", "sketch") ||
            ss_setting_input_options(&setting, ranks[i], true, false).bags)
          continue;
        setting.ragged = (enum ss_ragged)(n % 3);
        run_iterations(&dice, &setting, &flat, &some, (enum shape)((n + i) % SHAPES), ranks[i]);
      }
    }
}

/* --- shards ---------------------------------------------------------------------------------------------- */

/* One iteration, played without a judge: what all end with, and in `memory` what ranks keep. */
static struct ss_final play_on(struct ss_player *player, uint32_t per_node, const struct ss_setting *setting,
                               const struct ss_input *input, struct ss_state *memory, struct ss_arena *arena) {
  struct ss_final final;
  struct ss_outcome out = {0};
  struct ss_error error;
  struct ss_stage stage = {.setting = setting,
                           .input = input,
                           .per_node = per_node,
                           .player = player,
                           .payloads = true,
                           .state = memory,
                           .arena = arena};
  assert_true(ss_state_begin(memory, input->ranks, &error));
  assert_true(ss_run_own(setting, input, (struct ss_own_content){.proofs = true}, arena, &stage.own, &error));
  assert_true(ss_stage_run(&stage, &final, &out, &error));
  ss_state_end(memory);
  return final;
}

static struct ss_final play_once(const struct ss_setting *setting, const struct ss_cluster *cluster, const int64_t *g,
                                 uint32_t ranks, struct ss_state *memory, struct ss_arena *arena) {
  struct ss_engine engine;
  struct ss_error error;
  ss_arena_reset(arena);
  const struct ss_input input = input_of(g, ranks, arena);
  assert_true(ss_engine_open(&engine, cluster, ranks, 0, &error));
  const struct ss_final final = play_on(&engine.player, cluster->gpus_per_node, setting, &input, memory, arena);
  ss_engine_close(&engine);
  return final;
}

enum { K = 5 };

/* Ranks alike all select the same: k entries in all, whether one group selects them or each shard its part. */
TEST(shards_share_k_out) {
  struct ss_cluster cluster = flat;
  struct dice dice = {.seed = 21};
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint32_t per_node = 1; per_node <= 8; per_node++) {
    const uint32_t P = 2 * per_node;
    const struct ss_setting setting = {.scheme = &ss_scheme_topka,
                                       .index_bytes = 4,
                                       .value = {0, 8 * K},
                                       .hierarchy = per_node > 1 ? SS_SHARD : SS_FLAT};
    int64_t *g = calloc((size_t)P * ELEMENTS, sizeof *g);
    struct ss_state memory = {0};
    cluster.gpus_per_node = per_node;
    fill(&dice, ALIKE, P, g);
    for (size_t i = 0; i < (size_t)P * ELEMENTS; i++)
      if (g[i] == 0) g[i] = 1;
    const struct ss_final final = play_once(&setting, &cluster, g, P, &memory, &arena);
    assert_int_equal(final.chunk.count, 8 * K);
    ss_state_free(&memory);
    free(g);
  }
}

/* --- faults --------------------------------------------------------------------------------------------- */

enum fault { NOTHING, DROP, TWICE, EMPTY, OTHER_MARK, OTHER_ROW, FAULTS };

struct meddler {
  struct ss_player player; /* first: a player is the meddler it stands in */
  struct ss_engine engine;
  struct ss_arena arena;
  enum fault fault;
  uint64_t target, seen; /* among the messages that carry something */
  bool done;
};

static void meddle(struct meddler *m, struct ss_payload *p) {
  struct ss_chunk *copy = ss_arena_alloc(&m->arena, 2 * (size_t)p->count, sizeof *copy);
  uint32_t at = 0;
  memcpy(copy, p->chunks, p->count * sizeof *copy);
  memcpy(copy + p->count, p->chunks, p->count * sizeof *copy);
  while (copy[at].count == 0) at++;
  struct ss_chunk *c = &copy[at];
  uint64_t k = m->target % c->count;
  uint64_t *marks = ss_arena_alloc(&m->arena, c->count, sizeof *marks);
  memcpy(marks, c->marks, c->count * sizeof *marks);
  p->chunks = copy;
  m->done = true;
  switch (m->fault) {
  case NOTHING:
  case FAULTS: break;
  case DROP: p->count = 0; break;
  case TWICE: p->count *= 2; break;
  case EMPTY:
    c->count = 0;
    if (c->dense) c->low = c->high;
    break;
  case OTHER_MARK: /* one that says something: a bucket that no element is in changes nothing */
    while (k < c->count && marks[k] == 0) k++;
    m->done = k < c->count;
    if (m->done) marks[k] ^= 2;
    c->marks = marks;
    break;
  case OTHER_ROW:
    m->done = !c->dense && c->rows[c->count - 1] + 1 < c->high;
    if (m->done) {
      uint32_t *rows = ss_arena_alloc(&m->arena, c->count, sizeof *rows);
      memcpy(rows, c->rows, c->count * sizeof *rows);
      rows[c->count - 1]++;
      c->rows = rows;
    }
    break;
  }
}

static bool play_meddled(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct meddler *m = (struct meddler *)player;
  if (!m->engine.player.play(&m->engine.player, round, error)) return false;
  for (uint32_t i = 0; round->payloads && i < round->messages.count; i++) {
    uint64_t entries = 0;
    for (uint32_t k = 0; k < round->payloads[i].count; k++) entries += round->payloads[i].chunks[k].count;
    if (entries > 0 && m->seen++ == m->target && m->fault != NOTHING) meddle(m, &round->payloads[i]);
  }
  return true;
}

/* What one run ended with: the result and what ranks keep. */
static void note_end(const struct ss_final *final, const struct ss_state *memory, uint32_t ranks, int64_t *end) {
  memset(end, 0, (size_t)(ranks + 1) * ELEMENTS * sizeof *end);
  for (uint32_t r = 0; r <= ranks; r++) {
    const struct ss_chunk *c = r < ranks ? &memory->residual[r] : &final->chunk;
    for (uint64_t i = 0; i < c->count; i++) end[(size_t)r * ELEMENTS + c->rows[i]] += (int64_t)c->marks[i];
  }
}

/* One run with one fault; returns how many messages carried something. Of Ok-Topk a fault may go unseen that changes
 * nothing, in sums that the threshold drops anyway: `clean` is what a run without a fault ends with, and is noted. */
static uint64_t try_fault(const struct ss_setting *setting, const struct ss_cluster *cluster, const int64_t *g,
                          uint32_t ranks, enum fault fault, uint64_t target, int64_t *clean) {
  struct meddler m = {.player = {.play = play_meddled}, .fault = fault, .target = target};
  struct ss_state memory = {0};
  struct ss_arena arena = {0};
  struct ss_mass mass = {0};
  struct ss_final final = {.grain = 1};
  struct ss_outcome out = {0};
  struct ss_error error;
  char text[300];
  int64_t end[9 * ELEMENTS];
  struct ss_input input = input_of(g, ranks, &arena);
  assert_true(ranks <= 8 && ss_engine_open(&m.engine, cluster, ranks, 0, &error));
  struct ss_stage stage = {.setting = setting,
                           .input = &input,
                           .per_node = cluster->gpus_per_node,
                           .player = &m.player,
                           .payloads = true,
                           .state = &memory,
                           .arena = &arena};
  assert_true(ss_state_begin(&memory, ranks, &error));
  assert_true(ss_run_own(setting, &input, (struct ss_own_content){.proofs = true}, &arena, &stage.own, &error));
  assert_true(ss_mass_open(&mass, ELEMENTS, stage.own, &memory, &error));
  const bool ended = ss_stage_run(&stage, &final, &out, &error);
  assert_true(ended || (m.done && setting->scheme == &ss_scheme_oktopk));
  if (ended) ss_mass_judge(&mass, setting, &final, &memory, &out);
  if (ended) note_end(&final, &memory, ranks, fault == NOTHING ? clean : end);
  if (m.done && ended && out.sound &&
      (setting->scheme != &ss_scheme_oktopk || memcmp(end, clean, (size_t)(ranks + 1) * ELEMENTS * sizeof *end) != 0))
    fail_msg("%s, %u ranks: fault %d of message %llu went unseen", setting_text(setting, text, sizeof text), ranks,
             (int)fault, (unsigned long long)target);
  ss_mass_close(&mass);
  ss_engine_close(&m.engine);
  ss_state_free(&memory);
  ss_arena_free(&arena);
  ss_arena_free(&m.arena);
  return m.seen;
}

static void meddle_with(struct dice *dice, struct cases *c, const struct ss_cluster *cluster) {
  struct ss_setting setting;
  const uint32_t ranks = c->layout.ranks;
  int64_t *g = calloc((size_t)ranks * ELEMENTS, sizeof *g), clean[9 * ELEMENTS];
  while (cases_next(c, &setting)) {
    fill(dice, HOT, ranks, g);
    const uint64_t messages = try_fault(&setting, cluster, g, ranks, NOTHING, 0, clean);
    for (int fault = DROP; fault < FAULTS; fault++)
      for (uint64_t target = 0; target < messages; target++)
        try_fault(&setting, cluster, g, ranks, (enum fault)fault, target, clean);
  }
  free(g);
}

TEST(every_fault_shows) {
#if defined(__SANITIZE_ADDRESS__)
  static const uint32_t ranks[] = {2, 3, 4}; /* sanitizers slow memory down */
#else
  static const uint32_t ranks[] = {2, 3, 4, 6, 8};
#endif
  struct dice dice = {.seed = 13};
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++)
    for (size_t i = 0; ss_scheme_valued((*s)) && i < COUNT(ranks); i++) {
      struct cases c = {.scheme = *s, .layout = flat_layout(ranks[i]), .brief = true};
      meddle_with(&dice, &c, &flat);
    }
}

static bool teams_of(uint64_t teams, uint32_t ranks, struct ss_error *error) {
  struct ss_setting setting = {.scheme = &ss_scheme_spardl, .label = "spardl", .value = {0, 5, teams}};
  return ss_setting_check(&setting, flat_layout(ranks), error);
}

TEST(impossible_settings_say_why) {
  struct ss_setting gtopk = {.scheme = &ss_scheme_gtopk, .label = "gtopk", .value = {0, 5}};
  struct ss_error error;
  assert_false(ss_setting_check(&gtopk, flat_layout(6), &error));
  assert_non_null(strstr(error.text, "power of two"));
  assert_true(ss_setting_check(&gtopk, flat_layout(8), &error));
  assert_false(teams_of(4, 6, &error));
  assert_non_null(strstr(error.text, "do not divide"));
  assert_true(teams_of(3, 6, &error));
  gtopk.given[0] = gtopk.given[1] = true;
  assert_false(ss_setting_check(&gtopk, flat_layout(8), &error));
  assert_non_null(strstr(error.text, "give one"));
}

/* An iteration that is played twice begins the second time as the first, but what follows from the point alone is
 * kept. */
TEST(what_is_settled_is_not_rewound) {
  struct ss_state memory = {0}, before = {0};
  struct ss_error error;
  assert_true(ss_state_begin(&memory, 2, &error) && ss_state_save(&memory, &before, &error));
  assert_true(ss_state_settle(&memory, sizeof(int), &error) && ss_state_take(&memory, sizeof(int), 0, &error));
  *(int *)memory.settled = *(int *)memory.own = 7;
  ss_state_rewind(&memory, &before);
  assert_true(ss_state_begin(&memory, 2, &error) && ss_state_settle(&memory, sizeof(int), &error) &&
              ss_state_take(&memory, sizeof(int), 0, &error));
  assert_int_equal(*(int *)memory.settled, 7);
  assert_int_equal(*(int *)memory.own, 0);
  ss_state_free(&before);
  ss_state_free(&memory);
}
/* SPDX-License-Identifier: Apache-2.0 */
