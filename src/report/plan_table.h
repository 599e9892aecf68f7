/* A plan as a table. */
#ifndef SS_REPORT_PLAN_TABLE_H
#define SS_REPORT_PLAN_TABLE_H

#include "study/plan.h"

#include <stdio.h>

bool ss_plan_table(const struct ss_plan *plan, const char *scenario, FILE *stream,
                   struct ss_error *error) SS_MUST_CHECK;

#endif
