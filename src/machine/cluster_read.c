/* Clusters as JSON has them. */
#include "machine/cluster.h"

#include "base/suggest.h"
#include "base/units.h"
#include "machine/device.h"
#include "machine/network.h"

#include <strings.h>

/* One thing more to tell. */
static SS_PRINTF(2, 3) void warn(struct ss_cluster *c, const char *format, ...) {
  char text[sizeof c->warning];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  ss_append(c->warning, sizeof c->warning, "%s%s", c->warning[0] ? "; " : "", text);
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
  if ((double)*out != bytes) return ss_node_fail(limit, error, "%g B: messages have whole bytes", bytes);
  if (below != UINT64_MAX && *out <= below)
    return ss_node_fail(limit, error, "segments stand by ascending \"up_to\", and the one before ends at %llu B",
                        (unsigned long long)below);
  return true;
}

static double takes(const struct ss_segment *piece, uint64_t bytes) {
  return piece->link.alpha + (double)bytes * piece->link.beta;
}

static const struct ss_field_spec segment_fields[] = {
    {"up_to", "the longest message that takes this link", SS_IS_BYTES},
    {"latency", NULL, SS_IS_TIME, .required = true},
    {"bandwidth", NULL, SS_IS_RATE, .required = true},
    {.name = NULL}};
static const struct ss_object_spec segment_spec = {.name = "segment", .field = segment_fields};
static const struct ss_field_spec a_segment = {NULL, NULL, SS_IS_OBJECT(&segment_spec)};

/* What every class of links has. */
#define ONE_WAY "{'anyOf': [{'required': ['latency', 'bandwidth']}, {'required': ['segments']}]}"
#define SEGMENTS                                                                                                     \
  "in place of latency and bandwidth, links by length: a message takes the first whose up_to is not below its "      \
  "bytes, the last has none",                                                                                        \
      SS_IS_LIST(&a_segment, 1, SS_SEGMENTS_MAX)

static bool read_segments(struct ss_node list, struct ss_cluster *cluster, struct ss_segments *out,
                          struct ss_error *error) {
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
    if (!ss_object_check_keys(&segment_spec, node, error) || !read_limit(node, last, below, &piece->up_to, error) ||
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

static const struct ss_field_spec intra_fields[] = {{"latency", NULL, SS_IS_TIME},
                                                    {"bandwidth", NULL, SS_IS_RATE},
                                                    {"segments", SEGMENTS},
                                                    {"shared", "ranks of a node share one bus", SS_IS_FLAG,
                                                     .usual = "false", SS_STORED(struct ss_cluster, intra_shared)},
                                                    {.name = NULL}};
static const struct ss_field_spec exchange_fields[] = {
    {"latency", NULL, SS_IS_TIME}, {"bandwidth", NULL, SS_IS_RATE}, {"segments", SEGMENTS}, {.name = NULL}};
static const struct ss_object_spec
    intra_spec = {.says = "inside a node; as between nodes by default", .field = intra_fields, .rules = ONE_WAY},
    exchange_spec = {.says = "messages between nodes of exchanges (pairwise, direct, servers), not of chains",
                     .field = exchange_fields,
                     .rules = ONE_WAY};

static bool read_classes(struct ss_node node, struct ss_cluster *c, struct ss_error *error) {
  const struct ss_node intra = ss_node_get(node, "intra"), exchange = ss_node_get(node, "exchange");
  return read_class(node, c, &c->inter, &c->inter_segments, error) &&
         (!ss_node_present(intra) || ss_object_read(&intra_spec, intra, c, error)) &&
         (!ss_node_present(exchange) || ss_object_check_keys(&exchange_spec, exchange, error)) &&
         read_other(intra, c, &c->intra, &c->intra_segments, &c->has_intra, error) &&
         read_other(exchange, c, &c->exchange, &c->exchange_segments, &c->has_exchange, error);
}

/* --- what is shared ----------------------------------------------------------------------------------------- */

static const char *const nic_names[] = {"per-rank", "per-node", NULL};

static bool read_nics(struct ss_node node, struct ss_node nic, struct ss_cluster *c, struct ss_error *error) {
  uint64_t count;
  if (!ss_node_present(node)) return true;
  if (!ss_node_count(node, 1, 1u << 20, &count, error)) return false;
  if (count > c->gpus_per_node)
    return ss_node_fail(node, error,
                        "%llu cards for the %u ranks of a node: rank l of a node uses card floor(l * nics / "
                        "gpus_per_node), so there are at most as many cards as \"gpus_per_node\"",
                        (unsigned long long)count, c->gpus_per_node);
  c->nics = (uint32_t)count;
  if (ss_node_present(nic) && ss_cluster_nics(c) != (c->nic_per_node ? 1 : c->gpus_per_node))
    warn(c, "its \"nic\", \"%s\", does nothing beside \"nics\", %u", nic_names[c->nic_per_node], c->nics);
  if (c->gpus_per_node % count == 0) return true;
  const uint32_t second = (uint32_t)((c->gpus_per_node + count - 1) / count);
  warn(c,
       "%u cards do not divide the %u ranks of a node evenly: rank l of a node uses card floor(l * %u / %u), so "
       "ranks 0 to %u share card 0, and rank %u is the first of card 1",
       c->nics, c->gpus_per_node, c->nics, c->gpus_per_node, second - 1, second);
  return true;
}

static const char *const all[] = {"all", NULL};
static const struct ss_field_spec a_window[] = {
    {NULL, NULL, SS_IS_COUNT(1, UINT32_MAX - 1)}, {NULL, NULL, SS_IS_CHOICE(all)}, {.name = NULL}};

static bool read_count(struct ss_node node, void *window, struct ss_error *error) {
  uint64_t count = UINT32_MAX;
  size_t choice;
  if (!(ss_node_is_text(node) ? ss_node_choice(node, all, &choice, error)
                              : ss_node_count(node, 1, UINT32_MAX - 1, &count, error)))
    return false;
  *(uint32_t *)window = (uint32_t)count;
  return true;
}

static const struct ss_field_spec window_fields[] = {
    {"chain", "of rings, trees, doublings and halvings", SS_IS_EITHER(a_window), .usual = "1", .read = read_count,
     SS_STORED(struct ss_cluster, chain_window)},
    {"exchange", "of pairwise exchanges, direct all-gathers and servers (the library's, or 1)",
     SS_IS_EITHER(a_window), .read = read_count, SS_STORED(struct ss_cluster, window)},
    {.name = NULL}};
static const struct ss_object_spec window_spec = {.field = window_fields};
static const struct ss_field_spec windows[] = {{NULL, NULL, SS_IS_COUNT(1, UINT32_MAX - 1)},
                                               {NULL, NULL, SS_IS_CHOICE(all)},
                                               {NULL, NULL, SS_IS_OBJECT(&window_spec)},
                                               {.name = NULL}};

static bool read_window(struct ss_node node, void *cluster, struct ss_error *error) {
  struct ss_cluster *c = cluster;
  if (!ss_node_is_object(node)) return read_count(node, &c->window, error);
  c->chain_window = 1;
  return ss_object_read(&window_spec, node, c, error);
}

static const struct ss_field_spec level_fields[] = {
    {"nodes", "of a group", SS_IS_COUNT(1, 1 << 20), .required = true, SS_STORED(struct ss_fabric_level, nodes)},
    {"oversubscription", "cards of a group to its uplink", SS_IS_SHARE,
     SS_STORED(struct ss_fabric_level, oversubscription)},
    {"bandwidth", "of an uplink", SS_IS_RATE, SS_STORED(struct ss_fabric_level, bandwidth)},
    {"latency", "added to messages that cross the level", SS_IS_TIME, SS_STORED(struct ss_fabric_level, latency)},
    {.name = NULL}};
static const struct ss_object_spec level_spec = {
    .field = level_fields, .rules = "{'oneOf': [{'required': ['oversubscription']}, {'required': ['bandwidth']}]}"};
static const struct ss_field_spec a_level = {NULL, NULL, SS_IS_OBJECT(&level_spec)};

static bool read_level(struct ss_node node, uint32_t below, struct ss_fabric_level *out, struct ss_error *error) {
  const struct ss_node over = ss_node_get(node, "oversubscription");
  *out = (struct ss_fabric_level){0};
  if (!ss_object_read(&level_spec, node, out, error)) return false;
  if (out->nodes % below != 0 || (below > 1 && out->nodes == below))
    return ss_node_fail(ss_node_get(node, "nodes"), error,
                        "groups of %u nodes do not hold whole groups of the level below, of %u nodes: "
                        "take a multiple of %u",
                        out->nodes, below, below);
  if ((out->oversubscription > 0) == (out->bandwidth > 0))
    return ss_node_fail(node, error, "expected \"oversubscription\" or \"bandwidth\" of its uplink, one of both");
  if (out->bandwidth > 0 || out->oversubscription >= 1) return true;
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

/* --- where numbers come from --------------------------------------------------------------------------------- */

static enum ss_origin_of_number origin_of(struct ss_node sources, const char *key, enum ss_origin_of_number usual) {
  static const struct {
    const char *begin;
    enum ss_origin_of_number origin;
  } words[] = {
      {"estimated", SS_ESTIMATED}, {"assumed", SS_ESTIMATED}, {"measured", SS_MEASURED}, {"given", SS_SUPPOSED}};
  const struct ss_node node = ss_node_get(sources, key);
  const char *text;
  if (!ss_node_is_text(node) || !ss_node_text(node, &text, NULL)) return usual;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strncasecmp(text, words[i].begin, strlen(words[i].begin)) == 0) return words[i].origin;
  return SS_PRINTED;
}

static enum ss_origin_of_number larger(enum ss_origin_of_number a, enum ss_origin_of_number b) {
  return a > b ? a : b;
}

static void read_source(struct ss_node sources, struct ss_cluster_source *out) {
  out->latency = origin_of(sources, "latency", SS_SUPPOSED);
  out->bandwidth = origin_of(sources, "bandwidth", SS_SUPPOSED);
  out->intra = origin_of(sources, "intra", SS_SUPPOSED);
  out->window = origin_of(sources, "window", SS_SUPPOSED);
  out->exchange =
      origin_of(sources, "exchange", larger(out->latency, out->bandwidth)); /* of an edit of one of them it is none */
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
  static const char *const keys[] = {"nics", "fabric", "window", "segments", "exchange", "host", NULL};
  if (ss_cluster_fair(c)) return true;
  for (size_t i = 0; keys[i]; i++)
    if (!only_fair(node, keys[i], error)) return false;
  const struct ss_node intra = ss_node_get(node, "intra");
  return only_fair(intra, "shared", error) && only_fair(intra, "segments", error);
}

static const char *model_name(size_t number) {
  return ss_network_model_names()[number];
}

static bool read_model(struct ss_node node, void *cluster, struct ss_error *error) {
  struct ss_cluster *out = cluster;
  size_t choice;
  if (!ss_node_choice(node, ss_network_model_names(), &choice, error)) return false;
  snprintf(out->model, sizeof out->model, "%s", ss_network_model_names()[choice]);
  return true;
}

static const struct ss_field_spec host_fields[] = {
    {"latency", "for each GPU at an end", SS_IS_TIME, SS_STORED(struct ss_host_path, latency)},
    {"bandwidth", NULL, SS_IS_RATE, .required = true, SS_STORED(struct ss_host_path, bandwidth)},
    {"shared", "neighbouring ranks of a node that share one", SS_IS_COUNT(1, 1 << 20), .usual = "1",
     SS_STORED(struct ss_host_path, shared)},
    {.name = NULL}};
static const struct ss_object_spec host_spec = {
    .says = "the path between a GPU and its machine's memory, for systems whose \"staging\" is \"host\"",
    .field = host_fields};

static const struct ss_field_spec cluster_fields[] = {
    {"name", NULL, SS_IS_TEXT, .usual = "inline", SS_STORED(struct ss_cluster, name)},
    SS_SPEC_SUMMARY,
    {"model", "how links are shared", .kind = SS_SPEC_CHOICE, .choice = model_name, .read = read_model},
    {"latency", "alpha between nodes", SS_IS_TIME},
    {"bandwidth", "1/beta between nodes", SS_IS_RATE},
    {"segments", SEGMENTS},
    {"gpus_per_node", "ranks on a node", SS_IS_COUNT(1, 1 << 20), .usual = "1",
     SS_STORED(struct ss_cluster, gpus_per_node)},
    {"nic", "per-node: the ranks of a node share one network interface", SS_IS_CHOICE(nic_names), .usual = "per-rank",
     SS_STORED(struct ss_cluster, nic_per_node)},
    {"nics", "network interfaces of a node: rank l of a node uses number floor(l * nics / gpus_per_node)",
     SS_IS_COUNT(1, 1 << 20)},
    {"switch_sums", "switches between nodes add up what passes (SHARP, SwitchML), for allreduce:algorithm=switch",
     SS_IS_FLAG, .usual = "false", SS_STORED(struct ss_cluster, switch_sums)},
    {"fabric", "levels from the bottom, each of which joins groups of nodes by an uplink",
     SS_IS_LIST(&a_level, 0, SS_FABRIC_MAX)},
    {"exchange", NULL, SS_IS_OBJECT(&exchange_spec)},
    {"window", "messages that a port has under way (in exchanges what the library has, else 1)",
     SS_IS_EITHER(windows), .read = read_window},
    {"intra", NULL, SS_IS_OBJECT(&intra_spec)},
    {"host", NULL, SS_IS_OBJECT(&host_spec), SS_STORED(struct ss_cluster, host)},
    {"jitter", NULL, SS_IS_OBJECT(&ss_jitter_fields)},
    {"memory", NULL, SS_IS_OBJECT(&ss_host_memory_fields)},
    {"device", "of runs that name none: a name in models/devices, an object, or \"none\" (its memory)",
     SS_IS_EITHER(ss_device_forms)},
    {"library", NULL, SS_IS_OBJECT(&ss_library_fields)},
    {"accuracy", NULL, SS_IS_OBJECT(&ss_accuracy_fields)},
    SS_SPEC_SOURCE,
    SS_SPEC_NOTES,
    {.name = NULL}};
const struct ss_object_spec ss_cluster_fields = {.name = "cluster",
                                                 .title =
                                                     "A cluster: models/clusters/*.json, or inline in a scenario",
                                                 .says = "docs/model.md, \"Time\"",
                                                 .field = cluster_fields,
                                                 .rules = ONE_WAY};

const struct ss_field_spec ss_cluster_forms[] = {
    {NULL, NULL, SS_IS_NAME}, {NULL, NULL, SS_IS_OBJECT(&ss_cluster_fields)}, {.name = NULL}};

/* What the cluster does not say of exchanges, its library says. */
static void default_window(struct ss_cluster *c) {
  if (c->window > 0 || c->library.kind == SS_NO_LIBRARY || !ss_cluster_fair(c)) return;
  c->window = ss_library_window(&c->library);
  if (c->chain_window == 0) c->chain_window = 1;
}

bool ss_cluster_read(struct ss_node node, struct ss_cluster *out, struct ss_error *error) {
  *out = (struct ss_cluster){.gpus_per_node = 1};
  snprintf(out->model, sizeof out->model, "%s", ss_network_model_names()[0]);
  if (!(ss_object_read(&ss_cluster_fields, node, out, error) && check_model(node, out, error) &&
        read_classes(node, out, error) &&
        read_nics(ss_node_get(node, "nics"), ss_node_get(node, "nic"), out, error) &&
        read_fabric(ss_node_get(node, "fabric"), out, error) &&
        ss_jitter_read(ss_node_get(node, "jitter"), &out->jitter, error) &&
        ss_host_memory_read(ss_node_get(node, "memory"), &out->memory, error) &&
        ss_library_read(ss_node_get(node, "library"), &out->library, out->warning, error) &&
        ss_accuracy_read(ss_node_get(node, "accuracy"), &out->accuracy, error)))
    return false;
  if (out->library.kind == SS_NCCL && !ss_cluster_fair(out) && !only_fair(node, "library", error)) return false;
  read_source(ss_node_get(node, "source"), &out->source);
  default_window(out);
  if (out->accuracy.doubt[0]) warn(out, "its fit is doubtful: %s", out->accuracy.doubt);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
