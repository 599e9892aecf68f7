/* A scenario's own expectations (docs/scenarios.md): {"that": field, "of": label, "is": "<", "than": label or number,
 * "at": {...}}. */
#ifndef SS_QUERY_EXPECTATIONS_H
#define SS_QUERY_EXPECTATIONS_H

#include "base/json.h"

struct cJSON;
struct ss_results;
struct ss_study;

/* Reads the study's without results: what is wrong with them is known before anything is simulated. */
bool ss_expectations_check(const struct ss_study *study, struct ss_error *error) SS_MUST_CHECK;
/* Holds results, as ss_results_json has them, against one of them. What fails is described in `error`. */
bool ss_expectation_holds(struct ss_node expectation, const struct cJSON *results,
                          struct ss_error *error) SS_MUST_CHECK;
/* The same of all: `expect` is their list, or absent. */
bool ss_expectations_hold(struct ss_node expect, const struct ss_results *results,
                          struct ss_error *error) SS_MUST_CHECK;

#endif
