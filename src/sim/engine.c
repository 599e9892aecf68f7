#include "sim/engine.h"

#include "base/list.h"

#include <stdlib.h>

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

/* A round's kernels at the engine's pace; NULL: memory is short. */
static const struct ss_computation *paced(struct ss_engine *e, const struct ss_computation *kernels, uint32_t count) {
  if (!ss_grow(e->paced, e->paced_capacity, count)) return NULL;
  for (uint32_t i = 0; i < count; i++) {
    e->paced[i] = kernels[i];
    e->paced[i].seconds *= e->pace;
  }
  return e->paced;
}

/* The round's times, without its bytes. */
static inline bool advance(struct ss_engine *e, const struct ss_round *round, struct ss_error *error) {
  const bool as_said = e->pace == 1 || round->after_count == 0;
  const struct ss_computation *after = as_said ? round->after : paced(e, round->after, round->after_count);
  const struct ss_network_round times = {.messages = round->messages,
                                         .dependent = round->dependent,
                                         .exchange = round->exchange,
                                         .settled = round->settled,
                                         .settled_count = round->settled_count,
                                         .after = after,
                                         .after_count = round->after_count};
  return ((as_said || after) && e->model->round(e->network, &times)) ||
         ss_fail_memory(error, "keeping messages that are under way");
}

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct ss_engine *e = (struct ss_engine *)player;
  count(e, round);
  return advance(e, round, error);
}

bool ss_engine_open(struct ss_engine *e, const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                    struct ss_error *error) {
  uint32_t n = ranks + servers;
  *e = (struct ss_engine){.player = {.play = play}, .ranks = ranks, .endpoints = n, .pace = 1};
  e->model = ss_network_model_of(cluster);
  e->network = e->model->open(cluster, ranks, servers);
  e->sent = ss_alloc_zero(n, sizeof *e->sent);
  e->received = ss_alloc_zero(n, sizeof *e->received);
  if (e->network && e->sent && e->received) return true;
  ss_engine_close(e);
  return ss_fail_memory(error, "making room for the endpoints");
}

void ss_engine_close(struct ss_engine *e) {
  if (e->model) e->model->close(e->network);
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

/* What the network alone makes of the rounds, which `counted` has counted. */
static void add_times(struct ss_engine *e, const struct ss_engine *counted, struct ss_tally *t) {
  struct ss_network_result result;
  const struct ss_network_traffic traffic = {counted->sent, counted->received, counted->everyone};
  e->model->finish(e->network, &traffic, &result);
  t->time = result.time;
  t->kernel = result.computing;
  t->bound = result.bound;
  t->bound_link = result.bound_link;
  for (int i = 0; i < SS_LINK_KINDS; i++) t->usage[i] = result.usage[i];
}

struct ss_tally ss_engine_tally(struct ss_engine *e) {
  struct ss_tally t = {.messages = e->messages, .rounds = e->rounds};
  add_bytes(e, &t);
  add_times(e, e, &t);
  return t;
}

/* --- several networks ------------------------------------------------------------------------------------ */

static bool play_all(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct ss_engines *all = (struct ss_engines *)player;
  count(&all->engine[0], round);
  for (uint32_t i = 0; i < all->count; i++)
    if (!advance(&all->engine[i], round, error)) return false;
  return true;
}

bool ss_engines_open(struct ss_engines *engines, const struct ss_cluster *const *clusters, uint32_t count,
                     uint32_t ranks, uint32_t servers, struct ss_error *error) {
  *engines = (struct ss_engines){.player = {.play = play_all}};
  engines->engine = ss_alloc_zero(count, sizeof *engines->engine);
  if (!engines->engine) return ss_fail_memory(error, "making room for the networks");
  for (; engines->count < count; engines->count++)
    if (!ss_engine_open(&engines->engine[engines->count], clusters[engines->count], ranks, servers, error)) {
      ss_engines_close(engines);
      return false;
    }
  return true;
}

void ss_engines_close(struct ss_engines *engines) {
  for (uint32_t i = 0; i < engines->count; i++) ss_engine_close(&engines->engine[i]);
  free(engines->engine);
  *engines = (struct ss_engines){0};
}

struct ss_player *ss_engines_player(struct ss_engines *engines) {
  return engines->count == 1 ? &engines->engine->player : &engines->player;
}

void ss_engines_tally(struct ss_engines *engines, struct ss_tally *tallies) {
  for (uint32_t i = 0; i < engines->count; i++) {
    tallies[i] = i == 0 ? ss_engine_tally(&engines->engine[0]) : tallies[0];
    if (i > 0) add_times(&engines->engine[i], &engines->engine[0], &tallies[i]);
  }
}
