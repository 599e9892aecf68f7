/* How good calibrations are, printed: a table by collective, algorithm, nodes and size, JSON, CSV, and a picture of
 * predicted against measured times. */
#ifndef SS_REPORT_VALIDATION_TABLE_H
#define SS_REPORT_VALIDATION_TABLE_H

#include "calibration/validation.h"
#include "figures/plot.h"
#include "report/flat.h"

/* Of a struct ss_validation_report. CSV: a row an observation. */
ss_printer ss_validation_table, ss_validation_markdown, ss_validation_json, ss_validation_csv;

/* One colour a collective; the line where both are equal, and 25% about it. */
bool ss_validation_draw(const struct ss_validation_report *report, enum ss_picture picture,
                        struct ss_picture_bytes *out, struct ss_error *error) SS_MUST_CHECK;

#endif
