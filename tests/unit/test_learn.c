/* Training: the model's gradient against finite differences, optimisers against plain dense ones, every lossless
 * scheme against sums by plain loops, split updates against whole ones; and messages that are lost or changed on the
 * way. */
#include "scheme_cases.h"

#include "learn/traces.h"
#include "learn/trainer.h"
#include "library/sparsync.h"
#include "schemes/registry.h"
#include "study/learning.h"
#include "trace/file/trace.h"
#include "trace/make/import.h"

#include <omp.h>

/* --- texts and courses ---------------------------------------------------------------------------------- */

enum { WORDS = 40 };

/* Words "aa", "ab", ...: a few often, most rarely, and each likely to be followed by its neighbour; lines of 3 to 14.
 */
static char *make_text(struct dice *dice, uint32_t words, uint32_t distinct) {
  char *text = calloc((size_t)words * 4 + 1, 1), *at = text;
  uint32_t word = 0, left = 5;
  for (uint32_t i = 0; i < words; i++) {
    word = dice_one_in(dice, 2) ? (word + 1) % distinct : dice_below(dice, 1 + dice_below(dice, distinct));
    *at++ = (char)('a' + word / 26);
    *at++ = (char)('a' + word % 26);
    *at++ = left-- > 0 ? ' ' : '\n';
    if (at[-1] == '\n') left = dice_between(dice, 2, 13);
  }
  return text;
}

static struct ss_trace *text_of(enum ss_text_layout layout, uint32_t ranks, uint32_t distinct) {
  struct dice dice = {.seed = 5};
  char *text = make_text(&dice, 6000, distinct);
  const struct ss_import import = {
      .layout = layout, .ranks = ranks, .batch = 3, .seq = 9, .tensor = "text", .row_width = 1, .source = "test"};
  struct ss_trace *trace;
  struct ss_error error;
  if (!ss_trace_import("test", text, strlen(text), &import, &trace, &error)) fail_msg("%s", error.text);
  free(text);
  return trace;
}

static const struct ss_cluster flat = {
    .name = "flat", .model = "alpha-beta", .inter = {1e-6, 1e-9}, .intra = {1e-6, 1e-9}, .gpus_per_node = 1};

enum { STEPS = 6 };

static struct ss_learn_task course_of(const struct ss_trace *text, enum ss_optimizer_kind kind) {
  static const double rates[] = {[SS_SGD] = 2, [SS_ADAGRAD] = 0.1, [SS_ADAM] = 0.02};
  return (struct ss_learn_task){.text = text,
                                .ranks = ss_trace_ranks(text),
                                .batch = 3,
                                .shape = {ss_trace_tensor(text, 0)->rows, 3, 2, 5, 1, SS_BAG},
                                .optimizer = {kind, rates[kind]},
                                .steps = STEPS,
                                .cluster = &flat};
}

/* --- the model ------------------------------------------------------------------------------------------ */

/* Two sequences with padding, words read twice, and words that samples meet. */
static const uint32_t tokens[] = {1, 2, 3, 2, 4, 1, 5, 1, 6, 0, 0, 0};
static const struct ss_model_shape tiny = {8, 6,     2, 6,
                                           7, SS_BAG}; /* more than a vector of elements and of words, and no two */
/* The same words read by an LSTM. */
static const struct ss_model_shape reading = {8, 6, UINT32_MAX, 6, 7, SS_LSTM};
static const struct ss_batch small = {tokens, COUNT(tokens), 6, 3, 2};

static void distinct_rows(const struct ss_model_shape *shape, const struct ss_batch *batch, int table,
                          struct ss_arena *arena, struct ss_model_gradient *out) {
  struct ss_error error;
  struct ss_row_list reads;
  uint32_t *distinct = ss_arena_alloc(arena, ss_model_rows(shape, table), sizeof *distinct);
  assert_true(ss_batch_lookups(shape, batch, table, arena, &reads, &error));
  *out = (struct ss_model_gradient){.row = distinct};
  for (uint32_t row = 0; row < ss_model_rows(shape, table); row++)
    for (uint64_t i = 0; i < reads.count; i++)
      if (reads.rows[i] == row) {
        distinct[out->count++] = row;
        break;
      }
  out->value = ss_arena_alloc(arena, out->count * tiny.width, sizeof *out->value);
  memset(out->value, 0, out->count * tiny.width * sizeof *out->value);
}

static double loss_of(const struct ss_model *model, struct ss_model_gradient *gradient, struct ss_arena *arena) {
  struct ss_error error;
  struct ss_model_pass pass = {.weight = 0.25};
  for (int table = 0; table < ss_model_tables(&model->shape); table++) {
    distinct_rows(&model->shape, &small, table, arena, &gradient[table]);
    pass.gradient[table] = gradient[table];
  }
  assert_true(ss_model_learn(model, &small, &pass, arena, &error));
  return pass.loss;
}

static double element_of(const struct ss_model_gradient *g, uint32_t row, uint32_t column) {
  for (uint64_t i = 0; i < g->count; i++)
    if (g->row[i] == row) return g->value[i * tiny.width + column];
  return 0;
}

/* Central differences, h = 1e-5: their error is h^2 times a third derivative, and 1e-16 / h of rounding. */
static void differences(const struct ss_model_shape *shape) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_model model;
  struct ss_error error;
  struct ss_model_gradient gradient[SS_TABLES], other[SS_TABLES];
  assert_true(ss_model_open(shape, &model, &error));
  loss_of(&model, gradient, &arena);
  for (int table = 0; table < ss_model_tables(shape); table++)
    for (uint32_t e = 0; e < ss_model_rows(shape, table) * tiny.width; e++) {
      const double h = 1e-5, was = model.table[table][e];
      model.table[table][e] = was + h;
      const double above = loss_of(&model, other, &arena);
      model.table[table][e] = was - h;
      const double below = loss_of(&model, other, &arena);
      model.table[table][e] = was;
      const double slope = 0.25 * (above - below) / (2 * h);
      const double got = element_of(&gradient[table], e / tiny.width, e % tiny.width);
      if (fabs(got - slope) > 1e-8)
        fail_msg("table %d, element %u: %.12g, differences say %.12g", table, e, got, slope);
    }
  ss_model_close(&model);
}

TEST(gradient_by_differences) {
  differences(&tiny);
}

TEST(gradient_of_an_lstm_by_differences) {
  differences(&reading);
}

static double score(const struct ss_model *model, const double *mean, uint32_t word) {
  const double expected = tiny.samples * log((word + 1.0) / word) / log((double)tiny.vocab);
  double sum = -log(expected);
  for (uint32_t c = 0; c < tiny.width; c++) sum += mean[c] * model->table[SS_TABLE_OUTPUT][word * tiny.width + c];
  return sum;
}

/* The loss as language_model.h has it, written out; the samples are the last that the output table looks up. */
static double loss_written_out(const struct ss_model *model, const struct ss_row_list *reads, uint32_t *examples) {
  long double loss = 0;
  *examples = 0;
  for (uint32_t at = 0; at < COUNT(tokens); at++) {
    const uint32_t words = at % 6 < 2 ? 1 : 2;
    double mean[6] = {0};
    if (at % 6 == 0 || tokens[at] == 0) continue;
    for (uint32_t i = at - words; i < at; i++)
      for (uint32_t c = 0; c < 6; c++) mean[c] += model->table[SS_TABLE_INPUT][tokens[i] * 6 + c];
    for (uint32_t c = 0; c < 6; c++) mean[c] /= words;
    long double sum = expl(score(model, mean, tokens[at]));
    for (uint64_t k = reads->count - tiny.samples; k < reads->count; k++)
      if (reads->rows[k] != tokens[at]) sum += expl(score(model, mean, reads->rows[k]));
    loss += logl(sum) - score(model, mean, tokens[at]);
    ++*examples;
  }
  return (double)loss;
}

/* Gate `gate` of unit i, summed up: rows of the cell's table by what they weigh, as learn/recurrent.h has them. */
static double gate_of(const struct ss_model *model, const double *read, const double *state, uint32_t gate,
                      uint32_t i) {
  const double *cell = model->table[SS_TABLE_CELL];
  double sum = cell[(12 * 4 + gate) * 6 + i];
  for (uint32_t j = 0; j < 6; j++)
    sum += cell[(j * 4 + gate) * 6 + i] * read[j] + cell[((6 + j) * 4 + gate) * 6 + i] * state[j];
  return gate == 2 ? tanh(sum) : 1 / (1 + exp(-sum));
}

static void read_word(const struct ss_model *model, uint32_t word, double *cell, double *state) {
  const double *read = model->table[SS_TABLE_INPUT] + (size_t)word * 6;
  double before[6];
  memcpy(before, state, sizeof before);
  for (uint32_t i = 0; i < 6; i++) {
    cell[i] = gate_of(model, read, before, 1, i) * cell[i] +
              gate_of(model, read, before, 0, i) * gate_of(model, read, before, 2, i);
    state[i] = gate_of(model, read, before, 3, i) * tanh(cell[i]);
  }
}

/* The loss of an LSTM (Hochreiter and Schmidhuber 1997, with forget gates), written out. */
TEST(loss_of_an_lstm_by_definition) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_model model;
  struct ss_error error;
  struct ss_model_gradient gradient[SS_TABLES];
  struct ss_row_list reads;
  long double loss = 0;
  assert_true(ss_model_open(&reading, &model, &error));
  assert_true(ss_batch_lookups(&reading, &small, SS_TABLE_OUTPUT, &arena, &reads, &error));
  for (uint32_t first = 0; first < COUNT(tokens); first += 6) {
    double cell[6] = {0}, read[6] = {0}; /* the state: what was read */
    for (uint32_t at = first; at < first + 6 && tokens[at] > 0; at++) {
      long double sum = expl(score(&model, read, tokens[at]));
      for (uint64_t k = reads.count - tiny.samples; k < reads.count; k++)
        if (reads.rows[k] != tokens[at]) sum += expl(score(&model, read, reads.rows[k]));
      if (at > first) loss += logl(sum) - score(&model, read, tokens[at]);
      read_word(&model, tokens[at], cell, read);
    }
  }
  assert_true(close_to(loss_of(&model, gradient, &arena), (double)loss, 1e-12));
  ss_model_close(&model);
}

/* With the first values, and with larger ones: scores that are hundreds and thousands apart. */
TEST(loss_by_definition) {
  static const double factors[] = {1, 15, 10};
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_model model;
  struct ss_error error;
  struct ss_model_gradient gradient[SS_TABLES];
  struct ss_row_list reads;
  uint32_t examples;
  assert_true(ss_model_open(&tiny, &model, &error));
  assert_true(ss_batch_lookups(&tiny, &small, SS_TABLE_OUTPUT, &arena, &reads, &error));
  for (size_t f = 0; f < COUNT(factors); f++) {
    for (int table = 0; table < ss_model_tables(&tiny); table++)
      for (uint32_t e = 0; e < tiny.vocab * tiny.width; e++) model.table[table][e] *= factors[f];
    const double loss = loss_written_out(&model, &reads, &examples);
    assert_true(close_to(loss_of(&model, gradient, &arena), loss, 1e-12));
    for (uint64_t i = 0; i < gradient[SS_TABLE_OUTPUT].count * tiny.width; i++)
      assert_true(isfinite(gradient[SS_TABLE_OUTPUT].value[i]));
  }
  assert_int_equal(reads.count, examples + tiny.samples);
  assert_int_equal(ss_batch_examples(&tiny, &small), examples);
  ss_model_close(&model);
}

/* The header's log(K q(id)), of K = 6 samples. */
TEST(samples_are_expected_as_often_as_drawn) {
  struct ss_model model;
  struct ss_error error;
  double all = 0;
  assert_true(ss_model_open(&tiny, &model, &error));
  for (uint64_t id = 1; id < tiny.vocab; id++) {
    assert_true(close_to(exp(model.log_expected[id]),
                         tiny.samples * log((double)(id + 1) / (double)id) / log((double)tiny.vocab), 1e-12));
    all += exp(model.log_expected[id]);
  }
  assert_true(close_to(all, tiny.samples, 1e-12)); /* each draw is of some word */
  ss_model_close(&model);
}

/* q(id) = log((id+1)/id) / log V, each id's share of 6 x 25,000 draws within 5 sigma. */
TEST(samples_are_log_uniform) {
  enum { BATCHES = 25000 };
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  uint32_t drawn[8] = {0};
  for (uint32_t i = 0; i < BATCHES; i++) {
    const struct ss_batch batch = {tokens, 2, 2, i, i % 3};
    struct ss_error error;
    struct ss_row_list reads;
    ss_arena_reset(&arena);
    assert_true(ss_batch_lookups(&tiny, &batch, SS_TABLE_OUTPUT, &arena, &reads, &error));
    assert_int_equal(reads.count, 1 + tiny.samples);
    for (uint32_t k = 1; k < reads.count; k++) drawn[reads.rows[k]]++;
  }
  assert_int_equal(drawn[0], 0);
  for (uint32_t id = 1; id < 8; id++) {
    const double q = log((id + 1.0) / id) / log(8), all = tiny.samples * (double)BATCHES;
    if (fabs(drawn[id] - all * q) > 5 * sqrt(all * q * (1 - q))) fail_msg("id %u: %u draws", id, drawn[id]);
  }
}

/* --- optimisers ----------------------------------------------------------------------------------------- */

enum { ELEMENTS = 50, UPDATES = 40 };

/* Textbook optimisers on whole tables, in long double; elements without a gradient stand still. */
struct plain {
  long double p[ELEMENTS], m[ELEMENTS], v[ELEMENTS];
  uint32_t steps;
};

static void plain_step(struct plain *o, enum ss_optimizer_kind kind, long double rate, const bool *there,
                       const double *g) {
  o->steps++;
  for (uint32_t e = 0; e < ELEMENTS; e++) {
    if (!there[e]) continue;
    if (kind == SS_SGD) o->p[e] -= rate * g[e];
    if (kind == SS_ADAGRAD) o->v[e] += (long double)g[e] * g[e];
    if (kind == SS_ADAGRAD) o->p[e] -= rate * g[e] / (sqrtl(o->v[e]) + 1e-10L);
    if (kind != SS_ADAM) continue;
    /* Kingma and Ba's second form, which is PyTorch's: eps beside the root of v before its correction */
    o->m[e] = 0.9L * o->m[e] + 0.1L * g[e];
    o->v[e] = 0.999L * o->v[e] + 0.001L * g[e] * g[e];
    const long double corrected = rate * sqrtl(1 - powl(0.999L, o->steps)) / (1 - powl(0.9L, o->steps));
    o->p[e] -= corrected * o->m[e] / (sqrtl(o->v[e]) + 1e-8L);
  }
}

static void roll(struct dice *dice, bool *there, double *g) {
  const uint32_t share = dice_between(dice, 1, 3);
  for (uint32_t e = 0; e < ELEMENTS; e++) {
    there[e] = dice_below(dice, 4) < share;
    g[e] =
        dice_one_in(dice, 9) ? 0 : dice_unit(dice) * exp(8 * dice_unit(dice) - 6) * (dice_one_in(dice, 2) ? 1 : -1);
  }
}

static struct ss_update list(const bool *there, bool wanted, const double *g, uint32_t *element, double *value) {
  struct ss_update u = {element, value, 0};
  for (uint32_t e = 0; e < ELEMENTS; e++)
    if (there[e] == wanted) {
      element[u.count] = e;
      value[u.count++] = g[e];
    }
  return u;
}

TEST(optimizers_by_plain_ones) {
  for (int kind = SS_SGD; kind <= SS_ADAM; kind++) {
    const struct ss_optimizer_options options = {(enum ss_optimizer_kind)kind, 0.05};
    struct dice dice = {.seed = 31};
    struct plain plain = {.steps = 0};
    struct ss_optimizer optimizer;
    struct ss_error error;
    double parameters[ELEMENTS] = {0};
    assert_true(ss_optimizer_open(&options, ELEMENTS, &optimizer, &error));
    for (uint32_t t = 0; t < UPDATES; t++) {
      uint32_t element[ELEMENTS];
      double g[ELEMENTS], value[ELEMENTS];
      bool there[ELEMENTS];
      roll(&dice, there, g);
      const struct ss_update update = list(there, true, g, element, value);
      ss_optimizer_apply(&optimizer, parameters, &update, SS_PART_WHOLE);
      plain_step(&plain, (enum ss_optimizer_kind)kind, 0.05L, there, g);
      for (uint32_t e = 0; e < ELEMENTS; e++)
        if (fabsl(parameters[e] - plain.p[e]) > 1e-12L * (1 + fabsl(plain.p[e])))
          fail_msg("%s, update %u, element %u: %.17g, not %.17Lg", ss_optimizer_names[kind], t, e, parameters[e],
                   plain.p[e]);
    }
    ss_optimizer_close(&optimizer);
  }
}

/* Prior, then delayed, is the whole, bit by bit; also when either is empty. */
TEST(two_parts_are_one) {
  for (int kind = SS_SGD; kind <= SS_ADAM; kind++) {
    const struct ss_optimizer_options options = {(enum ss_optimizer_kind)kind, 0.05};
    struct dice dice = {.seed = 32};
    struct ss_optimizer whole, split;
    struct ss_error error;
    double p[ELEMENTS] = {0}, q[ELEMENTS] = {0};
    assert_true(ss_optimizer_open(&options, ELEMENTS, &whole, &error));
    assert_true(ss_optimizer_open(&options, ELEMENTS, &split, &error));
    for (uint32_t t = 0; t < UPDATES; t++) {
      uint32_t element[ELEMENTS];
      double g[ELEMENTS], value[ELEMENTS];
      bool prior[ELEMENTS], all[ELEMENTS];
      roll(&dice, prior, g);
      for (uint32_t e = 0; e < ELEMENTS; e++) {
        prior[e] = t % 4 == 1 || (t % 4 != 2 && prior[e]);
        all[e] = true;
      }
      struct ss_update update = list(all, true, g, element, value);
      ss_optimizer_apply(&whole, p, &update, SS_PART_WHOLE);
      update = list(prior, true, g, element, value);
      ss_optimizer_apply(&split, q, &update, SS_PART_PRIOR);
      update = list(prior, false, g, element, value);
      ss_optimizer_apply(&split, q, &update, SS_PART_DELAYED);
      assert_memory_equal(p, q, sizeof p);
    }
    ss_optimizer_close(&whole);
    ss_optimizer_close(&split);
  }
}

/* --- curves of lossless schemes ------------------------------------------------------------------------- */

/* The curve by plain loops: units of all ranks added up in a table as long as the model's. */
static void plain_curve(const struct ss_learn_task *task, double *loss) {
  struct ss_setting setting;
  struct ss_learner l;
  struct ss_error error;
  const uint64_t n = task->shape.vocab * task->shape.width;
  int64_t *sum = calloc(n, sizeof *sum);
  uint32_t *element = calloc(n, sizeof *element);
  double *value = calloc(n, sizeof *value);
  setting_of("\"allreduce\"", &setting);
  assert_true(ss_learner_open(task, &setting, &l, &error));
  for (uint64_t t = 0; t < task->steps; t++) {
    struct ss_gradients g;
    assert_true(ss_learner_gradients(&l, t, &g, &error));
    assert_true(g.finite);
    loss[t] = g.loss;
    for (int table = 0; table < SS_TABLE_CELL; table++) {
      struct ss_update update = {element, value, 0};
      bool *there = calloc(n, sizeof *there);
      memset(sum, 0, n * sizeof *sum);
      for (uint32_t r = 0; r < l.ranks; r++)
        for (uint64_t i = 0; i < g.own[table][r].count; i++)
          for (uint32_t c = 0; c < task->shape.width; c++) {
            const size_t e = (size_t)g.own[table][r].row[i] * task->shape.width + c;
            there[e] = true;
            sum[e] += g.own[table][r].unit[i * task->shape.width + c];
          }
      for (uint64_t e = 0; e < n; e++)
        if (there[e]) {
          element[update.count] = (uint32_t)e;
          value[update.count++] = ldexp((double)sum[e], -SS_VALUE_BITS - l.scale[table].exponent);
        }
      free(there);
      ss_optimizer_apply(&l.optimizer[table], l.model.table[table], &update, SS_PART_WHOLE);
    }
  }
  ss_learner_close(&l);
  free(sum);
  free(element);
  free(value);
}

static bool learns(const struct ss_learn_task *task, const struct ss_setting *setting, struct ss_curve *out) {
  struct ss_error error;
  char text[300];
  if (ss_learn(task, setting, NULL, out, &error)) return true;
  if (error.status != SS_BAD_INPUT || !strstr(error.text, "gradients"))
    fail_msg("%s: %s", setting_text(setting, text, sizeof text), error.text);
  return false; /* it carries no gradients, or not as they come */
}

static void same_curve(const struct ss_learn_task *task, const struct ss_setting *setting, const double *loss) {
  struct ss_curve curve;
  char text[300];
  if (!learns(task, setting, &curve)) return;
  if (!curve.sound) fail_msg("%s: %s", setting_text(setting, text, sizeof text), curve.mismatch);
  if (curve.steps != task->steps || memcmp(curve.loss, loss, task->steps * sizeof *loss) != 0)
    fail_msg("%s, %u ranks: not the curve of plain sums", setting_text(setting, text, sizeof text),
             ss_trace_ranks(task->text));
  ss_curve_free(&curve);
}

TEST(lossless_schemes_by_plain_sums) {
  static const uint32_t ranks[] = {1, 2, 3, 5, 8};
  for (uint32_t i = 0; i < COUNT(ranks); i++) {
    struct ss_trace *text = text_of(i % 2 ? SS_SENTENCE : SS_STREAM, ranks[i], WORDS);
    struct ss_learn_task task = course_of(text, (enum ss_optimizer_kind)(i % 3));
    double loss[STEPS];
    plain_curve(&task, loss);
    for (const struct ss_scheme *const *s = ss_schemes(); *s; s++) {
      struct cases c = {.scheme = *s, .layout = flat_layout(ranks[i]), .brief = true};
      struct ss_setting setting;
      for (uint32_t n = 0; ss_scheme_lossless((*s)) && cases_next(&c, &setting); n++) {
        setting.element = n % 3 == 2;
        task.split = n % 2;
        same_curve(&task, &setting, loss);
      }
    }
    ss_trace_close(text);
  }
}

TEST(so_among_nodes) {
  struct ss_trace *text = text_of(SS_STREAM, 8, WORDS);
  struct ss_learn_task task = course_of(text, SS_ADAM);
  struct ss_cluster cluster = flat;
  double loss[STEPS];
  cluster.gpus_per_node = 4;
  task.cluster = &cluster;
  plain_curve(&task, loss);
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++)
    for (int h = SS_SHARD; h <= SS_LEADER; h++) {
      struct cases c = {.scheme = *s,
                        .layout = {.ranks = 8, .nodes = 2, .per_node = 4},
                        .hierarchy = (enum ss_hierarchy)h,
                        .brief = true};
      struct ss_setting setting;
      if (ss_scheme_lossless((*s)) && cases_next(&c, &setting)) same_curve(&task, &setting, loss);
    }
  ss_trace_close(text);
}

/* --- other schemes -------------------------------------------------------------------------------------- */

static void learn(const struct ss_learn_task *task, const char *scheme, struct ss_curve *out) {
  static struct ss_setting setting;
  struct ss_error error;
  setting_of(scheme, &setting);
  if (!ss_learn(task, &setting, NULL, out, &error)) fail_msg("%s: %s", scheme, error.text);
}

static bool same_losses(const double *a, const double *b, uint64_t steps) {
  for (uint64_t t = 0; t < steps; t++)
    if (a[t] < b[t] || a[t] > b[t]) return false;
  return true;
}

static bool alike(const struct ss_curve *a, const struct ss_curve *b) {
  return a->steps == b->steps && same_losses(a->loss, b->loss, a->steps);
}

/* Who selects everything loses nothing: the curve of exact sums, for SGD, which does not ask what is listed. */
TEST(all_selected_is_exact) {
  static const char *const schemes[] = {
      "{\"name\": \"topka\", \"density\": 1}", "{\"name\": \"topkdsa\", \"density\": 1}",
      "{\"name\": \"gtopk\", \"density\": 1}", "{\"name\": \"spardl\", \"density\": 1}",
      "{\"name\": \"oktopk\", \"density\": 1}"};
  struct ss_trace *text = text_of(SS_STREAM, 4, WORDS);
  const struct ss_learn_task task = course_of(text, SS_SGD);
  struct ss_curve exact, curve;
  learn(&task, "\"allgather\"", &exact);
  for (uint32_t i = 0; i < COUNT(schemes); i++) {
    learn(&task, schemes[i], &curve);
    assert_true(curve.sound);
    if (!alike(&curve, &exact)) fail_msg("%s", schemes[i]);
    ss_curve_free(&curve);
  }
  ss_curve_free(&exact);
  ss_trace_close(text);
}

/* topka and topkdsa add up the same selections; residual modes and lambdas each have a curve of their own. */
TEST(lossy_schemes_have_their_own) {
  static const char *const schemes[] = {"\"allgather\"",
                                        "{\"name\": \"topka\", \"density\": 0.1}",
                                        "{\"name\": \"gtopk\", \"density\": 0.1}",
                                        "{\"name\": \"oktopk\", \"density\": 0.1}",
                                        "{\"name\": \"spardl\", \"density\": 0.1}",
                                        "{\"name\": \"spardl\", \"density\": 0.1, \"residuals\": \"partial\"}",
                                        "{\"name\": \"spardl\", \"density\": 0.1, \"residuals\": \"local\"}",
                                        "{\"name\": \"s2\", \"lambda\": 1}",
                                        "{\"name\": \"s2\", \"lambda\": 0.1}"};
  struct ss_trace *text = text_of(SS_STREAM, 4, WORDS);
  const struct ss_learn_task task = course_of(text, SS_SGD);
  struct ss_curve curve[COUNT(schemes)], dsa;
  for (uint32_t i = 0; i < COUNT(schemes); i++) {
    learn(&task, schemes[i], &curve[i]);
    assert_true(curve[i].sound);
    for (uint32_t k = 0; k < i; k++)
      if (alike(&curve[i], &curve[k])) fail_msg("%s has the curve of %s", schemes[i], schemes[k]);
  }
  learn(&task, "{\"name\": \"topkdsa\", \"density\": 0.1}", &dsa);
  assert_true(alike(&dsa, &curve[1]));
  assert_true(curve[4].energy_lost == 0 && curve[5].energy_lost > 0 && curve[6].energy_lost > curve[5].energy_lost);
  for (uint32_t i = 0; i < COUNT(schemes); i++) ss_curve_free(&curve[i]);
  ss_curve_free(&dsa);
  ss_trace_close(text);
}

/* --- splits ----------------------------------------------------------------------------------------------- */

/* Algorithm 1 by its words: what a rank has and any rank looks up next is prior, the rest is delayed. */
TEST(split_by_definition) {
  struct ss_trace *text = text_of(SS_SENTENCE, 3, WORDS);
  const struct ss_learn_task task = course_of(text, SS_SGD);
  struct ss_gradients whole, prior, delayed, next;
  struct ss_setting setting;
  struct ss_learner l;
  struct ss_error error;
  uint64_t waiting = 0;
  setting_of("\"allgather\"", &setting);
  assert_true(ss_learner_open(&task, &setting, &l, &error));
  assert_true(ss_learner_gradients(&l, 0, &whole, &error));
  assert_true(ss_learner_split(&l, 0, &whole, &prior, &delayed, &error));
  assert_true(ss_learner_gradients(&l, 1, &next, &error));
  for (int table = 0; table < SS_TABLE_CELL; table++)
    for (uint32_t r = 0; r < l.ranks; r++) {
      const struct ss_learn_rows *own = &whole.own[table][r];
      uint64_t place[2] = {0, 0};
      for (uint64_t i = 0; i < own->count; i++) {
        bool read = false;
        for (uint32_t k = 0; k < l.ranks; k++)
          for (uint64_t j = 0; j < next.own[table][k].count; j++)
            read = read || next.own[table][k].row[j] == own->row[i];
        const struct ss_learn_rows *part = read ? &prior.own[table][r] : &delayed.own[table][r];
        const uint64_t at = place[read]++;
        assert_true(at < part->count && part->row[at] == own->row[i]);
        assert_memory_equal(part->unit + at * 3, own->unit + i * 3, 3 * sizeof *own->unit);
      }
      assert_int_equal(place[1], prior.own[table][r].count);
      assert_int_equal(place[0], delayed.own[table][r].count);
      waiting += place[0];
    }
  assert_true(waiting > 0);
  ss_learner_close(&l);
  ss_trace_close(text);
}

/* --- messages that are lost or changed ------------------------------------------------------------------ */

/* Loses everything that message number `target` of those that carry something carries, or changes its first value. */
struct loser {
  struct ss_player player; /* first: a player is the loser it stands in */
  uint64_t target, seen;
  bool changes;
  uint32_t to; /* who would have got it */
  struct ss_arena arena;
};

static void change(struct loser *l, struct ss_payload *payload) {
  struct ss_chunk *copy = ss_arena_alloc(&l->arena, payload->count, sizeof *copy);
  uint32_t at = 0;
  memcpy(copy, payload->chunks, payload->count * sizeof *copy);
  while (copy[at].count == 0) at++;
  uint64_t *marks = ss_arena_alloc(&l->arena, copy[at].count, sizeof *marks);
  memcpy(marks, copy[at].marks, copy[at].count * sizeof *marks);
  marks[0] += UINT64_C(1) << 28;
  copy[at].marks = marks;
  payload->chunks = copy;
}

static bool lose(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct loser *l = (struct loser *)player;
  (void)error;
  for (uint32_t i = 0; round->payloads && i < round->messages.count; i++) {
    uint64_t entries = 0;
    for (uint32_t k = 0; k < round->payloads[i].count; k++) entries += round->payloads[i].chunks[k].count;
    if (entries == 0 || l->seen++ != l->target) continue;
    l->to = ss_message_to(&round->messages, i);
    if (l->changes) change(l, &round->payloads[i]);
    else round->payloads[i].count = 0;
  }
  return true;
}

struct aftermath {
  uint64_t messages;
  uint32_t to;
  bool sound;
  uint64_t table; /* a hash of what the update made of it */
};

static struct aftermath without(const struct ss_learn_task *task, const struct ss_setting *setting, uint64_t target,
                                bool changes) {
  struct loser loser = {.player = {.play = lose}, .target = target, .changes = changes};
  struct aftermath after = {0};
  struct ss_gradients g;
  struct ss_learner l;
  struct ss_error error;
  assert_true(ss_learner_open(task, setting, &l, &error));
  l.summation[SS_TABLE_INPUT][0].player = &loser.player;
  assert_true(ss_learner_gradients(&l, 0, &g, &error));
  assert_true(ss_learner_update(&l, &g, SS_PART_WHOLE, &error));
  after.messages = loser.seen;
  after.to = loser.to;
  after.sound = l.curve.sound;
  for (uint64_t e = 0; e < task->shape.vocab * task->shape.width; e++) {
    uint64_t bits;
    memcpy(&bits, &l.model.table[SS_TABLE_INPUT][e], sizeof bits);
    after.table = ss_mix(after.table, bits);
  }
  ss_learner_close(&l);
  ss_arena_free(&loser.arena);
  return after;
}

TEST(lost_messages_are_found) {
  static const char *const schemes[] = {"\"allreduce\"", "\"allgather\"", "\"sparcml-rd\"", "\"zen\"",
                                        "\"alltoall\"",  "\"topka\"",     "\"spardl\"",     "\"s2\""};
  struct ss_trace *text = text_of(SS_STREAM, 4, WORDS);
  const struct ss_learn_task task = course_of(text, SS_SGD);
  for (uint32_t i = 0; i < COUNT(schemes); i++) {
    struct ss_setting setting;
    setting_of(schemes[i], &setting);
    const struct aftermath right = without(&task, &setting, UINT64_MAX, false);
    assert_true(right.sound && right.messages > 0);
    for (uint64_t m = 0; m < right.messages; m += 1 + right.messages / 20)
      if (without(&task, &setting, m, false).sound) fail_msg("%s: message %u is lost", schemes[i], (unsigned)m);
  }
  ss_trace_close(text);
}

/* A value that changes on the way changes what is learned, on all ranks alike, or ranks no longer agree. Of a table
 * cut by columns every rank sums its own, and nobody else can tell: only what goes to the rank that answers for the
 * column of the play matters. Here these are ranks 1, 2 and 3 in turn: of four, the first has none of three columns.
 */
TEST(changed_values_show) {
  static const char *const schemes[] = {"\"allreduce\"",
                                        "\"allgather\"",
                                        "\"sparcml-rd\"",
                                        "\"zen\"",
                                        "{\"name\": \"ps\", \"colocated\": true}",
                                        "{\"name\": \"alltoall\", \"exchange\": \"gradients\"}"};
  struct ss_trace *text = text_of(SS_STREAM, 4, WORDS);
  const struct ss_learn_task task = course_of(text, SS_SGD);
  for (uint32_t i = 0; i < COUNT(schemes); i++) {
    struct ss_setting setting;
    uint64_t wrong = 0;
    setting_of(schemes[i], &setting);
    const struct aftermath right = without(&task, &setting, UINT64_MAX, true);
    for (uint64_t m = 0; m < right.messages; m++) {
      const struct aftermath after = without(&task, &setting, m, true);
      const bool shows = !after.sound || after.table != right.table;
      const bool owners = !ss_scheme_model_parallel(setting.scheme) || after.to == 1 + m * 3 / right.messages;
      if (shows != owners) fail_msg("%s: message %u is changed", schemes[i], (unsigned)m);
      wrong += !after.sound;
    }
    assert_true(wrong > 0 || ss_scheme_model_parallel(setting.scheme));
  }
  ss_trace_close(text);
}

/* --- the rest ------------------------------------------------------------------------------------------- */

TEST(threads_change_nothing) {
  struct ss_trace *text = text_of(SS_SENTENCE, 6, WORDS);
  struct ss_learn_task task = course_of(text, SS_ADAM);
  struct ss_curve one, four;
  const int threads = omp_get_max_threads();
  task.shape.samples = 1000; /* enough work for threads to be woken */
  task.shape.width = 8;
  omp_set_num_threads(1);
  learn(&task, "\"spardl\"", &one);
  omp_set_num_threads(4);
  learn(&task, "\"spardl\"", &four);
  omp_set_num_threads(threads);
  assert_true(alike(&one, &four));
  ss_curve_free(&one);
  ss_curve_free(&four);
  ss_trace_close(text);
}

TEST(training_may_diverge) {
  static const double rates[] = {1e13, 1e200}; /* gradients too large for exact sums; infinite ones */
  struct ss_trace *text = text_of(SS_STREAM, 2, WORDS);
  struct ss_learn_task task = course_of(text, SS_SGD);
  for (uint32_t i = 0; i < COUNT(rates); i++) {
    struct ss_curve curve;
    task.optimizer.rate = rates[i];
    learn(&task, "\"allgather\"", &curve);
    assert_true(curve.diverged && curve.steps < STEPS && curve.sound);
    ss_curve_free(&curve);
  }
  ss_trace_close(text);
}

/* --- a program's own training ---------------------------------------------------------------------------- */

/* A step of a table as a program takes it: by row ids, or all of it, in which a row that was not read is zeros. */
static void step_by_library(struct ss_learner *l, int table, const struct ss_gradients *g, struct ss_sync *sync,
                            bool whole, double *sent) {
  const uint64_t width = l->task->shape.width, n = l->task->shape.vocab * width;
  struct ss_rank_gradient given[4] = {{0}};
  int64_t *ids = calloc(4 * l->task->shape.vocab, sizeof *ids);
  double *all = calloc(4 * n, sizeof *all);
  struct ss_synced synced = {0};
  struct ss_error error;
  for (uint32_t r = 0; r < l->ranks; r++) {
    const struct ss_learn_rows *own = &g->own[table][r];
    int64_t *id = ids + r * l->task->shape.vocab;
    double *of_rank = all + r * n;
    for (uint64_t i = 0; i < own->count; i++) {
      id[i] = own->row[i];
      memcpy(of_rank + own->row[i] * width, g->value[table][r] + i * width, width * sizeof *of_rank);
    }
    given[r] = whole ? (struct ss_rank_gradient){l->task->shape.vocab, NULL, of_rank}
                     : (struct ss_rank_gradient){own->count, id, g->value[table][r]};
  }
  if (!ss_sync_step(sync, given, &synced, &error)) fail_msg("%s", error.text);
  const struct ss_update update = {synced.element, synced.value, synced.count};
  ss_optimizer_apply(&l->optimizer[table], l->model.table[table], &update, SS_PART_WHOLE);
  *sent += (double)synced.sent_bytes;
  free(ids);
  free(all);
}

static void train_by_library(const struct ss_learn_task *task, const char *scheme, bool whole) {
  struct ss_setting setting;
  struct ss_learner ours, theirs;
  struct ss_sync *sync[SS_TABLES];
  struct ss_error error;
  double sent = 0;
  setting_of(scheme, &setting);
  assert_true(ss_learner_open(task, &setting, &ours, &error) && ss_learner_open(task, &setting, &theirs, &error));
  const struct ss_sync_tensor tensor = {
      *scheme == '{' ? scheme : setting.label,        task->shape.vocab, task->shape.width, task->ranks, 0,
      task->select.selects ? task->select.density : 0};
  for (int table = 0; table < SS_TABLE_CELL; table++)
    if (!ss_sync_open(&tensor, &sync[table], &error)) fail_msg("%s", error.text);
  for (uint64_t t = 0; t < task->steps; t++) {
    struct ss_gradients g;
    assert_true(ss_learner_gradients(&ours, t, &g, &error) && g.finite);
    assert_true(ss_learner_update(&ours, &g, SS_PART_WHOLE, &error));
    assert_true(ss_learner_gradients(&theirs, t, &g, &error) && g.finite);
    for (int table = 0; table < SS_TABLE_CELL; table++)
      step_by_library(&theirs, table, &g, sync[table], whole, &sent);
  }
  for (int table = 0; table < SS_TABLE_CELL; table++) {
    assert_memory_equal(ours.model.table[table], theirs.model.table[table],
                        task->shape.vocab * task->shape.width * sizeof(double));
    ss_sync_close(sync[table]);
  }
  if (setting.scheme->content != SS_SENDS_TABLE && !close_to(sent, ours.curve.sent, 1e-12))
    fail_msg("%s sent %g, not %g", scheme, sent, ours.curve.sent);
  ss_learner_close(&ours);
  ss_learner_close(&theirs);
}

/* Gradients that a program hands over end as `learn` ends them, bit by bit, step after step, residuals and sketches
 * included; however they are handed over, unless a scheme counts the entries of rows that are read but all zeros. */
TEST(the_library_ends_as_learning_does) {
  static const char *const schemes[] = {"\"allreduce\"",
                                        "\"zen\"",
                                        "\"alltoall\"",
                                        "\"topka\"",
                                        "\"gtopk\"",
                                        "\"oktopk\"",
                                        "{\"name\": \"spardl\", \"residuals\": \"local\"}",
                                        "{\"name\": \"s2\", \"lambda\": 0.3}"};
  struct ss_trace *text = text_of(SS_STREAM, 4, WORDS);
  for (size_t i = 0; i < COUNT(schemes); i++)
    for (int whole = 0; whole < 2; whole++) {
      struct ss_learn_task task = course_of(text, i % 2 ? SS_SGD : SS_ADAGRAD);
      train_by_library(&task, schemes[i], whole);
      if (i > 2) continue;
      task.select = (struct ss_selection){.selects = true, .residual = true, .density = 0.1};
      train_by_library(&task, schemes[i], whole);
    }
  ss_trace_close(text);
}

/* Of gradients up to 2^10 in their unit, sums over four ranks stay below 2^33 on a grid 2^21 times finer, and not on
 * one 2^23 times finer, though each of them alone does. */
TEST(sums_over_ranks_stay_exact) {
  struct ss_trace *text = text_of(SS_STREAM, 4, WORDS);
  const struct ss_learn_task task = course_of(text, SS_SGD);
  struct ss_setting setting;
  struct ss_learner l;
  struct ss_gradients g;
  struct ss_error error;
  setting_of("\"allreduce\"", &setting);
  for (int finer = 21; finer <= 23; finer += 2) {
    assert_true(ss_learner_open(&task, &setting, &l, &error));
    assert_true(ss_learner_gradients(&l, 0, &g, &error) && g.finite && l.ranks == 4);
    for (int table = 0; table < SS_TABLE_CELL; table++) l.scale[table].exponent += finer;
    assert_true(ss_learner_gradients(&l, 0, &g, &error));
    assert_int_equal(g.finite, finer == 21);
    ss_learner_close(&l);
  }
  ss_trace_close(text);
}

/* 300 steps at a good rate: the words follow each other half of the time, so there is something to learn. */
TEST(losses_fall) {
  struct ss_trace *text = text_of(SS_STREAM, 4, WORDS);
  for (int kind = SS_SGD; kind <= SS_ADAM; kind++) {
    struct ss_learn_task task = course_of(text, (enum ss_optimizer_kind)kind);
    struct ss_curve curve;
    double first = 0, last = 0;
    task.steps = 300;
    learn(&task, "\"allgather\"", &curve);
    assert_int_equal(curve.steps, 300);
    for (uint32_t i = 0; i < 20; i++) {
      first += curve.loss[i] / 20;
      last += curve.loss[280 + i] / 20;
    }
    if (last > 0.9 * first) fail_msg("%s: from %g to %g", ss_optimizer_names[kind], first, last);
    ss_curve_free(&curve);
  }
  ss_trace_close(text);
}

/* Two ranks, a table of 4 rows of 2, a quarter of its elements a rank: what is selected, by hand, twice; what is left
 * over comes again. Zeros are never selected, whatever a dense payload lists. */
TEST(selected_by_hand) {
  static const char *const schemes[] = {"\"allgather\"", "\"allreduce\"", "\"zen\"", "\"alltoall\"",
                                        "{\"name\": \"zen\", \"granularity\": \"row\"}"};
  static const uint32_t rows_0[] = {0, 2}, rows_1[] = {1, 2};
  /* elements 0, 1, 4, 5 of rank 0, and 2, 3, 4, 5 of rank 1; then 0, 1 and 2, 3 */
  static int64_t first_0[] = {5, -1, 3, 0}, first_1[] = {1, 2, -7, 4}, then_0[] = {0, -4}, then_1[] = {3, 1};
  static const double sum[2][8] = {{5, 0, 0, 0, 3 - 7, 4, 0, 0}, {0, -1 - 4, 1 + 3, 2 + 1, 0, 0, 0, 0}};
  const struct ss_learn_rows step[2][2] = {{{rows_0, 2, first_0, rows_0, 2}, {rows_1, 2, first_1, rows_1, 2}},
                                           {{rows_0, 1, then_0, rows_0, 1}, {rows_1, 1, then_1, rows_1, 1}}};
  const struct ss_selection quarter = {.selects = true, .residual = true, .density = 0.25};
  for (size_t i = 0; i < COUNT(schemes); i++) {
    struct ss_setting setting;
    struct ss_summation summation = {
        .setting = &setting, .cluster = &flat, .rows = 4, .width = 2, .ranks = 2, .selector = {.selection = quarter}};
    struct ss_error error;
    setting_of(schemes[i], &setting);
    if (!ss_summation_open(&summation, &error)) fail_msg("%s", error.text);
    for (size_t t = 0; t < 2; t++) {
      struct ss_added added;
      double found[8] = {0};
      assert_true(ss_summation_run(&summation, step[t], &added, &error) && added.sound);
      for (uint64_t k = 0; k < added.count; k++) found[added.element[k]] = added.unit[k];
      for (size_t e = 0; e < 8; e++)
        if (found[e] != sum[t][e]) fail_msg("%s, step %zu: %g at %zu", schemes[i], t, found[e], e);
    }
    ss_summation_close(&summation);
  }
}

/* The last tenth of the steps, rounded up: of 5 the last, of 15 two, of 20 two. */
TEST(curves_end_in_their_last_tenth) {
  double loss[20];
  struct ss_curve curve = {.loss = loss};
  for (int i = 0; i < 20; i++) loss[i] = 20 - i;
  static const struct {
    uint64_t steps;
    double end;
  } cases[] = {{1, 20}, {5, 16}, {10, 11}, {11, 10.5}, {15, 6.5}, {20, 1.5}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    curve.steps = cases[i].steps;
    assert_true(close_to(ss_curve_end(&curve), cases[i].end, 1e-12));
  }
  curve.diverged = true;
  assert_true(isnan(ss_curve_end(&curve)));
}

/* Of a table of V rows words 0 .. V-1 stay what they are, and rarer ones become the unknown one, 1. */
TEST(a_smaller_vocabulary_keeps_its_words) {
  enum { VOCAB = 30, WORDS_MAX = 4096 };
  static const char path[] = "traces/bible-kjv-16.safetensors";
  struct ss_trace *text = NULL;
  struct ss_error error = {0};
  struct ss_arena arena = {0};
  static uint32_t was[WORDS_MAX];
  uint64_t last = 0, rarer = 0;
  if (!ss_trace_open(path, &text, &error) || !ss_learn_check(text, 1, 1, &error)) fail_msg("%s", error.text);
  const struct ss_learn_task task = {.text = text, .ranks = 1, .batch = 1, .shape = {.vocab = VOCAB}};
  for (uint64_t t = 0; t < 4; t++) {
    const uint64_t count = ss_trace_count(text, 0, t, 0);
    struct ss_batch is;
    assert_true(ss_learn_read(&task, t, 0, &arena, &is) && count <= WORDS_MAX && count == is.count);
    ss_trace_rows(text, 0, t, 0, was);
    for (uint64_t i = 0; i < count; i++) {
      assert_int_equal(is.token[i], was[i] < VOCAB ? was[i] : 1);
      last += was[i] == VOCAB - 1;
      rarer += was[i] >= VOCAB;
    }
  }
  assert_true(last > 0 && rarer > 0);
  ss_arena_free(&arena);
  ss_trace_close(text);
}
/* SPDX-License-Identifier: Apache-2.0 */
