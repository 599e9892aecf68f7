/* What a request is made of (request.c), and asking it (ask.c). */
#ifndef SS_LIBRARY_REQUEST_H
#define SS_LIBRARY_REQUEST_H

#include "base/json.h"
#include "base/notice.h"
#include "base/watcher.h"
#include "library/sparsync.h"
#include "study/sources.h"

#include <stdatomic.h>

/* What is no field of the document. */
enum ss_request_flag { SS_PER_RANK, SS_PER_ITERATION, SS_LOSSY, SS_MODEL_PARALLEL, SS_REQUEST_FLAGS };

struct ss_request {
  struct ss_doc *doc;
  char *base;          /* relative paths are looked for beside it; NULL: among what is shipped */
  struct cJSON *edits; /* {PATH: VALUE} */
  bool flag[SS_REQUEST_FLAGS];
  struct ss_sources traces;
  unsigned threads;

  void (*told)(void *context, const struct ss_progress *progress);
  void *told_context;
  void (*heard)(void *context, const char *text);
  void *heard_context;
  struct ss_progress progress;
  double work; /* that is done of what is being done */
  atomic_bool cancelled;
};

/* The document, which the request owns from then on, also on failure. `base` as above. (The command has it as a tree,
 * since names of files need not be UTF-8, which JSON text is.) */
bool ss_request_adopt(struct ss_request *request, struct ss_doc *doc, const char *base,
                      struct ss_error *error) SS_MUST_CHECK;

/* Tells the request's listeners. */
struct ss_watcher ss_request_watcher(struct ss_request *request);
struct ss_notice ss_request_notice(struct ss_request *request);

/* An answer of the tree, which it owns from then on, also on failure. Its rows are the tree's list `rows`, or the
 * tree itself (NULL). */
bool ss_answer_new(struct cJSON *tree, const char *rows, struct ss_answer **out,
                   struct ss_error *error) SS_MUST_CHECK;

/* Its rows as a list, the answer's: for what prints it (report/). NULL: the answer is its only row. */
const struct cJSON *ss_answer_list(const struct ss_answer *answer);

/* Makes the trace that an import's object says (docs/library.md), at `path`. */
bool ss_import_object(struct ss_node object, const char *path, const struct ss_watcher *watcher,
                      struct ss_error *error) SS_MUST_CHECK;

/* An SS_BAD_INPUT error where a needed argument is NULL. */
bool ss_argument_given(const void *argument, const char *what, struct ss_error *error) SS_MUST_CHECK;

#endif
