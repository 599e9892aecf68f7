/* A cluster: how ranks sit on nodes, which links they share, and what a message costs. Read from models/clusters/. */
#pragma once

#include "base/fields.h"
#include "base/notice.h"
#include "machine/accuracy.h"
#include "machine/host_memory.h"
#include "machine/jitter.h"
#include "machine/library.h"

enum { SS_SEGMENTS_MAX = 8, SS_FABRIC_MAX = 6 };

/* A piece of a link class: what messages of at most `up_to` bytes cost that no earlier piece covers. */
struct ss_segment {
  uint64_t up_to; /* B; UINT64_MAX in the last */
  struct ss_link link;
};

/* Messages of one kind. `count` 0: a plain latency and bandwidth, which stand in the cluster's `inter`, `intra` or
 * `exchange`; else these pieces, of which that link repeats the last. */
struct ss_segments {
  uint32_t count;
  struct ss_segment piece[SS_SEGMENTS_MAX];
};

/* A level of the fabric above the nodes: each `nodes` nodes have one uplink and one downlink. */
struct ss_fabric_level {
  uint32_t nodes;
  double oversubscription; /* cards of a full group to an uplink's bandwidth; 0: the bandwidth is given */
  double bandwidth;        /* B/s of an uplink */
  double latency;          /* s, added to messages that cross the level */
};

/* Between a GPU and the memory of its machine, for messages that are copied through that. `bandwidth` 0: not known.
 */
struct ss_host_path {
  double latency, bandwidth; /* s for each end that is a GPU; B/s each way */
  uint32_t shared;           /* neighbouring ranks of a node that share one; 0 is 1 */
};

/* Where a number of a cluster comes from, as its "source" says. */
enum ss_origin_of_number {
  SS_SUPPOSED,  /* nobody says, or "given ...", by an edit: it is what somebody wants to know about */
  SS_PRINTED,   /* of a data sheet or a paper */
  SS_MEASURED,  /* "measured ...", on this machine or one like it */
  SS_ESTIMATED, /* "estimated ...", "assumed ..." */
};
struct ss_cluster_source {
  enum ss_origin_of_number latency, bandwidth, intra, exchange,
      window; /* exchange: as bandwidth, where nothing is said */
};

struct ss_cluster {
  char name[128];
  char model[32];          /* network model: "fair" or "alpha-beta" */
  struct ss_link inter;    /* between nodes */
  struct ss_link intra;    /* inside a node; equals `inter` unless the cluster gives it */
  struct ss_link exchange; /* between nodes in exchanges; equals `inter` unless the cluster gives it */
  struct ss_segments inter_segments, intra_segments, exchange_segments;
  bool has_intra, has_exchange;
  bool nic_per_node; /* "nic": "per-node"; under "alpha-beta" a node's ranks take turns on one card */
  bool intra_shared; /* a node's ranks share one bus */
  bool switch_sums;  /* switches between nodes add what passes (SHARP, SwitchML): one algorithm of allreduce */
  uint32_t gpus_per_node;
  uint32_t nics;         /* cards of a node that ranks share; 0: as "nic" has it */
  uint32_t window;       /* messages that a port has under way, in exchanges; 0 is 1, UINT32_MAX no limit */
  uint32_t chain_window; /* the same in chains; 0: as in exchanges */
  uint32_t rings;        /* that go through it side by side (ss_cluster_widen); 0 is 1 */
  double weight[2];      /* of bytes between nodes in chains, and in exchanges, on links that are shared; 0 is 1 */
  uint32_t fabric_levels;
  struct ss_fabric_level fabric[SS_FABRIC_MAX]; /* from the bottom */
  struct ss_jitter jitter;                      /* of messages between nodes */
  struct ss_host_path host;
  bool staged;                  /* messages cross it: who plays says so */
  struct ss_host_memory memory; /* of its ranks, for collectives of MPI libraries */
  struct ss_library library;    /* that calls collectives */
  struct ss_accuracy accuracy;  /* of its times; no time depends on it */
  struct ss_cluster_source source;
  char warning[256]; /* what a user should know of a cluster that can be read (ss_cluster_tell); "" nothing */
};

extern const struct ss_object_spec ss_cluster_fields;
/* The ways to say which in a scenario: a name, a path, an object. */
extern const struct ss_field_spec ss_cluster_forms[];
/* Reads a cluster object; `sources` and `notes` are free text. Unknown keys, bandwidths that are not positive,
 * negative latencies, unknown models, keys that the model does not know are errors. */
bool ss_cluster_read(struct ss_node node, struct ss_cluster *out, struct ss_error *error) SS_MUST_CHECK;

/* Tells its warning, if it has one, and numbers that no network has, under its name; `notice` may be NULL. */
void ss_cluster_tell(const struct ss_cluster *cluster, const struct ss_notice *notice);
/* Tells where so many nodes are more, or fewer, than its accuracy says were measured: "fitted on 2 to 8 nodes; 128
 * asked". A single node is not: no message leaves it. */
void ss_cluster_tell_nodes(const struct ss_cluster *cluster, uint32_t nodes, const struct ss_notice *notice);
/* Tells where all ranks are in one node of several that has links of its own: bandwidth and latency between nodes
 * then change nothing, which who asks about a network should know. */
void ss_cluster_tell_one_node(const struct ss_cluster *cluster, uint32_t ranks, const struct ss_notice *notice);
/* The same as of nodes, of the bytes of a collective (of enum ss_collective; SS_COLLECTIVES: of none of them). */
void ss_cluster_tell_bytes(const struct ss_cluster *cluster, uint32_t collective, uint64_t bytes,
                           const struct ss_notice *notice);

/* The largest calls of each collective whose own sizes are known, and of all others together, in B. */
struct ss_largest_calls {
  uint64_t bytes[SS_COLLECTIVES + 1];
};
void ss_largest_calls_add(struct ss_largest_calls *largest, const struct ss_cluster *cluster, uint32_t collective,
                          uint64_t bytes);
void ss_cluster_tell_calls(const struct ss_cluster *cluster, const struct ss_largest_calls *largest,
                           const struct ss_notice *notice);

/* Takes its jitter away, and tells so if it has one: for those who play even links alone. */
void ss_cluster_even(struct ss_cluster *cluster, const struct ss_notice *notice);

/* Nodes that `ranks` ranks take: rank r lives on node floor(r / gpus_per_node). */
uint32_t ss_cluster_nodes(const struct ss_cluster *cluster, uint32_t ranks);
bool ss_cluster_fair(const struct ss_cluster *cluster);
/* Cards of a node under "fair"; as many as ranks: each has its own, and none is shared. */
uint32_t ss_cluster_nics(const struct ss_cluster *cluster);
/* Its library is an MPI, or its hosts sum (`memory`): what NCCL plays by as many rings as cards, they do by one. */
bool ss_cluster_mpi(const struct ss_cluster *cluster);
/* Messages of an exchange, or of a chain, that a rank starts while others are under way, of all its ports one way:
 * the window of each ring; and the larger of the two. */
uint32_t ss_cluster_window_of(const struct ss_cluster *cluster, bool exchange);
uint32_t ss_cluster_window(const struct ss_cluster *cluster);
/* What an unknown library may have instead: all (UINT32_MAX), among more than 32 ranks 4, since a play of all takes
 * time by the square of their messages; 1 of those that have as many. */
uint32_t ss_other_window(uint32_t window, uint32_t ranks);
uint32_t ss_cluster_rings(const struct ss_cluster *cluster);
/* How many bytes of a shared link's capacity each byte of a chain, or of an exchange, takes. */
double ss_cluster_weight(const struct ss_cluster *cluster, bool exchange);
/* B/s of a card: the largest of all classes between nodes; of a bus: of the class inside them. */
double ss_cluster_card_rate(const struct ss_cluster *cluster);
double ss_cluster_bus_rate(const struct ss_cluster *cluster);
/* B/s of an uplink, or downlink, of the fabric's level. */
double ss_cluster_uplink_rate(const struct ss_cluster *cluster, uint32_t level);
/* Whether the model "fair" may be computed by the ordered ports of "alpha-beta": no link is ever shared, and a
 * message's class follows from its nodes alone. */
bool ss_cluster_unshared(const struct ss_cluster *cluster);

/* How a cluster's links change together: latencies and times a byte of all classes, and bandwidths inside nodes. */
struct ss_cluster_factors {
  double latency, byte_time, intra_bandwidth;
};
/* Multiplies; cards, segments, buses and fabrics go along. A factor of exactly 1 changes no bit. */
void ss_cluster_scale(struct ss_cluster *cluster, const struct ss_cluster_factors *factors);
/* For chains alone: messages between nodes change by the one, those inside them by the other. */
void ss_cluster_scale_chains(struct ss_cluster *cluster, const struct ss_cluster_factors *between,
                             const struct ss_cluster_factors *inside);
/* Gives all messages between nodes this latency (s), or this time a byte (s), whatever their length and use; those
 * inside nodes too where the cluster says nothing of them. */
void ss_cluster_set_latency(struct ss_cluster *cluster, double alpha);
void ss_cluster_set_beta(struct ss_cluster *cluster, double beta);

/* So many rings go side by side: at every rank each has ports of its own, with `window` messages under way, and
 * inside nodes its even share of the bandwidth. One ring changes nothing, nor do several under "alpha-beta": its
 * ports carry one message at a time. */
void ss_cluster_widen(struct ss_cluster *cluster, uint32_t rings);

/* What is to be different about a cluster's nodes. */
struct ss_nodes_change {
  uint64_t gpus_per_node, nics;          /* 0: as it is */
  double intra_latency, intra_bandwidth; /* s, B/s; NaN: as it is, or between nodes where the cluster says nothing */
};
#define SS_NODES_AS_THEY_ARE                                                                                         \
  { .intra_latency = NAN, .intra_bandwidth = NAN }
/* Fails where a node would have more cards than GPUs, links inside it but one GPU, or cards that its model cannot
 * share. */
bool ss_cluster_change_nodes(struct ss_cluster *cluster, const struct ss_nodes_change *change,
                             struct ss_error *error) SS_MUST_CHECK;

/* Whether messages take the same on both, whatever the clusters are called. */
bool ss_cluster_same(const struct ss_cluster *a, const struct ss_cluster *b);
/* SPDX-License-Identifier: Apache-2.0 */
