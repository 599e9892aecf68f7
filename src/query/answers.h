/* What comes of a request (study/study.h): one kind of answer for each command. The cache of requests (cache.h)
 * asks here, and the library. */
#pragma once

#include "query/expectations.h"
#include "study/study.h"

/* A study's results, held against its own "expect"; zeroed it is closed. */
struct ss_judged_study {
  struct ss_study *study;
  struct ss_results results;
  struct ss_verdicts expectations;
};
/* Opens the request's study, runs it and judges; its listener is told. An expectation that fails is no error. With
 * run.comm it is collective: only rank 0 has a listener, results and verdicts. To be closed, also after a failure. */
bool ss_judged_study_make(const struct ss_request *request, struct ss_judged_study *out,
                          struct ss_error *error) SS_MUST_CHECK;
void ss_judged_study_close(struct ss_judged_study *judged);

/* How a kind of requests is answered: by one of the three, of which the last gets the document with all edits made.
 */
struct ss_request_kind {
  const char *name, *rows; /* rows: the list that commands print; NULL: the answer itself is the only row */
  bool (*all)(struct ss_request *const *request, size_t count, struct ss_error *error);
  bool (*one)(struct ss_request *request, struct ss_error *error);
  bool (*object)(struct ss_node object, struct ss_request *request, struct ss_error *error);
};
extern const struct ss_request_kind ss_request_kinds[]; /* ends with a NULL name */

/* Answers `count` requests of the kind, which differ in their edits alone, as the first says how to run them. */
bool ss_requests_answer(const struct ss_request_kind *kind, struct ss_request *const *request, size_t count,
                        struct ss_error *error) SS_MUST_CHECK;

/* The object that the document is, with all edits made; to be freed. `name` stands for it in messages unless the
 * request has a name; a command's options stand for their fields. */
bool ss_request_object(const struct ss_request *request, const char *name, struct ss_doc **out,
                       struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
