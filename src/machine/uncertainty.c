#include "machine/uncertainty.h"

#include "machine/device.h"

const char *ss_component_words(enum ss_component component) {
  static const char *const words[SS_COMPONENTS] = {
      [SS_LATENCY] = "the latency between nodes",
      [SS_TRANSFER] = "the bandwidth between nodes",
      [SS_EXCHANGE_LATENCY] = "the latency of exchanges between nodes",
      [SS_EXCHANGE_TRANSFER] = "the bandwidth of exchanges between nodes",
      [SS_INTRA_LATENCY] = "the latency inside nodes",
      [SS_INTRA_TRANSFER] = "the bandwidth inside nodes",
      [SS_COMPUTING] = "the kernels of the device",
      [SS_PASSES] = "forward and backward passes",
      [SS_WINDOW] = "how many messages a port has under way",
  };
  return words[component];
}

/* --- by how much ---------------------------------------------------------------------------------------------- */

#define SURE                                                                                                         \
  { 1, 1 }
#define ALL_SURE                                                                                                     \
  { SURE, SURE, SURE, SURE, SURE, SURE, SURE, SURE, SURE }
const struct ss_uncertainty ss_certain = {.of = ALL_SURE, .own = ALL_SURE, .model = SURE};

bool ss_component_of_links(enum ss_component component) {
  return component < SS_COMPUTING || component == SS_WINDOW;
}

bool ss_component_uncertain(const struct ss_uncertainty *u, enum ss_component component) {
  return !ss_spread_certain(&u->of[component]) || !ss_spread_certain(&u->own[component]);
}

/* Stated, not fitted: of numbers by where they come from (enum ss_origin_of_number), of kernels, and of the model
 * (docs/ranges.md, "Ranges", says why). */
static const struct ss_spread by_source[] = {
    [SS_SUPPOSED] = {1, 1}, [SS_PRINTED] = {1.14, 1.5}, [SS_MEASURED] = {1.1, 1.3}, [SS_ESTIMATED] = {1.33, 2}};
/* One window or the other: ss_spread_factor makes no draw of it. */
static const struct ss_spread either_window = {2, 2};
static const struct ss_spread measured_kernels = {1.12, 1.5}, estimated_kernels = {1.33, 2},
                              of_the_model = {1.03, 1.1};
/* Of exchanges where rings alone are known: the class "kind" of models/measured/priors.json. */
static const struct ss_spread unknown_exchanges = {1.82, 6.6};

/* Independent errors of a normal logarithm add their squares. */
static double join(double a, double b) {
  return exp(hypot(log(a), log(b)));
}

double ss_spread_factor(double half, double most, double u) {
  const double share = fabs(2 * u - 1);
  const double size = share < 0.5 ? half * share / 0.5 : half + (most - half) * (share - 0.5) / 0.4;
  return exp(2 * u - 1 < 0 ? -size : size);
}

struct ss_spread ss_spread_join(struct ss_spread a, struct ss_spread b) {
  return (struct ss_spread){join(a.half, b.half), join(a.most, b.most)};
}

static bool any_estimated(const struct ss_device *device) {
  for (int k = 0; k < SS_KERNELS; k++)
    if (!device->line[k].known) return true;
  return false;
}

/* --- of clusters that were measured --------------------------------------------------------------------------- */

/* Whose class nothing is said of is as far off as what is estimated. */
static struct ss_spread fitted(const struct ss_accuracy *a, const struct ss_accuracy_question *asked) {
  const struct ss_spread spread = ss_accuracy_spread(a, asked);
  return spread.most > 0 ? spread : by_source[SS_ESTIMATED];
}

/* The part of a class's variance that all schemes share: where two algorithms of a collective are left out together,
 * the ratio of their times is off 0.89 times as far as that of independent errors (LUMI, Leonardo). */
static const double SHARED = 0.21;

static struct ss_spread part_of(struct ss_spread spread, double variance) {
  return (struct ss_spread){pow(spread.half, sqrt(variance)), pow(spread.most, sqrt(variance))};
}

/* Every scheme is another collective that nobody measured: those that were tell of its messages alone. */
static void add_fitted(struct ss_uncertainty *u, const struct ss_cluster *c, uint32_t nodes, uint32_t collective) {
  static const enum ss_message_kind kinds[] = {SS_CHAIN, SS_CHAIN, SS_EXCHANGE, SS_EXCHANGE, SS_INSIDE, SS_INSIDE};
  for (int i = 0; i < SS_COMPUTING; i++) {
    if (ss_spread_certain(&u->of[i])) continue;
    const struct ss_accuracy_question asked = {collective, kinds[i], nodes, 0};
    struct ss_spread all = fitted(&c->accuracy, &asked);
    if (c->accuracy.noise.most > 1) all = ss_spread_join(all, c->accuracy.noise);
    u->of[i] = part_of(all, SHARED);
    u->own[i] = part_of(all, 1 - SHARED);
  }
}

void ss_uncertainty_beyond(struct ss_uncertainty *u, struct ss_spread by) {
  for (int i = 0; i < SS_COMPUTING; i++)
    if (by.most > 1 && ss_component_uncertain(u, (enum ss_component)i)) u->own[i] = ss_spread_join(u->own[i], by);
}

/* Memory that is estimated is as slow for one scheme as for another; measured lines are off by what a scheme does. */
static void add_kernels(struct ss_uncertainty *u, const struct ss_device *device) {
  if (!device->counted) return;
  if (any_estimated(device)) u->of[SS_COMPUTING] = estimated_kernels;
  else u->own[SS_COMPUTING] = measured_kernels;
}

/* NCCL's exchanges are another kind of messages than its rings: latency and bandwidth, where somebody took them from
 * somewhere, are those of rings. Of other libraries too little was measured to say so. */
static void add_unknown_exchanges(struct ss_uncertainty *u, const struct ss_cluster *c) {
  if (c->accuracy.known || c->has_exchange || c->library.kind != SS_NCCL) return;
  if (c->source.latency != SS_SUPPOSED)
    u->of[SS_EXCHANGE_LATENCY] = ss_spread_join(u->of[SS_LATENCY], unknown_exchanges);
  if (c->source.bandwidth != SS_SUPPOSED)
    u->of[SS_EXCHANGE_TRANSFER] = ss_spread_join(u->of[SS_TRANSFER], unknown_exchanges);
}

/* Does nobody say how many messages a port has under way, or estimates somebody, where that can make a difference? */
static bool window_is_open(const struct ss_cluster *c, uint32_t ranks) {
  return ss_cluster_fair(c) && ranks > 2 && (c->window == 0 || c->source.window == SS_ESTIMATED);
}

struct ss_uncertainty ss_uncertainty_of(const struct ss_cluster *c, const struct ss_device *device, uint32_t ranks,
                                        uint32_t collective) {
  struct ss_uncertainty u = ss_certain;
  const bool between = ranks > c->gpus_per_node, inside = c->gpus_per_node > 1 && c->has_intra;
  u.model = of_the_model;
  u.doubtful = c->accuracy.doubt[0] != '\0';
  if (between || !inside) {
    u.of[SS_LATENCY] = by_source[c->source.latency];
    u.of[SS_TRANSFER] = by_source[c->source.bandwidth];
  }
  if (between && (c->has_exchange || (c->accuracy.known && !c->accuracy.kind[SS_EXCHANGE]))) {
    u.of[SS_EXCHANGE_LATENCY] = by_source[c->has_exchange ? c->source.exchange : c->source.latency];
    u.of[SS_EXCHANGE_TRANSFER] = by_source[c->has_exchange ? c->source.exchange : c->source.bandwidth];
  }
  if (between) add_unknown_exchanges(&u, c);
  if (inside) u.of[SS_INTRA_LATENCY] = u.of[SS_INTRA_TRANSFER] = by_source[c->source.intra];
  if (c->accuracy.known) add_fitted(&u, c, ss_cluster_nodes(c, ranks), collective);
  if (window_is_open(c, ranks)) {
    u.of[SS_WINDOW] = either_window;
    u.other_window = ss_other_window(ss_cluster_window_of(c, true), ranks);
  }
  add_kernels(&u, device);
  return u;
}

bool ss_uncertainty_of_call(const struct ss_cluster *c, const struct ss_accuracy_question *asked,
                            struct ss_uncertainty *out) {
  *out = ss_certain;
  if (!c->accuracy.known || c->source.latency == SS_SUPPOSED || c->source.bandwidth == SS_SUPPOSED) return false;
  const struct ss_spread all = fitted(&c->accuracy, asked);
  out->of[SS_TRANSFER] = part_of(all, SHARED);
  out->own[SS_TRANSFER] = part_of(all, 1 - SHARED);
  return true;
}

struct ss_uncertainty ss_uncertainty_of_training(const struct ss_cluster *c, const struct ss_device *device,
                                                 uint32_t ranks) {
  struct ss_uncertainty u = ss_uncertainty_of(c, device, ranks, SS_COLLECTIVES);
  const bool between = ranks > c->gpus_per_node, inside = c->gpus_per_node > 1 && c->has_intra;
  const bool predicted[] = {
      [SS_LATENCY] = between || !inside,
      [SS_TRANSFER] = between || !inside,
      [SS_EXCHANGE_LATENCY] = between && c->has_exchange,
      [SS_EXCHANGE_TRANSFER] = between && c->has_exchange,
      [SS_INTRA_LATENCY] = inside,
      [SS_INTRA_TRANSFER] = inside,
      [SS_COMPUTING] = device->counted,
  };
  for (int i = 0; i <= SS_COMPUTING; i++)
    if (predicted[i] || ss_component_uncertain(&u, (enum ss_component)i))
      u.own[i] = ss_spread_join(u.own[i], u.model);
  u.model = ss_certain.model;
  return u;
}

/* --- components of a time ----------------------------------------------------------------------------------- */

/* A component costs so many times as much where its cost is looked at: not so much that messages overtake each other
 * as they never would, and enough for digits. */
static double step_of(const struct ss_spread *spread) {
  return sqrt(spread->most);
}

uint32_t ss_variants_count(const struct ss_uncertainty *uncertainty) {
  uint32_t count = 0;
  for (int i = 0; i < SS_COMPONENTS; i++) count += ss_component_uncertain(uncertainty, (enum ss_component)i);
  return count;
}

struct ss_cluster ss_cluster_dearer(const struct ss_cluster *cluster, const struct ss_uncertainty *uncertainty,
                                    enum ss_component component, double factor) {
  struct ss_cluster out = *cluster;
  out.has_exchange = cluster->has_exchange || ss_component_uncertain(uncertainty, SS_EXCHANGE_LATENCY) ||
                     ss_component_uncertain(uncertainty, SS_EXCHANGE_TRANSFER);
  if (component == SS_WINDOW) out.window = uncertainty->other_window;
  else ss_cluster_scale_component(&out, component, factor);
  return out;
}

void ss_variants_make(struct ss_variants *out, const struct ss_cluster *cluster,
                      const struct ss_uncertainty *uncertainty) {
  out->count = 0;
  for (int i = 0; i < SS_COMPONENTS; i++) {
    if (!ss_component_uncertain(uncertainty, (enum ss_component)i)) continue;
    const uint32_t n = out->count++;
    const struct ss_spread both = ss_spread_join(uncertainty->of[i], uncertainty->own[i]);
    out->of[n] = (enum ss_component)i;
    out->factor[n] = i == SS_WINDOW ? 2 : step_of(&both);
    out->pace[n] = i == SS_COMPUTING ? out->factor[n] : 1;
    out->cluster[n] = ss_cluster_dearer(cluster, uncertainty, (enum ss_component)i, out->factor[n]);
  }
}

struct ss_components ss_variants_split(const struct ss_variants *variants, double time, const double *on) {
  struct ss_components components = {{0}};
  double sum = 0;
  for (uint32_t n = 0; n < variants->count; n++) {
    double *own = &components.s[variants->of[n]];
    *own = (on[n] - time) / (variants->factor[n] - 1);
    if (variants->of[n] != SS_WINDOW) sum += *own = fmax(0, *own);
    else if (fabs(*own) <= 1e-9 * time) *own = 0; /* rounding */
  }
  /* where a step makes another message the last one, components grow faster than at first, and overlap */
  for (uint32_t n = 0; sum > time && n < variants->count; n++)
    if (variants->of[n] != SS_WINDOW) components.s[variants->of[n]] *= time / sum;
  return components;
}

double ss_components_time(const struct ss_components *c, double time, const double factor[SS_COMPONENTS]) {
  static const enum ss_component latencies[] = {SS_LATENCY, SS_EXCHANGE_LATENCY, SS_INTRA_LATENCY};
  double drawn = time, startups = 0, drawn_startups = 0;
  for (int i = 0; i < SS_WINDOW; i++)
    if (c->s[i] != 0) drawn += c->s[i] * (factor[i] - 1);
  if (factor[SS_WINDOW] == 1 || c->s[SS_WINDOW] == 0) return fmax(drawn, 0);
  for (size_t i = 0; i < sizeof latencies / sizeof *latencies; i++) {
    startups += c->s[latencies[i]];
    drawn_startups += c->s[latencies[i]] * factor[latencies[i]];
  }
  /* what another window spares are start-ups first, then what costs as the rest does */
  const double spared = fmin(fmax(-c->s[SS_WINDOW], 0), startups);
  const double rest = time > startups ? (drawn - drawn_startups) / (time - startups) : 1;
  if (spared > 0) drawn -= spared * drawn_startups / startups;
  return fmax(drawn + (c->s[SS_WINDOW] + spared) * rest, 0);
}
/* SPDX-License-Identifier: Apache-2.0 */
