/* The dense baseline: how long a library needs that does not know of sparsity.
 *
 * On a cluster whose library is NCCL it is what that chooses ("nccl ring simple"); else the fastest of what libraries
 * take for a dense all-reduce: rings, a tree, Rabenseifner's halving and doubling, and rings behind shards or leaders
 * of nodes. Times of schemes are compared with it. */
#pragma once

#include "machine/uncertainty.h"
#include "schemes/simulate.h"

struct ss_point;

/* The fastest, on one network. */
struct ss_dense_time {
  double seconds;   /* NaN: there is none, for tables that travel together; 0 of a single rank */
  const char *name; /* "ring, shard"; NULL: none */
  struct ss_components components;
};

/* What was played last, kept for groups that follow each other; zeroed it is empty, and is to be freed. */
struct ss_dense_baseline {
  struct ss_arena kept, temporary;
  uint64_t key;
  struct ss_input input;
  struct ss_dense_time *time; /* [networks] */
  struct ss_setting *setting; /* [networks] of those that have a name */
  uint32_t networks;
};
/* The baseline of the point's tensor on the networks, which have the same nodes, as baseline->time. `varied`
 * [networks]: where components of times cost more; NULL: nobody asks for them. */
bool ss_dense_find(struct ss_dense_baseline *baseline, const struct ss_point *point,
                   const struct ss_cluster *const *clusters, uint32_t networks, const struct ss_variants *varied,
                   struct ss_error *error) SS_MUST_CHECK;
void ss_dense_free(struct ss_dense_baseline *baseline);
/* SPDX-License-Identifier: Apache-2.0 */
