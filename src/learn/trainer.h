/* Training: P simulated workers read a text, and a scheme's own code adds up their gradients.
 *
 * There is one replica of the model: in every step it is checked that all ranks end with the same sums, bit by bit,
 * so all replicas would be alike. Gradients are rounded to whole units before they are added (docs/model.md,
 * "Values"), so every lossless scheme gives the identical curve, because its aggregation is right and not because of
 * an order.
 *
 * A step is made of the calls below, in this order:
 *
 *   ss_learner_gradients(t), ss_learner_update(whole)
 *
 * or, split as EmbRace does it (§4.2.2, Algorithm 1), where the forward pass of t runs before delayed(t-1) is
 * applied:
 *
 *   ss_learner_gradients(t), ss_learner_update(delayed of t-1), ss_learner_split(t), ss_learner_update(prior of t) */
#pragma once

#include "learn/language_model.h"
#include "learn/optimizers.h"
#include "learn/summation.h"

/* What is learned, and how: all but the scheme. */
struct ss_learn_task {
  const struct ss_trace *text; /* of `trace import`: what every rank reads in every iteration; row 0 is padding */
  uint32_t ranks;              /* the first ones of the text */
  uint64_t batch;              /* sequences of a rank in an iteration */
  struct ss_model_shape shape;
  struct ss_optimizer_options optimizer;
  uint64_t steps;             /* at least 1: iterations of the text, from the first on again when they end */
  bool split;                 /* updates in two parts */
  struct ss_selection select; /* what ranks send of each table's gradient; all when it selects nothing */
  double target;              /* a loss to come down to; 0: none */
  const struct ss_cluster *cluster;
};

/* What the rank reads in a step; words beyond the vocabulary, which are rarer, are the unknown one (1). The tokens
 * are the arena's. False: memory is short. */
bool ss_learn_read(const struct ss_learn_task *task, uint64_t step, uint32_t rank, struct ss_arena *arena,
                   struct ss_batch *out) SS_MUST_CHECK;

/* The gradients of all ranks: own[table][rank], of the loss averaged over all examples of all ranks, so that their
 * sum is what is applied. */
struct ss_gradients {
  struct ss_learn_rows *own[SS_TABLES];
  const double **value[SS_TABLES]; /* [table][rank][count * width] before rounding; NULL of a part */
  double loss;                     /* mean over all examples */
  bool finite;                     /* false: too large for exact sums, or not a number; there are no units then */
};

/* What a training amounted to. */
struct ss_curve {
  const struct ss_setting *setting;
  double *loss;   /* [steps] before each step's update */
  uint64_t steps; /* that were made: fewer than wanted when the training diverged */
  double sent;    /* B a step, of the rank that sends most; all tables */
  double energy;  /* means over steps and tables, as in ss_outcome */
  double energy_lost;
  double error_l2;
  bool diverged;      /* gradients left the range of exact sums, or became no numbers */
  bool sound;         /* every sum was: see ss_added */
  char mismatch[160]; /* why not, when not */
};

struct ss_learner {
  const struct ss_learn_task *task;
  const struct ss_setting *setting;
  uint32_t ranks;
  struct ss_model model;
  struct ss_optimizer optimizer[SS_TABLES];
  struct ss_summation summation[SS_TABLES][2]; /* of whole or prior parts; of delayed parts */
  struct ss_learn_scale scale[SS_TABLES];
  struct ss_learn_memory *memory; /* [2 * ranks] of odd and even steps */
  struct ss_arena arena[2];       /* likewise */
  struct ss_curve curve;          /* so far: sums, of which ss_learn makes means */
  uint64_t sums;                  /* tables added up */
};

/* Checks that course and scheme fit. The learner is the caller's, to be closed (also after a failure). */
bool ss_learner_open(const struct ss_learn_task *task, const struct ss_setting *setting, struct ss_learner *out,
                     struct ss_error *error) SS_MUST_CHECK;
void ss_learner_close(struct ss_learner *learner);
/* The forward and backward pass of a step on all ranks, with the tables as they are. Uses all threads. The arrays
 * live until the same call two steps later. */
bool ss_learner_gradients(struct ss_learner *learner, uint64_t step, struct ss_gradients *out,
                          struct ss_error *error) SS_MUST_CHECK;
/* Algorithm 1: prior is what some rank looks up in the next step. */
bool ss_learner_split(struct ss_learner *learner, uint64_t step, const struct ss_gradients *whole,
                      struct ss_gradients *prior, struct ss_gradients *delayed, struct ss_error *error) SS_MUST_CHECK;
/* Adds up what ranks have, and applies the sum to all tables. */
bool ss_learner_update(struct ss_learner *learner, const struct ss_gradients *gradients, enum ss_part part,
                       struct ss_error *error) SS_MUST_CHECK;

/* --- curves --------------------------------------------------------------------------------------------- */

/* Told of every step's gradients, before they are added up. */
struct ss_learn_watch {
  void *context;
  bool (*seen)(void *context, uint64_t step, const struct ss_gradients *gradients, struct ss_error *error);
};

/* `watch` may be NULL. The curve is the caller's, to be freed. */
bool ss_learn(const struct ss_learn_task *task, const struct ss_setting *setting, const struct ss_learn_watch *watch,
              struct ss_curve *out, struct ss_error *error) SS_MUST_CHECK;
void ss_curve_free(struct ss_curve *curve);
/* SPDX-License-Identifier: Apache-2.0 */
