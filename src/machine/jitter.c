#include "machine/jitter.h"

#include "base/random.h"

/* --- reading ------------------------------------------------------------------------------------------------- */

static bool read_point(struct ss_node node, const struct ss_quantile *before, struct ss_quantile *out,
                       struct ss_error *error) {
  const struct ss_node share = ss_node_first(node), factor = ss_node_next(share);
  if (!ss_node_is_array(node) || ss_node_size(node) != 2)
    return ss_node_fail(node, error, "expected [share, factor], say [0.05, 0.4]");
  if (!ss_node_nonnegative(share, SS_RATIO, &out->share, error) ||
      !ss_node_positive(factor, SS_NUMBER, &out->factor, error))
    return false;
  if (out->share > 1) return ss_node_fail(share, error, "%g: shares go from 0 to 1", out->share);
  if (out->factor > 1e6)
    return ss_node_fail(factor, error, "%g: a factor of more than 1e6 is no jitter", out->factor);
  if (!before && out->share > 0) return ss_node_fail(share, error, "the first share is 0: the smallest factor");
  if (before && out->share < before->share)
    return ss_node_fail(share, error, "%g: shares stand in ascending order, and the one before is %g", out->share,
                        before->share);
  if (before && out->factor < before->factor)
    return ss_node_fail(factor, error, "%g: a larger share has no smaller factor, and the one before is %g",
                        out->factor, before->factor);
  return true;
}

static bool read_quantiles(struct ss_node list, void *quantiles, struct ss_error *error) {
  struct ss_quantiles *out = quantiles;
  if (!ss_node_is_array(list) || ss_node_size(list) < 2 || ss_node_size(list) > SS_QUANTILES_MAX)
    return ss_node_fail(list, error,
                        "expected 2 to %d quantiles [share, factor], from share 0 to share 1: [[0, 0.4], [0.1, 0.9], "
                        "[1, 1]]",
                        SS_QUANTILES_MAX);
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n), out->count++)
    if (!read_point(n, out->count > 0 ? &out->point[out->count - 1] : NULL, &out->point[out->count], error))
      return false;
  if (out->point[out->count - 1].share < 1)
    return ss_node_fail(list, error, "the last share is %g, not 1: the largest factor is missing",
                        out->point[out->count - 1].share);
  return true;
}

static const char *const pers[] = {"message", "pair", NULL};
static const struct ss_field_spec a_number = {NULL, NULL, SS_IS_FROM_0},
                                  a_quantile = {NULL, "[share, factor], from share 0 to share 1, neither falling",
                                                SS_IS_LIST(&a_number, 2, 2)};
#define QUANTILES                                                                                                    \
  "so large a share of all factors is at most that", SS_IS_LIST(&a_quantile, 2, SS_QUANTILES_MAX),                   \
      .read = read_quantiles
static const struct ss_field_spec jitter_fields[] = {
    {"per", "who draws a factor: each pair of nodes once, or each message", SS_IS_CHOICE(pers), .required = true,
     SS_STORED(struct ss_jitter, per_pair)},
    {"bandwidth", QUANTILES, SS_STORED(struct ss_jitter, bandwidth)},
    {"latency", QUANTILES, SS_STORED(struct ss_jitter, latency)},
    {"draws", "how often a run is played", SS_IS_COUNT(1, SS_DRAWS_MAX), .usual = "40",
     SS_STORED(struct ss_jitter, draws)},
    {"seed", NULL, SS_IS_SEED, .usual = "1", SS_STORED(struct ss_jitter, seed)},
    {.name = NULL}};
const struct ss_object_spec ss_jitter_fields = {
    .says = "how uneven links between nodes are: runs tell a fan of times over draws beside those on even links",
    .field = jitter_fields,
    .rules = "{'anyOf': [{'required': ['bandwidth']}, {'required': ['latency']}]}"};

bool ss_jitter_read(struct ss_node node, struct ss_jitter *out, struct ss_error *error) {
  *out = (struct ss_jitter){.seed = 1};
  if (!ss_node_present(node)) return true;
  if (!ss_node_is_object(node))
    return ss_node_fail(node, error, "expected {\"per\": \"pair\", \"bandwidth\": [[0, 0.4], [0.1, 0.9], [1, 1]]}");
  if (!ss_object_read(&ss_jitter_fields, node, out, error)) return false;
  return out->bandwidth.count + out->latency.count > 0 ||
         ss_node_fail(node, error, "say what is uneven: \"bandwidth\", \"latency\" or both");
}

static bool same_quantiles(const struct ss_quantiles *a, const struct ss_quantiles *b) {
  bool same = a->count == b->count;
  for (uint32_t i = 0; same && i < a->count; i++)
    same = a->point[i].share == b->point[i].share && a->point[i].factor == b->point[i].factor;
  return same;
}

bool ss_jitter_same(const struct ss_jitter *a, const struct ss_jitter *b) {
  return a->draws == b->draws && a->per_pair == b->per_pair && a->seed == b->seed && a->draw == b->draw &&
         a->moment == b->moment && same_quantiles(&a->latency, &b->latency) &&
         same_quantiles(&a->bandwidth, &b->bandwidth);
}

/* --- drawing ------------------------------------------------------------------------------------------------- */

struct ss_uneven ss_uneven_of(const struct ss_jitter *j) {
  const uint64_t draw = ss_mix(j->seed, j->draw), key = j->per_pair ? draw : ss_mix(draw, j->moment);
  return (struct ss_uneven){.latency = j->draw > 0 && j->latency.count > 0 ? &j->latency : NULL,
                            .bandwidth = j->draw > 0 && j->bandwidth.count > 0 ? &j->bandwidth : NULL,
                            .per_pair = j->per_pair,
                            .latency_key = ss_mix(key, 0),
                            .bandwidth_key = ss_mix(key, 1)};
}

double ss_quantiles_at(const struct ss_quantiles *q, double share) {
  uint32_t i = 1;
  while (i + 1 < q->count && q->point[i].share <= share) i++;
  const struct ss_quantile *a = &q->point[i - 1], *b = &q->point[i];
  return b->share > a->share ? a->factor + (b->factor - a->factor) * (share - a->share) / (b->share - a->share)
                             : b->factor;
}

/* Both directions of a pair draw the same. */
static double factor(const struct ss_uneven *u, const struct ss_quantiles *q, uint64_t key,
                     const struct ss_passage *c) {
  if (!q || c->from == c->to) return 1;
  const uint32_t low = c->from < c->to ? c->from : c->to, high = c->from < c->to ? c->to : c->from;
  const uint64_t whom = u->per_pair ? (uint64_t)low << 32 | high : (uint64_t)c->receiver << 32 | c->number;
  return ss_quantiles_at(q, ss_unit(ss_mix(key, whom)));
}

double ss_uneven_latency(const struct ss_uneven *u, const struct ss_passage *c) {
  return factor(u, u->latency, u->latency_key, c);
}

double ss_uneven_bandwidth(const struct ss_uneven *u, const struct ss_passage *c) {
  return factor(u, u->bandwidth, u->bandwidth_key, c);
}

/* --- what comes of it ---------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(const double *sorted, uint32_t count, double share) {
  const double at = share * (count - 1), below = floor(at);
  const uint32_t i = (uint32_t)below;
  return i + 1 < count ? sorted[i] + (at - below) * (sorted[i + 1] - sorted[i]) : sorted[count - 1];
}

struct ss_fan ss_fan_of(double *times, uint32_t count) {
  qsort(times, count, sizeof *times, by_size);
  return (struct ss_fan){quantile(times, count, 0.05), quantile(times, count, 0.5), quantile(times, count, 0.95)};
}
/* SPDX-License-Identifier: Apache-2.0 */
