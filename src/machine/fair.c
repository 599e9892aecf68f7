/* The model "fair" (docs/model.md, "The model `fair`"): rounds come in, and what became of them goes out.
 *
 * Messages are kept from the round that lists them to their end. Time goes on only as far as no message that is still
 * to be listed could start: while every port has a message listed that has not started, or as many under way as it
 * may have, or waits for what was listed before a dependent round. */
#include "machine/fair_time.h"

/* --- life ---------------------------------------------------------------------------------------------------- */

/* One member's leaves with it; that of several outlives them. */
static void leave_wire(struct ss_network *n) {
  struct ss_fair_wire *wire = n->wire;
  if (!wire) return;
  wire->flows -= n->flows;
  if (wire->member != &wire->only) return;
  ss_fair_wire_close(wire);
  free(wire);
}

static void close_network(struct ss_network *n) {
  if (!n) return;
  ss_fair_heap_close(&n->computing);
  ss_fair_heap_close(&n->late);
  leave_wire(n);
  free(n->message);
  free(n->blocks.left);
  free(n->work);
  free(n->ended);
  free(n->past);
  ss_arena_free(&n->map.arena);
  free(n);
}

static bool open_parts(struct ss_network *n, const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                       const struct ss_fair_join *join) {
  const uint32_t endpoints = ranks + servers;
  if (!ss_fair_map_open(&n->map, cluster, ranks, servers, join)) return false;
  n->window = ss_cluster_window(cluster);
  for (int i = 0; i < 2; i++) n->window_of[i] = ss_cluster_window_of(cluster, i == 1);
  n->uneven = ss_uneven_of(&n->cluster.jitter);
  n->blocks.free = n->free_work = SS_NONE;
  struct ss_arena *arena = &n->map.arena;
  n->ended = ss_alloc(endpoints, sizeof *n->ended);
  if (!n->ended || !ss_take_zero(arena, n->end, endpoints) || !ss_take_zero(arena, n->done, endpoints) ||
      !ss_take(arena, n->queue, n->map.queues) || !ss_take(arena, n->stirred, endpoints) ||
      !ss_take(arena, n->path, n->map.path) || !ss_fair_heap_reserve(&n->computing, endpoints))
    return false;
  if (join) return true;
  n->wire = ss_alloc_zero(1, sizeof *n->wire);
  if (!n->wire) return false;
  n->wire->member = &n->wire->only;
  n->wire->only = n;
  n->wire->members = 1;
  if (!ss_shares_open(&n->wire->shares, n->map.links, n->map.path)) return false;
  ss_fair_capacities(&n->map, cluster, n->wire->shares.link);
  return true;
}

/* `live`: how many endpoints are played; `join`: it is to be a member of a wire with others. */
static struct ss_network *open_live(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers, uint32_t live,
                                    const struct ss_fair_join *join) {
  struct ss_network *n = ss_alloc_zero(1, sizeof *n);
  if (!n) return NULL;
  n->cluster = *cluster;
  n->live = live;
  n->stretch = n->pace = 1;
  if (!open_parts(n, cluster, ranks, servers, join)) {
    close_network(n);
    return NULL;
  }
  for (uint32_t e = 0; e < n->map.endpoints; e++) {
    struct ss_fair_end *end = &n->end[e];
    end->out.next = end->in.next = end->oldest = end->next_work = SS_NONE;
    end->open = 2;
  }
  n->open = 2 * (uint64_t)live;
  for (uint32_t i = 0; i < n->map.queues; i++) n->queue[i] = (struct ss_fair_queue){SS_NONE, SS_NONE};
  return n;
}

static struct ss_network *open_network(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers) {
  return open_live(cluster, ranks, servers, ss_fair_period(cluster, ranks, servers), NULL);
}

struct ss_network *ss_fair_open_joined(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                                       const struct ss_fair_join *join) {
  return open_live(cluster, ranks, servers, ranks + servers, join);
}

void ss_fair_close(struct ss_network *network) {
  close_network(network);
}

/* --- rounds -------------------------------------------------------------------------------------------------- */

static uint32_t enough(uint32_t had, uint64_t need) {
  const uint64_t grown = (uint64_t)had + had / 2 + 64;
  return (uint32_t)(grown > need ? grown : need);
}

static bool reserve_flows(struct ss_network *n, uint32_t flows) {
  struct ss_fair_wire *wire = n->wire;
  const uint64_t all = wire->flows - n->flows + flows;
  if (all + n->map.endpoints >= SS_NONE) return false;
  uint32_t *ended = ss_realloc(n->ended, flows + n->map.endpoints, sizeof *ended);
  if (ended) n->ended = ended;
  if (!ended) return false;
  n->flows = flows;
  wire->flows = all;
  if (all <= wire->shares.capacity) return true;
  uint32_t *over = ss_realloc(wire->ended, all, sizeof *over);
  if (over) wire->ended = over;
  return over && ss_shares_reserve(&wire->shares, (uint32_t)all);
}

/* Room for so many messages more. */
static bool reserve_messages(struct ss_network *n, uint32_t messages) {
  struct ss_fair_blocks *blocks = &n->blocks;
  const uint32_t more = messages / SS_FAIR_BLOCK + 1, unused = blocks->capacity - blocks->used;
  if (blocks->free_count + unused >= more) return true;
  const uint64_t need = (uint64_t)blocks->used + more, grown = blocks->capacity + (uint64_t)blocks->capacity / 2;
  const uint64_t capacity = grown > need ? grown : need;
  if (capacity * SS_FAIR_BLOCK >= SS_NONE) return false;
  struct ss_fair_message *message = ss_realloc(n->message, capacity, SS_FAIR_BLOCK * sizeof *message);
  if (message) n->message = message;
  uint32_t *left = ss_realloc(blocks->left, capacity, sizeof *left);
  if (left) blocks->left = left;
  if (!message || !left) return false;
  if (n->uneven.latency && !ss_fair_heap_reserve(&n->late, (uint32_t)capacity * SS_FAIR_BLOCK)) return false;
  blocks->capacity = (uint32_t)capacity;
  return true;
}

/* No more flow than messages are listed, nor than ports may have under way. */
static bool reserve(struct ss_network *n, uint32_t messages, uint32_t works) {
  const uint64_t most = (uint64_t)n->window * n->map.endpoints, listed = (uint64_t)n->listed + messages;
  if (listed >= SS_NONE) return false;
  if (!reserve_messages(n, messages)) return false;
  const uint64_t flows = listed < most ? listed : most;
  if (flows > n->flows && !reserve_flows(n, enough((uint32_t)n->flows, flows))) return false;
  if (works > 0 && n->work_capacity - n->works < works) {
    const uint32_t capacity = enough(n->work_capacity, (uint64_t)n->work_capacity + works);
    struct ss_fair_work *work = ss_realloc(n->work, capacity, sizeof *work);
    if (!work) return false;
    n->work = work;
    n->work_capacity = capacity;
  }
  return true;
}

static void settle_end(struct ss_network *n, uint32_t e) {
  n->end[e].barrier = n->end[e].listed;
  ss_fair_count_open(n, e);
}

/* The endpoint that is played for this one. */
static uint32_t played(const struct ss_network *n, uint32_t endpoint) {
  return endpoint < n->live || n->live == 0 ? endpoint : endpoint % n->live;
}

static uint32_t new_message(struct ss_network *n) {
  struct ss_fair_blocks *blocks = &n->blocks;
  if (blocks->next % SS_FAIR_BLOCK == 0) {
    const bool again = blocks->free != SS_NONE;
    const uint32_t block = again ? blocks->free : blocks->used++;
    if (again) blocks->free = blocks->left[block], blocks->free_count--;
    blocks->left[block] = SS_FAIR_BLOCK;
    blocks->next = block * SS_FAIR_BLOCK;
  }
  n->listed++;
  return blocks->next++;
}

static void list_message(struct ss_network *n, const struct ss_network_round *round, uint32_t i) {
  const uint32_t from = ss_message_from(&round->messages, i), there = ss_message_to(&round->messages, i);
  const uint32_t to = played(n, there);
  const uint64_t bytes = ss_message_bytes(&round->messages, i);
  const uint32_t id = new_message(n);
  struct ss_fair_end *a = &n->end[from], *b = &n->end[to];
  struct ss_fair_message *m = &n->message[id];
  *m = (struct ss_fair_message){.bytes = (double)bytes * n->stretch,
                                .need = {a->barrier, b->barrier},
                                .from = from,
                                .to = to,
                                .next_out = SS_NONE,
                                .next_in = SS_NONE,
                                .number = b->receipts++,
                                .kind = (uint16_t)ss_fair_kind_of(&n->map, from, there, bytes, round->exchange),
                                .exchange = round->exchange};
  if (a->out.next == SS_NONE) a->out.next = id, ss_fair_stir(n, from);
  else n->message[a->out.last].next_out = id;
  a->out.last = id;
  if (b->oldest == SS_NONE) b->oldest = id;
  else n->message[b->in.last].next_in = id;
  b->in.last = id;
  if (b->in.next == SS_NONE) b->in.next = id, ss_fair_stir(n, to);
  a->listed++;
  b->listed++;
}

static void list_work(struct ss_network *n, uint32_t endpoint, double seconds) {
  struct ss_fair_end *end = &n->end[endpoint];
  const uint32_t id = n->free_work != SS_NONE ? n->free_work : n->works++;
  struct ss_fair_work *work = &n->work[id];
  if (n->free_work != SS_NONE) n->free_work = work->next;
  *work = (struct ss_fair_work){seconds * n->pace, end->barrier, end->receipts, SS_NONE};
  if (end->next_work == SS_NONE) end->next_work = id;
  else n->work[end->last_work].next = id;
  end->last_work = id;
  end->listed++;
  ss_fair_stir(n, endpoint);
}

/* Of `count` that are listed, how many are played; and the number of the i-th of them in the list. */
static uint32_t played_of(const struct ss_network *n, uint32_t count) {
  return ss_fair_folded(n) ? count / n->map.ranks * n->live : count;
}

static uint32_t number_of(const struct ss_network *n, uint32_t i) {
  return ss_fair_folded(n) ? i / n->live * n->map.ranks + i % n->live : i;
}

static void settle(struct ss_network *n, const struct ss_network_round *round) {
  if (round->dependent && !round->settled)
    for (uint32_t e = 0; e < n->live; e++) settle_end(n, e);
  for (uint32_t i = 0; round->dependent && round->settled && i < round->settled_count; i++)
    settle_end(n, round->settled[i]);
}

static bool list(struct ss_network *n, const struct ss_network_round *round) {
  const uint32_t messages = played_of(n, round->messages.count), works = played_of(n, round->after_count);
  if (!reserve(n, messages, works)) return false;
  for (uint32_t i = 0; i < messages; i++) list_message(n, round, number_of(n, i));
  for (uint32_t i = 0; i < works; i++) {
    const struct ss_computation *c = &round->after[number_of(n, i)];
    list_work(n, ss_fair_folded(n) ? i % n->live : c->endpoint, c->seconds);
  }
  ss_fair_start_all(n);
  return true;
}

static bool take(struct ss_network *n, const struct ss_network_round *round) {
  settle(n, round);
  ss_fair_advance(n, false);
  return list(n, round);
}

bool ss_fair_list(struct ss_network *n, const struct ss_network_round *round) {
  settle(n, round);
  return list(n, round);
}

/* From now on every endpoint is played, and what was alike until now as well. */
static bool unfold(struct ss_network *n) {
  struct ss_network *whole =
      open_live(&n->cluster, n->map.ranks, n->map.endpoints - n->map.ranks, n->map.endpoints, NULL);
  struct ss_arena arena = {0};
  struct ss_fair_lists room;
  bool ok = whole && ss_take(&arena, room.from, n->past_messages) && ss_take(&arena, room.to, n->past_messages) &&
            ss_take(&arena, room.after, n->past_works);
  for (size_t i = 0; ok && i < n->past_count; i++) {
    const struct ss_network_round round = ss_fair_recall(n, i, &room);
    ok = take(whole, &round);
  }
  ss_arena_free(&arena);
  if (ok) {
    const struct ss_network folded = *n;
    *n = *whole;
    *whole = folded;
    n->wire->only = n;
    whole->wire->only = whole;
  }
  close_network(whole);
  return ok;
}

static bool take_round(struct ss_network *n, const struct ss_network_round *round) {
  if (ss_fair_folded(n) && !(ss_fair_alike(n, round) ? ss_fair_remember(n, round) : unfold(n))) return false;
  return take(n, round);
}

/* --- what became of it --------------------------------------------------------------------------------------- */

/* Of a port that has several messages under way: as long as the links of its classes need, and messages that went in
 * turn; and of several rings, which rarely have as many as they may, what each message takes alone, so many at a
 * time. */
static void add_least(const struct ss_network *n, uint32_t number, const struct ss_fair_use *port,
                      struct ss_link_use *out) {
  const struct ss_shares_link *outer = &n->wire->shares.link[n->map.outer + number];
  const struct ss_shares_link *inner = &n->wire->shares.link[n->map.inner + number];
  const double carried = ss_later(outer->bytes / outer->capacity, inner->bytes / inner->capacity);
  const double rings = ss_cluster_rings(&n->cluster) > 1 ? port->least / n->window : 0;
  out->busy = ss_later(outer->busy, inner->busy);
  out->least = ss_later(ss_later(carried, port->in_turn), rings);
  /* what messages take alone counts their start-ups, in proportion */
  out->startup = out->least > carried ? port->startup / port->least * out->least : 0;
}

static void use_of_port(const struct ss_network *n, uint32_t e, bool in, struct ss_link_use *out) {
  const struct ss_fair_use *port = in ? &n->end[e].received : &n->end[e].sent;
  const bool server = e >= n->map.ranks;
  *out = (struct ss_link_use){.kind = in ? SS_INGRESS : SS_EGRESS,
                              .index = server ? e - n->map.ranks : e,
                              .server = server,
                              .bytes = port->bytes,
                              .busy = port->busy,
                              .least = port->least,
                              .startup = port->startup};
  for (uint32_t i = 0; i < n->map.kind_count; i++)
    out->capacity = ss_later(out->capacity, ss_sooner(n->map.kind[i].rate, n->map.kind[i].most));
  if (n->map.ports) add_least(n, (in ? n->map.endpoints : 0) + e, port, out);
}

static bool link_of(const struct ss_network *n, uint32_t i, struct ss_link_use *out) {
  const uint32_t ports = 2 * n->map.endpoints;
  if (i < ports) {
    use_of_port(n, i / 2, i % 2 == 1, out);
    return true;
  }
  if (i - ports >= n->map.shared) return false;
  const struct ss_shares_link *link = &n->wire->shares.link[i - ports];
  *out = ss_fair_name(&n->map, i - ports);
  out->capacity = link->capacity;
  out->bytes = link->bytes;
  out->busy = link->busy;
  out->least = link->bytes / link->capacity;
  return true;
}

/* Ports count for themselves here: messages stay until they end. */
static void finish(struct ss_network *n, const struct ss_network_traffic *traffic, struct ss_network_result *out) {
  struct ss_link_use use;
  (void)traffic;
  *out = (struct ss_network_result){.done = n->done};
  ss_fair_advance(n, true);
  if (ss_fair_folded(n)) ss_fair_spread(n);
  for (uint32_t e = 0; e < n->map.endpoints; e++) {
    out->time = ss_later(out->time, n->done[e]);
    out->computing = ss_later(out->computing, n->end[e].seconds);
  }
  for (uint32_t i = 0; link_of(n, i, &use); i++) ss_usage_add(out, &use);
  ss_usage_close(out);
}

const struct ss_network_model ss_network_fair = {
    .name = "fair",
    .open = open_network,
    .close = close_network,
    .round = take_round,
    .finish = finish,
    .link = link_of,
};
/* SPDX-License-Identifier: Apache-2.0 */
