/* The model "fair" (docs/model.md, "Links that are shared"): what happens when.
 *
 * Messages are kept from the round that lists them to their end. Time goes on only as far as no message that is still
 * to be listed could start: while every port has a message listed that has not started, or as many under way as it
 * may have, or waits for what was listed before a dependent round. Ends of latencies stand in one queue for each
 * latency, ends of flows and computations in heaps; what happens at one instant happens together, and rates are
 * worked out once for all of it. */
#include "machine/fair.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* A message that was listed and has not ended. */
struct message {
  double bytes, due; /* due: s, the end of its latency, once it has started */
  uint32_t from, to, kind;
  uint32_t need_from, need_to; /* operations that its ends must have completed, modulo 2^32 */
  uint32_t next_out;           /* behind it at the sender's egress; once started: in its latency's queue */
  uint32_t next_in, before_in; /* around it at the receiver's ingress */
  uint32_t number;             /* of messages listed at that ingress, from 0 */
};

/* A computation that was listed and has not begun. */
struct work {
  double seconds;
  uint32_t need, receipts; /* operations that must be complete, and messages that must have been received */
  uint32_t next;
};

/* Messages that a port serves in order: from `next` on they have not started. */
struct port {
  uint32_t next, last, under_way;
  double bytes, least, busy;
};

struct end {
  struct port out, in;
  uint32_t oldest; /* the first message listed at the ingress that has not ended */
  uint32_t listed, completed, receipts;
  uint32_t barrier; /* `listed` at the nearest dependent round */
  uint32_t next_work, last_work;
  uint32_t open; /* of its ports: those at which a message to come could start now */
  bool computing, stirred;
  double seconds; /* of computations */
};

struct queue {
  uint32_t first, last;
};

struct ss_network {
  struct ss_fair_map map;
  struct ss_fair_rates rates;
  uint32_t window;
  double now;
  struct end *end; /* [map.endpoints] */
  double *done;    /* [map.endpoints] */
  struct message *message;
  uint32_t messages, free_message, message_capacity; /* messages: how many ids were ever used at once */
  uint32_t listed;                                   /* messages that have not ended */
  struct work *work;
  uint32_t works, free_work, work_capacity;
  struct queue *queue; /* [map.queues] */
  struct ss_fair_heap computing;
  uint32_t *stirred, stirred_count; /* endpoints at which something may start */
  uint32_t *ended;                  /* room for ids of flows, or of endpoints */
  uint32_t *path;
  uint64_t open; /* ports at which a message to come could start now */
};

/* --- life ---------------------------------------------------------------------------------------------------- */

static void close_network(struct ss_network *n) {
  if (!n) return;
  ss_fair_rates_close(&n->rates);
  ss_fair_heap_close(&n->computing);
  free(n->end);
  free(n->done);
  free(n->message);
  free(n->work);
  free(n->queue);
  free(n->stirred);
  free(n->ended);
  free(n->path);
  ss_fair_map_close(&n->map);
  free(n);
}

static bool open_parts(struct ss_network *n, const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers) {
  const uint32_t endpoints = ranks + servers;
  if (!ss_fair_map_open(&n->map, cluster, ranks, servers)) return false;
  n->window = ss_cluster_window(cluster);
  n->free_message = n->free_work = SS_NONE;
  n->end = ss_alloc_zero(endpoints, sizeof *n->end);
  n->done = ss_alloc_zero(endpoints, sizeof *n->done);
  n->queue = ss_alloc(n->map.queues, sizeof *n->queue);
  n->stirred = ss_alloc(endpoints, sizeof *n->stirred);
  n->ended = ss_alloc(endpoints, sizeof *n->ended);
  n->path = ss_alloc(n->map.path, sizeof *n->path);
  return n->end && n->done && n->queue && n->stirred && n->ended && n->path &&
         ss_fair_heap_reserve(&n->computing, endpoints) && ss_fair_rates_open(&n->rates, &n->map, cluster);
}

static struct ss_network *open_network(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers) {
  struct ss_network *n = ss_alloc_zero(1, sizeof *n);
  if (!n) return NULL;
  if (!open_parts(n, cluster, ranks, servers)) {
    close_network(n);
    return NULL;
  }
  for (uint32_t e = 0; e < n->map.endpoints; e++) {
    struct end *end = &n->end[e];
    end->out.next = end->in.next = end->oldest = end->next_work = SS_NONE;
    end->open = 2;
  }
  n->open = 2 * (uint64_t)n->map.endpoints;
  for (uint32_t i = 0; i < n->map.queues; i++) n->queue[i] = (struct queue){SS_NONE, SS_NONE};
  return n;
}

/* --- readiness ----------------------------------------------------------------------------------------------- */

/* Counts go around at 2^32, and are never that far apart. */
static inline bool reached(uint32_t count, uint32_t need) {
  return (int32_t)(count - need) >= 0;
}

static inline void stir(struct ss_network *n, uint32_t e) {
  if (n->end[e].stirred) return;
  n->end[e].stirred = true;
  n->stirred[n->stirred_count++] = e;
}

/* What is to be listed at a blocked endpoint waits for what is listed now. */
static inline void count_open(struct ss_network *n, uint32_t e) {
  struct end *end = &n->end[e];
  const bool out = end->out.next == SS_NONE && end->out.under_way < n->window;
  const bool in = end->in.next == SS_NONE && end->in.under_way < n->window;
  const uint32_t open = reached(end->completed, end->barrier) ? (uint32_t)out + (uint32_t)in : 0;
  n->open = n->open + open - end->open;
  end->open = open;
}

static void complete(struct ss_network *n, uint32_t e) {
  n->end[e].completed++;
  n->done[e] = n->now;
  stir(n, e);
}

/* --- starts -------------------------------------------------------------------------------------------------- */

static bool may_start(const struct ss_network *n, uint32_t id) {
  if (id == SS_NONE) return false;
  const struct message *m = &n->message[id];
  const struct end *from = &n->end[m->from], *to = &n->end[m->to];
  return from->out.next == id && to->in.next == id && from->out.under_way < n->window &&
         to->in.under_way < n->window && reached(from->completed, m->need_from) && reached(to->completed, m->need_to);
}

static void start(struct ss_network *n, uint32_t id) {
  struct message *m = &n->message[id];
  const struct ss_fair_kind *kind = &n->map.kind[m->kind];
  struct queue *queue = &n->queue[kind->queue];
  n->end[m->from].out.next = m->next_out;
  n->end[m->from].out.under_way++;
  n->end[m->to].in.next = m->next_in;
  n->end[m->to].in.under_way++;
  m->due = n->now + kind->alpha;
  m->next_out = SS_NONE;
  if (queue->first == SS_NONE) queue->first = id;
  else n->message[queue->last].next_out = id;
  queue->last = id;
  n->end[m->from].out.least += kind->alpha;
  n->end[m->to].in.least += kind->alpha;
}

/* All messages before the oldest that has not ended were received. */
static bool may_compute(const struct ss_network *n, const struct end *end) {
  if (end->next_work == SS_NONE || end->computing) return false;
  const struct work *work = &n->work[end->next_work];
  const uint32_t received = end->oldest == SS_NONE ? end->receipts : n->message[end->oldest].number;
  return reached(end->completed, work->need) && reached(received, work->receipts);
}

static void start_work(struct ss_network *n, uint32_t e) {
  struct end *end = &n->end[e];
  const uint32_t id = end->next_work;
  struct work *work = &n->work[id];
  end->computing = true;
  end->seconds += work->seconds;
  end->next_work = work->next;
  ss_fair_heap_set(&n->computing, e, n->now + work->seconds);
  work->next = n->free_work;
  n->free_work = id;
}

static void start_at(struct ss_network *n, uint32_t e) {
  struct end *end = &n->end[e];
  for (uint32_t id; may_start(n, id = end->out.next);) {
    stir(n, n->message[id].to);
    start(n, id);
  }
  for (uint32_t id; may_start(n, id = end->in.next);) {
    stir(n, n->message[id].from);
    start(n, id);
  }
  if (may_compute(n, end)) start_work(n, e);
  count_open(n, e);
}

static void start_all(struct ss_network *n) {
  while (n->stirred_count > 0) {
    const uint32_t e = n->stirred[--n->stirred_count];
    n->end[e].stirred = false;
    start_at(n, e);
  }
}

/* --- ends ---------------------------------------------------------------------------------------------------- */

static void end_message(struct ss_network *n, uint32_t id) {
  struct message *m = &n->message[id];
  struct end *to = &n->end[m->to];
  n->end[m->from].out.under_way--;
  to->in.under_way--;
  if (m->next_in != SS_NONE) n->message[m->next_in].before_in = m->before_in;
  else to->in.last = m->before_in;
  if (m->before_in != SS_NONE) n->message[m->before_in].next_in = m->next_in;
  else to->oldest = m->next_in;
  complete(n, m->from);
  complete(n, m->to);
  m->next_out = n->free_message;
  n->free_message = id;
  n->listed--;
}

static bool end_flows(struct ss_network *n, double limit) {
  const uint32_t count = ss_fair_heap_take(&n->rates.ends, limit, n->ended);
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t id = n->rates.flow[n->ended[i]].message;
    const struct message *m = &n->message[id];
    n->end[m->from].out.busy += n->now - m->due;
    n->end[m->to].in.busy += n->now - m->due;
    ss_fair_flow_end(&n->rates, n->now, n->ended[i]);
    end_message(n, id);
  }
  return count > 0;
}

static void flow(struct ss_network *n, uint32_t id) {
  struct message *m = &n->message[id];
  struct end *from = &n->end[m->from], *to = &n->end[m->to];
  const uint32_t links = ss_fair_path(&n->map, m->from, m->to, n->path);
  const struct ss_fair_flow flow = {.left = m->bytes, .cap = n->map.kind[m->kind].rate, .message = id};
  const double least = m->bytes / ss_fair_flow_begin(&n->rates, n->now, n->path, links, flow);
  from->out.least += least;
  to->in.least += least;
  from->out.bytes += m->bytes;
  to->in.bytes += m->bytes;
  m->due = n->now;
}

static bool end_latencies(struct ss_network *n, double limit) {
  bool any = false;
  for (uint32_t i = 0; i < n->map.queues; i++) {
    struct queue *queue = &n->queue[i];
    for (uint32_t id; (id = queue->first) != SS_NONE && n->message[id].due <= limit; any = true) {
      queue->first = n->message[id].next_out;
      if (n->message[id].bytes > 0) flow(n, id);
      else end_message(n, id);
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

/* HUGE_VAL when nothing is under way. */
static double next_instant(const struct ss_network *n) {
  double next = n->computing.count > 0 ? n->computing.item[0].time : HUGE_VAL;
  if (n->rates.ends.count > 0) next = ss_sooner(next, n->rates.ends.item[0].time);
  for (uint32_t i = 0; i < n->map.queues; i++)
    if (n->queue[i].first != SS_NONE) next = ss_sooner(next, n->message[n->queue[i].first].due);
  return next;
}

static void step(struct ss_network *n, double instant) {
  n->now = ss_later(n->now, instant);
  const double limit = n->now * (1 + SS_INSTANT);
  for (bool any = true; any;) {
    any = end_flows(n, limit);
    any = end_latencies(n, limit) || any;
    any = end_computations(n, limit) || any;
    start_all(n);
  }
  ss_fair_share(&n->rates, n->now);
}

static void advance(struct ss_network *n) {
  while (n->open == 0) {
    const double instant = next_instant(n);
    if (!(instant < HUGE_VAL)) return;
    step(n, instant);
  }
}

/* --- rounds -------------------------------------------------------------------------------------------------- */

static uint32_t enough(uint32_t had, uint64_t need) {
  const uint64_t grown = (uint64_t)had + had / 2 + 64;
  return (uint32_t)(grown > need ? grown : need);
}

/* No more flow than messages are listed, nor than ports may have under way. */
static bool reserve(struct ss_network *n, uint32_t messages, uint32_t works) {
  const uint64_t most = (uint64_t)n->window * n->map.endpoints, listed = (uint64_t)n->listed + messages;
  if (listed >= SS_NONE) return false;
  if (n->message_capacity < listed) {
    const uint32_t capacity = enough(n->message_capacity, listed);
    struct message *message = ss_realloc(n->message, capacity, sizeof *message);
    if (message) n->message = message;
    if (!message) return false;
    n->message_capacity = capacity;
  }
  const uint64_t flows = listed < most ? listed : most;
  if (flows > n->rates.capacity) {
    const uint32_t capacity = enough(n->rates.capacity, flows), ids = capacity + n->map.endpoints;
    uint32_t *ended = ss_realloc(n->ended, ids, sizeof *ended);
    if (ended) n->ended = ended;
    if (!ended || !ss_fair_rates_reserve(&n->rates, capacity)) return false;
  }
  if (works > 0 && n->work_capacity - n->works < works) {
    const uint32_t capacity = enough(n->work_capacity, (uint64_t)n->work_capacity + works);
    struct work *work = ss_realloc(n->work, capacity, sizeof *work);
    if (!work) return false;
    n->work = work;
    n->work_capacity = capacity;
  }
  return true;
}

static void settle_end(struct ss_network *n, uint32_t e) {
  n->end[e].barrier = n->end[e].listed;
  count_open(n, e);
}

static void list_message(struct ss_network *n, const struct ss_network_round *round, uint32_t i) {
  const uint32_t from = ss_message_from(&round->messages, i), to = ss_message_to(&round->messages, i);
  const uint64_t bytes = ss_message_bytes(&round->messages, i);
  const uint32_t id = n->free_message != SS_NONE ? n->free_message : n->messages++;
  struct end *a = &n->end[from], *b = &n->end[to];
  struct message *m = &n->message[id];
  if (n->free_message != SS_NONE) n->free_message = m->next_out;
  *m = (struct message){.bytes = (double)bytes,
                        .from = from,
                        .to = to,
                        .kind = ss_fair_kind_of(&n->map, from, to, bytes, round->exchange),
                        .need_from = a->barrier,
                        .need_to = b->barrier,
                        .next_out = SS_NONE,
                        .next_in = SS_NONE,
                        .before_in = b->oldest == SS_NONE ? SS_NONE : b->in.last,
                        .number = b->receipts++};
  if (a->out.next == SS_NONE) a->out.next = id, stir(n, from);
  else n->message[a->out.last].next_out = id;
  a->out.last = id;
  if (b->oldest == SS_NONE) b->oldest = id;
  else n->message[b->in.last].next_in = id;
  b->in.last = id;
  if (b->in.next == SS_NONE) b->in.next = id, stir(n, to);
  a->listed++;
  b->listed++;
  n->listed++;
}

static void list_work(struct ss_network *n, const struct ss_computation *computation) {
  struct end *end = &n->end[computation->endpoint];
  const uint32_t id = n->free_work != SS_NONE ? n->free_work : n->works++;
  struct work *work = &n->work[id];
  if (n->free_work != SS_NONE) n->free_work = work->next;
  *work = (struct work){computation->seconds, end->barrier, end->receipts, SS_NONE};
  if (end->next_work == SS_NONE) end->next_work = id;
  else n->work[end->last_work].next = id;
  end->last_work = id;
  end->listed++;
  stir(n, computation->endpoint);
}

static bool take_round(struct ss_network *n, const struct ss_network_round *round) {
  if (round->dependent && !round->settled)
    for (uint32_t e = 0; e < n->map.endpoints; e++) settle_end(n, e);
  for (uint32_t i = 0; round->dependent && round->settled && i < round->settled_count; i++)
    settle_end(n, round->settled[i]);
  advance(n);
  if (!reserve(n, round->messages.count, round->after_count)) return false;
  for (uint32_t i = 0; i < round->messages.count; i++) list_message(n, round, i);
  for (uint32_t i = 0; i < round->after_count; i++) list_work(n, &round->after[i]);
  start_all(n);
  return true;
}

/* --- what became of it --------------------------------------------------------------------------------------- */

/* Of a port that has several messages under way: as long as the links of its classes need. */
static double least_of_port(const struct ss_network *n, uint32_t number, double *busy) {
  const struct ss_fair_link *outer = &n->rates.link[n->map.outer + number];
  const struct ss_fair_link *inner = &n->rates.link[n->map.inner + number];
  *busy = ss_later(outer->busy, inner->busy);
  return ss_later(outer->bytes / outer->capacity, inner->bytes / inner->capacity);
}

static void use_of_port(const struct ss_network *n, uint32_t e, bool in, struct ss_link_use *out) {
  const struct port *port = in ? &n->end[e].in : &n->end[e].out;
  const bool server = e >= n->map.ranks;
  *out = (struct ss_link_use){.kind = in ? SS_INGRESS : SS_EGRESS,
                              .place = server ? e - n->map.ranks : e,
                              .server = server,
                              .bytes = port->bytes,
                              .busy = port->busy,
                              .least = port->least};
  for (uint32_t i = 0; i < n->map.kind_count; i++) out->capacity = ss_later(out->capacity, n->map.kind[i].rate);
  if (n->map.ports) out->least = least_of_port(n, (in ? n->map.endpoints : 0) + e, &out->busy);
}

static bool link_of(const struct ss_network *n, uint32_t i, struct ss_link_use *out) {
  const uint32_t ports = 2 * n->map.endpoints;
  if (i < ports) {
    use_of_port(n, i / 2, i % 2 == 1, out);
    return true;
  }
  if (i - ports >= n->map.shared) return false;
  const struct ss_fair_link *link = &n->rates.link[i - ports];
  *out = ss_fair_name(&n->map, i - ports);
  out->capacity = link->capacity;
  out->bytes = link->bytes;
  out->busy = link->busy;
  out->least = link->bytes / link->capacity;
  return true;
}

static void finish(struct ss_network *n, struct ss_network_result *out) {
  struct ss_link_use use;
  *out = (struct ss_network_result){.done = n->done};
  for (double instant; (instant = next_instant(n)) < HUGE_VAL;) step(n, instant);
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
