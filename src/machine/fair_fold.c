/* Nodes that all do the same are played as one.
 *
 * Where every rank sends as much to the rank `shift` places on, what happens at an endpoint happens at the same time
 * a node further on (on a fabric: a group of its top level further on). So only the first of them is played: what
 * leaves it for another comes in again as the message of its image there, and crosses its own links both ways. The
 * first round that is not alike ends that, and what was taken until then is played again by all. What that saves:
 * rings and exchanges of 1,024 ranks take the time of one node's; all of most schemes' rounds are alike, or all but
 * none, so next to nothing is played twice. */
#include "machine/fair_time.h"

#include "base/list.h"

uint32_t ss_fair_period(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers) {
  const uint32_t levels = cluster->fabric_levels;
  const uint64_t nodes = levels > 0 ? cluster->fabric[levels - 1].nodes : 1, period = nodes * cluster->gpus_per_node;
  return servers == 0 && cluster->jitter.draw == 0 && period < ranks && ranks % period == 0 ? (uint32_t)period
                                                                                            : ranks + servers;
}

/* All ranks compute, and as long. */
static bool compute_alike(const struct ss_network *n, const struct ss_network_round *round) {
  if (round->after_count != n->map.ranks) return round->after_count == 0;
  for (uint32_t i = 0; i < round->after_count; i++) {
    const struct ss_computation *c = &round->after[i];
    if (c->endpoint != i || c->seconds < round->after->seconds || c->seconds > round->after->seconds) return false;
  }
  return true;
}

bool ss_fair_alike(const struct ss_network *n, const struct ss_network_round *round) {
  const struct ss_messages *m = &round->messages;
  if (m->count > 0 && (m->count != n->map.ranks || m->from || m->to || m->bytes)) return false;
  return !(round->dependent && round->settled) && compute_alike(n, round);
}

bool ss_fair_remember(struct ss_network *n, const struct ss_network_round *round) {
  if (!ss_grow(n->past, n->past_capacity, n->past_count + 1)) return false;
  struct ss_fair_past *past = &n->past[n->past_count++];
  *past = (struct ss_fair_past){*round, round->after_count > 0 ? round->after->seconds : 0};
  past->round.after = NULL;
  return true;
}

struct ss_network_round ss_fair_recall(const struct ss_network *n, size_t i, struct ss_computation *after) {
  struct ss_network_round round = n->past[i].round;
  for (uint32_t r = 0; r < round.after_count; r++) after[r] = (struct ss_computation){r, n->past[i].seconds};
  round.after = after;
  return round;
}

/* Of `count` links from `first` on, those of the first period are repeated. */
static void repeat(struct ss_network *n, uint32_t first, uint32_t count, uint32_t period) {
  struct ss_shares_link *link = &n->shares.link[first];
  for (uint32_t i = period; i < count; i++) link[i] = link[i - period];
}

void ss_fair_spread(struct ss_network *n) {
  const struct ss_fair_map *map = &n->map;
  const uint32_t nodes = n->live / n->cluster.gpus_per_node;
  for (uint32_t e = n->live; e < map->endpoints; e++) {
    n->end[e] = n->end[e - n->live];
    n->done[e] = n->done[e - n->live];
  }
  if (map->cards) repeat(n, map->out, map->nodes * map->nics, nodes * map->nics);
  if (map->cards) repeat(n, map->in, map->nodes * map->nics, nodes * map->nics);
  for (uint32_t l = 0; l < map->levels; l++) {
    repeat(n, map->level[l].up, map->level[l].groups, nodes / map->level[l].nodes);
    repeat(n, map->level[l].down, map->level[l].groups, nodes / map->level[l].nodes);
  }
  if (map->bus) repeat(n, map->buses, map->nodes, nodes);
  for (uint32_t way = 0; map->ports && way < 2; way++) {
    repeat(n, map->outer + way * map->endpoints, map->endpoints, n->live);
    repeat(n, map->inner + way * map->endpoints, map->endpoints, n->live);
  }
}
