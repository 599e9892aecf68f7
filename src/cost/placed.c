#include "cost/placed.h"

#include "schemes/simulate.h"

static double takes(struct ss_link link, struct ss_cost_parts p) {
  return p.startups * link.alpha + p.bytes * link.beta;
}

static bool take_apart(const struct ss_cost_placing *x, double ranks, struct ss_cost_parts *out,
                       struct ss_error *error) {
  struct ss_symbols some = *x->symbols;
  *out = (struct ss_cost_parts){0};
  some.P = ranks;
  return ranks <= 1 || ss_formula_take_apart(x->cost->exact, &some, &out->startups, &out->bytes, error);
}

/* What hosts wait: neither start-ups nor bytes. */
static bool find_waits(struct ss_cost_placing *x, struct ss_error *error) {
  struct ss_symbols still = *x->symbols;
  still.alpha = still.beta = 0;
  return ss_formula_evaluate(x->cost->exact, &still, &x->waits, error);
}

/* --- running sums ------------------------------------------------------------------------------------------- */

/* The unions of some of the ranks, but not of one or of all, hold twice as much. */
static double more_gamma(const void *context, double k) {
  const struct ss_symbols *s = context;
  return s->gamma(s->gamma_context, k) * (k > 1 && k < s->P ? 2 : 1);
}

static double more_blocks(const void *context, double k) {
  const struct ss_symbols *s = context;
  return s->blocks(s->blocks_context, k) * (k > 1 && k < s->P ? 2 : 1);
}

/* Whether ranks send sums of what some of them have. The form takes the unions of equally many ranks for equally
 * large; where they are not, every round waits for the largest. */
static bool sends_running_sums(const struct ss_cost_placing *x, bool *out, struct ss_error *error) {
  struct ss_symbols other = *x->symbols;
  double more;
  *out = false;
  if (!strstr(x->cost->exact, "gamma") && !strstr(x->cost->exact, "blocks")) return true;
  other.gamma = x->symbols->gamma ? more_gamma : NULL, other.gamma_context = x->symbols;
  other.blocks = x->symbols->blocks ? more_blocks : NULL, other.blocks_context = x->symbols;
  other.alpha = 0, other.beta = 1;
  if (!ss_formula_evaluate(x->cost->exact, &other, &more, error)) return false;
  *out = more != x->all.bytes;
  return true;
}

static bool know(struct ss_cost_placing *x, struct ss_error *error) {
  x->known = x->known || (take_apart(x, x->symbols->P, &x->all, error) && find_waits(x, error) &&
                          sends_running_sums(x, &x->running, error));
  return x->known;
}

static bool know_inside(struct ss_cost_placing *x, double ranks, struct ss_error *error) {
  if (x->inside_ranks == ranks) return true;
  if (!take_apart(x, ranks, &x->inside, error)) return false;
  x->inside_ranks = ranks;
  return true;
}

/* --- patterns ----------------------------------------------------------------------------------------------- */

/* How the ranks sit. */
struct seats {
  const struct ss_cluster *cluster;
  double ranks, nodes, per_node;
  double sharing;  /* ranks on the busiest card */
  double rings;    /* side by side, where the form is of a ring */
  bool cards_wait; /* a card has one message at a time, from its start-up to its end */
};

static bool power_of_two(double n) {
  return n >= 1 && n == exp2(floor(log2(n)));
}

static bool whole_nodes(const struct seats *s) {
  return s->ranks == s->nodes * s->per_node;
}

static double on_card(const struct seats *s, struct ss_link link, struct ss_cost_parts p) {
  return s->sharing * (s->cards_wait ? takes(link, p) : p.bytes * link.beta);
}

/* r to r + 1: in every step one message leaves each node, and the slower of the two classes sets the pace. Where one
 * is slow to start and the other slow to send, steps of several sizes have no common pace. Of several rings each has
 * its share of the bytes, a card of its own between nodes, and its share of the bandwidth inside them. */
static struct ss_placed ring(const struct seats *s, struct ss_cost_parts all) {
  struct ss_link far = s->cluster->inter, near = s->per_node > 1 ? s->cluster->intra : far;
  far.beta /= s->rings;
  const bool ordered = (far.alpha - near.alpha) * (far.beta - near.beta) >= 0;
  return (struct ss_placed){fmax(takes(far, all), takes(near, all)), ordered};
}

/* Of several rings each has as much as the others: of each part of a dense tensor, or of each rank's entries. */
static bool even_rings(const struct ss_cost *cost, const struct ss_symbols *symbols, double rings) {
  const bool dense = cost->scheme->content == SS_SENDS_DENSE;
  return rings <= 1 ||
         fmod(dense ? symbols->R : symbols->nnz, dense ? rings * symbols->P * symbols->chunks : rings) == 0;
}

/* Everybody to everybody else: of so many peers P - g are on other nodes. A port starts its messages one after the
 * other, or `window` of them at a time; a card carries those of all its ranks. */
static struct ss_placed exchange(const struct seats *s, struct ss_cost_parts all, double peers) {
  const struct ss_cluster *c = s->cluster;
  const struct ss_link outside = c->has_exchange ? c->exchange : c->inter;
  const double away = (s->ranks - s->per_node) / peers, window = ss_cluster_window_of(c, true);
  const struct ss_cost_parts far = {away * all.startups, away * all.bytes};
  const struct ss_cost_parts near = {all.startups - far.startups, all.bytes - far.bytes};
  const double startups = far.startups * outside.alpha + near.startups * c->intra.alpha;
  const double outgoing = far.bytes * outside.beta, inside = near.bytes * c->intra.beta;
  const double port = window > 1 ? fmax(startups / window, fmax(outgoing, inside)) : startups + outgoing + inside;
  return (struct ss_placed){fmax(port, on_card(s, outside, far)), s->per_node == 1 && window == 1};
}

/* All ranks to every server, and back: its peers are all P ranks, and a card carries what its servers have. One
 * server may answer while another still hears, so that of the two ways the longer counts: at least half. */
static struct ss_placed servers(const struct seats *s, struct ss_cost_parts all, double count) {
  struct seats at = *s;
  at.sharing = s->sharing > 1 ? ceil(ceil(count / s->nodes) / ss_cluster_nics(s->cluster)) / 2 : 0;
  struct ss_placed placed = exchange(&at, all, s->ranks);
  placed.exact = false;
  return placed;
}

/* p with p xor 2^t: the first rounds stay on the node, as if it were all there is; in the others all its ranks send
 * at once. */
static struct ss_placed doubling(const struct seats *s, struct ss_cost_parts all, struct ss_cost_parts inside) {
  const struct ss_cost_parts far = {all.startups - inside.startups, all.bytes - inside.bytes};
  const double first = s->cards_wait ? 0 : far.startups * s->cluster->inter.alpha;
  return (struct ss_placed){takes(s->cluster->intra, inside) + first + on_card(s, s->cluster->inter, far), true};
}

/* --- clusters ----------------------------------------------------------------------------------------------- */

static struct seats sit(const struct ss_cluster *c, double ranks, double rings) {
  const double per_node = c->gpus_per_node;
  return (struct seats){.cluster = c,
                        .ranks = ranks,
                        .nodes = ceil(ranks / per_node),
                        .per_node = per_node,
                        .rings = rings,
                        .sharing = ceil(per_node / ss_cluster_nics(c)),
                        .cards_wait = !ss_cluster_fair(c) && c->nic_per_node};
}

/* One cost a class, and nothing shared between nodes but cards, nor inside them. */
static bool covered(const struct seats *s) {
  const struct ss_cluster *c = s->cluster;
  return !c->intra_shared && c->inter_segments.count == 0 && c->intra_segments.count == 0 &&
         c->exchange_segments.count == 0 && (c->fabric_levels == 0 || s->nodes <= c->fabric[0].nodes);
}

/* The class that all messages take, alone on its links; NULL: there are several, or links are shared. A server is on
 * a node with some of those it serves. */
static const struct ss_link *only_class(const struct seats *s, bool servers) {
  const struct ss_cluster *c = s->cluster;
  if (ss_cluster_window(c) > 1) return NULL;
  if (s->rings > 1) return NULL;
  if (s->nodes == 1) return s->per_node > 1 ? &c->intra : &c->inter;
  const bool alike =
      (s->per_node == 1 && !servers) || (c->intra.alpha == c->inter.alpha && c->intra.beta == c->inter.beta);
  return alike && s->sharing == 1 && !s->cards_wait && !c->has_exchange ? &c->inter : NULL;
}

static bool place_pattern(struct ss_cost_placing *x, const struct seats *s, struct ss_placed *out,
                          struct ss_error *error) {
  const struct ss_cost *cost = x->cost;
  switch (cost->pattern) {
  case SS_PATTERN_NONE: break;
  case SS_PATTERN_RING:
    if (s->rings > 1 && !whole_nodes(s)) break; /* rings of a small node share its cards */
    *out = ring(s, x->all);
    out->exact = out->exact && even_rings(cost, x->symbols, s->rings);
    break;
  case SS_PATTERN_EXCHANGE:
    if (whole_nodes(s)) *out = exchange(s, x->all, s->ranks - 1);
    break;
  case SS_PATTERN_SERVERS:
    if (whole_nodes(s)) *out = servers(s, x->all, x->symbols->S);
    break;
  case SS_PATTERN_DOUBLING:
    if (!whole_nodes(s) || !power_of_two(s->ranks) || !power_of_two(s->per_node)) break;
    if (!know_inside(x, s->per_node, error)) return false;
    *out = doubling(s, x->all, x->inside);
  }
  return true;
}

/* Who tells sizes before sends no less than who knows them. */
static bool place_untold(const struct ss_cost_placing *x, const struct ss_cluster *cluster, struct ss_placed *out,
                         struct ss_error *error) {
  struct ss_cost_placing untold = {.cost = x->cost->told_of, .setting = x->setting, .symbols = x->symbols};
  if (!ss_cost_place(&untold, cluster, out, error)) return false;
  out->exact = false;
  return true;
}

bool ss_cost_place(struct ss_cost_placing *x, const struct ss_cluster *cluster, struct ss_placed *out,
                   struct ss_error *error) {
  const double ranks = x->symbols->P;
  const struct seats seats =
      sit(cluster, ranks, ss_setting_rings(x->setting, ss_layout_of(cluster, (uint32_t)ranks)));
  *out = (struct ss_placed){.seconds = NAN};
  if (!x->cost->exact || !covered(&seats) || ranks <= 1) return true;
  if (!know(x, error)) return false;
  const struct ss_link *link = only_class(&seats, x->cost->pattern == SS_PATTERN_SERVERS);
  if (!link && x->cost->exchanged) return place_untold(x, cluster, out, error);
  if (link) *out = (struct ss_placed){takes(*link, x->all) + x->waits, true};
  else if (seats.nodes > 1 && !place_pattern(x, &seats, out, error)) return false;
  /* A ring's partial sums pass through links of both classes: which union meets the slow ones, a form does not say.
   */
  if (x->running && x->cost->pattern == SS_PATTERN_RING && !link && seats.per_node > 1) out->seconds = NAN;
  out->exact = out->exact && !x->running;
  return isnan(out->seconds) || ss_seconds_check(out->seconds, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
