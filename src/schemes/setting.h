/* Settings: a scheme with values for its options, as a scenario names it; and what follows from one. */
#pragma once

#include "base/fields.h"
#include "sim/play.h"

struct ss_scheme;

enum ss_option_kind { SS_OPTION_CHOICE, SS_OPTION_FLAG, SS_OPTION_COUNT, SS_OPTION_REAL };

/* An option of a scheme. A scheme's file numbers its options by an enum, and lists them under these numbers:
 * [ALGORITHM] = {"algorithm", ...}; setting->value[ALGORITHM] is then what was said. */
struct ss_option {
  const char *name; /* NULL ends a table */
  enum ss_option_kind kind;
  const char *const *choices; /* NULL-terminated, for SS_OPTION_CHOICE */
  uint64_t low, high;         /* for SS_OPTION_COUNT: [low, high]; for SS_OPTION_REAL: (low, high]; a choice below
                                 `low` that nobody gave is not told */
  double default_value;       /* index of the choice, 0 or 1, the count, or the number */
  const char *help;
  /* Values that `plan` tries where nobody names schemes, for options that trade nothing but time: "all", every
   * choice; a choice, or "true" of a flag, beside the default; "2..", of a count: 2, 4, 8, ... up to the ranks,
   * beside the default. NULL: none. */
  const char *tries;
};

/* The first two options of every scheme that selects the largest elements: "density" of all elements, or "k". */
enum { SS_DENSITY, SS_K, SS_K_OPTIONS };
#define SS_OPTION_DENSITY                                                                                            \
  { "density", SS_OPTION_REAL, NULL, 0, 1, 0.01, "share of the elements that a rank selects", NULL }
#define SS_OPTION_K                                                                                                  \
  { "k", SS_OPTION_COUNT, NULL, 1, UINT32_MAX, 0, "elements that a rank selects (instead of density)", NULL }

enum { SS_OPTIONS_MAX = 8 };

enum ss_hierarchy { SS_FLAT, SS_SHARD, SS_LEADER, SS_SPARSE_SHARD };
/* What moves inside a node are dense sums. */
static inline bool ss_hierarchy_dense(enum ss_hierarchy hierarchy) {
  return hierarchy == SS_SHARD || hierarchy == SS_LEADER;
}

struct ss_setting {
  const struct ss_scheme *scheme;
  char label[96];                 /* what tables and `expect` call it: the scheme's name unless given */
  uint64_t value[SS_OPTIONS_MAX]; /* by number of the option: a count, the index of a choice, or a flag */
  double real[SS_OPTIONS_MAX];    /* of SS_OPTION_REAL */
  bool given[SS_OPTIONS_MAX];     /* said, not a default */
  uint32_t index_bytes;
  bool element;        /* "granularity": "element" */
  bool exchange_sizes; /* "sizes": "exchanged" */
  enum ss_ragged ragged;
  bool sizes_said, ragged_said; /* by somebody; else both are the library's (ss_setting_settle) */
  double call;                  /* s that hosts wait once sizes came: the library's */
  enum ss_hierarchy hierarchy;
  uint32_t ranks, per_node; /* where it is read for, which counts may follow ("ranks/8"); 0: nobody knows */
};

/* What a scheme and a scenario may both say; the names end with NULL. */
extern const char *const ss_grains[], *const ss_size_ways[], *const ss_ragged_ways[], *const ss_hierarchies[];
#define SS_SETTING_FIELDS                                                                                            \
  {"index_bytes", "of an index (4)", SS_IS_COUNT(0, 16), SS_STORED(struct ss_setting, index_bytes)},                 \
      {"granularity", "what an index stands for (row)", SS_IS_CHOICE(ss_grains),                                     \
       SS_STORED(struct ss_setting, element)},                                                                       \
      {"sizes", "of messages: known for nothing, or exchanged first (the library's; free without one)",              \
       SS_IS_CHOICE(ss_size_ways), SS_STORED(struct ss_setting, exchange_sizes)},                                    \
      {"ragged", "how gathers and exchanges of unlike lengths travel (the library's; v without one)",                \
       SS_IS_CHOICE(ss_ragged_ways), SS_STORED(struct ss_setting, ragged)},                                          \
  {                                                                                                                  \
    "hierarchy", "what nodes do before the scheme runs between them (none)", SS_IS_CHOICE(ss_hierarchies),           \
        SS_STORED(struct ss_setting, hierarchy)                                                                      \
  }
/* The ways to name a scheme: for fields that are either. */
extern const struct ss_field_spec ss_setting_forms[];

/* A scheme's name, or {"name", "label", OPTION...: value, "index_bytes", "granularity", "sizes", "ragged",
 * "hierarchy"}. `defaults` gives the last five where the node does not. */
bool ss_setting_read(struct ss_node node, const struct ss_setting *defaults, struct ss_setting *out,
                     struct ss_error *error) SS_MUST_CHECK;
/* "index_bytes", "granularity", "sizes", "ragged" and "hierarchy" of an object that has other keys too: a scheme, or
 * the scenario. */
bool ss_setting_read_common(struct ss_node node, struct ss_setting *out, struct ss_error *error) SS_MUST_CHECK;

/* The scheme's own options by name, the caller's; `all`: also choices, flags and reals that nobody gave. */
struct cJSON *ss_setting_own_json(const struct ss_setting *setting, bool all);
/* All of these, and "index_bytes", "granularity", "sizes", "hierarchy", and "ragged" where it is not "v". */
struct cJSON *ss_setting_json(const struct ss_setting *setting);

/* For code that knows no scheme: the value of the option of that name, and whether it was said. NULL and false where
 * the scheme has no such option. */
const uint64_t *ss_setting_find(const struct ss_setting *setting, const char *option);
bool ss_setting_given(const struct ss_setting *setting, const char *option);
/* The option is there, and stands at that choice. */
bool ss_setting_says(const struct ss_setting *setting, const char *option, const char *choice);
/* Puts an option to that choice; NULL: to its default. The scheme must have both: a wrong name ends the program. */
void ss_setting_choose(struct ss_setting *setting, const char *option, const char *choice);
/* Puts all options of its scheme to their defaults. */
void ss_setting_reset(struct ss_setting *setting);

/* --- what follows from a setting ------------------------------------------------------------------------ */

/* Ranks on nodes: rank r lives on node floor(r / per_node). */
struct ss_layout {
  uint32_t ranks, nodes, per_node;
  uint32_t cards;   /* of a node; 0: not known, and nobody sends by several */
  bool nccl;        /* calls are NCCL's, which has protocols */
  bool mpi;         /* calls are an MPI library's, or hosts': by default they go by one ring (ss_cluster_mpi) */
  bool switch_sums; /* switches between nodes add up what passes */
};

/* What a scheme needs and promises. */
struct ss_traits {
  bool lists;      /* bytes depend on which rows there are, not only on how many: runs without proof need lists too */
  bool lookups;    /* it needs the rows as they were looked up */
  bool duplicates; /* ranks contribute every lookup, not every row once */
  bool fetches;    /* it exchanges looked-up parameters alone: there are no gradients */
  bool conserves;  /* gradient and old residual = result and new residual, as sums over ranks */
  bool joint;      /* tables of a trace travel in one exchange, not one after the other */
  bool pools;      /* bags of looked-up rows travel as one vector */
  bool sends;      /* messages of unlike lengths are plain sends alone, which "ragged" leaves as they are */
  bool placed;     /* each of them lives where the scenario's placement says */
  uint32_t servers; /* endpoints besides the ranks */
  uint32_t owners;  /* ranks that hold a table whole among them, where it is cut; 0: all */
  uint32_t rings;   /* that it plays side by side, each with ports of its own (ss_run_rings); 0 is 1 */
  uint64_t parts;   /* even row ranges that a uniform tensor must divide into; 0: any number */
};
/* In a layout as the scheme's own code sees it: among the nodes, with a hierarchy. */
struct ss_traits ss_setting_traits(const struct ss_setting *setting, struct ss_layout layout);

/* All that it sends takes the bytes of dense rows. */
bool ss_setting_sends_dense(const struct ss_setting *setting);
/* What `said` says of sizes and of how messages of unlike lengths travel holds where the setting says nothing. */
void ss_setting_fill(struct ss_setting *setting, const struct ss_setting *said);
/* How messages of unlike lengths travel, and whether sizes go first, is the library's where nobody said it; nothing
 * changes without a library, nor for what has no such messages. */
void ss_setting_settle(struct ss_setting *setting, const struct ss_library *library);

/* Ranks contribute every row once. */
bool ss_setting_coalesces(const struct ss_setting *setting);
/* Nothing that ranks put in is lost: what is not applied now is kept. */
bool ss_setting_conserves(const struct ss_setting *setting);
/* The scheme plays single elements, not rows: it always does, or the setting says so and it can. */
bool ss_setting_by_elements(const struct ss_setting *setting);

/* Endpoints besides the ranks, of the whole layout. */
uint32_t ss_setting_servers(const struct ss_setting *setting, struct ss_layout layout);
/* Rings side by side, which the network has to know. */
uint32_t ss_setting_rings(const struct ss_setting *setting, struct ss_layout layout);
/* Even row ranges that a uniform tensor must divide into. */
uint64_t ss_setting_parts(const struct ss_setting *setting, struct ss_layout layout);
/* All ranks are in one node, and a hierarchy sums densely there: nothing of the scheme itself is left. */
bool ss_setting_all_dense(const struct ss_setting *setting, struct ss_layout layout);
/* Options that cannot work with so many ranks and nodes. */
bool ss_setting_check(const struct ss_setting *setting, struct ss_layout layout,
                      struct ss_error *error) SS_MUST_CHECK;

/* To `adapt` the traits of a scheme: a uniform tensor must divide into an even part for every rank. */
void ss_part_for_every_rank(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits);

/* "zen:format=coo,balance=even" on a command line: ends the name and returns the options behind it; NULL: none. */
char *ss_setting_split(char *text);
/* Sets them in the scheme's object, as ss_doc_set takes values; NULL sets none. The text is used up. */
bool ss_setting_set_options(struct ss_doc *doc, char *options, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
