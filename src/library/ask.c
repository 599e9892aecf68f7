/* Asking a request: all that is asked goes the same way through query/, with the thread's settings put back after. */
#include "base/file.h"
#include "export/export.h"
#include "library/request.h"
#include "query/asked.h"

#include <cjson/cJSON.h>
#include <locale.h>
#include <omp.h>
#include <string.h>

/* --- what of the calling thread must be otherwise meanwhile -------------------------------------------------- */

struct settings {
  int threads;
  locale_t locale, plain; /* plain: numbers have points, whatever the program's users are used to */
};

static bool enter(unsigned threads, struct settings *s, struct ss_error *error) {
  s->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!s->plain) return ss_fail_memory(error, "asking a request");
  s->locale = uselocale(s->plain);
  s->threads = omp_get_max_threads();
  omp_set_num_threads(threads > 0 ? (int)threads : omp_get_num_procs());
  return true;
}

static void leave(const struct settings *s) {
  omp_set_num_threads(s->threads);
  (void)uselocale(s->locale);
  freelocale(s->plain);
}

/* --- asking -------------------------------------------------------------------------------------------------- */

/* What is to come of a request: an answer of a kind of questions, a schedule, or a trace. */
struct task {
  const char *kind, *format, *path;
  struct ss_answer **answer;
  struct ss_trace **trace;
};

typedef bool task_runner(const struct ss_asked *asked, const struct task *task, unsigned threads,
                         struct ss_error *error);

/* What the commands print as lists; the tree itself is the only row of others. */
static const struct {
  const char *kind, *rows;
} lists[] = {{"run", "points"},         {"plan", "plan"},        {"place", "plan"},
             {"check", "expectations"}, {"train", "training"},   {"learn", "curves"},
             {"cost", "points"},        {"crossover", "ranges"}, {"stats", "tensors"}};

static const char *rows_of(const char *kind) {
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (strcmp(lists[i].kind, kind) == 0) return lists[i].rows;
  return NULL;
}

static bool answer(const struct ss_asked *of, const struct task *task, unsigned threads, struct ss_error *error) {
  const struct ss_question_kind *question = ss_question_kinds;
  struct ss_asked asked = *of;
  while (strcmp(question->name, task->kind) != 0) question++;
  if (ss_question_answer(question, &(struct ss_asked *){&asked}, 1, threads, error))
    return ss_answer_new(asked.tree, rows_of(task->kind), task->answer, error);
  cJSON_Delete(asked.tree);
  return false;
}

static bool export(const struct ss_asked *asked, const struct task *task, unsigned threads, struct ss_error *error) {
  const struct ss_export_format *format = ss_export_format_find(task->format, error);
  struct ss_asked_study of = {0};
  const struct ss_job *job;
  (void)threads; /* one round after the other */
  const bool ok = format && ss_export_path_check(format, task->path, error) &&
                  ss_asked_study_open(asked, "export", &of, error) && ss_export_job(of.study, &job, error) &&
                  ss_export(job, format, task->path, asked->watcher, error);
  ss_asked_study_close(&of);
  return ok;
}

static bool import(const struct ss_asked *asked, const struct task *task, unsigned threads, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  (void)threads; /* as the file comes */
  return ss_asked_object(asked, "import", &doc, error) &&
         ss_import_object(ss_doc_root(doc), task->path, asked->watcher, error) &&
         (!task->trace || ss_trace_open(task->path, task->trace, error));
}

static bool carry_out(struct ss_request *request, task_runner *what, const struct task *task,
                      struct ss_error *error) {
  const struct ss_watcher watcher = ss_request_watcher(request);
  const struct ss_notice notice = ss_request_notice(request);
  const struct ss_asked asked = {.subject = ss_doc_root(request->doc).at,
                                 .set = request->edits,
                                 .name = ss_doc_name(request->doc),
                                 .base = request->base,
                                 .traces = &request->traces,
                                 .watcher = &watcher,
                                 .notice = &notice,
                                 .per_rank = request->flag[SS_PER_RANK],
                                 .per_iteration = request->flag[SS_PER_ITERATION],
                                 .lossy = request->flag[SS_LOSSY],
                                 .model_parallel = request->flag[SS_MODEL_PARALLEL],
                                 .turns = true};
  return ss_watcher_goes_on(&watcher, error) && what(&asked, task, request->threads, error);
}

static bool perform(struct ss_request *request, task_runner *what, const struct task *task, struct ss_error *error) {
  struct ss_error own;
  struct settings before;
  if (!ss_argument_given(request, "request", error) || !enter(request->threads, &before, error)) return false;
  const bool good = carry_out(request, what, task, &own);
  leave(&before);
  atomic_store(&request->cancelled, false);
  if (!good && error) *error = own;
  return good;
}

static bool ask(struct ss_request *request, const char *kind, struct ss_answer **out, struct ss_error *error) {
  if (out) *out = NULL;
  return ss_argument_given(out, "place for the answer", error) &&
         perform(request, answer, &(struct task){.kind = kind, .answer = out}, error);
}

bool ss_request_export(struct ss_request *request, const char *format, const char *path, struct ss_error *error) {
  return ss_argument_given(format, "format", error) && ss_argument_given(path, "path", error) &&
         ss_output_check(path, error) &&
         perform(request, export, &(struct task){.format = format, .path = path}, error);
}

bool ss_request_import(struct ss_request *request, const char *path, struct ss_trace **out, struct ss_error *error) {
  if (out) *out = NULL;
  return ss_argument_given(path, "path", error) && ss_output_check(path, error) &&
         perform(request, import, &(struct task){.path = path, .trace = out}, error);
}

bool ss_request_run(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "run", out, error);
}

bool ss_request_plan(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "plan", out, error);
}

bool ss_request_place(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "place", out, error);
}

bool ss_request_check(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "check", out, error);
}

bool ss_request_train(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "train", out, error);
}

bool ss_request_cost(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "cost", out, error);
}

bool ss_request_crossover(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "crossover", out, error);
}

bool ss_request_learn(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "learn", out, error);
}

bool ss_request_stats(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "stats", out, error);
}

bool ss_request_calibrate(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "calibrate", out, error);
}
