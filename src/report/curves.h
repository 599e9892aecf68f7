/* Learning curves: the loss of every step under several schemes, printed as a table that answers first, as JSON or
 * CSV, and as data for plots/learn.gp (docs/learning.md). */
#ifndef SS_REPORT_CURVES_H
#define SS_REPORT_CURVES_H

#include "learn/trainer.h"

#include <stdio.h>

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
/* Loss at the end: the mean over the last tenth of the steps; NaN when the training diverged. */
double ss_curve_end(const struct ss_curve *curve);
/* What must hold: every sum was sound, and all lossless schemes have the same curve. SS_UNPROVEN when not. */
bool ss_curves_check(const struct ss_curves *curves, struct ss_error *error) SS_MUST_CHECK;

bool ss_curves_json(const struct ss_curves *curves, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* A row for each step of each curve. */
bool ss_curves_csv(const struct ss_curves *curves, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_curves_table(const struct ss_curves *curves, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* A block for each curve, its label first: step, loss, mean loss over the last fiftieth of the steps up to there. */
void ss_curves_plot_data(const struct ss_curves *curves, FILE *stream);

#endif
