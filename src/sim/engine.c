#include "sim/engine.h"

static void add_each(uint64_t *restrict sums, const uint64_t *restrict bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) sums[i] += bytes[i];
}

static void count_bytes(struct ss_engine *e, const struct ss_messages *m) {
  e->messages += m->count;
  if (!m->from && !m->bytes && m->count == e->ranks) {
    e->everyone += m->each;
    return;
  }
  if (!m->from && m->bytes) {
    const uint32_t ahead = m->count - m->shift;
    add_each(e->sent, m->bytes, m->count);
    add_each(e->received + m->shift, m->bytes, ahead);
    add_each(e->received, m->bytes + ahead, m->shift);
    return;
  }
  for (uint32_t i = 0; i < m->count; i++) {
    uint64_t bytes = ss_message_bytes(m, i);
    e->sent[ss_message_from(m, i)] += bytes;
    e->received[ss_message_to(m, i)] += bytes;
  }
}

static void count(struct ss_engine *e, const struct ss_round *round) {
  if (round->messages.count == 0) return;
  count_bytes(e, &round->messages);
  e->rounds++;
}

/* A round's kernels at the pace of a network; NULL: memory is short. */
static const struct ss_computation *paced(struct ss_engine *e, double pace, const struct ss_round *round) {
  if (!ss_grow(e->paced, e->paced_capacity, round->after_count)) return NULL;
  for (uint32_t i = 0; i < round->after_count; i++) {
    e->paced[i] = round->after[i];
    e->paced[i].seconds *= pace;
  }
  return e->paced;
}

/* The round's times on one network, without its bytes. */
static inline bool advance(struct ss_engine *e, const struct ss_engine_network *on, const struct ss_round *round) {
  const bool as_said = on->pace == 1 || round->after_count == 0;
  const struct ss_computation *after = as_said ? round->after : paced(e, on->pace, round);
  const struct ss_network_round times = {.messages = round->messages,
                                         .dependent = round->dependent,
                                         .exchange = round->exchange,
                                         .settled = round->settled,
                                         .settled_count = round->settled_count,
                                         .after = after,
                                         .after_count = round->after_count};
  return (as_said || after) && on->model->round(on->network, &times);
}

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct ss_engine *e = (struct ss_engine *)player;
  count(e, round);
  for (uint32_t i = 0; i < e->count; i++)
    if (!advance(e, &e->on[i], round)) return ss_fail_memory(error, "keeping messages that are under way");
  return true;
}

bool ss_engine_open(struct ss_engine *e, const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                    struct ss_error *error) {
  return ss_engine_open_each(e, &cluster, 1, (struct ss_engine_size){ranks, servers, 1}, error);
}

bool ss_engine_open_each(struct ss_engine *e, const struct ss_cluster *const *clusters, uint32_t count,
                         struct ss_engine_size size, struct ss_error *error) {
  const uint32_t n = size.ranks + size.servers;
  *e = (struct ss_engine){.player = {.play = play}, .ranks = size.ranks, .endpoints = n};
  e->on = ss_alloc_zero(count, sizeof *e->on);
  e->sent = ss_alloc_zero(n, sizeof *e->sent);
  e->received = ss_alloc_zero(n, sizeof *e->received);
  bool ok = e->on && e->sent && e->received;
  for (; ok && e->count < count; e->count++) {
    struct ss_cluster cluster = *clusters[e->count];
    ss_cluster_widen(&cluster, size.rings);
    const struct ss_network_model *model = ss_network_model_of(&cluster);
    e->on[e->count] = (struct ss_engine_network){model, model->open(&cluster, size.ranks, size.servers), 1};
    ok = e->on[e->count].network;
  }
  if (ok) return true;
  ss_engine_close(e);
  return ss_fail_memory(error, "making room for the endpoints");
}

void ss_engine_close(struct ss_engine *e) {
  assert(e->on || e->count == 0);
  for (uint32_t i = 0; i < e->count; i++) e->on[i].model->close(e->on[i].network);
  free(e->on);
  free(e->sent);
  free(e->received);
  free(e->paced);
  *e = (struct ss_engine){0};
}

uint64_t ss_engine_sent(const struct ss_engine *e, uint32_t endpoint) {
  return e->sent[endpoint] + (endpoint < e->ranks ? e->everyone : 0);
}

uint64_t ss_engine_received(const struct ss_engine *e, uint32_t endpoint) {
  return e->received[endpoint] + (endpoint < e->ranks ? e->everyone : 0);
}

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static void add_bytes(const struct ss_engine *e, struct ss_tally *t) {
  for (uint32_t i = 0; i < e->endpoints; i++) {
    uint64_t sent = ss_engine_sent(e, i), received = ss_engine_received(e, i);
    t->bytes += sent;
    if (i >= e->ranks) {
      t->server_max = larger(t->server_max, larger(sent, received));
      continue;
    }
    t->sent_max = larger(t->sent_max, sent);
    t->received_max = larger(t->received_max, received);
  }
}

/* What a network alone makes of the rounds. */
static void add_times(const struct ss_engine *e, const struct ss_engine_network *on, struct ss_tally *t) {
  struct ss_network_result result;
  const struct ss_network_traffic traffic = {e->sent, e->received, e->everyone};
  on->model->finish(on->network, &traffic, &result);
  t->time = result.time;
  t->kernel = result.computing;
  t->bound = result.bound;
  t->bound_link = result.bound_link;
  for (int i = 0; i < SS_LINK_KINDS; i++) t->usage[i] = result.usage[i];
}

struct ss_tally ss_engine_tally(struct ss_engine *e, uint32_t network) {
  struct ss_tally t = {.messages = e->messages, .rounds = e->rounds};
  add_bytes(e, &t);
  add_times(e, &e->on[network], &t);
  return t;
}
/* SPDX-License-Identifier: Apache-2.0 */
