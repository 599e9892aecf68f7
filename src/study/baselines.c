#include "study/baselines.h"

#include "base/json_text.h"
#include "base/memory.h"
#include "study/identity.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- inputs ----------------------------------------------------------------------------------------------- */

/* What decides nothing. */
static void drop_words(cJSON *object) {
  static const char *const words[] = {"name", "summary", "notes", "source", "expect"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) cJSON_DeleteItemFromObjectCaseSensitive(object, words[i]);
}

static bool add_model(cJSON *root, cJSON *scenario, const cJSON *entry) {
  const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "kind"));
  cJSON *model = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(entry, "model"), true);
  char key[32];
  snprintf(key, sizeof key, "%ss", kind);
  cJSON *all = cJSON_GetObjectItemCaseSensitive(root, key);
  if (!all) all = cJSON_AddObjectToObject(root, key);
  const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(model, "name"));
  SS_AUTO_FREE char *copy = strdup(name ? name : "inline");
  if (!all || !model || !copy) {
    cJSON_Delete(model);
    return false;
  }
  drop_words(model);
  cJSON_DeleteItemFromObjectCaseSensitive(scenario, kind); /* it stands among the models */
  if (cJSON_HasObjectItem(all, copy)) cJSON_DeleteItemFromObjectCaseSensitive(all, copy);
  return cJSON_AddItemToObject(all, copy, model);
}

cJSON *ss_study_inputs(const struct ss_study *study) {
  cJSON *root = cJSON_CreateObject(), *scenario = cJSON_Duplicate(ss_study_resolved(study), true);
  if (!scenario || !cJSON_AddItemToObject(root, "scenario", scenario)) {
    cJSON_Delete(scenario);
    cJSON_Delete(root);
    return NULL;
  }
  drop_words(scenario);
  bool ok = true;
  for (const cJSON *m = ss_study_models(study)->child; ok && m; m = m->next) ok = add_model(root, scenario, m);
  if (ok) return root;
  cJSON_Delete(root);
  return NULL;
}

static void add_input(cJSON *list, const char *path, const cJSON *was, const cJSON *now) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "input", path);
  cJSON_AddItemToObject(o, "was", was ? cJSON_Duplicate(was, true) : cJSON_CreateNull());
  cJSON_AddItemToObject(o, "now", now ? cJSON_Duplicate(now, true) : cJSON_CreateNull());
  cJSON_AddItemToArray(list, o);
}

/* Member by member: what only one of them has is null in the other. */
static void compare_inputs(cJSON *list, const char *path, const cJSON *was, const cJSON *now) {
  char inner[400];
  if (was && now && cJSON_Compare(was, now, true)) return;
  if (!cJSON_IsObject(was) || !cJSON_IsObject(now)) {
    add_input(list, path, was, now);
    return;
  }
  for (const cJSON *m = was->child; m; m = m->next) {
    snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "." : "", m->string);
    compare_inputs(list, inner, m, cJSON_GetObjectItemCaseSensitive(now, m->string));
  }
  for (const cJSON *m = now->child; m; m = m->next) {
    snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "." : "", m->string);
    if (!cJSON_HasObjectItem(was, m->string)) add_input(list, inner, NULL, m);
  }
}

static cJSON *changed_inputs(struct ss_doc *stored, const cJSON *now) {
  const struct ss_node was = ss_node_get(ss_doc_root(stored), "inputs");
  cJSON *list = ss_node_is_object(was) ? cJSON_CreateArray() : NULL;
  if (list) compare_inputs(list, "", was.at, now);
  return list;
}

/* --- which point is which --------------------------------------------------------------------------------- */

struct stored {
  struct ss_keyed *keyed; /* [count] sorted */
  struct ss_node *node;   /* [count] by place */
  bool *met;              /* likewise */
  size_t count;
};

static bool key_of(const char *label, double ranks, const char *tensor, const cJSON *at, struct ss_identity *out,
                   struct ss_error *error) {
  cJSON *list = cJSON_CreateArray();
  cJSON_AddItemToArray(list, cJSON_CreateString(label));
  cJSON_AddItemToArray(list, cJSON_CreateNumber(ranks));
  cJSON_AddItemToArray(list, cJSON_CreateString(tensor));
  cJSON_AddItemToArray(list, at ? cJSON_Duplicate(at, 1) : cJSON_CreateObject());
  SS_AUTO_FREE char *text = list ? ss_json_exact(list, false) : NULL;
  cJSON_Delete(list);
  if (!text) return ss_fail_memory(error, "comparing results");
  *out = ss_text_identity(text);
  return true;
}

static bool stored_key(struct ss_node node, struct ss_identity *key, struct ss_error *error) {
  struct ss_node label, ranks, tensor, at;
  const char *name, *of;
  uint64_t count;
  if (!ss_node_need(node, "label", &label, error) || !ss_node_text(label, &name, error) ||
      !ss_node_need(node, "ranks", &ranks, error) || !ss_node_count(ranks, 1, UINT32_MAX, &count, error) ||
      !ss_node_need(node, "tensor", &tensor, error) || !ss_node_text(tensor, &of, error) ||
      !ss_node_need(node, "at", &at, error))
    return false;
  if (!ss_node_is_object(at)) return ss_node_fail(at, error, "expected an object: a place in the sweep");
  return key_of(name, (double)count, of, at.at, key, error);
}

/* A point without these would agree with any. Others may be younger than the baseline. */
static bool has_values(struct ss_node node, struct ss_error *error) {
  static const char *const names[] = {"time_s", "messages", "bytes_total"};
  struct ss_node field;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!ss_node_need(node, names[i], &field, error)) return false;
  return true;
}

static void free_stored(struct stored *stored) {
  free(stored->keyed);
  free(stored->node);
  free(stored->met);
}

static bool list_stored(struct ss_node points, struct stored *out, struct ss_error *error) {
  const size_t count = ss_node_size(points);
  if (count == 0) return ss_node_fail(points, error, "no points: nothing to compare with");
  *out = (struct stored){.keyed = ss_alloc(count, sizeof *out->keyed),
                         .node = ss_alloc(count, sizeof *out->node),
                         .met = ss_alloc_zero(count, sizeof *out->met)};
  if (!out->keyed || !out->node || !out->met) return ss_fail_memory(error, "comparing results");
  for (struct ss_node n = ss_node_first(points); ss_node_present(n); n = ss_node_next(n), out->count++) {
    out->keyed[out->count].place = out->count;
    out->node[out->count] = n;
    if (!stored_key(n, &out->keyed[out->count].key, error) || !has_values(n, error)) return false;
  }
  ss_keyed_sort(out->keyed, out->count);
  return true;
}

/* --- what moved ------------------------------------------------------------------------------------------- */

static bool moved(double was, double now, double tolerance) {
  if (isnan(was) || isnan(now)) return isnan(was) != isnan(now);
  return fabs(now - was) > tolerance * fmax(fabs(was), fabs(now));
}

static bool same_verdict(struct ss_node stored, enum ss_verdict now) {
  const struct ss_node exact = ss_node_get(stored, "exact");
  bool was = false;
  if (!ss_node_present(exact)) return true;
  if (!ss_node_is_flag(exact)) return now == SS_UNKNOWN;
  return ss_node_flag(exact, &was, NULL) && now == (was ? SS_YES : SS_NO);
}

static bool compare(struct ss_node stored, const struct ss_result *p, double tolerance, struct ss_changed_point *out,
                    struct ss_error *error) {
  *out = (struct ss_changed_point){.change = SS_MOVED, .point = p, .stored = stored};
  out->field = ss_alloc_zero(SS_RESULT_FIELDS, sizeof *out->field);
  if (!out->field) return ss_fail_memory(error, "comparing results");
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++) {
    const struct ss_result_field *known = &ss_result_fields[i];
    const struct ss_node field = ss_node_get(stored, known->name);
    struct ss_moved_field f = {.field = known, .was = NAN, .now = ss_result_value(p, i)};
    if (!ss_node_present(field)) continue;
    if (!ss_node_is_null(field) && !ss_node_is_number(field))
      return ss_node_fail(field, error, "expected a number or null");
    if (!ss_node_is_null(field) && !ss_node_quantity(field, SS_NUMBER, &f.was, error)) return false;
    if (!isfinite(f.now)) f.now = NAN;
    if (moved(f.was, f.now, known->is & SS_FIELD_COUNTS ? 0 : tolerance)) out->field[out->fields++] = f;
  }
  out->verdict_changed = !same_verdict(stored, p->exact);
  return true;
}

static bool add_point(struct ss_diff *diff, struct stored *stored, const struct ss_result *p,
                      struct ss_error *error) {
  struct ss_changed_point *c = &diff->changed[diff->count];
  struct ss_identity key;
  if (!key_of(p->setting.label, p->ranks, p->tensor, p->at, &key, error)) return false;
  const struct ss_keyed *found = ss_keyed_find(stored->keyed, stored->count, key);
  if (!found) {
    *c = (struct ss_changed_point){.change = SS_NEW, .point = p};
    diff->count++;
    diff->fresh++;
    return true;
  }
  stored->met[found->place] = true;
  if (!compare(stored->node[found->place], p, diff->tolerance, c, error)) {
    free(c->field);
    return false;
  }
  if (c->fields > 0 || c->verdict_changed) {
    diff->count++;
    diff->moved++;
  } else {
    free(c->field);
    diff->same++;
  }
  return true;
}

static void add_missing(struct ss_diff *diff, const struct stored *stored) {
  for (size_t i = 0; i < stored->count; i++) {
    if (stored->met[i]) continue;
    diff->changed[diff->count++] = (struct ss_changed_point){.change = SS_MISSING, .stored = stored->node[i]};
    diff->missing++;
  }
}

bool ss_diff_make(struct ss_doc *doc, const cJSON *inputs, const struct ss_results *points, double tolerance,
                  struct ss_diff *out, struct ss_error *error) {
  const struct ss_node list = ss_node_get(ss_doc_root(doc), "points");
  struct stored stored = {0};
  *out =
      (struct ss_diff){.baseline = ss_doc_name(doc), .tolerance = tolerance, .inputs = changed_inputs(doc, inputs)};
  out->changed = ss_alloc_zero(points->count + ss_node_size(list), sizeof *out->changed);
  bool ok = out->changed ? list_stored(list, &stored, error) : ss_fail_memory(error, "comparing results");
  for (size_t i = 0; ok && i < points->count; i++) ok = add_point(out, &stored, &points->point[i], error);
  if (ok) add_missing(out, &stored);
  free_stored(&stored);
  if (!ok) ss_diff_free(out);
  return ok;
}

void ss_diff_free(struct ss_diff *diff) {
  for (size_t i = 0; diff->changed && i < diff->count; i++) free(diff->changed[i].field);
  free(diff->changed);
  cJSON_Delete(diff->inputs);
  *diff = (struct ss_diff){0};
}
