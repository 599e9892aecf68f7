/* Requests of other programs (request.c), and asking any (ask.c). */
#pragma once

#include "base/notice.h"
#include "base/watcher.h"
#include "library/sparsync.h"
#include "study/sources.h"
#include "study/study.h"

#include <locale.h>

/* --- asking ------------------------------------------------------------------------------------------------- */

/* The clients are the commands, with requests of their own, and the public functions. Whatever is asked, settings of
 * the calling thread are put back after. *out is the caller's. */
bool ss_ask(const struct ss_request *request, const char *kind, struct ss_answer **out,
            struct ss_error *error) SS_MUST_CHECK;
bool ss_ask_export(const struct ss_request *request, const char *format, const char *path,
                   struct ss_error *error) SS_MUST_CHECK;
/* `out` may be NULL. */
bool ss_ask_import(const struct ss_request *request, const char *path, struct ss_trace **out,
                   struct ss_error *error) SS_MUST_CHECK;

/* The field that is meant by the word of a command's option ("scheme": "schemes"; "bandwidth": "cluster.bandwidth"),
 * where that is not its own name; else NULL. An edit may say either, unless the word is a field of the request
 * itself, as "bandwidth" is of closed forms. */
const char *ss_field_of_word(const char *word);

/* An answer of the tree, which it owns from then on, also on failure. Its rows are the tree's list `rows`, or the
 * tree itself (NULL). */
bool ss_answer_new(struct cJSON *tree, const char *rows, struct ss_answer **out,
                   struct ss_error *error) SS_MUST_CHECK;

/* Its rows as a list, the answer's: for what prints it (report/). NULL: the answer is its only row. */
const struct cJSON *ss_answer_list(const struct ss_answer *answer);
/* The whole of it, likewise. */
const struct cJSON *ss_answer_tree(const struct ss_answer *answer);

/* What of the calling thread must be otherwise while something is asked. */
struct ss_settings {
  int threads;
  locale_t locale, plain; /* plain: numbers have points, whatever the program's users are used to */
};
/* `threads` work at once; 0: one a core. */
bool ss_settings_enter(unsigned threads, struct ss_settings *s, struct ss_error *error) SS_MUST_CHECK;
void ss_settings_leave(const struct ss_settings *s);

/* An SS_BAD_INPUT error where a needed argument is NULL. */
bool ss_argument_given(const void *argument, const char *what, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
