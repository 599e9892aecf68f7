/* Computing a scenario's points, in parallel, in an order that does not depend on it. */
#ifndef SS_STUDY_RUN_H
#define SS_STUDY_RUN_H

#include "cost/forms.h"
#include "report/points.h"
#include "study/scenario.h"

struct ss_communicator;

struct ss_run_options {
  unsigned jobs; /* threads; 0: as many as there are cores */
  bool quiet;    /* no progress bar */
  bool per_rank, per_iteration;
  struct ss_communicator *comm; /* whose processes share the points; NULL: one process computes all */
  double patience;              /* s: a process that is silent for longer is lost */
};

/* Somebody who wants to know while points are computed. Calls come one at a time, from any thread; a function that
 * returns false ends the run with its error. */
struct ss_points_listener {
  /* Is the point known already? `point` has its names, and gets its values. NULL: none is. */
  bool (*recall)(struct ss_points_listener *self, struct ss_point *point, bool *known, struct ss_error *error);
  /* A point was computed: in any order, "*" never. NULL: no matter. */
  bool (*computed)(struct ss_points_listener *self, const struct ss_point *point, struct ss_error *error);
  /* Before the first is computed: all points in the order in which they will be printed, without values. */
  bool (*begin)(struct ss_points_listener *self, const struct ss_points *blank, struct ss_error *error);
  /* The next `count` points in that order: all of one place and rank count. */
  bool (*ready)(struct ss_points_listener *self, const struct ss_point *points, size_t count, struct ss_error *error);
  /* The run is being ended: adds to the error what becomes of the points that are there. NULL: nothing. */
  void (*stopped)(struct ss_points_listener *self, struct ss_error *error);
};

/* One point for each job, and behind those of a trace with several tensors one ("*") for all together. Points that
 * differ in nothing but their network are simulated in one go. `costs` must outlive the points. `listener` may be
 * NULL.
 *
 * With a communicator it is collective, and like ss_communicator_share: rank 0 has the listener and gets the points,
 * the others get none.
 */
bool ss_points_run(const struct ss_scenario *scenario, const struct ss_costs *costs,
                   const struct ss_run_options *options, struct ss_points_listener *listener, struct ss_points *out,
                   struct ss_error *error) SS_MUST_CHECK;
void ss_points_free(struct ss_points *points);

/* Reads the scenario's "expect" without points: what is wrong with it is known before anything is simulated. */
bool ss_expect_check(const struct ss_scenario *scenario, struct ss_error *error) SS_MUST_CHECK;
/* Holds the points against one entry of it. */
bool ss_points_expect_one(const struct ss_points *points, struct ss_node node, struct ss_error *error) SS_MUST_CHECK;
/* Holds the points against the scenario's "expect". What fails is described in `error`. */
bool ss_points_expect(const struct ss_points *points, struct ss_node expect, struct ss_error *error) SS_MUST_CHECK;

#endif
