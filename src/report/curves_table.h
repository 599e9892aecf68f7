/* Learning curves as a table that answers first, as CSV, and as data for plots/learn.gp. */
#ifndef SS_REPORT_CURVES_TABLE_H
#define SS_REPORT_CURVES_TABLE_H

#include "report/flat.h"
#include "study/curves.h"

/* Of a struct ss_curves. CSV has a row for each step of each curve; the plot's data a block for each curve, its label
 * first: step, loss, mean loss over the last fiftieth of the steps up to there. */
ss_printer ss_curves_table, ss_curves_csv, ss_curves_plot_data;

#endif
