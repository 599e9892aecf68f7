/* Which links a cluster has under the model "fair", which of them a message crosses, and what it costs there. */
#pragma once

#include "machine/network.h"
#include "machine/shares.h"

/* What a message costs by its class, its length and the levels of the fabric that it crosses. */
struct ss_fair_kind {
  double alpha, rate; /* s, B/s */
  double host, most;  /* of alpha, and of a message's rate whatever the link draws: paths to the host's memory */
  double weight;      /* B of a link's capacity that a byte takes */
  uint32_t queue;     /* of its latency */
  uint32_t crossed;   /* levels of the fabric */
  bool inside;        /* a node */
};

struct ss_fair_level {
  uint32_t nodes, up, down, groups; /* up, down: the links of group 0 */
};

/* Links by number: first those that are shared, as ss_fair_name tells them, then ports. */
struct ss_fair_map {
  struct ss_arena arena;                                /* of its arrays */
  uint32_t ranks, endpoints, nodes, nics, levels, path; /* path: the most links of a message */
  bool cards, ports, bus, staged;
  bool served;                    /* cards carry what servers send, too: not where every rank has one of its own */
  uint32_t per_node, host_shared; /* ranks of a node; of those the ones that share a path to the host */
  uint32_t host_groups;           /* such paths of a node, each way */
  uint32_t host_out, host_in;     /* numbers of the first */
  uint32_t ends;                  /* kinds of each sort, by how many ends are GPUs: 1, or 3 where that counts */
  uint32_t out, in, buses, outer, inner; /* numbers of the first link of each sort; outer and inner: ports by class */
  uint32_t links, shared;
  uint32_t seats; /* endpoints that have ports, of all that share the links */
  struct ss_fair_level level[SS_FABRIC_MAX];
  uint32_t *node, *card; /* [endpoints] */
  struct ss_segments segments[3];
  uint32_t kind_of[3];
  struct ss_fair_kind *kind; /* [kind_count] */
  uint32_t kind_count;
  uint32_t queues;
  double *latency; /* [queues] s */
  bool has_exchange;
};

/* Maps of networks that share links number them alike: as if so many endpoints had ports, and cards were there, and
 * paths through machines' memory where one of them is `staged`. */
struct ss_fair_join {
  uint32_t endpoints;
  bool cards, staged;
};

/* Whoever opens it frees its arena, also where memory was short. `join`: NULL where it shares with no other. */
bool ss_fair_map_open(struct ss_fair_map *map, const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                      const struct ss_fair_join *join);
static inline void ss_fair_map_close(struct ss_fair_map *map) {
  ss_arena_free(&map->arena);
}
/* B/s of each link of the map, where it has not more already. */
void ss_fair_capacities(const struct ss_fair_map *map, const struct ss_cluster *cluster,
                        struct ss_shares_link *links);
uint32_t ss_fair_kind_of(const struct ss_fair_map *map, uint32_t from, uint32_t to, uint64_t bytes, bool exchange);
/* Which link the shared one of that number is. */
struct ss_link_use ss_fair_name(const struct ss_fair_map *map, uint32_t link);
/* A kind of message, and its ends. */
struct ss_fair_route {
  uint32_t kind, from, to;
};
/* Writes the links whose shares a message gets and returns their number: all that it crosses, but not the ports that
 * are hidden: whatever crosses these crosses a card or bus as well that carries no more. */
uint32_t ss_fair_path(const struct ss_fair_map *map, struct ss_fair_route route, uint32_t *links);
/* Writes its ports (at most 2) that are hidden, or those that are not. */
uint32_t ss_fair_ports(const struct ss_fair_map *map, struct ss_fair_route route, bool hidden, uint32_t *ports);
/* SPDX-License-Identifier: Apache-2.0 */
