/* Learning curves: the loss of every step under several schemes (docs/learning.md). */
#pragma once

#include "learn/trainer.h"

struct cJSON;

struct ss_curves {
  const struct ss_learn_task *task;
  const char *text, *layout; /* "stream", "sentence" */
  uint64_t seq;              /* words of a sequence; 0: as long as the sentence is */
  const struct ss_curve *curve;
  size_t count;
  uint64_t every; /* the table shows every so many steps; 0: about twenty of them */
};

/* The first curve that is the same as curve `i`, bit by bit; `i` itself when none before it is. */
size_t ss_curves_same(const struct ss_curves *curves, size_t i);
bool ss_curve_same(const struct ss_curve *a, const struct ss_curve *b);
/* The first curve of a lossless scheme, or NULL. */
const struct ss_curve *ss_curves_exact(const struct ss_curves *curves);
/* The mean over steps [first, end). */
double ss_curve_mean(const struct ss_curve *curve, uint64_t first, uint64_t end);
/* Loss at the end: the mean over the last tenth of the steps; NaN when the training diverged. */
double ss_curve_end(const struct ss_curve *curve);
/* What must hold: every sum was sound, and all lossless schemes have the same curve. SS_UNPROVEN when not. */
bool ss_curves_check(const struct ss_curves *curves, struct ss_error *error) SS_MUST_CHECK;

/* The tree that `learn --format json` prints; the caller's, NULL when memory is short. */
struct cJSON *ss_curves_json(const struct ss_curves *curves);
