#include "query/field.h"

const cJSON *ss_records(const cJSON *result) {
  if (cJSON_IsArray(result)) return result;
  for (const cJSON *item = result ? result->child : NULL; item; item = item->next)
    if (cJSON_IsArray(item) && cJSON_IsObject(item->child)) return item;
  return NULL;
}

static const cJSON *member(const cJSON *parent, const char *key) {
  uint64_t index;
  if (!cJSON_IsArray(parent)) return ss_json_get(parent, key);
  return ss_count_parse(key, "place", 0, INT32_MAX, &index, NULL) ? cJSON_GetArrayItem(parent, (int)index) : NULL;
}

const cJSON *ss_field_at(const cJSON *record, const char *path) {
  char key[256];
  const cJSON *item = member(record, path);
  if (item) return item;
  for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
    const size_t n = (size_t)(dot - path);
    if (n >= sizeof key) return NULL;
    memcpy(key, path, n);
    key[n] = '\0';
    const cJSON *child = member(record, key);
    item = child && child->child ? ss_field_at(child, dot + 1) : NULL;
    if (item) return item;
  }
  return NULL;
}

/* "bandwidth" is the last word of "cluster.bandwidth". */
static const cJSON *find_last_word(const cJSON *object, const char *word) {
  const size_t n = strlen(word);
  for (const cJSON *item = object ? object->child : NULL; item; item = item->next) {
    const size_t length = item->string ? strlen(item->string) : 0;
    if (length > n && item->string[length - n - 1] == '.' && strcmp(item->string + length - n, word) == 0)
      return item;
  }
  return NULL;
}

const cJSON *ss_field_find(const cJSON *record, const char *path) {
  const cJSON *at = ss_json_get(record, "at"), *options = ss_json_get(record, "options");
  const cJSON *item = NULL;
  /* what a sweep sets comes before what was measured: "density" is then the one asked for; ranks are not measured */
  if (!strchr(path, '.') && strcmp(path, "ranks") != 0) item = find_last_word(at, path);
  if (!item) item = ss_field_at(record, path);
  if (!item && cJSON_IsObject(at)) item = ss_field_at(at, path);
  if (!item && cJSON_IsObject(options)) item = ss_field_at(options, path);
  return item;
}

/* A number, or a text with any unit; NaN for anything else. */
static double number_of(const cJSON *wanted) {
  double value;
  if (cJSON_IsNumber(wanted)) return wanted->valuedouble;
  for (int d = SS_NUMBER; cJSON_IsString(wanted) && d <= SS_RATE; d++)
    if (ss_units_parse(wanted->valuestring, (enum ss_dimension)d, &value, NULL)) return value;
  return NAN;
}

bool ss_field_is(const cJSON *found, const cJSON *wanted) {
  if (cJSON_IsArray(wanted)) {
    for (const cJSON *item = wanted->child; item; item = item->next)
      if (ss_field_is(found, item)) return true;
    return false;
  }
  if (cJSON_IsString(found) && cJSON_IsString(wanted)) return strcmp(found->valuestring, wanted->valuestring) == 0;
  if (cJSON_IsBool(found) && cJSON_IsBool(wanted)) return cJSON_IsTrue(found) == cJSON_IsTrue(wanted);
  if (!cJSON_IsNumber(found)) return false;
  const double value = number_of(wanted);
  return fabs(found->valuedouble - value) <= 1e-9 * fabs(value);
}

/* --- records ------------------------------------------------------------------------------------------------ */

bool ss_record_is_of(const cJSON *record, const char *name) {
  static const char *const keys[] = {"label", "form", "system", NULL};
  for (size_t i = 0; keys[i]; i++) {
    const cJSON *found = ss_json_get(record, keys[i]);
    if (cJSON_IsString(found) && strcmp(found->valuestring, name) == 0) return true;
  }
  return false;
}

bool ss_record_lies_at(const cJSON *record, struct ss_node at) {
  const cJSON *cell = ss_json_get(record, "at");
  for (struct ss_node n = ss_node_first(at); ss_node_present(n); n = ss_node_next(n)) {
    /* of swept files, their names there */
    const cJSON *found = ss_json_get(cell, ss_node_key(n));
    if (!ss_field_is(found ? found : ss_field_find(record, ss_node_key(n)), n.at)) return false;
  }
  return true;
}

static bool same_cell(const cJSON *a, const cJSON *b) {
  static const char *const keys[] = {"ranks", "workload", "tensor", "at", NULL};
  for (size_t i = 0; keys[i]; i++) {
    const cJSON *left = ss_json_get(a, keys[i]);
    if (left && !cJSON_Compare(left, ss_json_get(b, keys[i]), true)) return false;
  }
  return true;
}

const cJSON *ss_record_beside(const cJSON *records, const cJSON *record, const char *name) {
  const cJSON *after = record, *before = record;
  while (after || before) { /* records of one cell stand together */
    if (after && ss_record_is_of(after, name) && same_cell(record, after)) return after;
    if (before && ss_record_is_of(before, name) && same_cell(record, before)) return before;
    if (after) after = after->next;
    if (before) before = before == records->child ? NULL : before->prev;
  }
  return NULL;
}
/* SPDX-License-Identifier: Apache-2.0 */
