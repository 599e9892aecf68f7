/* The store of an output's results: FILE.partial, a line of JSON for each that is finished, while others are
 * computed. A run that was killed goes on from there (--resume), and from what an earlier FILE holds. A result is
 * found by its point's identity, and believed as far as its own hash goes. */
#pragma once

#include "study/study.h"

struct ss_store {
  char *path;
  FILE *stream;
  size_t points;          /* that the file holds */
  bool links;             /* are wanted */
  struct ss_doc **known;  /* [count] results: the file's lines come before what FILE holds */
  struct ss_keyed *keyed; /* [count] sorted */
  size_t count;
};

/* For the output at `path`. `resume`: what FILE.partial and FILE hold is known; else FILE.partial begins anew, and
 * *dropped says how many results it held. Another run that writes the same store is an error, and so is a store with
 * a line that is no result; a last line without an end was cut short and does not count. `links`: results need
 * theirs, which a FILE that is CSV does not have. */
bool ss_store_open(const char *path, bool resume, bool links, struct ss_store **out, size_t *dropped,
                   struct ss_error *error) SS_MUST_CHECK;
/* `keep`: the file stays for a later --resume, if it holds a result; else it goes. */
void ss_store_close(struct ss_store *store, bool keep);

/* Fills in the values of a result that has none if they are known, with the arrays that the options ask for. What was
 * changed since it was written is not known, nor is what was not exact; a value that cannot be one is an error. */
bool ss_store_recall(const struct ss_store *store, const struct ss_run_options *options, struct ss_result *result,
                     bool *known, struct ss_error *error) SS_MUST_CHECK;
bool ss_store_add(struct ss_store *store, const struct ss_result *result, struct ss_error *error) SS_MUST_CHECK;

enum { SS_RESULTS_BYTES = 1 << 30 }; /* that a file of results may have, or what may be one */

/* The result file of a run, JSON or CSV, as a document whose "points" are objects as in JSON (of CSV, without options
 * and cell of the sweep). The document is the caller's. */
bool ss_results_read(const char *path, struct ss_doc **out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
