/* What a scheme is, and what it is given.
 *
 * A scheme is one file with one constant of type `struct ss_scheme`, listed in registry.c. Its `run` says, in rounds
 * of sim/collectives.h, what every rank sends and what it makes of what it gets, and reports what each rank ends
 * with. It is the same code that is simulated (all ranks live in the process) and executed (one does), on all ranks
 * or, inside a hierarchy, among the nodes. */
#ifndef SS_SCHEMES_SCHEME_H
#define SS_SCHEMES_SCHEME_H

#include "schemes/input.h"
#include "sim/collectives/collectives.h"
#include "sim/collectives/owners.h"
#include "sim/collectives/running.h"
#include "sim/state.h"
#include "tensor/parts.h"

/* --- options -------------------------------------------------------------------------------------------- */

enum ss_option_kind { SS_OPTION_CHOICE, SS_OPTION_FLAG, SS_OPTION_COUNT, SS_OPTION_REAL };

struct ss_option {
  const char *name; /* NULL ends a table */
  enum ss_option_kind kind;
  const char *const *choices; /* NULL-terminated, for SS_OPTION_CHOICE */
  uint64_t low, high;         /* for SS_OPTION_COUNT: [low, high]; for SS_OPTION_REAL: (low, high] */
  double default_value;       /* default: place of the choice, 0 or 1, the count, or the number */
  const char *help;
};

enum { SS_OPTIONS_MAX = 8 };

enum ss_hierarchy { SS_FLAT, SS_SHARD, SS_LEADER };

/* A scheme with its options, as a scenario names it. */
struct ss_setting {
  const struct ss_scheme *scheme;
  char label[96];                 /* what tables and `expect` call it: the scheme's name unless given */
  uint64_t value[SS_OPTIONS_MAX]; /* by place in the scheme's option table */
  double real[SS_OPTIONS_MAX];
  bool given[SS_OPTIONS_MAX];
  uint32_t index_bytes;
  bool element;        /* "granularity": "element" */
  bool exchange_sizes; /* "sizes": "exchanged" */
  enum ss_hierarchy hierarchy;
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
  uint64_t low, high;         /* the rows to be summed: all, or a shard of them */
  uint32_t shard, shards;     /* which, of how many */
  struct ss_wire dense, coo;  /* how dense and sparse payloads travel */
  const struct ss_chunk *own; /* [ranks] what each rank contributes, coalesced unless the setting says otherwise */
  bool dense_lists;           /* dense payloads carry their non-zero rows inside, instead of proof units */
  struct ss_memory *memory;   /* what is kept from iteration to iteration; never NULL in a simulation */
  struct ss_proof *proof;     /* NULL: not verified */
  struct ss_chunk *result;    /* [ranks] for a caller who wants to know what each ends with; NULL: none does */
  bool exact;                 /* every result reported so far was the exact sum, and no message was amiss */
  double push_imbalance, pull_imbalance; /* ZEN Def. 8; NaN where the scheme has no parts */

  /* of schemes that aggregate values */
  struct ss_chunk final; /* what the first rank ended with */
  bool ended;            /* somebody did */
  bool agreed;           /* all that did ended with the same bits */
  double grain;          /* what a result's marks count: units, or halves of them where estimates are means */
};

struct ss_scheme {
  const char *name, *summary;
  const char *source; /* paper, section */
  const struct ss_option *options;
  bool lossless;       /* every rank ends with the exact sum */
  bool model_parallel; /* needs the table cut over ranks */
  bool keeps_rows;     /* plays rows and columns under element granularity too */
  bool valued;         /* aggregates values: marks are values in units of 2^-20, as signed integers */
  bool estimates;      /* ends with estimates of the sum, nothing waits */
  bool by_elements;    /* always on elements, whatever the granularity */
  bool dense;          /* sends dense payloads only: sizes do not depend on what is in them */
  /* The rest of a name "NAME:REST" into options; NULL: the name has no rest. */
  bool (*parse)(const char *rest, struct ss_setting *setting, struct ss_error *error);
  /* What ranks put in is what comes out, some of it later: gradient and old residual = result and new residual, sums
   * over ranks. NULL: no. */
  bool (*conserves)(const struct ss_setting *setting);
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
  /* Not called for one rank where nothing is sent then: values are selected all the same. */
  bool (*run)(struct ss_run *run, struct ss_error *error);
};

/* For the tables of schemes: sizes always depend on which rows there are; nothing is ever lost. */
bool ss_counts_never_suffice(const struct ss_setting *setting, const struct ss_input *input);
bool ss_conserves_always(const struct ss_setting *setting);

/* Value of the option, which exists: a count, the place of a choice, a flag; or a real number. */
bool ss_setting_has(const struct ss_setting *setting, const char *option);
uint64_t ss_setting_value(const struct ss_setting *setting, const char *option);
double ss_setting_real(const struct ss_setting *setting, const char *option);
bool ss_setting_given(const struct ss_setting *setting, const char *option);

/* The scheme plays single elements, not rows: it always does, or the setting says so and it can. */
bool ss_setting_by_elements(const struct ss_setting *setting);

static inline bool ss_run_resident(const struct ss_run *run, uint32_t endpoint) {
  return ss_play_resident(&run->play, endpoint);
}

/* Part `part` of `parts` even ranges of the rows to be summed, without content; what the rank has of it; and all that
 * it has. */
struct ss_chunk ss_run_part(const struct ss_run *run, uint32_t part, uint32_t parts);
struct ss_chunk ss_run_slice(const struct ss_run *run, uint32_t rank, uint32_t part, uint32_t parts);

/* Which rows ranks [first, last) contribute to, wherever they live: sets those bits of the run's rows, of which
 * bits[(high - low + 63) / 64] has the others already. All processes call it (ss_play_pool). */
bool ss_run_add_rows(struct ss_run *run, uint32_t first, uint32_t last, uint64_t *bits,
                     struct ss_error *error) SS_MUST_CHECK;
static inline uint64_t ss_run_words(const struct ss_run *run) {
  return (run->high - run->low + 63) / 64;
}

/* --- what ranks end with -------------------------------------------------------------------------------- */

/* Somebody wants to know. */
static inline bool ss_run_reports(const struct ss_run *run) {
  return run->proof || run->result || run->setting->scheme->valued;
}
/* `rank` ends with `chunk` (columns from `column` on, and with `only` exactly those rows): with a sum, or with
 * values. */
void ss_run_sparse(struct ss_run *run, uint32_t rank, const struct ss_chunk *chunk, uint32_t column,
                   const struct ss_chunk *only);
/* Somebody ends with a summed part of a dense tensor of `units` proof units. */
void ss_run_dense(struct ss_run *run, const struct ss_chunk *chunk, uint32_t units);
void ss_run_inexact(struct ss_run *run, const char *format, ...) SS_PRINTF(2, 3);
/* Parts were pushed and pulled: how evenly. */
void ss_run_imbalance(struct ss_run *run, const struct ss_owners *owners);

/* Fills in what `rank` contributes to a dense part whose rows and units (part, count) are set: a proof integer a
 * unit, and in a real run its rows among zeros; or the list of its rows. */
bool ss_run_dense_part(struct ss_run *run, uint32_t rank, struct ss_arena *arena, struct ss_chunk *part,
                       struct ss_error *error) SS_MUST_CHECK;

/* --- parts ---------------------------------------------------------------------------------------------- */

/* Push parts to the ranks that own them, sum, pull, in ZEN's ways to cut a tensor and its formats (§2.2, §3). */
enum ss_balance { SS_BALANCE_HASH, SS_BALANCE_EVEN, SS_BALANCE_SORTED };
enum ss_pull_format { SS_PULL_HASH_BITMAP, SS_PULL_COO, SS_PULL_BITMAP, SS_PULL_BLOCK, SS_PULL_SMALLER };

struct ss_cut {
  enum ss_balance balance;
  enum ss_pull_format format; /* of the pull; blocks are pushed as blocks, everything else as COO */
  uint64_t seed;              /* of the hash */
  uint64_t refresh;           /* iterations that sorted boundaries last */
  uint32_t block;             /* elements of a block */
  uint32_t servers;           /* owners of their own; 0: the ranks */
  bool bruck;                 /* the pull is Bruck's all-gather instead of pairwise */

  const struct ss_chunk *own; /* [ranks] what is cut; NULL: what the run's ranks have */

  /* made by ss_run_cut */
  struct ss_run *run;
  struct ss_parts parts;
  struct ss_wire push, pull;
  struct ss_owners owners; /* ready to be opened; its context is this struct, which must stay where it is */
};
bool ss_run_cut(struct ss_run *run, struct ss_cut *cut, struct ss_error *error) SS_MUST_CHECK;
/* Reports what every rank holds after the pull. */
bool ss_run_pulled(struct ss_run *run, struct ss_owners *owners, struct ss_error *error) SS_MUST_CHECK;
/* All of it: cut, push, sum, pull, report. */
bool ss_run_owners(struct ss_run *run, struct ss_cut *cut, struct ss_error *error) SS_MUST_CHECK;
/* Recursive doubling of the running sum, in that format, and the report. */
bool ss_run_doubling(struct ss_run *run, const struct ss_wire *wire, struct ss_error *error) SS_MUST_CHECK;
/* Every rank adds up the blocks that it holds after an all-gather, and the report. */
bool ss_run_gathered(struct ss_run *run, const struct ss_gather *gather, struct ss_error *error) SS_MUST_CHECK;
/* What every rank has added up, after a running sum. */
void ss_run_summed(struct ss_run *run, const struct ss_running *sums);

/* --- values that wait ----------------------------------------------------------------------------------- */

/* What the rank has to give: its gradient and what it kept. */
bool ss_run_copy(struct ss_run *run, uint32_t rank, struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* What it keeps until the next iteration; the arrays are copied. */
bool ss_run_keep(struct ss_run *run, uint32_t rank, const struct ss_chunk *residual,
                 struct ss_error *error) SS_MUST_CHECK;
/* The rank keeps what it had (`copy`) and did not send: copy without the rows of `sent`. */
bool ss_run_keep_without(struct ss_run *run, uint32_t rank, const struct ss_chunk *copy, const struct ss_chunk *sent,
                         struct ss_error *error) SS_MUST_CHECK;

/* Options of schemes that select the largest entries, and what they make of them: "k", or "density" of all elements;
 * a shard has its even share. 0: the scheme selects nothing. */
#define SS_OPTION_DENSITY                                                                                            \
  { "density", SS_OPTION_REAL, NULL, 0, 1, 0.01, "share of the elements that a rank selects" }
#define SS_OPTION_K                                                                                                  \
  { "k", SS_OPTION_COUNT, NULL, 1, UINT32_MAX, 0, "elements that a rank selects (instead of density)" }
uint64_t ss_run_k(const struct ss_run *run);
bool ss_check_k(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes, struct ss_error *error);
/* The rank's copy and its `k` largest entries (ties to the lower index). */
bool ss_run_select(struct ss_run *run, uint32_t rank, uint64_t k, struct ss_chunk *copy, struct ss_chunk *selected,
                   struct ss_error *error) SS_MUST_CHECK;
/* The rank keeps all of its copy but what it selected and what is in the result too. */
bool ss_run_keep_unapplied(struct ss_run *run, uint32_t rank, const struct ss_chunk *copy,
                           const struct ss_chunk *selected, const struct ss_chunk *result,
                           struct ss_error *error) SS_MUST_CHECK;

/* --- the list ------------------------------------------------------------------------------------------- */

/* All schemes, in the order of `list schemes`; NULL-terminated. */
const struct ss_scheme *const *ss_schemes(void);
/* By name; what follows a ':' is the scheme's to read. */
const struct ss_scheme *ss_scheme_find(const char *name);

/* A scheme's name, or {"name", "label", OPTION...: value, "index_bytes", "granularity", "sizes", "hierarchy"}.
 * `defaults` gives the last four where the node does not. */
bool ss_setting_read(struct ss_node node, const struct ss_setting *defaults, struct ss_setting *out,
                     struct ss_error *error) SS_MUST_CHECK;
/* "index_bytes", "granularity", "sizes" and "hierarchy" of an object that has other keys too: a scheme, or the
 * scenario. */
bool ss_setting_read_common(struct ss_node node, struct ss_setting *out, struct ss_error *error) SS_MUST_CHECK;

#endif
