/* How each kind of request is answered. */
#include "query/answers.h"

#include "base/data.h"
#include "query/own_form.h"
#include "query/query_internal.h"
#include "share/share.h"
#include "study/placing.h"
#include "study/plan.h"
#include "study/rounds.h"
#include "study/store.h"
#include "study/trainings.h"

#include <unistd.h>

bool ss_request_path(const char *text, char *path, size_t size, struct ss_error *error) {
  struct ss_error ignored;
  if (access(text, F_OK) != 0 && text[0] != '/' && ss_data_file(text, path, size, &ignored)) return true;
  return snprintf(path, size, "%s", text) < (int)size || ss_fail(error, SS_BAD_INPUT, "%.40s...: is too long", text);
}

/* --- runs --------------------------------------------------------------------------------------------------- */

static bool open_studies(struct ss_request *const *request, size_t count, bool plan, struct ss_study **study,
                         struct ss_error *error) {
  for (size_t i = 0; i < count; i++) {
    struct ss_request own = *request[i];
    own.plan = plan;
    if (i > 0) own.like = study[i - 1];
    if (i > 0) own.costs = ss_study_costs(study[0]);
    if (!ss_study_open(&own, &study[i], error)) return false;
  }
  return true;
}

/* All at once: most of what they send is the same. */
static bool answer_studies(struct ss_request *const *request, size_t count, bool plan, struct ss_error *error) {
  SS_AUTO_FREE struct ss_study **study = ss_alloc_zero(count, sizeof *study);
  SS_AUTO_FREE struct ss_results *results = ss_alloc_zero(count, sizeof *results);
  if (!study || !results) return ss_fail_memory(error, "answering a request");
  bool ok = open_studies(request, count, plan, study, error) &&
            ss_studies_run((const struct ss_study *const *)study, count, &request[0]->run, results, error);
  for (size_t i = 0; ok && i < count; i++)
    if (plan) ok = ss_study_plan(study[i], &results[i], &request[i]->answer, error);
    else request[i]->answer = ss_results_json(&results[i], ss_study_name(study[i]));
  for (size_t i = 0; i < count; i++) ss_results_free(&results[i]);
  for (size_t i = count; i-- > 0;) ss_study_close(study[i]); /* those behind have traces of those before */
  return ok;
}

static bool answer_run(struct ss_request *const *request, size_t count, struct ss_error *error) {
  return answer_studies(request, count, false, error);
}

static bool answer_plan(struct ss_request *const *request, size_t count, struct ss_error *error) {
  return answer_studies(request, count, true, error);
}

static bool answer_rounds(struct ss_request *request, struct ss_error *error) {
  SS_AUTO_STUDY struct ss_study *study = NULL;
  return ss_study_open(request, &study, error) && ss_study_rounds(study, &request->answer, error);
}

/* Where its tables might live. */
static bool answer_place(struct ss_request *request, struct ss_error *error) {
  SS_AUTO(ss_placing_close) struct ss_placing placing = {0};
  if (!ss_placing_make(request, &placing, error)) return false;
  request->answer = ss_placing_json(&placing, ss_study_name(placing.study[SS_PLACINGS]));
  return true;
}

bool ss_judged_study_make(const struct ss_request *request, struct ss_judged_study *out, struct ss_error *error) {
  const struct ss_communicator *comm = request->run.comm;
  struct ss_results_listener *l = request->listener;
  const bool first = ss_processes_first(comm);
  *out = (struct ss_judged_study){0};
  return ss_communicator_agree(
             comm, ss_study_open(request, &out->study, error) && ss_expectations_check(out->study, error), error) &&
         ss_communicator_follow(comm, !first || !l || !l->opened || l->opened(l, out->study, error), error) &&
         ss_study_run(out->study, &request->run, &out->results, error) &&
         (!first || ss_expectations_judge(out->study, &out->results, &out->expectations, error));
}

void ss_judged_study_close(struct ss_judged_study *judged) {
  ss_verdicts_free(&judged->expectations);
  ss_results_free(&judged->results);
  ss_study_close(judged->study);
  *judged = (struct ss_judged_study){0};
}

static bool edit_object(const struct ss_request *request, struct ss_doc *doc, struct ss_error *error) {
  if (!ss_node_is_object(ss_doc_root(doc)))
    return ss_fail(error, SS_BAD_INPUT, "%s: expected an object", ss_doc_name(doc));
  for (const cJSON *e = request->edits ? request->edits->child : NULL; e; e = e->next)
    if (!ss_doc_set_item(doc, e->string, cJSON_Duplicate(e, true), error)) return false;
  ss_doc_call_fields(doc, request->options);
  return true;
}

bool ss_request_object(const struct ss_request *request, const char *name, struct ss_doc **out,
                       struct ss_error *error) {
  cJSON *root = request->document ? cJSON_Duplicate(request->document, true)
                : request->file   ? cJSON_CreateString(request->file)
                                  : cJSON_CreateObject();
  if (!ss_doc_adopt(request->name ? request->name : name, root, out, error)) return false;
  if (edit_object(request, *out, error)) return true;
  ss_doc_free(*out);
  *out = NULL;
  return false;
}

/* A form of the user's own, by its path or as a document; *out stays NULL: it is none. */
static void open_own_form(const struct ss_request *request, struct ss_doc **out) {
  struct ss_error ignored;
  *out = NULL;
  const bool by_path = request->file && !request->document;
  const bool read =
      by_path ? ss_doc_read(request->file, SS_RESULTS_BYTES, out, &ignored) && edit_object(request, *out, &ignored)
              : ss_request_object(request, "check", out, &ignored);
  if (*out && (!read || !ss_own_form_is(*out))) ss_doc_free(*out), *out = NULL;
}

static bool check_own_form(struct ss_request *request, struct ss_doc *doc, struct ss_error *error) {
  SS_AUTO(ss_verdicts_free) struct ss_verdicts verdicts = {0};
  size_t points;
  if (!ss_own_form_judge(doc, &points, &verdicts, error)) return false;
  request->answer = ss_expectations_json(ss_doc_name(doc), &verdicts);
  return ss_json_put(request->answer, "points", cJSON_Duplicate(verdicts.results, true)) ||
         ss_fail_memory(error, "checking");
}

static bool answer_check(struct ss_request *request, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *own = NULL;
  open_own_form(request, &own);
  if (own) return check_own_form(request, own, error);
  SS_AUTO(ss_judged_study_close) struct ss_judged_study judged = {0};
  if (!ss_judged_study_make(request, &judged, error)) return false;
  SS_AUTO_JSON cJSON *root = ss_results_json(&judged.results, ss_study_name(judged.study));
  request->answer = ss_expectations_json(ss_study_name(judged.study), &judged.expectations);
  cJSON_AddItemToObject(request->answer, "points", cJSON_DetachItemFromObjectCaseSensitive(root, "points"));
  return true;
}

/* --- trainings ---------------------------------------------------------------------------------------------- */

static bool answer_train(struct ss_request *const *request, size_t count, struct ss_error *error) {
  SS_AUTO_FREE struct ss_train_study *study = ss_alloc_zero(count, sizeof *study);
  bool ok = study || ss_fail_memory(error, "answering a request");
  for (size_t i = 0; ok && i < count; i++)
    ok = ss_train_study_open(request[i], i > 0 ? &study[i - 1] : NULL, &study[i], error);
  ok = ok && ss_train_studies_run(study, count, &request[0]->run, false, error);
  for (size_t i = 0; ok && i < count; i++) request[i]->answer = ss_train_study_json(&study[i]);
  for (size_t i = count; study && i-- > 0;)
    ss_train_study_close(&study[i]); /* those behind look rows up in those before */
  return ok;
}

/* --- files and objects -------------------------------------------------------------------------------------- */

static bool answer_file(struct ss_request *request, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  if (!request->file) return ss_fail(error, SS_BAD_INPUT, "file: expected a path");
  if (!ss_doc_read(request->file, SS_RESULTS_BYTES, &doc, error)) return false;
  request->answer = cJSON_Duplicate(ss_doc_root(doc).at, true);
  return true;
}

static bool answer_object(struct ss_request *request, const struct ss_request_kind *kind, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  return ss_request_object(request, kind->name, &doc, error) && kind->object(ss_doc_root(doc), request, error);
}

/* ------------------------------------------------------------------------------------------------------------ */

const struct ss_request_kind ss_request_kinds[] = {{"run", "points", .all = answer_run},
                                                   {"plan", "plan", .all = answer_plan},
                                                   {"rounds", NULL, .one = answer_rounds},
                                                   {"place", "plan", .one = answer_place},
                                                   {"check", "expectations", .one = answer_check},
                                                   {"train", "training", .all = answer_train},
                                                   {"learn", "curves", .object = ss_answer_learn},
                                                   {"cost", "points", .object = ss_answer_cost},
                                                   {"crossover", "ranges", .object = ss_answer_crossover},
                                                   {"calibrate", NULL, .object = ss_answer_calibrate},
                                                   {"stats", "tensors", .object = ss_answer_stats},
                                                   {"measure", NULL, .object = ss_answer_measure},
                                                   {"hash", NULL, .object = ss_answer_hash},
                                                   {"file", NULL, .one = answer_file},
                                                   {.name = NULL}};

bool ss_requests_answer(const struct ss_request_kind *kind, struct ss_request *const *request, size_t count,
                        struct ss_error *error) {
  if (kind->all && !kind->all(request, count, error)) return false;
  for (size_t i = 0; i < count; i++) {
    if (kind->one && !kind->one(request[i], error)) return false;
    if (kind->object && !answer_object(request[i], kind, error)) return false;
    if (!request[i]->answer) return ss_fail_memory(error, "answering a request");
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
