/* What moved since a baseline was stored, as a table, JSON or CSV. */
#ifndef SS_REPORT_BASELINE_H
#define SS_REPORT_BASELINE_H

#include "study/baselines.h"

#include <stdio.h>

bool ss_diff_table(const struct ss_diff *diff, const char *scenario, FILE *stream,
                   struct ss_error *error) SS_MUST_CHECK;
bool ss_diff_json(const struct ss_diff *diff, const char *scenario, FILE *stream,
                  struct ss_error *error) SS_MUST_CHECK;
bool ss_diff_csv(const struct ss_diff *diff, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
