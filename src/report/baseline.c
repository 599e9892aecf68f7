#include "report/baseline.h"

#include "base/json_text.h"
#include "base/memory.h"
#include "report/results_table.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- JSON and CSV ------------------------------------------------------------------------------------------- */

static const char *const changes[] = {"moved", "new", "missing"};

static double relative(const struct ss_moved_field *f) {
  return f->was != 0 ? f->now / f->was - 1 : NAN;
}

/* What else is not what it was: why the numbers may have moved. */
static void add_differing(cJSON *list, const struct ss_changed_point *c, const cJSON *now) {
  static const char *const names[] = {"scheme", "options",    "cluster", "device", "trace",
                                      "seed",   "trace_hash", "paper",   "formula"};
  for (size_t i = 0; c->stored.at && i < sizeof names / sizeof *names; i++) {
    const cJSON *a = cJSON_GetObjectItemCaseSensitive(c->stored.at, names[i]);
    const cJSON *b = cJSON_GetObjectItemCaseSensitive(now, names[i]);
    if (a && b && !cJSON_Compare(a, b, 1)) cJSON_AddItemToArray(list, cJSON_CreateString(names[i]));
  }
}

static void add_field(cJSON *list, const char *name, double was, double now, double change) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "field", name);
  ss_json_add_number(o, "was", was);
  ss_json_add_number(o, "now", now);
  ss_json_add_number(o, "relative", change);
  cJSON_AddItemToArray(list, o);
}

static cJSON *changed_json(const struct ss_changed_point *c) {
  static const char *const names[] = {"label", "ranks", "tensor", "at"};
  cJSON *o = cJSON_CreateObject(), *now = c->point ? ss_result_json(c->point) : NULL;
  const cJSON *from = now ? now : c->stored.at;
  cJSON_AddStringToObject(o, "change", changes[c->change]);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    cJSON_AddItemToObject(o, names[i], cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(from, names[i]), 1));
  cJSON *fields = cJSON_AddArrayToObject(o, "fields"), *differs = cJSON_AddArrayToObject(o, "differs");
  for (size_t i = 0; i < c->fields; i++)
    add_field(fields, c->field[i].field->name, c->field[i].was, c->field[i].now, relative(&c->field[i]));
  if (c->verdict_changed) cJSON_AddItemToArray(differs, cJSON_CreateString("exact"));
  if (now) add_differing(differs, c, now);
  cJSON_Delete(now);
  return o;
}

bool ss_diff_json(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_diff_report *r = report;
  const struct ss_diff *diff = r->diff;
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "sparsync", SS_VERSION);
  cJSON_AddStringToObject(root, "scenario", r->scenario);
  cJSON_AddStringToObject(root, "baseline", diff->baseline);
  cJSON_AddNumberToObject(root, "tolerance", diff->tolerance);
  cJSON_AddNumberToObject(root, "same", (double)diff->same);
  cJSON_AddNumberToObject(root, "moved", (double)diff->moved);
  cJSON_AddNumberToObject(root, "new", (double)diff->fresh);
  cJSON_AddNumberToObject(root, "missing", (double)diff->missing);
  cJSON_AddItemToObject(root, "inputs", diff->inputs ? cJSON_Duplicate(diff->inputs, true) : cJSON_CreateNull());
  cJSON *list = cJSON_AddArrayToObject(root, "changes");
  for (size_t i = 0; i < diff->count; i++) cJSON_AddItemToArray(list, changed_json(&diff->changed[i]));
  return ss_json_print_exact(root, stream, error);
}

/* A line a field that moved; points that are new or missing, or have another verdict, have one without. */
static void add_lines(cJSON *list, const struct ss_changed_point *c) {
  cJSON *o = changed_json(c), *fields = cJSON_DetachItemFromObjectCaseSensitive(o, "fields");
  cJSON_DeleteItemFromObjectCaseSensitive(o, "differs");
  if (cJSON_GetArraySize(fields) == 0) add_field(fields, c->verdict_changed ? "exact" : "", NAN, NAN, NAN);
  for (const cJSON *f = fields ? fields->child : NULL; f; f = f->next) {
    cJSON *line = cJSON_Duplicate(o, 1);
    for (const cJSON *v = f->child; v; v = v->next) cJSON_AddItemToObject(line, v->string, cJSON_Duplicate(v, 1));
    cJSON_AddItemToArray(list, line);
  }
  cJSON_Delete(fields);
  cJSON_Delete(o);
}

bool ss_diff_csv(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_diff *diff = ((const struct ss_diff_report *)report)->diff;
  static const char *const heads[] = {"change", "label", "ranks", "tensor", "field", "was", "now", "relative"};
  cJSON *list = cJSON_CreateArray();
  struct ss_columns columns = {0};
  bool ok = list || ss_fail_memory(error, "writing results");
  for (size_t i = 0; ok && i < diff->count; i++) add_lines(list, &diff->changed[i]);
  cJSON *blank = cJSON_CreateObject();
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) cJSON_AddNullToObject(blank, heads[i]);
  ok = ok && ss_columns_add(&columns, blank, error);
  for (const cJSON *line = list ? list->child : NULL; ok && line; line = line->next)
    ok = ss_columns_add(&columns, line, error);
  ok = ok && ss_flat_rows(&columns, list, true, stream, error);
  ss_columns_free(&columns);
  cJSON_Delete(blank);
  cJSON_Delete(list);
  return ok;
}

/* Changes that a table shows. */
enum { SHOWN = 20 };

/* --- the table ---------------------------------------------------------------------------------------------- */

/* With the digits in which small moves show. */
static void value_cell(struct ss_table *table, const struct ss_result_field *field, double value) {
  const size_t length = strlen(field->name);
  const bool is_time = length > 2 && strcmp(field->name + length - 2, "_s") == 0;
  if (field->is & SS_FIELD_COUNTS) ss_table_number(table, "%.15g", value);
  else if (is_time) ss_table_number(table, "%.6g ms", 1e3 * value);
  else ss_table_number(table, "%.6g", value);
}

static void at_cell(struct ss_table *table, const cJSON *at) {
  char *text = NULL;
  size_t length;
  FILE *stream = open_memstream(&text, &length);
  if (stream) {
    ss_at_print(at, true, stream);
    fclose(stream);
  }
  ss_table_cell(table, "%s", text && *text ? text : "-");
  free(text);
}

static const char *text_of(const cJSON *change, const char *name) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(change, name));
  return text ? text : "-";
}

static void add_place(struct ss_table *table, const cJSON *change) {
  ss_table_texts(table, text_of(change, "change"), text_of(change, "label"));
  ss_table_cell(table, "%.0f", cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(change, "ranks")));
  ss_table_cell(table, "%s", text_of(change, "tensor"));
  at_cell(table, cJSON_GetObjectItemCaseSensitive(change, "at"));
}

/* The time, if it moved; else the field that did most: of those with a value before and after. */
static const struct ss_moved_field *most_moved(const struct ss_changed_point *c) {
  const struct ss_moved_field *most = c->fields ? c->field : NULL;
  for (size_t i = 0; i < c->fields; i++) {
    if (strcmp(c->field[i].field->name, "time_s") == 0) return &c->field[i];
    if (!isfinite(relative(most)) || fabs(relative(&c->field[i])) > fabs(relative(most))) most = &c->field[i];
  }
  return most;
}

static void add_move(struct ss_table *table, const struct ss_changed_point *c) {
  const struct ss_moved_field *most = most_moved(c);
  if (!most) {
    ss_table_cell(table, "%s", c->verdict_changed ? "exact" : "-");
    for (int i = 0; i < 4; i++) ss_table_cell(table, "-");
    return;
  }
  ss_table_cell(table, "%s", most->field->name);
  value_cell(table, most->field, most->was);
  value_cell(table, most->field, most->now);
  ss_table_number(table, "%+.3g%%", 100 * relative(most));
  ss_table_cell(table, "%zu", c->fields - 1 + c->verdict_changed);
}

/* "zen: options, trace_hash"; the caller's, NULL when nothing differs. */
static char *differing(const struct ss_changed_point *c) {
  cJSON *o = changed_json(c);
  char *text = NULL;
  size_t length;
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "differs");
  FILE *stream = list && list->child ? open_memstream(&text, &length) : NULL;
  if (stream) {
    fprintf(stream, "%s:", text_of(o, "label"));
    for (const cJSON *n = list->child; n; n = n->next) fprintf(stream, " %s%s", n->valuestring, n->next ? "," : "");
    fclose(stream);
  }
  cJSON_Delete(o);
  return text;
}

/* Each once, however many points it concerns. */
static bool print_differing(const struct ss_diff *diff, FILE *stream, struct ss_error *error) {
  SS_AUTO_FREE char **said = ss_alloc_zero(diff->count, sizeof(char *));
  size_t n = 0;
  if (!said) return ss_fail_memory(error, "printing results");
  for (size_t i = 0; i < diff->count; i++) {
    char *text = diff->changed[i].change == SS_MOVED ? differing(&diff->changed[i]) : NULL;
    bool again = !text;
    for (size_t k = 0; k < n && !again; k++) again = strcmp(said[k], text) == 0;
    if (again) {
      free(text);
      continue;
    }
    fprintf(stream, "%s%s\n", n == 0 ? "\nnot what they were:\n  " : "  ", text);
    said[n++] = text;
  }
  for (size_t k = 0; k < n; k++) free(said[k]);
  return true;
}

static void print_value(const cJSON *value, FILE *stream) {
  SS_AUTO_FREE char *text = cJSON_IsNull(value) ? NULL : cJSON_PrintUnformatted(value);
  if (!text) fputs("nothing", stream);
  else fprintf(stream, "%.80s%s", text, strlen(text) > 80 ? "..." : "");
}

/* What explains the rest comes first. */
static void print_inputs(const struct ss_diff *diff, FILE *stream) {
  if (!diff->inputs) fputs("\nIts inputs are not stored with it: --save-baseline stores them now.\n", stream);
  else if (diff->inputs->child) fputs("\ninputs that changed:\n", stream);
  else if (diff->count > 0)
    fputs("\nNo input changed: the program, a closed form or the contents of a trace did.\n", stream);
  for (const cJSON *i = diff->inputs ? diff->inputs->child : NULL; i; i = i->next) {
    fprintf(stream, "  %s: ", text_of(i, "input"));
    print_value(cJSON_GetObjectItemCaseSensitive(i, "was"), stream);
    fputs(" is now ", stream);
    print_value(cJSON_GetObjectItemCaseSensitive(i, "now"), stream);
    fputc('\n', stream);
  }
}

/* How far it moved; endless where there is nothing to compare, so that it comes first. */
static double movement(const struct ss_changed_point *c) {
  const struct ss_moved_field *most = most_moved(c);
  return most && isfinite(relative(most)) ? fabs(relative(most)) : INFINITY;
}

static int by_movement(const void *a, const void *b) {
  const struct ss_changed_point *const *x = a, *const *y = b;
  const double left = movement(*x), right = movement(*y);
  return left != right ? (left < right) - (left > right) : (*x > *y) - (*x < *y);
}

/* The largest movements first. */
static bool print_changes(const struct ss_diff *diff, FILE *stream, struct ss_error *error) {
  SS_AUTO_FREE const struct ss_changed_point **sorted = ss_alloc(diff->count, sizeof *sorted);
  if (!sorted) return ss_fail_memory(error, "printing results");
  for (size_t i = 0; i < diff->count; i++) sorted[i] = &diff->changed[i];
  qsort(sorted, diff->count, sizeof *sorted, by_movement);
  struct ss_table *table =
      ss_table_of("<change", "<scheme", "ranks", "<tensor", "<at", "<moved", "was", "now", "by", "others");
  for (size_t i = 0; i < diff->count && i < SHOWN; i++) {
    cJSON *o = changed_json(sorted[i]);
    add_place(table, o);
    add_move(table, sorted[i]);
    cJSON_Delete(o);
  }
  fputc('\n', stream);
  if (!ss_table_print_free(table, false, stream, error)) return false;
  if (diff->count > SHOWN) fprintf(stream, "... and %zu more (--format csv or json has all)\n", diff->count - SHOWN);
  return true;
}

bool ss_diff_table(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_diff_report *r = report;
  const struct ss_diff *diff = r->diff;
  fprintf(stream, "%s against %s: %zu point%s the same, %zu moved, %zu new, %zu missing.\n", r->scenario,
          diff->baseline, diff->same, diff->same == 1 ? "" : "s", diff->moved, diff->fresh, diff->missing);
  print_inputs(diff, stream);
  return diff->count == 0 || (print_changes(diff, stream, error) && print_differing(diff, stream, error));
}
