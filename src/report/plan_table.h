/* A plan as a table. */
#ifndef SS_REPORT_PLAN_TABLE_H
#define SS_REPORT_PLAN_TABLE_H

#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

struct cJSON;

/* Of the tree that `plan --format json` prints; its times are means over so many iterations. */
bool ss_plan_table(const struct cJSON *plan, uint64_t iterations, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
