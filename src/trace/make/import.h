/* Traces from data: texts, tables of categories, ids of tokens, bags of ids. */
#ifndef SS_TRACE_MAKE_IMPORT_H
#define SS_TRACE_MAKE_IMPORT_H

#include "base/watcher.h"
#include "trace/file/trace.h"

/* --- words of a text: what a language model with a table of word embeddings would look up --------------------- */

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

/* --- samples: the other three, of any length; what is read is written without being held in memory ------------- */

/* Samples are dealt out in turns, as a loader does that cuts each global batch into the ranks' parts: sample s is in
 * iteration floor(s / (batch * ranks)), of rank floor(s / batch) mod ranks. Samples behind the last whole iteration
 * are left out. */
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

struct ss_samples {
  struct ss_dealing dealing;
  struct ss_per_table row_width; /* elements a row */
  enum ss_dtype dtype;
  const char *source;
  const char *output; /* the trace to be written; NULL, "-": standard output */
  /* Told how far reading and writing are, the former of files alone; NULL: nobody. */
  const struct ss_watcher *watcher;
};

struct ss_table_import {
  struct ss_samples samples;
  bool tabs;           /* TSV, not CSV */
  bool header;         /* the first record has the columns' names; else they are called c1, c2, ... */
  const char *columns; /* "carrier,15-40": names, and numbers from 1; NULL: all */
  const char *prefix;  /* of the chosen columns' names, numbered from 1, where there is no header; NULL: as above */
  const char *const *missing; /* texts that stand for no value, besides the empty one */
  size_t missing_count;
  struct ss_per_table hash_rows; /* rows of hashed tables; those of which it says nothing go by frequency */
  struct ss_per_table vocab;     /* most rows of a table that goes by frequency; else every value has one */
};

/* Each chosen column is a table, a value's row its number (numbering.h). Hashed alone, the file is read no further
 * than the iterations asked for; by frequency all of it is counted. `path` "-" is standard input. */
bool ss_import_table(const char *path, const struct ss_table_import *import, struct ss_error *error) SS_MUST_CHECK;

struct ss_tokens_import {
  struct ss_samples samples;
  const char *tensor;
  uint64_t seq;   /* ids of a sample; 0: those of a row of a two-dimensional array, else 64 */
  uint64_t vocab; /* rows of the table; 0: the largest id and one */
  int64_t pad;    /* id of padding, which is no token; -1: none */
};

/* Ids as a tokenizer gives them: a .npy array, or a text of whole numbers parted by white space and commas (brackets
 * are white space too). Ids are rows as they stand. */
bool ss_import_tokens(const char *path, const struct ss_tokens_import *import, struct ss_error *error) SS_MUST_CHECK;

struct ss_bags_import {
  struct ss_samples samples;
  uint64_t tables;           /* that each pair of files is of */
  struct ss_per_table vocab; /* rows of tables; else the largest id of each and one */
};

/* Pairs of .npy arrays as FBGEMM's table-batched embeddings take them: indices[n], and offsets[tables * samples + 1]:
 * the ids of sample s in table t are indices[offsets[t * samples + s] .. offsets[t * samples + s + 1]). Pairs follow
 * one another in time; tables are called t0, t1, ... `paths` has two of each pair. */
bool ss_import_bags(const char *const *paths, size_t pairs, const struct ss_bags_import *import,
                    struct ss_error *error) SS_MUST_CHECK;

#endif
