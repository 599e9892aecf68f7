/* Clusters as JSON has them. */
#include "machine/cluster.h"
#include "machine/network.h"

#include <stdarg.h>
#include <stdio.h>

static void warn(struct ss_cluster *c, const char *format, ...) SS_PRINTF(2, 3);

/* The first thing to tell. */
static void warn(struct ss_cluster *c, const char *format, ...) {
  if (c->warning[0]) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(c->warning, sizeof c->warning, format, arguments);
  va_end(arguments);
}

/* --- link classes ------------------------------------------------------------------------------------------- */

static bool read_link(struct ss_node node, struct ss_link *out, struct ss_error *error) {
  struct ss_node latency, bandwidth;
  double rate;
  if (!ss_node_need(node, "latency", &latency, error) || !ss_node_need(node, "bandwidth", &bandwidth, error))
    return false;
  if (!ss_node_nonnegative(latency, SS_TIME, &out->alpha, error)) return false;
  if (!ss_node_positive(bandwidth, SS_RATE, &rate, error)) return false;
  out->beta = 1.0 / rate;
  if (!(out->beta > 0 && out->beta <= 1e300)) return ss_node_fail(bandwidth, error, "%g B/s is out of range", rate);
  return true;
}

static bool read_limit(struct ss_node node, bool last, uint64_t below, uint64_t *out, struct ss_error *error) {
  const struct ss_node limit = ss_node_get(node, "up_to");
  double bytes;
  *out = UINT64_MAX;
  if (!ss_node_present(limit)) {
    if (last) return true;
    return ss_node_fail(node, error, "only the last segment is without \"up_to\": it takes what is longer than all");
  }
  if (last) return ss_node_fail(limit, error, "the last segment has no \"up_to\": it takes what is longer than all");
  if (!ss_node_nonnegative(limit, SS_BYTES, &bytes, error)) return false;
  if (!(bytes < 0x1p53)) return ss_node_fail(limit, error, "%g B is out of range", bytes);
  *out = (uint64_t)bytes;
  if (below != UINT64_MAX && *out <= below)
    return ss_node_fail(limit, error, "segments stand by ascending \"up_to\", and the one before ends at %llu B",
                        (unsigned long long)below);
  return true;
}

static double takes(const struct ss_segment *piece, uint64_t bytes) {
  return piece->link.alpha + (double)bytes * piece->link.beta;
}

static bool read_segments(struct ss_node list, struct ss_cluster *cluster, struct ss_segments *out,
                          struct ss_error *error) {
  static const char *const known[] = {"up_to", "latency", "bandwidth", NULL};
  const size_t count = ss_node_size(list);
  if (!ss_node_is_array(list) || count < 1 || count > SS_SEGMENTS_MAX)
    return ss_node_fail(list, error,
                        "expected a list of 1 to %d segments, say [{\"up_to\": \"8KiB\", \"latency\": "
                        "\"5us\", \"bandwidth\": \"10Gbps\"}, {\"latency\": \"9us\", \"bandwidth\": \"25Gbps\"}]",
                        SS_SEGMENTS_MAX);
  struct ss_node node = ss_node_first(list);
  uint64_t below = UINT64_MAX;
  for (out->count = 0; out->count < count; out->count++, node = ss_node_next(node)) {
    struct ss_segment *piece = &out->piece[out->count];
    const bool last = out->count + 1 == count;
    if (!ss_node_keys(node, known, error) || !read_limit(node, last, below, &piece->up_to, error) ||
        !read_link(node, &piece->link, error))
      return false;
    if (out->count > 0 && takes(piece, below + 1) < takes(piece - 1, below))
      warn(cluster,
           "a message of %llu B takes longer (%g s) than one of a byte more (%g s): segments that measure "
           "the same link seldom do so",
           (unsigned long long)below, takes(piece - 1, below), takes(piece, below + 1));
    below = piece->up_to;
  }
  return true;
}

static bool read_class(struct ss_node node, struct ss_cluster *cluster, struct ss_link *link,
                       struct ss_segments *segments, struct ss_error *error) {
  const struct ss_node list = ss_node_get(node, "segments");
  segments->count = 0;
  if (!ss_node_present(list)) return read_link(node, link, error);
  static const char *const instead[] = {"latency", "bandwidth"};
  for (size_t i = 0; i < 2; i++)
    if (ss_node_present(ss_node_get(node, instead[i])))
      return ss_node_fail(list, error, "segments stand in place of \"%s\": give one of both", instead[i]);
  if (!read_segments(list, cluster, segments, error)) return false;
  *link = segments->piece[segments->count - 1].link;
  return true;
}

/* A class of its own, or the class between nodes. */
static bool read_other(struct ss_node node, struct ss_cluster *c, struct ss_link *link, struct ss_segments *segments,
                       bool *given, struct ss_error *error) {
  *link = c->inter;
  *segments = c->inter_segments;
  *given = ss_node_present(node);
  return !*given || read_class(node, c, link, segments, error);
}

static bool read_classes(struct ss_node node, struct ss_cluster *c, struct ss_error *error) {
  static const char *const intra_keys[] = {"latency", "bandwidth", "segments", "shared", NULL};
  static const char *const exchange_keys[] = {"latency", "bandwidth", "segments", NULL};
  const struct ss_node intra = ss_node_get(node, "intra"), shared = ss_node_get(intra, "shared"),
                       exchange = ss_node_get(node, "exchange");
  return read_class(node, c, &c->inter, &c->inter_segments, error) &&
         (!ss_node_present(intra) || ss_node_keys(intra, intra_keys, error)) &&
         (!ss_node_present(exchange) || ss_node_keys(exchange, exchange_keys, error)) &&
         read_other(intra, c, &c->intra, &c->intra_segments, &c->has_intra, error) &&
         read_other(exchange, c, &c->exchange, &c->exchange_segments, &c->has_exchange, error) &&
         (!ss_node_present(shared) || ss_node_flag(shared, &c->intra_shared, error));
}

/* --- what is shared ----------------------------------------------------------------------------------------- */

static bool read_nic(struct ss_node node, bool *per_node, struct ss_error *error) {
  static const char *const choices[] = {"per-rank", "per-node", NULL};
  size_t choice = 0;
  if (ss_node_present(node) && !ss_node_choice(node, choices, &choice, error)) return false;
  *per_node = choice == 1;
  return true;
}

static bool read_nics(struct ss_node node, struct ss_cluster *c, struct ss_error *error) {
  uint64_t count;
  if (!ss_node_present(node)) return true;
  if (!ss_node_count(node, 1, 1u << 20, &count, error)) return false;
  if (count > c->gpus_per_node)
    return ss_node_fail(node, error,
                        "%llu cards for the %u ranks of a node: rank l of a node uses card floor(l * nics / "
                        "gpus_per_node), so there are at most as many cards as \"gpus_per_node\"",
                        (unsigned long long)count, c->gpus_per_node);
  c->nics = (uint32_t)count;
  if (c->gpus_per_node % count == 0) return true;
  const uint32_t second = (uint32_t)((c->gpus_per_node + count - 1) / count);
  warn(c,
       "%u cards do not divide the %u ranks of a node evenly: rank l of a node uses card floor(l * %u / %u), so "
       "ranks 0 to %u share card 0, and rank %u is the first of card 1",
       c->nics, c->gpus_per_node, c->nics, c->gpus_per_node, second - 1, second);
  return true;
}

static bool read_window(struct ss_node node, struct ss_cluster *c, struct ss_error *error) {
  static const char *const all[] = {"all", NULL};
  uint64_t count;
  size_t choice;
  if (!ss_node_present(node)) return true;
  if (ss_node_is_text(node)) {
    if (!ss_node_choice(node, all, &choice, error)) return false;
    c->window = UINT32_MAX;
    return true;
  }
  if (!ss_node_count(node, 1, UINT32_MAX - 1, &count, error)) return false;
  c->window = (uint32_t)count;
  return true;
}

static bool read_level(struct ss_node node, uint32_t below, struct ss_fabric_level *out, struct ss_error *error) {
  static const char *const known[] = {"nodes", "oversubscription", "bandwidth", "latency", NULL};
  struct ss_node nodes, over, rate, latency;
  uint64_t count;
  *out = (struct ss_fabric_level){0};
  if (!ss_node_keys(node, known, error) || !ss_node_need(node, "nodes", &nodes, error)) return false;
  over = ss_node_get(node, "oversubscription");
  rate = ss_node_get(node, "bandwidth");
  latency = ss_node_get(node, "latency");
  if (!ss_node_count(nodes, 1, 1u << 20, &count, error)) return false;
  out->nodes = (uint32_t)count;
  if (out->nodes % below != 0 || (below > 1 && out->nodes == below))
    return ss_node_fail(nodes, error,
                        "groups of %u nodes do not hold whole groups of the level below, of %u nodes: "
                        "take a multiple of %u",
                        out->nodes, below, below);
  if (ss_node_present(over) == ss_node_present(rate))
    return ss_node_fail(node, error, "expected \"oversubscription\" or \"bandwidth\" of its uplink, one of both");
  if (ss_node_present(latency) && !ss_node_nonnegative(latency, SS_TIME, &out->latency, error)) return false;
  if (ss_node_present(rate)) return ss_node_positive(rate, SS_RATE, &out->bandwidth, error);
  if (!ss_node_positive(over, SS_RATIO, &out->oversubscription, error)) return false;
  if (out->oversubscription >= 1) return true;
  return ss_node_fail(over, error,
                      "%g: cards of a group to its uplink are at least 1 to 1; for a faster uplink give "
                      "its \"bandwidth\"",
                      out->oversubscription);
}

static bool read_fabric(struct ss_node list, struct ss_cluster *c, struct ss_error *error) {
  if (!ss_node_present(list)) return true;
  if (!ss_node_is_array(list) || ss_node_size(list) > SS_FABRIC_MAX)
    return ss_node_fail(list, error,
                        "expected a list of at most %d levels from the bottom, say [{\"nodes\": 16, "
                        "\"oversubscription\": 3}]",
                        SS_FABRIC_MAX);
  uint32_t below = 1;
  struct ss_node node = ss_node_first(list);
  for (size_t i = 0; i < ss_node_size(list); i++, node = ss_node_next(node)) {
    if (!read_level(node, below, &c->fabric[i], error)) return false;
    below = c->fabric[i].nodes;
    c->fabric_levels++;
  }
  return true;
}

/* --- the whole ---------------------------------------------------------------------------------------------- */

static bool only_fair(struct ss_node node, const char *key, struct ss_error *error) {
  const struct ss_node found = ss_node_get(node, key);
  if (!ss_node_present(found)) return true;
  return ss_node_fail(found, error,
                      "the model \"alpha-beta\" knows no \"%s\": set \"model\" to \"fair\", or leave it "
                      "out",
                      key);
}

/* Ordered ports share nothing, and know one cost a class. */
static bool check_model(struct ss_node node, const struct ss_cluster *c, struct ss_error *error) {
  static const char *const keys[] = {"nics", "fabric", "window", "segments", "exchange", NULL};
  if (ss_cluster_fair(c)) return true;
  for (size_t i = 0; keys[i]; i++)
    if (!only_fair(node, keys[i], error)) return false;
  const struct ss_node intra = ss_node_get(node, "intra");
  return only_fair(intra, "shared", error) && only_fair(intra, "segments", error);
}

static bool read_names(struct ss_node node, struct ss_cluster *out, struct ss_error *error) {
  const struct ss_node name = ss_node_get(node, "name"), model = ss_node_get(node, "model");
  const char *text;
  size_t choice = 0;
  if (ss_node_present(name)) {
    if (!ss_node_text(name, &text, error)) return false;
    snprintf(out->name, sizeof out->name, "%s", text);
  }
  if (ss_node_present(model) && !ss_node_choice(model, ss_network_model_names(), &choice, error)) return false;
  snprintf(out->model, sizeof out->model, "%s", ss_network_model_names()[choice]);
  return true;
}

bool ss_cluster_read(struct ss_node node, struct ss_cluster *out, struct ss_error *error) {
  static const char *const known[] = {"name",          "summary", "model",  "latency", "bandwidth", "segments",
                                      "gpus_per_node", "nic",     "nics",   "fabric",  "exchange",  "window",
                                      "intra",         "jitter",  "source", "notes",   NULL};
  *out = (struct ss_cluster){.name = "inline", .gpus_per_node = 1};
  if (!ss_node_keys(node, known, error) || !read_names(node, out, error) || !check_model(node, out, error) ||
      !read_classes(node, out, error))
    return false;
  const struct ss_node gpus = ss_node_get(node, "gpus_per_node");
  uint64_t count = 1;
  if (ss_node_present(gpus) && !ss_node_count(gpus, 1, 1u << 20, &count, error)) return false;
  out->gpus_per_node = (uint32_t)count;
  return read_nic(ss_node_get(node, "nic"), &out->nic_per_node, error) &&
         read_nics(ss_node_get(node, "nics"), out, error) && read_window(ss_node_get(node, "window"), out, error) &&
         read_fabric(ss_node_get(node, "fabric"), out, error) &&
         ss_jitter_read(ss_node_get(node, "jitter"), &out->jitter, error);
}
