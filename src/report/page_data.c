#include "report/page_data.h"

#include "base/file.h"
#include "base/json.h"
#include "figures/figure.h"
#include "figures/plot.h"
#include "figures/plot_palette.h"
#include "report/decision.h"

/* Digits enough for a table, and short. */
static cJSON *number_json(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.9g", value);
  return cJSON_CreateRaw(text);
}

static cJSON *times_json(const struct ss_page *page, size_t i) {
  if (!page->scaled) return number_json(page->results->result[i].time);
  cJSON *all = cJSON_CreateArray();
  for (int l = 0; l < SS_SCALED_STEPS; l++) {
    cJSON *row = cJSON_CreateArray();
    for (int b = 0; b < SS_SCALED_STEPS; b++) cJSON_AddItemToArray(row, number_json(page->scaled[i][l][b]));
    cJSON_AddItemToArray(all, row);
  }
  return all;
}

static cJSON *factors_json(void) {
  cJSON *list = cJSON_CreateArray();
  for (int i = 0; i < SS_SCALED_STEPS; i++) cJSON_AddItemToArray(list, cJSON_CreateNumber(ss_scaled_factors[i]));
  return list;
}

/* Styles as the figure has them, so that a label has one colour on the whole page. */
static cJSON *labels_json(const struct ss_results *all, const cJSON *drawn) {
  const char *series[SS_PLOT_SERIES_MAX];
  size_t n = 0;
  SS_AUTO_JSON cJSON *seen = cJSON_CreateObject();
  cJSON *list = cJSON_CreateArray();
  for (const cJSON *d = drawn->child; d && n < SS_PLOT_SERIES_MAX; d = d->next) series[n++] = d->valuestring;
  for (size_t i = 0; i < all->count; i++) {
    const char *label = all->result[i].setting.label;
    size_t at = 0;
    while (at < n && strcmp(series[at], label) != 0) at++;
    if (ss_json_get(seen, label)) continue;
    cJSON_AddNullToObject(seen, label);
    cJSON_AddItemToArray(list, ss_json_object(SS_T("name", label),
                                              SS_N("style", at < n ? (double)ss_palette_style(series, n, at) : 0)));
  }
  for (size_t at = 0; at < n; at++) /* no scheme, but each tensor's own */
    if (!ss_json_get(seen, series[at]))
      cJSON_AddItemToArray(
          list, ss_json_object(SS_T("name", series[at]), SS_N("style", (double)ss_palette_style(series, n, at))));
  return list;
}

static void write_place(const void *value, FILE *stream) {
  ss_place_print(value, stream);
}

/* Where the cell lies: [{field, text, value}] of all that varies; values of numbers alone. */
static cJSON *places_json(const cJSON *record, const cJSON *const *varies, size_t count) {
  cJSON *list = cJSON_CreateArray();
  for (size_t k = 0; k < count; k++) {
    const cJSON *value = ss_place_of(record, varies[k]->string);
    SS_AUTO_FREE char *text = value ? ss_written(write_place, value) : NULL;
    const double number = value && cJSON_IsNumber(value) ? cJSON_GetNumberValue(value) : NAN;
    cJSON_AddItemToArray(list,
                         ss_json_object(SS_T("field", varies[k]->string), SS_T("text", text), SS_N("value", number)));
  }
  return list;
}

bool ss_page_own(const cJSON *row) {
  const char *tensor = row ? ss_json_word(row, "tensor") : NULL;
  return tensor && strcmp(tensor, "*") == 0 && !ss_json_word(row, "label");
}

/* Those of the cell, whose row of the plan is `plan`. */
static cJSON *rows_json(const struct ss_page *page, size_t first, size_t n, const cJSON *plan) {
  const struct ss_result *result = &page->results->result[first], *best, *next;
  cJSON *rows = cJSON_CreateArray();
  ss_results_rank(result, n, &best, &next);
  for (size_t i = 0; i < n; i++) {
    const struct ss_result *r = &result[i];
    cJSON_AddItemToArray(rows,
                         ss_json_object(SS_T("label", r->setting.label), SS_J("times", times_json(page, first + i)),
                                        SS_N("low", r->time_low), SS_N("high", r->time_high),
                                        SS_B("fits", !ss_result_left_out(r, best))));
  }
  if (ss_page_own(plan))
    cJSON_AddItemToArray(rows, ss_json_object(SS_T("label", ss_decision_name(plan, "label")),
                                              SS_J("times", number_json(ss_json_number(plan, "time_s"))),
                                              SS_N("low", ss_json_number(plan, "time_low_s")),
                                              SS_N("high", ss_json_number(plan, "time_high_s")), SS_B("fits", true),
                                              SS_B("own", true)));
  return rows;
}

static void write_name(const void *result, FILE *stream) {
  const struct ss_result *r = result;
  ss_cell_print(r->ranks, r->cluster, r->at, r->tensor, stream);
}

static cJSON *cells_json(const struct ss_page *page, size_t cells) {
  const struct ss_results *all = page->results;
  const cJSON *varies[SS_PLACES];
  cJSON *list = cJSON_CreateArray(), *records = cJSON_CreateArray();
  for (size_t i = 0; i < all->count; i += ss_results_in_cell(&all->result[i], all->count - i))
    cJSON_AddItemToArray(records, ss_result_json(&all->result[i]));
  const size_t count = ss_places_vary(records, varies, false);
  const cJSON *record = records->child, *plan = ss_json_get(page->plan, "plan"); /* a row a cell, too */
  plan = plan ? plan->child : NULL;
  for (size_t i = 0, n; i < all->count && record && cells > 0; i += n, record = record->next, cells--) {
    const struct ss_result *r = &all->result[i];
    n = ss_results_in_cell(r, all->count - i);
    SS_AUTO_FREE char *name = ss_written(write_name, r);
    const struct ss_link *link = &r->machine->inter;
    cJSON_AddItemToArray(list, ss_json_object(SS_T("name", name), SS_T("tensor", r->tensor),
                                              SS_J("places", places_json(record, varies, count)),
                                              SS_N("latency_s", link->alpha), SS_N("bandwidth", 1 / link->beta),
                                              SS_J("rows", rows_json(page, i, n, plan))));
    if (plan) plan = plan->next;
  }
  cJSON_Delete(records);
  return list;
}

/* "<", ">" and "&" stand in texts alone, where JSON may write them by number. */
static void put_escaped(const char *json, FILE *stream) {
  for (; *json; json++)
    if (strchr("<>&", *json)) fprintf(stream, "\\u%04x", (unsigned)*json);
    else fputc(*json, stream);
}

bool ss_page_data_print(const struct ss_page *page, size_t cells, const cJSON *drawn, FILE *stream,
                        struct ss_error *error) {
  SS_AUTO_JSON cJSON *root =
      ss_json_object(SS_J("factors", factors_json()), SS_N("spread", SS_FIGURE_SPREAD),
                     SS_J("labels", labels_json(page->results, drawn)), SS_J("cells", cells_json(page, cells)));
  SS_AUTO_FREE char *text = root ? cJSON_PrintUnformatted(root) : NULL;
  if (!text) return ss_fail_memory(error, "writing a page's numbers");
  fputs("<script type=\"application/json\" id=\"data\">", stream);
  put_escaped(text, stream);
  fputs("</script>\n", stream);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
