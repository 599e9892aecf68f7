/* A cluster: how ranks sit on nodes and what a message costs between them. Read from models/clusters/. */
#ifndef SS_MACHINE_CLUSTER_H
#define SS_MACHINE_CLUSTER_H

#include "base/json.h"

#include <stdint.h>

/* Hockney's pair: a message of n bytes takes alpha + n*beta. */
struct ss_link {
  double alpha; /* s a message */
  double beta;  /* s a byte: 1 / bandwidth */
};

struct ss_cluster {
  char name[128];
  char model[32]; /* network model: "alpha-beta" */
  struct ss_link inter;
  struct ss_link intra; /* inside a node; equals `inter` unless the cluster gives it */
  bool has_intra;
  bool nic_per_node; /* a node's ranks share one NIC egress and one NIC ingress port */
  uint32_t gpus_per_node;
};

/* Reads a cluster object; `sources` and `notes` are free text. Unknown keys, bandwidths that are not positive,
 * negative latencies, unknown models are errors. */
bool ss_cluster_read(struct ss_node node, struct ss_cluster *out, struct ss_error *error) SS_MUST_CHECK;

/* Nodes that `ranks` ranks take: rank r lives on node floor(r / gpus_per_node). */
uint32_t ss_cluster_nodes(const struct ss_cluster *cluster, uint32_t ranks);

#endif
