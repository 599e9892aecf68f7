#include "base/json_text.h"
#include "schemes/registry.h"
#include "study/study_internal.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

/* "zen" with "coo" behind "shard": {"name": "zen", "label": "zen coo, shard", "hierarchy": "shard"}, for the caller
 * to complete. */
static cJSON *add(cJSON *list, const char *name, const char *variant, const char *hierarchy) {
  char label[96]; /* names are ours, and short */
  cJSON *item = cJSON_CreateObject();
  snprintf(label, sizeof label, "%s%s%s%s%s", name, variant ? " " : "", variant ? variant : "", hierarchy ? ", " : "",
           hierarchy ? hierarchy : "");
  ss_json_add(item, SS_T("name", name), SS_T("label", label));
  if (hierarchy) cJSON_AddStringToObject(item, "hierarchy", hierarchy);
  cJSON_AddItemToArray(list, item);
  return item;
}

/* Options whose every choice is worth a try. Others trade something else than time, or are for experiments. */
static bool worth_trying(const struct ss_option *option) {
  return option->kind == SS_OPTION_CHOICE &&
         (strcmp(option->name, "algorithm") == 0 || strcmp(option->name, "format") == 0);
}

/* Whole tables, all in one exchange: another answer than one for each table. */
static void add_whole_tables(cJSON *list, const struct ss_scheme *scheme) {
  for (const struct ss_option *o = scheme->options; o && o->name; o++)
    for (size_t i = 0; ss_scheme_model_parallel(scheme) && strcmp(o->name, "partition") == 0 && o->choices[i]; i++)
      if (strcmp(o->choices[i], "table") == 0)
        cJSON_AddStringToObject(add(list, scheme->name, "table", NULL), o->name, o->choices[i]);
}

static void add_scheme(cJSON *list, const struct ss_scheme *scheme, const char *hierarchy) {
  bool varied = false;
  for (const struct ss_option *o = scheme->options; o && o->name; o++) {
    if (!worth_trying(o)) continue;
    varied = true;
    for (size_t i = 0; o->choices[i]; i++)
      cJSON_AddStringToObject(add(list, scheme->name, o->choices[i], hierarchy), o->name, o->choices[i]);
  }
  if (!varied) add(list, scheme->name, NULL, hierarchy);
  for (const struct ss_option *o = scheme->options; o && o->name; o++)
    if (o->kind == SS_OPTION_FLAG && strcmp(o->name, "colocated") == 0)
      cJSON_AddTrueToObject(add(list, scheme->name, o->name, hierarchy), o->name);
  if (!hierarchy) add_whole_tables(list, scheme);
}

cJSON *ss_candidates(bool hierarchies) {
  static const char *const in_node[] = {NULL, "shard", "leader"};
  cJSON *list = cJSON_CreateArray();
  for (size_t h = 0; list && h < (hierarchies ? 3 : 1); h++)
    for (const struct ss_scheme *const *s = ss_schemes(); *s; s++)
      if (!(*s)->parse) add_scheme(list, *s, in_node[h]);
  return list;
}
