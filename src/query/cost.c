/* Closed forms: the object of a question says what is supposed of the tensor, and where. */
#include "base/data.h"
#include "base/memory.h"
#include "cost/suppose.h"
#include "query/internal.h"
#include "study/study.h"

#include <cjson/cJSON.h>

enum { RANKS_MAX = 256, SCHEMES_MAX = 64 };

static bool read_count(struct ss_node object, const char *key, uint64_t low, uint64_t high, uint64_t *out,
                       struct ss_error *error) {
  const struct ss_node node = ss_node_get(object, key);
  return !ss_node_present(node) || ss_node_count(node, low, high, out, error);
}

static bool read_share(struct ss_node object, const char *key, enum ss_dimension dimension, double *out,
                       struct ss_error *error) {
  const struct ss_node node = ss_node_get(object, key);
  return !ss_node_present(node) || ss_node_positive(node, dimension, out, error);
}

/* A name, or the list gamma(1), gamma(2), ... of which the last goes on. */
static bool read_gamma(struct ss_node node, struct ss_supposition *c, struct ss_error *error) {
  static const char *const names[] = {"random", "full", "none", NULL};
  size_t choice = 0;
  if (!ss_node_present(node)) return true;
  c->kind = SS_GAMMA_LIST;
  if (!ss_node_is_array(node)) {
    if (!ss_node_choice(node, names, &choice, error)) return false;
    c->kind = (enum ss_gamma_kind)choice;
    return true;
  }
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n)) {
    if (c->gammas == SS_GAMMAS_MAX) return ss_node_fail(n, error, "is one ratio too many");
    if (!ss_node_positive(n, SS_NUMBER, &c->gamma[c->gammas++], error)) return false;
  }
  return c->gammas > 0 || ss_node_fail(node, error, "lists no ratio");
}

static bool read_supposition(struct ss_node object, struct ss_supposition *c, struct ss_error *error) {
  struct ss_node bytes, density;
  if (!ss_node_need(object, "M", &bytes, error) || !ss_node_positive(bytes, SS_BYTES, &c->bytes, error) ||
      !ss_node_need(object, "density", &density, error) || !ss_node_positive(density, SS_RATIO, &c->density, error) ||
      !read_share(object, "lookups", SS_RATIO, &c->lookups, error) ||
      !read_count(object, "row_width", 1, UINT32_MAX, &c->row_width, error) ||
      !read_count(object, "value_bytes", 1, 16, &c->value_bytes, error) ||
      !read_count(object, "index_bytes", 0, 16, &c->index_bytes, error) ||
      !read_count(object, "servers", 1, 1u << 20, &c->servers, error) ||
      !read_count(object, "k", 1, UINT32_MAX, &c->k, error) ||
      !read_count(object, "teams", 1, 1u << 20, &c->teams, error) ||
      !read_count(object, "block", 1, 1u << 20, &c->block, error) ||
      !read_gamma(ss_node_get(object, "gamma"), c, error))
    return false;
  return c->density <= 1 || ss_node_fail(density, error, "%g is above 1", c->density);
}

static bool read_nodes(struct ss_node object, struct ss_cluster *cluster, struct ss_error *error) {
  struct ss_nodes_change change = SS_NODES_AS_THEY_ARE;
  const struct ss_node latency = ss_node_get(object, "intra_latency");
  return read_count(object, "gpus_per_node", 1, 1u << 20, &change.gpus_per_node, error) &&
         read_count(object, "nics", 1, 1u << 20, &change.nics, error) &&
         (!ss_node_present(latency) || ss_node_nonnegative(latency, SS_TIME, &change.intra_latency, error)) &&
         read_share(object, "intra_bandwidth", SS_RATE, &change.intra_bandwidth, error) &&
         ss_cluster_change_nodes(cluster, &change, error);
}

static bool read_cluster(struct ss_node object, struct ss_cluster *cluster, struct ss_error *error) {
  const struct ss_node node = ss_node_get(object, "cluster");
  const char *name = "p3.16xlarge-25g";
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  double alpha = 0, rate = 0;
  if (ss_node_present(node) && !ss_node_text(node, &name, error)) return false;
  if (!ss_data_open("clusters", name, NULL, &doc, error) || !ss_cluster_read(ss_doc_root(doc), cluster, error) ||
      !read_share(object, "latency", SS_TIME, &alpha, error) ||
      !read_share(object, "bandwidth", SS_RATE, &rate, error))
    return false;
  if (alpha > 0) ss_cluster_set_latency(cluster, alpha);
  if (rate > 0) ss_cluster_set_beta(cluster, 1 / rate);
  return read_nodes(object, cluster, error);
}

static bool read_schemes(struct ss_node list, const char **names, size_t *count, struct ss_error *error) {
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    if (*count == SCHEMES_MAX) return ss_node_fail(n, error, "is one scheme too many");
    if (!ss_node_text(n, &names[(*count)++], error)) return false;
  }
  return true;
}

bool ss_answer_cost(struct ss_node object, cJSON **out, struct ss_error *error) {
  static const char *const keys[] = {
      "schemes", "M",       "density",       "lookups",     "row_width",     "value_bytes",     "gamma",
      "servers", "k",       "teams",         "index_bytes", "block",         "bandwidth",       "ranks",
      "cluster", "latency", "gpus_per_node", "nics",        "intra_latency", "intra_bandwidth", NULL};
  SS_AUTO_FREE struct ss_supposition *with = ss_alloc(1, sizeof *with);
  const struct ss_node counts = ss_node_get(object, "ranks");
  const char *names[SCHEMES_MAX];
  uint32_t ranks[RANKS_MAX];
  struct ss_cluster cluster;
  struct ss_costs costs;
  struct ss_costs_question question = {.with = with, .cluster = &cluster, .ranks = ranks, .scheme = names};
  if (!with) return ss_fail_memory(error, "evaluating costs");
  *with = (struct ss_supposition)SS_SUPPOSITION_DEFAULTS;
  if (!ss_node_keys(object, keys, error) ||
      !read_schemes(ss_node_get(object, "schemes"), names, &question.schemes, error) ||
      !read_supposition(object, with, error) || !read_cluster(object, &cluster, error))
    return false;
  const bool counted = ss_node_present(counts)
                           ? ss_ranks_read(counts, 0, ranks, RANKS_MAX, &question.rank_counts, error)
                           : ss_ranks_parse("4..64", ranks, RANKS_MAX, &question.rank_counts, error);
  if (!counted || !ss_costs_open(NULL, 0, &costs, error)) return false;
  *out = ss_costs_json(&costs, &question, error);
  ss_costs_close(&costs);
  return *out;
}
