/* Computing a scenario's points, in parallel, in an order that does not depend on it. */
#ifndef SS_CLI_POINTS_H
#define SS_CLI_POINTS_H

#include "cli/scenario.h"
#include "cost/cost.h"
#include "report/points.h"

struct ss_points_wish {
  unsigned jobs; /* threads; 0: as many as there are cores */
  bool quiet;    /* no progress bar */
  bool per_rank, per_iteration;
};

/* One point for each job, and behind those of a trace with several tensors one ("*") for all together. `costs` must
 * outlive the points. */
bool ss_points_run(const struct ss_scenario *scenario, const struct ss_costs *costs,
                   const struct ss_points_wish *wish, struct ss_points *out, struct ss_error *error) SS_MUST_CHECK;
void ss_points_free(struct ss_points *points);

/* Reads the scenario's "expect" without points: what is wrong with it is known before anything is simulated. */
bool ss_expect_check(const struct ss_scenario *scenario, struct ss_error *error) SS_MUST_CHECK;
/* Holds the points against the scenario's "expect". What fails is described in `error`. */
bool ss_points_expect(const struct ss_points *points, struct ss_node expect, struct ss_error *error) SS_MUST_CHECK;

#endif
