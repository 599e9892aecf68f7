/* The insides of the model "fair", shared by its files: fair.c (what happens when), fair_links.c (which links there
 * are), fair_rates.c (who gets how much of them). docs/model.md says what they compute. */
#ifndef SS_MACHINE_FAIR_H
#define SS_MACHINE_FAIR_H

#include "machine/fair_heap.h"
#include "machine/network.h"

/* No message, flow, link or slot. */
#define SS_NONE UINT32_MAX

static inline double ss_later(double a, double b) {
  return a > b ? a : b;
}
static inline double ss_sooner(double a, double b) {
  return a < b ? a : b;
}

/* Two instants nearer than this share of the time are one: what ends together by arithmetic ends together. */
#define SS_INSTANT 4e-15

/* --- links ------------------------------------------------------------------------------------------------- */

struct ss_fair_link {
  double capacity;  /* B/s */
  double load;      /* B/s of the flows on it */
  uint32_t first;   /* slot of a flow on it */
  uint32_t count;   /* flows on it */
  uint32_t necks;   /* flows that are no faster because of this link */
  uint32_t inexact; /* changes of `load` since it was last added up */
  double bytes, busy, since;
  bool eased; /* a flow left it since rates were last worked out, and others may be faster for it */
  /* while rates are worked out: */
  bool full;
  uint64_t mark;             /* equal to the rates' own: some flow on it varies */
  double base, left, share;  /* B/s for flows that vary; of them not given away yet; what each of the last got */
  uint32_t vars, open;       /* flows that vary, and of them those without a rate yet */
  uint32_t first_var, still; /* slot of one that varies; flows that do not, and whose neck it is */
};

/* A flow's place on one link. */
struct ss_fair_slot {
  uint32_t link, next, prev, next_var;
};

/* What a message costs by its class, its length and the levels of the fabric that it crosses. */
struct ss_fair_kind {
  double alpha, rate; /* s, B/s */
  uint32_t queue;     /* of its latency */
  uint32_t crossed;   /* levels of the fabric */
  bool inside;        /* a node */
};

struct ss_fair_level {
  uint32_t nodes, up, down, groups; /* up, down: the links of group 0 */
};

/* Links by number: first those that are shared, as ss_fair_link_use tells them, then ports. */
struct ss_fair_map {
  uint32_t ranks, endpoints, nodes, nics, levels, path; /* path: the most links of a message */
  bool cards, ports, bus;
  uint32_t out, in, buses, outer, inner; /* numbers of the first link of each sort; outer and inner: ports by class */
  uint32_t links, shared;
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

bool ss_fair_map_open(struct ss_fair_map *map, const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers);
void ss_fair_map_close(struct ss_fair_map *map);
/* B/s of each link of the map. */
void ss_fair_capacities(const struct ss_fair_map *map, const struct ss_cluster *cluster, struct ss_fair_link *links);
uint32_t ss_fair_kind_of(const struct ss_fair_map *map, uint32_t from, uint32_t to, uint64_t bytes, bool exchange);
/* Which link the shared one of that number is. */
struct ss_link_use ss_fair_name(const struct ss_fair_map *map, uint32_t link);
/* Writes the links that a message of that kind crosses and returns their number. */
uint32_t ss_fair_path(const struct ss_fair_map *map, uint32_t kind, uint32_t from, uint32_t to, uint32_t *links);

/* --- flows ------------------------------------------------------------------------------------------------- */

/* A message whose bytes flow. */
struct ss_fair_flow {
  double rate, left, since; /* B/s; B that were left at `since` */
  double cap;               /* B/s of its own class */
  double trial;             /* the rate that is tried */
  uint32_t message;         /* of a free flow: the next free one */
  uint32_t neck;            /* the link that keeps it from being faster; SS_NONE: its own class does */
  uint32_t trial_neck;
  uint64_t mark; /* equal to the rates' own: it varies */
  uint32_t links;
  bool frozen;
};

struct ss_fair_rates {
  struct ss_fair_link *link;
  struct ss_fair_flow *flow;
  struct ss_fair_slot *slot; /* [capacity << shift]: of flow f from f << shift */
  uint32_t shift;
  uint32_t capacity, used, free;
  struct ss_fair_heap ends; /* of flows, by time */
  uint32_t *fresh, *eased, *vars, *touched;
  uint32_t fresh_count, eased_count, var_count, touched_count, links;
  struct ss_fair_share *order;
  uint64_t mark;
};

/* A link's share, or a flow's own cap, in the order in which they are given out. */
struct ss_fair_share {
  double share;
  uint32_t of;
  bool own;
};

bool ss_fair_rates_open(struct ss_fair_rates *rates, const struct ss_fair_map *map, const struct ss_cluster *cluster);
void ss_fair_rates_close(struct ss_fair_rates *rates);
/* Room for so many flows at once. */
bool ss_fair_rates_reserve(struct ss_fair_rates *rates, uint32_t flows);
/* Bytes of a message begin to flow; its rate stands after the next ss_fair_share. Returns the B/s that it would have
 * alone. */
double ss_fair_flow_begin(struct ss_fair_rates *rates, double now, const uint32_t *path, uint32_t links,
                          struct ss_fair_flow flow);
void ss_fair_flow_end(struct ss_fair_rates *rates, double now, uint32_t flow);
/* Gives every flow its max-min fair rate, and an end. */
void ss_fair_share(struct ss_fair_rates *rates, double now);

#endif
