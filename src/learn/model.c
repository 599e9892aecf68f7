#include "learn/model.h"

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
  const uint64_t place = at % batch->length;
  return at - (place < shape->context ? place : shape->context);
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

/* A batch at work. Word 0 of a sum is the one that is predicted, the others are samples. */
struct work {
  const struct ss_model *model;
  const struct ss_batch *batch;
  struct ss_model_gradient *gradient;
  double weight;
  double *row;      /* [samples + 1][width] of the words */
  double *turned;   /* [width][samples] of the samples, turned: all scores grow together */
  uint32_t *word;   /* [samples + 1] */
  double **into;    /* [samples + 1] where a word's output gradient adds up */
  double *score;    /* [samples + 1] */
  double *expected; /* [samples + 1] log_expected of the words */
  double *mean;     /* [width] h */
  double *of_mean;  /* [width] its gradient */
};

/* The gradient's place of a row that it has. */
static double *place_of(const struct ss_model_gradient *gradient, uint32_t row, uint32_t width) {
  return gradient->value + ss_lower_bound(gradient->row, gradient->count, row) * width;
}

/* Vectors of numbers that are computed alike: what comes out does not depend on how wide the machine's are. */
enum { LANES = 4 };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef uint64_t whole __attribute__((vector_size(LANES * sizeof(uint64_t))));

static double dot(const double *a, const double *b, uint32_t n) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static void add(double *restrict to, double factor, const double *restrict from, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) to[i] += factor * from[i];
}

static uint32_t whole_lanes(uint32_t n) {
  return (n + LANES - 1) / LANES * LANES;
}

/* to[i] = the sum over k of factor[k] * from[k * stride + i], k ascending */
static void combine(double *restrict to, const double *factor, const double *from, size_t stride, uint32_t terms,
                    uint32_t n) {
  uint32_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    lanes sum = {0};
    for (uint32_t k = 0; k < terms; k++) sum += factor[k] * *(const lanes *)(from + k * stride + i);
    *(lanes *)(to + i) = sum;
  }
  for (; i < n; i++) {
    to[i] = 0;
    for (uint32_t k = 0; k < terms; k++) to[i] += factor[k] * from[k * stride + i];
  }
}

/* to[k][i] += factor[k] * from[i]; a row may be there twice */
static void spread(double *const *to, const double *factor, const double *from, uint32_t rows, uint32_t n) {
  uint32_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    const lanes part = *(const lanes *)(from + i);
    for (uint32_t k = 0; k < rows; k++) *(lanes *)(to[k] + i) += factor[k] * part;
  }
  for (uint32_t k = 0; i < n && k < rows; k++) add(to[k] + i, factor[k], from + i, n - i);
}

/* e^(x[i] - most) in the place of x[i], to about an ulp; none is above `most`, and there are whole lanes of them.
 * 2^k e^r, r within half of ln 2, whose power series ends with r^13. Below e^-700: 0. */
static void exponentials(double *x, double most, uint32_t n) {
  static const double inverse_ln2 = 0x1.71547652b82fep+0, ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33,
                      rounder = 0x1.8p+52; /* sums with it are whole */
  static const double series[] = {
      1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720,
      1. / 120,       1. / 24,       1. / 6,       1. / 2,      1.,         1.};
  for (uint32_t i = 0; i < n; i += LANES) {
    const lanes at = *(const lanes *)(x + i) - most, shifted = at * inverse_ln2 + rounder, k = shifted - rounder,
                r = at - k * ln2_high - k * ln2_low;
    lanes sum = r / 6227020800. + series[0];
    for (size_t t = 1; t < sizeof series / sizeof *series; t++) sum = sum * r + series[t];
    *(lanes *)(x + i) = (lanes)(((whole)sum + ((whole)shifted << 52)) & ~(whole)(at < -700.));
  }
}

static void sample(struct work *w) {
  const struct ss_model_shape *shape = &w->model->shape;
  const double *table = w->model->table[SS_TABLE_OUTPUT];
  const size_t width = shape->width;
  for (uint32_t k = 0; k < shape->samples; k++) {
    const uint32_t word = w->word[k + 1] = drawn(shape, w->batch, k);
    const double *row = memcpy(w->row + (k + 1) * width, table + word * width, width * sizeof *row);
    w->into[k + 1] = place_of(&w->gradient[SS_TABLE_OUTPUT], word, shape->width);
    w->expected[k + 1] = w->model->log_expected[word];
    for (size_t i = 0; i < width; i++) w->turned[i * shape->samples + k] = row[i];
  }
}

static bool begin(struct work *w, struct ss_arena *arena) {
  const struct ss_model_shape *shape = &w->model->shape;
  const size_t words = whole_lanes(shape->samples + 1);
  if (!ss_take(arena, w->row, words * shape->width) || !ss_take(arena, w->turned, words * shape->width) ||
      !ss_take(arena, w->word, words) || !ss_take(arena, w->into, words) || !ss_take(arena, w->score, words) ||
      !ss_take(arena, w->expected, words) || !ss_take(arena, w->mean, shape->width) ||
      !ss_take(arena, w->of_mean, shape->width))
    return false;
  if (w->gradient[SS_TABLE_OUTPUT].count > 0) sample(w);
  return true;
}

static void take_mean(struct work *w, uint64_t at, double share) {
  const struct ss_model_shape *shape = &w->model->shape;
  memset(w->mean, 0, shape->width * sizeof *w->mean);
  for (uint64_t i = context_begin(shape, w->batch, at); i < at; i++)
    if (w->batch->token[i] != PAD)
      add(w->mean, share, w->model->table[SS_TABLE_INPUT] + (size_t)w->batch->token[i] * shape->width, shape->width);
}

/* How well each word follows the context. A sample that is the word itself does not. */
static void score(struct work *w) {
  const uint32_t samples = w->model->shape.samples, width = w->model->shape.width;
  w->score[0] = dot(w->mean, w->row, width);
  combine(w->score + 1, w->mean, w->turned, samples, width, samples);
  for (uint32_t k = 0; k <= samples; k++) w->score[k] -= w->expected[k];
  for (uint32_t k = 1; k <= samples; k++)
    if (w->word[k] == w->word[0]) w->score[k] = -INFINITY;
}

/* Scores become probabilities; returns the loss. */
static double softmax(struct work *w) {
  const uint32_t words = w->model->shape.samples + 1, lanes_of_words = whole_lanes(words);
  const double of_word = w->score[0];
  double most = -INFINITY, sum = 0;
  for (uint32_t k = 0; k < words; k++) most = w->score[k] > most ? w->score[k] : most;
  for (uint32_t k = words; k < lanes_of_words; k++) w->score[k] = -INFINITY;
  exponentials(w->score, most, lanes_of_words);
  for (uint32_t k = 0; k < words; k++) sum += w->score[k];
  for (uint32_t k = 0; k < words; k++) w->score[k] /= sum;
  return log(sum) + most - of_word;
}

static double learn_word(struct work *w, uint64_t at) {
  const struct ss_model *m = w->model;
  const struct ss_model_shape *shape = &m->shape;
  const double share = 1 / (double)context_words(shape, w->batch, at);
  w->word[0] = w->batch->token[at];
  w->into[0] = place_of(&w->gradient[SS_TABLE_OUTPUT], w->word[0], shape->width);
  w->expected[0] = m->log_expected[w->word[0]];
  memcpy(w->row, m->table[SS_TABLE_OUTPUT] + (size_t)w->word[0] * shape->width, shape->width * sizeof *w->row);
  take_mean(w, at, share);
  score(w);
  const double loss = softmax(w);
  w->score[0] -= 1;
  for (uint32_t k = 0; k <= shape->samples; k++) w->score[k] *= w->weight;
  combine(w->of_mean, w->score, w->row, shape->width, shape->samples + 1, shape->width);
  spread(w->into, w->score, w->mean, shape->samples + 1, shape->width);
  for (uint64_t i = context_begin(shape, w->batch, at); i < at; i++)
    if (w->batch->token[i] != PAD)
      add(place_of(&w->gradient[SS_TABLE_INPUT], w->batch->token[i], shape->width), share, w->of_mean, shape->width);
  return loss;
}

#ifdef __x86_64__
/* The same, in wider vectors. */
__attribute__((target("avx2"), flatten)) static double learn_word_wide(struct work *w, uint64_t at) {
  return learn_word(w, at);
}
#endif

static double learn(struct work *w, uint64_t at) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return learn_word_wide(w, at);
#endif
  return learn_word(w, at);
}

bool ss_model_learn(const struct ss_model *model, const struct ss_batch *batch, struct ss_model_pass *pass,
                    struct ss_arena *arena, struct ss_error *error) {
  struct work w = {.model = model, .batch = batch, .gradient = pass->gradient, .weight = pass->weight};
  if (!begin(&w, arena)) return ss_fail_memory(error, "training a model");
  for (uint64_t at = 0; at < batch->count; at++)
    if (predicted(&model->shape, batch, at)) pass->loss += learn(&w, at);
  return true;
}
