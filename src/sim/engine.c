#include "sim/engine.h"

#include <stdlib.h>
#include <string.h>

static inline double later(double a, double b) {
  return a > b ? a : b;
}

/* Everything before this round must be complete at an endpoint before it takes part. */
static void settle(struct ss_engine *e) {
  e->model->settle(e->network, e->done);
  for (uint32_t i = 0; i < e->endpoints; i++) e->done[i] = later(e->done[i], e->computed[i]);
}

static void count_bytes(struct ss_engine *e, const struct ss_messages *m) {
  e->messages += m->count;
  if (!m->from && !m->bytes && m->count == e->ranks) {
    e->everyone += m->each;
    return;
  }
  for (uint32_t i = 0; i < m->count; i++) {
    uint64_t bytes = ss_message_bytes(m, i);
    e->sent[ss_message_from(m, i)] += bytes;
    e->received[ss_message_to(m, i)] += bytes;
  }
}

static void run_kernels(struct ss_engine *e, const struct ss_kernel *kernels, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = kernels[i].endpoint;
    double start = later(later(e->ready[at], e->computed[at]), e->model->received(e->network, at));
    const double seconds = kernels[i].seconds * e->pace;
    e->computed[at] = start + seconds;
    e->busy[at] += seconds;
  }
}

/* The round's times, without its bytes. */
static inline void advance(struct ss_engine *e, const struct ss_round *round) {
  if (round->dependent) {
    settle(e);
    if (!round->settled) memcpy(e->ready, e->done, e->endpoints * sizeof *e->ready);
    for (uint32_t i = 0; round->settled && i < round->settled_count; i++)
      e->ready[round->settled[i]] = e->done[round->settled[i]];
  }
  if (round->messages.count > 0) e->model->play(e->network, &round->messages, e->ready);
  if (round->after_count > 0) run_kernels(e, round->after, round->after_count);
}

static void count(struct ss_engine *e, const struct ss_round *round) {
  if (round->messages.count == 0) return;
  count_bytes(e, &round->messages);
  e->rounds++;
}

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct ss_engine *e = (struct ss_engine *)player;
  (void)error;
  advance(e, round);
  count(e, round);
  return true;
}

bool ss_engine_open(struct ss_engine *e, const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                    struct ss_error *error) {
  uint32_t n = ranks + servers;
  *e = (struct ss_engine){.player = {.play = play}, .ranks = ranks, .endpoints = n, .pace = 1};
  e->model = ss_network_model_of(cluster);
  e->network = e->model->open(cluster, ranks, servers);
  e->ready = ss_alloc_zero(n, sizeof *e->ready);
  e->done = ss_alloc_zero(n, sizeof *e->done);
  e->computed = ss_alloc_zero(n, sizeof *e->computed);
  e->busy = ss_alloc_zero(n, sizeof *e->busy);
  e->sent = ss_alloc_zero(n, sizeof *e->sent);
  e->received = ss_alloc_zero(n, sizeof *e->received);
  if (e->network && e->ready && e->done && e->computed && e->busy && e->sent && e->received) return true;
  ss_engine_close(e);
  return ss_fail_memory(error, "making room for the endpoints");
}

void ss_engine_close(struct ss_engine *e) {
  if (e->model) e->model->close(e->network);
  free(e->ready);
  free(e->done);
  free(e->computed);
  free(e->busy);
  free(e->sent);
  free(e->received);
  *e = (struct ss_engine){0};
}

uint64_t ss_engine_sent(const struct ss_engine *e, uint32_t endpoint) {
  return e->sent[endpoint] + (endpoint < e->ranks ? e->everyone : 0);
}

uint64_t ss_engine_received(const struct ss_engine *e, uint32_t endpoint) {
  return e->received[endpoint] + (endpoint < e->ranks ? e->everyone : 0);
}

struct ss_tally ss_engine_tally(struct ss_engine *e) {
  struct ss_tally t = {.messages = e->messages, .rounds = e->rounds};
  settle(e);
  for (uint32_t i = 0; i < e->endpoints; i++) {
    uint64_t sent = ss_engine_sent(e, i), received = ss_engine_received(e, i);
    t.time = later(t.time, e->done[i]);
    t.kernel = later(t.kernel, e->busy[i]);
    t.bytes += sent;
    if (i >= e->ranks) {
      uint64_t larger = sent > received ? sent : received;
      if (larger > t.server_max) t.server_max = larger;
      continue;
    }
    if (sent > t.sent_max) t.sent_max = sent;
    if (received > t.received_max) t.received_max = received;
  }
  return t;
}

/* --- several networks ------------------------------------------------------------------------------------ */

static bool play_all(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct ss_engines *all = (struct ss_engines *)player;
  (void)error;
  for (uint32_t i = 0; i < all->count; i++) advance(&all->engine[i], round);
  count(&all->engine[0], round);
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
    const struct ss_tally own = ss_engine_tally(&engines->engine[i]);
    tallies[i] = i == 0 ? own : tallies[0];
    tallies[i].time = own.time;
    tallies[i].kernel = own.kernel;
  }
}
