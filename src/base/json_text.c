#include "base/json.h"

char *ss_json_text(const cJSON *tree, bool formatted) {
  char *text = formatted ? cJSON_Print(tree) : cJSON_PrintUnformatted(tree);
  for (char *at = text; at && *at;) {
    const size_t size = ss_utf8_size(at, 4);
    if (size == 0) *at = '?';
    at += size > 0 ? size : 1;
  }
  return text;
}

bool ss_json_print(const cJSON *tree, FILE *stream, struct ss_error *error) {
  char *text = tree ? ss_json_text(tree, true) : NULL;
  if (!text) return ss_fail_memory(error, "writing JSON");
  (void)fprintf(stream, "%s\n", text); /* ss_output_commit finds what goes wrong here */
  cJSON_free(text);
  return true;
}

/* As few digits as are the number. */
static bool make_exact(cJSON *item) {
  char text[40];
  if (cJSON_IsNumber(item) && isfinite(item->valuedouble)) {
    for (int digits = 15; digits <= 17; digits++) {
      snprintf(text, sizeof text, "%.*g", digits, item->valuedouble);
      if (strtod(text, NULL) == item->valuedouble) break;
    }
    item->valuestring = strdup(text);
    if (!item->valuestring) return false;
    item->type = (item->type & ~0xff) | cJSON_Raw;
    return true;
  }
  for (cJSON *child = item->child; child; child = child->next)
    if (!make_exact(child)) return false;
  return true;
}

char *ss_json_exact(cJSON *tree, bool formatted) {
  if (!make_exact(tree)) return NULL;
  return ss_json_text(tree, formatted);
}

bool ss_json_print_exact(cJSON *tree, FILE *stream, struct ss_error *error) {
  char *text = tree ? ss_json_exact(tree, true) : NULL;
  cJSON_Delete(tree);
  if (!text) return ss_fail_memory(error, "writing JSON");
  (void)fprintf(stream, "%s\n", text);
  cJSON_free(text);
  return true;
}

static cJSON *item_of(const struct ss_json_member *m) {
  switch (m->kind) {
  case SS_JSON_NUMBER: return isfinite(m->number) ? cJSON_CreateNumber(m->number) : cJSON_CreateNull();
  case SS_JSON_TEXT: return m->text ? cJSON_CreateString(m->text) : cJSON_CreateNull();
  case SS_JSON_FLAG: return cJSON_CreateBool(m->number != 0);
  case SS_JSON_TREE: break;
  }
  return m->tree;
}

void ss_json_add_members(cJSON *object, size_t count, const struct ss_json_member *member) {
  for (size_t i = 0; i < count; i++) {
    cJSON *item = item_of(&member[i]);
    if (!cJSON_AddItemToObject(object, member[i].name, item)) cJSON_Delete(item);
  }
}

cJSON *ss_json_object_of(size_t count, const struct ss_json_member *member) {
  cJSON *object = cJSON_CreateObject();
  ss_json_add_members(object, count, member);
  return object;
}

void ss_json_add_number(cJSON *object, const char *name, double value) {
  ss_json_add(object, SS_N(name, value));
}

bool ss_json_put(cJSON *object, const char *name, cJSON *item) {
  cJSON_DeleteItemFromObjectCaseSensitive(object, name);
  if (cJSON_AddItemToObject(object, name, item)) return true;
  cJSON_Delete(item);
  return false;
}

cJSON *ss_json_words(const char *text) {
  SS_AUTO_FREE char *copy = strdup(text);
  cJSON *list = copy ? cJSON_CreateArray() : NULL;
  char *rest = copy;
  for (char *word; list && (word = strsep(&rest, ","));) cJSON_AddItemToArray(list, cJSON_CreateString(word));
  return list;
}

void ss_json_add_text(cJSON *object, const char *name, const char *text) {
  ss_json_add(object, SS_T(name, text));
}

cJSON *ss_json_get(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

double ss_json_number(const cJSON *object, const char *name) {
  const cJSON *item = ss_json_get(object, name);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

const char *ss_json_word(const cJSON *object, const char *name) {
  return cJSON_GetStringValue(ss_json_get(object, name));
}

static cJSON *copy_of(const cJSON *tree) {
  return tree ? cJSON_Duplicate(tree, true) : cJSON_CreateNull();
}

void ss_json_differences(cJSON *list, const char *path, const cJSON *was, const cJSON *now) {
  char inner[400];
  const char *dot = *path ? "." : "";
  if (was && now && cJSON_Compare(was, now, true)) return;
  if (!was || !now || !cJSON_IsObject(was) || !cJSON_IsObject(now)) {
    cJSON_AddItemToArray(list,
                         ss_json_object(SS_T("input", path), SS_J("was", copy_of(was)), SS_J("now", copy_of(now))));
    return;
  }
  for (const cJSON *m = was->child; m; m = m->next) {
    snprintf(inner, sizeof inner, "%s%s%s", path, dot, m->string);
    ss_json_differences(list, inner, m, ss_json_get(now, m->string));
  }
  for (const cJSON *m = now->child; m; m = m->next) {
    snprintf(inner, sizeof inner, "%s%s%s", path, dot, m->string);
    if (!cJSON_HasObjectItem(was, m->string)) ss_json_differences(list, inner, NULL, m);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
