/* A question that was read, and its answer: what the cache (query/question.h) asks, and the library for its requests.
 */
#ifndef SS_QUERY_ASKED_H
#define SS_QUERY_ASKED_H

#include "base/json.h"
#include "base/watcher.h"

struct ss_notice;
struct ss_sources;

/* All that it points to is the asker's, but for the tree. */
struct ss_asked {
  struct cJSON *subject;            /* the scenario or object, or the path of a file */
  struct cJSON *set;                /* {PATH: VALUE}, changes included */
  const char *name;                 /* stands for the subject in messages; NULL: what is asked */
  const char *base;                 /* relative paths are looked for beside this file; NULL: in the data folder */
  const struct ss_sources *traces;  /* found by their names, before any file; NULL: none */
  const struct ss_watcher *watcher; /* NULL: nobody */
  const struct ss_notice *notice;   /* told warnings; NULL: nobody */
  bool per_rank, per_iteration;
  bool lossy, model_parallel, turns; /* of a plan: as struct ss_study_source; with study/window.h */
  struct cJSON *tree;                /* the answer, the asker's to delete; NULL: there is none yet */
};

/* How a kind of questions is answered: by one of the three, of which the last gets the object with all edits made. */
struct ss_question_kind {
  const char *name;
  bool (*all)(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error);
  bool (*one)(struct ss_asked *asked, unsigned jobs, struct ss_error *error);
  bool (*object)(struct ss_node object, struct ss_asked *asked, struct ss_error *error);
};
extern const struct ss_question_kind ss_question_kinds[]; /* ends with a NULL name */

/* Answers `count` questions of the kind, which differ in `set` alone, on `jobs` threads (0: one a core). */
bool ss_question_answer(const struct ss_question_kind *kind, struct ss_asked *const *asked, size_t count,
                        unsigned jobs, struct ss_error *error) SS_MUST_CHECK;

#endif
