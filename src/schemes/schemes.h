/* One synchronisation of one tensor, simulated or (exec/) executed. */
#ifndef SS_SCHEMES_SCHEMES_H
#define SS_SCHEMES_SCHEMES_H

#include "schemes/scheme.h"
#include "sim/engine.h"

/* --- hierarchies: any scheme among nodes, with dense sums inside them (ZEN §4) --------------------------- */

/* Ranks on nodes: rank r lives on node floor(r / per_node). */
struct ss_layout {
  uint32_t ranks, nodes, per_node;
};

/* Groups in which the scheme runs at once, and the ranks of each: one of all ranks; one of the nodes' leaders; or,
 * for shards, as many as a node has ranks. */
uint32_t ss_hierarchy_groups(enum ss_hierarchy hierarchy, struct ss_layout layout);
uint32_t ss_hierarchy_ranks(enum ss_hierarchy hierarchy, struct ss_layout layout);

/* shard: ring reduce-scatter inside every node; rank i of every node runs the scheme with those of the other nodes on
 * shard i; ring all-gather inside every node. leader: binomial reduce to the node's first rank, the scheme among
 * those, binomial broadcast. What moves inside a node takes dense bytes. */
bool ss_hierarchy_run(struct ss_run *run, uint32_t per_node, struct ss_error *error) SS_MUST_CHECK;

/* --- simulation ------------------------------------------------------------------------------------------ */

/* What a simulation needs beside scheme and input. */
struct ss_world {
  const struct ss_cluster *cluster;
  const struct ss_device *device;
  bool verify;
  struct ss_memory *memory; /* of the iterations before; NULL: this one stands alone */
  const double *paces; /* [clusters] how many times as long as the device says kernels take on each; NULL: once */
};

struct ss_outcome {
  struct ss_tally tally;
  bool proven;        /* a proof was made: */
  bool exact;         /* every rank ended with the exact sum (lossless schemes) */
  bool sound;         /* exact; or, for values: all ranks ended with the same, and what must be conserved was */
  char mismatch[160]; /* why not, when not */
  double push_imbalance, pull_imbalance;
  double energy, energy_lost;          /* of the values that ranks had: applied, and gone for good; NaN: not known */
  double error_l2, error_mean;         /* of estimates, over decoded elements; NaN where nothing is estimated */
  uint64_t k;                          /* entries that a rank selects; 0: none are selected */
  uint64_t *rank_sent, *rank_received; /* [ranks], only when the caller put arrays there */
};

/* What the input must carry for this setting. */
struct ss_input_options ss_setting_input_options(const struct ss_setting *setting, uint32_t ranks, bool verify,
                                                 bool device);

struct ss_layout ss_layout_of(const struct ss_cluster *cluster, uint32_t ranks);
/* Endpoints besides the ranks. */
uint32_t ss_setting_servers(const struct ss_setting *setting, struct ss_layout layout);
/* Even row ranges that a uniform tensor must divide into. */
uint64_t ss_setting_parts(const struct ss_setting *setting, struct ss_layout layout);
/* Options that cannot work with so many ranks and nodes. */
bool ss_setting_check(const struct ss_setting *setting, struct ss_layout layout,
                      struct ss_error *error) SS_MUST_CHECK;

/* Simulates on the cluster's network model. A result found wrong is no error here: see `sound`. The arena is used and
 * may be reset by the caller afterwards. */
bool ss_simulate(const struct ss_setting *setting, const struct ss_world *world, const struct ss_input *input,
                 struct ss_arena *arena, struct ss_outcome *out, struct ss_error *error) SS_MUST_CHECK;
/* On `count` clusters at once, which differ in nothing but their links and network models (the same gpus_per_node;
 * the world's own is not looked at). tallies[count]: bit by bit those of each cluster alone; the outcome's is the
 * first. */
bool ss_simulate_all(const struct ss_setting *setting, const struct ss_world *world,
                     const struct ss_cluster *const *clusters, uint32_t count, const struct ss_input *input,
                     struct ss_arena *arena, struct ss_outcome *out, struct ss_tally *tallies,
                     struct ss_error *error) SS_MUST_CHECK;

/* A scheme on any player with any proof: what ss_simulate, the tests and exec have in common. */
struct ss_stage {
  const struct ss_setting *setting;
  const struct ss_input *input;
  uint32_t servers, per_node;
  struct ss_player *player;
  const struct ss_device *device;
  bool payloads;
  bool lists; /* dense payloads carry the rows inside them, not proof units: marks may be values then */
  const struct ss_chunk *own; /* what ss_run_own made */
  struct ss_proof *proof;
  struct ss_memory *memory; /* begun */
  struct ss_arena *arena;
};
/* `final`: what the first rank ended with, of a scheme that aggregates values, and in what grain; NULL: not asked. */
struct ss_final {
  struct ss_chunk chunk;
  double grain;
};
bool ss_stage_run(const struct ss_stage *stage, struct ss_final *final, struct ss_outcome *out,
                  struct ss_error *error) SS_MUST_CHECK;

/* What each rank contributes under the setting: chunks with marks (when `marks`) and values (for ranks where
 * values[r] is set; NULL: none). */
bool ss_run_own(const struct ss_setting *setting, const struct ss_input *input, bool marks, const bool *values,
                struct ss_arena *arena, const struct ss_chunk **own, struct ss_error *error) SS_MUST_CHECK;

/* --- proofs ---------------------------------------------------------------------------------------------- */

/* The brute-force sum over ranks, by marks. Made from the input alone, row by row. */
bool ss_reference_open(const struct ss_setting *setting, const struct ss_input *input, struct ss_proof **out,
                       struct ss_error *error) SS_MUST_CHECK;
void ss_reference_close(struct ss_proof *proof);

/* What values ranks had, and what became of them: the proof of schemes that do not apply all at once. Sums over
 * ranks, element by element into a table as long as the tensor: the obvious way. */
struct ss_mass {
  uint64_t rows;
  uint64_t *had; /* [rows] gradient and old residual, in units */
};

/* `own` and the memory's residuals, before the run. Close also after a failed open. */
bool ss_mass_open(struct ss_mass *mass, uint64_t rows, const struct ss_chunk *own, const struct ss_memory *memory,
                  struct ss_error *error) SS_MUST_CHECK;
/* Takes away what was applied (`final`; NULL: nothing) and what ranks keep. What is left is lost, or came from
 * nowhere.
 */
void ss_mass_settle(struct ss_mass *mass, const struct ss_chunk *final, const struct ss_memory *memory);
/* Sets energies, errors and, where the scheme says that it conserves what ranks had, `sound`. */
void ss_mass_judge(struct ss_mass *mass, const struct ss_setting *setting, const struct ss_final *final,
                   const struct ss_memory *memory, struct ss_outcome *out);
void ss_mass_close(struct ss_mass *mass);

#endif
