/* The alpha-beta port model (docs/model.md, "Time").
 *
 * Every endpoint has one egress and one ingress port; with `nic: per-node` every node has a NIC egress and a NIC
 * ingress besides. A message starts when both ends are ready and all its ports are free, and holds them all for
 * alpha + bytes*beta. Ports serve messages in the order given, so one pass over the list yields every end, and a port
 * needs to remember nothing but when it is free. */
#include "machine/network.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct ss_network {
  struct ss_link inter, intra;
  uint32_t endpoints, nodes;
  bool flat; /* one link class and no NIC ports: the node of an endpoint does not matter */
  bool nic;
  double *egress, *ingress; /* [endpoints] time at which the port is free */
  double *nic_out, *nic_in; /* [nodes] */
  uint32_t *node;           /* [endpoints] */
};

static inline double later(double a, double b) {
  return a > b ? a : b;
}

static void close_network(struct ss_network *n) {
  if (!n) return;
  free(n->egress);
  free(n->ingress);
  free(n->nic_out);
  free(n->nic_in);
  free(n->node);
  free(n);
}

static struct ss_network *open_network(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers) {
  struct ss_network *n = ss_alloc_zero(1, sizeof *n);
  if (!n) return NULL;
  n->inter = cluster->inter;
  n->intra = cluster->intra;
  n->nic = cluster->nic_per_node;
  n->flat = !cluster->nic_per_node && !cluster->has_intra;
  n->endpoints = ranks + servers;
  n->nodes = ss_cluster_nodes(cluster, ranks);
  n->egress = ss_alloc_zero(n->endpoints, sizeof *n->egress);
  n->ingress = ss_alloc_zero(n->endpoints, sizeof *n->ingress);
  n->nic_out = ss_alloc_zero(n->nodes, sizeof *n->nic_out);
  n->nic_in = ss_alloc_zero(n->nodes, sizeof *n->nic_in);
  n->node = ss_alloc(n->endpoints, sizeof *n->node);
  if (!n->egress || !n->ingress || !n->nic_out || !n->nic_in || !n->node) {
    close_network(n);
    return NULL;
  }
  for (uint32_t e = 0; e < n->endpoints; e++)
    n->node[e] = e < ranks ? e / cluster->gpus_per_node : (e - ranks) % n->nodes;
  return n;
}

/* Messages from `from + i` to `to + i`: no two share a port, so the compiler may take several at a time. */
static void play_run(struct ss_network *n, const double *ready, uint32_t from, uint32_t to, uint32_t count,
                     const uint64_t *bytes, double each) {
  double *restrict egress = n->egress + from, *restrict ingress = n->ingress + to;
  const double *ready_from = ready + from, *ready_to = ready + to;
  const double alpha = n->inter.alpha, beta = n->inter.beta;
  if (bytes) {
    for (uint32_t i = 0; i < count; i++) {
      double start = later(later(ready_from[i], ready_to[i]), later(egress[i], ingress[i]));
      egress[i] = ingress[i] = start + (alpha + (double)bytes[i] * beta);
    }
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    double start = later(later(ready_from[i], ready_to[i]), later(egress[i], ingress[i]));
    egress[i] = ingress[i] = start + each;
  }
}

static void play_shift(struct ss_network *n, const struct ss_messages *m, const double *ready) {
  uint32_t capacity = m->count - m->shift;
  double each = n->inter.alpha + (double)m->each * n->inter.beta;
  play_run(n, ready, 0, m->shift, capacity, m->bytes, each);
  play_run(n, ready, capacity, 0, m->shift, m->bytes ? m->bytes + capacity : NULL, each);
}

/* Lists where nodes do not matter: what most clusters play, at less than half the loads. */
static void play_flat_list(struct ss_network *n, const struct ss_messages *m, const double *ready) {
  const double alpha = n->inter.alpha, beta = n->inter.beta;
  double *egress = n->egress, *ingress = n->ingress;
  for (uint32_t i = 0; i < m->count; i++) {
    uint32_t from = m->from[i], to = m->to[i];
    double start = later(later(ready[from], ready[to]), later(egress[from], ingress[to]));
    egress[from] = ingress[to] = start + (alpha + (double)ss_message_bytes(m, i) * beta);
  }
}

static void play_list(struct ss_network *n, const struct ss_messages *m, const double *ready) {
  for (uint32_t i = 0; i < m->count; i++) {
    uint32_t from = ss_message_from(m, i), to = ss_message_to(m, i);
    double start = later(later(ready[from], ready[to]), later(n->egress[from], n->ingress[to]));
    bool inside = n->node[from] == n->node[to];
    const struct ss_link *link = inside ? &n->intra : &n->inter;
    double duration = link->alpha + (double)ss_message_bytes(m, i) * link->beta;
    if (n->nic && !inside) {
      double *out = &n->nic_out[n->node[from]], *in = &n->nic_in[n->node[to]];
      start = later(start, later(*out, *in));
      *out = *in = start + duration;
    }
    n->egress[from] = n->ingress[to] = start + duration;
  }
}

static void play(struct ss_network *n, const struct ss_messages *m, const double *ready) {
  if (n->flat && !m->from) play_shift(n, m, ready);
  else if (n->flat) play_flat_list(n, m, ready);
  else play_list(n, m, ready);
}

static void settle(struct ss_network *n, double *done) {
  for (uint32_t e = 0; e < n->endpoints; e++) done[e] = later(done[e], later(n->egress[e], n->ingress[e]));
}

static double received(struct ss_network *n, uint32_t endpoint) {
  return n->ingress[endpoint];
}

const struct ss_network_model ss_network_alpha_beta = {
    .name = "alpha-beta",
    .open = open_network,
    .close = close_network,
    .play = play,
    .settle = settle,
    .received = received,
};
