#include "report/columns.h"

#include "base/json.h"
#include "query/field.h"

cJSON *ss_records_take(cJSON *records, size_t n) {
  cJSON *list = cJSON_CreateArray();
  while (n-- > 0 && records && records->child) cJSON_AddItemToArray(list, cJSON_DetachItemFromArray(records, 0));
  return list;
}

cJSON *ss_record_members(const cJSON *records, const char *field) {
  cJSON *list = cJSON_CreateArray();
  for (const cJSON *r = records ? records->child : NULL; r; r = r->next) {
    const cJSON *members = ss_field_at(r, field);
    for (const cJSON *m = members ? members->child : NULL; m; m = m->next) {
      cJSON *o = cJSON_Duplicate(m, true);
      ss_json_add(o, SS_J("label", cJSON_Duplicate(ss_field_at(r, "label"), true)), SS_T("key", m->string));
      cJSON_AddItemToArray(list, o);
    }
  }
  return list;
}

void ss_records_spread(cJSON *list, const cJSON *record, const char *field) {
  const cJSON *objects = ss_json_get(record, field);
  cJSON *plain = cJSON_Duplicate(record, true);
  cJSON_DeleteItemFromObjectCaseSensitive(plain, field);
  for (const cJSON *o = objects ? objects->child : NULL; o; o = o->next) {
    cJSON *line = cJSON_Duplicate(plain, true);
    for (const cJSON *v = o->child; v; v = v->next) cJSON_AddItemToObject(line, v->string, cJSON_Duplicate(v, true));
    cJSON_AddItemToArray(list, line);
  }
  if (cJSON_GetArraySize(objects) > 0 || !cJSON_AddItemToArray(list, plain)) cJSON_Delete(plain);
}

static bool is_shown(const struct ss_column *column, const cJSON *records) {
  if (column->head[0] != '?') return true;
  for (const cJSON *r = records->child; r; r = r->next) {
    const cJSON *value = ss_field_at(r, column->field);
    if (value && !cJSON_IsNull(value)) return true;
  }
  return false;
}

static void text_cell(struct ss_table *table, const cJSON *value) {
  ss_table_cell(table, "%s",
                cJSON_IsString(value)  ? value->valuestring
                : !cJSON_IsBool(value) ? "-"
                : cJSON_IsTrue(value)  ? "yes"
                                       : "NO");
}

/* The format of a column is a constant of ours. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void number_cell(struct ss_table *table, const char *format, double value) {
  static const struct {
    const char *unit;
    enum ss_dimension dimension;
  } units[] = {{"s", SS_TIME}, {"B", SS_BYTES}, {"B/s", SS_RATE}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(format, units[i].unit) == 0) {
      ss_table_quantity(table, units[i].dimension, value);
      return;
    }
  if (strcmp(format, SS_EXACT) == 0) ss_table_exact(table, value);
  else ss_table_number(table, format, strstr(format, "%%") ? 100 * value : value);
}
#pragma GCC diagnostic pop

struct ss_table *ss_table_of_records(const struct ss_column *columns, size_t count, const cJSON *records) {
  enum { COLUMNS_MAX = 64 };
  const char *heads[COLUMNS_MAX] = {NULL};
  const struct ss_column *shown[COLUMNS_MAX];
  size_t n = 0;
  if (!records) return NULL;
  for (size_t i = 0; i < count; i++) {
    if (!is_shown(&columns[i], records)) continue;
    heads[n] = columns[i].head + (columns[i].head[0] == '?');
    shown[n++] = &columns[i];
  }
  struct ss_table *table = ss_table_new(n, heads);
  for (const cJSON *r = records->child; r; r = r->next)
    for (size_t i = 0; i < n; i++) {
      const cJSON *value = ss_field_at(r, shown[i]->field);
      if (!shown[i]->format) text_cell(table, value);
      else number_cell(table, shown[i]->format, cJSON_IsNumber(value) ? value->valuedouble : NAN);
    }
  return table;
}

bool ss_columns_print(const struct ss_column *columns, size_t count, cJSON *records, bool csv, FILE *stream,
                      struct ss_error *error) {
  const bool ok = ss_table_print_free(ss_table_of_records(columns, count, records), csv, stream, error);
  cJSON_Delete(records);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
