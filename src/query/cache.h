/* Requests: a JSON object says what is to be computed, and is answered in this process, as a tree of the same shape
 * that the command of that name prints (docs/scenarios.md, "Requests"):
 *
 *   {"run": SCENARIO}, {"plan": SCENARIO}, {"train": SCENARIO}: an object or the path of a file, with
 *     "set": {PATH: VALUE}, "per_rank" and "per_iteration" beside it
 *   {"learn": {...}}, {"cost": {...}}, {"stats": {...}}, {"measure": {...}}, {"hash": {...}}, {"file": PATH}
 *
 * Paths are looked for from here, then in the data folder. Answers are kept: what claims or panels share is computed
 * once. */
#pragma once

#include "base/fields.h"

struct ss_notice;
struct ss_query;
struct ss_watcher;

/* `jobs` threads compute (0: one a core). `notice`, which outlives the query, is told the warnings of clusters; NULL:
 * nobody. NULL when memory is short. */
struct ss_query *ss_query_new(unsigned jobs, const struct ss_notice *notice);
void ss_query_free(struct ss_query *query);
/* Who is told how far the answers are, which are all the work of something longer: that begins, ends and counts its
 * steps. About so many `requests` will be asked, or those that are expected by then. The watcher outlives the query.
 */
void ss_query_watch(struct ss_query *query, const struct ss_watcher *watcher, size_t requests);

/* A number to be put at a path of what is asked: of the scenario, or of the object. */
struct ss_query_change {
  const char *path;
  double value;
};

struct ss_query_request {
  struct ss_node node; /* the object, which may have other keys than a request's */
  const struct ss_query_change *change;
  size_t changes;
};

/* What an object may say to ask for something: all of a table. */
#define SS_REQUEST_FIELDS                                                                                            \
  {"run", NULL, SS_IS_EITHER(ss_asked_forms)}, {"plan", NULL, SS_IS_EITHER(ss_asked_forms)},                         \
      {"rounds", NULL, SS_IS_EITHER(ss_asked_forms)}, {"place", NULL, SS_IS_EITHER(ss_asked_forms)},                 \
      {"check", NULL, SS_IS_EITHER(ss_asked_forms)}, {"train", NULL, SS_IS_EITHER(ss_asked_forms)},                  \
      {"learn", NULL, SS_IS_OBJECT(&ss_learn_fields)}, {"cost", NULL, SS_IS_OBJECT(&ss_cost_request_fields)},        \
      {"crossover", NULL, SS_IS_OBJECT(&ss_crossover_fields)},                                                       \
      {"calibrate", NULL, SS_IS_EITHER(ss_calibrate_forms)}, {"stats", NULL, SS_IS_OBJECT(&ss_stats_fields)},        \
      {"measure", NULL, SS_IS_OBJECT(&ss_measure_fields)}, {"hash", NULL, SS_IS_OBJECT(&ss_hash_fields)},            \
      {"file", "JSON that was written before", SS_IS_NAME},                                                          \
      {"set", "values by path, put into what is asked", SS_IS_OBJECT(&ss_by_path)}, {"per_rank", NULL, SS_IS_FLAG},  \
      {"per_iteration", NULL, SS_IS_FLAG}, {                                                                         \
    "notes", SS_NOT_READ                                                                                             \
  }
extern const struct ss_field_spec ss_asked_forms[], ss_calibrate_forms[];
extern const struct ss_object_spec ss_request_fields, ss_inputs_fields /* requests by name */, ss_by_path,
    ss_learn_fields, ss_cost_request_fields, ss_crossover_fields, ss_calibrate_fields, ss_calibrate_training_fields,
    ss_stats_fields, ss_measure_fields, ss_hash_fields;
/* Does the object ask anything? */
bool ss_request_asks(struct ss_node node);
/* The request that the text `name` names among the members of the object `inputs`, as files of claims and figures
 * have it. An error suggests the nearest one. */
bool ss_request_named(struct ss_node inputs, struct ss_node name, struct ss_node *out,
                      struct ss_error *error) SS_MUST_CHECK;

/* Where a file is that a request names: here, or in the data folder. */
bool ss_request_path(const char *text, char *path, size_t size, struct ss_error *error) SS_MUST_CHECK;

/* Says that the request will be asked. It is then answered together with others that differ from it only in what is
 * set: trainings that send the same over other links are simulated in one go. */
bool ss_query_expect(struct ss_query *query, const struct ss_query_request *request,
                     struct ss_error *error) SS_MUST_CHECK;
/* Answers all that is expected, if it is enough to keep all threads busy: families of requests side by side, each on
 * one thread. The first that cannot be answered ends it: whoever asks for what is left is told why. `answered` (may
 * be NULL) hears after each family, one at a time, from any thread, how many are done. */
void ss_query_answer_expected(struct ss_query *query, void (*answered)(void *context, size_t done, size_t all),
                              void *context);
/* The answer, which stays the query's. An error names where the request stands. */
bool ss_query_ask(struct ss_query *query, const struct ss_query_request *request, const struct cJSON **answer,
                  struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
