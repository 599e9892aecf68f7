/* One synchronisation of one tensor, simulated or (exec/) executed. */
#pragma once

#include "schemes/proof.h"
#include "schemes/scheme.h"
#include "schemes/select.h"
#include "sim/engine.h"

/* What a simulation needs beside scheme and input. */
struct ss_world {
  const struct ss_cluster *cluster;
  const struct ss_device *device;
  bool verify;
  struct ss_state *state; /* of the iterations before; NULL: this one stands alone */
  /* Several clusters at once, of which `cluster` is the first, and which differ in nothing but their links and
   * network models (the same gpus_per_node, and as many rings for the setting); NULL: only `cluster`. */
  const struct ss_cluster *const *clusters;
  uint32_t cluster_count;
  uint32_t threads;    /* on which the clusters' networks play; 0 is 1 */
  const double *paces; /* [clusters] how many times as long as the device says kernels take on each; NULL: once */
  /* Plays the rounds in place of the clusters' network models; every endpoint lives in it, and there are no tallies.
   * NULL: the network models do. */
  struct ss_player *player;
};

struct ss_outcome {
  struct ss_tally tally; /* on the first cluster */
  bool proven;           /* a proof was made: */
  bool exact;            /* every rank ended with the exact sum (lossless schemes) */
  bool sound;            /* exact; or, for values: all ranks ended with the same, and what must be conserved was */
  char mismatch[160];    /* why not, when not */
  double push_imbalance, pull_imbalance; /* ZEN Def. 8; NaN where the scheme has no parts */
  double energy, energy_lost;  /* of the values that ranks had: applied, and gone for good; NaN: not known */
  double error_l2, error_mean; /* of estimates, over decoded elements; NaN where nothing is estimated */
  double dropped;              /* share of the lookups that found no room; NaN: there is room for all */
  uint64_t k;                  /* entries that a rank selects; 0: none are selected */
  uint64_t peak, server_peak;  /* B that a rank, and a server, holds at most (docs/model.md, "Memory") */
  uint64_t own, besides; /* B of a rank's peak: the largest gradient, and the most that is held beside the own */
  struct ss_kernel_total work[SS_KERNELS]; /* of the endpoint that computed longest; 0 where none are counted */
  /* only where the caller put arrays there: */
  uint64_t *rank_sent, *rank_received; /* [ranks] on the first cluster */
  struct ss_tally *tallies;            /* [clusters] bit by bit those of each cluster alone */
};

struct ss_layout ss_layout_of(const struct ss_cluster *cluster, uint32_t ranks);
/* The setting as the cluster's library plays it on a tensor of so many bytes, where nobody said how (docs/model.md,
 * "NCCL's choice"). */
void ss_setting_tune(struct ss_setting *setting, const struct ss_cluster *cluster, uint32_t ranks, uint64_t bytes);
/* What the setting's messages find on the cluster, and what the call takes besides (s): by the protocol of NCCL that
 * it says; else the cluster itself, and nothing. */
struct ss_cluster ss_setting_cluster(const struct ss_setting *setting, const struct ss_cluster *cluster,
                                     const struct ss_input *input, double *start);

/* What the input must carry for this setting. */
struct ss_input_options ss_setting_input_options(const struct ss_setting *setting, uint32_t ranks, bool verify,
                                                 bool device);

/* Simulates on the network models of the world's clusters. A result found wrong is no error here: see `sound`. The
 * arena is used and may be reset by the caller afterwards. */
bool ss_simulate(const struct ss_setting *setting, const struct ss_world *world, const struct ss_input *input,
                 struct ss_arena *arena, struct ss_outcome *out, struct ss_error *error) SS_MUST_CHECK;

/* A scheme on any player with any proof: what ss_simulate, the tests and exec have in common. */
struct ss_stage {
  const struct ss_setting *setting;
  const struct ss_input *input;
  uint32_t servers, per_node, rings; /* rings: of ss_setting_rings, as the player's network has them; 0 is 1 */
  struct ss_player *player;
  const struct ss_device *device;
  bool payloads;
  bool lists; /* dense payloads carry the rows inside them, not proof units: they may have floats then */
  const struct ss_chunk *own; /* what ss_run_own made */
  struct ss_proof *proof;
  struct ss_state *state; /* begun */
  struct ss_arena *arena;
  struct ss_kernel_total *work; /* [endpoints * SS_KERNELS] filled in, of endpoints that live here; NULL: not asked */
};
/* `final`: of a scheme that aggregates values; NULL: not asked. */
bool ss_stage_run(const struct ss_stage *stage, struct ss_final *final, struct ss_outcome *out,
                  struct ss_error *error) SS_MUST_CHECK;

/* What each rank contributes under the setting: chunks, with what `content` asks for. */
struct ss_own_content {
  bool proofs;        /* proof integers */
  const bool *values; /* [ranks] the ranks that have values too; NULL: none has */
};
bool ss_run_own(const struct ss_setting *setting, const struct ss_input *input, struct ss_own_content content,
                struct ss_arena *arena, const struct ss_chunk **own, struct ss_error *error) SS_MUST_CHECK;

/* --- what an iteration starts from: what ranks have of a tensor, less what a selection leaves out ---------- */

/* What is to be made of the tensor: as ss_setting_input_options; but what is selected is selected by elements and by
 * their values. */
struct ss_input_options ss_iteration_options(const struct ss_setting *setting, const struct ss_selection *selection,
                                             uint32_t ranks, bool verify, bool device);
/* Replaces the input, made with those options, by what the selector selects of it for the scheme. */
bool ss_iteration_select(const struct ss_setting *setting, struct ss_selector *selector, struct ss_input *input,
                         struct ss_arena *arena, struct ss_error *error) SS_MUST_CHECK;
/* Rows, widths and bytes of the tensor as the scheme sees it, without content. */
bool ss_iteration_shape(const struct ss_setting *setting, const struct ss_selection *selection,
                        const struct ss_origin *origin, struct ss_input *out, struct ss_error *error) SS_MUST_CHECK;

/* --- how libraries sum dense tensors: the ways among which the fastest is taken where nobody says which ----- */

struct ss_dense_way {
  const char *algorithm; /* of `allreduce` */
  const char *name;      /* in results */
  enum ss_hierarchy hierarchy;
};

/* Flat rings come last, as it is known what they take at the least; where they take as long as another way, they are
 * the ones that are named. */
enum { SS_DENSE_WAYS = 5, SS_DENSE_RINGS = SS_DENSE_WAYS - 1 };
extern const struct ss_dense_way ss_dense_ways[SS_DENSE_WAYS];

/* The name in results of a setting of `allreduce` as NCCL chose it (ss_setting_tune): "nccl ring simple". */
const char *ss_dense_library_name(const struct ss_setting *setting);
/* A name of one or of the other, as a constant; NULL: it is none. */
const char *ss_dense_way_name(const char *text);

/* The setting is of `allreduce` and names no way of its own. */
bool ss_dense_is_open(const struct ss_setting *setting);
/* Makes it one of that way; false: ranks that sit so have no such way, or it is not worth playing, or NCCL chooses.
 */
bool ss_dense_way_take(const struct ss_dense_way *way, const struct ss_cluster *cluster, uint32_t ranks,
                       struct ss_setting *setting);
/* SPDX-License-Identifier: Apache-2.0 */
