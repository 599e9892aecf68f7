/* Traces from data: texts, tables of categories, ids of tokens, bags of ids. */
#pragma once

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
  SS_DATA_BY_NAME,
  SS_DATA_WORDS, /* of a text, as above */
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
 * last whole iteration are left out. */
struct ss_dealing {
  uint32_t ranks;
  uint64_t batch;      /* samples of a rank in an iteration */
  uint64_t iterations; /* at most; 0: all */
};

/* A number for all tables, "64", or for one, "NAME=64": the last that fits a table is its own. */
struct ss_per_table {
  const char *option; /* that tells them, for errors: "--vocab" */
  const char *const *text;
  size_t count;
};

/* What is 0 or NULL was not said. All texts are the caller's. */
struct ss_any_import {
  const char *const *file; /* [files] one, or pairs of bags; "-" is standard input */
  size_t files;
  enum ss_data from; /* SS_DATA_BY_NAME: csv, tsv or, of .npy, tokens by the ending of the name, else words */
  enum ss_text_layout layout;
  enum ss_dtype dtype;
  struct ss_dealing dealing;     /* a batch of 0: the usual one */
  uint64_t seq;                  /* ids of a sample; 0: those of a row of a two-dimensional array, else 64 */
  uint64_t tables;               /* that each pair of bags is of */
  int64_t pad;                   /* id of padding, which is no token; -1: none */
  struct ss_per_table row_width; /* elements a row */
  struct ss_per_table vocab; /* most rows of a table; else every value has one, or as many as the largest id needs */
  struct ss_per_table hash_rows; /* rows of hashed tables; those of which it says nothing go by frequency */
  const char *const *missing;    /* [missing_count] texts that stand for no value, besides the empty one */
  size_t missing_count;
  const char *tensor, *source;
  const char *columns; /* "carrier,15-40": names, and numbers from 1; NULL: all */
  bool no_header;      /* the first record is no names of columns, which are called c1, c2, ... */
  const char *output;  /* the trace to be written; "-": standard output */
  /* Told how far reading and writing are, the former of files alone; NULL: nobody. */
  const struct ss_watcher *watcher;
};

/* Makes the trace; of all but texts, what is read is written without being held in memory. What says nothing of such
 * data is an error that names the option as the command has it. */
bool ss_import_any(const struct ss_any_import *import, struct ss_error *error) SS_MUST_CHECK;
