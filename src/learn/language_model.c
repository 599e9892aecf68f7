#include "learn/language_model.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAD = 0 };

/* Streams of random numbers. */
enum { START, DRAW };

bool ss_model_open(const struct ss_model_shape *shape, struct ss_model *out, struct ss_error *error) {
  const uint64_t vocab = shape->vocab;
  uint64_t elements;
  *out = (struct ss_model){.shape = *shape};
  if (!ss_mul_u64(vocab, shape->width, &elements)) return ss_fail_memory(error, "making a model");
  out->log_expected = ss_alloc_zero(vocab, sizeof *out->log_expected);
  for (int i = 0; i < SS_TABLES; i++) out->table[i] = ss_alloc(elements, sizeof *out->table[i]);
  if (!out->log_expected || !out->table[SS_TABLE_INPUT] || !out->table[SS_TABLE_OUTPUT]) {
    ss_model_close(out);
    return ss_fail_memory(error, "making a model");
  }
  const double reach = 1 / sqrt(shape->width);
  const uint64_t key = ss_mix(shape->seed, START);
  for (int i = 0; i < SS_TABLES; i++)
    for (uint64_t e = 0; e < elements; e++)
      out->table[i][e] = reach * (ss_unit(ss_mix(ss_mix(key, (uint64_t)i), e)) - 0.5);
  for (uint64_t id = 1; id < vocab; id++)
    out->log_expected[id] = log(shape->samples * log1p(1 / (double)id) / log((double)vocab));
  return true;
}

void ss_model_close(struct ss_model *model) {
  for (int i = 0; i < SS_TABLES; i++) free(model->table[i]);
  free(model->log_expected);
  *model = (struct ss_model){0};
}

/* --- what a batch reads --------------------------------------------------------------------------------- */

/* The first word of the sequence that predicts word `at` of the batch. */
static uint64_t context_begin(const struct ss_model_shape *shape, const struct ss_batch *batch, uint64_t at) {
  const uint64_t before = at % batch->length;
  return at - (before < shape->context ? before : shape->context);
}

static uint64_t context_words(const struct ss_model_shape *shape, const struct ss_batch *batch, uint64_t at) {
  uint64_t words = 0;
  for (uint64_t i = context_begin(shape, batch, at); i < at; i++) words += batch->token[i] != PAD;
  return words;
}

static bool predicted(const struct ss_model_shape *shape, const struct ss_batch *batch, uint64_t at) {
  return batch->token[at] != PAD && context_words(shape, batch, at) > 0;
}

/* Some word after it is predicted from it. */
static bool predicts(const struct ss_model_shape *shape, const struct ss_batch *batch, uint64_t at) {
  const uint64_t left = batch->length - 1 - at % batch->length;
  const uint64_t last = at + (left < shape->context ? left : shape->context);
  if (batch->token[at] == PAD) return false;
  for (uint64_t i = at + 1; i <= last; i++)
    if (batch->token[i] != PAD) return true;
  return false;
}

uint64_t ss_batch_examples(const struct ss_model_shape *shape, const struct ss_batch *batch) {
  uint64_t examples = 0;
  for (uint64_t at = 0; at < batch->count; at++) examples += predicted(shape, batch, at);
  return examples;
}

/* Sample k of the batch, from 1 on: floor(V^u) is `id` with probability log((id+1)/id) / log V. */
static uint32_t drawn(const struct ss_model_shape *shape, const struct ss_batch *batch, uint32_t k) {
  const uint64_t key = ss_mix(ss_mix(ss_mix(shape->seed, DRAW), batch->step), batch->rank);
  const double id = exp(ss_unit(ss_mix(key, k)) * log((double)shape->vocab));
  return id < (double)shape->vocab ? (uint32_t)id : (uint32_t)shape->vocab - 1;
}

bool ss_batch_lookups(const struct ss_model_shape *shape, const struct ss_batch *batch, int table,
                      struct ss_arena *arena, struct ss_row_list *out, struct ss_error *error) {
  uint32_t *row = ss_arena_alloc(arena, batch->count + shape->samples, sizeof *row);
  uint64_t n = 0;
  if (!row) return ss_fail_memory(error, "listing lookups");
  for (uint64_t at = 0; at < batch->count; at++)
    if (table == SS_TABLE_INPUT ? predicts(shape, batch, at) : predicted(shape, batch, at))
      row[n++] = batch->token[at];
  const bool draws = table == SS_TABLE_OUTPUT && n > 0;
  for (uint32_t k = 0; draws && k < shape->samples; k++) row[n++] = drawn(shape, batch, k);
  *out = (struct ss_row_list){row, n};
  return true;
}

/* --- loss and gradient ---------------------------------------------------------------------------------- */

/* Where the gradient of a row that it has adds up. */
static double *sum_of(const struct ss_model_gradient *gradient, uint32_t row, uint32_t width) {
  return gradient->value + ss_lower_bound(gradient->row, gradient->count, row) * width;
}

/* Vectors of numbers that are computed alike: what comes out does not depend on how wide the machine's are. A lane is
 * an example: a word that is predicted. Each of its sums adds up in the order that it would have alone. */
enum { LANES = 4 };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef uint64_t whole __attribute__((vector_size(LANES * sizeof(uint64_t))));

/* A batch at work. Word 0 of a sum is the one that is predicted, the others are samples. */
struct work {
  const struct ss_model *model;
  const struct ss_batch *batch;
  double weight;
  double **sum[SS_TABLES]; /* [count] where the gradient of a word of the batch adds up; NULL: nowhere */
  double *row;             /* [samples + 1][width] of the samples */
  uint32_t *word;          /* [samples + 1] */
  double **into;           /* [samples + 1] where a word's output gradient adds up */
  double *expected;        /* [samples + 1] log_expected of the words */
  uint64_t at[LANES];      /* the examples */
  uint32_t examples;       /* how many lanes are taken; the others are as the first */
  double share[LANES];     /* of a word of its context */
  double *mean;            /* [LANES][width] h of an example */
  lanes *score;            /* [samples + 1] */
  lanes *own;              /* [width] rows of the predicted words, turned */
  lanes *turned;           /* [width] the means, turned */
  lanes *of_mean;          /* [width] their gradients */
};

static void add(double *restrict to, double factor, const double *restrict from, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) to[i] += factor * from[i];
}

/* What numbers are multiplied by: number t of output o is from[o * output + t * term]. */
struct factors {
  const double *from;
  size_t output, term;
};

/* to[o] += the sum over t of by[t] * number t of output o, t ascending */
static inline __attribute__((always_inline)) void combine(lanes *restrict to, const lanes *by, struct factors f,
                                                          uint32_t terms, uint32_t n) {
  enum { AT_ONCE = 4 };
  uint32_t o = 0;
  for (; o + AT_ONCE <= n; o += AT_ONCE) {
    const double *from = f.from + o * f.output;
    lanes sum[AT_ONCE] = {to[o], to[o + 1], to[o + 2], to[o + 3]};
    for (uint32_t t = 0; t < terms; t++)
      for (uint32_t k = 0; k < AT_ONCE; k++) sum[k] += by[t] * from[k * f.output + t * f.term];
    for (uint32_t k = 0; k < AT_ONCE; k++) to[o + k] = sum[k];
  }
  for (; o < n; o++)
    for (uint32_t t = 0; t < terms; t++) to[o] += by[t] * f.from[o * f.output + t * f.term];
}

/* e^(x[i] - *most) in the place of x[i], to about an ulp; none is above *most.
 * 2^k e^r, r within half of ln 2, whose power series ends with r^13. Below e^-700: 0. */
static inline __attribute__((always_inline)) void exponentials(lanes *x, const lanes *most, uint32_t n) {
  static const double inverse_ln2 = 0x1.71547652b82fep+0, ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33,
                      rounder = 0x1.8p+52; /* sums with it are whole */
  static const double series[] = {
      1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720,
      1. / 120,       1. / 24,       1. / 6,       1. / 2,      1.,         1.};
  for (uint32_t i = 0; i < n; i++) {
    const lanes at = x[i] - *most, shifted = at * inverse_ln2 + rounder, k = shifted - rounder,
                r = at - k * ln2_high - k * ln2_low;
    lanes sum = r / 6227020800. + series[0];
    for (size_t t = 1; t < sizeof series / sizeof *series; t++) sum = sum * r + series[t];
    x[i] = (lanes)(((whole)sum + ((whole)shifted << 52)) & ~(whole)(at < -700.));
  }
}

static void sample(struct work *w, const struct ss_model_gradient *gradient) {
  const struct ss_model_shape *shape = &w->model->shape;
  const double *table = w->model->table[SS_TABLE_OUTPUT];
  const size_t width = shape->width;
  for (uint32_t k = 0; k < shape->samples; k++) {
    const uint32_t word = w->word[k + 1] = drawn(shape, w->batch, k);
    memcpy(w->row + (k + 1) * width, table + word * width, width * sizeof *table);
    w->into[k + 1] = sum_of(gradient, word, shape->width);
    w->expected[k + 1] = w->model->log_expected[word];
  }
}

/* Places of what the batch reads, each looked for once. */
static void find_sums(struct work *w, const struct ss_model_gradient *gradient) {
  const struct ss_model_shape *shape = &w->model->shape;
  for (uint64_t at = 0; at < w->batch->count; at++) {
    const bool in = predicts(shape, w->batch, at), out = predicted(shape, w->batch, at);
    const uint32_t token = w->batch->token[at];
    w->sum[SS_TABLE_INPUT][at] = in ? sum_of(&gradient[SS_TABLE_INPUT], token, shape->width) : NULL;
    w->sum[SS_TABLE_OUTPUT][at] = out ? sum_of(&gradient[SS_TABLE_OUTPUT], token, shape->width) : NULL;
  }
}

static bool begin(struct work *w, const struct ss_model_gradient *gradient, struct ss_arena *arena) {
  const struct ss_model_shape *shape = &w->model->shape;
  const size_t words = shape->samples + 1, width = shape->width;
  if (!ss_take(arena, w->row, words * width) || !ss_take(arena, w->word, words) || !ss_take(arena, w->into, words) ||
      !ss_take(arena, w->expected, words) || !ss_take(arena, w->mean, LANES * width) ||
      !ss_take(arena, w->score, words) || !ss_take(arena, w->own, width) || !ss_take(arena, w->turned, width) ||
      !ss_take(arena, w->of_mean, width) || !ss_take(arena, w->sum[SS_TABLE_INPUT], w->batch->count) ||
      !ss_take(arena, w->sum[SS_TABLE_OUTPUT], w->batch->count))
    return false;
  find_sums(w, gradient);
  if (gradient[SS_TABLE_OUTPUT].count > 0) sample(w, &gradient[SS_TABLE_OUTPUT]);
  return true;
}

static void take_mean(struct work *w, uint32_t lane) {
  const struct ss_model_shape *shape = &w->model->shape;
  const uint64_t at = w->at[lane];
  double *mean = memset(w->mean + lane * shape->width, 0, shape->width * sizeof *mean);
  for (uint64_t i = context_begin(shape, w->batch, at); i < at; i++)
    if (w->batch->token[i] != PAD)
      add(mean, w->share[lane], w->model->table[SS_TABLE_INPUT] + (size_t)w->batch->token[i] * shape->width,
          shape->width);
}

static void take_examples(struct work *w) {
  const struct ss_model *m = w->model;
  const uint32_t width = m->shape.width;
  for (uint32_t l = 0; l < LANES; l++) {
    if (l >= w->examples) w->at[l] = w->at[0];
    const double *row = m->table[SS_TABLE_OUTPUT] + (size_t)w->batch->token[w->at[l]] * width;
    w->share[l] = 1 / (double)context_words(&m->shape, w->batch, w->at[l]);
    take_mean(w, l);
    for (uint32_t i = 0; i < width; i++) {
      w->own[i][l] = row[i];
      w->turned[i][l] = w->mean[l * width + i];
    }
  }
}

/* How well each word follows the contexts. A sample that is the word itself does not. */
static inline __attribute__((always_inline)) void score(struct work *w) {
  const uint32_t samples = w->model->shape.samples, width = w->model->shape.width;
  memset(w->score, 0, (samples + 1) * sizeof *w->score);
  for (uint32_t i = 0; i < width; i++) w->score[0] += w->turned[i] * w->own[i];
  combine(w->score + 1, w->turned, (struct factors){w->row + width, width, 1}, width, samples);
  lanes word = {0}, expected = {0};
  for (uint32_t l = 0; l < LANES; l++) {
    word[l] = w->batch->token[w->at[l]];
    expected[l] = w->model->log_expected[w->batch->token[w->at[l]]];
  }
  w->score[0] -= expected;
  for (uint32_t k = 1; k <= samples; k++) {
    const whole same = (whole)(word == (double)w->word[k]), bits = (whole)(w->score[k] - w->expected[k]);
    w->score[k] = (lanes)((bits & ~same) | ((whole)((lanes){0} - INFINITY) & same));
  }
}

/* Scores become probabilities. */
static inline __attribute__((always_inline)) void softmax(struct work *w, double loss[LANES]) {
  const uint32_t words = w->model->shape.samples + 1;
  const lanes of_word = w->score[0];
  lanes most = of_word, sum = {0};
  for (uint32_t k = 1; k < words; k++) {
    const whole larger = (whole)(w->score[k] > most);
    most = (lanes)(((whole)w->score[k] & larger) | ((whole)most & ~larger));
  }
  exponentials(w->score, &most, words);
  for (uint32_t k = 0; k < words; k++) sum += w->score[k];
  for (uint32_t k = 0; k < words; k++) w->score[k] /= sum;
  for (uint32_t l = 0; l < LANES; l++) loss[l] = log(sum[l]) + most[l] - of_word[l];
}

/* into[k][i] += score[k] * mean[i]; a row may be there twice */
static inline __attribute__((always_inline)) void spread(const struct work *w, uint32_t lane) {
  const uint32_t words = w->model->shape.samples + 1, width = w->model->shape.width;
  const double *mean = w->mean + lane * width, *score = (const double *)w->score + lane;
  uint32_t i = 0;
  for (; i + LANES <= width; i += LANES) {
    const lanes part = *(const lanes *)(mean + i);
    for (uint32_t k = 0; k < words; k++) *(lanes *)(w->into[k] + i) += score[k * LANES] * part;
  }
  for (uint32_t k = 0; i < width && k < words; k++) add(w->into[k] + i, score[k * LANES], mean + i, width - i);
}

static void add_gradients(struct work *w, uint32_t lane) {
  const struct ss_model_shape *shape = &w->model->shape;
  const uint64_t at = w->at[lane];
  w->into[0] = w->sum[SS_TABLE_OUTPUT][at];
  spread(w, lane);
  for (uint64_t i = context_begin(shape, w->batch, at); i < at; i++)
    for (uint32_t k = 0; w->batch->token[i] != PAD && k < shape->width; k++)
      w->sum[SS_TABLE_INPUT][i][k] += w->share[lane] * w->of_mean[k][lane];
}

/* The loss of all examples, added to *loss one by one. */
static inline __attribute__((always_inline)) void learn_examples(struct work *w, double *loss) {
  const uint32_t samples = w->model->shape.samples, width = w->model->shape.width;
  take_examples(w);
  score(w);
  double losses[LANES];
  softmax(w, losses);
  w->score[0] -= 1;
  for (uint32_t k = 0; k <= samples; k++) w->score[k] *= w->weight;
  for (uint32_t i = 0; i < width; i++) w->of_mean[i] = (lanes){0} + w->score[0] * w->own[i];
  combine(w->of_mean, w->score + 1, (struct factors){w->row + width, 1, width}, samples, width);
  for (uint32_t l = 0; l < w->examples; l++) {
    add_gradients(w, l);
    *loss += losses[l];
  }
}

static void learn_narrow(struct work *w, double *loss) {
  learn_examples(w, loss);
}

#ifdef __x86_64__
/* The same, in wider vectors. */
__attribute__((target("avx2"), flatten)) static void learn_wide(struct work *w, double *loss) {
  learn_examples(w, loss);
}
#endif

static void learn(struct work *w, double *loss) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) learn_wide(w, loss);
  else learn_narrow(w, loss);
#else
  learn_narrow(w, loss);
#endif
}

bool ss_model_learn(const struct ss_model *model, const struct ss_batch *batch, struct ss_model_pass *pass,
                    struct ss_arena *arena, struct ss_error *error) {
  struct work w = {.model = model, .batch = batch, .weight = pass->weight};
  if (!begin(&w, pass->gradient, arena)) return ss_fail_memory(error, "training a model");
  for (uint64_t at = 0; at < batch->count; at++) {
    if (!w.sum[SS_TABLE_OUTPUT][at]) continue;
    w.at[w.examples++] = at;
    if (w.examples < LANES) continue;
    learn(&w, &pass->loss);
    w.examples = 0;
  }
  if (w.examples > 0) learn(&w, &pass->loss);
  return true;
}
