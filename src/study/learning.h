/* Training a small model under several schemes: what `learn` does, on a text or on a trace made of one
 * (docs/learning.md). */
#pragma once

#include "base/watcher.h"
#include "learn/traces.h"
#include "learn/trainer.h"
#include "trace/make/import.h"

/* Strings and arrays are the caller's, and outlive what is learned. */
struct ss_learning_source {
  const char *text;  /* the file to read, or "-": standard input; NULL: a trace is read */
  const char *trace; /* as `trace import` has written it; NULL: none */
  /* How a text is cut; of a trace, ranks, batch and vocabulary count. `source` is what results and messages call it
   * (NULL: its path). ranks 0: 8, or all of a trace; seq 0: 32. */
  struct ss_import import;
  struct ss_learn_task task; /* text, batch, vocabulary and cluster follow from the rest; a rate of 0: as the
                              optimizer usually has */
  struct ss_cluster cluster;
  const struct ss_setting *setting; /* [settings] the schemes */
  size_t settings;
  bool captures; /* gradients are kept for ss_capture_write */
};
/* 8 ranks read 8 sequences of 32 words each, 2000 different ones; 200 steps, Adagrad. */
#define SS_LEARNING_DEFAULTS                                                                                         \
  {                                                                                                                  \
    .import = {.batch = 8, .vocab = 2000, .tensor = "text"},                                                         \
    .task = {.steps = 200,                                                                                           \
             .shape = {.width = 16, .context = 4, .samples = 32, .seed = 1},                                         \
             .optimizer = {.kind = SS_ADAGRAD}},                                                                     \
    .cluster = {                                                                                                     \
      .name = "flat",                                                                                                \
      .model = "alpha-beta",                                                                                         \
      .inter = {1e-5, 1e-9},                                                                                         \
      .intra = {1e-5, 1e-9},                                                                                         \
      .gpus_per_node = 1                                                                                             \
    }                                                                                                                \
  }

struct ss_learning {
  struct ss_learning_source source;
  struct ss_trace *trace;
  struct ss_learn_task task;
  struct ss_capture capture;
  struct ss_curve *curve; /* [count] under each scheme: the loss of every step */
  size_t count;
  const char *text, *layout; /* "stream", "sentence", "trace" */
  uint64_t seq;              /* words of a sequence; 0: as long as the sentence is */
  uint64_t every;            /* the table shows every so many steps; 0: about twenty of them */
};

/* To be closed, also after a failure. What is learned must not be moved. */
bool ss_learning_open(const struct ss_learning_source *source, struct ss_learning *out,
                      struct ss_error *error) SS_MUST_CHECK;
/* All schemes, several at once on `jobs` threads (0: all cores); none knows of the others. */
bool ss_learning_run(struct ss_learning *learning, unsigned jobs, const struct ss_watcher *watcher,
                     struct ss_error *error) SS_MUST_CHECK;
void ss_learning_close(struct ss_learning *learning);

/* The step after which the mean of the last ten losses was down to the task's target; NAN: none was, or there is
 * none. */
double ss_curve_reached(const struct ss_curve *curve, double target);

/* Tells what was asked for and did nothing: a target that no curve came down to, nodes that no scheme has a hierarchy
 * for. */
void ss_learning_tell(const struct ss_learning *learning, const struct ss_notice *notice);

/* --- curves --------------------------------------------------------------------------------------------------- */

/* The first curve that is the same as curve `i`, bit by bit; `i` itself when none before it is. */
size_t ss_curves_same(const struct ss_learning *learning, size_t i);
bool ss_curve_same(const struct ss_curve *a, const struct ss_curve *b);
/* The first curve of a lossless scheme, or NULL. */
const struct ss_curve *ss_curves_exact(const struct ss_learning *learning);
/* The mean over steps [first, end). */
double ss_curve_mean(const struct ss_curve *curve, uint64_t first, uint64_t end);
/* Loss at the end: the mean over the last tenth of the steps; NaN when the training diverged. */
double ss_curve_end(const struct ss_curve *curve);
/* What must hold: every sum was sound, and all lossless schemes have the same curve. SS_UNPROVEN when not. */
bool ss_curves_check(const struct ss_learning *learning, struct ss_error *error) SS_MUST_CHECK;

/* The tree that `learn --format json` prints; the caller's, NULL when memory is short. */
struct cJSON *ss_curves_json(const struct ss_learning *learning);
/* SPDX-License-Identifier: Apache-2.0 */
