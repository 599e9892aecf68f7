#include "machine/cluster.h"

#include "base/suggest.h"
#include "machine/uncertainty.h"

/* What networks have had: ARPANET's lines of 1969 carried 50 kbit/s, a GPU of 2024 sends 0.9 TB/s into NVLink 5; a
 * message by a geostationary satellite and back takes 0.5 s. From `endless` on bytes are meant to cost nothing. */
static const struct {
  double latency_most, bandwidth_least, bandwidth_most, endless; /* s, B/s */
} had = {1, 50e3 / 8, 1e13, 1e18};

/* Numbers of a file are in s and B/s, which who wrote them may not have known. `rate` 0: it is not given. */
static void doubt(char *text, size_t size, const char *which, double latency, double rate) {
  if (latency > had.latency_most)
    ss_append(text, size,
              "; a latency of %s %s, longer than any network's (in files numbers without a unit are in s)",
              ss_shown(SS_TIME, latency), which);
  if (rate > 0 && (rate < had.bandwidth_least || (rate > had.bandwidth_most && rate < had.endless)))
    ss_append(text, size, "; a bandwidth of %s %s, which no network has (in files numbers without a unit are in B/s)",
              ss_shown(SS_RATE, rate), which);
}

/* Of a kind of messages the first doubtful piece. `link` is the last, or all. */
static void doubt_pieces(char *text, size_t size, const char *which, const struct ss_segments *pieces,
                         const struct ss_link *link) {
  const size_t before = strlen(text);
  char where[100];
  for (uint32_t i = 0; i + 1 < pieces->count && !text[before]; i++) {
    const struct ss_segment *piece = &pieces->piece[i];
    snprintf(where, sizeof where, "%s, in messages of at most %s", which, ss_shown(SS_BYTES, (double)piece->up_to));
    doubt(text, size, where, piece->link.alpha, 1 / piece->link.beta);
  }
  if (!text[before]) doubt(text, size, which, link->alpha, 1 / link->beta);
}

/* The first doubtful one of its costs. */
static void doubt_library(char *text, size_t size, const struct ss_library *library) {
  const size_t before = strlen(text);
  char where[100];
  for (int i = 0; i < SS_WAYS * SS_PROTOCOLS && !text[before]; i++) {
    const int way = i / SS_PROTOCOLS, protocol = i % SS_PROTOCOLS;
    const struct ss_link *cost = &library->cost[way][protocol];
    snprintf(where, sizeof where, "of the library's %s in %s", ss_way_names[way], ss_protocol_names[protocol]);
    if (cost->beta > 0) doubt(text, size, where, cost->alpha, 1 / cost->beta);
  }
}

static void doubt_fabric(char *text, size_t size, const struct ss_cluster *c) {
  char where[40];
  for (uint32_t i = 0; i < c->fabric_levels; i++) {
    snprintf(where, sizeof where, "of uplinks of level %u", i + 1);
    doubt(text, size, where, c->fabric[i].latency, c->fabric[i].bandwidth);
  }
}

void ss_cluster_tell(const struct ss_cluster *c, const struct ss_notice *notice) {
  char found[1024] = "", text[sizeof found + sizeof c->name + 16];
  if (c->warning[0]) ss_append(found, sizeof found, "; %s", c->warning);
  doubt_pieces(found, sizeof found, "between nodes", &c->inter_segments, &c->inter);
  if (c->has_intra) doubt_pieces(found, sizeof found, "inside nodes", &c->intra_segments, &c->intra);
  if (c->has_exchange) doubt_pieces(found, sizeof found, "in exchanges", &c->exchange_segments, &c->exchange);
  doubt_fabric(found, sizeof found, c);
  doubt_library(found, sizeof found, &c->library);
  doubt(found, sizeof found, "to the memory of machines", c->host.latency, c->host.bandwidth);
  if (!found[0]) return;
  snprintf(text, sizeof text, "cluster %s: %s", c->name, found + 2);
  ss_notice_tell(notice, text);
}

void ss_cluster_tell_nodes(const struct ss_cluster *cluster, uint32_t nodes, const struct ss_notice *notice) {
  const struct ss_accuracy *a = &cluster->accuracy;
  char text[sizeof cluster->name + 100], from[20] = "";
  if (a->nodes_max == 0 || nodes <= 1 || (nodes >= a->nodes_min && nodes <= a->nodes_max)) return;
  if (a->nodes_min < a->nodes_max) snprintf(from, sizeof from, "%u to ", a->nodes_min);
  snprintf(text, sizeof text, "cluster %s: fitted on %s%u nodes; %u asked", cluster->name, from, a->nodes_max, nodes);
  ss_notice_tell(notice, text);
}

void ss_cluster_tell_bytes(const struct ss_cluster *cluster, uint32_t collective, uint64_t bytes,
                           const struct ss_notice *notice) {
  const struct ss_size_span *span = ss_accuracy_sizes(&cluster->accuracy, collective);
  char text[sizeof cluster->name + 150];
  if (span->most == 0 || bytes == 0 || (bytes >= span->least && bytes <= span->most)) return;
  snprintf(text, sizeof text, "cluster %s: fitted on %s%s%s to %s; %s asked", cluster->name,
           span == &cluster->accuracy.bytes ? "" : ss_collective_names[collective],
           span == &cluster->accuracy.bytes ? "" : " of ", ss_shown(SS_BYTES, (double)span->least),
           ss_shown(SS_BYTES, (double)span->most), ss_shown(SS_BYTES, (double)bytes));
  ss_notice_tell(notice, text);
}

void ss_largest_calls_add(struct ss_largest_calls *largest, const struct ss_cluster *cluster, uint32_t collective,
                          uint64_t bytes) {
  const bool own = ss_accuracy_sizes(&cluster->accuracy, collective) != &cluster->accuracy.bytes;
  uint64_t *most = &largest->bytes[own ? collective : SS_COLLECTIVES];
  *most = bytes > *most ? bytes : *most;
}

void ss_cluster_tell_calls(const struct ss_cluster *cluster, const struct ss_largest_calls *largest,
                           const struct ss_notice *notice) {
  for (uint32_t c = 0; c <= SS_COLLECTIVES; c++) ss_cluster_tell_bytes(cluster, c, largest->bytes[c], notice);
}

void ss_cluster_tell_one_node(const struct ss_cluster *cluster, uint32_t ranks, const struct ss_notice *notice) {
  char text[sizeof cluster->name + 120];
  if (ranks == 1) ss_notice_tell(notice, "one rank alone sends nothing (more --ranks do)");
  if (ranks < 2 || ranks > cluster->gpus_per_node || !cluster->has_intra) return;
  snprintf(text, sizeof text,
           "%u ranks are one node of %s: the network between nodes is not used (more --ranks use it)", ranks,
           cluster->name);
  ss_notice_tell(notice, text);
}

void ss_cluster_even(struct ss_cluster *cluster, const struct ss_notice *notice) {
  char text[sizeof cluster->name + 100];
  if (cluster->jitter.draws == 0) return;
  cluster->jitter.draws = 0;
  snprintf(text, sizeof text, "cluster %s: its \"jitter\" is left out here: run and train play it", cluster->name);
  ss_notice_tell(notice, text);
}

uint32_t ss_cluster_nodes(const struct ss_cluster *cluster, uint32_t ranks) {
  return (ranks + cluster->gpus_per_node - 1) / cluster->gpus_per_node;
}

bool ss_cluster_fair(const struct ss_cluster *cluster) {
  return strcmp(cluster->model, "fair") == 0;
}

uint32_t ss_cluster_nics(const struct ss_cluster *cluster) {
  if (cluster->nics > 0) return cluster->nics;
  return cluster->nic_per_node ? 1 : cluster->gpus_per_node;
}

uint32_t ss_cluster_window_of(const struct ss_cluster *cluster, bool exchange) {
  const uint32_t said = exchange || cluster->chain_window == 0 ? cluster->window : cluster->chain_window;
  const uint32_t window = said > 0 ? said : 1, rings = ss_cluster_rings(cluster);
  return window > UINT32_MAX / rings ? UINT32_MAX : window * rings;
}

uint32_t ss_other_window(uint32_t window, uint32_t ranks) {
  const uint32_t many = ranks <= 32 ? UINT32_MAX : 4;
  return window < many ? many : 1;
}

uint32_t ss_cluster_window(const struct ss_cluster *cluster) {
  const uint32_t exchange = ss_cluster_window_of(cluster, true), chain = ss_cluster_window_of(cluster, false);
  return exchange > chain ? exchange : chain;
}

bool ss_cluster_mpi(const struct ss_cluster *cluster) {
  return cluster->memory.pieces > 0 || ss_library_mpi(cluster->library.kind);
}

uint32_t ss_cluster_rings(const struct ss_cluster *cluster) {
  return cluster->rings > 0 ? cluster->rings : 1;
}

static double larger(double a, double b) {
  return a > b ? a : b;
}

static double class_rate(const struct ss_link *link, const struct ss_segments *segments) {
  double rate = segments->count == 0 ? 1 / link->beta : 0;
  for (uint32_t i = 0; i < segments->count; i++) rate = larger(rate, 1 / segments->piece[i].link.beta);
  return rate;
}

double ss_cluster_weight(const struct ss_cluster *c, bool exchange) {
  return c->weight[exchange] > 0 ? c->weight[exchange] : 1;
}

double ss_cluster_card_rate(const struct ss_cluster *c) {
  const double rate = ss_cluster_weight(c, false) * class_rate(&c->inter, &c->inter_segments);
  if (!c->has_exchange) return rate;
  return larger(rate, ss_cluster_weight(c, true) * class_rate(&c->exchange, &c->exchange_segments));
}

double ss_cluster_bus_rate(const struct ss_cluster *c) {
  return c->has_intra ? class_rate(&c->intra, &c->intra_segments) : class_rate(&c->inter, &c->inter_segments);
}

double ss_cluster_uplink_rate(const struct ss_cluster *c, uint32_t level) {
  const struct ss_fabric_level *l = &c->fabric[level];
  if (!(l->oversubscription > 0)) return l->bandwidth;
  return (double)l->nodes * ss_cluster_nics(c) * ss_cluster_card_rate(c) / l->oversubscription;
}

bool ss_cluster_unshared(const struct ss_cluster *c) {
  return ss_cluster_fair(c) && !c->staged && ss_cluster_nics(c) == c->gpus_per_node && ss_cluster_window(c) == 1 &&
         c->fabric_levels == 0 && !c->intra_shared && !c->has_exchange && c->inter_segments.count == 0 &&
         c->intra_segments.count == 0;
}

/* --- changes ------------------------------------------------------------------------------------------------ */

static void scale_link(struct ss_link *link, const struct ss_cluster_factors *f, double bandwidth) {
  link->alpha *= f->latency;
  link->beta = link->beta * f->byte_time / bandwidth;
}

static void scale_class(struct ss_link *link, struct ss_segments *segments, const struct ss_cluster_factors *f,
                        double bandwidth) {
  scale_link(link, f, bandwidth);
  for (uint32_t i = 0; i < segments->count; i++) scale_link(&segments->piece[i].link, f, bandwidth);
}

static void scale_costs(struct ss_cluster *c, const struct ss_cluster_factors *f) {
  for (int i = 0; i < SS_WAYS * SS_PROTOCOLS; i++)
    scale_link(&c->library.cost[i / SS_PROTOCOLS][i % SS_PROTOCOLS], f, 1);
}

static void scale_fabric(struct ss_cluster *c, double latency, double byte_time) {
  for (uint32_t i = 0; i < c->fabric_levels; i++) {
    c->fabric[i].latency *= latency;
    c->fabric[i].bandwidth /= byte_time;
  }
}

void ss_cluster_scale(struct ss_cluster *c, const struct ss_cluster_factors *f) {
  const double inside = c->has_intra ? f->intra_bandwidth : 1;
  scale_class(&c->inter, &c->inter_segments, f, 1);
  scale_class(&c->exchange, &c->exchange_segments, f, 1);
  scale_class(&c->intra, &c->intra_segments, f, inside);
  scale_fabric(c, f->latency, f->byte_time);
  scale_costs(c, f);
  c->host.latency *= f->latency;
  c->host.bandwidth /= f->byte_time;
}

void ss_cluster_scale_component(struct ss_cluster *c, enum ss_component component, double factor) {
  const bool latency = component == SS_LATENCY || component == SS_EXCHANGE_LATENCY || component == SS_INTRA_LATENCY;
  const struct ss_cluster_factors f = {latency ? factor : 1, latency ? 1 : factor, 1};
  switch (component) {
  case SS_LATENCY:
  case SS_TRANSFER:
    scale_class(&c->inter, &c->inter_segments, &f, 1);
    if (!c->has_exchange) scale_class(&c->exchange, &c->exchange_segments, &f, 1);
    if (!c->has_intra) scale_class(&c->intra, &c->intra_segments, &f, 1);
    scale_fabric(c, f.latency, c->has_exchange ? 1 : f.byte_time);
    scale_costs(c, &f);
    if (c->has_exchange) c->weight[false] = f.byte_time;
    break;
  case SS_EXCHANGE_LATENCY:
  case SS_EXCHANGE_TRANSFER:
    scale_class(&c->exchange, &c->exchange_segments, &f, 1);
    c->weight[true] = f.byte_time;
    break;
  case SS_INTRA_LATENCY:
  case SS_INTRA_TRANSFER: scale_class(&c->intra, &c->intra_segments, &f, 1); break;
  case SS_COMPUTING:
  case SS_PASSES:
  case SS_WINDOW:
  case SS_COMPONENTS: break;
  }
}

void ss_cluster_scale_chains(struct ss_cluster *c, const struct ss_cluster_factors *between,
                             const struct ss_cluster_factors *inside) {
  scale_class(&c->inter, &c->inter_segments, between, 1);
  if (c->has_intra) {
    scale_class(&c->intra, &c->intra_segments, inside, 1);
  } else {
    c->intra = c->inter;
    c->intra_segments = c->inter_segments;
  }
  c->exchange = c->inter;
  c->exchange_segments = c->inter_segments;
  c->has_exchange = false;
}

void ss_cluster_widen(struct ss_cluster *c, uint32_t rings) {
  if (rings <= 1 || !ss_cluster_fair(c)) return;
  if (!c->has_intra) {
    c->intra = c->inter;
    c->intra_segments = c->inter_segments;
    c->has_intra = true;
  }
  ss_cluster_scale(c, &(struct ss_cluster_factors){1, 1, 1.0 / rings});
  c->rings = rings;
}

/* One link between nodes for all lengths and uses. */
static void simplify(struct ss_cluster *c) {
  c->inter_segments.count = c->exchange_segments.count = 0;
  c->has_exchange = false;
}

/* A library's costs keep to each other as they are: those of rings in Simple become these (NaN: stay). */
static void set_costs(struct ss_cluster *c, double alpha, double beta) {
  const struct ss_link *cost = &c->library.cost[SS_WAY_RING][SS_SIMPLE], *simple = cost->beta > 0 ? cost : &c->inter;
  scale_costs(c, &(struct ss_cluster_factors){isnan(alpha) || !(simple->alpha > 0) ? 1 : alpha / simple->alpha,
                                              isnan(beta) ? 1 : beta / simple->beta, 1});
}

void ss_cluster_set_latency(struct ss_cluster *c, double alpha) {
  simplify(c);
  set_costs(c, alpha, NAN);
  c->source.latency = SS_SUPPOSED;
  c->inter.alpha = c->exchange.alpha = alpha;
  if (!c->has_intra) c->intra.alpha = alpha;
}

void ss_cluster_set_beta(struct ss_cluster *c, double beta) {
  simplify(c);
  set_costs(c, NAN, beta);
  c->source.bandwidth = SS_SUPPOSED;
  c->library.channel_rate = 0; /* it is found anew */
  c->inter.beta = c->exchange.beta = beta;
  if (!c->has_intra) c->intra.beta = beta;
}

static bool change_inside(struct ss_cluster *c, const struct ss_nodes_change *change, struct ss_error *error) {
  if (isnan(change->intra_latency) && isnan(change->intra_bandwidth)) return true;
  if (c->gpus_per_node == 1)
    return ss_fail(
        error, SS_BAD_INPUT,
        "%s has one GPU a node, so there are no links inside nodes to change: say how many GPUs a node has", c->name);
  c->has_intra = true;
  c->intra_segments.count = 0;
  if (!isnan(change->intra_latency)) c->intra.alpha = change->intra_latency;
  if (!isnan(change->intra_bandwidth)) c->intra.beta = 1 / change->intra_bandwidth;
  return true;
}

bool ss_cluster_change_nodes(struct ss_cluster *c, const struct ss_nodes_change *change, struct ss_error *error) {
  if (change->nics > 0 && !ss_cluster_fair(c))
    return ss_fail(error, SS_BAD_INPUT, "%s has the model \"alpha-beta\", which knows no number of cards a node",
                   c->name);
  if (change->gpus_per_node > 0) c->gpus_per_node = (uint32_t)change->gpus_per_node;
  if (change->nics > 0) c->nics = (uint32_t)change->nics;
  if (c->nics > c->gpus_per_node)
    return ss_fail(error, SS_BAD_INPUT, "%u cards for the %u GPUs of a node: there are at most as many cards as GPUs",
                   c->nics, c->gpus_per_node);
  return change_inside(c, change, error);
}

/* --- are two the same ---------------------------------------------------------------------------------------- */

static bool same_link(const struct ss_link *a, const struct ss_link *b) {
  return a->alpha == b->alpha && a->beta == b->beta;
}

static bool same_segments(const struct ss_segments *a, const struct ss_segments *b) {
  bool same = a->count == b->count;
  for (uint32_t i = 0; same && i < a->count; i++)
    same = a->piece[i].up_to == b->piece[i].up_to && same_link(&a->piece[i].link, &b->piece[i].link);
  return same;
}

static bool same_fabric(const struct ss_cluster *a, const struct ss_cluster *b) {
  bool same = a->fabric_levels == b->fabric_levels;
  for (uint32_t i = 0; same && i < a->fabric_levels; i++) {
    const struct ss_fabric_level *x = &a->fabric[i], *y = &b->fabric[i];
    same = x->nodes == y->nodes && x->oversubscription == y->oversubscription && x->bandwidth == y->bandwidth &&
           x->latency == y->latency;
  }
  return same;
}

static bool same_host(const struct ss_cluster *a, const struct ss_cluster *b) {
  return a->staged == b->staged && !(a->host.latency < b->host.latency) && !(a->host.latency > b->host.latency) &&
         !(a->host.bandwidth < b->host.bandwidth) && !(a->host.bandwidth > b->host.bandwidth) &&
         a->host.shared == b->host.shared;
}

bool ss_cluster_same(const struct ss_cluster *a, const struct ss_cluster *b) {
  return strcmp(a->model, b->model) == 0 && same_link(&a->inter, &b->inter) && same_link(&a->intra, &b->intra) &&
         same_link(&a->exchange, &b->exchange) && same_segments(&a->inter_segments, &b->inter_segments) &&
         same_segments(&a->intra_segments, &b->intra_segments) &&
         same_segments(&a->exchange_segments, &b->exchange_segments) && a->has_intra == b->has_intra &&
         a->has_exchange == b->has_exchange && a->nic_per_node == b->nic_per_node &&
         a->intra_shared == b->intra_shared && a->gpus_per_node == b->gpus_per_node && a->nics == b->nics &&
         a->weight[0] == b->weight[0] && a->weight[1] == b->weight[1] && a->window == b->window &&
         a->chain_window == b->chain_window && same_fabric(a, b) && same_host(a, b) && same_host(a, b) &&
         ss_jitter_same(&a->jitter, &b->jitter) && ss_library_same(&a->library, &b->library);
}
/* SPDX-License-Identifier: Apache-2.0 */
