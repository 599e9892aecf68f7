/* A language model small enough to train in seconds, and sparse like the large ones: two tables of embeddings, of
 * which a step touches only the rows of the words it reads and of those it samples.
 *
 * Bag of words: the mean of the input rows of the `context` words before a word predicts it. LSTM: the state of a
 * layer (learn/recurrent.h) that has read all words before it in its sequence. With h that mean, or state, the score
 * of word j is h · O[j] - log(K q(j)), and the loss the cross-entropy of the word among itself and K sampled words
 * (sampled softmax). Ids are ranked by frequency, so words are drawn log-uniformly over them: q(id) = log((id + 1) /
 * id) / log(V), id = 1 .. V-1; a sample that is the word itself is left out of its sum. Word 0 is padding: it is
 * never read, predicted or drawn. Everything random is a function of seed, step and rank. */
#pragma once

#include "base/base.h"
#include "tensor/chunk.h"

/* The cell's are the weights of the LSTM, of which every step needs all rows. */
enum { SS_TABLE_INPUT, SS_TABLE_OUTPUT, SS_TABLE_CELL, SS_TABLES };
enum ss_model_kind { SS_BAG, SS_LSTM };
extern const char *const ss_model_names[]; /* "bag", "lstm"; NULL ends them */

struct ss_model_shape {
  uint64_t vocab;   /* rows of each table, padding included; at least 2 */
  uint32_t width;   /* elements a row */
  uint32_t context; /* words that predict the next: of an LSTM all before it in its sequence, UINT32_MAX */
  uint32_t samples; /* K: words drawn for a rank in a step, for all its examples */
  uint64_t seed;
  enum ss_model_kind kind;
};

/* Tables that a model has, and rows of each. */
static inline int ss_model_tables(const struct ss_model_shape *shape) {
  return shape->kind == SS_LSTM ? SS_TABLES : SS_TABLE_CELL;
}
uint64_t ss_model_rows(const struct ss_model_shape *shape, int table);

struct ss_model {
  struct ss_model_shape shape;
  double *table[SS_TABLES]; /* [rows * width] */
  double *log_expected;     /* [vocab] log(K q(id)) */
};

/* What one rank reads in one step: sequences of `length` words, padding at their ends. */
struct ss_batch {
  const uint32_t *token; /* [count], below vocab */
  uint64_t count, length;
  uint64_t step;
  uint32_t rank;
};

/* Tables begin uniform in ±0.5/sqrt(width), an LSTM's weights in ±1/sqrt(width). The model is the caller's, to be
 * closed (also after a failure). */
bool ss_model_open(const struct ss_model_shape *shape, struct ss_model *out, struct ss_error *error) SS_MUST_CHECK;
void ss_model_close(struct ss_model *model);

/* Words of the batch that are predicted: all that have another before them. */
uint64_t ss_batch_examples(const struct ss_model_shape *shape, const struct ss_batch *batch);
/* The rows of a table that the batch looks up, in reading order, duplicates kept; the array is `arena`'s. Known
 * before the step, as EmbRace's prefetching needs it (§4.2.2). */
bool ss_batch_lookups(const struct ss_model_shape *shape, const struct ss_batch *batch, int table,
                      struct ss_arena *arena, struct ss_row_list *out, struct ss_error *error) SS_MUST_CHECK;

/* The gradient of a batch by the rows of a table. */
struct ss_model_gradient {
  const uint32_t *row; /* [count] ascending: the distinct lookups */
  uint64_t count;
  double *value; /* [count * width], zero at first */
};
/* What a batch's forward and backward pass adds to. */
struct ss_model_pass {
  struct ss_model_gradient gradient[SS_TABLES]; /* weight times the gradient of the batch's summed loss is added */
  double weight;
  double loss; /* the batch's summed loss is added */
};
/* `arena` is for what is needed meanwhile. */
bool ss_model_learn(const struct ss_model *model, const struct ss_batch *batch, struct ss_model_pass *pass,
                    struct ss_arena *arena, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
