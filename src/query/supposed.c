#include "query/supposed.h"

#include "base/data.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

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

/* "1,1.5,1.8" */
static bool read_gammas(struct ss_node node, const char *text, struct ss_supposition *c, struct ss_error *error) {
  SS_AUTO_FREE char *copy = strdup(text);
  char *rest = copy;
  if (!copy) return ss_fail_memory(error, "reading densification ratios");
  for (char *word; (word = strsep(&rest, ","));) {
    double *gamma = &c->gamma[c->gammas];
    if (c->gammas++ == SS_GAMMAS_MAX || !ss_units_parse(word, SS_NUMBER, gamma, NULL) || !(*gamma > 0))
      return ss_node_fail(node, error, "\"%s\" is not random, full, none or a list of positive numbers", text);
  }
  return true;
}

/* A name, or the list gamma(1), gamma(2), ... of which the last goes on, also as a text. */
static bool read_gamma(struct ss_node node, struct ss_supposition *c, struct ss_error *error) {
  static const char *const names[] = {"random", "full", "none", NULL};
  const char *text;
  if (!ss_node_present(node)) return true;
  c->kind = SS_GAMMA_LIST;
  if (!ss_node_is_array(node)) {
    if (!ss_node_text(node, &text, error)) return false;
    for (size_t i = 0; names[i]; i++) {
      if (strcmp(text, names[i]) != 0) continue;
      c->kind = (enum ss_gamma_kind)i;
      return true;
    }
    return read_gammas(node, text, c, error);
  }
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n)) {
    if (c->gammas == SS_GAMMAS_MAX) return ss_node_fail(n, error, "is one ratio too many");
    if (!ss_node_positive(n, SS_NUMBER, &c->gamma[c->gammas++], error)) return false;
  }
  return c->gammas > 0 || ss_node_fail(node, error, "lists no ratio");
}

bool ss_supposed_read(struct ss_node object, bool needs_bytes, bool needs_density, struct ss_supposition *c,
                      struct ss_error *error) {
  struct ss_node bytes, density = ss_node_get(object, "density");
  if ((needs_bytes && !ss_node_need(object, "M", &bytes, error)) ||
      (needs_density && !ss_node_need(object, "density", &density, error)) ||
      !read_share(object, "M", SS_BYTES, &c->bytes, error) ||
      !read_share(object, "density", SS_RATIO, &c->density, error) ||
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

/* By its name or path, or as it is. */
static bool read_cluster(struct ss_node node, const char *base, struct ss_cluster *out, struct ss_error *error) {
  const char *name = "p3.16xlarge-25g";
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  if (ss_node_is_object(node)) return ss_cluster_read(node, out, error);
  if (ss_node_present(node) && !ss_node_text(node, &name, error)) return false;
  return ss_data_open("clusters", name, base, &doc, error) && ss_cluster_read(ss_doc_root(doc), out, error);
}

bool ss_supposed_cluster(struct ss_node object, const struct ss_request *request, struct ss_cluster *cluster,
                         struct ss_error *error) {
  const struct ss_node node = ss_node_get(object, "cluster");
  double alpha = 0, rate = 0;
  if (!read_cluster(node, request->base, cluster, error) || !read_share(object, "latency", SS_TIME, &alpha, error) ||
      !read_share(object, "bandwidth", SS_RATE, &rate, error))
    return false;
  ss_cluster_tell(cluster, request->notice);
  ss_cluster_even(cluster, request->notice);
  if (alpha > 0) ss_cluster_set_latency(cluster, alpha);
  if (rate > 0) ss_cluster_set_beta(cluster, 1 / rate);
  return read_nodes(object, cluster, error);
}

bool ss_supposed_files(struct ss_node object, struct ss_supposed_files *out, struct ss_error *error) {
  const struct ss_node list = ss_node_get(object, "files");
  if (!ss_node_present(list)) return true;
  if (!ss_node_is_array(list)) return ss_node_fail(list, error, "expected a list of closed forms' files");
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    if (out->count == SS_FORM_FILES_MAX) return ss_node_fail(n, error, "is one file too many");
    if (!ss_node_text(n, &out->name[out->count++], error)) return false;
  }
  return true;
}

bool ss_supposed_can_be_played(struct ss_node object, const struct ss_supposition *with, struct ss_error *error) {
  static const char *const forms_only[] = {"lookups", "servers", "k", "teams", "block", "files"};
  for (size_t i = 0; i < sizeof forms_only / sizeof *forms_only; i++)
    if (ss_node_present(ss_node_get(object, forms_only[i])))
      return ss_node_fail(ss_node_get(object, forms_only[i]), error,
                          "is of closed forms: of a simulation, say options with the scheme (spardl:teams=2)");
  if (with->kind == SS_GAMMA_LIST)
    return ss_node_fail(ss_node_get(object, "gamma"), error, "a uniform tensor is random, full or none, not a list");
  return with->value_bytes == 4 || with->value_bytes == 2 ||
         ss_node_fail(ss_node_get(object, "value_bytes"), error, "simulated elements have 4 bytes or 2");
}

bool ss_supposed_scheme(struct ss_node node, struct ss_arena *arena, const char **out, struct ss_error *error) {
  if (!ss_node_is_object(node)) return ss_node_text(node, out, error);
  SS_AUTO_FREE char *text = cJSON_PrintUnformatted(node.at);
  *out = text ? ss_arena_text(arena, text) : NULL;
  return *out || ss_fail_memory(error, "reading a scheme");
}
