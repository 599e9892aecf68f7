/* What was measured on a trace: sizes, bags, and what grows with ranks. */

#include "base/json.h"
#include "library/request.h"
#include "report/columns.h"
#include "report/tables.h"

/* A record for each tensor and k, up to which gamma was measured; `sampled`: only where skewness was, too. */
static cJSON *by_k(const cJSON *tensors, bool sampled) {
  cJSON *list = cJSON_CreateArray();
  for (const cJSON *t = tensors->child; t; t = t->next) {
    const cJSON *skewness = ss_json_get(t, "skewness")->child;
    cJSON *plain = cJSON_Duplicate(t, true);
    cJSON_DeleteItemFromObjectCaseSensitive(plain, "gamma");
    cJSON_DeleteItemFromObjectCaseSensitive(plain, "skewness");
    uint32_t k = 1;
    for (const cJSON *gamma = ss_json_get(t, "gamma")->child; gamma; gamma = gamma->next, k++) {
      const bool has = skewness && strtoul(skewness->string, NULL, 10) == k;
      if (sampled && !has) continue;
      cJSON *o = cJSON_Duplicate(plain, true);
      ss_json_add(o, SS_N("k", k), SS_N("gamma", gamma->valuedouble));
      if (has) cJSON_AddNumberToObject(o, "skewness", skewness->valuedouble);
      if (has) skewness = skewness->next;
      cJSON_AddItemToArray(list, o);
    }
    cJSON_Delete(plain);
  }
  return list;
}

/* One observation a row. */
bool ss_stats_csv(const void *answer, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {{"name", "name", NULL},
                                             {"rows", "rows", "%.0f"},
                                             {"row_width", "row_width", "%.0f"},
                                             {"dtype", "dtype", NULL},
                                             {"density", "density", SS_EXACT},
                                             {"overlap", "overlap", SS_EXACT},
                                             {"lookups", "lookups", SS_EXACT},
                                             {"coalesced", "coalesced", SS_EXACT},
                                             {"prior", "prior", SS_EXACT},
                                             {"bags", "bags", SS_EXACT},
                                             {"pooling", "pooling", SS_EXACT},
                                             {"lookups_bytes", "lookups_bytes", SS_EXACT},
                                             {"coalesced_bytes", "coalesced_bytes", SS_EXACT},
                                             {"prior_bytes", "prior_bytes", SS_EXACT},
                                             {"k", "k", "%.0f"},
                                             {"gamma", "gamma", SS_EXACT},
                                             {"skewness", "skewness", SS_EXACT}};
  return ss_records_print(columns, by_k(ss_answer_list(answer), false), true, stream, error);
}

static bool print_sizes(const cJSON *tensors, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {{"<tensor", "name", NULL},
                                             {"rows", "size", NULL},
                                             {"density", "density", "%.3g %%"},
                                             {"overlap", "overlap", "%.3f"},
                                             {"lookups", "lookups", "%.1f"},
                                             {"coalesced", "coalesced", "%.1f"},
                                             {"prior", "prior", "%.1f"},
                                             {"bytes of lookups", "lookups_bytes", "B"},
                                             {"coalesced", "coalesced_bytes", "B"},
                                             {"prior", "prior_bytes", "B"}};
  cJSON *records = cJSON_Duplicate(tensors, true);
  for (cJSON *t = records ? records->child : NULL; t; t = t->next) {
    char text[80];
    snprintf(text, sizeof text, "%.0f x %.0f %s", ss_json_get(t, "rows")->valuedouble,
             ss_json_get(t, "row_width")->valuedouble, ss_json_get(t, "dtype")->valuestring);
    ss_json_add_text(t, "size", text);
  }
  const bool ok = ss_records_print(columns, records, false, stream, error);
  fputs("\n", stream);
  return ok;
}

/* Of the tensors that have bags. */
static bool print_bags(const cJSON *tensors, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {
      {"<tensor", "name", NULL}, {"bags", "bags", "%.1f"}, {"lookups/bag", "pooling", "%.4g"}};
  cJSON *records = cJSON_CreateArray();
  for (const cJSON *t = tensors->child; t; t = t->next)
    if (cJSON_IsNumber(ss_json_get(t, "bags"))) cJSON_AddItemToArray(records, cJSON_Duplicate(t, true));
  if (records && !records->child) {
    cJSON_Delete(records);
    return true;
  }
  const bool ok = ss_records_print(columns, records, false, stream, error);
  fputs("\n", stream);
  return ok;
}

bool ss_stats_table(const void *answer, FILE *stream, struct ss_error *error) {
  static const struct ss_column curve[] = {{"<tensor", "name", NULL},
                                           {"k", "k", "%.0f"},
                                           {"gamma(k)", "gamma", "%.4g"},
                                           {"skewness(k)", "skewness", "%.4g"}};
  const double first = ss_answer_number(answer, SS_WHOLE, "first_iteration");
  (void)fprintf(
      stream,
      "iterations %.0f to %.0f, %.0f ranks; rows and bytes are of one rank in one iteration, means over both\n\n",
      first, first + ss_answer_number(answer, SS_WHOLE, "iterations") - 1,
      ss_answer_number(answer, SS_WHOLE, "ranks"));
  const cJSON *tensors = ss_answer_list(answer);
  if (!print_sizes(tensors, stream, error) || !print_bags(tensors, stream, error) ||
      !ss_records_print(curve, by_k(tensors, true), false, stream, error))
    return false;
  (void)fputs("\n"
              "prior: unique rows that some rank looks up again in the next iteration, where there is one\n"
              "gamma(k): unique rows of k ranks together, in units of one rank's\n"
              "skewness(k): densest of k even row ranges, in units of the rank's density\n",
              stream);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
