/* Closed forms held against the simulation, over the grid of inputs that each names. */
#pragma once

#include "cost/form_grid.h"
#include "query/verdict.h"
#include "study/study.h"

struct ss_checks {
  struct ss_grid grid;
  struct ss_grid_result *result; /* [grid.count] */
  struct ss_verdicts forms; /* one a form, in the grid's order; text is its name, indices are those of the grid */
};

/* Plays all costs that have an exact form or bounds; what is not as promised is no error but a result that is not ok.
 * To be freed, also after a failure. */
bool ss_checks_run(const struct ss_costs *costs, const struct ss_run_options *options, struct ss_checks *out,
                   struct ss_error *error) SS_MUST_CHECK;
void ss_checks_free(struct ss_checks *checks);
/* The tree that `check --format json` prints; the caller's, NULL when memory is short. */
struct cJSON *ss_checks_json(const struct ss_checks *checks);

/* "full", "none", "random" or "gradient" */
const char *ss_grid_input_name(const struct ss_grid_point *point);
/* "low" or "high", the bound that is to be reached; NULL: none. */
const char *ss_grid_touch_name(const struct ss_grid_point *point);
/* SPDX-License-Identifier: Apache-2.0 */
