/* What machines have in common, read; a cluster's accuracy, and the errors that it comes from, written. */
#include "calibration/accuracy.h"

#include "base/data.h"
#include "base/json.h"

/* --- pooled errors ------------------------------------------------------------------------------------------- */

static bool read_levels(struct ss_node node, struct ss_error_levels *out, struct ss_error *error) {
  return ss_node_numbers(node, SS_ERROR_LEVELS, out->at, error);
}

bool ss_pooled_errors_read(struct ss_pooled_errors *out, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  struct ss_node weight;
  double groups = 0;
  *out = (struct ss_pooled_errors){.weight = {0}};
  if (!ss_data_open("measured", "priors", NULL, &doc, error)) return false;
  const struct ss_node node = ss_node_get(ss_doc_root(doc), "accuracy");
  if (!ss_node_present(node)) return true;
  if (!ss_node_need(node, "groups", &weight, error) || !ss_node_nonnegative(weight, SS_NUMBER, &groups, error))
    return false;
  for (int of = SS_NEW_COLLECTIVE; of < SS_ACCURACY_CLASSES; of++) {
    const struct ss_node levels = ss_node_get(node, ss_accuracy_names[of]);
    if (!ss_node_present(levels)) continue;
    if (!read_levels(levels, &out->errors[of], error)) return false;
    out->weight[of] = groups;
  }
  return true;
}

/* --- written ------------------------------------------------------------------------------------------------- */

static double digits(double factor) {
  char text[32];
  (void)snprintf(text, sizeof text, "%.4g", factor);
  return strtod(text, NULL);
}

static void add_names(cJSON *root, const char *name, uint32_t bits, const char *const *names) {
  cJSON *list = cJSON_AddArrayToObject(root, name);
  for (uint32_t i = 0; names[i]; i++)
    if (bits >> i & 1) cJSON_AddItemToArray(list, cJSON_CreateString(names[i]));
}

static void add_span(cJSON *root, const char *name, double least, double most) {
  if (most > 0) cJSON_AddItemToObject(root, name, cJSON_CreateDoubleArray((const double[]){least, most}, 2));
}

/* Of the first class how many times, of others how many groups were judged. */
static void add_class(cJSON *root, const struct ss_accuracy *a, const struct ss_own_errors *own, int class) {
  double times = 0, groups = 0;
  for (uint32_t i = 0; i < own->count; i++) {
    if ((int)own->group[i].class != class) continue;
    times += own->group[i].times;
    groups++;
  }
  if (!(a->of[class].half > 0)) return;
  cJSON *item = ss_json_object(SS_N("half", digits(a->of[class].half)), SS_N("most", digits(a->of[class].most)),
                               SS_N("times", times));
  if (class != SS_AS_MEASURED) ss_json_add_number(item, "groups", groups);
  cJSON_AddItemToObject(root, ss_accuracy_names[class], item);
}

cJSON *ss_accuracy_json(const struct ss_accuracy *a, const struct ss_own_errors *own) {
  cJSON *root = cJSON_CreateObject();
  uint32_t kinds = 0;
  for (int kind = 0; kind < SS_MESSAGE_KINDS; kind++) kinds |= (uint32_t)a->kind[kind] << kind;
  add_names(root, "collectives", a->collectives, ss_collective_names);
  add_names(root, "kinds", kinds, ss_message_kind_names);
  add_span(root, "nodes", a->nodes_min, a->nodes_max);
  add_span(root, "bytes", (double)a->bytes.least, (double)a->bytes.most);
  cJSON *calls = cJSON_AddObjectToObject(root, "calls");
  for (int c = 0; c < SS_COLLECTIVES; c++)
    add_span(calls, ss_collective_names[c], (double)a->calls.of[c].least, (double)a->calls.of[c].most);
  for (int of = 0; of < SS_ACCURACY_CLASSES; of++) add_class(root, a, own, of);
  if (a->noise.half > 0)
    ss_json_add(root, SS_J("noise",
                           ss_json_object(SS_N("half", digits(a->noise.half)), SS_N("most", digits(a->noise.most)))));
  ss_json_add(root, SS_B("pooled", a->pooled));
  return root;
}

cJSON *ss_own_errors_json(const struct ss_own_errors *own) {
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = 0; i < own->count; i++) {
    const struct ss_error_group *g = &own->group[i];
    cJSON_AddItemToArray(list,
                         ss_json_object(SS_T("class", ss_accuracy_names[g->class]), SS_N("times", g->times),
                                        SS_N("distance", g->distance),
                                        SS_J("errors", cJSON_CreateDoubleArray(g->errors.at, SS_ERROR_LEVELS))));
  }
  return list;
}
/* SPDX-License-Identifier: Apache-2.0 */
