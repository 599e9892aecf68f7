/* A scenario's own expectations (docs/scenarios.md): {"that": field, "of": label, "is": "<", "than": label or number,
 * "at": {...}}. All of them are judged, at every point that they concern; by the times as they are, or, with "draws",
 * by the share of the draws (study/ranges.h) in which they hold. */
#pragma once

#include "query/verdict.h"

struct ss_results;
struct ss_study;

/* Reads the study's without results: what is wrong with them is known before anything is simulated. */
bool ss_expectations_check(const struct ss_study *study, struct ss_error *error) SS_MUST_CHECK;
/* Holds the study's results against them, in the scenario's order; text is "time_s of zen < allreduce at ranks = 16".
 * One that fails is no error. To be freed, also after a failure. */
bool ss_expectations_judge(const struct ss_study *study, const struct ss_results *results, struct ss_verdicts *out,
                           struct ss_error *error) SS_MUST_CHECK;

/* {"file", "expectation", "ok", "points", "draws": only of those that ask for them, "misses": [{"ranks", "tensor",
 * "cluster", "at", "found", "against"}]}; the caller's. */
struct cJSON *ss_expectation_json(const char *file, const struct ss_verdict *verdict);
/* {"sparsync", "scenario", "ok": all hold, "expectations": [as above]}; the caller's. */
struct cJSON *ss_expectations_json(const char *scenario, const struct ss_verdicts *verdicts);
/* SPDX-License-Identifier: Apache-2.0 */
