/* Traces from data: texts, tables of categories, ids of tokens, bags of ids. */
#pragma once

#include "base/json.h"
#include "base/watcher.h"
#include "trace/file/trace.h"

/* --- words of a text: what a language model with a table of word embeddings would look up --------------------- */

/* How the words are dealt out. In both layouts rank r reads the contiguous share [floor(rn/P), floor((r+1)n/P)) of n
 * words or sentences, from its beginning on. */
enum ss_text_layout {
  SS_STREAM,  /* one stream of words; batch * seq of them an iteration */
  SS_SENTENCE /* a line is a sentence; batch of them an iteration, padded with row 0 to the batch's longest */
};
extern const char *const ss_text_layout_names[]; /* "stream", "sentence"; ended by NULL */

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

/* Words are runs of ASCII letters, folded to lower case, and bytes of 0x80 and above (so that UTF-8 letters stay
 * whole without tables); everything else parts them. Row 0 is padding and 1 the unknown word; words follow by
 * frequency, the most frequent first and ties by first occurrence, and those for which the table has no row are
 * unknown.
 *
 * The text stays the caller's; `name` is the file it came from, for messages. A text too short for one iteration is
 * an error that says how much there is. The trace records tokens (words, padding excluded) and pad_id 0. */
bool ss_trace_import(const char *name, const char *text, size_t size, const struct ss_import *import,
                     struct ss_trace **out, struct ss_error *error) SS_MUST_CHECK;

/* --- data of any kind: one request, for commands and programs alike -------------------------------------------- */

enum ss_data {
  SS_DATA_BY_NAME, /* csv, tsv or, of .npy, tokens by the ending of the name, else words */
  SS_DATA_WORDS,   /* of a text, as above */
  /* Tables: each chosen column is an embedding table, a value's row its number (numbering.h). Hashed alone, the file
   * is read no further than the iterations asked for; by frequency all of it is counted. */
  SS_DATA_CSV,
  SS_DATA_TSV,
  SS_DATA_CRITEO, /* TSV without a header, columns 15-40 */
  /* Ids as a tokenizer gives them: a .npy array, or a text of whole numbers parted by white space and commas
   * (brackets are white space too). Ids are rows as they stand. */
  SS_DATA_TOKENS,
  /* Pairs of .npy arrays as FBGEMM's table-batched embeddings take them: indices[n], and offsets[tables * samples +
   * 1]: the ids of sample s in table t are indices[offsets[t * samples + s] .. offsets[t * samples + s + 1]). Pairs
   * follow one another in time; tables are called t0, t1, ... */
  SS_DATA_BAGS
};
extern const char *const ss_data_names[]; /* "auto", "words", ...; ended by NULL */

/* Samples (of all but texts) are dealt out in turns, as a loader does that cuts each global batch into the ranks'
 * parts: sample s is in iteration floor(s / (batch * ranks)), of rank floor(s / batch) mod ranks. Samples behind the
 * last whole iteration are left out.
 *
 * Makes the trace that an import's object says (docs/library.md; the options of `trace import` are its fields), at
 * `output` ("-": standard output). Of all but texts, what is read is written without being held in memory. The
 * watcher (NULL: nobody) is told how far reading and writing are, the former of files alone. */
bool ss_import(struct ss_node object, const char *output, const struct ss_watcher *watcher,
               struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
