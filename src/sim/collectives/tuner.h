/* What NCCL takes for a call: rings or trees, in LL, LL128 or Simple, by its own beliefs (machine/library.h) and its
 * own formula (src/graph/tuning.cc of NCCL; docs/model.md, "NCCL's choice"). */
#pragma once

#include "machine/cluster.h"
#include "sim/collectives/patterns.h"

struct ss_choice {
  enum ss_way way;
  enum ss_protocol protocol;
  double seconds; /* that NCCL believes it takes; NaN: it has nothing to choose there */
};

/* The cluster's library is NCCL, its model "fair", and there is a choice for that collective. */
bool ss_tuner_chooses(const struct ss_cluster *cluster, enum ss_collective collective);
/* "ring" or "trees", as struct ss_algorithm names them. */
const char *ss_choice_algorithm(struct ss_choice choice);

/* For a call on a cluster whose library is NCCL; `bytes` as in struct ss_pattern_call. Calls other than all-reduce,
 * all-gather and reduce-scatter are played in Simple. */
struct ss_choice ss_tuner_choose(const struct ss_cluster *cluster, enum ss_collective collective, uint32_t ranks,
                                 uint64_t bytes);
/* What it believes a way and protocol takes (s); INFINITY: they are not to be had. */
double ss_tuner_believes(const struct ss_cluster *cluster, enum ss_collective collective, uint32_t ranks,
                         uint64_t bytes, struct ss_choice of);

/* The choice as a call of a pattern, and the cluster that it finds; to what the call takes there comes
 * ss_library_start. Trees go in chunks, as many as NCCL makes, at most 256. */
struct ss_pattern_call ss_choice_call(const struct ss_cluster *cluster, struct ss_choice choice,
                                      enum ss_collective collective, uint32_t ranks, uint64_t bytes);
struct ss_cluster ss_choice_cluster(const struct ss_cluster *cluster, struct ss_choice choice,
                                    const struct ss_pattern_call *call);
/* How long that takes altogether (s). */
bool ss_choice_time(const struct ss_cluster *cluster, struct ss_choice choice, enum ss_collective collective,
                    uint32_t ranks, uint64_t bytes, double *seconds, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
