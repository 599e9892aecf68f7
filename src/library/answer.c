#include "base/json.h"
#include "library/request.h"
#include "query/field.h"

struct ss_answer {
  cJSON *tree;
  const cJSON *list; /* its rows; NULL: it is the only one */
  const cJSON **row; /* [rows] */
  size_t rows;
  char *json; /* NULL: nobody asked for it yet */
};

static bool list_rows(struct ss_answer *answer, const char *rows) {
  const cJSON *list = rows ? ss_json_get(answer->tree, rows) : NULL;
  const size_t count = rows ? (size_t)cJSON_GetArraySize(list) : 1;
  answer->list = list;
  answer->row = ss_alloc(count, sizeof *answer->row);
  if (!answer->row) return false;
  if (!rows) answer->row[answer->rows++] = answer->tree;
  for (const cJSON *item = list ? list->child : NULL; item; item = item->next) answer->row[answer->rows++] = item;
  return true;
}

bool ss_answer_new(cJSON *tree, const char *rows, struct ss_answer **out, struct ss_error *error) {
  struct ss_answer *answer = ss_alloc_zero(1, sizeof *answer);
  if (!answer) {
    cJSON_Delete(tree);
    return ss_fail_memory(error, "keeping an answer");
  }
  answer->tree = tree;
  if (list_rows(answer, rows)) {
    *out = answer;
    return true;
  }
  ss_answer_free(answer);
  return ss_fail_memory(error, "keeping an answer");
}

void ss_answer_free(struct ss_answer *answer) {
  if (!answer) return;
  cJSON_Delete(answer->tree);
  free(answer->row);
  free(answer->json);
  free(answer);
}

const cJSON *ss_answer_tree(const struct ss_answer *answer) {
  return answer->tree;
}

const cJSON *ss_answer_list(const struct ss_answer *answer) {
  return answer->list;
}

size_t ss_answer_rows(const struct ss_answer *answer) {
  return answer ? answer->rows : 0;
}

static const cJSON *find(const struct ss_answer *answer, size_t row, const char *field) {
  if (!answer || !field || (row != SS_WHOLE && row >= answer->rows)) return NULL;
  return ss_field_find(row == SS_WHOLE ? answer->tree : answer->row[row], field);
}

enum ss_field_kind ss_answer_kind(const struct ss_answer *answer, size_t row, const char *field) {
  const cJSON *item = find(answer, row, field);
  if (!item || cJSON_IsNull(item)) return SS_FIELD_ABSENT;
  return cJSON_IsNumber(item)   ? SS_FIELD_NUMBER
         : cJSON_IsString(item) ? SS_FIELD_TEXT
         : cJSON_IsBool(item)   ? SS_FIELD_FLAG
                                : SS_FIELD_LIST;
}

double ss_answer_number(const struct ss_answer *answer, size_t row, const char *field) {
  const cJSON *item = find(answer, row, field);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

const char *ss_answer_text(const struct ss_answer *answer, size_t row, const char *field) {
  return cJSON_GetStringValue(find(answer, row, field));
}

bool ss_answer_flag(const struct ss_answer *answer, size_t row, const char *field) {
  return cJSON_IsTrue(find(answer, row, field));
}

const char *ss_answer_json(struct ss_answer *answer) {
  if (!answer || answer->json) return answer ? answer->json : NULL;
  cJSON *copy = cJSON_Duplicate(answer->tree, true); /* which can only be printed and deleted afterwards */
  if (copy) answer->json = ss_json_exact(copy, true);
  cJSON_Delete(copy);
  return answer->json;
}
/* SPDX-License-Identifier: Apache-2.0 */
