#include "learn/language_model.h"

#include "learn/recurrent.h"

enum { PAD = 0 };

const char *const ss_model_names[] = {"bag", "lstm", NULL};

uint64_t ss_model_rows(const struct ss_model_shape *shape, int table) {
  return table == SS_TABLE_CELL ? ss_cell_rows(shape->width) : shape->vocab;
}

/* Streams of random numbers. */
enum { START, DRAW };

bool ss_model_open(const struct ss_model_shape *shape, struct ss_model *out, struct ss_error *error) {
  const uint64_t vocab = shape->vocab;
  *out = (struct ss_model){.shape = *shape};
  out->log_expected = ss_alloc_zero(vocab, sizeof *out->log_expected);
  const uint64_t key = ss_mix(shape->seed, START);
  bool ok = out->log_expected;
  for (int i = 0; ok && i < ss_model_tables(shape); i++) {
    const double reach = (i == SS_TABLE_CELL ? 2 : 1) / sqrt(shape->width);
    uint64_t elements;
    ok = ss_mul_u64(ss_model_rows(shape, i), shape->width, &elements) &&
         (out->table[i] = ss_alloc(elements, sizeof *out->table[i]));
    for (uint64_t e = 0; ok && e < elements; e++)
      out->table[i][e] = reach * (ss_unit(ss_mix(ss_mix(key, (uint64_t)i), e)) - 0.5);
  }
  if (!ok) {
    ss_model_close(out);
    return ss_fail_memory(error, "making a model");
  }
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
  uint64_t i = context_begin(shape, batch, at);
  while (i < at && batch->token[i] == PAD) i++;
  return batch->token[at] != PAD && i < at;
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
  const uint64_t all =
      table == SS_TABLE_CELL && ss_batch_examples(shape, batch) > 0 ? ss_model_rows(shape, table) : 0;
  uint32_t *row = ss_arena_alloc(arena, all + batch->count + shape->samples, sizeof *row);
  uint64_t n = 0;
  if (!row) return ss_fail_memory(error, "listing lookups");
  while (n < all) row[n] = (uint32_t)n, n++;
  for (uint64_t at = 0; table != SS_TABLE_CELL && at < batch->count; at++)
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

/* A batch at work. Word 0 of a sum is the one that is predicted, the others are samples. Loops run over words, or
 * over a row's elements, so that compilers make vectors of them: each sum adds up in one order, however wide these
 * are. */
struct work {
  const struct ss_model *model;
  const struct ss_batch *batch;
  double weight;
  double **sum[SS_TABLES]; /* [count] where the gradient of a word of the batch adds up; NULL: nowhere */
  double *row;             /* [samples][width] of the samples */
  double *turned;          /* [width][samples] the same */
  uint32_t *word;          /* [samples + 1] */
  double **into;           /* [samples + 1] where a word's output gradient adds up */
  double *expected;        /* [samples + 1] log_expected of the words */
  double *score;           /* [samples + 1] */
  double *mean;            /* [width] h of an example: the mean of its context, or an LSTM's state */
  double *of_mean;         /* [width] its gradient */
};

static inline void add(double *restrict to, double factor, const double *restrict from, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) to[i] += factor * from[i];
}

/* e^(x[i] - most) in the place of x[i], to about an ulp; none is above `most`.
 * 2^k e^r, r within half of ln 2, whose power series ends with r^13. Below e^-700: 0. */
static inline void exponentials(double *x, double most, uint32_t n) {
  static const double inverse_ln2 = 0x1.71547652b82fep+0, ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33,
                      rounder = 0x1.8p+52; /* sums with it are whole */
  static const double series[] = {
      1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720,
      1. / 120,       1. / 24,       1. / 6,       1. / 2,      1.,         1.};
  for (uint32_t i = 0; i < n; i++) {
    const double at = x[i] - most, shifted = at * inverse_ln2 + rounder, k = shifted - rounder,
                 r = at - k * ln2_high - k * ln2_low;
    double sum = r / 6227020800. + series[0];
    uint64_t bits, power;
    for (size_t t = 1; t < sizeof series / sizeof *series; t++) sum = sum * r + series[t];
    memcpy(&bits, &sum, sizeof bits);
    memcpy(&power, &shifted, sizeof power);
    bits += power << 52;
    memcpy(&sum, &bits, sizeof sum);
    x[i] = at < -700. ? 0 : sum;
  }
}

static void sample(struct work *w, const struct ss_model_gradient *gradient) {
  const struct ss_model_shape *shape = &w->model->shape;
  const double *table = w->model->table[SS_TABLE_OUTPUT];
  const size_t width = shape->width;
  for (uint32_t k = 0; k < shape->samples; k++) {
    const uint32_t word = w->word[k + 1] = drawn(shape, w->batch, k);
    memcpy(w->row + k * width, table + word * width, width * sizeof *table);
    for (size_t i = 0; i < width; i++) w->turned[i * shape->samples + k] = table[word * width + i];
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
  if (!ss_take(arena, w->row, words * width) || !ss_take(arena, w->turned, words * width) ||
      !ss_take(arena, w->word, words) || !ss_take(arena, w->into, words) || !ss_take(arena, w->expected, words) ||
      !ss_take(arena, w->score, words) || !ss_take(arena, w->mean, width) || !ss_take(arena, w->of_mean, width) ||
      !ss_take(arena, w->sum[SS_TABLE_INPUT], w->batch->count) ||
      !ss_take(arena, w->sum[SS_TABLE_OUTPUT], w->batch->count))
    return false;
  find_sums(w, gradient);
  if (gradient[SS_TABLE_OUTPUT].count > 0) sample(w, &gradient[SS_TABLE_OUTPUT]);
  return true;
}

/* How well each word follows the context. A sample that is the word itself does not. */
static inline void find_scores(const struct work *w, const double *own) {
  const uint32_t samples = w->model->shape.samples, width = w->model->shape.width;
  memset(w->score, 0, (samples + 1) * sizeof *w->score);
  for (uint32_t i = 0; i < width; i++) w->score[0] += w->mean[i] * own[i];
  for (uint32_t i = 0; i < width; i++) add(w->score + 1, w->mean[i], w->turned + (size_t)i * samples, samples);
  for (uint32_t k = 0; k <= samples; k++)
    w->score[k] = k > 0 && w->word[k] == w->word[0] ? -INFINITY : w->score[k] - w->expected[k];
}

/* Scores become probabilities; returns the loss. */
static inline double softmax(double *score, uint32_t words) {
  const double of_word = score[0];
  double most = of_word;
  for (uint32_t k = 1; k < words; k++) most = score[k] > most ? score[k] : most;
  exponentials(score, most, words);
  double sum = score[0];
  for (uint32_t k = 1; k < words; k++) sum += score[k];
  for (uint32_t k = 0; k < words; k++) score[k] /= sum;
  return log(sum) + most - of_word;
}

/* Adds the output gradients of the word at `at` that is predicted from h, and finds that of h; returns its loss. A
 * row may be there twice. */
static inline __attribute__((always_inline)) double learn_word(const struct work *w, uint64_t at) {
  const uint32_t samples = w->model->shape.samples, width = w->model->shape.width, token = w->batch->token[at];
  const double *own = w->model->table[SS_TABLE_OUTPUT] + (size_t)token * width;
  w->word[0] = token;
  w->expected[0] = w->model->log_expected[token];
  w->into[0] = w->sum[SS_TABLE_OUTPUT][at];
  find_scores(w, own);
  const double loss = softmax(w->score, samples + 1);
  w->score[0] -= 1;
  for (uint32_t k = 0; k <= samples; k++) w->score[k] *= w->weight;
  memset(w->of_mean, 0, width * sizeof *w->of_mean);
  add(w->of_mean, w->score[0], own, width);
  for (uint32_t k = 0; k < samples; k++) add(w->of_mean, w->score[k + 1], w->row + (size_t)k * width, width);
  for (uint32_t k = 0; k <= samples; k++) add(w->into[k], w->score[k], w->mean, width);
  return loss;
}

/* The same of a bag of words, with the gradients of its context. */
static inline __attribute__((always_inline)) double learn_example(const struct work *w, uint64_t at) {
  const struct ss_model_shape *shape = &w->model->shape;
  const struct ss_batch *batch = w->batch;
  const double *input = w->model->table[SS_TABLE_INPUT];
  const double share = 1 / (double)context_words(shape, batch, at); /* of a word of its context */
  const uint32_t width = shape->width;
  memset(w->mean, 0, width * sizeof *w->mean);
  for (uint64_t i = context_begin(shape, batch, at); i < at; i++)
    if (batch->token[i] != PAD) add(w->mean, share, input + (size_t)batch->token[i] * width, width);
  const double loss = learn_word(w, at);
  for (uint64_t i = context_begin(shape, batch, at); i < at; i++)
    if (batch->token[i] != PAD) add(w->sum[SS_TABLE_INPUT][i], share, w->of_mean, width);
  return loss;
}

static void learn_narrow(const struct work *w, double *loss) {
  for (uint64_t at = 0; at < w->batch->count; at++)
    if (w->sum[SS_TABLE_OUTPUT][at]) *loss += learn_example(w, at);
}

#ifdef __x86_64__
/* The same, in wider vectors. */
__attribute__((target("avx2"), flatten)) static void learn_wide(const struct work *w, double *loss) {
  for (uint64_t at = 0; at < w->batch->count; at++)
    if (w->sum[SS_TABLE_OUTPUT][at]) *loss += learn_example(w, at);
}
#endif

/* Sequence by sequence, through all of it: forward, every word from the state before it, and back. */
static bool learn_sequences(const struct work *w, struct ss_model_pass *pass, struct ss_arena *arena) {
  const uint32_t width = w->model->shape.width;
  const uint64_t length = w->batch->length;
  struct ss_sequence s;
  if (!ss_sequence_open(width, length, arena, &s)) return false;
  s.weight = w->model->table[SS_TABLE_CELL];
  for (uint64_t first = 0; first < w->batch->count; first += length) {
    double *const *into = w->sum[SS_TABLE_INPUT] + first;
    for (uint64_t t = 0; t < length; t++)
      s.input[t] = into[t] ? w->model->table[SS_TABLE_INPUT] + (size_t)w->batch->token[first + t] * width : NULL;
    ss_sequence_read(&s);
    memset(s.of_state, 0, (length + 1) * width * sizeof *s.of_state);
    for (uint64_t t = 0; t < length; t++) {
      if (!w->sum[SS_TABLE_OUTPUT][first + t]) continue;
      memcpy(w->mean, s.state + t * width, width * sizeof *w->mean);
      pass->loss += learn_word(w, first + t);
      memcpy(s.of_state + t * width, w->of_mean, width * sizeof *w->of_mean);
    }
    ss_sequence_learn(&s, pass->gradient[SS_TABLE_CELL].value, into);
  }
  return true;
}

bool ss_model_learn(const struct ss_model *model, const struct ss_batch *batch, struct ss_model_pass *pass,
                    struct ss_arena *arena, struct ss_error *error) {
  struct work w = {.model = model, .batch = batch, .weight = pass->weight};
  if (!begin(&w, pass->gradient, arena)) return ss_fail_memory(error, "training a model");
  if (model->shape.kind == SS_LSTM)
    return pass->gradient[SS_TABLE_CELL].count == 0 || learn_sequences(&w, pass, arena) ||
           ss_fail_memory(error, "training a model");
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) {
    learn_wide(&w, &pass->loss);
    return true;
  }
#endif
  learn_narrow(&w, &pass->loss);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
