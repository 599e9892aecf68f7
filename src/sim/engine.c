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

/* --- playing ---------------------------------------------------------------------------------------------------- */

/* A round's kernels at the pace of a network; NULL: memory is short. */
static const struct ss_computation *paced(struct ss_engine_network *on, const struct ss_network_round *round) {
  if (!ss_grow(on->paced, on->paced_capacity, round->after_count)) return NULL;
  for (uint32_t i = 0; i < round->after_count; i++) {
    on->paced[i] = round->after[i];
    on->paced[i].seconds *= on->pace;
  }
  return on->paced;
}

/* The round's times on one network, without its bytes. */
static inline bool advance(struct ss_engine_network *on, const struct ss_network_round *round) {
  if (on->pace == 1 || round->after_count == 0) return on->model->round(on->network, round);
  struct ss_network_round times = *round;
  times.after = paced(on, round);
  return times.after && on->model->round(on->network, &times);
}

static struct ss_network_round times_of(const struct ss_round *round) {
  return (struct ss_network_round){.messages = round->messages,
                                   .dependent = round->dependent,
                                   .exchange = round->exchange,
                                   .settled = round->settled,
                                   .settled_count = round->settled_count,
                                   .after = round->after,
                                   .after_count = round->after_count};
}

static void replay(const struct ss_recording *recording, struct ss_engine_network *on) {
  struct ss_replay from_first = {.recording = recording};
  const struct ss_rounds rounds = ss_replay_rounds(&from_first);
  for (const struct ss_network_round *round; !on->failed && (round = rounds.next(rounds.context));)
    on->failed = !advance(on, round);
}

static void *play_networks(void *engine) {
  struct ss_engine *e = engine;
  const struct ss_network_traffic traffic = {e->sent, e->received, e->everyone};
  for (uint32_t i; (i = atomic_fetch_add(&e->next, 1)) < e->count;) {
    replay(&e->playing, &e->on[i]);
    if (e->over) e->on[i].model->finish(e->on[i].network, &traffic, &e->on[i].result);
  }
  return NULL;
}

static size_t kept(const struct ss_engine *e) {
  return e->filled.lists + e->filled.sizes + e->filled.afters;
}

/* Waits for the other threads, at their side. False: memory was short. */
static bool join(struct ss_engine *e) {
  play_networks(e);
  while (e->helpers > 0) (void)pthread_join(e->helper[--e->helpers], NULL);
  for (uint32_t i = 0; i < e->count; i++)
    if (e->on[i].failed) return false;
  return true;
}

/* Lets other threads play what is kept; where none can be had, this one does so when it waits for them. */
static void hand_over(struct ss_engine *e) {
  enum { FEW = 1 << 12 };
  const struct ss_recording played = e->playing;
  const bool few = !e->several && kept(e) < FEW;
  e->playing = e->filled;
  e->filled = played;
  e->several = true;
  ss_recording_clear(&e->filled);
  atomic_store(&e->next, 0);
  while (!few && e->helpers + 1 < e->threads && e->helpers < e->count &&
         pthread_create(&e->helper[e->helpers], NULL, play_networks, e) == 0)
    e->helpers++;
}

static bool keep(struct ss_engine *e, const struct ss_round *round) {
  enum { MANY = 1 << 16 };
  if (!ss_recording_add(&e->filled, round)) return false;
  if (kept(e) < MANY) return true;
  if (!join(e)) return false;
  hand_over(e);
  return true;
}

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct ss_engine *e = (struct ss_engine *)player;
  const struct ss_network_round times = times_of(round);
  bool ok = true;
  count(e, round);
  if (e->threads > 1) ok = keep(e, round);
  for (uint32_t i = 0; ok && e->threads == 1 && i < e->count; i++) ok = advance(&e->on[i], &times);
  return ok || ss_fail_memory(error, "keeping messages that are under way");
}

bool ss_engine_end(struct ss_engine *e, struct ss_error *error) {
  if (e->over) return true;
  if (!join(e)) return ss_fail_memory(error, "keeping messages that are under way");
  e->over = true;
  hand_over(e);
  return join(e) || ss_fail_memory(error, "keeping messages that are under way");
}

/* --- life ------------------------------------------------------------------------------------------------------- */

bool ss_engine_open(struct ss_engine *e, const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                    struct ss_error *error) {
  return ss_engine_open_each(e, &cluster, 1, (struct ss_engine_size){.ranks = ranks, .servers = servers}, error);
}

bool ss_engine_open_each(struct ss_engine *e, const struct ss_cluster *const *clusters, uint32_t count,
                         struct ss_engine_size size, struct ss_error *error) {
  const uint32_t n = size.ranks + size.servers;
  *e = (struct ss_engine){.player = {.play = play}, .ranks = size.ranks, .endpoints = n, .threads = 1};
  e->on = ss_alloc_zero(count, sizeof *e->on);
  e->sent = ss_alloc_zero(n, sizeof *e->sent);
  e->received = ss_alloc_zero(n, sizeof *e->received);
  for (uint32_t i = 0; i < count; i++) /* ordered ports take less time than to keep a round does */
    if (size.threads > 1 && ss_cluster_fair(clusters[i])) e->threads = size.threads;
  e->helper = ss_alloc(e->threads, sizeof *e->helper);
  bool ok = e->on && e->sent && e->received && e->helper;
  for (; ok && e->count < count; e->count++) {
    struct ss_cluster cluster = *clusters[e->count];
    ss_cluster_widen(&cluster, size.rings);
    const struct ss_network_model *model = ss_network_model_of(&cluster);
    e->on[e->count] = (struct ss_engine_network){
        .model = model, .network = model->open(&cluster, size.ranks, size.servers), .pace = 1};
    ok = e->on[e->count].network;
  }
  atomic_init(&e->next, e->count);
  if (ok) return true;
  ss_engine_close(e);
  return ss_fail_memory(error, "making room for the endpoints");
}

void ss_engine_close(struct ss_engine *e) {
  assert(e->on || e->count == 0);
  while (e->helpers > 0) (void)pthread_join(e->helper[--e->helpers], NULL);
  for (uint32_t i = 0; i < e->count; i++) {
    e->on[i].model->close(e->on[i].network);
    free(e->on[i].paced);
  }
  ss_recording_free(&e->filled);
  ss_recording_free(&e->playing);
  free(e->helper);
  free(e->on);
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
  struct ss_network_result result = on->result;
  const struct ss_network_traffic traffic = {e->sent, e->received, e->everyone};
  if (!e->over) on->model->finish(on->network, &traffic, &result);
  t->time = result.time;
  t->kernel = result.computing;
  t->bound = result.bound;
  t->bound_link = result.bound_link;
  for (int i = 0; i < SS_LINK_KINDS; i++) t->usage[i] = result.usage[i];
}

struct ss_tally ss_engine_tally(struct ss_engine *e, uint32_t network) {
  assert(e->over || e->threads == 1);
  struct ss_tally t = {.messages = e->messages, .rounds = e->rounds};
  add_bytes(e, &t);
  add_times(e, &e->on[network], &t);
  return t;
}
/* SPDX-License-Identifier: Apache-2.0 */
