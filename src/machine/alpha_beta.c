/* The alpha-beta port model (docs/model.md, "Time").
 *
 * Every endpoint has one egress and one ingress port; with `nic: per-node` every node has a NIC egress and a NIC
 * ingress besides. A message starts when both ends are ready and all its ports are free, and holds them all for
 * alpha + bytes*beta. Ports serve messages in the order given, so one pass over the list yields every end, and a port
 * needs to remember nothing but when it is free. The model "fair" gives the same times where nothing is shared. */
#include "machine/network.h"

/* One direction of a node's card: when it is free, s that messages held it, B that it carried. */
struct card {
  double free, held, bytes;
};

struct ss_network {
  struct ss_link inter, intra;
  uint32_t ranks, endpoints, nodes;
  bool flat; /* one link class, even, and no NIC ports: the node of an endpoint does not matter */
  bool nic;
  struct ss_jitter jitter;
  struct ss_uneven uneven;  /* of it */
  uint32_t *receipts;       /* [endpoints] messages listed for each; NULL: links are even */
  double *ready;            /* [endpoints] of the current dependent round and the independent ones behind it */
  double *done;             /* [endpoints] end of everything so far, as far as settled */
  double *computed;         /* [endpoints] when the compute stream is free */
  double *computing;        /* [endpoints] s of computations */
  double *egress, *ingress; /* [endpoints] time at which the port is free */
  double *out, *in;         /* [endpoints] s that messages held the port, except what held those of all ranks: */
  double everyone;
  double *near_out, *near_in; /* [endpoints] B of messages that stayed inside a node */
  struct ss_network_traffic traffic;
  struct card *card; /* [nodes] out, [nodes] in */
  uint32_t *node;    /* [endpoints] */
};

static inline double later(double a, double b) {
  return a > b ? a : b;
}

static void close_network(struct ss_network *n) {
  if (!n) return;
  free(n->ready);
  free(n->card);
  free(n->node);
  free(n->receipts);
  free(n);
}

/* The arrays of endpoints stand in one block. */
static bool take_arrays(struct ss_network *n) {
  double **const of_endpoints[] = {&n->ready,   &n->done, &n->computed, &n->computing, &n->egress,
                                   &n->ingress, &n->out,  &n->in,       &n->near_out,  &n->near_in};
  double *endpoints = ss_alloc_zero(n->endpoints, sizeof of_endpoints);
  n->card = ss_alloc_zero(n->nodes, 2 * sizeof *n->card);
  n->node = ss_alloc(n->endpoints, sizeof *n->node);
  if (n->jitter.draw > 0) n->receipts = ss_alloc_zero(n->endpoints, sizeof *n->receipts);
  for (size_t i = 0; endpoints && i < sizeof of_endpoints / sizeof *of_endpoints; i++)
    *of_endpoints[i] = endpoints + i * n->endpoints;
  return endpoints && n->card && n->node && (n->receipts || n->jitter.draw == 0);
}

static struct ss_network *open_network(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers) {
  struct ss_network *n = ss_alloc_zero(1, sizeof *n);
  if (!n) return NULL;
  n->inter = cluster->inter;
  n->intra = cluster->intra;
  n->nic = cluster->nic_per_node && !ss_cluster_fair(cluster);
  n->jitter = cluster->jitter;
  n->uneven = ss_uneven_of(&n->jitter);
  n->flat = !n->nic && !cluster->has_intra && cluster->jitter.draw == 0;
  n->ranks = ranks;
  n->endpoints = ranks + servers;
  n->nodes = ss_cluster_nodes(cluster, ranks);
  if (!take_arrays(n)) {
    close_network(n);
    return NULL;
  }
  for (uint32_t e = 0; e < n->endpoints; e++)
    n->node[e] = e < ranks ? e / cluster->gpus_per_node : (e - ranks) % n->nodes;
  return n;
}

/* --- messages ---------------------------------------------------------------------------------------------- */

/* Messages from `from + i` to `to + i`: no two share a port, so the compiler may take several at a time. */
static void play_run(struct ss_network *n, uint32_t from, uint32_t to, uint32_t count, const uint64_t *bytes,
                     double each) {
  double *restrict egress = n->egress + from, *restrict ingress = n->ingress + to;
  double *restrict out = n->out + from, *restrict in = n->in + to;
  const double *ready_from = n->ready + from, *ready_to = n->ready + to;
  const double alpha = n->inter.alpha, beta = n->inter.beta;
  if (bytes) {
    for (uint32_t i = 0; i < count; i++) {
      double start = later(later(ready_from[i], ready_to[i]), later(egress[i], ingress[i]));
      double duration = alpha + (double)bytes[i] * beta;
      egress[i] = ingress[i] = start + duration;
      out[i] += duration;
      in[i] += duration;
    }
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    double start = later(later(ready_from[i], ready_to[i]), later(egress[i], ingress[i]));
    egress[i] = ingress[i] = start + each;
  }
}

static void play_shift(struct ss_network *n, const struct ss_messages *m) {
  uint32_t capacity = m->count - m->shift;
  double each = n->inter.alpha + (double)m->each * n->inter.beta;
  play_run(n, 0, m->shift, capacity, m->bytes, each);
  play_run(n, capacity, 0, m->shift, m->bytes ? m->bytes + capacity : NULL, each);
  if (m->bytes) return;
  if (m->count == n->ranks) n->everyone += each;
  else
    for (uint32_t i = 0; i < m->count; i++) n->out[i] += each, n->in[i] += each;
}

/* Lists where nodes do not matter: what most clusters play, at less than half the loads. */
static void play_flat_list(struct ss_network *n, const struct ss_messages *m) {
  const double alpha = n->inter.alpha, beta = n->inter.beta;
  const double *ready = n->ready;
  double *egress = n->egress, *ingress = n->ingress;
  for (uint32_t i = 0; i < m->count; i++) {
    uint32_t from = m->from[i], to = m->to[i];
    double start = later(later(ready[from], ready[to]), later(egress[from], ingress[to]));
    double duration = alpha + (double)ss_message_bytes(m, i) * beta;
    egress[from] = ingress[to] = start + duration;
    n->out[from] += duration;
    n->in[to] += duration;
  }
}

static inline void carry(struct card *card, double start, double duration, double bytes) {
  card->free = start + duration;
  card->held += duration;
  card->bytes += bytes;
}

static double uneven_time(struct ss_network *n, const struct ss_link *link, uint32_t from, uint32_t to,
                          double bytes) {
  const struct ss_passage passage = {n->node[from], n->node[to], to, n->receipts[to]++};
  return link->alpha * ss_uneven_latency(&n->uneven, &passage) +
         bytes * link->beta / ss_uneven_bandwidth(&n->uneven, &passage);
}

/* `uneven` is a constant where it is called: even links pay nothing for it. */
static inline void play_each(struct ss_network *n, const struct ss_messages *m, const bool uneven) {
  for (uint32_t i = 0; i < m->count; i++) {
    uint32_t from = ss_message_from(m, i), to = ss_message_to(m, i);
    double start = later(later(n->ready[from], n->ready[to]), later(n->egress[from], n->ingress[to]));
    bool inside = n->node[from] == n->node[to];
    const struct ss_link *link = inside ? &n->intra : &n->inter;
    const double bytes = (double)ss_message_bytes(m, i);
    const double duration = uneven ? uneven_time(n, link, from, to, bytes) : link->alpha + bytes * link->beta;
    if (inside) {
      n->near_out[from] += bytes;
      n->near_in[to] += bytes;
    } else if (n->nic) {
      struct card *out = &n->card[n->node[from]], *in = &n->card[n->nodes + n->node[to]];
      start = later(start, later(out->free, in->free));
      carry(out, start, duration, bytes);
      carry(in, start, duration, bytes);
    }
    n->egress[from] = n->ingress[to] = start + duration;
    n->out[from] += duration;
    n->in[to] += duration;
  }
}

static void play_list(struct ss_network *n, const struct ss_messages *m) {
  play_each(n, m, false);
}

static __attribute__((noinline)) void play_uneven(struct ss_network *n, const struct ss_messages *m) {
  play_each(n, m, true);
}

static void play(struct ss_network *n, const struct ss_messages *m) {
  if (n->flat && !m->from) play_shift(n, m);
  else if (n->flat) play_flat_list(n, m);
  else if (n->receipts) play_uneven(n, m);
  else play_list(n, m);
}

/* --- rounds ------------------------------------------------------------------------------------------------- */

/* Everything before this round must be complete at an endpoint before it takes part. */
static void settle(struct ss_network *n) {
  for (uint32_t e = 0; e < n->endpoints; e++) {
    n->done[e] = later(n->done[e], later(n->egress[e], n->ingress[e]));
    n->done[e] = later(n->done[e], n->computed[e]);
  }
}

static void compute(struct ss_network *n, const struct ss_computation *after, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = after[i].endpoint;
    double start = later(later(n->ready[at], n->computed[at]), n->ingress[at]);
    n->computed[at] = start + after[i].seconds;
    n->computing[at] += after[i].seconds;
  }
}

static bool take_round(struct ss_network *n, const struct ss_network_round *round) {
  if (round->dependent) {
    settle(n);
    if (!round->settled) memcpy(n->ready, n->done, n->endpoints * sizeof *n->ready);
    for (uint32_t i = 0; round->settled && i < round->settled_count; i++)
      n->ready[round->settled[i]] = n->done[round->settled[i]];
  }
  if (round->messages.count > 0) play(n, &round->messages);
  if (round->after_count > 0) compute(n, round->after, round->after_count);
  return true;
}

/* --- what became of it -------------------------------------------------------------------------------------- */

static double port_bytes(const struct ss_network *n, uint32_t e, bool in) {
  const uint64_t *bytes = in ? n->traffic.received : n->traffic.sent;
  return bytes ? (double)(bytes[e] + (e < n->ranks ? n->traffic.everyone : 0)) : 0;
}

static bool link_of(const struct ss_network *n, uint32_t i, struct ss_link_use *out) {
  const uint32_t ports = 2 * n->endpoints, e = i / 2, node = (i - ports) / 2;
  const double fastest = n->inter.beta < n->intra.beta ? n->inter.beta : n->intra.beta;
  if (i >= ports + (n->nic ? 2 * n->nodes : 0)) return false;
  if (i >= ports) { /* a card carries one message at a time */
    const struct card *card = &n->card[i % 2 * n->nodes + node];
    *out = (struct ss_link_use){.kind = i % 2 ? SS_NIC_IN : SS_NIC_OUT,
                                .index = node,
                                .capacity = 1 / n->inter.beta,
                                .bytes = card->bytes,
                                .busy = card->held,
                                .least = card->held,
                                .startup = later(card->held - card->bytes * n->inter.beta, 0)};
    return true;
  }
  const bool in = i % 2 == 1;
  const double bytes = port_bytes(n, e, in), near = (in ? n->near_in : n->near_out)[e];
  const double busy = (bytes - near) * n->inter.beta + near * n->intra.beta,
               least = (in ? n->in : n->out)[e] + (e < n->ranks ? n->everyone : 0);
  *out = (struct ss_link_use){.kind = in ? SS_INGRESS : SS_EGRESS,
                              .index = e < n->ranks ? e : e - n->ranks,
                              .server = e >= n->ranks,
                              .capacity = 1 / fastest,
                              .bytes = bytes,
                              .busy = busy,
                              .least = least,
                              .startup = later(least - busy, 0)};
  return true;
}

static void finish(struct ss_network *n, const struct ss_network_traffic *traffic, struct ss_network_result *out) {
  struct ss_link_use use;
  n->traffic = traffic ? *traffic : (struct ss_network_traffic){0};
  *out = (struct ss_network_result){.done = n->done};
  settle(n);
  for (uint32_t e = 0; e < n->endpoints; e++) {
    out->time = later(out->time, n->done[e]);
    out->computing = later(out->computing, n->computing[e]);
  }
  for (uint32_t i = 0; link_of(n, i, &use); i++) ss_usage_add(out, &use);
  ss_usage_close(out);
}

const struct ss_network_model ss_network_alpha_beta = {
    .name = "alpha-beta",
    .open = open_network,
    .close = close_network,
    .round = take_round,
    .finish = finish,
    .link = link_of,
};
/* SPDX-License-Identifier: Apache-2.0 */
