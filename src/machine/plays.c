#include "machine/plays.h"

#include "machine/fair_time.h"

struct member {
  struct ss_rounds rounds;
  double ready; /* s: its first round */
  uint32_t id;
  bool listed; /* all of its rounds */
};

struct ss_plays {
  struct ss_fair_wire wire;
  struct member *member; /* [wire.members] beside its networks, NULL where there is none */
  size_t networks, members;
  struct ss_plays_size size;
  struct ss_fair_join join;
};

static struct ss_cluster widened(const struct ss_cluster *cluster, uint32_t rings) {
  struct ss_cluster c = *cluster;
  ss_cluster_widen(&c, rings);
  return c;
}

static bool open_links(struct ss_plays *p, const struct ss_cluster *const *clusters, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    SS_AUTO(ss_fair_map_close) struct ss_fair_map map;
    if (!ss_fair_map_open(&map, clusters[i], p->size.ranks, p->size.servers, &p->join) ||
        (i == 0 && !ss_shares_open(&p->wire.shares, map.links, map.path)))
      return false;
    assert(map.links == p->wire.shares.links && map.path <= 1u << p->wire.shares.shift);
    ss_fair_capacities(&map, clusters[i], p->wire.shares.link);
  }
  return true;
}

struct ss_plays *ss_plays_open(const struct ss_cluster *const *clusters, uint32_t count, struct ss_plays_size size) {
  struct ss_plays *p = ss_alloc_zero(1, sizeof *p);
  if (!p) return NULL;
  p->size = size;
  p->join = (struct ss_fair_join){size.ranks + size.servers, true, false};
  for (uint32_t i = 0; i < count; i++) p->join.staged = p->join.staged || clusters[i]->staged;
  p->wire.asking = size.shared ? size.ranks : 0;
  if (open_links(p, clusters, count)) return p;
  ss_plays_close(p);
  return NULL;
}

void ss_plays_close(struct ss_plays *p) {
  if (!p) return;
  for (uint32_t i = 0; i < p->wire.members; i++)
    if (p->wire.member[i]) ss_fair_close(p->wire.member[i]);
  ss_fair_wire_close(&p->wire);
  free(p->wire.member);
  free(p->member);
  free(p);
}

/* The first number that no play has; false: memory is short. */
static bool find_number(struct ss_plays *p, uint32_t *number) {
  *number = 0;
  while (*number < p->wire.members && p->wire.member[*number]) ++*number;
  if (*number < p->wire.members) return true;
  if (!ss_grow(p->wire.member, p->networks, *number + 1) || !ss_grow(p->member, p->members, *number + 1))
    return false;
  p->wire.member[p->wire.members++] = NULL;
  return true;
}

bool ss_plays_start(struct ss_plays *p, const struct ss_play_begun *play, double at, double delay) {
  const struct ss_cluster cluster = widened(play->cluster, play->rings);
  uint32_t number;
  if (!find_number(p, &number)) return false;
  struct ss_network *n = ss_fair_open_joined(&cluster, p->size.ranks, play->servers, &p->join);
  if (!n) return false;
  n->wire = &p->wire;
  n->number = number;
  n->stretch = play->stretch;
  n->pace = play->pace;
  p->wire.now = ss_later(p->wire.now, at);
  p->wire.member[number] = n;
  p->member[number] = (struct member){play->rounds, at + delay, play->id, false};
  return true;
}

/* While something that is not listed yet could start, rounds are listed. */
static bool list_rounds(struct ss_plays *p, uint32_t i) {
  struct ss_network *n = p->wire.member[i];
  if (p->wire.now < p->member[i].ready) return true;
  while (n && !p->member[i].listed && n->open > 0) {
    const struct ss_network_round *round = p->member[i].rounds.next(p->member[i].rounds.context);
    p->member[i].listed = !round;
    if (round && !ss_fair_list(n, round)) return false;
  }
  return true;
}

static bool is_through(const struct ss_plays *p, uint32_t i) {
  const struct ss_network *n = p->wire.member[i];
  return n && p->member[i].listed && !(n->listed > 0 || n->computing.count > 0 || n->asks > 0);
}

static void end_play(struct ss_plays *p, uint32_t i, uint32_t *id, double *ended) {
  struct ss_network *n = p->wire.member[i];
  *id = p->member[i].id;
  *ended = p->member[i].ready;
  for (uint32_t e = 0; e < n->map.endpoints; e++) *ended = ss_later(*ended, n->done[e]);
  ss_fair_close(n);
  p->wire.member[i] = NULL;
}

static double next_of(const struct ss_plays *p) {
  double next = ss_fair_next(&p->wire);
  for (uint32_t i = 0; i < p->wire.members; i++)
    if (p->wire.member[i] && p->member[i].ready > p->wire.now) next = ss_sooner(next, p->member[i].ready);
  return next;
}

enum ss_plays_state ss_plays_advance(struct ss_plays *p, double until, uint32_t *id, double *at) {
  for (;;) {
    for (uint32_t i = 0; i < p->wire.members; i++) {
      if (!list_rounds(p, i)) return SS_PLAYS_SHORT;
      if (!is_through(p, i)) continue;
      end_play(p, i, id, at);
      return SS_PLAYS_ENDED;
    }
    const double next = next_of(p);
    if (p->wire.asked && next > p->wire.now) {
      p->wire.asked = false;
      *at = p->wire.now;
      return SS_PLAYS_ASKED;
    }
    if (!(next <= until && next < HUGE_VAL)) return SS_PLAYS_GO_ON;
    ss_fair_step(&p->wire, next);
  }
}

static struct ss_network *play_of(const struct ss_plays *p, uint32_t id) {
  uint32_t i = 0;
  while (!p->wire.member[i] || p->member[i].id != id) i++;
  return p->wire.member[i];
}

bool ss_plays_asks(const struct ss_plays *p, uint32_t id, uint32_t rank, double *since, double *seconds) {
  const struct ss_network *n = play_of(p, id);
  if (!n->end[rank].computing) return false;
  *since = n->end[rank].asked;
  *seconds = ss_fair_asks_for(n, rank);
  return true;
}

void ss_plays_computed(struct ss_plays *p, uint32_t id, uint32_t rank, double at) {
  p->wire.now = ss_later(p->wire.now, at);
  ss_fair_computed(play_of(p, id), rank);
}
/* SPDX-License-Identifier: Apache-2.0 */
