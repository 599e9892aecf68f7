/* Communication libraries: which one a cluster uses, and what it makes of the links.
 *
 * NCCL sends by rings or by two trees, in one of three protocols. Its tuner takes what it believes to be fastest
 * (sim/collectives/tuner.h); what it believes is a file of models/libraries, of which every number is cited from
 * NCCL's source. What an algorithm and protocol really cost is the cluster's: ss_cluster_protocol. */
#pragma once

#include "base/fields.h"
#include "machine/link.h"

struct ss_cluster;

enum ss_library_kind { SS_NO_LIBRARY, SS_NCCL, SS_OPEN_MPI, SS_MPICH, SS_CRAY_MPICH, SS_GLOO };
extern const char *const ss_library_names[]; /* "none", "nccl", ...; ended by NULL */
static inline bool ss_library_mpich(enum ss_library_kind kind) {
  return kind == SS_MPICH || kind == SS_CRAY_MPICH;
}
static inline bool ss_library_mpi(enum ss_library_kind kind) {
  return kind == SS_OPEN_MPI || ss_library_mpich(kind);
}

/* What `bytes` of a call are: */
enum ss_collective {
  SS_ALLREDUCE,      /* the vector */
  SS_ALLGATHER,      /* what each rank ends with */
  SS_REDUCE_SCATTER, /* what each rank begins with */
  SS_ALLTOALL,       /* what each rank holds for all */
  SS_BROADCAST,      /* the vector that all get of rank 0, */
  SS_REDUCE,         /* or that it gets of all */
  SS_SENDRECV,       /* the message of every rank to the next one */
  SS_PING_PONG,      /* the message of the first rank to the last */
  SS_COLLECTIVES
};
extern const char *const ss_collective_names[]; /* "allreduce", ...; ended by NULL */

enum ss_way { SS_WAY_RING, SS_WAY_TREE, SS_WAYS };
enum ss_protocol { SS_LL, SS_LL128, SS_SIMPLE, SS_PROTOCOLS };
extern const char *const ss_way_names[], *const ss_protocol_names[]; /* "ring", ...; "ll", "ll128", "simple" */

enum ss_gpu { SS_VOLTA, SS_AMPERE, SS_HOPPER, SS_GPUS };
enum ss_cpu { SS_INTEL, SS_AMD, SS_CPUS };
extern const char *const ss_gpu_names[], *const ss_cpu_names[]; /* "volta", ...; "intel", "amd" */

struct ss_by_protocol {
  double of[SS_PROTOCOLS];
};
struct ss_by_way {
  struct ss_by_protocol of[SS_WAYS];
};
struct ss_by_nodes {
  double of[3]; /* one node, two, more */
};
enum { SS_CORRECTIONS = 23, SS_SPEEDS = 24 };

/* What NCCL's tuner believes: models/libraries. Times in s, rates in B/s. */
struct ss_beliefs {
  struct ss_by_way base, nvlink, pci, net; /* of a call; of a step inside a node, and between nodes */
  double post[SS_CPUS], post_simple;       /* of a step, at least; of Simple so many times that */
  double ll_inside;                    /* of LL inside one of several nodes so many times nvlink or pci; 0: once */
  uint64_t between_less;               /* steps of an all-reduce's rings between N nodes: 2N less these */
  struct ss_by_nodes ll_most[SS_GPUS]; /* of all channels; of one: */
  struct ss_by_nodes tree_most[SS_GPUS], ring_ll128_most[SS_GPUS], tree_ll128_most[SS_GPUS];
  bool tree_together; /* tree_most is of all channels, too */
  struct {
    double ring_ll, ring_ll_one_way, ring_ll128, ring_ll128_one_rank, tree, tree_ll, tree_ll128, tree_ll128_inside;
  } share;                                         /* of the channels' rate */
  double correction[SS_PROTOCOLS][SS_CORRECTIONS]; /* of trees' rates, by log2 of bytes / 64 */
  double plateau[SS_GPUS];
  uint64_t plateau_rank;          /* B of a rank from which it is; 0: 64 a rank and channel */
  double speeds[2][2][SS_SPEEDS]; /* [Hopper][between nodes]: a channel's rates that are tried, descending */
  double nvlinks[SS_GPUS];        /* of all links of a GPU together */
  uint64_t chunk[SS_PROTOCOLS];   /* B that travel through a channel's tree at once; */
  bool shrinks;                   /* in Simple fewer, where there are few chunks */
  uint64_t channel_least[SS_PROTOCOLS], slice_least; /* B of a call for each channel; of a slice of rings in Simple */
};

struct ss_library {
  enum ss_library_kind kind;
  char version[16];
  enum ss_gpu gpu;
  enum ss_cpu cpu;
  bool pci;                                   /* GPUs of a node have no NVLink */
  bool ll128;                                 /* may be taken */
  uint32_t channels;                          /* 0: as many as cards */
  double channel_rate;                        /* B/s; 0: by the cards */
  struct ss_link cost[SS_WAYS][SS_PROTOCOLS]; /* of a message between nodes; `beta` 0: not given */
  double start[SS_PROTOCOLS];                 /* s a call */
  double call;                                /* s that a host waits for what a call brought, to act on it */
  struct ss_beliefs beliefs;                  /* of NCCL */
};

extern const struct ss_object_spec ss_library_fields, ss_beliefs_fields;
/* Reads a cluster's "library" and, of NCCL, the file of its version, or else of the nearest before it, which
 * `warning` then tells (else it stays as it is). */
bool ss_library_read(struct ss_node node, struct ss_library *out, char warning[256],
                     struct ss_error *error) SS_MUST_CHECK;
/* Messages of an exchange that it has under way; UINT32_MAX: all. NCCL posts a group of sends and receives at once,
 * but was measured to have two under way (docs/model.md, "What libraries have under way"); gloo has all
 * (gloo/alltoall.cc), MPICH and Cray's 32 (MPIR_CVAR_ALLTOALL_THROTTLE, of scattered exchanges and all ragged ones);
 * Open MPI's pairwise exchange has one (coll_base_alltoallv.c). */
uint32_t ss_library_window(const struct ss_library *library);
bool ss_library_same(const struct ss_library *a, const struct ss_library *b);

/* The channels that NCCL finds for a call on so many nodes, and the rate of each (B/s). */
struct ss_channels {
  uint32_t count;
  double rate;
};
struct ss_channels ss_library_channels(const struct ss_cluster *cluster, uint32_t nodes);

/* What NCCL believes all channels of a node carry (B/s), by a way and protocol; `one_way`: of a gather or scatter. */
double ss_library_rate(const struct ss_cluster *cluster, enum ss_way way, enum ss_protocol protocol, uint32_t ranks,
                       bool one_way);

/* The cluster as messages of that way and protocol see it, in calls of so many ranks: between nodes the library's
 * costs; where they are not given, `inter` is that of rings in Simple, and the others differ from it as the library
 * believes them to; and so do all inside nodes (docs/model.md, "NCCL's choice"). */
struct ss_cluster ss_cluster_protocol(const struct ss_cluster *cluster, enum ss_way way, enum ss_protocol protocol,
                                      uint32_t ranks);
/* s, of a call. */
double ss_library_start(const struct ss_cluster *cluster, enum ss_protocol protocol);
/* SPDX-License-Identifier: Apache-2.0 */
