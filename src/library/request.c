#include "library/request.h"

#include "base/data.h"
#include "base/file.h"

#include <stdatomic.h>

enum { DOCUMENT_BYTES = 16 << 20 };

/* A program's request, and what it owns. */
struct handle {
  struct ss_request request; /* first: the program's pointer */
  struct ss_doc *doc;        /* NULL: none yet */
  cJSON *edits;
  char base[PATH_MAX];
  struct ss_sources traces;
  struct ss_watcher watcher;
  struct ss_notice notice;
  void (*told)(void *context, const struct ss_progress *progress);
  void *told_context;
  void (*heard)(void *context, const char *text);
  void *heard_context;
  struct ss_progress progress;
  double work; /* that is done of what is being done */
  atomic_bool cancelled;
};

/* What is no field of the document. */
static const struct {
  const char *path;
  size_t offset;
} flags[] = {{"per_rank", offsetof(struct ss_request, run.per_rank)},
             {"per_iteration", offsetof(struct ss_request, run.per_iteration)},
             {"lossy", offsetof(struct ss_request, lossy)},
             {"model_parallel", offsetof(struct ss_request, model_parallel)}};

const char *ss_version(void) {
  return SS_VERSION;
}

bool ss_argument_given(const void *argument, const char *what, struct ss_error *error) {
  return argument || ss_fail(error, SS_BAD_INPUT, "no %s was given (NULL)", what);
}

/* --- who is told ---------------------------------------------------------------------------------------------- */

static void tell(const struct handle *h) {
  if (h->told) h->told(h->told_context, &h->progress);
}

static void begin(void *context, const char *what, size_t all) {
  struct handle *h = context;
  h->progress = (struct ss_progress){.what = what, .all = all};
  h->work = 0;
  tell(h);
}

static void advance(void *context, size_t steps, double work, double whole) {
  struct handle *h = context;
  h->progress.done += steps;
  h->work += work;
  if (!(whole > 0)) return;
  h->progress.share = fmin(h->work / whole, 1);
  tell(h);
}

static bool stops(void *context) {
  return atomic_load(&((struct handle *)context)->cancelled);
}

static void hear(void *context, const char *text) {
  const struct handle *h = context;
  if (h->heard) h->heard(h->heard_context, text);
}

void ss_request_use_threads(struct ss_request *request, unsigned threads) {
  if (request) request->run.jobs = threads < INT_MAX ? threads : INT_MAX;
}

void ss_request_watch(struct ss_request *request, void (*told)(void *context, const struct ss_progress *progress),
                      void *context) {
  struct handle *h = (struct handle *)request;
  if (!h) return;
  h->told = told;
  h->told_context = context;
}

void ss_request_hear(struct ss_request *request, void (*told)(void *context, const char *text), void *context) {
  struct handle *h = (struct handle *)request;
  if (!h) return;
  h->heard = told;
  h->heard_context = context;
}

void ss_request_cancel(struct ss_request *request) {
  if (request) atomic_store(&((struct handle *)request)->cancelled, true);
}

/* --- life ---------------------------------------------------------------------------------------------------- */

struct ss_request *ss_request_new(void) {
  struct handle *h = ss_alloc_zero(1, sizeof *h);
  cJSON *edits = cJSON_CreateObject();
  if (!h || !edits) {
    free(h);
    cJSON_Delete(edits);
    return NULL;
  }
  h->edits = edits;
  h->watcher = (struct ss_watcher){.begin = begin, .advance = advance, .stops = stops, .context = h};
  h->notice = (struct ss_notice){hear, h};
  h->request = (struct ss_request){.name = "request",
                                   .edits = edits,
                                   .turns = true,
                                   .traces = &h->traces,
                                   .notice = &h->notice,
                                   .run.watcher = &h->watcher};
  if (ss_data_path("scenarios", h->base, sizeof h->base, NULL)) h->request.base = h->base;
  return &h->request;
}

void ss_request_free(struct ss_request *request) {
  struct handle *h = (struct handle *)request;
  if (!h) return;
  ss_doc_free(h->doc);
  cJSON_Delete(h->edits);
  ss_sources_close(&h->traces);
  free(h);
}

/* --- the document ---------------------------------------------------------------------------------------------- */

/* Takes the document over. `base`: relative paths are looked for beside it. */
static bool adopt(struct ss_request *request, struct ss_doc *doc, const char *base, struct ss_error *error) {
  struct handle *h = (struct handle *)request;
  if (!ss_node_is_object(ss_doc_root(doc))) {
    (void)ss_node_fail(ss_doc_root(doc), error, "expected a JSON object");
    ss_doc_free(doc);
    return false;
  }
  ss_doc_free(h->doc);
  h->doc = doc;
  request->document = ss_doc_root(doc).at;
  request->name = ss_doc_name(doc);
  request->base = base;
  return true;
}

bool ss_request_open(struct ss_request *request, const char *scenario, struct ss_error *error) {
  char path[PATH_MAX];
  struct ss_doc *doc;
  if (!ss_argument_given(request, "request", error) || !ss_argument_given(scenario, "scenario", error)) return false;
  if (strcmp(scenario, "-") == 0)
    return ss_fail(error, SS_BAD_INPUT, "standard input is the program's own: read it, and give its text");
  return ss_data_scenario(scenario, path, sizeof path, error) && ss_doc_read(path, DOCUMENT_BYTES, &doc, error) &&
         adopt(request, doc, ss_doc_name(doc), error);
}

bool ss_request_parse(struct ss_request *request, const char *json, struct ss_error *error) {
  struct ss_doc *doc;
  struct handle *h = (struct handle *)request;
  return ss_argument_given(request, "request", error) && ss_argument_given(json, "JSON text", error) &&
         ss_doc_parse("request", json, strlen(json), &doc, error) &&
         adopt(request, doc, ss_data_path("scenarios", h->base, sizeof h->base, NULL) ? h->base : NULL, error);
}

/* --- edits ----------------------------------------------------------------------------------------------------- */

/* Takes the item over. */
static bool add_edit(struct ss_request *request, const char *path, cJSON *item, struct ss_error *error) {
  cJSON *edits = ((struct handle *)request)->edits;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    if (strcmp(path, flags[i].path) != 0) continue;
    const bool is_flag = cJSON_IsBool(item);
    if (is_flag) *(bool *)((char *)request + flags[i].offset) = cJSON_IsTrue(item);
    cJSON_Delete(item);
    return is_flag || ss_fail(error, SS_BAD_INPUT, "%s: expected true or false", path);
  }
  return ss_json_put(edits, path, item) || ss_fail_memory(error, "reading a request"); /* the last one counts */
}

bool ss_request_set(struct ss_request *request, const char *path, const char *value, struct ss_error *error) {
  if (!ss_argument_given(request, "request", error) || !ss_argument_given(path, "path", error) ||
      !ss_argument_given(value, "value", error))
    return false;
  if (!*path) return ss_fail(error, SS_BAD_INPUT, "\"\" is no path of a field");
  cJSON *item = ss_json_value("request", path, value, true, error);
  return item && add_edit(request, path, item, error);
}

bool ss_request_lend_trace(struct ss_request *request, const char *name, struct ss_trace *trace,
                           struct ss_error *error) {
  if (!ss_argument_given(request, "request", error) || !ss_argument_given(name, "name", error) ||
      !ss_argument_given(trace, "trace", error))
    return false;
  if (!*name) return ss_fail(error, SS_BAD_INPUT, "\"%s\" is no name of a trace", name);
  return ss_sources_lend(&((struct handle *)request)->traces, name, trace, error);
}

/* --- what is asked ------------------------------------------------------------------------------------------- */

/* A request that was cancelled can be asked again. */
static bool asked(struct ss_request *request, bool good) {
  if (request) atomic_store(&((struct handle *)request)->cancelled, false);
  return good;
}

bool ss_request_export(struct ss_request *request, const char *format, const char *path, struct ss_error *error) {
  return ss_argument_given(request, "request", error) && ss_argument_given(format, "format", error) &&
         ss_argument_given(path, "path", error) && ss_output_check(path, error) &&
         asked(request, ss_ask_export(request, format, path, error));
}

bool ss_request_import(struct ss_request *request, const char *path, struct ss_trace **out, struct ss_error *error) {
  if (out) *out = NULL;
  return ss_argument_given(request, "request", error) && ss_argument_given(path, "path", error) &&
         ss_output_check(path, error) && asked(request, ss_ask_import(request, path, out, error));
}

static bool ask(struct ss_request *request, const char *kind, struct ss_answer **out, struct ss_error *error) {
  if (out) *out = NULL;
  return ss_argument_given(out, "place for the answer", error) && ss_argument_given(request, "request", error) &&
         asked(request, ss_ask(request, kind, out, error));
}

#define ASK(kind)                                                                                                    \
  bool ss_request_##kind(struct ss_request *request, struct ss_answer **out, struct ss_error *error) {               \
    return ask(request, #kind, out, error);                                                                          \
  }
ASK(run)
ASK(plan)
ASK(place)
ASK(check)
ASK(train)
ASK(cost)
ASK(crossover)
ASK(learn)
ASK(stats)
ASK(calibrate)
/* SPDX-License-Identifier: Apache-2.0 */
