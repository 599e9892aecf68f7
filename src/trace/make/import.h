/* Traces from text: what a language model with a table of word embeddings would look up, one row a word. */
#ifndef SS_TRACE_MAKE_IMPORT_H
#define SS_TRACE_MAKE_IMPORT_H

#include "trace/file/trace.h"

/* How the words are dealt out. In both layouts rank r reads the contiguous share [floor(rn/P), floor((r+1)n/P)) of n
 * words or sentences, from its beginning on. */
enum ss_text_layout {
  SS_STREAM,  /* one stream of words; batch * seq of them an iteration */
  SS_SENTENCE /* a line is a sentence; batch of them an iteration, padded with row 0 to the batch's longest */
};

struct ss_import {
  enum ss_text_layout layout;
  uint32_t ranks;
  uint64_t batch, seq; /* seq is for SS_STREAM only */
  uint64_t iterations; /* at most; 0: as many as every rank has in full */
  uint64_t vocab;      /* rows of the table, padding and unknown included; 0: every word has its own */
  const char *tensor;  /* its name */
  uint32_t row_width;  /* elements a row */
  enum ss_dtype dtype;
  const char *source;
};

/* The text stays the caller's; `name` is the file it came from, for messages. A text too short for one iteration is
 * an error that says how much there is. The trace records tokens (words, padding excluded) and pad_id 0. */
bool ss_trace_import(const char *name, const char *text, size_t size, const struct ss_import *import,
                     struct ss_trace **out, struct ss_error *error) SS_MUST_CHECK;

#endif
