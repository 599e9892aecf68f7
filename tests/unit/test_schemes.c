/* Every lossless scheme, under every combination of its options, on random ragged inputs: ends with the exact sum,
 * and takes the same time and bytes with payloads as without. What ranks send of which rows is held against second
 * calculations by tests/cli: second_model.py, and for alltoall test_placement.py and test_pooling.py. */
#include "scheme_cases.h"

#include "schemes/registry.h"
#include "schemes/run.h"
#include "tensor/chunk.h"

/* Sizes that are tried. */
#if defined(__SANITIZE_ADDRESS__)
enum { ALL_RANKS = 6, SEEDS = 1 }; /* sanitizers slow memory down: more is left to the plain build */
#else
enum { ALL_RANKS = 33, SEEDS = 3 };
#endif

/* --- what ranks look up, obviously ----------------------------------------------------------------------- */

/* n[rank * rows + row]: how often the rank looked the row up. */
struct truth {
  uint32_t ranks, rows, width;
  uint32_t *n;
};

static struct truth truth_of(const struct ss_trace *trace, uint32_t merge, bool element) {
  const struct ss_tensor *tensor = ss_trace_tensor(trace, 0);
  uint32_t factor = element ? tensor->row_width : 1, rows = (uint32_t)tensor->rows;
  struct truth t = {.ranks = ss_trace_ranks(trace) / merge, .rows = rows * factor};
  t.width = element ? 1 : tensor->row_width;
  t.n = calloc((size_t)t.ranks * t.rows + 1, sizeof *t.n);
  assert_non_null(t.n);
  for (uint32_t r = 0; r < t.ranks * merge; r++) {
    uint64_t count = ss_trace_count(trace, 0, 0, r);
    uint32_t *ids = calloc(count + 1, sizeof *ids);
    assert_non_null(ids);
    ss_trace_rows(trace, 0, 0, r, ids);
    for (uint64_t i = 0; i < count; i++)
      for (uint32_t c = 0; c < factor; c++) t.n[r / merge * t.rows + ids[i] * factor + c]++;
    free(ids);
  }
  return t;
}

static uint64_t rows_in(const struct truth *t, uint32_t rank, uint64_t low, uint64_t high, bool lookups) {
  uint64_t n = 0;
  for (uint64_t row = low; row < high; row++) {
    uint32_t times = t->n[rank * t->rows + row];
    n += lookups ? times : times > 0;
  }
  return n;
}

static uint64_t union_in(const struct truth *t, uint64_t low, uint64_t high) {
  uint64_t n = 0;
  for (uint64_t row = low; row < high; row++) {
    bool any = false;
    for (uint32_t r = 0; r < t->ranks; r++) any = any || t->n[r * t->rows + row];
    n += any;
  }
  return n;
}

static uint64_t cut(uint64_t n, uint32_t p, uint32_t j) {
  return n * j / p;
}

/* The choice has that value. */
static bool chosen(const struct ss_setting *s, const char *name, const char *value) {
  for (uint32_t i = 0; s->scheme->options[i].name; i++)
    if (strcmp(s->scheme->options[i].name, name) == 0)
      return strcmp(s->scheme->options[i].choices[s->value[i]], value) == 0;
  fail_msg("no option %s", name);
  return false;
}

/* --- the property ---------------------------------------------------------------------------------------- */

struct trial {
  const struct ss_trace *trace;
  uint32_t merge, ranks;
  struct ss_cluster cluster;
  struct ss_device device;
  struct ss_setting setting;
  uint64_t seed;
  struct ss_arena arena;
  char words[500];
};

static void compare_runs(const struct trial *x, const struct ss_tally *proven, const struct ss_tally *bare) {
  if (bare->bytes != proven->bytes || bare->messages != proven->messages || bare->rounds != proven->rounds ||
      bare->sent_max != proven->sent_max || bare->received_max != proven->received_max ||
      bare->server_max != proven->server_max || !close_to(bare->time, proven->time, 1e-12) ||
      !close_to(bare->kernel, proven->kernel, 1e-12))
    fail_msg("%s: %.17g s, %llu bytes, %llu rounds with payloads, %.17g s, %llu bytes, %llu rounds without", x->words,
             proven->time, (unsigned long long)proven->bytes, (unsigned long long)proven->rounds, bare->time,
             (unsigned long long)bare->bytes, (unsigned long long)bare->rounds);
}

static void simulate(struct trial *x, bool verify, struct ss_outcome *out) {
  struct ss_world world = {.cluster = &x->cluster, .device = &x->device, .verify = verify};
  struct ss_input input = ragged_input(x->trace, x->merge, &x->setting, verify, &x->arena);
  struct ss_error error;
  if (!ss_simulate(&x->setting, &world, &input, &x->arena, out, &error)) fail_msg("%s: %s", x->words, error.text);
}

static void try_setting(struct trial *x) {
  char words[400];
  struct ss_outcome proven = {.exact = false}, bare = {.exact = false};
  snprintf(x->words, sizeof x->words, "seed %llu P %u rows %llu x %u: %s", (unsigned long long)x->seed, x->ranks,
           (unsigned long long)ss_trace_tensor(x->trace, 0)->rows, ss_trace_tensor(x->trace, 0)->row_width,
           setting_text(&x->setting, words, sizeof words));
  ss_arena_reset(&x->arena);
  simulate(x, true, &proven);
  assert_true(proven.proven);
  if (!proven.exact) fail_msg("%s: not exact: %s", x->words, proven.mismatch);
  simulate(x, false, &bare);
  assert_false(bare.proven);
  compare_runs(x, &proven.tally, &bare.tally);
  if (bare.peak != proven.peak || bare.server_peak != proven.server_peak)
    fail_msg("%s: ranks hold %llu B with payloads, %llu without", x->words, (unsigned long long)proven.peak,
             (unsigned long long)bare.peak);
  if (x->ranks == 1)
    assert_true(proven.exact && proven.tally.messages == 0 && proven.tally.bytes == 0 && !(proven.tally.time > 0));
}

static struct ss_cluster random_cluster(struct dice *dice) {
  struct ss_cluster cluster = flat_cluster(1e-6 * (1 + dice_below(dice, 50)), 1e-9 / (1 + dice_below(dice, 20)));
  if (dice_one_in(dice, 3)) return cluster;
  cluster.gpus_per_node = dice_between(dice, 1, 5);
  cluster.has_intra = dice_one_in(dice, 2);
  if (cluster.has_intra) cluster.intra = (struct ss_link){1e-7, 1e-11};
  cluster.nic_per_node = dice_one_in(dice, 2);
  return cluster;
}

/* Every setting of the scheme; with `common`, also every way of the settings that all schemes share. */
static void try_scheme(struct trial *x, struct dice *dice, struct cases cases, bool common) {
  static const uint32_t index_bytes[] = {4, 0, 8};
  cases.layout = ss_layout_of(&x->cluster, x->ranks);
  cases.brief = true;
  while (cases_next(&cases, &x->setting))
    for (uint32_t way = 0; way < (common ? 12u : 1u); way++) {
      uint32_t pick = common ? way : dice_below(dice, 12);
      x->setting.index_bytes = index_bytes[pick % 3];
      x->setting.element = pick / 3 % 2;
      x->setting.exchange_sizes = pick / 6;
      x->setting.ragged = (enum ss_ragged)dice_below(dice, 3);
      try_setting(x);
    }
}

static void try_settings(struct trial *x, struct dice *dice, enum ss_hierarchy hierarchy, bool common) {
  x->device = ss_device_none();
  if (dice_one_in(dice, 3)) x->device = ss_device_of("d", 1e-6, 1e-10);
  for (size_t i = 0; ss_schemes()[i]; i++)
    if (ss_scheme_lossless(ss_schemes()[i]))
      try_scheme(x, dice, (struct cases){.scheme = ss_schemes()[i], .hierarchy = hierarchy}, common);
  ss_arena_free(&x->arena);
}

/* One trace, one cluster. */
static void try_trace(uint64_t seed, uint32_t ranks, enum shape shape, bool common) {
  struct dice dice = {.seed = seed};
  struct trial x = {.ranks = ranks, .merge = dice_one_in(&dice, 3) ? 2 : 1, .seed = seed};
  uint32_t rows = dice_one_in(&dice, 3) ? dice_between(&dice, 1, ranks) : dice_between(&dice, 1, 150);
  uint32_t width = dice_one_in(&dice, 3) ? 1 : dice_between(&dice, 1, dice_one_in(&dice, 2) ? ranks : 40);
  if (rows * width > 1500) rows = 1 + 1500 / width;
  struct ss_trace *trace =
      ragged_trace(&dice, shape, ranks * x.merge, rows, width, dice_one_in(&dice, 3) ? SS_BF16 : SS_F32);
  x.trace = trace;
  x.cluster = random_cluster(&dice);
  try_settings(&x, &dice, SS_FLAT, common);
  ss_trace_close(trace);
}

/* Up to 9 ranks every shape thrice, up to 17 a third of that, beyond one shape. */
TEST(schemes_are_exact) {
  for (uint32_t ranks = 1; ranks <= ALL_RANKS; ranks++)
    for (uint32_t seed = 0; seed < SEEDS * SHAPES; seed++)
      if (ranks <= 9 || (seed % 3 == ranks % 3 && (ranks <= 17 || seed / 3 == ranks / 3 % 3)))
        try_trace(1000 * ranks + seed, ranks, (enum shape)(seed % SHAPES), false);
}

TEST(so_they_do_under_every_common_setting) {
  static const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12};
  for (uint32_t i = 0; i < COUNT(sizes) && sizes[i] <= ALL_RANKS; i++) {
    try_trace(100 + i, sizes[i], SCATTERED, true);
    try_trace(200 + i, sizes[i], SOME_EMPTY, true);
  }
}

TEST(so_they_are_among_nodes) {
  static const uint32_t sizes[][2] = {{4, 2}, {6, 3}, {8, 4}, {3, 8}, {5, 2}, {7, 3}, {16, 4}, {2, 2}, {9, 4}};
  for (uint32_t i = 0; i < COUNT(sizes) && sizes[i][0] <= 2 * ALL_RANKS - 4; i++)
    for (uint32_t n = 0; n < 3 * SHAPES; n++) {
      const uint32_t ranks = sizes[i][0], per_node = sizes[i][1];
      const enum ss_hierarchy hierarchy = (enum ss_hierarchy)(SS_SHARD + n % 3);
      struct dice dice = {.seed = 100 * i + n};
      struct trial x = {.ranks = ranks, .merge = 1, .seed = 100 * i + n, .cluster = random_cluster(&dice)};
      if (hierarchy != SS_LEADER && ranks > per_node && ranks % per_node != 0) continue;
      const uint32_t rows = dice_one_in(&dice, 3) ? dice_between(&dice, 1, ranks) : dice_between(&dice, 1, 120);
      struct ss_trace *trace =
          ragged_trace(&dice, (enum shape)(n / 3), ranks, rows, dice_between(&dice, 1, 7), SS_F32);
      x.cluster.gpus_per_node = per_node;
      x.trace = trace;
      try_settings(&x, &dice, hierarchy, false);
      ss_trace_close(trace);
    }
}

/* Full nodes and others, tables of fewer rows than rings, and more rings than a small node has ranks. */
TEST(rings_by_cards_of_their_own_are_exact) {
  for (uint32_t n = 0; n < 2 * ALL_RANKS; n++) {
    struct dice dice = {.seed = 7000 + n};
    struct trial x = {.ranks = n / 2 + 1, .merge = 1, .seed = 7000 + n, .cluster = random_cluster(&dice)};
    const uint32_t rows = n % 2 ? dice_between(&dice, 1, 12) : dice_between(&dice, 1, 150);
    struct ss_trace *trace =
        ragged_trace(&dice, (enum shape)(n % SHAPES), x.ranks, rows, dice_between(&dice, 1, 7), SS_F32);
    snprintf(x.cluster.model, sizeof x.cluster.model, "fair");
    x.cluster.gpus_per_node = dice_between(&dice, 2, 8);
    x.cluster.nics = dice_between(&dice, 2, x.cluster.gpus_per_node);
    x.cluster.window = dice_between(&dice, 0, 3);
    x.trace = trace;
    x.device = n % 3 ? ss_device_none() : ss_device_of("d", 1e-6, 1e-10);
    try_scheme(&x, &dice, (struct cases){.scheme = &ss_scheme_allreduce}, false);
    try_scheme(&x, &dice, (struct cases){.scheme = &ss_scheme_allgather}, false);
    ss_arena_free(&x.arena);
    ss_trace_close(trace);
  }
}

/* A duplicate whose elements lie in two blocks of 2^16, which sums are made in. */
TEST(duplicates_by_elements_across_blocks_add_up) {
  const uint64_t offsets[] = {0, 3, 5}, *const all_offsets[] = {offsets}, first[] = {0, 2, 3};
  const struct ss_bags bags = {first, (const uint64_t[]){0, 2, 3, 5}};
  const uint32_t ids[] = {21845, 21845, 7, 21845, 21846}, *const all_ids[] = {ids};
  const struct ss_tensor tensor = {.name = "t", .rows = 21900, .row_width = 3, .dtype = SS_F32};
  const struct ss_trace_content content = {.source = "test",
                                           .iterations = 1,
                                           .ranks = 2,
                                           .tensors = 1,
                                           .tensor = &tensor,
                                           .offsets = all_offsets,
                                           .rows = all_ids,
                                           .pad_id = -1,
                                           .bags = &bags};
  struct trial x = {.merge = 1, .ranks = 2, .cluster = flat_cluster(1e-6, 1e-9), .device = ss_device_none()};
  struct ss_trace *trace;
  struct ss_error error;
  assert_true(ss_trace_build("test", &content, &trace, &error));
  x.trace = trace;
  for (size_t i = 0; ss_schemes()[i]; i++) {
    if (!ss_scheme_lossless(ss_schemes()[i])) continue;
    struct cases cases = {.scheme = ss_schemes()[i], .layout = flat_layout(2), .brief = true};
    while (cases_next(&cases, &x.setting)) {
      x.setting.element = true;
      try_setting(&x);
    }
  }
  ss_arena_free(&x.arena);
  ss_trace_close(trace);
}

/* --- inputs ---------------------------------------------------------------------------------------------- */

static void check_rank(const struct truth *t, const struct ss_input *in, uint32_t r) {
  uint64_t at = 0, all = 0;
  for (uint32_t row = 0; row < t->rows; row++) {
    uint32_t times = t->n[r * t->rows + row];
    if (times) assert_int_equal(in->row[r][at++], row);
    for (uint32_t i = 0; i < times && in->lookup; i++) assert_int_equal(in->lookup[r][all + i], row);
    all += times;
  }
  assert_int_equal(in->count[r], at);
  assert_int_equal(in->lookups[r], all);
}

TEST(inputs_are_the_sorted_rows_of_merged_ranks) {
  AUTO(ss_coalesce_free) struct ss_coalesce_scratch scratch = {0};
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error;
  for (uint32_t seed = 1; seed <= 120; seed++) {
    struct dice dice = {.seed = seed};
    uint32_t merge = dice_between(&dice, 1, 4), ranks = dice_between(&dice, 1, 9), width = dice_between(&dice, 1, 5);
    struct ss_trace *trace =
        ragged_trace(&dice, (enum shape)(seed % SHAPES), ranks * merge, dice_between(&dice, 1, 200), width, SS_F16);
    struct ss_origin origin = {.trace = trace, .merge = merge};
    struct ss_input_options options = {.ranks = ranks, .element = seed % 2, .lookups = seed % 3 > 0};
    struct ss_input input, shape;
    ss_arena_reset(&arena);
    assert_true(ss_input_make(&origin, &options, &arena, &scratch, &input, &error));
    assert_true(ss_input_shape(&origin, options.element, &shape, &error));
    struct truth truth = truth_of(trace, merge, options.element);
    assert_true(input.ranks == ranks && input.rows == truth.rows && input.width == truth.width && !input.even);
    assert_true(shape.rows == truth.rows && shape.width == truth.width && input.value_bytes == 2);
    assert_true(input.row && (input.lookup != NULL) == options.lookups);
    for (uint32_t r = 0; r < ranks; r++) check_rank(&truth, &input, r);
    free(truth.n);
    ss_trace_close(trace);
  }
}

/* Rows of the input in [low, high), summed over the ranks' lists or over their union. */
static uint64_t count_in(const struct ss_input *in, uint32_t rank, uint64_t low, uint64_t high) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < in->count[rank]; i++) n += in->row[rank][i] >= low && in->row[rank][i] < high;
  return n;
}

static void check_even(const struct ss_input *in, uint32_t parts) {
  for (uint32_t r = 0; r < in->ranks; r++) {
    assert_true(in->count[r] == 32 && in->lookups[r] == 32 && ss_increasing(in->row[r], 32));
    for (uint32_t j = 0; j < parts; j++)
      assert_int_equal(count_in(in, r, cut(512, parts, j), cut(512, parts, j + 1)), 32 / parts);
  }
}

static uint32_t union_of(const struct ss_input *in) {
  uint32_t seen = 0;
  for (uint32_t row = 0; row < in->rows; row++) {
    bool any = false;
    for (uint32_t r = 0; r < in->ranks; r++) any = any || count_in(in, r, row, row + 1);
    seen += any;
  }
  return seen;
}

TEST(uniform_inputs_hold_the_same_everywhere) {
  static const uint32_t least[] = {32, 8 * 32, 100}, largest[] = {32, 8 * 32, 8 * 32 - 1};
  AUTO(ss_coalesce_free) struct ss_coalesce_scratch scratch = {0};
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error;
  for (int overlap = SS_OVERLAP_FULL; overlap <= SS_OVERLAP_RANDOM; overlap++)
    for (uint32_t parts = 1; parts <= 8; parts *= 2) {
      struct ss_origin origin = {
          .merge = 1,
          .uniform = {.rows = 512, .width = 3, .value_bytes = 4, .overlap = (enum ss_overlap)overlap, .seed = 5}};
      struct ss_input_options options = {.ranks = 8, .lists = true, .lookups = true, .iteration = 3};
      struct ss_input in;
      assert_true(ss_uniform_make(1.0 / 16, &origin.uniform, &error));
      assert_true(ss_uniform_divides(&origin.uniform, parts, 8, &error));
      assert_int_equal(origin.uniform.nnz, 32);
      assert_true(ss_input_make(&origin, &options, &arena, &scratch, &in, &error));
      assert_true(in.even && in.ranks == 8 && in.rows == 512);
      assert_true(union_of(&in) >= least[overlap] && union_of(&in) <= largest[overlap]);
      check_even(&in, parts);
      ss_arena_reset(&arena);
    }
}

TEST(uniform_inputs_that_do_not_divide_are_refused) {
  struct ss_uniform u = {.rows = 100, .width = 1, .value_bytes = 4, .overlap = SS_OVERLAP_FULL, .seed = 1};
  struct ss_error error;
  assert_false(ss_uniform_make(0, &u, &error));
  assert_false(ss_uniform_make(1.5, &u, &error));
  assert_false(ss_uniform_make(NAN, &u, &error));
  assert_false(ss_uniform_make(1.0 / 32, &u, &error));
  assert_non_null(strstr(error.text, "128"));
  u.rows = 5;
  assert_false(ss_uniform_make(0.1, &u, &error));
  u.rows = 96;
  assert_true(ss_uniform_make(1.0 / 32, &u, &error));
  assert_int_equal(u.nnz, 3);
  assert_false(ss_uniform_divides(&u, 2, 4, &error)); /* 3 rows */
  assert_true(ss_uniform_divides(&u, 3, 4, &error));
  assert_false(ss_uniform_divides(&u, 5, 4, &error)); /* 96 rows */
  u.overlap = SS_OVERLAP_NONE;
  assert_true(ss_uniform_divides(&u, 3, 32, &error));
  assert_false(ss_uniform_divides(&u, 3, 33, &error));
  assert_int_equal(ss_uniform_rows(1, 0.25, 3), 12);
  assert_int_equal(ss_uniform_rows(13, 0.25, 3), 24);
  assert_int_equal(ss_uniform_rows(12, 0.25, 3), 12);
  assert_int_equal(ss_uniform_rows(100, 0.123456789012345, 7), 0);
}

/* --- the proof can fail ---------------------------------------------------------------------------------- */

/* Plays on the engine with marks and a reference of the caller's choice. */
static struct ss_outcome play_against(const struct ss_setting *setting, const struct ss_input *input,
                                      const struct ss_chunk *own, struct ss_proof *proof, struct ss_arena *arena) {
  struct ss_cluster cluster = flat_cluster(1e-6, 1e-9);
  struct ss_outcome outcome = {.exact = false};
  struct ss_engine engine;
  struct ss_error error;
  const struct ss_layout layout = flat_layout(input->ranks);
  uint32_t servers = ss_setting_servers(setting, layout);
  assert_true(ss_engine_open(&engine, &cluster, input->ranks, servers, &error));
  struct ss_state state = {0};
  const struct ss_stage stage = {.setting = setting,
                                 .input = input,
                                 .servers = servers,
                                 .per_node = 1,
                                 .player = &engine.player,
                                 .payloads = true,
                                 .own = own,
                                 .proof = proof,
                                 .state = &state,
                                 .arena = arena};
  assert_true(ss_state_begin(&state, input->ranks, &error));
  assert_true(ss_stage_run(&stage, NULL, &outcome, &error));
  ss_state_free(&state);
  ss_engine_close(&engine);
  return outcome;
}

/* Schemes sum `input`, the reference `other`. */
static bool exact_against(const struct ss_setting *setting, const struct ss_input *input,
                          const struct ss_input *other) {
  struct ss_arena arena = {0};
  const struct ss_chunk *own;
  struct ss_proof *proof;
  struct ss_error error;
  assert_true(ss_run_own(setting, input, (struct ss_own_content){.proofs = true}, &arena, &own, &error));
  assert_true(ss_reference_open(setting, other, &proof, &error));
  struct ss_outcome outcome = play_against(setting, input, own, proof, &arena);
  ss_reference_close(proof);
  ss_arena_free(&arena);
  return outcome.exact;
}

static bool sums_rows(const struct ss_setting *s) {
  if (ss_scheme_model_parallel(s->scheme)) return !chosen(s, "exchange", "lookups");
  return strcmp(s->scheme->name, "allreduce") != 0 &&
         !(strcmp(s->scheme->name, "ps") == 0 && *ss_setting_find(s, "dense"));
}

static const uint32_t rows_a[] = {1, 4, 6}, rows_b[] = {0, 4, 7}, rows_c[] = {4, 5, 9}, rows_d[] = {0, 4, 8},
                      rows_e[] = {0, 4};
static const uint32_t *const three[] = {rows_a, rows_b, rows_c};
static const uint64_t threes[] = {3, 3, 3, 3};

/* Every row is a bag. Good until eight more inputs have been made. */
static const struct ss_bagged *bags_of_one(uint32_t ranks, const uint32_t *const *row, const uint64_t *count) {
  static const uint32_t number[] = {0, 1, 2, 3};
  static const uint64_t first[][2] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}};
  static struct ss_bagged made[8][4];
  static uint32_t next;
  struct ss_bagged *out = made[next++ % COUNT(made)];
  for (uint32_t r = 0; r < ranks; r++) {
    assert_true(r < COUNT(*made) && count[r] < COUNT(first));
    out[r] = (struct ss_bagged){count[r], first[count[r]], row[r], number};
  }
  return out;
}

static struct ss_input small_input(uint32_t ranks, const uint32_t *const *row, const uint64_t *count) {
  return (struct ss_input){.ranks = ranks,
                           .rows = 10,
                           .width = 4,
                           .value_bytes = 4,
                           .count = count,
                           .row = row,
                           .lookups = count,
                           .lookup = row,
                           .bagged = bags_of_one(ranks, row, count)};
}

TEST(another_sum_is_not_the_sum) {
  const uint32_t *const changed[] = {rows_a, rows_d, rows_c}, *const fewer[] = {rows_a, rows_e, rows_c},
                        *const more[] = {rows_a, rows_b, rows_c, rows_b}, *const moved[] = {rows_b, rows_a, rows_c};
  const uint64_t counts_fewer[] = {3, 2, 3};
  struct ss_input input = small_input(3, three, threes), other[4];
  uint32_t tried = 0;
  other[0] = small_input(4, more, threes);
  other[1] = small_input(3, changed, threes);
  other[2] = small_input(3, fewer, counts_fewer);
  other[3] = small_input(3, moved, threes); /* the same union, from other ranks */
  for (size_t i = 0; ss_schemes()[i]; i++) {
    if (!ss_scheme_lossless(ss_schemes()[i])) continue;
    struct cases cases = {.scheme = ss_schemes()[i], .layout = flat_layout(3), .brief = true};
    struct ss_setting setting;
    char words[400];
    while (cases_next(&cases, &setting)) {
      setting_text(&setting, words, sizeof words);
      if (!exact_against(&setting, &input, &input)) fail_msg("%s: not exact", words);
      if (ss_scheme_model_parallel(setting.scheme) && !sums_rows(&setting)) continue;
      for (uint32_t k = 0; k < (sums_rows(&setting) ? COUNT(other) : 1); k++, tried++)
        if (exact_against(&setting, &input, &other[k])) fail_msg("%s: wrong sum %u passes", words, k);
    }
  }
  assert_true(tried > (getenv("SPARSYNC_TEST_SCHEME") ? 0 : 100));
}

/* What ranks contribute travels as it is, not as what bags have. */
static bool chosen_rows(const struct ss_setting *s) {
  return !ss_scheme_model_parallel(s->scheme) || chosen(s, "pooling", "none");
}

/* One wrong proof integer among what one rank contributes. */
TEST(a_tampered_mark_shows) {
  struct ss_input input = small_input(3, three, threes);
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error;
  for (size_t i = 0; ss_schemes()[i]; i++) {
    if (!ss_scheme_lossless(ss_schemes()[i])) continue;
    struct cases cases = {.scheme = ss_schemes()[i], .layout = flat_layout(3), .brief = true};
    struct ss_setting setting;
    char words[400];
    while (cases_next(&cases, &setting))
      for (uint32_t at = 0; at < 9 && sums_rows(&setting) && chosen_rows(&setting); at++) {
        const struct ss_chunk *own;
        struct ss_proof *proof;
        uint64_t marks[3];
        ss_arena_reset(&arena);
        assert_true(ss_run_own(&setting, &input, (struct ss_own_content){.proofs = true}, &arena, &own, &error));
        assert_true(ss_reference_open(&setting, &input, &proof, &error));
        struct ss_chunk tampered[] = {own[0], own[1], own[2]};
        for (uint32_t k = 0; k < 3; k++) marks[k] = ss_chunk_mark(&own[at / 3], k);
        marks[at % 3]++;
        tampered[at / 3].proofs = marks;
        tampered[at / 3].kind = SS_CHUNK_PROOFS;
        tampered[at / 3].author = 0;
        struct ss_outcome outcome = play_against(&setting, &input, tampered, proof, &arena);
        if (outcome.exact || !outcome.mismatch[0])
          fail_msg("%s: tampered mark %u passes", setting_text(&setting, words, sizeof words), at);
        ss_reference_close(proof);
      }
  }
}

/* So that one lookup of a row cannot stand for another. */
TEST(every_occurrence_contributes_another_integer) {
  const uint32_t lookups[] = {4, 4, 4, 7}, *const lists[] = {lookups, lookups};
  const uint64_t fours[] = {4, 4};
  struct ss_input input = small_input(2, lists, fours);
  struct ss_setting setting = {.scheme = ss_scheme_find("allgather")}; /* coalesce: false */
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  const struct ss_chunk *own;
  struct ss_error error;
  uint64_t marks[8];
  assert_false(*ss_setting_find(&setting, "coalesce"));
  assert_true(ss_run_own(&setting, &input, (struct ss_own_content){.proofs = true}, &arena, &own, &error));
  for (uint32_t i = 0; i < 8; i++) {
    marks[i] = own[i / 4].marks[i % 4];
    assert_true(marks[i] == ss_contribution(i / 4, lookups[i % 4], i % 4 % 3));
    for (uint32_t k = 0; k < i; k++) assert_true(marks[i] != marks[k]);
  }
}

/* The sum over three ranks, by plain loops, and the reference, which judges it. */
struct judged {
  struct ss_input input;
  struct ss_proof *proof;
  uint64_t marks[7], dense[2];
  struct ss_chunk sum;
};

static void open_judged(struct judged *j) {
  static const uint32_t rows[] = {0, 1, 4, 5, 6, 7, 9};
  const struct ss_setting setting = {.scheme = ss_scheme_find("allgather"), .value = {0, 0, 1}};
  struct ss_error error;
  *j = (struct judged){.input = small_input(3, three, threes)};
  for (uint32_t i = 0; i < 7; i++)
    for (uint32_t r = 0; r < 3; r++)
      for (uint32_t k = 0; k < 3; k++)
        if (three[r][k] == rows[i]) j->marks[i] += ss_contribution(r, rows[i], 0);
  for (uint32_t u = 0; u < 2; u++)
    for (uint32_t r = 0; r < 3; r++) j->dense[u] += ss_contribution(r, u, 0);
  j->sum = (struct ss_chunk){.rows = rows, .proofs = j->marks, .kind = SS_CHUNK_PROOFS, .count = 7, .high = 10};
  assert_true(ss_reference_open(&setting, &j->input, &j->proof, &error));
}

TEST(the_reference_refuses_what_is_not_the_sum) {
  struct judged j;
  struct ss_chunk c;
  open_judged(&j);
  assert_true(j.proof->sparse(j.proof, &j.sum, 0, NULL));
  c = j.sum, c.count = 6;
  assert_false(j.proof->sparse(j.proof, &c, 0, NULL));
  c = j.sum, c.rows++, c.marks++, c.count--;
  assert_false(j.proof->sparse(j.proof, &c, 0, NULL));
  c = j.sum, c.rows += 2, c.marks += 2, c.count = 3, c.low = 2, c.high = 7; /* 4, 5, 6 of [2, 7) */
  assert_true(j.proof->sparse(j.proof, &c, 0, NULL));
  c.low = 1;
  assert_false(j.proof->sparse(j.proof, &c, 0, NULL));
  c.low = 5, c.high = 7, c.count = 2; /* 4, 5 of [5, 7): outside */
  assert_false(j.proof->sparse(j.proof, &c, 0, NULL));
  c = (struct ss_chunk){.low = 2, .high = 4};
  assert_true(j.proof->sparse(j.proof, &c, 0, NULL));
  c = (struct ss_chunk){.low = 2, .high = 5};
  assert_false(j.proof->sparse(j.proof, &c, 0, NULL));
  ss_reference_close(j.proof);
}

TEST(the_reference_refuses_what_is_not_the_sum_of_chosen_rows) {
  struct judged j;
  open_judged(&j);
  struct ss_chunk only = {.rows = (const uint32_t[]){4, 6}, .count = 2, .high = 10}, c = only;
  c.proofs = (const uint64_t[]){j.marks[2], j.marks[4]}, c.kind = SS_CHUNK_PROOFS;
  assert_true(j.proof->sparse(j.proof, &c, 0, &only));
  assert_false(j.proof->sparse(j.proof, &j.sum, 0, &only));
  c.marks = (const uint64_t[]){j.marks[4], j.marks[2]};
  assert_false(j.proof->sparse(j.proof, &c, 0, &only));
  ss_reference_close(j.proof);
}

TEST(the_reference_refuses_what_is_not_the_dense_sum) {
  struct judged j;
  open_judged(&j);
  struct ss_chunk c = {.dense = true, .proofs = j.dense, .kind = SS_CHUNK_PROOFS, .count = 2, .high = 10};
  assert_true(j.proof->dense(j.proof, &c, 2));
  c.count = 1, c.high = 5;
  assert_true(j.proof->dense(j.proof, &c, 2));
  c.high = 6;
  assert_false(j.proof->dense(j.proof, &c, 2));
  c.high = 10, c.low = 5, c.part = 1;
  assert_false(j.proof->dense(j.proof, &c, 2)); /* unit 0's integer as unit 1 */
  c.kind = SS_CHUNK_BARE;
  assert_false(j.proof->dense(j.proof, &c, 2));
  ss_reference_close(j.proof);
}

/* --- imbalance -------------------------------------------------------------------------------------------- */

/* ZEN Def. 8: n times the largest share of one part, of a rank's rows in the push and of the union's in the pull. */
TEST(ps_tells_how_uneven_its_parts_are) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint32_t seed = 1; seed <= 20; seed++) {
    struct dice dice = {.seed = seed};
    uint32_t P = dice_between(&dice, 2, 9);
    struct ss_trace *trace = ragged_trace(&dice, seed % 2 ? HOT : SCATTERED, P, 40, 3, SS_F32);
    struct cases cases = {.scheme = ss_scheme_find("ps"), .layout = flat_layout(P)};
    struct ss_cluster cluster = flat_cluster(1e-6, 1e-9);
    struct ss_world world = {.cluster = &cluster, .verify = true};
    struct truth t = truth_of(trace, 1, false);
    struct ss_setting setting;
    while (cases_next(&cases, &setting)) {
      struct ss_input input = ragged_input(trace, 1, &setting, true, &arena);
      struct ss_outcome o = {.exact = false};
      struct ss_error error;
      uint32_t parts = ss_setting_servers(&setting, flat_layout(P));
      const bool again = !*ss_setting_find(&setting, "coalesce");
      double push = 0, pull = 0;
      if (parts == 0) parts = P;
      assert_true(ss_simulate(&setting, &world, &input, &arena, &o, &error));
      for (uint32_t j = 0; j < parts; j++) {
        uint64_t low = cut(40, parts, j), high = cut(40, parts, j + 1);
        for (uint32_t r = 0; r < P; r++)
          push = fmax(push, parts * (double)rows_in(&t, r, low, high, again) /
                                fmax(1, (double)rows_in(&t, r, 0, 40, again)));
        pull = fmax(pull, parts * (double)union_in(&t, low, high) / (double)union_in(&t, 0, 40));
      }
      if (*ss_setting_find(&setting, "dense")) {
        assert_true(isnan(o.push_imbalance) && isnan(o.pull_imbalance));
      } else {
        assert_true(close_to(o.push_imbalance, push, 1e-12) && close_to(o.pull_imbalance, pull, 1e-12));
      }
      ss_arena_reset(&arena);
    }
    free(t.n);
    ss_trace_close(trace);
  }
}

/* --- settings --------------------------------------------------------------------------------------------- */

TEST(settings_read_as_written) {
  static const struct {
    const char *json, *says;
  } wrong[] = {
      {"3", "a scheme is a name"},
      {"\"allgater\"", "did you mean \"allgather\""},
      {"{\"label\": \"x\"}", "name"},
      {"{\"name\": \"allgather\", \"algoritm\": \"ring\"}", "algorithm"},
      {"{\"name\": \"allgather\", \"algorithm\": \"rings\"}", "recursive-doubling"},
      {"{\"name\": \"allgather\", \"separate\": 1}", "separate"},
      {"{\"name\": \"ps\", \"servers\": 0}", "servers"},
      {"{\"name\": \"ps\", \"servers\": 1.5}", "servers"},
      {"{\"name\": \"ps\", \"index_bytes\": 17}", "index_bytes"},
      {"{\"name\": \"ps\", \"granularity\": \"rows\"}", "element"},
      {"{\"name\": \"ps\", \"sizes\": \"none\"}", "exchanged"},
      {"{\"name\": \"ps\", \"ragged\": \"pad\"}", "padded"},
      {"{\"name\": \"ps\", \"ragged\": \"padded\"}", "no gathers"},
      {"{\"name\": \"ps\", \"label\": \"\"}", "label"},
  };
  static const char right[] =
      "{\"name\": \"ps\", \"label\": \"mine\", \"pull\": \"rows\", \"servers\": 7, "
      "\"index_bytes\": 8, \"granularity\": \"element\", \"sizes\": \"exchanged\", \"ragged\": \"v\"}";
  struct ss_setting defaults = {.index_bytes = 4}, setting;
  struct ss_error error;
  struct ss_doc *doc;
  assert_true(ss_doc_parse("test", right, strlen(right), &doc, &error));
  assert_true(ss_setting_read(ss_doc_root(doc), &defaults, &setting, &error));
  assert_string_equal(setting.label, "mine");
  assert_true(chosen(&setting, "pull", "rows") && *ss_setting_find(&setting, "servers") == 7);
  assert_true(setting.index_bytes == 8 && setting.element && setting.exchange_sizes);
  assert_true(setting.ragged == SS_RAGGED_V && setting.ragged_said && setting.sizes_said);
  ss_doc_free(doc);
  for (uint32_t i = 0; i < COUNT(wrong); i++) {
    assert_true(ss_doc_parse("test", wrong[i].json, strlen(wrong[i].json), &doc, &error));
    assert_false(ss_setting_read(ss_doc_root(doc), &defaults, &setting, &error));
    if (!strstr(error.text, wrong[i].says)) fail_msg("\"%s\" does not say \"%s\"", error.text, wrong[i].says);
    ss_doc_free(doc);
  }
}

static struct ss_setting settled(const char *json, enum ss_library_kind kind) {
  const struct ss_library library = {.kind = kind, .call = 3e-6};
  struct ss_setting setting;
  setting_of(json, &setting);
  ss_setting_settle(&setting, &library);
  return setting;
}

/* What nobody said is the library's: NCCL has no all-gather of unlike lengths, MPI has; none tells sizes. */
TEST(libraries_decide_what_nobody_said) {
  static const struct {
    const char *json;
    enum ss_library_kind kind;
    bool exchanged;
    enum ss_ragged ragged;
  } cases[] = {
      {"\"allgather\"", SS_NO_LIBRARY, false, SS_RAGGED_V},
      {"\"allgather\"", SS_NCCL, true, SS_RAGGED_BROADCASTS},
      {"\"allgather\"", SS_OPEN_MPI, true, SS_RAGGED_V},
      {"\"allgather\"", SS_MPICH, true, SS_RAGGED_V},
      {"\"allgather\"", SS_GLOO, true, SS_RAGGED_V},
      {"{\"name\": \"allgather\", \"sizes\": \"free\"}", SS_NCCL, false, SS_RAGGED_BROADCASTS},
      {"{\"name\": \"allgather\", \"ragged\": \"v\"}", SS_NCCL, true, SS_RAGGED_V},
      {"{\"name\": \"allgather\", \"ragged\": \"padded\"}", SS_GLOO, true, SS_RAGGED_PADDED},
      {"{\"name\": \"allgather\", \"algorithm\": \"bruck\"}", SS_NCCL, true, SS_RAGGED_V},
      {"{\"name\": \"allgather\", \"algorithm\": \"ring\"}", SS_NCCL, true, SS_RAGGED_BROADCASTS},
      {"\"sparcml-rd\"", SS_NCCL, true, SS_RAGGED_V},
      {"\"allreduce\"", SS_NCCL, false, SS_RAGGED_V},
      {"{\"name\": \"ps\", \"dense\": true}", SS_NCCL, false, SS_RAGGED_V},
      {"\"s2\"", SS_NCCL, false, SS_RAGGED_V},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    const struct ss_setting s = settled(cases[i].json, cases[i].kind);
    if (s.exchange_sizes != cases[i].exchanged || s.ragged != cases[i].ragged)
      fail_msg("%s with %s: sizes %d, ragged %d", cases[i].json, ss_library_names[cases[i].kind], s.exchange_sizes,
               s.ragged);
    assert_true(s.call == (cases[i].exchanged ? 3e-6 : 0));
  }
  struct ss_setting clash;
  struct ss_error error;
  setting_of("{\"name\": \"allgather\", \"algorithm\": \"bruck\", \"ragged\": \"broadcasts\"}", &clash);
  assert_false(ss_setting_check(&clash, (struct ss_layout){.ranks = 4, .nodes = 4, .per_node = 1}, &error));
  assert_non_null(strstr(error.text, "algorithm"));
}

/* Code reads options by their numbers: tables must be as it takes them to be. */
TEST(option_tables_are_whole) {
  for (size_t i = 0; ss_schemes()[i]; i++) {
    const struct ss_scheme *scheme = ss_schemes()[i];
    const struct ss_option *options = scheme->options;
    size_t n = 0;
    for (; options && options[n].name; n++) {
      const struct ss_option *o = &options[n];
      const struct ss_setting setting = {.scheme = scheme, .given = {[SS_K] = true}};
      assert_true(n < SS_OPTIONS_MAX);
      assert_true(o->help && (o->kind == SS_OPTION_CHOICE) == (o->choices != NULL));
      for (int c = 0; o->choices && c <= (int)o->default_value; c++) assert_non_null(o->choices[c]);
      assert_ptr_equal(ss_setting_find(&setting, o->name), &setting.value[n]);
      assert_int_equal(ss_setting_given(&setting, o->name), n == SS_K);
    }
    assert_null(ss_setting_find(&(struct ss_setting){.scheme = scheme}, "no such option"));
    if (!options || scheme->content != SS_SENDS_LARGEST) continue;
    assert_true(n >= SS_K_OPTIONS);
    assert_string_equal(options[SS_DENSITY].name, "density");
    assert_string_equal(options[SS_K].name, "k");
  }
}

/* --- what is refused, and servers ------------------------------------------------------------------------- */

TEST(servers_count_per_group) {
  static const struct {
    const char *json;
    struct ss_layout layout;
    uint32_t servers;
    uint64_t parts;
  } settings[] = {
      {"\"ps\"", {4, 2, 2, 0, false, false, false}, 2, 2},
      {"{\"name\": \"ps\", \"hierarchy\": \"shard\"}", {4, 2, 2, 0, false, false, false}, 4, 4},
      {"{\"name\": \"ps\", \"hierarchy\": \"leader\"}", {4, 2, 2, 0, false, false, false}, 2, 2},
      {"{\"name\": \"ps\", \"hierarchy\": \"shard\"}", {16, 4, 4, 0, false, false, false}, 16, 16},
      {"{\"name\": \"ps\", \"servers\": 2, \"hierarchy\": \"shard\"}", {12, 3, 4, 0, false, false, false}, 8, 8},
      {"{\"name\": \"ps\", \"servers\": 2, \"hierarchy\": \"leader\"}", {12, 3, 4, 0, false, false, false}, 2, 2},
      {"{\"name\": \"ps\", \"colocated\": true, \"hierarchy\": \"shard\"}",
       {12, 3, 4, 0, false, false, false},
       0,
       12},
      {"{\"name\": \"omnireduce\", \"aggregators\": 1, \"hierarchy\": \"shard\"}",
       {4, 2, 2, 0, false, false, false},
       2,
       2},
      {"{\"name\": \"omnireduce\", \"hierarchy\": \"shard\"}", {4, 2, 2, 0, false, false, false}, 0, 4},
      {"{\"name\": \"zen\", \"balance\": \"even\", \"hierarchy\": \"shard\"}",
       {6, 2, 3, 0, false, false, false},
       0,
       6},
      {"{\"name\": \"ps\", \"hierarchy\": \"shard\"}", {3, 1, 8, 0, false, false, false}, 0, 3},
  };
  for (uint32_t i = 0; i < COUNT(settings); i++) {
    struct ss_setting setting;
    struct ss_error error;
    setting_of(settings[i].json, &setting);
    assert_true(ss_setting_check(&setting, settings[i].layout, &error));
    uint32_t servers = ss_setting_servers(&setting, settings[i].layout);
    if (servers != settings[i].servers) fail_msg("case %u, %s: %u servers", i, settings[i].json, servers);
    if (ss_setting_parts(&setting, settings[i].layout) != settings[i].parts)
      fail_msg("case %u, %s: %llu parts", i, settings[i].json,
               (unsigned long long)ss_setting_parts(&setting, settings[i].layout));
  }
}

TEST(impossible_settings_are_refused) {
  static const struct {
    const char *json;
    struct ss_layout layout;
    const char *says; /* NULL: allowed */
  } settings[] = {
      {"{\"name\": \"ps\", \"servers\": 4}", {4, 1, 4, 0, false, false, false}, NULL},
      {"{\"name\": \"ps\", \"servers\": 5}", {4, 1, 4, 0, false, false, false}, "at most as many servers as ranks"},
      {"{\"name\": \"ps\", \"servers\": 2, \"colocated\": true}",
       {4, 1, 4, 0, false, false, false},
       "leave \"servers\" out"},
      {"{\"name\": \"ps\", \"pull\": \"broadcast-scatter\"}",
       {4, 1, 4, 0, false, false, false},
       "needs \"colocated\""},
      {"{\"name\": \"ps\", \"pull\": \"broadcast-binomial\", \"colocated\": true}",
       {4, 1, 4, 0, false, false, false},
       NULL},
      {"{\"name\": \"ps\", \"pull\": \"rows\", \"dense\": true}", {4, 1, 4, 0, false, false, false}, "pulled whole"},
      {"{\"name\": \"alltoall\", \"exchange\": \"gradients\", \"gather_ids\": true}",
       {4, 1, 4, 0, false, false, false},
       "gather_ids"},
      {"{\"name\": \"alltoall\", \"exchange\": \"lookups\", \"coalesce\": false}",
       {4, 1, 4, 0, false, false, false},
       "coalesce"},
      {"{\"name\": \"alltoall\", \"exchange\": \"lookups\", \"gather_ids\": true}",
       {4, 1, 4, 0, false, false, false},
       NULL},
      {"{\"name\": \"alltoall\", \"exchange\": \"tokens\", \"gather_ids\": true}",
       {4, 1, 4, 0, false, false, false},
       "tokens bring their ids"},
      {"{\"name\": \"alltoall\", \"exchange\": \"tokens\", \"coalesce\": false}",
       {4, 1, 4, 0, false, false, false},
       "none is summed"},
      {"{\"name\": \"zen\", \"hierarchy\": \"shard\"}", {5, 3, 2, 0, false, false, false}, "full nodes"},
      {"{\"name\": \"zen\", \"hierarchy\": \"shard\"}", {5, 3, 2, 0, false, false, false}, "6 ranks"},
      {"{\"name\": \"zen\", \"hierarchy\": \"leader\"}", {5, 3, 2, 0, false, false, false}, NULL},
      {"{\"name\": \"zen\", \"hierarchy\": \"shard\"}", {3, 1, 8, 0, false, false, false}, NULL},
      {"{\"name\": \"zen\", \"hierarchy\": \"shard\"}", {4, 4, 1, 0, false, false, false}, "several GPUs"},
      {"{\"name\": \"zen\", \"hierarchy\": \"leader\"}", {4, 4, 1, 0, false, false, false}, "several GPUs"},
      {"{\"name\": \"alltoall\", \"hierarchy\": \"shard\"}", {4, 2, 2, 0, false, false, false}, "hierarchy"},
      {"{\"name\": \"alltoall\", \"hierarchy\": \"leader\"}", {4, 2, 2, 0, false, false, false}, "hierarchy"},
      {"{\"name\": \"ps\", \"pull\": \"rows\", \"hierarchy\": \"shard\"}",
       {4, 2, 2, 0, false, false, false},
       "union"},
      {"{\"name\": \"ps\", \"pull\": \"rows\", \"hierarchy\": \"leader\"}",
       {4, 2, 2, 0, false, false, false},
       "union"},
      {"{\"name\": \"ps\", \"servers\": 3, \"hierarchy\": \"leader\"}", {4, 2, 2, 0, false, false, false}, "servers"},
      {"{\"name\": \"ps\", \"servers\": 2, \"hierarchy\": \"shard\"}", {4, 2, 2, 0, false, false, false}, NULL},
      {"{\"name\": \"omnireduce\", \"aggregators\": 3, \"hierarchy\": \"shard\"}",
       {4, 2, 2, 0, false, false, false},
       "aggregators"},
      {"{\"name\": \"allreduce\", \"hierarchy\": \"shard\"}", {6, 3, 2, 0, false, false, false}, NULL},
      {"{\"name\": \"allreduce\", \"rings\": 2}", {4, 2, 2, 2, false, false, false}, NULL},
      {"{\"name\": \"allgather\", \"rings\": 3}", {4, 2, 2, 2, false, false, false}, "a node has 2"},
      {"{\"name\": \"allgather\", \"rings\": 2}", {4, 2, 2, 0, false, false, false}, "alpha-beta"},
      {"{\"name\": \"allreduce\", \"rings\": 2, \"hierarchy\": \"leader\"}",
       {4, 2, 2, 2, false, false, false},
       "hierarchy"},
      {"{\"name\": \"allreduce\", \"rings\": 2, \"algorithm\": \"tree\"}",
       {4, 2, 2, 2, false, false, false},
       "of the ring"},
  };
  for (uint32_t i = 0; i < COUNT(settings); i++) {
    struct ss_setting setting;
    struct ss_error error;
    setting_of(settings[i].json, &setting);
    bool ok = ss_setting_check(&setting, settings[i].layout, &error);
    if (ok != (settings[i].says == NULL))
      fail_msg("case %u, %s: %s", i, settings[i].json, ok ? "passes" : error.text);
    if (!ok && settings[i].says && !strstr(error.text, settings[i].says))
      fail_msg("\"%s\" does not say \"%s\"", error.text, settings[i].says);
  }
}

/* Of several shards the worst counts, for pushing and for pulling apart. */
TEST(imbalance_is_of_the_worst_shard) {
  struct ss_run_verdict verdict = {.push_imbalance = NAN, .pull_imbalance = NAN};
  struct ss_run run = {.verdict = &verdict};
  static const double push[] = {1.5, 1.25, 2, 1}, pull[] = {1, 3, 2, NAN};
  for (size_t i = 0; i < COUNT(push); i++) {
    const struct ss_owners owners = {.push_imbalance = push[i], .pull_imbalance = pull[i]};
    ss_run_imbalance(&run, &owners);
  }
  assert_true(close_to(verdict.push_imbalance, 2, 0));
  assert_true(close_to(verdict.pull_imbalance, 3, 0));
}
/* SPDX-License-Identifier: Apache-2.0 */
