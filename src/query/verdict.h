/* Verdicts: numbers held against what is promised of them.
 *
 * All that is promised of results is a list of verdicts: a scenario's expectations (query/expectations.h), a stored
 * baseline (query/baselines.h, one a stored point), and the grid of a closed form (query/check.h, one a form). A
 * paper's claim (claims/claims.h) tries estimates besides. A promise is kept if it was compared somewhere and missed
 * nowhere. */
#pragma once

#include "study/scenario_fields.h"

/* Where a number may lie. NaN lies nowhere. */
struct ss_bounds {
  double low, high; /* -INFINITY, INFINITY: no end */
  bool open;        /* the ends themselves lie outside */
};
bool ss_bounds_hold(const struct ss_bounds *bounds, double value);

/* What a relation allows; "=": within a share of `against`. */
struct ss_bounds ss_bounds_of(enum ss_relation is, double against, double within);
/* Is `now` as far from `was` as `tolerance`, a share of the larger, allows? Both may be NaN: there is no number. */
bool ss_number_moved(double was, double now, double tolerance);

/* Where a promise is not kept. */
struct ss_miss {
  const struct cJSON *record; /* that was judged; NULL: judged without one */
  size_t index;               /* of what was judged, among all that was */
  const char *field;          /* whose number it is */
  double found, against;      /* NaN: there is no such number */
};

struct ss_verdict {
  char *text;                           /* what is promised, in words; owned; NULL: nothing is said of it */
  const struct cJSON *promise, *record; /* what was stored, and the one record that is held against it; or NULL */
  size_t points;                        /* at which it was compared */
  double share; /* the least share of the draws of a point in which it holds; NaN: it is not of draws */
  struct ss_miss *miss;
  size_t misses;
};
static inline bool ss_verdict_holds(const struct ss_verdict *verdict) {
  return verdict->points > 0 && verdict->misses == 0;
}
bool ss_verdict_add_miss(struct ss_verdict *verdict, struct ss_miss miss) SS_MUST_CHECK; /* false: memory is short */

/* Zeroed it is empty. */
struct ss_verdicts {
  struct cJSON *results; /* whose records were judged; owned; NULL: none */
  struct ss_verdict *verdict;
  size_t count, failed;
};
/* The next verdict, zeroed; NULL: memory is short. Those before it may move. */
struct ss_verdict *ss_verdicts_add(struct ss_verdicts *verdicts);
void ss_verdicts_free(struct ss_verdicts *verdicts);
/* SPDX-License-Identifier: Apache-2.0 */
