/* What a scheme is, and what it is given.
 *
 * A scheme is one file with one constant of type `struct ss_scheme`, listed in registry.c. Its `run` says, in rounds
 * of sim/collectives.h, what every rank sends and what it makes of what it gets, and reports what each rank ends with
 * to the proof. It is the same code that is simulated (all ranks live in the process) and executed (one does). */
#ifndef SS_SCHEMES_SCHEME_H
#define SS_SCHEMES_SCHEME_H

#include "sim/collectives.h"
#include "trace/input.h"

/* --- options -------------------------------------------------------------------------------------------- */

enum ss_option_kind { SS_OPTION_CHOICE, SS_OPTION_FLAG, SS_OPTION_COUNT };

struct ss_option {
  const char *name; /* NULL ends a table */
  enum ss_option_kind kind;
  const char *const *choices; /* NULL-terminated, for SS_OPTION_CHOICE */
  uint64_t low, high;         /* for SS_OPTION_COUNT */
  uint64_t otherwise;         /* default: place of the choice, 0 or 1, or the count */
  const char *help;
};

enum { SS_OPTIONS_MAX = 8 };

/* A scheme with its options, as a scenario names it. */
struct ss_setting {
  const struct ss_scheme *scheme;
  char label[96];                 /* what tables and `expect` call it: the scheme's name unless given */
  uint64_t value[SS_OPTIONS_MAX]; /* by place in the scheme's option table */
  bool given[SS_OPTIONS_MAX];
  uint32_t index_bytes;
  bool element;        /* "granularity": "element" */
  bool exchange_sizes; /* "sizes": "exchanged" */
};

/* --- proofs --------------------------------------------------------------------------------------------- */

/* Holds what ranks end with against the sum over ranks, computed another way. */
struct ss_proof {
  /* `chunk` is what a rank holds of the summed rows [chunk->low, chunk->high), columns from `column` on. With `only`
   * it must hold exactly those rows; else every row of the range that any rank contributed to. */
  bool (*sparse)(struct ss_proof *proof, const struct ss_chunk *chunk, uint32_t column, const struct ss_chunk *only);
  /* A summed part of a dense tensor of `units` proof units. */
  bool (*dense)(struct ss_proof *proof, const struct ss_chunk *chunk, uint32_t units);
  /* Looked-up parameters: columns from `column` on of the rows that the chunk lists. */
  bool (*parameters)(struct ss_proof *proof, const struct ss_chunk *chunk, uint32_t column);
};

/* --- a run ---------------------------------------------------------------------------------------------- */

struct ss_run {
  struct ss_play play;
  const struct ss_setting *setting;
  const struct ss_input *input;
  uint32_t ranks, servers;
  struct ss_wire dense, coo;  /* how dense and sparse payloads travel */
  const struct ss_chunk *own; /* [ranks] what each rank contributes, coalesced unless the setting says otherwise */
  struct ss_proof *proof;     /* NULL: not verified */
  bool exact;                 /* every result reported so far was the exact sum, and no message was amiss */
  double push_imbalance, pull_imbalance; /* ZEN Def. 8; NaN where the scheme has no parts */
};

struct ss_scheme {
  const char *name, *summary;
  const char *source; /* paper, section */
  const struct ss_option *options;
  bool lossless;       /* every rank ends with the exact sum */
  bool model_parallel; /* needs the table cut over ranks */
  bool keeps_rows;     /* plays rows and columns under element granularity too */
  /* Wrong combinations of options and ranks; NULL: none. */
  bool (*check)(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes, struct ss_error *error);
  /* Endpoints besides the ranks; NULL: none. */
  uint32_t (*servers)(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes);
  /* Even row ranges that a uniform tensor must divide into; NULL: none. */
  uint64_t (*parts)(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes);
  /* Bytes follow from counts alone, so unproven runs need no lists; NULL: yes. */
  bool (*counts_suffice)(const struct ss_setting *setting, const struct ss_input *input);
  bool (*wants_lookups)(const struct ss_setting *setting); /* NULL: no */
  bool (*uncoalesced)(const struct ss_setting *setting);   /* ranks contribute lookups, not rows; NULL: no */
  /* Not called for one rank: nothing is sent then. */
  bool (*run)(struct ss_run *run, struct ss_error *error);
};

/* Place of the option in the scheme's table; the option exists. */
uint64_t ss_setting_value(const struct ss_setting *setting, const char *option);

static inline bool ss_run_resident(const struct ss_run *run, uint32_t endpoint) {
  return ss_play_resident(&run->play, endpoint);
}

/* Reports to the proof. */
void ss_run_sparse(struct ss_run *run, const struct ss_chunk *chunk, uint32_t column, const struct ss_chunk *only);
void ss_run_dense(struct ss_run *run, const struct ss_chunk *chunk, uint32_t units);
void ss_run_inexact(struct ss_run *run, const char *format, ...) SS_PRINTF(2, 3);

/* Fills in what `rank` contributes to a dense part whose rows and units (part, count) are set: a proof integer a
 * unit, and in a real run its rows among zeros. */
bool ss_run_dense_part(struct ss_run *run, uint32_t rank, struct ss_arena *arena, struct ss_chunk *part,
                       struct ss_error *error) SS_MUST_CHECK;

/* All schemes, in the order of `list schemes`; NULL-terminated. */
const struct ss_scheme *const *ss_schemes(void);
const struct ss_scheme *ss_scheme_find(const char *name);

/* A scheme's name, or {"name", "label", OPTION...: value, "index_bytes", "granularity", "sizes"}. `defaults` gives
 * the last three where the node does not. */
bool ss_setting_read(struct ss_node node, const struct ss_setting *defaults, struct ss_setting *out,
                     struct ss_error *error) SS_MUST_CHECK;
/* "index_bytes", "granularity" and "sizes" of an object that has other keys too: a scheme, or the scenario. */
bool ss_setting_read_common(struct ss_node node, struct ss_setting *out, struct ss_error *error) SS_MUST_CHECK;

#endif
