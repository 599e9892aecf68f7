#include "base/json_internal.h"

#include "base/json.h"
#include "base/units.h"

struct path {
  char *steps[SS_PATH_STEPS];
  size_t count;
};

/* The end of the bracketed step that begins behind *at, which is set to the step itself; NULL when there is none. */
static char *end_of_bracket(char **at, size_t *skip) {
  const bool quoted = **at == '"';
  *at += quoted;
  *skip = quoted ? 2 : 1;
  return quoted ? strstr(*at, "\"]") : strchr(*at, ']');
}

/* Cuts `text` into the steps it spells: a.b, a.2, a[2], a["b.c"]. */
static bool split_path(char *text, struct path *path) {
  bool bracket = *text == '[';
  char *at = text + bracket;
  for (path->count = 0; path->count < SS_PATH_STEPS;) {
    char *end = at + strcspn(at, ".[");
    size_t skip = 0;
    if (bracket) end = end_of_bracket(&at, &skip);
    if (end == NULL || end == at) return false;
    const char separator = end[skip];
    if (bracket && separator != '\0' && separator != '.' && separator != '[') return false;
    *end = '\0';
    path->steps[path->count++] = at;
    if (separator == '\0') return true;
    bracket = separator == '[';
    at = end + skip + 1;
  }
  return false;
}

/* Where a new item goes: into `parent`, in place of `old` if there is one, under the path's step `step`. */
struct slot {
  cJSON *parent, *old;
  size_t step;
};

static bool find_slot(struct ss_doc *doc, const struct path *path, struct slot *slot, struct ss_error *error) {
  cJSON *at = doc->root;
  for (size_t i = 0;; i++) {
    const struct ss_node node = {doc, at};
    const char *step = path->steps[i];
    cJSON *next;
    if (cJSON_IsArray(at)) {
      const size_t size = ss_node_size(node);
      uint64_t index;
      if (!ss_count_parse(step, "index", 0, INT32_MAX, &index, NULL) || index >= size)
        return ss_node_fail(node, error, "\"%.60s\" is not the index of one of the %zu members", step, size);
      next = cJSON_GetArrayItem(at, (int)index);
    } else if (cJSON_IsObject(at)) {
      next = ss_json_get(at, step);
    } else {
      return ss_node_fail(node, error, "has no field \"%.60s\" to be set: it is neither object nor array", step);
    }
    if (next == NULL || i + 1 == path->count) {
      *slot = (struct slot){at, next, i};
      return true;
    }
    at = next;
  }
}

static bool put_item(const struct path *path, const struct slot *slot, cJSON *item) {
  for (size_t i = path->count - 1; i > slot->step; i--) {
    cJSON *holder = cJSON_CreateObject();
    if (holder == NULL || !cJSON_AddItemToObject(holder, path->steps[i], item)) {
      cJSON_Delete(holder);
      cJSON_Delete(item);
      return false;
    }
    item = holder;
  }
  /* Into an object it goes by way of its end: that gives it the key, and the replacement then cannot fail. */
  if (cJSON_IsObject(slot->parent)) {
    if (!cJSON_AddItemToObject(slot->parent, path->steps[slot->step], item)) {
      cJSON_Delete(item);
      return false;
    }
    if (slot->old == NULL) return true;
    cJSON_DetachItemViaPointer(slot->parent, item);
  }
  cJSON_ReplaceItemViaPointer(slot->parent, slot->old, item);
  return true;
}

bool ss_doc_set_item(struct ss_doc *doc, const char *path, cJSON *item, struct ss_error *error) {
  if (item == NULL) return ss_fail_memory(error, "setting a field");
  SS_AUTO_FREE char *copy = strdup(path);
  struct path steps;
  struct slot slot = {0};
  bool found = copy != NULL || ss_fail_memory(error, "setting a field");
  if (found && !split_path(copy, &steps))
    found =
        ss_fail(error, SS_BAD_INPUT,
                "%s: \"%.200s\" is not a path (say \"cluster.bandwidth\" or \"schemes.2.teams\")", doc->name, path);
  found = found && find_slot(doc, &steps, &slot, error);
  if (!found) {
    cJSON_Delete(item);
    return false;
  }
  return put_item(&steps, &slot, item) || ss_fail_memory(error, "setting a field");
}

static bool is_utf8(const char *text) {
  for (size_t size; *text != '\0'; text += size)
    if ((size = ss_utf8_size(text, 4)) == 0) return false;
  return true;
}

/* A number keeps beside its value that it was said without a unit, as text; copies do, too. Numbers of documents have
 * none. `whole`: those in lists and objects as well. */
static cJSON *said(cJSON *item, bool whole) {
  char text[32];
  for (cJSON *member = whole ? item->child : NULL; member; member = member->next) (void)said(member, true);
  if (!cJSON_IsNumber(item)) return item;
  snprintf(text, sizeof text, "%.15g", item->valuedouble);
  item->valuestring = strdup(text);
  return item;
}

cJSON *ss_json_value(const char *name, const char *path, const char *value, bool strict, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *parsed = NULL;
  struct ss_error no_json;
  if (!is_utf8(path) || !is_utf8(value)) {
    (void)ss_fail(error, SS_BAD_INPUT, "%s: %.200s: \"%.200s\" is not UTF-8", name, path, value);
    return NULL;
  }
  if (ss_doc_parse(path, value, strlen(value), &parsed, &no_json)) {
    cJSON *item = parsed->root;
    parsed->root = NULL;
    return said(item, !strict);
  }
  const char first = value[strspn(value, " \t\r\n")];
  const bool words = strict ? !strchr("[{\"", first) : first != '[' && first != '{';
  cJSON *item = words && no_json.status == SS_BAD_INPUT ? cJSON_CreateString(value) : NULL;
  if (item == NULL && error != NULL) *error = no_json;
  return item;
}

bool ss_doc_set(struct ss_doc *doc, const char *path, const char *value, struct ss_error *error) {
  cJSON *item = ss_json_value(doc->name, path, value, false, error);
  return item != NULL && ss_doc_set_item(doc, path, item, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
