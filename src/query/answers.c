/* How each kind of question is answered. */
#include "base/data.h"
#include "base/memory.h"
#include "query/expectations.h"
#include "query/query_internal.h"
#include "study/placing.h"
#include "study/plan.h"
#include "study/rounds.h"
#include "study/study.h"
#include "study/trainings.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SCENARIO_BYTES = 16 << 20, FILE_BYTES = 1 << 30 };

/* --- paths -------------------------------------------------------------------------------------------------- */

const char *ss_asked_base(const struct ss_asked *asked, char *path, size_t size, struct ss_error *error) {
  if (asked->base) return asked->base;
  return ss_data_path("scenarios", path, size, error) ? path : NULL;
}

bool ss_question_path(const char *text, char *path, size_t size, struct ss_error *error) {
  struct ss_error ignored;
  if (access(text, F_OK) != 0 && text[0] != '/' && ss_data_file(text, path, size, &ignored)) return true;
  return snprintf(path, size, "%s", text) < (int)size || ss_fail(error, SS_BAD_INPUT, "%.40s...: is too long", text);
}

/* --- scenarios ---------------------------------------------------------------------------------------------- */

void ss_asked_study_close(struct ss_asked_study *o) {
  ss_study_close(o->study);
  free((void *)o->source.edit);
  *o = (struct ss_asked_study){0};
}

static bool add_edits(struct ss_asked_study *o, const cJSON *set, struct ss_error *error) {
  struct ss_study_edit *edit = ss_alloc((size_t)cJSON_GetArraySize(set), sizeof *edit);
  o->source.edit = edit;
  if (!edit) return ss_fail_memory(error, "reading a question");
  for (const cJSON *item = set->child; item; item = item->next)
    edit[o->source.edits++] = (struct ss_study_edit){item->string, item};
  return true;
}

/* Where the study comes from: all but the study. */
static bool find_origin(const struct ss_asked *asked, const char *kind, struct ss_asked_study *o,
                        struct ss_error *error) {
  *o = (struct ss_asked_study){.source = {.name = asked->name ? asked->name : kind, .notice = asked->notice}};
  o->source.traces = asked->traces;
  o->source.drawn = asked->drawn;
  if (!add_edits(o, asked->set, error)) return false;
  if (cJSON_IsObject(asked->subject)) {
    o->source.document = asked->subject;
    o->source.base = ss_asked_base(asked, o->path, sizeof o->path, error);
    return o->source.base != NULL;
  }
  if (!cJSON_IsString(asked->subject))
    return ss_fail(error, SS_BAD_INPUT, "%s: expected a scenario, or the path of one", kind);
  o->source.file = o->path;
  o->source.name = NULL;
  return ss_question_path(asked->subject->valuestring, o->path, sizeof o->path, error);
}

bool ss_asked_study_open(const struct ss_asked *asked, const char *kind, struct ss_asked_study *out,
                         struct ss_error *error) {
  return find_origin(asked, kind, out, error) && ss_study_open(&out->source, &out->study, error);
}

/* --- runs --------------------------------------------------------------------------------------------------- */

struct played {
  struct ss_asked_study *asked;
  struct ss_study **study; /* theirs */
  struct ss_results *results;
};

static bool open_studies(struct ss_asked *const *asked, size_t count, bool plan, struct played *p,
                         struct ss_error *error) {
  for (size_t i = 0; i < count; i++) {
    if (!find_origin(asked[i], plan ? "plan" : "run", &p->asked[i], error)) return false;
    struct ss_study_source *source = &p->asked[i].source;
    source->plan = plan;
    source->lossy = asked[i]->lossy;
    source->model_parallel = asked[i]->model_parallel;
    source->like = i > 0 ? p->study[i - 1] : NULL;
    source->costs = i > 0 ? ss_study_costs(p->study[0]) : NULL;
    if (!ss_study_open(source, &p->asked[i].study, error)) return false;
    p->study[i] = p->asked[i].study;
  }
  return true;
}

static bool tell_plan(struct ss_asked *asked, const struct ss_results *results, const struct ss_study *study,
                      const struct ss_run_options *options, struct ss_error *error) {
  struct ss_plan choice = {0};
  struct ss_turns turns = {0};
  const bool ok = ss_plan_make(results, &choice, error) &&
                  (!asked->turns || ss_study_turns(study, results, options, &turns, error));
  if (ok) {
    ss_plan_note_turns(&choice, &turns);
    asked->tree = ss_plan_json(&choice, ss_study_name(study));
  }
  ss_turns_free(&turns);
  ss_plan_free(&choice);
  return ok;
}

/* All at once: most of what they send is the same. */
static bool answer_studies(struct ss_asked *const *asked, size_t count, bool plan, unsigned jobs,
                           struct ss_error *error) {
  const struct ss_run_options options = {.jobs = jobs,
                                         .per_rank = asked[0]->per_rank,
                                         .per_iteration = asked[0]->per_iteration,
                                         .watcher = asked[0]->watcher};
  struct played p = {ss_alloc_zero(count, sizeof *p.asked), ss_alloc_zero(count, sizeof *p.study),
                     ss_alloc_zero(count, sizeof *p.results)};
  bool ok = (p.asked && p.study && p.results) || ss_fail_memory(error, "answering a question");
  ok =
      ok && open_studies(asked, count, plan, &p, error) && ss_studies_run(p.study, count, &options, p.results, error);
  for (size_t i = 0; ok && i < count; i++)
    if (plan) ok = tell_plan(asked[i], &p.results[i], p.study[i], &options, error);
    else asked[i]->tree = ss_results_json(&p.results[i], ss_study_name(p.study[i]));
  for (size_t i = 0; p.results && i < count; i++) ss_results_free(&p.results[i]);
  for (size_t i = count; p.asked && i-- > 0;)
    ss_asked_study_close(&p.asked[i]); /* those behind have traces of those before */
  free(p.results);
  free(p.study);
  free(p.asked);
  return ok;
}

static bool answer_run(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error) {
  return answer_studies(asked, count, false, jobs, error);
}

static bool answer_plan(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error) {
  return answer_studies(asked, count, true, jobs, error);
}

static bool answer_rounds(struct ss_asked *asked, unsigned jobs, struct ss_error *error) {
  struct ss_asked_study of;
  (void)jobs;
  const bool ok = ss_asked_study_open(asked, "rounds", &of, error) && ss_study_rounds(of.study, &asked->tree, error);
  ss_asked_study_close(&of);
  return ok;
}

/* Where its tables might live. */
static bool answer_place(struct ss_asked *asked, unsigned jobs, struct ss_error *error) {
  const struct ss_run_options options = {.jobs = jobs, .watcher = asked->watcher};
  struct ss_asked_study of;
  struct ss_placing placing = {0};
  bool ok = find_origin(asked, "place", &of, error);
  of.source.model_parallel = true;
  ok = ok && ss_placing_make(&of.source, &options, &placing, error);
  if (ok) asked->tree = ss_placing_json(&placing, ss_study_name(placing.study[SS_PLACINGS]));
  ss_placing_close(&placing);
  ss_asked_study_close(&of);
  return ok;
}

/* Its own expectations. */
static bool answer_check(struct ss_asked *asked, unsigned jobs, struct ss_error *error) {
  const struct ss_run_options options = {.jobs = jobs, .watcher = asked->watcher};
  struct ss_asked_study of;
  struct ss_results results = {0};
  struct ss_verdicts verdicts = {0};
  const bool ok = ss_asked_study_open(asked, "check", &of, error) && ss_expectations_check(of.study, error) &&
                  ss_study_run(of.study, &options, NULL, &results, error) &&
                  ss_expectations_judge(of.study, &results, &verdicts, error);
  if (ok) {
    cJSON *root = ss_results_json(&results, ss_study_name(of.study));
    asked->tree = ss_expectations_json(ss_study_name(of.study), &verdicts);
    cJSON_AddItemToObject(asked->tree, "points", cJSON_DetachItemFromObjectCaseSensitive(root, "points"));
    cJSON_Delete(root);
  }
  ss_verdicts_free(&verdicts);
  ss_results_free(&results);
  ss_asked_study_close(&of);
  return ok;
}

/* --- trainings ---------------------------------------------------------------------------------------------- */

struct training {
  struct ss_asked_study asked;
  struct ss_train_study study;
};

static bool open_trainings(struct ss_asked *const *asked, size_t count, struct training *training,
                           struct ss_error *error) {
  for (size_t i = 0; i < count; i++) {
    struct training *t = &training[i];
    struct ss_train_source source = {0};
    if (!find_origin(asked[i], "train", &t->asked, error)) return false;
    source.common = t->asked.source;
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
  size_t simulations = 0;
  for (size_t i = 0; i < count; i++) {
    durations[i] = &training[i].study.training.durations;
    simulations += durations[i]->count;
  }
  ss_watcher_begin(asked[0]->watcher, "simulations", simulations);
  const struct ss_durations_options how = {.jobs = jobs, .watcher = asked[0]->watcher};
  const bool ok = ss_durations_make(durations, count, &how, error);
  ss_watcher_end(asked[0]->watcher);
  if (!ok) return false;
  for (size_t i = 0; i < count; i++) {
    if (!ss_training_play(&training[i].study.training, jobs, error)) return false;
    asked[i]->tree = ss_train_study_json(&training[i].study);
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
    ss_asked_study_close(&training[i].asked);
  }
  return ok;
}

/* --- files and objects -------------------------------------------------------------------------------------- */

static bool answer_file(struct ss_asked *asked, unsigned jobs, struct ss_error *error) {
  char path[PATH_MAX];
  struct ss_doc *doc;
  (void)jobs;
  if (!cJSON_IsString(asked->subject)) return ss_fail(error, SS_BAD_INPUT, "file: expected a path");
  if (!ss_question_path(asked->subject->valuestring, path, sizeof path, error) ||
      !ss_doc_read(path, FILE_BYTES, &doc, error))
    return false;
  asked->tree = cJSON_Duplicate(ss_doc_root(doc).at, true);
  ss_doc_free(doc);
  return true;
}

static bool edit_object(const struct ss_asked *asked, const char *name, struct ss_doc *doc, struct ss_error *error) {
  if (!ss_node_is_object(ss_doc_root(doc))) return ss_fail(error, SS_BAD_INPUT, "%s: expected an object", name);
  for (const cJSON *item = asked->set->child; item; item = item->next)
    if (!ss_doc_set_item(doc, item->string, cJSON_Duplicate(item, true), error)) return false;
  return true;
}

bool ss_asked_object(const struct ss_asked *asked, const char *name, struct ss_doc **out, struct ss_error *error) {
  if (asked->name) name = asked->name;
  if (!ss_doc_adopt(name, cJSON_Duplicate(asked->subject, true), out, error)) return false;
  if (edit_object(asked, name, *out, error)) return true;
  ss_doc_free(*out);
  *out = NULL;
  return false;
}

static bool answer_object(struct ss_asked *asked, const struct ss_question_kind *kind, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  return ss_asked_object(asked, kind->name, &doc, error) && kind->object(ss_doc_root(doc), asked, error);
}

/* ------------------------------------------------------------------------------------------------------------ */

const struct ss_question_kind ss_question_kinds[] = {{"run", .all = answer_run},
                                                     {"plan", .all = answer_plan},
                                                     {"rounds", .one = answer_rounds},
                                                     {"place", .one = answer_place},
                                                     {"check", .one = answer_check},
                                                     {"train", .all = answer_train},
                                                     {"learn", .object = ss_answer_learn},
                                                     {"cost", .object = ss_answer_cost},
                                                     {"crossover", .object = ss_answer_crossover},
                                                     {"calibrate", .object = ss_answer_calibrate},
                                                     {"stats", .object = ss_answer_stats},
                                                     {"measure", .object = ss_answer_measure},
                                                     {"hash", .object = ss_answer_hash},
                                                     {"file", .one = answer_file},
                                                     {.name = NULL}};

bool ss_question_answer(const struct ss_question_kind *kind, struct ss_asked *const *asked, size_t count,
                        unsigned jobs, struct ss_error *error) {
  if (kind->all && !kind->all(asked, count, jobs, error)) return false;
  for (size_t i = 0; i < count; i++) {
    if (kind->one && !kind->one(asked[i], jobs, error)) return false;
    if (kind->object && !answer_object(asked[i], kind, error)) return false;
    if (!asked[i]->tree) return ss_fail_memory(error, "answering a question");
  }
  return true;
}
