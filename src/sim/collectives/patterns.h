/* Patterns: collectives as libraries have them and benchmarks time them, by named algorithms. Sizes alone are played.
 *
 * A pattern says how long a collective takes; it need not end with a sum, and so is no scheme. Rounds are those of
 * Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH" (2005), and of Open
 * MPI's coll/base; what either library copies within memory is charged as well; the two trees are those of steps.h,
 * which NCCL has too. Schemes play the same steps with payloads (collectives.h). */
#pragma once

#include "machine/cluster.h"
#include "sim/play.h"

struct ss_pattern_stage;
struct ss_pattern_phase;

struct ss_algorithm {
  enum ss_collective collective;
  const char *name;                      /* "ring" */
  const char *aliases;                   /* other names of it, a space about each; "" none */
  bool rings;                            /* may be played as several rings, or pairs of trees, side by side */
  uint64_t chunk;                        /* bytes of those that go one behind the other, by default: SS_ONE_CHUNK; 0:
                                            there are no chunks */
  struct ss_host_moves before, after;    /* of Open MPI, within a rank's memory; of MPICH where it has others: */
  struct ss_host_moves mpich;            /* before it begins */
  const struct ss_pattern_phase *phases; /* its steps (sim/collectives/steps.h); NULL: */
  bool (*play)(struct ss_pattern_stage *stage, struct ss_error *error);
};

#define SS_ONE_CHUNK UINT64_MAX
/* More than these change a pipeline by little: the first ones fill it. */
enum { SS_CHUNKS_MOST = 256 };

/* All of them, those of a collective together, its usual one first. */
const struct ss_algorithm *ss_algorithms(size_t *count);
/* By a name that the table has; of NULL the collective's first. NULL: there is no such. */
const struct ss_algorithm *ss_algorithm_of(enum ss_collective collective, const char *name);
/* By ss_collective_names or as benchmarks spell it ("all_reduce", "reducescatter"); SS_COLLECTIVES: no such. */
enum ss_collective ss_collective_of(const char *name);

/* One call of a collective. */
struct ss_pattern_call {
  const struct ss_algorithm *algorithm;
  uint32_t ranks;
  uint64_t bytes;
  uint32_t rings;  /* side by side, each with its share of the bytes and with ports of its own; ring i leaves a node
                      by its i-th card, as do both of its trees. 0 is 1 */
  uint32_t chunks; /* that pass through a tree or chain one behind the other; 0: ss_pattern_chunks */
  struct ss_host_piece memory;  /* what sums, copies and buffers take at a vector of so many bytes */
  enum ss_library_kind library; /* whose copies, buffers and order of sends are played: Open MPI's or MPICH's; others
                                   (NCCL) copy nothing */
};
/* Whose code a cluster's collectives are: SS_OPEN_MPI of hosts that sum and name no library. */
enum ss_library_kind ss_pattern_library(const struct ss_cluster *cluster);

/* How many chunks each ring's share goes in: as the call says, or as the algorithm has them, at most SS_CHUNKS_MOST.
 */
uint32_t ss_pattern_chunks(const struct ss_pattern_call *call);

/* A message's size, whether it stays inside a node, and whether it is part of an exchange, not of a chain. */
struct ss_pattern_size {
  uint64_t bytes;
  bool intra, exchange;
};
enum { SS_PATTERN_SIZES = 64 };

/* Every size that the call's messages have on such nodes; returns how many, at most SS_PATTERN_SIZES. */
uint32_t ss_pattern_sizes(const struct ss_pattern_call *call, uint32_t gpus_per_node,
                          struct ss_pattern_size sizes[SS_PATTERN_SIZES]);
/* What its messages are: all inside a node, of exchanges between nodes, or of chains between them. */
enum ss_message_kind ss_pattern_kind(const struct ss_pattern_call *call, uint32_t gpus_per_node);

/* How many messages are played one by one; those of a round in which all nodes do the same count once a rank of a
 * node. 0: memory is short. */
double ss_pattern_messages(const struct ss_pattern_call *call, uint32_t gpus_per_node);

/* Plays the call's rounds on such nodes on any player: sizes alone, and what is computed after them. */
bool ss_pattern_play(const struct ss_pattern_call *call, uint32_t gpus_per_node, struct ss_player *player,
                     struct ss_error *error) SS_MUST_CHECK;
/* seconds[count]: how long the call takes on each of the clusters, which have the same nodes. */
bool ss_pattern_times(const struct ss_cluster *const *clusters, uint32_t count, const struct ss_pattern_call *call,
                      double *seconds, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
