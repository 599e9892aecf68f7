#include "cost/placed.h"

#include <math.h>

/* What a form is made of, at so many ranks: start-ups and bytes of the rank that has most to do. */
struct parts {
  double startups, bytes;
};

static bool take_apart(const struct ss_cost *cost, const struct ss_symbols *symbols, double ranks, struct parts *out,
                       struct ss_error *error) {
  struct ss_symbols one = *symbols;
  *out = (struct parts){0};
  if (ranks <= 1) return true;
  one.P = ranks;
  one.alpha = 1, one.beta = 0;
  if (!ss_formula_evaluate(cost->exact, &one, &out->startups, error)) return false;
  one.alpha = 0, one.beta = 1;
  return ss_formula_evaluate(cost->exact, &one, &out->bytes, error);
}

static double takes(struct ss_link link, struct parts p) {
  return p.startups * link.alpha + p.bytes * link.beta;
}

/* r to r + 1: in every step one message leaves each node, and the slower of the two classes sets the pace. */
static struct ss_placed ring(const struct ss_cluster *c, struct parts all) {
  return (struct ss_placed){fmax(takes(c->inter, all), takes(c->intra, all)), true};
}

/* Everybody to everybody else: of P - 1 peers P - g are on other nodes. A port has its messages one after the other;
 * a card carries those of all its ranks. */
static struct ss_placed exchange(const struct ss_cluster *c, struct parts all, double ranks, double sharing) {
  const struct ss_link outside = c->has_exchange ? c->exchange : c->inter;
  const double away = (ranks - c->gpus_per_node) / (ranks - 1);
  const struct parts far = {away * all.startups, away * all.bytes};
  const struct parts near = {all.startups - far.startups, all.bytes - far.bytes};
  const double port = takes(outside, far) + takes(c->intra, near), card = sharing * far.bytes * outside.beta;
  return (struct ss_placed){fmax(port, card), false};
}

/* p with p xor 2^t: the first rounds stay on the node, as if it were all there is; in the others all its ranks send
 * at once. */
static struct ss_placed doubling(const struct ss_cluster *c, struct parts all, struct parts inside, double sharing) {
  const struct parts far = {all.startups - inside.startups, sharing * (all.bytes - inside.bytes)};
  return (struct ss_placed){takes(c->intra, inside) + takes(c->inter, far), true};
}

static bool power_of_two(double n) {
  return n >= 1 && n == exp2(floor(log2(n)));
}

/* Whole nodes, one cost a class, nothing between nodes but cards. */
static bool covered(const struct ss_cluster *c, double ranks) {
  return ranks > c->gpus_per_node && fmod(ranks, c->gpus_per_node) == 0 && c->fabric_levels == 0 &&
         !c->intra_shared && c->inter_segments.count == 0 && c->intra_segments.count == 0 &&
         c->exchange_segments.count == 0 && ss_cluster_window(c) == 1;
}

bool ss_cost_place(const struct ss_cost *cost, const struct ss_symbols *symbols, const struct ss_cluster *cluster,
                   struct ss_placed *out, struct ss_error *error) {
  const double ranks = symbols->P, g = cluster->gpus_per_node, sharing = g / ss_cluster_nics(cluster);
  struct parts all, inside;
  *out = (struct ss_placed){.seconds = NAN};
  if (!cost->exact || cost->pattern == SS_PATTERN_NONE || !covered(cluster, ranks)) return true;
  if (!take_apart(cost, symbols, ranks, &all, error)) return false;
  switch (cost->pattern) {
  case SS_PATTERN_NONE: break;
  case SS_PATTERN_RING: *out = ring(cluster, all); break;
  case SS_PATTERN_EXCHANGE: *out = exchange(cluster, all, ranks, sharing); break;
  case SS_PATTERN_DOUBLING:
    if (!power_of_two(ranks) || !power_of_two(g)) break;
    if (!take_apart(cost, symbols, g, &inside, error)) return false;
    *out = doubling(cluster, all, inside, sharing);
  }
  return true;
}
