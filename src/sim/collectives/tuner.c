#include "sim/collectives/tuner.h"

#include <math.h>

static uint32_t log2_below(uint64_t n) {
  return n > 0 ? 63 - (uint32_t)__builtin_clzll(n) : 0;
}

static double larger(double a, double b) {
  return a > b ? a : b;
}

/* A ring's steps between nodes and inside them; of an all-reduce twice as many. */
static double ring_latency(const struct ss_cluster *c, bool allreduce, double ranks, double nodes,
                           enum ss_protocol protocol) {
  const struct ss_library *l = &c->library;
  const struct ss_beliefs *b = &l->beliefs;
  const double steps = (allreduce ? 2 : 1) * (ranks - 1);
  const double between = nodes < 2 ? 0 : allreduce ? 2 * nodes : nodes - 1;
  const double post = nodes < 2 ? 0 : b->post[l->cpu] * (protocol == SS_SIMPLE ? b->post_simple : 1);
  const double inside = (l->pci ? &b->pci : &b->nvlink)->of[SS_WAY_RING].of[protocol];
  return (steps - between) * larger(inside, post) + between * b->net.of[SS_WAY_RING].of[protocol];
}

static double tree_latency(const struct ss_cluster *c, uint32_t ranks, uint32_t nodes, enum ss_protocol protocol) {
  const struct ss_beliefs *b = &c->library.beliefs;
  const double inside = (c->library.pci ? &b->pci : &b->nvlink)->of[SS_WAY_TREE].of[protocol];
  return 2 * (((double)(ranks / nodes) - 1) * inside + log2_below(nodes) * b->net.of[SS_WAY_TREE].of[protocol]);
}

/* From this many bytes of a rank and channel on, rings in Simple between nodes are slower. */
static bool on_plateau(const struct ss_cluster *c, uint32_t ranks, uint32_t nodes, uint64_t bytes) {
  /* the channels of search, twice (ncclTopoPostset) */
  return nodes > 1 && bytes / ((uint64_t)2 * ss_library_channels(c, nodes).count * ranks) >= 64;
}

double ss_tuner_believes(const struct ss_cluster *c, enum ss_collective collective, uint32_t ranks, uint64_t bytes,
                         struct ss_choice of) {
  const struct ss_library *l = &c->library;
  const uint32_t nodes = ss_cluster_nodes(c, ranks), size = log2_below(bytes >> 6);
  const bool allreduce = collective == SS_ALLREDUCE;
  double rate = ss_library_rate(c, of.way, of.protocol, ranks, !allreduce);
  double latency = l->beliefs.base.of[of.way].of[of.protocol];
  if ((of.way == SS_WAY_TREE && !allreduce) || (of.protocol == SS_LL128 && !l->ll128)) return INFINITY;
  if (of.way == SS_WAY_TREE) {
    rate *= .5 * (size < SS_CORRECTIONS ? l->beliefs.correction[of.protocol][size] : 1);
    latency += tree_latency(c, ranks, nodes, of.protocol);
  } else {
    rate *= ranks / ((allreduce ? 2 : 1) * (ranks - 1.0));
    latency += ring_latency(c, allreduce, ranks, nodes, of.protocol);
    if (of.protocol == SS_SIMPLE && allreduce && on_plateau(c, ranks, nodes, bytes))
      latency *= l->beliefs.plateau[l->gpu];
  }
  return latency + (double)bytes / rate;
}

struct ss_choice ss_tuner_choose(const struct ss_cluster *cluster, enum ss_collective collective, uint32_t ranks,
                                 uint64_t bytes) {
  struct ss_choice best = {SS_WAY_RING, SS_SIMPLE, NAN};
  if (collective > SS_REDUCE_SCATTER || cluster->library.kind != SS_NCCL || ranks < 2) return best;
  best.seconds = INFINITY;
  for (int i = 0; i < SS_WAYS * SS_PROTOCOLS; i++) { /* trees first, as NCCL looks: the first of equals is taken */
    struct ss_choice c = {i < SS_PROTOCOLS ? SS_WAY_TREE : SS_WAY_RING, i % SS_PROTOCOLS, 0};
    c.seconds = ss_tuner_believes(cluster, collective, ranks, bytes, c);
    if (c.seconds < best.seconds) best = c;
  }
  return best;
}
