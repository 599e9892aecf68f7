/* Answering questions: what the cache (question.c) hands to each kind of them (answers.c, and one file for each that
 * needs more). */
#ifndef SS_QUERY_INTERNAL_H
#define SS_QUERY_INTERNAL_H

#include "query/question.h"

/* A question that was read. */
struct ss_asked {
  const struct cJSON *subject; /* the scenario or object, or the path of a file */
  const struct cJSON *set;     /* {PATH: VALUE}, changes included */
  bool per_rank, per_iteration;
  struct cJSON *tree; /* the answer; NULL: there is none yet */
};

/* Answers `count` questions of its kind, which differ in `set` alone. */
typedef bool ss_answer(struct ss_asked *const *asked, size_t count, unsigned jobs, struct ss_error *error);

extern const struct ss_question_kind {
  const char *name;
  ss_answer *answer;
} ss_question_kinds[]; /* ends with a NULL name */

/* A path as a question means it: as it stands if something is there, else in the data folder. */
bool ss_question_path(const char *text, char *path, size_t size, struct ss_error *error) SS_MUST_CHECK;
/* Stands for the file of a question's object, beside which relative paths are looked for: in the data folder. */
bool ss_question_base(char *path, size_t size, struct ss_error *error) SS_MUST_CHECK;

/* Kinds that are no scenarios get their object with all edits made; the tree is the caller's. */
bool ss_answer_cost(struct ss_node object, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_learn(struct ss_node object, unsigned jobs, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_stats(struct ss_node object, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_measure(struct ss_node object, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
bool ss_answer_hash(struct ss_node object, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;

#endif
