#include "query/supposed.h"

#include "base/data.h"

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
bool ss_gamma_read(struct ss_node node, void *supposition, struct ss_error *error) {
  struct ss_supposition *c = supposition;
  const char *text;
  c->kind = SS_GAMMA_LIST;
  if (!ss_node_is_array(node)) {
    if (!ss_node_text(node, &text, error)) return false;
    for (size_t i = 0; i < SS_GAMMA_LIST; i++) {
      if (strcmp(text, ss_gamma_names[i]) != 0) continue;
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

static const struct ss_field_spec a_gamma = {NULL, NULL, SS_IS_ABOVE_0};
const struct ss_field_spec ss_gamma_forms[] = {
    {NULL, NULL, SS_IS_NAME}, {NULL, NULL, SS_IS_LIST(&a_gamma, 1, SS_GAMMAS_MAX)}, {.name = NULL}};
static const struct ss_field_spec tensor_fields[] = {SS_TENSOR_FIELDS, {.name = NULL}},
                                  links_fields[] = {SS_LINKS_FIELDS, {.name = NULL}};
static const struct ss_object_spec tensor_spec = {.field = tensor_fields}, links_spec = {.field = links_fields};

bool ss_supposed_read(struct ss_node object, bool needs_bytes, bool needs_density, struct ss_supposition *c,
                      struct ss_error *error) {
  struct ss_node needed;
  return (!needs_bytes || ss_node_need(object, "M", &needed, error)) &&
         (!needs_density || ss_node_need(object, "density", &needed, error)) &&
         ss_object_read_known(&tensor_spec, object, c, error);
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
  struct ss_supposed_links links = {.nodes = SS_NODES_AS_THEY_ARE};
  if (!read_cluster(ss_node_get(object, "cluster"), request->base, cluster, error) ||
      !ss_object_read_known(&links_spec, object, &links, error))
    return false;
  ss_cluster_even(cluster, request->notice);
  if (links.latency > 0) ss_cluster_set_latency(cluster, links.latency);
  if (links.bandwidth > 0 && !isfinite(1 / links.bandwidth))
    return ss_node_fail(ss_node_get(object, "bandwidth"), error, "%g B/s is out of range", links.bandwidth);
  if (links.bandwidth > 0) ss_cluster_set_beta(cluster, 1 / links.bandwidth);
  ss_cluster_tell(cluster, request->notice);
  return ss_cluster_change_nodes(cluster, &links.nodes, error);
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
/* SPDX-License-Identifier: Apache-2.0 */
