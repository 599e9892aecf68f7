#include "report/flat.h"

#include "base/json.h"
#include "library/request.h"
#include "query/field.h"
#include "report/columns.h"
#include "report/tables.h"

bool ss_json_print_free(cJSON *json, FILE *stream, struct ss_error *error) {
  const bool ok = ss_json_print(json, stream, error);
  cJSON_Delete(json);
  return ok;
}

static void flat_cell(struct ss_table *table, const cJSON *value) {
  if (cJSON_IsString(value)) ss_table_cell(table, "%s", value->valuestring);
  else if (cJSON_IsBool(value)) ss_table_cell(table, "%s", cJSON_IsTrue(value) ? "true" : "false");
  else if (cJSON_IsNumber(value)) ss_table_cell(table, "%.17g", value->valuedouble);
  else ss_table_cell(table, "%s", "");
}

static bool add_column(struct ss_columns *c, const char *outer, const char *name) {
  char full[256];
  snprintf(full, sizeof full, "%s%s%s", outer, *outer ? "." : "", name);
  for (size_t i = 0; i < c->count; i++)
    if (strcmp(c->name[i], full) == 0) return true;
  if (!ss_grow(c->name, c->capacity, c->count + 1)) return false;
  c->name[c->count] = strdup(full);
  return c->name[c->count++] != NULL;
}

bool ss_columns_add(struct ss_columns *c, const cJSON *point, struct ss_error *error) {
  bool ok = true;
  for (const cJSON *f = point->child; ok && f; f = f->next) {
    if (cJSON_IsArray(f) || strcmp(f->string, "offered") == 0) continue; /* the name of the scheme tells */
    if (!cJSON_IsObject(f)) ok = add_column(c, "", f->string);
    for (const cJSON *g = cJSON_IsObject(f) ? f->child : NULL; ok && g; g = g->next)
      if (!cJSON_IsObject(g) && !cJSON_IsArray(g)) ok = add_column(c, f->string, g->string);
  }
  return ok || ss_fail_memory(error, "writing results");
}

void ss_columns_free(struct ss_columns *c) {
  for (size_t i = 0; i < c->count; i++) free(c->name[i]);
  free(c->name);
  *c = (struct ss_columns){0};
}

bool ss_flat_rows(const struct ss_columns *c, const cJSON *list, bool head, FILE *stream, struct ss_error *error) {
  struct ss_table *table = ss_table_new(c->count, (const char *const *)c->name);
  for (const cJSON *entry = list->child; entry; entry = entry->next)
    for (size_t k = 0; k < c->count; k++) flat_cell(table, ss_field_at(entry, c->name[k]));
  bool ok = head ? ss_table_csv(table, stream, error) : ss_table_csv_more(table, stream, error);
  ss_table_free(table);
  return ok;
}

static bool print_csv(const cJSON *list, FILE *stream, struct ss_error *error) {
  SS_AUTO(ss_columns_free) struct ss_columns columns = {0};
  for (const cJSON *entry = list->child; entry; entry = entry->next)
    if (!ss_columns_add(&columns, entry, error)) return false;
  return ss_flat_rows(&columns, list, true, stream, error);
}

bool ss_flat_csv_free(cJSON *list, FILE *stream, struct ss_error *error) {
  const bool ok = list ? print_csv(list, stream, error) : ss_fail_memory(error, "writing results");
  cJSON_Delete(list);
  return ok;
}

bool ss_answer_print_json(const void *answer, FILE *stream, struct ss_error *error) {
  struct ss_answer *a = (struct ss_answer *)answer; /* which keeps the text */
  const char *text = ss_answer_json(a);
  if (!text) return ss_fail_memory(error, "writing JSON");
  (void)fprintf(stream, "%s\n", text);
  return true;
}

bool ss_answer_print_csv(const void *answer, FILE *stream, struct ss_error *error) {
  return print_csv(ss_answer_list(answer), stream, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
