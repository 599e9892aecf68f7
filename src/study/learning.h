/* Training a small model under several schemes: what `learn` does, on a text or on a trace made of one. */
#pragma once

#include "base/watcher.h"
#include "learn/traces.h"
#include "study/curves.h"
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
  struct ss_curve *curve;
  struct ss_curves curves; /* after ss_learning_run */
  struct ss_capture capture;
};

/* To be closed, also after a failure. What is learned must not be moved. */
bool ss_learning_open(const struct ss_learning_source *source, struct ss_learning *out,
                      struct ss_error *error) SS_MUST_CHECK;
/* All schemes, several at once on `jobs` threads (0: all cores); none knows of the others. */
bool ss_learning_run(struct ss_learning *learning, unsigned jobs, const struct ss_watcher *watcher,
                     struct ss_error *error) SS_MUST_CHECK;
void ss_learning_close(struct ss_learning *learning);
