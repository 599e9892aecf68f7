/* Schemes that aggregate values: over iterations with residuals, for any number of ranks, nothing is lost that must
 * not be, all ranks end alike, and a message that is lost or changed on the way shows. Plain references for the
 * simple schemes, and Ok-Topk by hand; tests/cli/second_model.py is the reference of them all. */
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

/* --- every scheme, every option, any number of ranks -------------------------------------------------------- */

static void run_iterations(struct dice *dice, const struct ss_setting *setting, const struct ss_cluster *cluster,
                           enum shape shape, uint32_t ranks) {
  int64_t *g = calloc((size_t)ranks * ELEMENTS, sizeof *g);
  struct ss_state memory = {0};
  struct ss_arena arena = {0};
  struct ss_world world = {.cluster = cluster, .verify = true, .state = &memory};
  char text[300];
  for (uint32_t t = 0; t < ITERATIONS; t++) {
    struct ss_outcome out = {0};
    struct ss_error error;
    fill(dice, shape, ranks, g);
    ss_arena_reset(&arena);
    struct ss_input input = input_of(g, ranks, &arena);
    if (!ss_simulate(setting, &world, &input, &arena, &out, &error))
      fail_msg("%s, %u ranks: %s", setting_text(setting, text, sizeof text), ranks, error.text);
    if (!out.sound)
      fail_msg("%s, %u ranks, shape %d, iteration %u: %s", setting_text(setting, text, sizeof text), ranks,
               (int)shape, t, out.mismatch);
    if (ss_setting_conserves(setting)) assert_true(out.energy_lost == 0);
    assert_true(out.energy >= 0);
    if (ranks == 1) assert_int_equal(out.tally.messages, 0);
  }
  ss_state_free(&memory);
  ss_arena_free(&arena);
  free(g);
}

static void every_scheme_keeps_its_word(void **state) {
  struct dice dice = {.seed = 7};
  (void)state;
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++)
    for (uint32_t P = 1; ss_scheme_valued((*s)) && P <= ALL_RANKS; P++) {
      struct cases c = {.scheme = *s, .layout = flat_layout(P), .brief = P > 8};
      struct ss_setting setting;
      for (uint32_t n = 0; cases_next(&c, &setting); n++) {
        setting.exchange_sizes = n % 2;
        run_iterations(&dice, &setting, &flat, (enum shape)((n + P) % SHAPES), P);
      }
    }
}

static void so_they_do_among_nodes(void **state) {
  static const struct ss_layout layouts[] = {{4, 2, 2}, {8, 2, 4}, {8, 4, 2}, {3, 1, 8}, {7, 3, 3}, {16, 4, 4}};
  struct dice dice = {.seed = 8};
  (void)state;
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++)
    for (size_t i = 0; ss_scheme_valued(*s) && i < COUNT(layouts) && layouts[i].ranks <= ALL_RANKS; i++)
      for (int h = SS_SHARD; h <= SS_LEADER; h++) {
        struct ss_cluster cluster = flat;
        struct cases c = {.scheme = *s, .layout = layouts[i], .hierarchy = (enum ss_hierarchy)h, .brief = true};
        struct ss_setting setting;
        cluster.gpus_per_node = layouts[i].per_node;
        for (uint32_t n = 0; cases_next(&c, &setting); n++)
          run_iterations(&dice, &setting, &cluster, (enum shape)(n % SHAPES), layouts[i].ranks);
      }
}

/* --- plain top-k ---------------------------------------------------------------------------------------- */

/* Moves the k largest of `from` (ties to the lower index, zeros never) to `to`, added. */
static void move_top(int64_t *from, uint64_t k, int64_t *to) {
  for (uint64_t n = 0; n < k; n++) {
    uint32_t best = ELEMENTS;
    for (uint32_t i = 0; i < ELEMENTS; i++)
      if (from[i] != 0 && (best == ELEMENTS || llabs(from[i]) > llabs(from[best]))) best = i;
    if (best == ELEMENTS) return;
    to[best] += from[best];
    from[best] = 0;
  }
}

/* The chunk holds what the table does. */
static void assert_table(const struct ss_chunk *chunk, const int64_t *table) {
  int64_t rest[ELEMENTS];
  memcpy(rest, table, sizeof rest);
  for (uint64_t i = 0; i < chunk->count; i++) rest[chunk->rows[i]] -= (int64_t)chunk->marks[i];
  for (uint32_t i = 0; i < ELEMENTS; i++) assert_true(rest[i] == 0);
}

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

/* sum[] becomes the result and left[] the residuals, given what ranks have of gradient and residual in left[]. */
typedef void plain_scheme(uint32_t ranks, int64_t *left, int64_t *sum);

/* topka and topkdsa: the sum of the tops. */
static void plain_sum(uint32_t ranks, int64_t *left, int64_t *sum) {
  for (uint32_t r = 0; r < ranks; r++) move_top(left + (size_t)r * ELEMENTS, K, sum);
}

/* gtopk: neighbours' tops are added, and the top of that goes on; a rank keeps what it selected and the result has
 * not. */
static void plain_gtopk(uint32_t ranks, int64_t *left, int64_t *sum) {
  int64_t(*top)[ELEMENTS] = calloc(ranks, sizeof *top), (*own)[ELEMENTS] = calloc(ranks, sizeof *own);
  for (uint32_t r = 0; r < ranks; r++) {
    move_top(left + (size_t)r * ELEMENTS, K, top[r]);
    memcpy(own[r], top[r], sizeof own[r]);
  }
  for (uint32_t n = ranks; n > 1; n /= 2)
    for (uint32_t r = 0; r < n / 2; r++) {
      int64_t both[ELEMENTS];
      for (uint32_t i = 0; i < ELEMENTS; i++) both[i] = top[2 * r][i] + top[2 * r + 1][i];
      memset(top[r], 0, sizeof top[r]);
      move_top(both, K, top[r]);
    }
  memcpy(sum, top[0], sizeof top[0]);
  for (uint32_t r = 0; r < ranks; r++)
    for (uint32_t i = 0; i < ELEMENTS; i++)
      if (sum[i] == 0) left[(size_t)r * ELEMENTS + i] += own[r][i];
  free(top);
  free(own);
}

static void held_against(plain_scheme *plain, const struct ss_scheme *scheme, uint32_t P) {
  struct dice dice = {.seed = 9 + P};
  struct ss_setting setting = {.scheme = scheme, .index_bytes = 4, .value = {0, K}};
  int64_t *g = calloc((size_t)P * ELEMENTS, sizeof *g), *left = calloc((size_t)P * ELEMENTS, sizeof *left);
  struct ss_state memory = {0};
  struct ss_arena arena = {0};
  for (uint32_t t = 0; t < ITERATIONS; t++) {
    int64_t sum[ELEMENTS] = {0};
    fill(&dice, SCATTERED, P, g);
    for (size_t i = 0; i < (size_t)P * ELEMENTS; i++) left[i] += g[i];
    plain(P, left, sum);
    const struct ss_final final = play_once(&setting, &flat, g, P, &memory, &arena);
    assert_table(&final.chunk, sum);
    for (uint32_t r = 0; r < P; r++) assert_table(&memory.residual[r], left + (size_t)r * ELEMENTS);
  }
  ss_state_free(&memory);
  ss_arena_free(&arena);
  free(g);
  free(left);
}

static void topk_baselines_by_plain_loops(void **state) {
  (void)state;
  for (uint32_t P = 1; P <= 9; P++) {
    held_against(plain_sum, &ss_scheme_topka, P);
    held_against(plain_sum, &ss_scheme_topkdsa, P);
  }
  for (uint32_t P = 1; P <= 16; P *= 2) held_against(plain_gtopk, &ss_scheme_gtopk, P);
}

/* Ranks alike all select the same: k entries in all, whether one group selects them or each shard its part. */
static void shards_share_k_out(void **state) {
  struct ss_cluster cluster = flat;
  struct dice dice = {.seed = 21};
  struct ss_arena arena = {0};
  (void)state;
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
  ss_arena_free(&arena);
}

/* --- Ok-Topk by hand -------------------------------------------------------------------------------------- */

struct scribe {
  struct ss_player player; /* first: a player is the scribe it stands in */
  uint32_t count, rounds;
  uint64_t bytes[64];
};

static bool write_down(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct scribe *s = (struct scribe *)player;
  (void)error;
  for (uint32_t i = 0; i < round->messages.count; i++) s->bytes[s->count++] = ss_message_bytes(&round->messages, i);
  s->rounds += round->messages.count > 0;
  return true;
}

/* Three ranks, k = 3. Cuts: (1+5+10)/3 = 5 and (2+6+11)/3 = 6. */
static void oktopk_of_three_ranks(void **state) {
  static const int64_t g[2][3][ELEMENTS] = {
      {{10, 9, 8, 1}, {2, 0, 0, 0, 7, -6, 5}, {0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 3, 2}}};
  static const int64_t result[2][ELEMENTS] = {{10, 9, 8}, {0, 0, 0, 0, 7, -6, 5}};
  static const int64_t residual[3][ELEMENTS] = {{0, 0, 0, 1}, {2}, {0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 3, 2}};
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
  const struct ss_setting setting = {.scheme = &ss_scheme_oktopk,
                                     .label = "oktopk",
                                     .value = {0, 3, 0},
                                     .given = {false, true, true},
                                     .index_bytes = 4,
                                     .exchange_sizes = true};
  struct ss_state memory = {0};
  struct ss_arena arena = {0};
  (void)state;
  for (uint32_t t = 0; t < 2; t++) {
    struct scribe s = {.player = {.play = write_down}};
    const struct ss_input input = input_of(g[t][0], 3, &arena);
    const struct ss_final final = play_on(&s.player, 1, &setting, &input, &memory, &arena);
    assert_int_equal(s.rounds, t == 0 ? 12 : 8);
    assert_int_equal(s.count, 3 * s.rounds);
    assert_memory_equal(s.bytes, t == 0 ? evaluated : between, s.count * sizeof *s.bytes);
    assert_table(&final.chunk, result[t]);
  }
  for (uint32_t r = 0; r < 3; r++) assert_table(&memory.residual[r], residual[r]);
  ss_state_free(&memory);
  ss_arena_free(&arena);
}

/* --- SparDL's Fig. 3 ------------------------------------------------------------------------------------ */

struct witness {
  struct ss_player player; /* first: a player is the witness it stands in */
  uint32_t round;
  uint32_t from[3], blocks[3],
      first[3]; /* what rank 0 received from whom, and what it sent: how many, from which on */
};

static bool watch(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct witness *w = (struct witness *)player;
  (void)error;
  for (uint32_t i = 0; w->round < 3 && i < round->messages.count; i++) {
    if (ss_message_to(&round->messages, i) == 0) w->from[w->round] = ss_message_from(&round->messages, i);
    if (ss_message_from(&round->messages, i) != 0) continue;
    w->blocks[w->round] = round->payloads[i].count;
    w->first[w->round] = round->payloads[i].chunks[0].part;
  }
  w->round++;
  return true;
}

/* Six ranks. Rank 1 (here 0) has bags {2}, {3,4}, {5,6} (here 1; 2, 3; 4, 5), sends the last first, and receives from
 * 3, 5, 6 (here 2, 4, 5). */
static void spardl_figure_3(void **state) {
  struct ss_setting setting = {.scheme = &ss_scheme_spardl, .index_bytes = 4, .value = {0, 12, 1}};
  struct witness w = {.player = {.play = watch}};
  struct dice dice = {.seed = 3};
  int64_t g[6 * ELEMENTS];
  struct ss_state memory = {0};
  struct ss_arena arena = {0};
  (void)state;
  fill(&dice, HOT, 6, g);
  const struct ss_input input = input_of(g, 6, &arena);
  (void)play_on(&w.player, 1, &setting, &input, &memory, &arena);
  const uint32_t from[3] = {2, 4, 5}, blocks[3] = {2, 2, 1}, first[3] = {4, 2, 1};
  assert_memory_equal(w.from, from, sizeof from);
  assert_memory_equal(w.blocks, blocks, sizeof blocks);
  assert_memory_equal(w.first, first, sizeof first);
  ss_state_free(&memory);
  ss_arena_free(&arena);
}

/* --- S2: the error of the estimate ------------------------------------------------------------------------ */

/* E[error_l2^2] = (n_union - 1) / c for one hash, half of it for two: the mean over 100 seeds within 4 sigma, and the
 * mean of error_mean within 4 sigma of 0 (docs/model.md, "S2"). */
static void s2_error_is_as_predicted(void **state) {
  enum { SEEDS = 100, BUCKETS = 37 };
  (void)state;
  for (uint32_t hashes = 1; hashes <= 2; hashes++) {
    struct dice dice = {.seed = 11};
    int64_t g[4 * ELEMENTS];
    double sum = 0, squares = 0, bias = 0, bias_squares = 0;
    fill(&dice, SOME_EMPTY, 4, g);
    g[0] = 77; /* somebody has something */
    uint64_t rows = 0;
    for (uint32_t row = 0; row < ELEMENTS / 4;
         row++) { /* the bitmap's rows of four; a row has all its elements decoded */
      bool any = false;
      for (uint32_t r = 0; r < 4; r++)
        for (uint32_t c = 0; c < 4; c++) any = any || g[(size_t)r * ELEMENTS + row * 4 + c] != 0;
      rows += any;
    }
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
      struct ss_setting setting = {
          .scheme = &ss_scheme_s2, .index_bytes = 4, .real = {0.5}, .value = {0, hashes, BUCKETS, 1000 * seed}};
      struct ss_arena arena = {0};
      struct ss_world world = {.cluster = &flat, .verify = true};
      struct ss_outcome out = {0};
      struct ss_error error;
      struct ss_input input = input_of(g, 4, &arena);
      assert_true(ss_simulate(&setting, &world, &input, &arena, &out, &error));
      const double square = out.error_l2 * out.error_l2;
      sum += square, squares += square * square;
      bias += out.error_mean, bias_squares += out.error_mean * out.error_mean;
      ss_arena_free(&arena);
    }
    const double mean = sum / SEEDS, sigma = sqrt((squares / SEEDS - mean * mean) / SEEDS);
    const double expected = ((double)rows * 4 - 1) / BUCKETS / hashes;
    const double off = bias / SEEDS, off_sigma = sqrt((bias_squares / SEEDS - off * off) / SEEDS);
    if (fabs(mean - expected) > 4 * sigma)
      fail_msg("%u hashes: error^2 %g +- %g, expected %g", hashes, mean, sigma, expected);
    if (fabs(off) > 4 * off_sigma) fail_msg("%u hashes: biased by %g +- %g", hashes, off, off_sigma);
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

static void every_fault_shows(void **state) {
#if defined(__SANITIZE_ADDRESS__)
  static const uint32_t ranks[] = {2, 3, 4}; /* sanitizers slow memory down */
#else
  static const uint32_t ranks[] = {2, 3, 4, 6, 8};
#endif
  struct dice dice = {.seed = 13};
  (void)state;
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

static void impossible_settings_say_why(void **state) {
  struct ss_setting gtopk = {.scheme = &ss_scheme_gtopk, .label = "gtopk", .value = {0, 5}};
  struct ss_error error;
  (void)state;
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
static void what_is_settled_is_not_rewound(void **state) {
  struct ss_state memory = {0}, before = {0};
  struct ss_error error;
  (void)state;
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_settled_is_not_rewound),
      cmocka_unit_test(every_scheme_keeps_its_word),
      cmocka_unit_test(so_they_do_among_nodes),
      cmocka_unit_test(topk_baselines_by_plain_loops),
      cmocka_unit_test(shards_share_k_out),
      cmocka_unit_test(oktopk_of_three_ranks),
      cmocka_unit_test(spardl_figure_3),
      cmocka_unit_test(s2_error_is_as_predicted),
      cmocka_unit_test(every_fault_shows),
      cmocka_unit_test(impossible_settings_say_why),
  };
  return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
