#include "study/baselines.h"

#include "base/json_text.h"
#include "base/memory.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- which point is which --------------------------------------------------------------------------------- */

struct keyed {
  char *key; /* the JSON of what makes a point the same one */
  const struct ss_result *point;
  struct ss_node stored;
  size_t place;
  bool met;
};

struct list {
  struct keyed *entry;
  size_t count;
};

static char *key_of(const char *label, double ranks, const char *tensor, const cJSON *at) {
  cJSON *list = cJSON_CreateArray();
  cJSON_AddItemToArray(list, cJSON_CreateString(label));
  cJSON_AddItemToArray(list, cJSON_CreateNumber(ranks));
  cJSON_AddItemToArray(list, cJSON_CreateString(tensor));
  cJSON_AddItemToArray(list, at ? cJSON_Duplicate(at, 1) : cJSON_CreateObject());
  char *text = list ? ss_json_exact(list, false) : NULL;
  cJSON_Delete(list);
  return text;
}

static bool stored_key(struct ss_node node, char **key, struct ss_error *error) {
  struct ss_node label, ranks, tensor, at;
  const char *name, *of;
  uint64_t count;
  if (!ss_node_need(node, "label", &label, error) || !ss_node_text(label, &name, error) ||
      !ss_node_need(node, "ranks", &ranks, error) || !ss_node_count(ranks, 1, UINT32_MAX, &count, error) ||
      !ss_node_need(node, "tensor", &tensor, error) || !ss_node_text(tensor, &of, error) ||
      !ss_node_need(node, "at", &at, error))
    return false;
  if (!ss_node_is_object(at)) return ss_node_fail(at, error, "expected an object: a place in the sweep");
  *key = key_of(name, (double)count, of, at.at);
  return *key || ss_fail_memory(error, "comparing results");
}

static int by_key(const void *a, const void *b) {
  const struct keyed *x = a, *y = b;
  const int order = strcmp(x->key, y->key);
  return order ? order : x->place < y->place ? -1 : x->place > y->place;
}

static int by_place(const void *a, const void *b) {
  const struct keyed *x = a, *y = b;
  return x->place < y->place ? -1 : x->place > y->place;
}

static void free_list(struct list *list) {
  for (size_t i = 0; list->entry && i < list->count; i++) free(list->entry[i].key);
  free(list->entry);
}

static bool list_stored(struct ss_node points, struct list *out, struct ss_error *error) {
  out->entry = ss_alloc_zero(ss_node_size(points), sizeof *out->entry);
  if (!out->entry) return ss_fail_memory(error, "comparing results");
  for (struct ss_node n = ss_node_first(points); ss_node_present(n); n = ss_node_next(n)) {
    struct keyed *k = &out->entry[out->count];
    *k = (struct keyed){.stored = n, .place = out->count};
    if (!stored_key(n, &k->key, error)) return false;
    out->count++;
  }
  qsort(out->entry, out->count, sizeof *out->entry, by_key);
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

static bool add_point(struct ss_diff *diff, struct list *stored, const struct ss_result *p, struct ss_error *error) {
  struct ss_changed_point *c = &diff->changed[diff->count];
  struct keyed wanted = {.key = key_of(p->setting.label, p->ranks, p->tensor, p->at)};
  if (!wanted.key) return ss_fail_memory(error, "comparing results");
  size_t low = 0, high = stored->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (strcmp(stored->entry[middle].key, wanted.key) < 0) low = middle + 1;
    else high = middle;
  }
  struct keyed *found = low < stored->count ? &stored->entry[low] : NULL;
  const bool known = found && strcmp(found->key, wanted.key) == 0;
  free(wanted.key);
  if (!known) {
    *c = (struct ss_changed_point){.change = SS_NEW, .point = p};
    diff->count++;
    diff->fresh++;
    return true;
  }
  found->met = true;
  if (!compare(found->stored, p, diff->tolerance, c, error)) {
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

static void add_missing(struct ss_diff *diff, struct list *stored) {
  qsort(stored->entry, stored->count, sizeof *stored->entry, by_place);
  for (size_t i = 0; i < stored->count; i++) {
    if (stored->entry[i].met) continue;
    diff->changed[diff->count++] = (struct ss_changed_point){.change = SS_MISSING, .stored = stored->entry[i].stored};
    diff->missing++;
  }
}

bool ss_diff_make(struct ss_doc *doc, const struct ss_results *points, double tolerance, struct ss_diff *out,
                  struct ss_error *error) {
  const struct ss_node list = ss_node_get(ss_doc_root(doc), "points");
  struct list stored = {0};
  *out = (struct ss_diff){.baseline = ss_doc_name(doc), .tolerance = tolerance};
  out->changed = ss_alloc_zero(points->count + ss_node_size(list), sizeof *out->changed);
  bool ok = out->changed ? list_stored(list, &stored, error) : ss_fail_memory(error, "comparing results");
  for (size_t i = 0; ok && i < points->count; i++) ok = add_point(out, &stored, &points->point[i], error);
  if (ok) add_missing(out, &stored);
  free_list(&stored);
  if (!ok) ss_diff_free(out);
  return ok;
}

void ss_diff_free(struct ss_diff *diff) {
  for (size_t i = 0; diff->changed && i < diff->count; i++) free(diff->changed[i].field);
  free(diff->changed);
  *diff = (struct ss_diff){0};
}
