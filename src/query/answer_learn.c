/* Does training still learn? The object of a request becomes a task for the model of learn/. */
#include "base/memory.h"
#include "query/learn_request.h"
#include "query/query_internal.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <string.h>

/* Paths are as the request means them, but results and messages name the text as the request does. */
static bool learn(struct ss_learn_request *q, struct ss_request *request, struct ss_error *error) {
  struct ss_learning_source *source = &q->source;
  char path[PATH_MAX];
  struct ss_learning l;
  const char **named = source->trace ? &source->trace : &source->text;
  if (source->text && strcmp(source->text, "-") == 0)
    return ss_node_fail(q->text, error, "a request cannot read standard input: name a file");
  if (!source->import.source) source->import.source = *named;
  if (!ss_request_path(*named, path, sizeof path, error)) return false;
  *named = path;
  const bool good = ss_learning_open(source, &l, error) && ss_learning_run(&l, 0, request->run.watcher, error) &&
                    ss_curves_check(&l.curves, error);
  if (good) request->answer = ss_curves_json(&l.curves);
  ss_learning_close(&l);
  return good && (request->answer || ss_fail_memory(error, "training a model"));
}

bool ss_answer_learn(struct ss_node object, struct ss_request *request, struct ss_error *error) {
  SS_AUTO_FREE struct ss_learn_request *q = ss_alloc(1, sizeof *q);
  if (!q) return ss_fail_memory(error, "training a model");
  return ss_learn_request_read(object, q, error) && learn(q, request, error);
}
