/* Fields of JSON that may be null. */
#ifndef SS_REPORT_NULLABLE_H
#define SS_REPORT_NULLABLE_H

#include <cjson/cJSON.h>
#include <math.h>

/* null when it is no finite number. */
static inline void ss_json_add_number(cJSON *object, const char *name, double value) {
  cJSON_AddItemToObject(object, name, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

/* null when there is none. */
static inline void ss_json_add_text(cJSON *object, const char *name, const char *text) {
  cJSON_AddItemToObject(object, name, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

#endif
