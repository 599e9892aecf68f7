#include "fair_reference.h"

#include "support.h"

#include "base/random.h"

enum { MOST_OPS = 8000, MOST_LINKS = 2000, MOST_PATH = 2 * SS_FABRIC_MAX + 8, MOST_ENDS = 128 };

enum sort { NIC, TRUNK, BUS, PORT };

struct wire {
  enum sort sort;
  uint32_t a, b;
  bool in;
  double capacity, bytes;
};

enum state { WAITING, LATENCY, FLOWING, COMPUTING, OVER };

/* A message, or a computation (from == to). */
struct op {
  bool computes;
  uint32_t round, from, to, window;
  double bytes, alpha, cap, seconds; /* seconds: of a computation */
  uint32_t path[MOST_PATH], links;
  uint32_t barrier_from, barrier_to; /* all operations of lower number at that end must be over */
  enum state state;
  double until, left, rate;
};

struct world {
  const struct ss_cluster *c;
  uint32_t ranks, ends, nodes, window; /* the larger of both */
  struct op op[MOST_OPS];
  uint32_t ops, first; /* all before `first` are over */
  struct wire wire[MOST_LINKS];
  uint32_t wires;
  double now;
};

/* --- what there is ------------------------------------------------------------------------------------------ */

static uint32_t node_of(const struct world *w, uint32_t e) {
  return e < w->ranks ? e / w->c->gpus_per_node : (e - w->ranks) % w->nodes;
}

static uint32_t cards_of(const struct ss_cluster *c) {
  return c->nics ? c->nics : c->nic_per_node ? 1 : c->gpus_per_node;
}

static uint32_t card_of(const struct world *w, uint32_t e) {
  const uint32_t cards = cards_of(w->c), g = w->c->gpus_per_node;
  if (e < w->ranks) return (uint32_t)floor((double)(e % g) * cards / g);
  return (e - w->ranks) / w->nodes % cards;
}

static double fastest(const struct ss_link *plain, const struct ss_segments *s) {
  double rate = s->count ? 0 : 1 / plain->beta;
  for (uint32_t i = 0; i < s->count; i++) rate = fmax(rate, 1 / s->piece[i].link.beta);
  return rate;
}

static double outer_rate(const struct ss_cluster *c) {
  const double inter = fastest(&c->inter, &c->inter_segments);
  return c->has_exchange ? fmax(inter, fastest(&c->exchange, &c->exchange_segments)) : inter;
}

static double inner_rate(const struct ss_cluster *c) {
  return c->has_intra ? fastest(&c->intra, &c->intra_segments) : fastest(&c->inter, &c->inter_segments);
}

static void cross(struct world *w, struct op *op, struct wire wire) {
  uint32_t i = 0;
  for (; i < w->wires; i++)
    if (w->wire[i].sort == wire.sort && w->wire[i].a == wire.a && w->wire[i].b == wire.b && w->wire[i].in == wire.in)
      break;
  assert_true(i < MOST_LINKS && op->links < MOST_PATH);
  if (i == w->wires) w->wire[w->wires++] = wire;
  w->wire[i].bytes += op->bytes;
  op->path[op->links++] = i;
}

static struct ss_link cost_of(const struct ss_link *plain, const struct ss_segments *s, double bytes) {
  for (uint32_t i = 0; i + 1 < s->count; i++)
    if (bytes <= (double)s->piece[i].up_to) return s->piece[i].link;
  return s->count ? s->piece[s->count - 1].link : *plain;
}

static void route_outside(struct world *w, struct op *op, uint32_t a, uint32_t b) {
  const struct ss_cluster *c = w->c;
  const double card = outer_rate(c);
  if (cards_of(c) < c->gpus_per_node) {
    cross(w, op, (struct wire){NIC, a, card_of(w, op->from), false, card, 0});
    cross(w, op, (struct wire){NIC, b, card_of(w, op->to), true, card, 0});
  }
  for (uint32_t l = 0; l < c->fabric_levels; l++) {
    const struct ss_fabric_level *level = &c->fabric[l];
    const uint32_t up = a / level->nodes, down = b / level->nodes;
    if (up == down) continue;
    const double trunk =
        level->oversubscription > 0 ? level->nodes * cards_of(c) * card / level->oversubscription : level->bandwidth;
    op->alpha += level->latency;
    cross(w, op, (struct wire){TRUNK, l, up, false, trunk, 0});
    cross(w, op, (struct wire){TRUNK, l, down, true, trunk, 0});
  }
}

static void route(struct world *w, struct op *op, bool exchange) {
  const struct ss_cluster *c = w->c;
  const uint32_t a = node_of(w, op->from), b = node_of(w, op->to);
  struct ss_link cost = cost_of(&c->inter, &c->inter_segments, op->bytes);
  if (a == b && c->has_intra) cost = cost_of(&c->intra, &c->intra_segments, op->bytes);
  if (a != b && exchange && c->has_exchange) cost = cost_of(&c->exchange, &c->exchange_segments, op->bytes);
  op->alpha = cost.alpha;
  op->cap = 1 / cost.beta;
  if (w->window > 1) {
    const double port = a == b ? inner_rate(c) : outer_rate(c);
    cross(w, op, (struct wire){PORT, op->from, a == b, false, port, 0});
    cross(w, op, (struct wire){PORT, op->to, a == b, true, port, 0});
  }
  if (a != b) route_outside(w, op, a, b);
  else if (c->intra_shared) cross(w, op, (struct wire){BUS, a, 0, false, inner_rate(c), 0});
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
  const struct ss_jitter *j = &w->c->jitter;
  const uint64_t a = node_of(w, op->from), b = node_of(w, op->to);
  uint64_t before = 0;
  for (uint32_t i = 0; i < w->ops; i++) before += !w->op[i].computes && w->op[i].to == op->to;
  if (j->draw == 0 || a == b) return;
  const uint64_t pair = (a < b ? a : b) * (UINT64_C(1) << 32) + (a < b ? b : a);
  const uint64_t whom = j->per_pair ? pair : op->to * (UINT64_C(1) << 32) + before;
  op->alpha *= drawn(j, &j->latency, 0, whom);
  op->cap *= drawn(j, &j->bandwidth, 1, whom);
}

static void list(struct world *w, const struct ss_network_round *rounds, uint32_t count) {
  uint32_t barrier[MOST_ENDS] = {0};
  for (uint32_t r = 0; r < count; r++) {
    const struct ss_network_round *round = &rounds[r];
    for (uint32_t e = 0; round->dependent && e < w->ends; e++) {
      bool settled = !round->settled;
      for (uint32_t i = 0; i < round->settled_count; i++) settled = settled || round->settled[i] == e;
      if (settled) barrier[e] = w->ops;
    }
    for (uint32_t i = 0; i < round->messages.count; i++) {
      assert_true(w->ops < MOST_OPS);
      struct op *op = &w->op[w->ops];
      *op = (struct op){
          .round = r, .from = ss_message_from(&round->messages, i), .to = ss_message_to(&round->messages, i)};
      op->window = round->exchange || w->c->chain_window == 0 ? w->c->window : w->c->chain_window;
      if (op->window == 0) op->window = 1;
      op->bytes = op->left = (double)ss_message_bytes(&round->messages, i);
      op->barrier_from = barrier[op->from];
      op->barrier_to = barrier[op->to];
      route(w, op, round->exchange);
      make_uneven(w, op);
      w->ops++;
    }
    for (uint32_t i = 0; i < round->after_count; i++) {
      assert_true(w->ops < MOST_OPS);
      const uint32_t at = round->after[i].endpoint;
      w->op[w->ops++] = (struct op){.computes = true,
                                    .round = r,
                                    .from = at,
                                    .to = at,
                                    .barrier_from = barrier[at],
                                    .barrier_to = barrier[at],
                                    .seconds = round->after[i].seconds};
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
  uint32_t out = 0, in = 0;
  for (uint32_t i = w->first; i < w->ops; i++) {
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

static double next_event(const struct world *w) {
  double next = HUGE_VAL;
  for (uint32_t i = w->first; i < w->ops; i++) {
    const struct op *op = &w->op[i];
    if (op->state == LATENCY || op->state == COMPUTING) next = fmin(next, op->until);
    if (op->state == FLOWING) next = fmin(next, w->now + op->left / op->rate);
  }
  return next;
}

static void finish(struct world *w, struct op *op, struct reference_times *out) {
  op->state = OVER;
  out->done[op->from] = out->done[op->to] = out->time = w->now;
}

static void go_to(struct world *w, double next, struct reference_times *out) {
  const double passed = next - w->now;
  w->now = next;
  for (uint32_t i = w->first; i < w->ops; i++) {
    struct op *op = &w->op[i];
    if (op->state == FLOWING) {
      op->left -= passed * op->rate;
      if (op->left <= 1e-14 * op->rate * next) finish(w, op, out);
    } else if (op->state == COMPUTING && op->until <= next) finish(w, op, out);
    else if (op->state == LATENCY && op->until <= next) {
      if (op->bytes > 0) op->state = FLOWING;
      else finish(w, op, out);
    }
  }
  while (w->first < w->ops && w->op[w->first].state == OVER) w->first++;
}

/* --- the least that it takes -------------------------------------------------------------------------------- */

static double bound_of(const struct world *w) {
  double bound = 0, out[MOST_ENDS] = {0}, in[MOST_ENDS] = {0};
  for (uint32_t l = 0; l < w->wires; l++) bound = fmax(bound, w->wire[l].bytes / w->wire[l].capacity);
  for (uint32_t i = 0; i < w->ops; i++) {
    const struct op *op = &w->op[i];
    double rate = op->cap;
    if (op->computes || op->window > 1) continue;
    for (uint32_t k = 0; k < op->links; k++) rate = fmin(rate, w->wire[op->path[k]].capacity);
    out[op->from] += op->alpha + op->bytes / rate;
    in[op->to] += op->alpha + op->bytes / rate;
    bound = fmax(bound, fmax(out[op->from], in[op->to]));
  }
  return bound;
}

void reference_play(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                    const struct ss_network_round *rounds, uint32_t count, struct reference_times *out) {
  static struct world world;
  struct world *w = &world;
  w->c = cluster;
  w->ranks = ranks;
  w->ends = ranks + servers;
  w->nodes = (ranks + cluster->gpus_per_node - 1) / cluster->gpus_per_node;
  w->window = cluster->window ? cluster->window : 1;
  if (cluster->chain_window > w->window) w->window = cluster->chain_window;
  w->ops = w->wires = w->first = 0;
  w->now = 0;
  *out = (struct reference_times){0};
  assert_true(w->ends <= MOST_ENDS);
  list(w, rounds, count);
  for (;;) {
    while (begin_some(w)) {}
    share(w);
    const double next = next_event(w);
    if (!(next < HUGE_VAL)) break;
    go_to(w, next, out);
  }
  assert_int_equal(w->first, w->ops);
  out->bound = bound_of(w);
}
