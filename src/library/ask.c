/* Asking a request: whatever is asked goes through query/, with the thread's settings put back after. */
#include "export/format.h"
#include "library/request.h"
#include "query/answers.h"
#include "sim/collectives/tuner.h"
#include "study/compute.h"
#include "trace/make/import.h"

#include <omp.h>

/* --- settings of the calling thread -------------------------------------------------- */

bool ss_settings_enter(unsigned threads, struct ss_settings *s, struct ss_error *error) {
  s->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!s->plain) return ss_fail_memory(error, "asking a request");
  s->locale = uselocale(s->plain);
  s->threads = omp_get_max_threads();
  omp_set_num_threads(threads > 0 ? (int)threads : omp_get_num_procs());
  return true;
}

void ss_settings_leave(const struct ss_settings *s) {
  omp_set_num_threads(s->threads);
  (void)uselocale(s->locale);
  freelocale(s->plain);
}

/* --- asking -------------------------------------------------------------------------------------------------- */

/* What is to come of a request: an answer of a kind, a schedule, or a trace. */
struct task {
  const char *kind, *format, *path;
  struct ss_answer **answer;
  struct ss_trace **trace;
};

typedef bool task_runner(const struct ss_request *request, const struct task *task, struct ss_error *error);

/* What some kinds alone have: a request may be asked for several. */
static void tell_flags(const struct ss_request *request, const char *kind) {
  const struct {
    const char *flag, *kinds; /* with spaces around them */
    bool on;
  } flags[] = {{"lossy", " plan ", request->lossy},
               {"model_parallel", " plan ", request->model_parallel},
               {"per_rank", " run check ", request->run.per_rank},
               {"per_iteration", " run check train ", request->run.per_iteration}};
  char word[32], text[100];
  (void)snprintf(word, sizeof word, " %s ", kind);
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    if (!flags[i].on || strstr(flags[i].kinds, word)) continue;
    (void)snprintf(text, sizeof text, "%s does nothing: \"%s\" does not read it", flags[i].flag, kind);
    ss_notice_tell(request->notice, text);
  }
}

static bool answer(const struct ss_request *request, const struct task *task, struct ss_error *error) {
  const struct ss_request_kind *kind = ss_request_kinds;
  struct ss_request own = *request;
  while (strcmp(kind->name, task->kind) != 0) kind++;
  tell_flags(request, task->kind);
  if (ss_requests_answer(kind, &(struct ss_request *){&own}, 1, error))
    return ss_answer_new(own.answer, kind->rows, task->answer, error);
  cJSON_Delete(own.answer);
  return false;
}

/* Links are the reader's, unless an algorithm is chosen by them. */
static void tell_links(const struct ss_point *job, const struct ss_request *request) {
  static const char *const links[] = {"latency", "bandwidth"};
  const cJSON *edits = ss_json_get(request->edits, "cluster");
  const bool chosen = job->setting.scheme->tune && ss_tuner_chooses(&job->cluster, SS_ALLREDUCE);
  char path[32], text[120];
  for (size_t i = 0; !chosen && i < sizeof links / sizeof *links; i++) {
    (void)snprintf(path, sizeof path, "cluster.%s", links[i]);
    if (!cJSON_GetObjectItemCaseSensitive(request->edits, path) && !cJSON_GetObjectItemCaseSensitive(edits, links[i]))
      continue;
    (void)snprintf(text, sizeof text,
                   "the %s does nothing: schedules have no links, the simulator that reads them does", links[i]);
    ss_notice_tell(request->notice, text);
  }
}

static bool export(const struct ss_request *request, const struct task *task, struct ss_error *error) {
  const struct ss_export_format *format = ss_export_format_find(task->format, error);
  SS_AUTO_STUDY struct ss_study *study = NULL;
  const struct ss_point *job;
  if (!format || !ss_export_path_check(format, task->path, error) || !ss_study_open(request, &study, error) ||
      !ss_export_point(study, &job, error))
    return false;
  ss_points_tell_even(job, 1, request->notice);
  tell_links(job, request);
  return ss_export(job, format, task->path, request->run.watcher, error);
}

static bool import(const struct ss_request *request, const struct task *task, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  return ss_request_object(request, "import", &doc, error) &&
         ss_import(ss_doc_root(doc), task->path, request->run.watcher, error) &&
         (!task->trace || ss_trace_open(task->path, task->trace, error));
}

/* --- words --------------------------------------------------------------------------------------------------- */

static const struct word {
  const char *word, *field;
  bool negated;
} words[] = {{"scheme", "schemes", false},
             {"tensor", "tensors", false},
             {"system", "systems", false},
             {"no_verify", "verify", true},
             {"bandwidth", "cluster.bandwidth", false},
             {"latency", "cluster.latency", false}};
enum { WORDS = sizeof words / sizeof *words };

const char *ss_field_of_word(const char *word) {
  for (const struct word *w = words; w < words + WORDS; w++)
    if (strcmp(w->word, word) == 0) return w->field;
  return NULL;
}

static bool is_among(const char *kind, const char *const *kinds) {
  while (*kinds && strcmp(*kinds, kind) != 0) kinds++;
  return *kinds != NULL;
}

/* Of edits that say a word the field; behind the others, of which one may be the whole cluster. */
static bool name_fields(cJSON *edits, const char *kind, struct ss_error *error) {
  static const char *const has_its_own[] = {"import", "calibrate", NULL}, *const has_cluster[] = {"run",    "plan",
                                                                                                  "place",  "train",
                                                                                                  "export", NULL};
  for (const struct word *w = words; w < words + WORDS && !is_among(kind, has_its_own); w++) {
    cJSON *said = ss_json_get(edits, w->word);
    if (!said || (strchr(w->field, '.') && !is_among(kind, has_cluster))) continue;
    if (ss_json_get(edits, w->field))
      return ss_fail(error, SS_BAD_INPUT, "%s: is another name of %s, which is said, too", w->word, w->field);
    if (strchr(w->field, '.') && cJSON_IsArray(said))
      return ss_fail(error, SS_BAD_INPUT, "%s: takes one value (\"sweep\": {\"%s\": [...]} takes several)", w->word,
                     w->field);
    if (w->negated && !cJSON_IsBool(said)) return ss_fail(error, SS_BAD_INPUT, "%s: expected true or false", w->word);
    said = cJSON_DetachItemViaPointer(edits, said);
    if (w->negated) said->type = cJSON_IsTrue(said) ? cJSON_False : cJSON_True;
    if (!ss_json_put(edits, w->field, said)) return ss_fail_memory(error, "reading a request");
  }
  return true;
}

/* --- performing ---------------------------------------------------------------------------------------------- */

static bool perform_named(const struct ss_request *request, task_runner *what, const struct task *task,
                          struct ss_error *error) {
  struct ss_request named = *request;
  SS_AUTO_JSON cJSON *edits = request->edits ? cJSON_Duplicate(request->edits, true) : cJSON_CreateObject();
  named.edits = edits;
  if (!edits) return ss_fail_memory(error, "reading a request");
  return name_fields(edits, task->kind, error) && what(&named, task, error);
}

static bool perform(const struct ss_request *request, task_runner *what, const struct task *task,
                    struct ss_error *error) {
  struct ss_error own;
  struct ss_settings before;
  if (!ss_settings_enter(request->run.jobs, &before, error)) return false;
  const bool good = ss_watcher_goes_on(request->run.watcher, &own) && perform_named(request, what, task, &own);
  ss_settings_leave(&before);
  if (!good && error) *error = own;
  return good;
}

bool ss_ask(const struct ss_request *request, const char *kind, struct ss_answer **out, struct ss_error *error) {
  return perform(request, answer, &(struct task){.kind = kind, .answer = out}, error);
}

bool ss_ask_export(const struct ss_request *request, const char *format, const char *path, struct ss_error *error) {
  return perform(request, export, &(struct task){.kind = "export", .format = format, .path = path}, error);
}

bool ss_ask_import(const struct ss_request *request, const char *path, struct ss_trace **out,
                   struct ss_error *error) {
  return perform(request, import, &(struct task){.kind = "import", .path = path, .trace = out}, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
