/* How each kind of question is answered. */
#include "base/data.h"
#include "base/memory.h"
#include "query/internal.h"
#include "study/plan.h"
#include "study/study.h"
#include "study/training.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCENARIO_BYTES = 16 << 20, FILE_BYTES = 1 << 30 };

/* --- paths -------------------------------------------------------------------------------------------------- */

bool ss_question_base(char *path, size_t size, struct ss_error *error) {
  return ss_data_path("scenarios", path, size, error);
}

bool ss_question_path(const char *text, char *path, size_t size, struct ss_error *error) {
  struct ss_error ignored;
  if (access(text, F_OK) != 0 && text[0] != '/' && ss_data_file(text, path, size, &ignored)) return true;
  return snprintf(path, size, "%s", text) < (int)size || ss_fail(error, SS_BAD_INPUT, "%.40s...: is too long", text);
}

/* --- scenarios ---------------------------------------------------------------------------------------------- */

/* Where a study comes from, and what it points to. */
struct origin {
  struct ss_study_source source;
  struct ss_doc *doc;
  char path[PATH_MAX];
};

static void close_origin(struct origin *o) {
  free((void *)o->source.edit);
  ss_doc_free(o->doc);
}

static bool add_edits(struct origin *o, const cJSON *set, struct ss_error *error) {
  struct ss_study_edit *edit = ss_alloc((size_t)cJSON_GetArraySize(set), sizeof *edit);
  o->source.edit = edit;
  if (!edit) return ss_fail_memory(error, "reading a question");
  for (const cJSON *item = set->child; item; item = item->next)
    edit[o->source.edits++] = (struct ss_study_edit){item->string, item};
  return true;
}

/* To be closed also after a failure. */
static bool open_origin(const struct ss_asked *asked, const char *kind, struct origin *o, struct ss_error *error) {
  *o = (struct origin){.source.name = kind};
  if (!add_edits(o, asked->set, error)) return false;
  if (cJSON_IsObject(asked->subject)) {
    o->source.document = asked->subject;
    o->source.base = o->path;
    return ss_question_base(o->path, sizeof o->path, error);
  }
  if (!cJSON_IsString(asked->subject))
    return ss_fail(error, SS_BAD_INPUT, "%s: expected a scenario, or the path of one", kind);
  o->source.file = o->path;
  o->source.name = NULL;
  return ss_question_path(asked->subject->valuestring, o->path, sizeof o->path, error);
}

static bool done(const struct ss_asked *asked, struct ss_error *error) {
  return asked->tree || ss_fail_memory(error, "answering a question");
}

static bool run(struct ss_asked *asked, bool plan, unsigned jobs, struct ss_error *error) {
  const struct ss_run_options options = {
      .jobs = jobs, .per_rank = asked->per_rank, .per_iteration = asked->per_iteration};
  struct origin origin;
  struct ss_study *study = NULL;
  struct ss_results results = {0};
  struct ss_plan choice = {0};
  bool ok = open_origin(asked, plan ? "plan" : "run", &origin, error);
  origin.source.plan = plan;
  ok = ok && ss_study_open(&origin.source, &study, error) && ss_study_run(study, &options, NULL, &results, error);
  if (ok && plan) ok = ss_plan_make(&results, &choice, error);
  if (ok)
    asked->tree =
        plan ? ss_plan_json(&choice, ss_study_name(study)) : ss_results_json(&results, ss_study_name(study));
  ok = ok && done(asked, error);
  ss_plan_free(&choice);
  ss_results_free(&results);
  ss_study_close(study);
  close_origin(&origin);
  return ok;
}

static bool answer_run(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error) {
  for (size_t i = 0; i < count; i++)
    if (!run(asked[i], false, jobs, error)) return false;
  return true;
}

static bool answer_plan(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error) {
  for (size_t i = 0; i < count; i++)
    if (!run(asked[i], true, jobs, error)) return false;
  return true;
}

/* --- trainings ---------------------------------------------------------------------------------------------- */

struct training {
  struct origin origin;
  struct ss_train_study study;
};

static bool open_trainings(struct ss_asked *const *asked, size_t count, struct training *training,
                           struct ss_error *error) {
  for (size_t i = 0; i < count; i++) {
    struct training *t = &training[i];
    struct ss_train_source source = {0};
    if (!open_origin(asked[i], "train", &t->origin, error)) return false;
    source.common = t->origin.source;
    source.like = i > 0 ? &training[i - 1].study : NULL;
    if (!ss_train_study_open(&source, &t->study, error)) return false;
    t->study.per_iteration = asked[i]->per_iteration;
  }
  return true;
}

static bool play_trainings(struct ss_asked *const *asked, size_t count, struct training *training, unsigned jobs,
                           struct ss_error *error) {
  SS_AUTO_FREE struct ss_durations **durations = ss_alloc(count, sizeof *durations);
  if (!durations) return ss_fail_memory(error, "answering a question");
  for (size_t i = 0; i < count; i++) durations[i] = &training[i].study.training.durations;
  if (!ss_durations_make_all(durations, count, jobs, NULL, error)) return false;
  for (size_t i = 0; i < count; i++) {
    if (!ss_training_play(&training[i].study.training, jobs, error)) return false;
    asked[i]->tree = ss_train_study_json(&training[i].study);
    if (!done(asked[i], error)) return false;
  }
  return true;
}

/* All at once: most of what they send is the same. */
static bool answer_train(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error) {
  SS_AUTO_FREE struct training *training = ss_alloc_zero(count, sizeof *training);
  if (!training) return ss_fail_memory(error, "answering a question");
  const bool ok =
      open_trainings(asked, count, training, error) && play_trainings(asked, count, training, jobs, error);
  for (size_t i = count; i-- > 0;) { /* those behind look rows up in those before */
    ss_train_study_close(&training[i].study);
    close_origin(&training[i].origin);
  }
  return ok;
}

/* --- objects ------------------------------------------------------------------------------------------------ */

static bool open_object(const struct ss_asked *asked, const char *kind, struct ss_doc **out, struct ss_error *error) {
  SS_AUTO_FREE char *text = cJSON_PrintUnformatted(asked->subject);
  if (!text) return ss_fail_memory(error, "reading a question");
  if (!ss_doc_parse(kind, text, strlen(text), out, error)) return false;
  bool ok = ss_node_is_object(ss_doc_root(*out)) || ss_fail(error, SS_BAD_INPUT, "%s: expected an object", kind);
  for (const cJSON *item = asked->set->child; ok && item; item = item->next)
    ok = ss_doc_set_item(*out, item->string, cJSON_Duplicate(item, true), error);
  if (!ok) ss_doc_free(*out);
  return ok;
}

/* Calls `answer` for each. */
static bool answer_objects(struct ss_asked *const *asked, size_t count, const char *kind,
                           bool (*answer)(struct ss_node, cJSON **, struct ss_error *), struct ss_error *error) {
  for (size_t i = 0; i < count; i++) {
    struct ss_doc *doc;
    if (!open_object(asked[i], kind, &doc, error)) return false;
    const bool ok = answer(ss_doc_root(doc), &asked[i]->tree, error);
    ss_doc_free(doc);
    if (!ok) return false;
  }
  return true;
}

static bool answer_cost(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error) {
  (void)jobs;
  return answer_objects(asked, count, "cost", ss_answer_cost, error);
}

static bool answer_stats(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error) {
  (void)jobs;
  return answer_objects(asked, count, "stats", ss_answer_stats, error);
}

static bool answer_measure(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error) {
  (void)jobs;
  return answer_objects(asked, count, "measure", ss_answer_measure, error);
}

static bool answer_hash(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error) {
  (void)jobs;
  return answer_objects(asked, count, "hash", ss_answer_hash, error);
}

static bool answer_learn(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error) {
  for (size_t i = 0; i < count; i++) {
    struct ss_doc *doc;
    if (!open_object(asked[i], "learn", &doc, error)) return false;
    const bool ok = ss_answer_learn(ss_doc_root(doc), jobs, &asked[i]->tree, error);
    ss_doc_free(doc);
    if (!ok) return false;
  }
  return true;
}

static bool answer_file(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error) {
  char path[PATH_MAX];
  struct ss_doc *doc;
  (void)jobs;
  for (size_t i = 0; i < count; i++) {
    if (!cJSON_IsString(asked[i]->subject)) return ss_fail(error, SS_BAD_INPUT, "file: expected a path");
    if (!ss_question_path(asked[i]->subject->valuestring, path, sizeof path, error) ||
        !ss_doc_read(path, FILE_BYTES, &doc, error))
      return false;
    asked[i]->tree = cJSON_Duplicate(ss_doc_root(doc).at, true);
    ss_doc_free(doc);
    if (!done(asked[i], error)) return false;
  }
  return true;
}

const struct ss_question_kind ss_question_kinds[] = {{"run", answer_run},         {"plan", answer_plan},
                                                     {"train", answer_train},     {"learn", answer_learn},
                                                     {"cost", answer_cost},       {"stats", answer_stats},
                                                     {"measure", answer_measure}, {"hash", answer_hash},
                                                     {"file", answer_file},       {NULL, NULL}};
