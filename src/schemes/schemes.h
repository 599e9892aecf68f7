/* One synchronisation of one tensor, simulated or (exec/) executed. */
#ifndef SS_SCHEMES_SCHEMES_H
#define SS_SCHEMES_SCHEMES_H

#include "schemes/scheme.h"
#include "sim/engine.h"

/* What a simulation needs beside scheme and input. */
struct ss_world {
  const struct ss_cluster *cluster;
  const struct ss_device *device;
  bool verify;
};

struct ss_outcome {
  struct ss_tally tally;
  bool proven; /* a proof was made; `exact` is its verdict */
  bool exact;
  char mismatch[160]; /* why not, when not */
  double push_imbalance, pull_imbalance;
  uint64_t *rank_sent, *rank_received; /* [ranks], only when the caller put arrays there */
};

/* What the input must carry for this setting. */
struct ss_input_wish ss_setting_wish(const struct ss_setting *setting, uint32_t ranks, bool verify, bool device);

/* Endpoints besides the ranks. */
uint32_t ss_setting_servers(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes);
/* Options that cannot work with so many ranks and nodes. */
bool ss_setting_check(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes,
                      struct ss_error *error) SS_MUST_CHECK;

/* Simulates on the cluster's network model. A lossless scheme found inexact is no error here: see `exact`. The arena
 * is used and may be reset by the caller afterwards. */
bool ss_simulate(const struct ss_setting *setting, const struct ss_world *world, const struct ss_input *input,
                 struct ss_arena *arena, struct ss_outcome *out, struct ss_error *error) SS_MUST_CHECK;

/* Runs the scheme on any player with any proof: what ss_simulate, the tests and exec have in common. `own` is
 * what ss_run_own made. */
bool ss_run_play(const struct ss_setting *setting, const struct ss_input *input, uint32_t servers,
                 struct ss_player *player, const struct ss_device *device, bool payloads, const struct ss_chunk *own,
                 struct ss_proof *proof, struct ss_arena *arena, struct ss_outcome *out,
                 struct ss_error *error) SS_MUST_CHECK;

/* What each rank contributes under the setting: chunks with marks (when `marks`) and values (for ranks where
 * values[r] is set; NULL: none). */
bool ss_run_own(const struct ss_setting *setting, const struct ss_input *input, bool marks, const bool *values,
                struct ss_arena *arena, const struct ss_chunk **own, struct ss_error *error) SS_MUST_CHECK;

/* The brute-force sum over ranks, by marks. Made from the input alone, row by row. */
bool ss_reference_open(const struct ss_setting *setting, const struct ss_input *input, struct ss_proof **out,
                       struct ss_error *error) SS_MUST_CHECK;
void ss_reference_close(struct ss_proof *proof);

#endif
