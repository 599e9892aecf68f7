/* Answering questions: what the cache (question.c) hands to each kind of them (answers.c, and one file for each that
 * needs more). */
#ifndef SS_QUERY_INTERNAL_H
#define SS_QUERY_INTERNAL_H

#include "query/question.h"
#include "study/sources.h"

/* A question that was read. */
struct ss_asked {
  struct cJSON *subject; /* the scenario or object, or the path of a file */
  struct cJSON *set;     /* {PATH: VALUE}, changes included */
  bool per_rank, per_iteration;
  const struct ss_notice *notice; /* told warnings; NULL: nobody */
  struct cJSON *tree;             /* the answer; NULL: there is none yet */
};

/* How a kind of questions is answered: by one of the three, of which the last gets the object with all edits made. */
extern const struct ss_question_kind {
  const char *name;
  bool (*all)(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error);
  bool (*one)(struct ss_asked *asked, unsigned jobs, struct ss_error *error);
  bool (*object)(struct ss_node object, struct cJSON **out, struct ss_error *error);
} ss_question_kinds[]; /* ends with a NULL name */

/* Answers `count` questions of the kind, which differ in `set` alone. */
bool ss_question_answer(const struct ss_question_kind *kind, struct ss_asked *const *asked, size_t count,
                        unsigned jobs, struct ss_error *error) SS_MUST_CHECK;

/* A path as a question means it: as it stands if something is there, else in the data folder. */
bool ss_question_path(const char *text, char *path, size_t size, struct ss_error *error) SS_MUST_CHECK;
/* Stands for the file of a question's object, beside which relative paths are looked for: in the data folder. */
bool ss_question_base(char *path, size_t size, struct ss_error *error) SS_MUST_CHECK;

/* The object's "trace", as a scenario has it: a file, or {"synth": ...}. It is the sources', which are to be closed
 * also after a failure. */
bool ss_question_trace(struct ss_node object, struct ss_sources *sources, const struct ss_trace **out,
                       struct ss_error *error) SS_MUST_CHECK;

/* The trees are the caller's. */
bool ss_answer_cost(struct ss_node object, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_learn(struct ss_node object, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_stats(struct ss_node object, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_measure(struct ss_node object, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_hash(struct ss_node object, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;

#endif
