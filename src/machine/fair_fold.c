/* Nodes that all do the same are played as one.
 *
 * Where a rank sends to another as the rank a node further on sends to the one a node further on, what happens at an
 * endpoint happens at the same time a node further on (on a fabric: a group of its top level further on). So only the
 * first node is played: what leaves it for another comes in again as the message of its image there, and crosses its
 * own links both ways. Everyone's message to the rank `shift` places on is such a round, and so are the rings that
 * libraries play side by side. The first round that is not alike ends that, and what was taken until then is played
 * again by all. What that saves: rings and exchanges of 1,024 ranks take the time of one node's; all of most schemes'
 * rounds are alike, or all but none, so next to nothing is played twice. */
#include "machine/fair_time.h"

uint32_t ss_fair_period(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers) {
  const uint32_t levels = cluster->fabric_levels;
  const uint64_t nodes = levels > 0 ? cluster->fabric[levels - 1].nodes : 1, period = nodes * cluster->gpus_per_node;
  return servers == 0 && cluster->jitter.draw == 0 && period < ranks && ranks % period == 0 ? (uint32_t)period
                                                                                            : ranks + servers;
}

/* The rank a period further on. */
static uint32_t further(const struct ss_network *n, uint32_t rank) {
  return rank + n->live < n->map.ranks ? rank + n->live : rank + n->live - n->map.ranks;
}

/* Whether a block of messages has one from and one to every rank, and those of the first period, which come first,
 * again in every other. */
static bool block_alike(const struct ss_network *n, const uint32_t *from, const uint32_t *to) {
  enum { SENDS = 1, GETS = 2 };
  memset(n->ended, 0, n->live * sizeof *n->ended);
  for (uint32_t i = 0; i < n->map.ranks; i++) {
    const uint32_t next = further(n, i);
    if (from[next] != further(n, from[i]) || to[next] != further(n, to[i])) return false;
    if (i >= n->live) continue;
    if (from[i] >= n->live || n->ended[from[i]] & SENDS || n->ended[to[i] % n->live] & GETS) return false;
    n->ended[from[i]] |= SENDS;
    n->ended[to[i] % n->live] |= GETS;
  }
  return true;
}

static bool messages_alike(const struct ss_network *n, const struct ss_messages *m) {
  if (m->count % n->map.ranks != 0) return false;
  for (uint32_t i = 1; m->bytes && i < m->count; i++)
    if (m->bytes[i] != m->bytes[0]) return false;
  if (!m->from) return m->count <= n->map.ranks;
  for (uint32_t i = 0; i < m->count; i += n->map.ranks)
    if (!block_alike(n, m->from + i, m->to + i)) return false;
  return true;
}

/* All ranks compute, once or several times, and as long each time. */
static bool compute_alike(const struct ss_network *n, const struct ss_network_round *round) {
  if (round->after_count % n->map.ranks != 0) return false;
  for (uint32_t i = 0; i < round->after_count; i++) {
    const struct ss_computation *c = &round->after[i], *first = c - i % n->map.ranks;
    if (c == first) memset(n->ended, 0, n->map.ranks * sizeof *n->ended);
    if (n->ended[c->endpoint]++ > 0 || c->seconds < first->seconds || c->seconds > first->seconds) return false;
  }
  return true;
}

bool ss_fair_alike(const struct ss_network *n, const struct ss_network_round *round) {
  return !(round->dependent && round->settled) && messages_alike(n, &round->messages) && compute_alike(n, round);
}

/* The first period's of each block, `from` or `to`; NULL: memory is short. What the round before had is there. */
static const uint32_t *keep_ranks(struct ss_network *n, const uint32_t *all, uint32_t count, const uint32_t *before) {
  const uint32_t blocks = count / n->map.ranks;
  bool same = before;
  for (uint32_t b = 0; same && b < blocks; b++)
    same = memcmp(before + b * n->live, all + b * n->map.ranks, n->live * sizeof *all) == 0;
  if (same) return before;
  uint32_t *kept = ss_arena_alloc(&n->map.arena, (size_t)blocks * n->live, sizeof *kept);
  for (uint32_t b = 0; kept && b < blocks; b++)
    memcpy(kept + b * n->live, all + b * n->map.ranks, n->live * sizeof *all);
  return kept;
}

bool ss_fair_remember(struct ss_network *n, const struct ss_network_round *round) {
  if (!ss_grow(n->past, n->past_capacity, n->past_count + 1)) return false;
  struct ss_fair_past *past = &n->past[n->past_count];
  struct ss_messages *m = &past->round.messages;
  const struct ss_messages *before = n->past_count > 0 ? &past[-1].round.messages : NULL;
  const bool as_before = before && before->from && before->count == round->messages.count;
  const uint32_t works = round->after_count / n->map.ranks;
  double *seconds = ss_arena_alloc(&n->map.arena, works, sizeof *seconds);
  *past = (struct ss_fair_past){*round, seconds};
  if (m->bytes) m->each = m->bytes[0];
  m->bytes = NULL;
  if (m->from) m->from = keep_ranks(n, round->messages.from, m->count, as_before ? before->from : NULL);
  if (m->to) m->to = keep_ranks(n, round->messages.to, m->count, as_before ? before->to : NULL);
  past->round.after = NULL;
  if (!seconds || (round->messages.from && (!m->from || !m->to))) return false;
  for (uint32_t b = 0; b < works; b++) seconds[b] = round->after[b * n->map.ranks].seconds;
  n->past_messages = m->count > n->past_messages ? m->count : n->past_messages;
  n->past_works = round->after_count > n->past_works ? round->after_count : n->past_works;
  n->past_count++;
  return true;
}

static void recall_ranks(const struct ss_network *n, const uint32_t *kept, uint32_t count, uint32_t *all) {
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t k = i % n->map.ranks;
    all[i] = k < n->live ? kept[i / n->map.ranks * n->live + k] : further(n, all[i - n->live]);
  }
}

struct ss_network_round ss_fair_recall(const struct ss_network *n, size_t i, const struct ss_fair_lists *room) {
  struct ss_network_round round = n->past[i].round;
  if (round.messages.from) {
    recall_ranks(n, round.messages.from, round.messages.count, room->from);
    recall_ranks(n, round.messages.to, round.messages.count, room->to);
    round.messages.from = room->from;
    round.messages.to = room->to;
  }
  for (uint32_t r = 0; r < round.after_count; r++)
    room->after[r] = (struct ss_computation){r % n->map.ranks, n->past[i].seconds[r / n->map.ranks]};
  round.after = room->after;
  return round;
}

/* Of `count` links from `first` on, those of the first period are repeated. */
static void repeat(struct ss_network *n, uint32_t first, uint32_t count, uint32_t period) {
  struct ss_shares_link *link = &n->wire->shares.link[first];
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
  repeat(n, map->host_out, map->nodes * map->host_groups, nodes * map->host_groups);
  repeat(n, map->host_in, map->nodes * map->host_groups, nodes * map->host_groups);
  for (uint32_t way = 0; map->ports && way < 2; way++) {
    repeat(n, map->outer + way * map->endpoints, map->endpoints, n->live);
    repeat(n, map->inner + way * map->endpoints, map->endpoints, n->live);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
