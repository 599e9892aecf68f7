#include "base/json_text.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void ss_json_add_number(cJSON *object, const char *name, double value) {
  cJSON_AddItemToObject(object, name, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

void ss_json_add_text(cJSON *object, const char *name, const char *text) {
  cJSON_AddItemToObject(object, name, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

double ss_json_number(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

const char *ss_json_word(const cJSON *object, const char *name) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}
