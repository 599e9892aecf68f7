/* Answering requests: what the kinds of them (answers.c, and one file for each that needs more) share. */
#pragma once

#include "query/answers.h"
#include "query/cache.h"
#include "study/sources.h"

/* A path as a request means it: as it stands if something is there, else in the data folder. */
bool ss_request_path(const char *text, char *path, size_t size, struct ss_error *error) SS_MUST_CHECK;

/* The object's "trace", as a scenario has it: a file, or {"synth": ...}. It is the sources', which are to be closed
 * also after a failure. */
bool ss_request_trace(struct ss_node object, const struct ss_request *request, struct ss_sources *sources,
                      const struct ss_trace **out, struct ss_error *error) SS_MUST_CHECK;

/* They set request->answer. */
bool ss_answer_cost(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_calibrate(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_crossover(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_learn(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_stats(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_measure(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_hash(struct ss_node object, struct ss_request *request, struct ss_error *error) SS_MUST_CHECK;
