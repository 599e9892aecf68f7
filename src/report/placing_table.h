/* Placements of tables side by side, in words. */
#ifndef SS_REPORT_PLACING_TABLE_H
#define SS_REPORT_PLACING_TABLE_H

#include "study/placing.h"

#include <stdio.h>

bool ss_placing_table(const struct ss_placing *placing, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
