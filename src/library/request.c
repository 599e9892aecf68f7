#include "library/request.h"

#include "base/data.h"
#include "base/memory.h"
#include "study/study.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENT_BYTES = 16 << 20 };

static const char *const flags[] = {[SS_PER_RANK] = "per_rank",
                                    [SS_PER_ITERATION] = "per_iteration",
                                    [SS_LOSSY] = "lossy",
                                    [SS_MODEL_PARALLEL] = "model_parallel"};

const char *ss_version(void) {
  return SS_VERSION;
}

bool ss_argument_given(const void *argument, const char *what, struct ss_error *error) {
  return argument || ss_fail(error, SS_BAD_INPUT, "no %s was given (NULL)", what);
}

/* --- life ---------------------------------------------------------------------------------------------------- */

struct ss_request *ss_request_new(void) {
  struct ss_request *request = ss_alloc_zero(1, sizeof *request);
  if (!request) return NULL;
  request->edits = cJSON_CreateObject();
  if (request->edits && ss_doc_empty("request", &request->doc, NULL)) return request;
  cJSON_Delete(request->edits);
  free(request);
  return NULL;
}

void ss_request_free(struct ss_request *request) {
  if (!request) return;
  ss_doc_free(request->doc);
  cJSON_Delete(request->edits);
  ss_sources_close(&request->traces);
  free(request->base);
  free(request);
}

/* --- the document ---------------------------------------------------------------------------------------------- */

bool ss_request_adopt(struct ss_request *request, struct ss_doc *doc, const char *base, struct ss_error *error) {
  char *copy = base ? strdup(base) : NULL;
  const bool good =
      ss_node_is_object(ss_doc_root(doc)) || ss_node_fail(ss_doc_root(doc), error, "expected a JSON object");
  if (!good || (base && !copy)) {
    ss_doc_free(doc);
    free(copy);
    return good ? ss_fail_memory(error, "reading a request") : false;
  }
  ss_doc_free(request->doc);
  free(request->base);
  request->doc = doc;
  request->base = copy;
  return true;
}

bool ss_request_open(struct ss_request *request, const char *scenario, struct ss_error *error) {
  char path[PATH_MAX];
  struct ss_doc *doc;
  if (!ss_argument_given(request, "request", error) || !ss_argument_given(scenario, "scenario", error)) return false;
  if (strcmp(scenario, "-") == 0)
    return ss_fail(error, SS_BAD_INPUT, "standard input is the program's own: read it, and give its text");
  return ss_data_scenario(scenario, path, sizeof path, error) && ss_doc_read(path, DOCUMENT_BYTES, &doc, error) &&
         ss_request_adopt(request, doc, path, error);
}

bool ss_request_parse(struct ss_request *request, const char *json, struct ss_error *error) {
  struct ss_doc *doc;
  return ss_argument_given(request, "request", error) && ss_argument_given(json, "JSON text", error) &&
         ss_doc_parse("request", json, strlen(json), &doc, error) && ss_request_adopt(request, doc, NULL, error);
}

/* --- edits ----------------------------------------------------------------------------------------------------- */

static bool is_utf8(const char *text) {
  for (size_t n; *text; text += n)
    if ((n = ss_utf8_size(text, 4)) == 0) return false;
  return true;
}

/* Words that are no JSON, as they are, or as a list of schemes. NULL: an error. */
static cJSON *words(const char *path, const char *value, struct ss_error *error) {
  if (strcmp(path, "schemes") == 0) return ss_study_schemes(value, error);
  cJSON *text = is_utf8(value) ? cJSON_CreateString(value) : NULL;
  if (!text) (void)ss_fail(error, SS_BAD_INPUT, "%s: \"%s\" is not UTF-8", path, value);
  return text;
}

/* NULL: an error. What begins like a list or an object must be one. */
static cJSON *read_value(const char *path, const char *value, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  if (!ss_doc_parse(path, value, strlen(value), &doc, error))
    return strchr("[{\"", value[strspn(value, " \t\r\n")]) ? NULL : words(path, value, error);
  cJSON *item = cJSON_Duplicate(ss_doc_root(doc).at, true);
  if (!item) (void)ss_fail_memory(error, "reading a request");
  return item;
}

/* Takes the item over. */
static bool add_edit(struct ss_request *request, const char *path, cJSON *item, struct ss_error *error) {
  for (size_t i = 0; i < SS_REQUEST_FLAGS; i++) {
    if (strcmp(path, flags[i]) != 0) continue;
    const bool is_flag = cJSON_IsBool(item);
    if (is_flag) request->flag[i] = cJSON_IsTrue(item);
    cJSON_Delete(item);
    return is_flag || ss_fail(error, SS_BAD_INPUT, "%s: expected true or false", path);
  }
  cJSON_DeleteItemFromObjectCaseSensitive(request->edits, path); /* the last one counts, where it stands */
  if (cJSON_AddItemToObject(request->edits, path, item)) return true;
  cJSON_Delete(item);
  return ss_fail_memory(error, "reading a request");
}

bool ss_request_set(struct ss_request *request, const char *path, const char *value, struct ss_error *error) {
  struct ss_error own;
  if (!ss_argument_given(request, "request", error) || !ss_argument_given(path, "path", error) ||
      !ss_argument_given(value, "value", error))
    return false;
  if (!*path || !is_utf8(path)) return ss_fail(error, SS_BAD_INPUT, "\"%s\" is no path of a field", path);
  cJSON *item = read_value(path, value, &own);
  if (item) return add_edit(request, path, item, error);
  return ss_fail(error, own.status, "%s", own.text);
}

bool ss_request_lend_trace(struct ss_request *request, const char *name, struct ss_trace *trace,
                           struct ss_error *error) {
  if (!ss_argument_given(request, "request", error) || !ss_argument_given(name, "name", error) ||
      !ss_argument_given(trace, "trace", error))
    return false;
  if (!*name || !is_utf8(name)) return ss_fail(error, SS_BAD_INPUT, "\"%s\" is no name of a trace", name);
  return ss_sources_lend(&request->traces, name, trace, error);
}

/* --- who works, and who is told ------------------------------------------------------------------------------ */

void ss_request_use_threads(struct ss_request *request, unsigned threads) {
  if (request) request->threads = threads < INT_MAX ? threads : INT_MAX;
}

void ss_request_watch(struct ss_request *request, void (*told)(void *context, const struct ss_progress *progress),
                      void *context) {
  if (!request) return;
  request->told = told;
  request->told_context = context;
}

void ss_request_hear(struct ss_request *request, void (*told)(void *context, const char *text), void *context) {
  if (!request) return;
  request->heard = told;
  request->heard_context = context;
}

void ss_request_cancel(struct ss_request *request) {
  if (request) atomic_store(&request->cancelled, true);
}

static void tell(const struct ss_request *request) {
  if (request->told) request->told(request->told_context, &request->progress);
}

static void begin(void *context, const char *what, size_t all) {
  struct ss_request *request = context;
  request->progress = (struct ss_progress){.what = what, .all = all};
  request->work = 0;
  tell(request);
}

static void advance(void *context, size_t steps, double work, double whole) {
  struct ss_request *request = context;
  request->progress.done += steps;
  request->work += work;
  if (!(whole > 0)) return;
  request->progress.share = fmin(request->work / whole, 1);
  tell(request);
}

static bool stops(void *context) {
  return atomic_load(&((struct ss_request *)context)->cancelled);
}

struct ss_watcher ss_request_watcher(struct ss_request *request) {
  return (struct ss_watcher){.begin = begin, .advance = advance, .stops = stops, .context = request};
}

static void hear(void *context, const char *text) {
  const struct ss_request *request = context;
  if (request->heard) request->heard(request->heard_context, text);
}

struct ss_notice ss_request_notice(struct ss_request *request) {
  return (struct ss_notice){hear, request};
}
