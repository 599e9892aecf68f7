#include "fair_reference.h"

#include "support.h"

#include "base/random.h"

enum { MOST_OPS = 8000, MOST_LINKS = 2000, MOST_PATH = 2 * SS_FABRIC_MAX + 8, MOST_PLAYS = 400 };

enum sort { NIC, TRUNK, BUS, PORT, HOST };

struct wire {
  enum sort sort;
  uint32_t a, b; /* endpoint; level of the fabric, group; node, card */
  bool in, inside;
  double capacity, bytes;
};

enum state { WAITING, ASKING, LATENCY, FLOWING, COMPUTING, OVER };

/* A message, or a computation (from == to). */
struct op {
  bool computes;
  uint32_t play, round, from, to, window;
  double bytes, alpha, cap, seconds; /* seconds: of a computation */
  uint32_t path[MOST_PATH], links;
  uint32_t barrier_from, barrier_to; /* all operations of its play of lower number at that end must be over */
  enum state state;
  double until, left, rate;
};

/* Its operations are those from `first` to before `last`; nothing of it begins before `ready`. */
struct play {
  struct reference_begun begun;
  uint32_t first, last, over;
  double ready, end;
};

static struct world {
  const struct ss_cluster *const *clusters;
  uint32_t count, ranks, nodes;
  bool joined; /* plays may be under way at once: ports and cards are links in any case */
  bool shared; /* kernels of ranks ask */
  struct play play[MOST_PLAYS];
  uint32_t plays;
  struct op op[MOST_OPS];
  uint32_t ops, first; /* all before `first` are over */
  struct wire wire[MOST_LINKS];
  uint32_t wires;
  double now, done[REFERENCE_ENDS];
} world;

/* --- what there is ------------------------------------------------------------------------------------------ */

static uint32_t node_of(const struct world *w, uint32_t e) {
  return e < w->ranks ? e / w->clusters[0]->gpus_per_node : (e - w->ranks) % w->nodes;
}

static uint32_t cards_of(const struct ss_cluster *c) {
  return c->nics ? c->nics : c->nic_per_node ? 1 : c->gpus_per_node;
}

static uint32_t card_of(const struct world *w, uint32_t e) {
  const uint32_t cards = cards_of(w->clusters[0]), g = w->clusters[0]->gpus_per_node;
  if (e < w->ranks) return (uint32_t)floor((double)(e % g) * cards / g);
  return (e - w->ranks) / w->nodes % cards;
}

static double fastest(const struct ss_link *plain, const struct ss_segments *s) {
  double rate = s->count ? 0 : 1 / plain->beta;
  for (uint32_t i = 0; i < s->count; i++) rate = fmax(rate, 1 / s->piece[i].link.beta);
  return rate;
}

/* Of a byte between nodes, on all links that it crosses. */
static double weight_of(const struct ss_cluster *c, bool exchange) {
  const double weight = c->weight[exchange && c->has_exchange];
  return weight > 0 ? weight : 1;
}

static double outer_rate(const struct ss_cluster *c) {
  const double inter = weight_of(c, false) * fastest(&c->inter, &c->inter_segments);
  return c->has_exchange ? fmax(inter, weight_of(c, true) * fastest(&c->exchange, &c->exchange_segments)) : inter;
}

static double inner_rate(const struct ss_cluster *c) {
  return c->has_intra ? fastest(&c->intra, &c->intra_segments) : fastest(&c->inter, &c->inter_segments);
}

static uint32_t rings_of(uint32_t rings) {
  return rings > 1 ? rings : 1;
}

/* Of a link as one cluster has it. A rank's port is as wide as all rings where it alone limits them. */
static double capacity_of(const struct ss_cluster *c, uint32_t rings, const struct wire *wire) {
  const double card = outer_rate(c);
  const struct ss_fabric_level *level;
  switch (wire->sort) {
  case NIC: return card;
  case PORT: return wire->inside ? inner_rate(c) : rings_of(rings) * card;
  case BUS: return inner_rate(c);
  case HOST: return c->host.bandwidth;
  case TRUNK: break;
  }
  level = &c->fabric[wire->a];
  if (level->oversubscription > 0) return level->nodes * cards_of(c) * card / level->oversubscription;
  return level->bandwidth;
}

static void cross(struct world *w, struct op *op, struct wire wire) {
  uint32_t i = 0;
  for (; i < w->wires; i++)
    if (w->wire[i].sort == wire.sort && w->wire[i].a == wire.a && w->wire[i].b == wire.b &&
        w->wire[i].in == wire.in && w->wire[i].inside == wire.inside)
      break;
  assert_true(i < MOST_LINKS && op->links < MOST_PATH);
  if (i == w->wires) {
    const uint32_t rings = w->joined ? 1 : w->play[op->play].begun.rings;
    for (uint32_t k = 0; k < w->count; k++)
      wire.capacity = fmax(wire.capacity, capacity_of(w->clusters[k], rings, &wire));
    w->wire[w->wires++] = wire;
  }
  w->wire[i].bytes += op->bytes;
  op->path[op->links++] = i;
}

static struct ss_link cost_of(const struct ss_link *plain, const struct ss_segments *s, double bytes) {
  for (uint32_t i = 0; i + 1 < s->count; i++)
    if (bytes <= (double)s->piece[i].up_to) return s->piece[i].link;
  return s->count ? s->piece[s->count - 1].link : *plain;
}

/* A card that a rank has to itself is none of the servers' beside it. */
static bool has_card(const struct world *w, const struct reference_begun *play, uint32_t e) {
  if (cards_of(play->cluster) < play->cluster->gpus_per_node || rings_of(play->rings) > 1) return true;
  return w->joined && e < w->ranks;
}

static void route_outside(struct world *w, struct op *op, uint32_t a, uint32_t b) {
  const struct reference_begun *play = &w->play[op->play].begun;
  const struct ss_cluster *c = play->cluster;
  if (has_card(w, play, op->from)) cross(w, op, (struct wire){.sort = NIC, .a = a, .b = card_of(w, op->from)});
  if (has_card(w, play, op->to))
    cross(w, op, (struct wire){.sort = NIC, .a = b, .b = card_of(w, op->to), .in = true});
  for (uint32_t l = 0; l < c->fabric_levels; l++) {
    const struct ss_fabric_level *level = &c->fabric[l];
    const uint32_t up = a / level->nodes, down = b / level->nodes;
    if (up == down) continue;
    op->alpha += level->latency;
    cross(w, op, (struct wire){.sort = TRUNK, .a = l, .b = up});
    cross(w, op, (struct wire){.sort = TRUNK, .a = l, .b = down, .in = true});
  }
}

/* Out of a GPU into its machine's memory, or the other way; servers live in memory. */
static void cross_host(struct world *w, struct op *op, uint32_t end, bool in) {
  const struct ss_cluster *c = w->play[op->play].begun.cluster;
  const uint32_t shared = c->host.shared > 0 ? c->host.shared : 1;
  if (!c->staged || end >= w->ranks) return;
  op->alpha += c->host.latency;
  op->cap = fmin(op->cap, c->host.bandwidth);
  cross(w, op, (struct wire){.sort = HOST, .a = node_of(w, end), .b = end % c->gpus_per_node / shared, .in = in});
}

/* What a message of so many bytes costs, of which `stretch` times as many flow, and the links that it crosses. */
static void route(struct world *w, struct op *op, bool exchange, bool ports) {
  const struct reference_begun *play = &w->play[op->play].begun;
  const struct ss_cluster *c = play->cluster;
  const uint32_t a = node_of(w, op->from), b = node_of(w, op->to);
  struct ss_link cost = cost_of(&c->inter, &c->inter_segments, op->bytes);
  if (a == b && c->has_intra) cost = cost_of(&c->intra, &c->intra_segments, op->bytes);
  if (a != b && exchange && c->has_exchange) cost = cost_of(&c->exchange, &c->exchange_segments, op->bytes);
  op->alpha = cost.alpha;
  op->cap = 1 / cost.beta / (a == b ? rings_of(play->rings) : 1);
  const double weight = a != b ? weight_of(c, exchange) : 1;
  op->cap *= weight;
  op->bytes = op->left = op->bytes * play->stretch * weight;
  if (ports) {
    cross(w, op, (struct wire){.sort = PORT, .a = op->from, .inside = a == b});
    cross(w, op, (struct wire){.sort = PORT, .a = op->to, .inside = a == b, .in = true});
  }
  if (a != b) route_outside(w, op, a, b);
  else if (c->intra_shared) cross(w, op, (struct wire){.sort = BUS, .a = a});
}

/* --- uneven links -------------------------------------------------------------------------------------------- */

/* The inverse of a distribution, sought from its upper end. */
static double factor_at(const struct ss_quantiles *q, double u) {
  uint32_t i = q->count - 1;
  while (q->point[i].share > u) i--;
  const struct ss_quantile a = q->point[i], b = q->point[i + 1];
  const double part = (u - a.share) / (b.share - a.share);
  return a.factor * (1 - part) + b.factor * part;
}

static double drawn(const struct ss_jitter *j, const struct ss_quantiles *q, uint64_t which, uint64_t whom) {
  uint64_t key = ss_mix(j->seed, j->draw);
  if (!j->per_pair) key = ss_mix(key, j->moment);
  return q->count ? factor_at(q, ss_unit(ss_mix(ss_mix(key, which), whom))) : 1;
}

/* The nth message that its receiver gets, by its place in the lists. */
static void make_uneven(const struct world *w, struct op *op) {
  const struct play *play = &w->play[op->play];
  const struct ss_jitter *j = &play->begun.cluster->jitter;
  const uint64_t a = node_of(w, op->from), b = node_of(w, op->to);
  uint64_t before = 0;
  for (uint32_t i = play->first; i < w->ops; i++) before += !w->op[i].computes && w->op[i].to == op->to;
  if (j->draw == 0 || a == b) return;
  const uint64_t pair = (a < b ? a : b) * (UINT64_C(1) << 32) + (a < b ? b : a);
  const uint64_t whom = j->per_pair ? pair : op->to * (UINT64_C(1) << 32) + before;
  op->alpha *= drawn(j, &j->latency, 0, whom);
  op->cap *= drawn(j, &j->bandwidth, 1, whom);
}

static uint32_t window_of(const struct reference_begun *play, bool exchange) {
  const struct ss_cluster *c = play->cluster;
  const uint32_t window = exchange || c->chain_window == 0 ? c->window : c->chain_window;
  if (window > UINT32_MAX / 64) return UINT32_MAX;
  return (window > 0 ? window : 1) * rings_of(play->rings);
}

static struct op *another(struct world *w, struct op op) {
  assert_true(w->ops < MOST_OPS);
  w->op[w->ops] = op;
  w->op[w->ops].play = w->plays;
  return &w->op[w->ops];
}

/* The play's operations. */
static void list(struct world *w, const struct reference_begun *play) {
  uint32_t barrier[REFERENCE_ENDS];
  const uint32_t ends = w->ranks + play->servers;
  const bool ports = w->joined || window_of(play, false) > 1 || window_of(play, true) > 1;
  for (uint32_t e = 0; e < ends; e++) barrier[e] = w->ops;
  for (uint32_t r = 0; r < play->count; r++) {
    const struct ss_network_round *round = &play->rounds[r];
    for (uint32_t e = 0; round->dependent && e < ends; e++) {
      bool settled = !round->settled;
      for (uint32_t i = 0; i < round->settled_count; i++) settled = settled || round->settled[i] == e;
      if (settled) barrier[e] = w->ops;
    }
    for (uint32_t i = 0; i < round->messages.count; i++, w->ops++) {
      const uint32_t from = ss_message_from(&round->messages, i), to = ss_message_to(&round->messages, i);
      struct op *op = another(w, (struct op){.round = r,
                                             .from = from,
                                             .to = to,
                                             .window = window_of(play, round->exchange),
                                             .bytes = (double)ss_message_bytes(&round->messages, i),
                                             .barrier_from = barrier[from],
                                             .barrier_to = barrier[to]});
      route(w, op, round->exchange, ports);
      make_uneven(w, op);
      cross_host(w, op, op->from, false);
      cross_host(w, op, op->to, true);
    }
    for (uint32_t i = 0; i < round->after_count; i++, w->ops++) {
      const uint32_t at = round->after[i].endpoint;
      another(w, (struct op){.computes = true,
                             .round = r,
                             .from = at,
                             .to = at,
                             .barrier_from = barrier[at],
                             .barrier_to = barrier[at],
                             .seconds = round->after[i].seconds * play->pace});
    }
  }
}

/* --- what may start ----------------------------------------------------------------------------------------- */

static bool touches(const struct op *op, uint32_t e) {
  return op->from == e || op->to == e;
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): the whole rule, for all to see at once
static bool may_begin(const struct world *w, uint32_t id) {
  const struct op *op = &w->op[id];
  const struct play *play = &w->play[op->play];
  uint32_t out = 0, in = 0;
  if (w->now < play->ready) return false;
  for (uint32_t i = play->first; i < play->last; i++) {
    const struct op *other = &w->op[i];
    const bool over = other->state == OVER, begun = other->state != WAITING;
    if (!over && i < op->barrier_from && touches(other, op->from)) return false;
    if (!over && i < op->barrier_to && touches(other, op->to)) return false;
    if (i == id || over) continue;
    if (op->computes) { /* in order, and not before all that is listed up to its round is received */
      if (other->computes && other->from == op->from && (i < id || begun)) return false;
      if (!other->computes && other->to == op->from && other->round <= op->round) return false;
      continue;
    }
    if (other->computes) continue;
    if (other->from == op->from && i < id && !begun) return false;
    if (other->to == op->to && i < id && !begun) return false;
    out += other->from == op->from && begun;
    in += other->to == op->to && begun;
  }
  return op->computes || (out < op->window && in < op->window);
}

static bool begin_some(struct world *w) {
  bool any = false;
  for (uint32_t i = w->first; i < w->ops; i++) {
    struct op *op = &w->op[i];
    if (op->state != WAITING || !may_begin(w, i)) continue;
    op->state = op->computes ? COMPUTING : LATENCY;
    op->until = w->now + (op->computes ? op->seconds : op->alpha);
    if (w->shared && op->computes && op->from < w->ranks) op->state = ASKING, op->until = w->now;
    any = true;
  }
  return any;
}

/* --- rates -------------------------------------------------------------------------------------------------- */

/* All rise alike until a link is full or a cap is reached; those concerned stop, and the others rise on. */
// NOLINTNEXTLINE(readability-function-cognitive-complexity): the whole rule, for all to see at once
void reference_share(const double *capacity, uint32_t links, struct reference_flow *flow, uint32_t flows) {
  static double left[MOST_LINKS];
  static uint32_t rising[MOST_LINKS];
  static bool stopped[MOST_OPS];
  for (uint32_t l = 0; l < links; l++) left[l] = capacity[l];
  for (uint32_t i = 0; i < flows; i++) stopped[i] = false, flow[i].rate = 0;
  for (;;) {
    double step = HUGE_VAL;
    memset(rising, 0, sizeof rising);
    for (uint32_t i = 0; i < flows; i++) {
      if (stopped[i]) continue;
      for (uint32_t k = 0; k < flow[i].links; k++) rising[flow[i].path[k]]++;
      step = fmin(step, flow[i].cap - flow[i].rate);
    }
    for (uint32_t l = 0; l < links; l++)
      if (rising[l]) step = fmin(step, left[l] / rising[l]);
    if (!(step < HUGE_VAL)) return;
    for (uint32_t l = 0; l < links; l++) left[l] -= step * rising[l];
    for (uint32_t i = 0; i < flows; i++) {
      if (stopped[i]) continue;
      flow[i].rate += step;
      stopped[i] = flow[i].rate >= flow[i].cap * (1 - 1e-13);
      for (uint32_t k = 0; k < flow[i].links; k++)
        if (left[flow[i].path[k]] <= 1e-13 * capacity[flow[i].path[k]]) stopped[i] = true;
    }
  }
}

static void share(struct world *w) {
  static struct reference_flow flow[MOST_OPS];
  static double capacity[MOST_LINKS];
  uint32_t flows = 0;
  for (uint32_t l = 0; l < w->wires; l++) capacity[l] = w->wire[l].capacity;
  for (uint32_t i = w->first; i < w->ops; i++)
    if (w->op[i].state == FLOWING)
      flow[flows++] = (struct reference_flow){w->op[i].path, w->op[i].links, w->op[i].cap, 0};
  reference_share(capacity, w->wires, flow, flows);
  flows = 0;
  for (uint32_t i = w->first; i < w->ops; i++) w->op[i].rate = w->op[i].state == FLOWING ? flow[flows++].rate : 0;
}

/* --- time --------------------------------------------------------------------------------------------------- */

double reference_next(void) {
  const struct world *w = &world;
  double next = HUGE_VAL;
  for (uint32_t p = 0; p < w->plays; p++)
    if (w->play[p].ready > w->now) next = fmin(next, w->play[p].ready);
  for (uint32_t i = w->first; i < w->ops; i++) {
    const struct op *op = &w->op[i];
    if (op->state == LATENCY || op->state == COMPUTING) next = fmin(next, op->until);
    if (op->state == FLOWING) next = fmin(next, w->now + op->left / op->rate);
  }
  return next;
}

static void finish(struct world *w, struct op *op) {
  struct play *play = &w->play[op->play];
  op->state = OVER;
  w->done[op->from] = w->done[op->to] = play->end = w->now;
  play->over++;
}

void reference_go(double to) {
  struct world *w = &world;
  const double passed = to - w->now;
  w->now = to;
  for (uint32_t i = w->first; i < w->ops; i++) {
    struct op *op = &w->op[i];
    if (op->state == FLOWING) {
      op->left -= passed * op->rate;
      if (op->left <= 1e-14 * op->rate * to) finish(w, op);
    } else if (op->state == COMPUTING && op->until <= to) finish(w, op);
    else if (op->state == LATENCY && op->until <= to) {
      if (op->bytes > 0) op->state = FLOWING;
      else finish(w, op);
    }
  }
  while (w->first < w->ops && w->op[w->first].state == OVER) w->first++;
  while (begin_some(w)) {}
  share(w);
}

double reference_end(uint32_t play) {
  const struct play *p = &world.play[play];
  return p->over == p->last - p->first && world.now >= p->ready ? p->end : NAN;
}

/* --- kernels that are shared --------------------------------------------------------------------------------- */

void reference_share_kernels(void) {
  world.shared = true;
}

uint32_t reference_asks(uint32_t play, uint32_t rank, double *since) {
  for (uint32_t i = world.play[play].first; i < world.play[play].last; i++) {
    if (world.op[i].state != ASKING || world.op[i].from != rank) continue;
    *since = world.op[i].until;
    return i;
  }
  return UINT32_MAX;
}

void reference_compute(uint32_t kernel) {
  struct op *op = &world.op[kernel];
  op->state = COMPUTING;
  op->until = world.now + op->seconds;
}

bool reference_is_over(uint32_t kernel) {
  return world.op[kernel].state == OVER;
}

/* --- the least that it takes -------------------------------------------------------------------------------- */

/* What the messages that ports send one at a time take, by end. */
static void add_ports(const struct world *w, double out[REFERENCE_ENDS], double in[REFERENCE_ENDS]) {
  for (uint32_t i = 0; i < w->ops; i++) {
    const struct op *op = &w->op[i];
    double rate = op->cap;
    if (op->computes || op->window > 1) continue;
    for (uint32_t k = 0; k < op->links; k++) rate = fmin(rate, w->wire[op->path[k]].capacity);
    out[op->from] += op->alpha + op->bytes / rate;
    in[op->to] += op->alpha + op->bytes / rate;
  }
}

static double bound_of(const struct world *w) {
  double bound = 0, out[REFERENCE_ENDS] = {0}, in[REFERENCE_ENDS] = {0};
  for (uint32_t l = 0; l < w->wires; l++) bound = fmax(bound, w->wire[l].bytes / w->wire[l].capacity);
  add_ports(w, out, in);
  for (uint32_t e = 0; e < REFERENCE_ENDS; e++) bound = fmax(bound, fmax(out[e], in[e]));
  return bound;
}

static const enum sort sorts[SS_LINK_KINDS] = {PORT, PORT, NIC, NIC, TRUNK, TRUNK, BUS, HOST, HOST};
static const bool inward[SS_LINK_KINDS] = {
    [SS_INGRESS] = true, [SS_NIC_IN] = true, [SS_DOWNLINK] = true, [SS_HOST_IN] = true};

void reference_carried(enum ss_link_kind kind, double *most, double *all) {
  *most = *all = 0;
  for (uint32_t l = 0; l < world.wires; l++) {
    const struct wire *wire = &world.wire[l];
    if (wire->sort != sorts[kind] || wire->in != inward[kind]) continue;
    *most = fmax(*most, wire->bytes);
    *all += wire->bytes;
  }
}

double reference_least(const struct ss_link_use *use) {
  const struct world *w = &world;
  const uint32_t end = use->index + (use->server ? w->ranks : 0);
  const enum sort sort = sorts[use->kind];
  double least = 0, ports[2][REFERENCE_ENDS] = {{0}};
  for (uint32_t l = 0; l < w->wires; l++) {
    const struct wire *wire = &w->wire[l];
    const bool found = sort == PORT    ? wire->a == end
                       : sort == TRUNK ? wire->a + 1 == use->number && wire->b == use->index
                                       : wire->a == use->index && (sort == BUS || wire->b == use->number);
    if (found && wire->sort == sort && wire->in == inward[use->kind])
      least = fmax(least, wire->bytes / wire->capacity);
  }
  add_ports(w, ports[0], ports[1]);
  return sort == PORT ? fmax(least, ports[inward[use->kind]][end]) : least;
}

void reference_open(const struct ss_cluster *const *clusters, uint32_t count, uint32_t ranks, bool joined) {
  struct world *w = &world;
  w->clusters = clusters;
  w->count = count;
  w->ranks = ranks;
  w->nodes = (ranks + clusters[0]->gpus_per_node - 1) / clusters[0]->gpus_per_node;
  w->joined = joined;
  w->shared = false;
  w->plays = w->ops = w->wires = w->first = 0;
  w->now = 0;
  memset(w->done, 0, sizeof w->done);
}

uint32_t reference_start(const struct reference_begun *play, double ready) {
  struct world *w = &world;
  assert_true(w->plays < MOST_PLAYS && w->ranks + play->servers <= REFERENCE_ENDS);
  w->play[w->plays] = (struct play){.begun = *play, .first = w->ops, .ready = ready, .end = ready};
  list(w, play);
  w->play[w->plays].last = w->ops;
  return w->plays++;
}

void reference_play(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                    const struct ss_network_round *rounds, uint32_t count, struct reference_times *out) {
  const struct reference_begun play = {
      .cluster = cluster, .servers = servers, .stretch = 1, .pace = 1, .rounds = rounds, .count = count};
  reference_open(&cluster, 1, ranks, false);
  reference_start(&play, 0);
  double next = 0;
  do reference_go(next);
  while ((next = reference_next()) < HUGE_VAL);
  assert_int_equal(world.first, world.ops);
  *out = (struct reference_times){.time = reference_end(0), .bound = bound_of(&world)};
  memcpy(out->done, world.done, sizeof out->done);
}
/* SPDX-License-Identifier: Apache-2.0 */
