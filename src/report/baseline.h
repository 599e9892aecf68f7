/* What moved since a baseline was stored, as a table, JSON or CSV. */
#ifndef SS_REPORT_BASELINE_H
#define SS_REPORT_BASELINE_H

#include "report/flat.h"
#include "study/baselines.h"

struct ss_diff_report {
  const struct ss_diff *diff;
  const char *scenario; /* its name */
};
ss_printer ss_diff_table, ss_diff_json, ss_diff_csv;

#endif
