/* Synthetic traces: lookups that follow Zipf's law or a histogram of reuse, with a hot set that all ranks share if
 * wanted. Every lookup is a function of (seed, iteration, rank, draw) alone, so a trace is the same on every machine
 * and thread count, and a longer or wider one begins like a shorter or narrower one. */
#pragma once

#include "base/fields.h"
#include "trace/file/trace.h"
#include "trace/make/reuse.h"

struct ss_drawn;
extern const struct ss_object_spec ss_like_spec; /* trace/make/like.h */

extern const char *const ss_ids_names[]; /* by enum ss_ids; ends with NULL */
enum ss_ids {
  SS_IDS_SHUFFLED,  /* popular rows lie anywhere: even ranges get even shares */
  SS_IDS_POPULARITY /* row 0 is the most popular: skewness as in a vocabulary sorted by frequency */
};

struct ss_synth {
  const char *tensor; /* its name */
  uint64_t rows;
  uint32_t row_width;
  enum ss_dtype dtype;
  uint32_t ranks;
  enum ss_ids ids;
  uint64_t iterations;
  uint64_t lookups;  /* of a rank in an iteration */
  uint64_t distinct; /* each so many lookups in a row are of different rows, as a token's top-k experts are; 1: any */
  const struct ss_reuse *reuse; /* of the lookups of an iteration of all ranks, instead of Zipf's law; NULL: none */
  double zipf;                  /* exponent s, 0 (uniform) to 20 */
  double hot;                   /* share of the lookups, 0 to 1, that go to the hot set */
  uint64_t hot_rows;            /* size of the hot set: the most popular rows; at least 1 when hot > 0 */
  double hot_zipf;              /* exponent of the hot set's own law; 0: its rows are looked up evenly */
  double shared;                /* share of the lookups, 0 to 1, that are the same on all ranks of an iteration */
  double scatter;               /* by popularity: share of the rows, 0 to 1, that lie anywhere all the same */
  uint64_t seed;
  uint64_t held; /* B of lookups that a trace holds; where they are more it draws them each time they are read (but
                    for a histogram), and cannot be written; 0: all are held */
  struct ss_drawn *drawn; /* keeps what is drawn, and has what was drawn before (trace/make/drawn.h); NULL: nothing */
};

/* Every field of `out` at its default: "embedding", 100,000 rows of 512 F32, 10 iterations of 16 ranks with 4,096
 * lookups, s = 1, no hot set, shuffled, seed 1. */
enum { SS_SYNTH_LOOKUPS = 4096 };
#define SS_SYNTH_DEFAULTS(lookups_)                                                                                  \
  {                                                                                                                  \
    .tensor = "embedding", .rows = 100000, .row_width = 512, .dtype = SS_F32, .iterations = 10, .ranks = 16,         \
    .lookups = (lookups_), .distinct = 1, .zipf = 1, .ids = SS_IDS_SHUFFLED, .seed = 1                               \
  }
void ss_synth_defaults(struct ss_synth *out);
/* What a trace and an embedding both say of their lookups (base/fields.h); "like" is ss_like_apply's to read. */
#define SS_SYNTH_FIELDS                                                                                              \
  {"lookups", "of a rank in an iteration", SS_IS_COUNT(1, UINT64_C(1) << 40), .alias = "tokens",                     \
   SS_STORED(struct ss_synth, lookups)},                                                                             \
      {"zipf", "exponent of Zipf's law, 0 (uniform) to 20", SS_IS_RATIO, SS_STORED(struct ss_synth, zipf)},          \
      {"hot", "share of the lookups that go to the hot set", SS_IS_RATIO, SS_STORED(struct ss_synth, hot)},          \
      {"hot_rows", "the most popular rows: the hot set", SS_IS_COUNT(0, UINT32_MAX),                                 \
       SS_STORED(struct ss_synth, hot_rows)},                                                                        \
      {"hot_zipf", "exponent of the hot set's own law, 0 (even) to 20", SS_IS_RATIO,                                 \
       SS_STORED(struct ss_synth, hot_zipf)},                                                                        \
      {"shared", "share of the lookups that are the same on all ranks of an iteration", SS_IS_RATIO,                 \
       SS_STORED(struct ss_synth, shared)},                                                                          \
      {"ids", "popular rows lie anywhere, or first", SS_IS_CHOICE(ss_ids_names), SS_STORED(struct ss_synth, ids)},   \
      {"scatter", "by popularity: share of the rows that lie anywhere all the same", SS_IS_RATIO,                    \
       SS_STORED(struct ss_synth, scatter)},                                                                         \
      {"like", "in their place", SS_IS_OBJECT(&ss_like_spec)}, {                                                     \
    "seed", NULL, SS_IS_SEED, SS_STORED(struct ss_synth, seed)                                                       \
  }

/* Do both draw the same rows, as far as both go? (Of two histograms of reuse nobody knows.) */
bool ss_synth_same_law(const struct ss_synth *a, const struct ss_synth *b);

/* A field out of range is an SS_BAD_INPUT error that names it. The trace's source says how it was made. */
bool ss_trace_synth(const struct ss_synth *synth, struct ss_trace **out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
