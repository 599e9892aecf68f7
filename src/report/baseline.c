#include "base/file.h"
#include "base/json.h"
#include "query/baselines.h"
#include "report/columns.h"
#include "report/results_table.h"
#include "report/tables.h"

static const char *text_of(const cJSON *object, const char *name) {
  const char *text = ss_json_word(object, name);
  return text ? text : "-";
}

/* --- JSON and CSV ------------------------------------------------------------------------------------------- */

bool ss_diff_json(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_diff *diff = report;
  return ss_json_print_exact(cJSON_Duplicate(diff->tree, true), stream, error);
}

/* A line a field that moved; points that are new or missing, or have another verdict, have one without. */
static void add_lines(cJSON *list, const cJSON *change) {
  SS_AUTO_JSON cJSON *o = cJSON_Duplicate(change, true);
  cJSON *fields = ss_json_get(o, "fields");
  const cJSON *differs = ss_json_get(change, "differs");
  const bool verdict = differs->child && strcmp(differs->child->valuestring, "exact") == 0;
  cJSON_DeleteItemFromObjectCaseSensitive(o, "differs");
  if (!fields->child) cJSON_AddItemToArray(fields, ss_json_object(SS_T("field", verdict ? "exact" : "")));
  ss_records_spread(list, o, "fields");
}

bool ss_diff_csv(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_diff *diff = report;
  static const char *const heads[] = {"change", "label", "ranks", "tensor", "field", "was", "now", "relative"};
  SS_AUTO_JSON cJSON *list = cJSON_CreateArray(), *blank = cJSON_CreateObject();
  SS_AUTO(ss_columns_free) struct ss_columns columns = {0};
  const cJSON *changes = ss_json_get(diff->tree, "changes");
  for (const cJSON *c = changes ? changes->child : NULL; c; c = c->next) add_lines(list, c);
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) cJSON_AddNullToObject(blank, heads[i]);
  bool ok = ss_columns_add(&columns, blank, error);
  for (const cJSON *line = list ? list->child : NULL; ok && line; line = line->next)
    ok = ss_columns_add(&columns, line, error);
  return ok && ss_flat_rows(&columns, list, true, stream, error);
}

/* Changes that a table shows. */
enum { SHOWN = 20 };

/* --- the table ---------------------------------------------------------------------------------------------- */

static bool counts(const char *field) {
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++)
    if (strcmp(ss_result_fields[i].name, field) == 0) return ss_result_fields[i].is & SS_FIELD_COUNTS;
  return false;
}

/* With the digits in which small moves show; returns `text`. */
static const char *value_text(const char *field, double value, char text[40]) {
  const size_t length = strlen(field);
  const bool is_time = length > 2 && strcmp(field + length - 2, "_s") == 0;
  if (!isfinite(value)) return "-";
  if (counts(field)) snprintf(text, 40, "%.15g", value);
  else if (is_time) snprintf(text, 40, "%.6g ms", 1e3 * value);
  else snprintf(text, 40, "%.6g", value);
  return text;
}

static void write_at(const void *context, FILE *stream) {
  ss_at_print(context, stream);
}

/* The time, if it moved; else the field that did most: of those with a value before and after. NULL: none moved. */
static const cJSON *most_moved(const cJSON *change) {
  const cJSON *fields = ss_json_get(change, "fields"), *most = fields->child;
  for (const cJSON *f = fields->child; f; f = f->next) {
    if (strcmp(text_of(f, "field"), "time_s") == 0) return f;
    const double by = ss_json_number(most, "relative");
    if (!isfinite(by) || fabs(ss_json_number(f, "relative")) > fabs(by)) most = f;
  }
  return most;
}

static cJSON *row_of(const cJSON *change) {
  SS_AUTO_FREE char *at = ss_written(write_at, ss_json_get(change, "at"));
  const cJSON *most = most_moved(change), *differs = ss_json_get(change, "differs");
  const bool verdict = differs->child && strcmp(differs->child->valuestring, "exact") == 0;
  const cJSON *within = ss_json_get(change, "within_range");
  const char *field = most ? text_of(most, "field") : verdict ? "exact" : "-";
  char was[40], now[40];
  cJSON *o = ss_json_object(SS_T("change", text_of(change, "change")), SS_T("label", text_of(change, "label")),
                            SS_N("ranks", ss_json_number(change, "ranks")), SS_T("tensor", text_of(change, "tensor")),
                            SS_T("place", at && *at ? at : NULL), SS_T("moved", field));
  if (most)
    ss_json_add(o, SS_T("was", value_text(field, ss_json_number(most, "was"), was)),
                SS_T("now", value_text(field, ss_json_number(most, "now"), now)),
                SS_N("by", ss_json_number(most, "relative")),
                SS_T("range", !within                ? NULL
                              : cJSON_IsTrue(within) ? "within"
                                                     : "beyond"),
                SS_N("others", cJSON_GetArraySize(ss_json_get(change, "fields")) - 1 + verdict));
  return o;
}

/* "zen: options, trace_hash" */
static void write_differing(const void *context, FILE *stream) {
  const cJSON *list = ss_json_get(context, "differs");
  fprintf(stream, "%s:", text_of(context, "label"));
  for (const cJSON *n = list->child; n; n = n->next) fprintf(stream, " %s%s", n->valuestring, n->next ? "," : "");
}

/* Each once, however many points it concerns. */
static void print_differing(const cJSON *changes, FILE *stream) {
  SS_AUTO_JSON cJSON *said = cJSON_CreateObject();
  for (const cJSON *c = changes->child; c; c = c->next) {
    if (strcmp(text_of(c, "change"), "moved") != 0 || !ss_json_get(c, "differs")->child) continue;
    SS_AUTO_FREE char *text = ss_written(write_differing, c);
    if (!text || ss_json_get(said, text)) continue;
    fprintf(stream, "%s%s\n", said->child ? "  " : "\nnot what they were:\n  ", text);
    cJSON_AddNullToObject(said, text);
  }
}

static void print_value(const cJSON *value, FILE *stream) {
  SS_AUTO_FREE char *text = cJSON_IsNull(value) ? NULL : cJSON_PrintUnformatted(value);
  if (!text) fputs("nothing", stream);
  else fprintf(stream, "%.80s%s", text, strlen(text) > 80 ? "..." : "");
}

/* What explains the rest comes first. */
static void print_inputs(const cJSON *inputs, bool changed, FILE *stream) {
  if (!cJSON_IsArray(inputs))
    fputs("\nIts inputs are not stored with it: --save-baseline stores them now.\n", stream);
  else if (inputs->child) fputs("\ninputs that changed:\n", stream);
  else if (changed) fputs("\nNo input changed: the program, a closed form or the contents of a trace did.\n", stream);
  for (const cJSON *i = inputs->child; i; i = i->next) {
    fprintf(stream, "  %s: ", text_of(i, "input"));
    print_value(ss_json_get(i, "was"), stream);
    fputs(" is now ", stream);
    print_value(ss_json_get(i, "now"), stream);
    fputc('\n', stream);
  }
}

/* A change, and how far it moved: endless where there is nothing to compare, so that it comes first. */
struct movement {
  const cJSON *change;
  double by;
  size_t index;
};

static int by_movement(const void *a, const void *b) {
  const struct movement *x = a, *y = b;
  return x->by != y->by ? (x->by < y->by) - (x->by > y->by) : (x->index > y->index) - (x->index < y->index);
}

/* The largest movements first. */
static bool print_changes(const cJSON *changes, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {
      {"<change", "change", NULL},    {"<scheme", "label", NULL},  {"ranks", "ranks", "%.0f"},
      {"<tensor", "tensor", NULL},    {"<at", "place", NULL},      {"<moved", "moved", NULL},
      {"was", "was", NULL},           {"now", "now", NULL},        {"by", "by", "%+.3g%%"},
      {"?<its range", "range", NULL}, {"others", "others", "%.0f"}};
  size_t count = (size_t)cJSON_GetArraySize(changes), n = 0;
  SS_AUTO_FREE struct movement *sorted = ss_alloc(count, sizeof *sorted);
  if (!sorted) return ss_fail_memory(error, "printing results");
  for (const cJSON *c = changes->child; c; c = c->next, n++) {
    const cJSON *most = most_moved(c);
    const double by = most ? fabs(ss_json_number(most, "relative")) : INFINITY;
    sorted[n] = (struct movement){c, isfinite(by) ? by : INFINITY, n};
  }
  qsort(sorted, count, sizeof *sorted, by_movement);
  cJSON *rows = cJSON_CreateArray();
  for (size_t i = 0; i < count && i < SHOWN; i++) cJSON_AddItemToArray(rows, row_of(sorted[i].change));
  fputc('\n', stream);
  if (!ss_records_print(columns, rows, false, stream, error)) return false;
  if (count > SHOWN) fprintf(stream, "... and %zu more (--format csv or json has all)\n", count - SHOWN);
  return true;
}

bool ss_diff_table(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_diff *diff = report;
  const cJSON *changes = ss_json_get(diff->tree, "changes");
  fprintf(stream, "%s against %s: %zu point%s the same, %zu moved, %zu new, %zu missing.\n",
          text_of(diff->tree, "scenario"), text_of(diff->tree, "baseline"), diff->same, diff->same == 1 ? "" : "s",
          diff->moved, diff->fresh, diff->missing);
  print_inputs(ss_json_get(diff->tree, "inputs"), changes->child != NULL, stream);
  if (!changes->child) return true;
  if (!print_changes(changes, stream, error)) return false;
  print_differing(changes, stream);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
