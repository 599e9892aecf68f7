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

/* --- what changes nothing --------------------------------------------------------------------------------------- */

/* Another value that may stand there, of a few that are tried in turn; NULL: there is no further one. */
static cJSON *another(const struct ss_field_spec *field, struct ss_node said, size_t turn) {
  const double factor[] = {2, 0.5};
  const char *const name = turn < SS_GAMMA_LIST ? ss_gamma_names[turn] : NULL;
  double value;
  if (field->kind == SS_SPEC_TEXT) return turn == 0 ? cJSON_CreateString("exact") : NULL;
  if (field->kind == SS_SPEC_EITHER) return name ? cJSON_CreateString(name) : NULL;
  if (turn >= sizeof factor / sizeof *factor || !ss_node_quantity(said, field->dimension, &value, NULL)) return NULL;
  return cJSON_CreateNumber(field->kind == SS_SPEC_COUNT ? floor(value * factor[turn]) : value * factor[turn]);
}

/* The lists of the answer to the object with another value of a field (NULL: as it is), where nothing is drawn and
 * nobody is told, without what only repeats the question; NULL: an error. Takes the value over. */
static cJSON *ask(struct ss_node object, const char *field, cJSON *value, const struct ss_request *request,
                  ss_object_answerer *answer) {
  struct ss_request quiet = {.base = request->base, .run.jobs = request->run.jobs};
  struct ss_error ignored;
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  cJSON *root = cJSON_Duplicate(object.at, true), *lists = NULL;
  const bool asked = (!value || ss_json_put(root, field, value)) && ss_json_put(root, "certain", cJSON_CreateTrue());
  if (ss_doc_adopt(ss_doc_name(object.doc), root, &doc, &ignored) && asked &&
      answer(ss_doc_root(doc), &quiet, &ignored))
    lists = cJSON_CreateArray();
  for (cJSON *list = lists && quiet.answer ? quiet.answer->child : NULL; list; list = list->next) {
    if (!cJSON_IsArray(list)) continue;
    for (cJSON *point = list->child; point; point = point->next)
      cJSON_DeleteItemFromObjectCaseSensitive(point, "gamma");
    cJSON_AddItemToArray(lists, cJSON_Duplicate(list, true));
  }
  cJSON_Delete(quiet.answer);
  return lists;
}

/* Whether the answer is the same for all other values of the field, and there was one. */
static bool is_idle(struct ss_node object, const struct ss_field_spec *field, const cJSON *plain,
                    const struct ss_request *request, ss_object_answerer *answer) {
  bool same = true, any = false;
  cJSON *value;
  for (size_t turn = 0; same && (value = another(field, ss_node_get(object, field->name), turn)); turn++) {
    SS_AUTO_JSON cJSON *found = ask(object, field->name, value, request, answer);
    any = any || found;
    same = !found || cJSON_Compare(found, plain, true);
  }
  return any && same;
}

/* "M" and "density" always count. */
static const struct ss_field_spec tried[] = {{"form", NULL, SS_IS_TEXT}, SS_TENSOR_EXTRAS, {.name = NULL}};

void ss_supposed_tell_idle(struct ss_node object, const struct ss_request *request, ss_object_answerer *answer) {
  SS_AUTO_JSON cJSON *plain = NULL;
  char shown[80], text[160];
  for (const struct ss_field_spec *f = tried; request->notice && f->name; f++) {
    const char *word = ss_json_word(object.at, f->name);
    if (!ss_node_present(ss_node_get(object, f->name)) || (word && strcmp(word, "exact") == 0)) continue;
    if (!plain && !(plain = ask(object, NULL, NULL, request, answer))) return;
    if (!is_idle(object, f, plain, request, answer)) continue;
    (void)snprintf(text, sizeof text, "%s does nothing: no form that is asked for depends on it",
                   ss_doc_field(object.doc, f->name, shown, sizeof shown));
    ss_notice_tell(request->notice, text);
  }
}

bool ss_supposed_scheme(struct ss_node node, struct ss_arena *arena, const char **out, struct ss_error *error) {
  if (!ss_node_is_object(node)) return ss_node_text(node, out, error);
  SS_AUTO_FREE char *text = cJSON_PrintUnformatted(node.at);
  *out = text ? ss_arena_text(arena, text) : NULL;
  return *out || ss_fail_memory(error, "reading a scheme");
}
/* SPDX-License-Identifier: Apache-2.0 */
