/* What imports of samples share: numbers told by table, how many iterations there are, and the trace's file. */
#pragma once

#include "trace/make/import.h"

enum {
  SS_ROW_WIDTH = 128, /* elements a row, unless said: as MLPerf's DLRM has */
  SS_SEQ = 64         /* ids or words of a sample, unless said, or an array of two dimensions says it */
};

/* An import's object, read; what is NULL, absent or 0 was not said. Texts are the document's. */
struct ss_any_import {
  struct ss_import all; /* of words; of all others what they have: `seq` 0: not said; neither vocab nor row_width */
  struct ss_texts file; /* one, or pairs of bags; "-" is standard input */
  enum ss_data from;    /* the kind, once it is known */
  uint64_t tables;      /* that each pair of bags is of */
  int64_t pad;          /* id of padding, which is no token; -1: none */
  struct ss_node row_width, vocab, hash_rows; /* each for all tables, or by table: ss_per_table_get */
  struct ss_texts missing;                    /* texts that stand for no value, besides the empty one */
  struct ss_node columns; /* "carrier,15-40": names, and numbers from 1; or a list of such and of numbers */
  bool header;            /* the first record has names of columns, which are else called c1, c2, ... */
  const char *output;
  const struct ss_watcher *watcher;
};

/* Of each kind; batch, tensor and source are said. */
bool ss_import_table(const struct ss_any_import *import, struct ss_error *error) SS_MUST_CHECK;
bool ss_import_tokens(const struct ss_any_import *import, struct ss_error *error) SS_MUST_CHECK;
bool ss_import_bags(const struct ss_any_import *import, struct ss_error *error) SS_MUST_CHECK;

/* The (first) file, as messages call it. */
const char *ss_import_name(const struct ss_any_import *import);

/* The number for the table of that name, else `usual`. `numbers`: a number for all, an object of one each, or texts
 * of both kinds ("64", "NAME=64"), of which the last counts. Errors name the field and the range. */
bool ss_per_table_get(struct ss_node numbers, const char *table, uint64_t usual, uint64_t least, uint64_t *out,
                      struct ss_error *error) SS_MUST_CHECK;
/* Is there a number for the table alone? */
bool ss_per_table_named(struct ss_node numbers, const char *table);
/* The same where there is but that table: none may name another. */
bool ss_per_table_get_one(struct ss_node numbers, const char *table, uint64_t usual, uint64_t least, uint64_t *out,
                          struct ss_error *error) SS_MUST_CHECK;
/* Are all that name a table, of one of those? */
bool ss_per_table_check(struct ss_node numbers, const struct ss_tensor *tensor, size_t tensors,
                        struct ss_error *error) SS_MUST_CHECK;

/* Samples that all iterations asked for take; UINT64_MAX: no end. Numbers that are too large are an error. */
bool ss_samples_wanted(const struct ss_import *dealing, uint64_t *out, struct ss_error *error) SS_MUST_CHECK;
/* How many iterations `samples` make; none is an error that tells of the file `name`, and of `what` it has too few.
 */
bool ss_samples_iterations(const struct ss_import *dealing, const char *name, const char *what, uint64_t samples,
                           uint64_t *out, struct ss_error *error) SS_MUST_CHECK;

/* How far a file is read, for a watcher. */
struct ss_reading_progress {
  const struct ss_watcher *watcher;
  uint64_t size, done; /* B; size 0: nobody knows, as of a pipe */
};
struct ss_reading_progress ss_reading_begin(const struct ss_watcher *watcher, int descriptor);
/* `bytes` of it have been read so far; false when the watcher ends it. */
bool ss_reading_goes_on(struct ss_reading_progress *progress, uint64_t bytes, struct ss_error *error) SS_MUST_CHECK;
void ss_reading_end(const struct ss_reading_progress *progress);

/* Fills in width and type of tensors that have names; two of one name are an error. */
bool ss_samples_tensors(const struct ss_any_import *import, const char *name, struct ss_tensor *tensor,
                        size_t tensors, struct ss_error *error) SS_MUST_CHECK;
/* Writes the trace. The caller has filled the content's iterations, tensors, offsets, bags, tokens, pad_id and
 * row_source.
 */
bool ss_samples_write(const struct ss_any_import *import, const struct ss_trace_content *content,
                      struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
