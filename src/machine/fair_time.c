/* Lets time pass. Ends of latencies stand in one queue for each latency, ends of flows and computations in heaps. All
 * that happens at one instant happens together, and rates are worked out once for all of it. */
#include "machine/fair_time.h"

/* Two instants nearer than this share of the time are one: what ends together by arithmetic ends together. */
static const double INSTANT = 4e-15;

/* --- starts -------------------------------------------------------------------------------------------------- */

/* A port that has as many under way as it may have needs no look at what is next, which lies far off in memory. */
static bool may_start(const struct ss_network *n, const struct ss_fair_port *port) {
  const uint32_t id = port->next;
  if (id == SS_NONE || port->under_way >= n->window) return false;
  const struct ss_fair_message *m = &n->message[id];
  const struct ss_fair_end *from = &n->end[m->from], *to = &n->end[m->to];
  const uint32_t window = n->window_of[m->exchange];
  return from->out.next == id && to->in.next == id && from->out.under_way < window && to->in.under_way < window &&
         ss_fair_reached(from->completed, m->need.from) && ss_fair_reached(to->completed, m->need.to);
}

/* What follows is looked at when a message has ended: until then it can come from memory. */
static void expect(const struct ss_network *n, uint32_t id) {
  if (id == SS_NONE) return;
  __builtin_prefetch(&n->message[id]);
  __builtin_prefetch(&n->message[id].ended);
}

/* What may start at an endpoint. */
static void expect_at(const struct ss_network *n, uint32_t e) {
  expect(n, n->end[e].out.next);
  expect(n, n->end[e].in.next);
}

static struct ss_passage passage_of(const struct ss_network *n, const struct ss_fair_message *m) {
  return (struct ss_passage){n->map.node[m->from], n->map.node[m->to], m->to, m->number};
}

/* Latencies that differ end in another order than they began. */
static double start_late(struct ss_network *n, uint32_t id, const struct ss_fair_kind *kind) {
  struct ss_fair_message *m = &n->message[id];
  const struct ss_passage passage = passage_of(n, m);
  const double latency = (kind->alpha - kind->host) * ss_uneven_latency(&n->uneven, &passage) + kind->host;
  ss_fair_heap_set(&n->late, id, n->wire->now + latency);
  return latency;
}

static double start_in_queue(struct ss_network *n, uint32_t id, const struct ss_fair_kind *kind) {
  struct ss_fair_queue *queue = &n->queue[kind->queue];
  n->message[id].due = n->wire->now + kind->alpha;
  if (queue->first == SS_NONE) queue->first = id;
  else n->message[queue->last].next_out = id;
  queue->last = id;
  return kind->alpha;
}

/* Messages with a window of 1 never overlap at a port. */
static void count_least(struct ss_network *n, const struct ss_fair_message *m, double seconds, bool startup) {
  struct ss_fair_use *const ports[] = {&n->end[m->from].sent, &n->end[m->to].received};
  for (int i = 0; i < 2; i++) {
    ports[i]->least += seconds;
    if (startup) ports[i]->startup += seconds;
    if (n->window_of[m->exchange] == 1) ports[i]->in_turn += seconds;
  }
}

static void start(struct ss_network *n, uint32_t id) {
  struct ss_fair_message *m = &n->message[id];
  const struct ss_fair_kind *kind = &n->map.kind[m->kind];
  n->end[m->from].out.next = m->next_out;
  n->end[m->from].out.under_way++;
  n->end[m->to].in.next = m->next_in;
  n->end[m->to].in.under_way++;
  expect(n, m->next_out);
  expect(n, m->next_in);
  m->next_out = SS_NONE;
  const double alpha = n->uneven.latency ? start_late(n, id, kind) : start_in_queue(n, id, kind);
  count_least(n, m, alpha, true);
}

/* All messages before the oldest that has not ended were received. */
static bool may_compute(const struct ss_network *n, const struct ss_fair_end *end) {
  if (end->next_work == SS_NONE || end->computing) return false;
  const struct ss_fair_work *work = &n->work[end->next_work];
  const uint32_t received = end->oldest == SS_NONE ? end->receipts : n->message[end->oldest].number;
  return ss_fair_reached(end->completed, work->need) && ss_fair_reached(received, work->receipts);
}

/* Takes the next off the list; s that it takes. */
static double take_work(struct ss_network *n, uint32_t e) {
  struct ss_fair_end *end = &n->end[e];
  const uint32_t id = end->next_work;
  struct ss_fair_work *work = &n->work[id];
  end->seconds += work->seconds;
  end->next_work = work->next;
  work->next = n->free_work;
  n->free_work = id;
  return work->seconds;
}

static void start_work(struct ss_network *n, uint32_t e) {
  n->end[e].computing = true;
  if (e >= n->wire->asking) {
    ss_fair_heap_set(&n->computing, e, n->wire->now + take_work(n, e));
    return;
  }
  n->end[e].asked = n->wire->now;
  n->wire->asked = true;
  n->asks++;
}

static void start_at(struct ss_network *n, uint32_t e) {
  struct ss_fair_end *end = &n->end[e];
  while (may_start(n, &end->out)) {
    ss_fair_stir(n, n->message[end->out.next].to);
    start(n, end->out.next);
  }
  while (may_start(n, &end->in)) {
    ss_fair_stir(n, n->message[end->in.next].from);
    start(n, end->in.next);
  }
  if (may_compute(n, end)) start_work(n, e);
  ss_fair_count_open(n, e);
}

void ss_fair_start_all(struct ss_network *n) {
  while (n->stirred_count > 0) {
    const uint32_t e = n->stirred[--n->stirred_count];
    n->end[e].stirred = false;
    start_at(n, e);
  }
}

/* --- ends ---------------------------------------------------------------------------------------------------- */

static void complete(struct ss_network *n, uint32_t e) {
  n->end[e].completed++;
  n->done[e] = n->wire->now;
  ss_fair_stir(n, e);
}

double ss_fair_asks_for(const struct ss_network *n, uint32_t e) {
  return n->work[n->end[e].next_work].seconds;
}

void ss_fair_computed(struct ss_network *n, uint32_t e) {
  (void)take_work(n, e);
  n->end[e].computing = false;
  n->asks--;
  complete(n, e);
  ss_fair_start_all(n);
}

/* A message is kept while one listed before it at its ingress is under way. Most end in order: then nobody looks at
 * the next, which lies far off. */
static void free_message(struct ss_network *n, uint32_t id) {
  struct ss_fair_end *to = &n->end[n->message[id].to];
  n->message[id].ended = true;
  to->ended++;
  if (to->oldest != id) return;
  for (uint32_t next; to->ended > 0 && n->message[id].ended; id = next) {
    next = to->oldest = n->message[id].next_in;
    to->ended--;
    ss_fair_forget(n, id);
  }
}

static void end_message(struct ss_network *n, uint32_t id) {
  struct ss_fair_message *m = &n->message[id];
  const uint32_t from = m->from, to = m->to;
  n->end[from].out.under_way--;
  n->end[to].in.under_way--;
  free_message(n, id);
  complete(n, from);
  complete(n, to);
}

/* Of ports that hold no message back bytes and times are counted alone. */
static void count_hidden(struct ss_network *n, const struct ss_fair_message *m, double bytes, bool begins) {
  uint32_t port[2];
  const uint32_t ports = ss_fair_ports(&n->map, (struct ss_fair_route){m->kind, m->from, m->to}, true, port);
  for (uint32_t i = 0; i < ports; i++) {
    struct ss_shares_link *link = &n->wire->shares.link[port[i]];
    if (begins) ss_shares_link_begins(link, n->wire->now, bytes);
    else ss_shares_link_ends(link, n->wire->now);
  }
}

static bool end_flows(struct ss_fair_wire *wire, double limit) {
  const uint32_t count =
      ss_shares_next(&wire->shares) > limit ? 0 : ss_shares_take(&wire->shares, limit, wire->ended);
  for (uint32_t i = 0; i < count; i++) {
    const struct ss_shares_flow *flow = &wire->shares.flow[wire->ended[i]];
    struct ss_network *n = wire->member[flow->owner];
    const uint32_t id = flow->id;
    const struct ss_fair_message *m = &n->message[id];
    n->end[m->from].sent.busy += wire->now - m->due;
    n->end[m->to].received.busy += wire->now - m->due;
    expect_at(n, m->from);
    expect_at(n, m->to);
    count_hidden(n, m, 0, false);
    ss_shares_end(&wire->shares, wire->now, wire->ended[i]);
    end_message(n, id);
  }
  return count > 0;
}

static double cap_of(const struct ss_network *n, const struct ss_fair_message *m) {
  const struct ss_fair_kind *kind = &n->map.kind[m->kind];
  if (!n->uneven.bandwidth) return ss_sooner(kind->rate, kind->most);
  const struct ss_passage passage = passage_of(n, m);
  return ss_sooner(kind->rate * ss_uneven_bandwidth(&n->uneven, &passage), kind->most);
}

static void flow(struct ss_network *n, uint32_t id) {
  struct ss_fair_message *m = &n->message[id];
  struct ss_fair_end *from = &n->end[m->from], *to = &n->end[m->to];
  const uint32_t links = ss_fair_path(&n->map, (struct ss_fair_route){m->kind, m->from, m->to}, n->path);
  const struct ss_shares_begun flow = {
      .bytes = m->bytes * n->map.kind[m->kind].weight, .cap = cap_of(n, m), .id = id, .owner = n->number};
  const double least = flow.bytes / ss_shares_begin(&n->wire->shares, n->wire->now, n->path, links, flow);
  count_least(n, m, least, false);
  count_hidden(n, m, flow.bytes, true);
  from->sent.bytes += m->bytes;
  to->received.bytes += m->bytes;
  m->due = n->wire->now;
}

static void end_latency(struct ss_network *n, uint32_t id) {
  if (n->message[id].bytes > 0) flow(n, id);
  else end_message(n, id);
}

/* While a message begins to flow, what the one behind it in the queue needs can come, and the one behind that. */
static void expect_next(const struct ss_network *n, uint32_t id) {
  if (id == SS_NONE) return;
  const struct ss_fair_message *m = &n->message[id];
  __builtin_prefetch(&n->end[m->from]);
  __builtin_prefetch(&n->end[m->from].sent);
  __builtin_prefetch(&n->end[m->to]);
  __builtin_prefetch(&n->end[m->to].received);
  expect(n, m->next_out);
}

static bool end_latencies(struct ss_network *n, double limit) {
  const uint32_t late = n->late.count > 0 ? ss_fair_heap_take(&n->late, limit, n->ended) : 0;
  bool any = late > 0;
  for (uint32_t i = 0; i < late; i++) end_latency(n, n->ended[i]);
  for (uint32_t i = 0; i < n->map.queues; i++) {
    struct ss_fair_queue *queue = &n->queue[i];
    for (uint32_t id; (id = queue->first) != SS_NONE && n->message[id].due <= limit; any = true) {
      queue->first = n->message[id].next_out;
      expect_next(n, queue->first);
      end_latency(n, id);
    }
  }
  return any;
}

static bool end_computations(struct ss_network *n, double limit) {
  const uint32_t count = ss_fair_heap_take(&n->computing, limit, n->ended);
  for (uint32_t i = 0; i < count; i++) {
    n->end[n->ended[i]].computing = false;
    complete(n, n->ended[i]);
  }
  return count > 0;
}

/* --- time ---------------------------------------------------------------------------------------------------- */

/* HUGE_VAL when nothing of the network's own is under way. */
static double next_of(const struct ss_network *n) {
  double next = n->computing.count > 0 ? n->computing.item[0].time : HUGE_VAL;
  if (n->late.count > 0) next = ss_sooner(next, n->late.item[0].time);
  for (uint32_t i = 0; i < n->map.queues; i++)
    if (n->queue[i].first != SS_NONE) next = ss_sooner(next, n->message[n->queue[i].first].due);
  return next;
}

double ss_fair_next(const struct ss_fair_wire *wire) {
  double next = ss_shares_next(&wire->shares);
  for (uint32_t i = 0; i < wire->members; i++)
    if (wire->member[i]) next = ss_sooner(next, next_of(wire->member[i]));
  return next;
}

/* The flow that ends first, unless others come and go before. */
static void expect_end(const struct ss_fair_wire *wire) {
  const struct ss_shares *shares = &wire->shares;
  if (shares->ends.count == 0) return;
  const struct ss_shares_flow *flow = &shares->flow[shares->bundle[shares->ends.item[0].id].first];
  expect(wire->member[flow->owner], flow->id);
}

void ss_fair_step(struct ss_fair_wire *wire, double instant) {
  wire->now = ss_later(wire->now, instant);
  const double limit = wire->now * (1 + INSTANT);
  for (bool any = true; any;) {
    any = end_flows(wire, limit);
    for (uint32_t i = 0; i < wire->members; i++) {
      struct ss_network *n = wire->member[i];
      if (!n) continue;
      any = end_latencies(n, limit) || any;
      any = end_computations(n, limit) || any;
      ss_fair_start_all(n);
    }
  }
  ss_shares_update(&wire->shares, wire->now);
  expect_end(wire);
}

void ss_fair_advance(struct ss_network *n, bool to_the_end) {
  while (to_the_end || n->open == 0) {
    const double instant = ss_fair_next(n->wire);
    if (!(instant < HUGE_VAL)) return;
    ss_fair_step(n->wire, instant);
  }
}

void ss_fair_wire_close(struct ss_fair_wire *wire) {
  ss_shares_close(&wire->shares);
  free(wire->ended);
}
/* SPDX-License-Identifier: Apache-2.0 */
