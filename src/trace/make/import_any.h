/* Traces from data of any kind that import.h knows: one request, for commands and programs alike. */
#ifndef SS_TRACE_MAKE_IMPORT_ANY_H
#define SS_TRACE_MAKE_IMPORT_ANY_H

#include "trace/make/import.h"

enum ss_data {
  SS_DATA_BY_NAME,
  SS_DATA_WORDS,
  SS_DATA_CSV,
  SS_DATA_TSV,
  SS_DATA_CRITEO,
  SS_DATA_TOKENS,
  SS_DATA_BAGS
};
extern const char *const ss_data_names[];        /* "auto", "words", ...; ended by NULL */
extern const char *const ss_text_layout_names[]; /* "stream", "sentence"; ended by NULL */

/* What is 0 or NULL was not said. All texts are the caller's. */
struct ss_any_import {
  const char *const *file; /* [files] one, or pairs of bags; "-" is standard input */
  size_t files;
  enum ss_data from; /* SS_DATA_BY_NAME: csv, tsv or, of .npy, tokens by the ending of the name, else words */
  enum ss_text_layout layout;
  enum ss_dtype dtype;
  struct ss_dealing dealing; /* a batch of 0: the usual one */
  uint64_t seq, tables;
  int64_t pad; /* -1: none */
  struct ss_per_table row_width, vocab, hash_rows;
  const char *const *missing; /* [missing_count] */
  size_t missing_count;
  const char *tensor, *source, *columns;
  bool no_header;
  const char *output;
  const struct ss_watcher *watcher;
};

/* Makes the trace. What says nothing of such data is an error that names the option as the command has it. */
bool ss_import_any(const struct ss_any_import *import, struct ss_error *error) SS_MUST_CHECK;

#endif
