/* Which links a cluster has, and which of them a message crosses. */
#include "machine/fair_links.h"

enum { INTER, EXCHANGE, INTRA, CLASSES };

/* A class without segments is one that reaches everywhere. */
static struct ss_segments pieces_of(const struct ss_link *link, const struct ss_segments *segments) {
  if (segments->count > 0) return *segments;
  return (struct ss_segments){.count = 1, .piece = {{.up_to = UINT64_MAX, .link = *link}}};
}

static uint32_t queue_of(struct ss_fair_map *map, double alpha) {
  for (uint32_t i = 0; i < map->queues; i++)
    if (!(map->latency[i] < alpha) && !(map->latency[i] > alpha)) return i;
  map->latency[map->queues] = alpha;
  return map->queues++;
}

/* One for each number of ends that are GPUs, where that counts. */
static void add_kinds(struct ss_fair_map *map, const struct ss_cluster *c, const struct ss_fair_kind *kind) {
  for (uint32_t gpus = 0; gpus < map->ends; gpus++) {
    struct ss_fair_kind *added = &map->kind[map->kind_count++];
    *added = *kind;
    added->host = gpus * c->host.latency;
    added->most = gpus > 0 ? c->host.bandwidth : INFINITY;
    added->alpha += added->host;
    added->queue = queue_of(map, added->alpha);
  }
}

static bool make_kinds(struct ss_fair_map *map, const struct ss_cluster *c) {
  const bool inside = c->has_intra;
  map->segments[INTER] = pieces_of(&c->inter, &c->inter_segments);
  map->segments[EXCHANGE] = c->has_exchange ? pieces_of(&c->exchange, &c->exchange_segments) : map->segments[INTER];
  map->segments[INTRA] = inside ? pieces_of(&c->intra, &c->intra_segments) : map->segments[INTER];
  const uint32_t most = CLASSES * SS_SEGMENTS_MAX * (map->levels + 1) * map->ends;
  if (!ss_take(&map->arena, map->kind, most) || !ss_take(&map->arena, map->latency, most)) return false;
  for (uint32_t k = 0; k < CLASSES; k++) {
    map->kind_of[k] = map->kind_count;
    for (uint32_t s = 0; s < map->segments[k].count; s++) {
      const struct ss_link *link = &map->segments[k].piece[s].link;
      const double weight = k == INTRA ? 1 : ss_cluster_weight(c, k == EXCHANGE && c->has_exchange);
      double alpha = link->alpha;
      for (uint32_t crossed = 0; crossed <= map->levels; crossed++) {
        if (crossed > 0) alpha += c->fabric[crossed - 1].latency;
        add_kinds(map, c,
                  &(struct ss_fair_kind){.alpha = alpha,
                                         .rate = weight / link->beta,
                                         .weight = weight,
                                         .crossed = crossed,
                                         .inside = k == INTRA});
      }
    }
  }
  return true;
}

static void seat_endpoints(struct ss_fair_map *map, const struct ss_cluster *c) {
  for (uint32_t e = 0; e < map->endpoints; e++) {
    const uint32_t g = c->gpus_per_node, server = e - map->ranks;
    const bool rank = e < map->ranks;
    map->node[e] = rank ? e / g : server % map->nodes;
    const uint64_t card = rank ? (uint64_t)(e % g) * map->nics / g : server / map->nodes % map->nics;
    map->card[e] = map->node[e] * map->nics + (uint32_t)card;
  }
}

static uint32_t numbered(struct ss_fair_map *map, uint32_t count) {
  const uint32_t first = map->links;
  map->links += count;
  return first;
}

bool ss_fair_map_open(struct ss_fair_map *map, const struct ss_cluster *c, uint32_t ranks, uint32_t servers,
                      const struct ss_fair_join *join) {
  *map = (struct ss_fair_map){.ranks = ranks, .endpoints = ranks + servers, .nodes = ss_cluster_nodes(c, ranks)};
  map->nics = ss_cluster_nics(c);
  map->levels = c->fabric_levels;
  map->seats = join ? join->endpoints : map->endpoints;
  map->served = map->nics < c->gpus_per_node || ss_cluster_rings(c) > 1;
  map->cards = map->served || (join && join->cards);
  map->ports = join || ss_cluster_window(c) > 1;
  map->bus = c->intra_shared;
  map->staged = c->staged;
  map->ends = c->staged ? 3 : 1;
  map->per_node = c->gpus_per_node;
  map->host_shared = c->host.shared > 1 ? c->host.shared : 1;
  const bool hosts = c->staged || (join && join->staged);
  map->host_groups = hosts ? (c->gpus_per_node + map->host_shared - 1) / map->host_shared : 0;
  map->has_exchange = c->has_exchange;
  map->out = numbered(map, map->cards ? map->nodes * map->nics : 0);
  map->in = numbered(map, map->cards ? map->nodes * map->nics : 0);
  for (uint32_t l = 0; l < map->levels; l++) {
    const uint32_t nodes = c->fabric[l].nodes, groups = (map->nodes + nodes - 1) / nodes;
    map->level[l] = (struct ss_fair_level){.nodes = nodes, .groups = groups};
    map->level[l].up = numbered(map, groups);
    map->level[l].down = numbered(map, groups);
  }
  map->buses = numbered(map, map->bus ? map->nodes : 0);
  map->host_out = numbered(map, map->nodes * map->host_groups);
  map->host_in = numbered(map, map->nodes * map->host_groups);
  map->shared = map->links;
  map->outer = numbered(map, map->ports ? 2 * map->seats : 0);
  map->inner = numbered(map, map->ports ? 2 * map->seats : 0);
  /* hidden ports are on no path */
  const bool outer = map->ports && (!map->cards || map->seats > ranks), inner = map->ports && !map->bus;
  const uint32_t between = 2 * ((uint32_t)map->cards + map->levels + (uint32_t)outer),
                 inside = (uint32_t)map->bus + 2 * (uint32_t)inner;
  map->path = (between > inside ? between : inside) + 2 * hosts;
  if (!ss_take(&map->arena, map->node, map->endpoints) || !ss_take(&map->arena, map->card, map->endpoints) ||
      !make_kinds(map, c))
    return false;
  seat_endpoints(map, c);
  return true;
}

static void give(struct ss_shares_link *links, uint32_t first, uint32_t count, double capacity) {
  for (uint32_t i = first; i < first + count; i++) links[i].capacity = ss_later(links[i].capacity, capacity);
}

void ss_fair_capacities(const struct ss_fair_map *map, const struct ss_cluster *c, struct ss_shares_link *links) {
  const double rings = ss_cluster_rings(c), card = ss_cluster_card_rate(c), bus = ss_cluster_bus_rate(c) * rings;
  if (map->cards) give(links, map->out, 2 * map->nodes * map->nics, card);
  for (uint32_t l = 0; l < map->levels; l++)
    give(links, map->level[l].up, 2 * map->level[l].groups, ss_cluster_uplink_rate(c, l));
  if (map->bus) give(links, map->buses, map->nodes, bus);
  give(links, map->host_out, 2 * map->nodes * map->host_groups, c->host.bandwidth);
  if (map->ports) give(links, map->outer, 2 * map->seats, card * rings);
  if (map->ports) give(links, map->inner, 2 * map->seats, bus);
}

/* Levels of the fabric whose groups two nodes do not share: groups nest, so these are the lowest ones. */
static uint32_t crossed(const struct ss_fair_map *map, uint32_t a, uint32_t b) {
  uint32_t level = 0;
  while (level < map->levels && a / map->level[level].nodes != b / map->level[level].nodes) level++;
  return level;
}

uint32_t ss_fair_kind_of(const struct ss_fair_map *map, uint32_t from, uint32_t to, uint64_t bytes, bool exchange) {
  const uint32_t a = map->node[from], b = map->node[to];
  const uint32_t class = a == b ? INTRA : exchange && map->has_exchange ? EXCHANGE : INTER;
  const struct ss_segments *segments = &map->segments[class];
  uint32_t piece = 0;
  while (segments->piece[piece].up_to < bytes) piece++;
  const uint32_t sort = piece * (map->levels + 1) + (a == b ? 0 : crossed(map, a, b));
  const uint32_t gpus = map->staged ? (uint32_t)(from < map->ranks) + (to < map->ranks) : 0;
  return map->kind_of[class] + sort * map->ends + gpus;
}

/* The number of a rank's path to the host, among those of one way. */
static uint32_t host_of(const struct ss_fair_map *map, uint32_t rank) {
  return map->node[rank] * map->host_groups + rank % map->per_node / map->host_shared;
}

/* Whether all that crosses the endpoint's port crosses a link after it that carries no more. */
static bool hides(const struct ss_fair_map *map, bool inside, uint32_t endpoint) {
  return inside ? map->bus : map->cards && endpoint < map->ranks;
}

uint32_t ss_fair_ports(const struct ss_fair_map *map, struct ss_fair_route route, bool hidden, uint32_t *ports) {
  const bool inside = map->kind[route.kind].inside;
  const uint32_t first = inside ? map->inner : map->outer;
  uint32_t n = 0;
  if (!map->ports) return 0;
  if (hides(map, inside, route.from) == hidden) ports[n++] = first + route.from;
  if (hides(map, inside, route.to) == hidden) ports[n++] = first + map->seats + route.to;
  return n;
}

uint32_t ss_fair_path(const struct ss_fair_map *map, struct ss_fair_route route, uint32_t *links) {
  const struct ss_fair_kind *k = &map->kind[route.kind];
  const uint32_t from = route.from, to = route.to;
  uint32_t n = ss_fair_ports(map, route, false, links);
  if (map->staged) {
    if (from < map->ranks) links[n++] = map->host_out + host_of(map, from);
    if (to < map->ranks) links[n++] = map->host_in + host_of(map, to);
  }
  if (k->inside) {
    if (map->bus) links[n++] = map->buses + map->node[from];
    return n;
  }
  if (map->cards) {
    if (map->served || from < map->ranks) links[n++] = map->out + map->card[from];
    if (map->served || to < map->ranks) links[n++] = map->in + map->card[to];
  }
  for (uint32_t l = 0; l < k->crossed; l++) {
    links[n++] = map->level[l].up + map->node[from] / map->level[l].nodes;
    links[n++] = map->level[l].down + map->node[to] / map->level[l].nodes;
  }
  return n;
}

static bool within(uint32_t link, uint32_t first, uint32_t count, uint32_t *index) {
  *index = link - first;
  return link >= first && *index < count;
}

struct ss_link_use ss_fair_name(const struct ss_fair_map *map, uint32_t link) {
  const uint32_t cards = map->cards ? map->nodes * map->nics : 0;
  uint32_t at;
  if (within(link, map->out, cards, &at))
    return (struct ss_link_use){.kind = SS_NIC_OUT, .index = at / map->nics, .number = at % map->nics};
  if (within(link, map->in, cards, &at))
    return (struct ss_link_use){.kind = SS_NIC_IN, .index = at / map->nics, .number = at % map->nics};
  for (uint32_t l = 0; l < map->levels; l++) {
    const struct ss_fair_level *level = &map->level[l];
    if (within(link, level->up, level->groups, &at))
      return (struct ss_link_use){.kind = SS_UPLINK, .index = at, .number = l + 1};
    if (within(link, level->down, level->groups, &at))
      return (struct ss_link_use){.kind = SS_DOWNLINK, .index = at, .number = l + 1};
  }
  const uint32_t hosts = map->nodes * map->host_groups;
  if (within(link, map->host_out, hosts, &at))
    return (struct ss_link_use){.kind = SS_HOST_OUT, .index = at / map->host_groups, .number = at % map->host_groups};
  if (within(link, map->host_in, hosts, &at))
    return (struct ss_link_use){.kind = SS_HOST_IN, .index = at / map->host_groups, .number = at % map->host_groups};
  return (struct ss_link_use){.kind = SS_BUS, .index = link - map->buses};
}
/* SPDX-License-Identifier: Apache-2.0 */
