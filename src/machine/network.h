/* Network models: when does each message end?
 *
 * A model is one constant table; `ss_network_model_of` finds it by the cluster. The caller (the engine in sim/) hands
 * over whole rounds in order. A model may play a round at once, or keep it until it knows what else is under way;
 * only `finish` tells times. */
#pragma once

#include "machine/cluster.h"

/* Endpoints are ranks 0..ranks-1, then servers. A list of messages as flat arrays; arrays may be NULL where a rule
 * says it shorter: without `from` and `to`, message i goes from endpoint i to endpoint (i + shift) mod count. */
struct ss_messages {
  uint32_t count;
  uint32_t shift; /* 1 .. count-1, used when `from` is NULL */
  const uint32_t *from, *to;
  const uint64_t *bytes; /* NULL: every message carries `each` bytes */
  uint64_t each;
};

static inline uint32_t ss_message_from(const struct ss_messages *m, uint32_t i) {
  return m->from ? m->from[i] : i;
}
static inline uint32_t ss_message_to(const struct ss_messages *m, uint32_t i) {
  if (m->to) return m->to[i];
  uint32_t capacity = m->count - m->shift;
  return i < capacity ? i + m->shift : i - capacity;
}
static inline uint64_t ss_message_bytes(const struct ss_messages *m, uint32_t i) {
  return m->bytes ? m->bytes[i] : m->each;
}

/* Something that an endpoint's compute stream does, one after the other, once the endpoint is as ready as for
 * messages of the same round and has received what was listed for it up to this round. */
struct ss_computation {
  uint32_t endpoint;
  double seconds;
};

/* A round as a network sees it. A dependent round is ready at an endpoint once all that was listed there before is
 * complete; an independent one once the nearest dependent round before it was. */
struct ss_network_round {
  struct ss_messages messages;
  const uint32_t *settled; /* [settled_count] a dependent round of these endpoints alone; NULL: of all */
  const struct ss_computation *after;
  uint32_t settled_count, after_count;
  bool dependent;
  bool exchange; /* messages of an exchange, not of a chain: the cluster may give them a class of their own */
};

/* --- what became of it ------------------------------------------------------------------------------------ */

enum ss_link_kind {
  SS_EGRESS, /* an endpoint's port */
  SS_INGRESS,
  SS_NIC_OUT, /* a card that ranks of a node share */
  SS_NIC_IN,
  SS_UPLINK, /* of a group of nodes */
  SS_DOWNLINK,
  SS_BUS,      /* of a node */
  SS_HOST_OUT, /* between the memories of a GPU and of its machine; ranks may share it */
  SS_HOST_IN,
  SS_LINK_KINDS
};

/* NULL-terminated: "egress", "ingress", "nic-out", ... in the order of the kinds. */
extern const char *const ss_link_kind_names[];

/* What went over a link, or through an endpoint's port. */
struct ss_link_use {
  enum ss_link_kind kind;
  uint32_t index;  /* endpoint, node, or number of the group in its level */
  uint32_t number; /* which card of the node; the group's level, from 1 */
  bool server;     /* a port of server number `index`, not of rank `index` */
  double capacity; /* B/s; of a port: of the fastest message that it can carry */
  double bytes;    /* B carried */
  double busy;     /* s in which bytes flowed */
  double least;    /* s that it needs at the very least: bytes / capacity; of a port that carries one message at a
                      time, the sum of what each takes alone */
  double startup;  /* s of `least` in which messages start, without bytes on the link */
};

/* All links of a kind. */
struct ss_link_usage {
  uint32_t links; /* how many there are; of ports: how many carried something */
  double bytes_max, bytes_mean, busy_max, busy_mean;
};

/* What went through the ports, as who hands rounds over counts it. */
struct ss_network_traffic {
  const uint64_t *sent, *received; /* [endpoints] B; NULL: not counted, and ports tell no bytes */
  uint64_t everyone;               /* B that went besides out of each rank, and as many into it */
};

struct ss_network_result {
  double time;                   /* s: when the last endpoint was done */
  double computing;              /* s: of the endpoint that computed longest */
  double bound;                  /* s: the largest `least` of all links; no run of these messages is faster */
  struct ss_link_use bound_link; /* which makes it; bytes 0 when nothing was sent */
  struct ss_link_usage usage[SS_LINK_KINDS];
  const double *done; /* [endpoints] s: when each was done; the network's own */
};

/* "NIC of node 3, out", "uplink of group 2, level 1", "bus of node 0", "egress of rank 5"; returns `buffer`. `nics`
 * tells whether to name a card by its number also. */
enum { SS_LINK_NAME_SIZE = 64 };
const char *ss_link_use_name(const struct ss_link_use *use, uint32_t nics, char *buffer, size_t size);
/* Adds a link to the result's bound and usage (whose means are sums until ss_usage_close). */
void ss_usage_add(struct ss_network_result *result, const struct ss_link_use *use);
void ss_usage_close(struct ss_network_result *result);

/* --- models ------------------------------------------------------------------------------------------------ */

struct ss_network;

struct ss_network_model {
  const char *name;
  /* State for `ranks` + `servers` endpoints, all idle at time 0; NULL when memory is short. */
  struct ss_network *(*open)(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers);
  void (*close)(struct ss_network *network);
  /* Takes a round, whose arrays it does not keep; false when memory is short. */
  bool (*round)(struct ss_network *network, const struct ss_network_round *round);
  /* Plays everything to its end. "alpha-beta" takes more rounds afterwards, "fair" does not. */
  void (*finish)(struct ss_network *network, const struct ss_network_traffic *traffic, struct ss_network_result *out);
  /* Link number `i` after `finish`; false when there are not so many. Ports come first, then what is shared. */
  bool (*link)(const struct ss_network *network, uint32_t i, struct ss_link_use *out);
};

extern const struct ss_network_model ss_network_alpha_beta, ss_network_fair;

/* NULL-terminated; the default first. */
const char *const *ss_network_model_names(void);
/* What computes the cluster's model: for "fair" where nothing is shared, the one pass of "alpha-beta". */
const struct ss_network_model *ss_network_model_of(const struct ss_cluster *cluster);
/* SPDX-License-Identifier: Apache-2.0 */
