#include "report/results_table.h"
#include "study/ranges.h"

#include "base/json.h"
#include "report/flat.h"
#include "schemes/registry.h"

/* --- JSON ----------------------------------------------------------------------------------------------- */

/* What cJSON prints of the document, up to the list's first or from behind its last entry on. */
static bool print_frame(const struct ss_results_writer *w, bool opening, struct ss_error *error) {
  SS_AUTO_JSON cJSON *root = ss_json_object(SS_T("sparsync", SS_VERSION), SS_T("scenario", w->scenario));
  if (w->inputs) cJSON_AddItemToObject(root, "inputs", cJSON_Duplicate(w->inputs, true));
  cJSON_AddArrayToObject(root, "points");
  SS_AUTO_FREE char *text = root ? ss_json_text(root, true) : NULL;
  const char *gap = text ? strrchr(text, ']') : NULL;
  if (!gap) return ss_fail_memory(error, "writing results");
  if (opening) fprintf(w->stream, "%.*s", (int)(gap - text), text);
  else fprintf(w->stream, "%s\n", gap);
  return true;
}

/* The result as it stands in a list in an object, so that it is indented as there. */
static bool print_point(struct ss_results_writer *w, const struct ss_result *p, struct ss_error *error) {
  SS_AUTO_JSON cJSON *root = cJSON_CreateObject();
  cJSON *list = cJSON_AddArrayToObject(root, "points"), *result = ss_result_json(p);
  if (!cJSON_AddItemToArray(list, result)) cJSON_Delete(result);
  SS_AUTO_FREE char *text = root && list && result ? ss_json_exact(root, true) : NULL;
  const char *from = text ? strchr(text, '[') : NULL, *to = text ? strrchr(text, ']') : NULL;
  if (!from || !to) return ss_fail_memory(error, "writing results");
  fprintf(w->stream, "%s%.*s", w->written++ ? ", " : "", (int)(to - from - 1), from + 1);
  return true;
}

/* The frame waits for the first result: a run that fails at once prints nothing. */
static bool json_more(struct ss_results_writer *w, const struct ss_result *results, size_t count,
                      struct ss_error *error) {
  if (w->written == 0 && count > 0 && !print_frame(w, true, error)) return false;
  for (size_t i = 0; i < count; i++)
    if (!print_point(w, &results[i], error)) return false;
  return true;
}

static bool json_end(struct ss_results_writer *w, const struct ss_results *results, struct ss_error *error) {
  (void)results;
  return (w->written > 0 || print_frame(w, true, error)) && print_frame(w, false, error);
}

const struct ss_results_form ss_results_as_json = {NULL, json_more, json_end};

/* --- CSV ------------------------------------------------------------------------------------------------ */

/* A row has neither links, nor kernels, nor arrays: its "result_hash" is of what it has. */
static cJSON *lean_json(struct ss_result result) {
  memset(result.usage, 0, sizeof result.usage);
  memset(result.kernels, 0, sizeof result.kernels);
  result.iteration_s = result.rank_sent = result.rank_received = NULL;
  cJSON *record = ss_result_json(&result);
  if (record && result.machine) ss_cluster_add_numbers(record, result.machine);
  return record;
}

/* {"options": {...}} with every option that any scheme has. */
static cJSON *all_options(void) {
  cJSON *result = cJSON_CreateObject(), *options = cJSON_AddObjectToObject(result, "options");
  for (const struct ss_scheme *const *s = ss_schemes(); options && *s; s++)
    for (const struct ss_option *o = (*s)->options; o && o->name; o++)
      if (!cJSON_HasObjectItem(options, o->name)) cJSON_AddNullToObject(options, o->name);
  return result;
}

static bool add_columns(struct ss_results_writer *w, cJSON *result, struct ss_error *error) {
  const bool ok = result ? ss_columns_add(&w->columns, result, error) : ss_fail_memory(error, "writing results");
  cJSON_Delete(result);
  return ok;
}

/* The more, the more fields it names. */
static int names_of(const struct ss_result *r) {
  return 2 * (r->extrapolated_from > 0) + ss_result_ranged(r);
}

/* The same columns for every scenario; behind them what a sweep names. */
static bool csv_begin(struct ss_results_writer *w, const struct ss_results *blank, struct ss_error *error) {
  if (blank->count == 0) return true;
  size_t most = 0; /* which has what others have not */
  for (size_t i = 1; i < blank->count; i++)
    if (names_of(&blank->result[i]) > names_of(&blank->result[most])) most = i;
  cJSON *first = lean_json(blank->result[most]);
  cJSON_DeleteItemFromObjectCaseSensitive(first, "at");
  cJSON *own = cJSON_DetachItemFromObjectCaseSensitive(first, "options");
  cJSON *rest = all_options();
  for (const cJSON *o = own ? own->child : NULL; o; o = o->next)
    if (!cJSON_HasObjectItem(rest->child, o->string)) cJSON_AddNullToObject(rest->child, o->string);
  cJSON_Delete(own);
  if (!add_columns(w, first, error) || !add_columns(w, rest, error)) return false;
  for (size_t i = 0; i < blank->count; i++) {
    cJSON *at = cJSON_CreateObject();
    if (blank->result[i].at) cJSON_AddItemToObject(at, "at", cJSON_Duplicate(blank->result[i].at, true));
    if (!add_columns(w, at, error)) return false;
  }
  return true;
}

static bool csv_more(struct ss_results_writer *w, const struct ss_result *results, size_t count,
                     struct ss_error *error) {
  SS_AUTO_JSON cJSON *list = cJSON_CreateArray();
  if (!list) return ss_fail_memory(error, "writing results");
  for (size_t i = 0; i < count; i++) cJSON_AddItemToArray(list, lean_json(results[i]));
  const bool head = w->written == 0;
  w->written += count;
  return ss_flat_rows(&w->columns, list, head, w->stream, error);
}

const struct ss_results_form ss_results_as_csv = {csv_begin, csv_more, NULL};

/* --- all at once ---------------------------------------------------------------------------------------- */

void ss_results_writer_free(struct ss_results_writer *w) {
  ss_columns_free(&w->columns);
}

bool ss_results_print(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_results_report *r = report;
  const struct ss_results_form *form = r->form;
  const struct ss_results *results = r->results;
  SS_AUTO(ss_results_writer_free)
  struct ss_results_writer writer = {
      .stream = stream, .scenario = r->scenario, .inputs = r->inputs, .links = r->links};
  return (!form->begin || form->begin(&writer, results, error)) &&
         form->more(&writer, results->result, results->count, error) &&
         (!form->end || form->end(&writer, results, error));
}
/* SPDX-License-Identifier: Apache-2.0 */
