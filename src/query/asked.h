/* A question that was read, and its answer: what the cache (query/question.h) asks, and the library for its requests.
 */
#ifndef SS_QUERY_ASKED_H
#define SS_QUERY_ASKED_H

#include "base/watcher.h"
#include "study/study.h"

#include <limits.h>

/* All that it points to is the asker's, but for the tree. */
struct ss_asked {
  struct cJSON *subject;            /* the scenario or object, or the path of a file */
  struct cJSON *set;                /* {PATH: VALUE}, changes included */
  const char *name;                 /* stands for the subject in messages; NULL: what is asked */
  const char *base;                 /* relative paths are looked for beside this file; NULL: in the data folder */
  struct ss_drawn *drawn;           /* synthetic lookups that are known; NULL: none */
  const struct ss_sources *traces;  /* found by their names, before any file; NULL: none */
  const struct ss_watcher *watcher; /* NULL: nobody */
  const struct ss_notice *notice;   /* told warnings; NULL: nobody */
  bool per_rank, per_iteration;
  bool lossy, model_parallel, turns; /* of a plan: as struct ss_study_source; with study/window.h */
  struct cJSON *tree;                /* the answer, the asker's to delete; NULL: there is none yet */
};

/* The study of the scenario that is asked about, and what it points to; zeroed it is closed. */
struct ss_asked_study {
  struct ss_study *study;
  struct ss_study_source source;
  char path[PATH_MAX];
};

/* `kind` is what is asked, for messages. To be closed, also after a failure. */
bool ss_asked_study_open(const struct ss_asked *asked, const char *kind, struct ss_asked_study *out,
                         struct ss_error *error) SS_MUST_CHECK;
void ss_asked_study_close(struct ss_asked_study *o);

/* The object that is asked about, with all edits made; to be freed. `name` stands for it in messages. */
bool ss_asked_object(const struct ss_asked *asked, const char *name, struct ss_doc **out,
                     struct ss_error *error) SS_MUST_CHECK;

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
