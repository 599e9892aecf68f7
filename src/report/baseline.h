/* What moved since a baseline was stored, as a table, JSON or CSV: of a struct ss_diff. */
#ifndef SS_REPORT_BASELINE_H
#define SS_REPORT_BASELINE_H

#include "query/baselines.h"
#include "report/flat.h"

ss_printer ss_diff_table, ss_diff_json, ss_diff_csv;

#endif
