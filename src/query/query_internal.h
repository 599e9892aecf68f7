/* Answering requests: what the kinds of them (answers.c, and one file for each that needs more) share. */
#pragma once

#include "cost/suppose.h"
#include "query/answers.h"
#include "query/cache.h"
#include "study/sources.h"

/* The object's "trace", as a scenario has it: a file, or {"synth": ...}. It is the sources', which are to be closed
 * also after a failure. */
bool ss_request_trace(struct ss_node object, const struct ss_request *request, struct ss_sources *sources,
                      const struct ss_trace **out, struct ss_error *error) SS_MUST_CHECK;

/* They set request->answer. */
bool ss_answer_cost(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_calibrate(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_calibrate_training(struct ss_node object, struct ss_request *request,
                                  struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_crossover(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_learn(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_stats(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_measure(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_hash(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;

/* Adds to each point of ss_costs_json's tree where its forms lie in 90% of the draws: "flat_low_s", "flat_high_s",
 * "placed_low_s", "printed_low_s", ...; null as the form is. */
bool ss_cost_add_ranges(struct cJSON *tree, const struct ss_costs *costs, const struct ss_costs_request *asked,
                        struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
