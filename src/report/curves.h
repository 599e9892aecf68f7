/* Learning curves as a table that answers first, as CSV, and as data for plots/learn.gp. */
#ifndef SS_REPORT_CURVES_H
#define SS_REPORT_CURVES_H

#include "study/curves.h"

#include <stdio.h>

/* A row for each step of each curve. */
bool ss_curves_csv(const struct ss_curves *curves, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_curves_table(const struct ss_curves *curves, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* A block for each curve, its label first: step, loss, mean loss over the last fiftieth of the steps up to there. */
void ss_curves_plot_data(const struct ss_curves *curves, FILE *stream);

#endif
