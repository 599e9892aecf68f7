/* Asking a request: all that is asked goes the same way through query/, with the thread's settings put back after. */
#include "library/request.h"
#include "query/asked.h"

#include <cjson/cJSON.h>
#include <locale.h>
#include <omp.h>
#include <string.h>

/* --- what of the calling thread must be otherwise meanwhile
 * --------------------------------------------------------- */

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

/* --- asking -------------------------------------------------------------------------------------------------------
 */

/* What the commands print as lists; the tree itself is the only row of others. */
static const struct {
  const char *kind, *rows;
} lists[] = {{"run", "points"},  {"plan", "plan"},        {"train", "training"}, {"learn", "curves"},
             {"cost", "points"}, {"crossover", "ranges"}, {"stats", "tensors"}};

static const char *rows_of(const char *kind) {
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (strcmp(lists[i].kind, kind) == 0) return lists[i].rows;
  return NULL;
}

static bool answer(struct ss_request *request, const char *kind, struct ss_answer **out, struct ss_error *error) {
  const struct ss_question_kind *question = ss_question_kinds;
  const struct ss_watcher watcher = ss_request_watcher(request);
  const struct ss_notice notice = ss_request_notice(request);
  struct ss_asked asked = {.subject = ss_doc_root(request->doc).at,
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
  while (strcmp(question->name, kind) != 0) question++;
  if (ss_watcher_goes_on(&watcher, error) &&
      ss_question_answer(question, &(struct ss_asked *){&asked}, 1, request->threads, error))
    return ss_answer_new(asked.tree, rows_of(kind), out, error);
  cJSON_Delete(asked.tree);
  return false;
}

static bool ask(struct ss_request *request, const char *kind, struct ss_answer **out, struct ss_error *error) {
  struct ss_error own;
  struct settings before;
  if (out) *out = NULL;
  if (!ss_argument_given(request, "request", error) || !ss_argument_given(out, "place for the answer", error) ||
      !enter(request->threads, &before, error))
    return false;
  const bool good = answer(request, kind, out, &own);
  leave(&before);
  atomic_store(&request->cancelled, false);
  if (!good && error) *error = own;
  return good;
}

bool ss_request_run(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "run", out, error);
}

bool ss_request_plan(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {
  return ask(request, "plan", out, error);
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
