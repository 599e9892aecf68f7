#include "sim/collectives/tuner.h"

static uint32_t log2_below(uint64_t n) {
  return n > 0 ? 63 - (uint32_t)__builtin_clzll(n) : 0;
}

static double larger(double a, double b) {
  return a > b ? a : b;
}

static double step_inside(const struct ss_library *l, enum ss_way way, enum ss_protocol protocol, double nodes) {
  const struct ss_beliefs *b = &l->beliefs;
  const double step = (l->pci ? &b->pci : &b->nvlink)->of[way].of[protocol];
  return nodes > 1 && protocol == SS_LL && b->ll_inside > 0 ? b->ll_inside * step : step;
}

/* A ring's steps between nodes and inside them; of an all-reduce twice as many. */
static double ring_latency(const struct ss_cluster *c, bool allreduce, double ranks, double nodes,
                           enum ss_protocol protocol) {
  const struct ss_library *l = &c->library;
  const struct ss_beliefs *b = &l->beliefs;
  const double steps = (allreduce ? 2 : 1) * (ranks - 1);
  const double between = nodes < 2 ? 0 : allreduce ? 2 * nodes - (double)b->between_less : nodes - 1;
  const double post = nodes < 2 ? 0 : b->post[l->cpu] * (protocol == SS_SIMPLE ? b->post_simple : 1);
  const double inside = step_inside(l, SS_WAY_RING, protocol, nodes);
  return (steps - between) * larger(inside, post) + between * b->net.of[SS_WAY_RING].of[protocol];
}

static double tree_latency(const struct ss_cluster *c, uint32_t ranks, uint32_t nodes, enum ss_protocol protocol) {
  const struct ss_beliefs *b = &c->library.beliefs;
  const double inside = step_inside(&c->library, SS_WAY_TREE, protocol, nodes);
  const uint32_t whole = ranks / nodes;
  return 2 * ((whole - 1.0) * inside + log2_below(nodes) * b->net.of[SS_WAY_TREE].of[protocol]);
}

/* From this many bytes of a rank and channel on, rings in Simple between nodes are slower. */
static bool on_plateau(const struct ss_cluster *c, uint32_t ranks, uint32_t nodes, uint64_t bytes) {
  if (c->library.beliefs.plateau_rank) return nodes > 1 && bytes >= c->library.beliefs.plateau_rank * ranks;
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

bool ss_tuner_chooses(const struct ss_cluster *cluster, enum ss_collective collective) {
  return cluster->library.kind == SS_NCCL && ss_cluster_fair(cluster) && collective <= SS_REDUCE_SCATTER;
}

const char *ss_choice_algorithm(struct ss_choice choice) {
  return choice.way == SS_WAY_TREE ? "trees" : "ring";
}

struct ss_choice ss_tuner_choose(const struct ss_cluster *cluster, enum ss_collective collective, uint32_t ranks,
                                 uint64_t bytes) {
  struct ss_choice best = {SS_WAY_RING, SS_SIMPLE, NAN};
  if (!ss_tuner_chooses(cluster, collective) || ranks < 2) return best;
  best.seconds = INFINITY;
  for (int i = 0; i < SS_WAYS * SS_PROTOCOLS; i++) { /* trees first, as NCCL looks: the first of equals is taken */
    struct ss_choice c = {i < SS_PROTOCOLS ? SS_WAY_TREE : SS_WAY_RING, (enum ss_protocol)(i % SS_PROTOCOLS), 0};
    c.seconds = ss_tuner_believes(cluster, collective, ranks, bytes, c);
    if (c.seconds < best.seconds) best = c;
  }
  return best;
}

/* --- playing ------------------------------------------------------------------------------------------------ */

/* Whole chunks, as NCCL counts them. */
static double holds(uint64_t channel, uint64_t chunk) {
  const uint64_t whole = channel / chunk;
  return (double)whole;
}

/* Bytes of a chunk of a channel's tree (computeCollChunkInfo, in 2.18 computeColl). */
static uint64_t chunk_of(const struct ss_cluster *c, enum ss_protocol protocol, uint32_t ranks, uint64_t channel) {
  const uint32_t nodes = ss_cluster_nodes(c, ranks);
  const double a_node = (double)ranks / nodes, steps = 1 + log2_below(nodes) + .1 * a_node;
  const uint64_t depth = ranks / nodes - 1 + log2_below(nodes);
  uint64_t chunk = c->library.beliefs.chunk[protocol];
  if (protocol == SS_LL128) {
    while (holds(channel, chunk) < steps * 64 / a_node && chunk > 131072) chunk /= 2;
    while (holds(channel, chunk) < steps * 16 / a_node && chunk > 32768) chunk /= 2;
  }
  if (protocol == SS_SIMPLE && c->library.beliefs.shrinks) {
    while (channel / chunk < depth * 8 && chunk > 131072) chunk /= 2;
    while (channel / chunk < depth * 4 && chunk > 65536) chunk /= 2;
    while (channel / chunk < depth && chunk > 32768) chunk /= 2;
  }
  return chunk;
}

struct ss_pattern_call ss_choice_call(const struct ss_cluster *cluster, struct ss_choice choice,
                                      enum ss_collective collective, uint32_t ranks, uint64_t bytes) {
  const uint32_t nodes = ss_cluster_nodes(cluster, ranks);
  const bool trees = choice.way == SS_WAY_TREE;
  struct ss_pattern_call call = {.algorithm = ss_algorithm_of(collective, ss_choice_algorithm(choice)),
                                 .ranks = ranks,
                                 .bytes = bytes,
                                 .rings = nodes > 1 ? ss_cluster_nics(cluster) : 1};
  if (!trees) return call;
  const uint64_t channel = bytes / ((uint64_t)2 * ss_library_channels(cluster, nodes).count);
  const uint64_t chunk = chunk_of(cluster, choice.protocol, ranks, channel), chunks = (channel + chunk - 1) / chunk;
  call.chunks = chunks < SS_CHUNKS_MOST ? (uint32_t)chunks : SS_CHUNKS_MOST;
  return call;
}

static struct ss_link link_of(const struct ss_link *link, const struct ss_segments *segments, uint64_t bytes) {
  uint32_t i = 0;
  while (i < segments->count && segments->piece[i].up_to < bytes) i++;
  return i < segments->count ? segments->piece[i].link : *link;
}

/* A channel has eight steps under way (NCCL_STEPS): chunks behind the first start while others travel, and the way
 * up and down a tree counts as many start-ups as it has hops. */
static double trees_starts(const struct ss_cluster *c, const struct ss_pattern_call *call) {
  const uint64_t each = call->bytes / call->rings / 2 / call->chunks;
  const uint32_t nodes = ss_cluster_nodes(c, call->ranks);
  const struct ss_link inter = link_of(&c->inter, &c->inter_segments, each);
  const double inside = c->has_intra ? link_of(&c->intra, &c->intra_segments, each).alpha : inter.alpha;
  const double between = nodes > 1 ? inter.alpha : 0;
  const uint32_t whole = call->ranks / nodes;
  const double hops = 2 * ((whole - 1.0) * inside + log2_below(nodes) * between);
  const double others = (call->chunks - 1.0) * larger(inside, between);
  return hops > 0 ? hops / (hops + others) : 1;
}

/* Of the messages that steps of whole chunks through all channels are, those of this ring's steps: few bytes take
 * fewer channels, and one slice (of LL many bytes several chunks). */
static double messages_of(const struct ss_cluster *c, enum ss_protocol protocol, const struct ss_pattern_call *call) {
  const struct ss_beliefs *b = &c->library.beliefs;
  const uint32_t ranks = call->ranks, channels = 2 * ss_library_channels(c, ss_cluster_nodes(c, ranks)).count;
  const uint64_t least = b->channel_least[protocol] * (protocol == SS_LL ? ranks : 1), most = call->bytes / least;
  const uint64_t used = most < 1 ? 1 : most < channels ? most : channels;
  const uint64_t chunk = (call->bytes + used * ranks - 1) / (used * ranks);
  const double share = (double)used / channels;
  if (protocol == SS_SIMPLE) return chunk > b->slice_least ? share : share / 2;
  return share * larger(1, ceil((double)chunk / (double)b->chunk[protocol]));
}

/* A ring's slices follow one another: while one travels, the next one starts. So a step between nodes takes what its
 * messages take to start and half of its bytes, or all its bytes where that is longer. */
static double rings_starts(const struct ss_cluster *c, enum ss_protocol protocol,
                           const struct ss_pattern_call *call) {
  const uint64_t each = call->bytes / call->rings / call->ranks / (call->chunks > 0 ? call->chunks : 1);
  const struct ss_link link = link_of(&c->inter, &c->inter_segments, each);
  const bool measured = c->library.cost[SS_WAY_RING][protocol].beta > 0;
  const double messages = measured ? messages_of(c, protocol, call) : 1;
  return link.alpha > 0 ? larger(0, messages - (double)each * link.beta / 2 / link.alpha) : 1;
}

struct ss_cluster ss_choice_cluster(const struct ss_cluster *cluster, struct ss_choice choice,
                                    const struct ss_pattern_call *call) {
  struct ss_cluster c = ss_cluster_protocol(cluster, choice.way, choice.protocol, call->ranks);
  struct ss_cluster_factors between = {1, 1, 1}, inside = between;
  if (choice.way == SS_WAY_TREE) {
    c.window = c.chain_window = UINT32_MAX; /* a rank's connections up and down each have buffers of their own */
    if (call->chunks > 1) between.latency = inside.latency = trees_starts(&c, call);
  } else if (ss_cluster_nodes(&c, call->ranks) > 1) {
    between.latency = rings_starts(&c, choice.protocol, call);
  }
  ss_cluster_scale_chains(&c, &between, &inside);
  return c;
}

bool ss_choice_time(const struct ss_cluster *cluster, struct ss_choice choice, enum ss_collective collective,
                    uint32_t ranks, uint64_t bytes, double *seconds, struct ss_error *error) {
  const struct ss_pattern_call call = ss_choice_call(cluster, choice, collective, ranks, bytes);
  const struct ss_cluster c = ss_choice_cluster(cluster, choice, &call);
  const struct ss_cluster *one = &c;
  if (!ss_pattern_times(&one, 1, &call, seconds, error)) return false;
  *seconds += ss_library_start(cluster, choice.protocol);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
