#include "report/trace.h"

#include "base/json_text.h"

#include <cjson/cJSON.h>

bool ss_json_print_free(cJSON *json, FILE *stream, struct ss_error *error) {
  const bool ok = ss_json_print(json, stream, error);
  cJSON_Delete(json);
  return ok;
}

bool ss_table_print_free(struct ss_table *table, bool csv, FILE *stream, struct ss_error *error) {
  if (!table) return ss_fail_memory(error, "writing a table");
  const bool ok = csv ? ss_table_csv(table, stream, error) : ss_table_print(table, stream, error);
  ss_table_free(table);
  return ok;
}
