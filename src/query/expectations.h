/* A scenario's own expectations (docs/scenarios.md): {"that": field, "of": label, "is": "<", "than": label or number,
 * "at": {...}}. All of them are judged, at every point that they concern. */
#ifndef SS_QUERY_EXPECTATIONS_H
#define SS_QUERY_EXPECTATIONS_H

#include "base/json.h"

struct cJSON;
struct ss_results;
struct ss_study;

/* A point at which an expectation fails. */
struct ss_miss {
  const struct cJSON *point; /* of the judgement's results */
  double found, against;     /* NaN: there is no such number */
};

/* One expectation. It holds if it was compared somewhere and failed nowhere. */
struct ss_judged_expectation {
  char *text;    /* "time_s of zen < allreduce at ranks = 16" */
  size_t points; /* at which it was compared */
  struct ss_miss *miss;
  size_t misses;
};

/* All of a scenario's; zeroed it is empty. */
struct ss_judgement {
  struct cJSON *results;
  struct ss_judged_expectation *expectation; /* [count] in the scenario's order */
  size_t count, failed;
};

/* Reads the study's without results: what is wrong with them is known before anything is simulated. */
bool ss_expectations_check(const struct ss_study *study, struct ss_error *error) SS_MUST_CHECK;
/* Holds the study's results against them. An expectation that fails is no error. To be freed, also after a failure.
 */
bool ss_expectations_judge(const struct ss_study *study, const struct ss_results *results, struct ss_judgement *out,
                           struct ss_error *error) SS_MUST_CHECK;
void ss_judgement_free(struct ss_judgement *judgement);

/* {"file", "expectation", "ok", "points", "misses": [{"ranks", "tensor", "cluster", "at", "found", "against"}]}; the
 * caller's. */
struct cJSON *ss_judged_json(const char *file, const struct ss_judged_expectation *judged);
/* {"sparsync", "scenario", "ok": all hold, "expectations": [as above]}; the caller's. */
struct cJSON *ss_judgement_json(const char *scenario, const struct ss_judgement *judgement);

static inline bool ss_judged_holds(const struct ss_judged_expectation *judged) {
  return judged->points > 0 && judged->misses == 0;
}

#endif
