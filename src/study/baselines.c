#include "study/baselines.h"

#include "base/memory.h"
#include "report/exact.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- which point is which --------------------------------------------------------------------------------- */

struct keyed {
  char *key; /* the JSON of what makes a point the same one */
  const struct ss_point *point;
  struct ss_node stored;
  size_t place;
  bool met;
};

struct list {
  struct keyed *entry;
  size_t count;
};

static char *key_of(const char *label, double ranks, const char *tensor, const cJSON *at) {
  cJSON *list = cJSON_CreateArray();
  cJSON_AddItemToArray(list, cJSON_CreateString(label));
  cJSON_AddItemToArray(list, cJSON_CreateNumber(ranks));
  cJSON_AddItemToArray(list, cJSON_CreateString(tensor));
  cJSON_AddItemToArray(list, at ? cJSON_Duplicate(at, 1) : cJSON_CreateObject());
  char *text = list ? ss_json_exact(list, false) : NULL;
  cJSON_Delete(list);
  return text;
}

static bool stored_key(struct ss_node node, char **key, struct ss_error *error) {
  struct ss_node label, ranks, tensor, at;
  const char *name, *of;
  uint64_t count;
  if (!ss_node_need(node, "label", &label, error) || !ss_node_text(label, &name, error) ||
      !ss_node_need(node, "ranks", &ranks, error) || !ss_node_count(ranks, 1, UINT32_MAX, &count, error) ||
      !ss_node_need(node, "tensor", &tensor, error) || !ss_node_text(tensor, &of, error) ||
      !ss_node_need(node, "at", &at, error))
    return false;
  if (!ss_node_is_object(at)) return ss_node_fail(at, error, "expected an object: a place in the sweep");
  *key = key_of(name, (double)count, of, at.at);
  return *key || ss_fail_memory(error, "comparing results");
}

static int by_key(const void *a, const void *b) {
  const struct keyed *x = a, *y = b;
  const int order = strcmp(x->key, y->key);
  return order ? order : x->place < y->place ? -1 : x->place > y->place;
}

static int by_place(const void *a, const void *b) {
  const struct keyed *x = a, *y = b;
  return x->place < y->place ? -1 : x->place > y->place;
}

static void free_list(struct list *list) {
  for (size_t i = 0; list->entry && i < list->count; i++) free(list->entry[i].key);
  free(list->entry);
}

static bool list_stored(struct ss_node points, struct list *out, struct ss_error *error) {
  out->entry = ss_alloc_zero(ss_node_size(points), sizeof *out->entry);
  if (!out->entry) return ss_fail_memory(error, "comparing results");
  for (struct ss_node n = ss_node_first(points); ss_node_present(n); n = ss_node_next(n)) {
    struct keyed *k = &out->entry[out->count];
    *k = (struct keyed){.stored = n, .place = out->count};
    if (!stored_key(n, &k->key, error)) return false;
    out->count++;
  }
  qsort(out->entry, out->count, sizeof *out->entry, by_key);
  return true;
}

/* --- what moved ------------------------------------------------------------------------------------------- */

/* Counts are exact; all else went through floating-point arithmetic that a compiler may arrange otherwise. */
static bool counted(const char *name) {
  static const char *const names[] = {"messages", "rounds", "k"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], name) == 0) return true;
  return strstr(name, "bytes") != NULL;
}

static bool moved(double was, double now, double tolerance) {
  if (isnan(was) || isnan(now)) return isnan(was) != isnan(now);
  return fabs(now - was) > tolerance * fmax(fabs(was), fabs(now));
}

static bool same_verdict(struct ss_node stored, enum ss_verdict now) {
  const struct ss_node exact = ss_node_get(stored, "exact");
  bool was = false;
  if (!ss_node_present(exact)) return true;
  if (!ss_node_is_flag(exact)) return now == SS_UNKNOWN;
  return ss_node_flag(exact, &was, NULL) && now == (was ? SS_YES : SS_NO);
}

static bool compare(struct ss_node stored, const struct ss_point *p, double tolerance, struct ss_changed_point *out,
                    struct ss_error *error) {
  const char *name, *near;
  size_t all = 0;
  while (ss_point_field_name(all)) all++;
  *out = (struct ss_changed_point){.change = SS_MOVED, .point = p, .stored = stored};
  out->field = ss_alloc_zero(all, sizeof *out->field);
  if (!out->field) return ss_fail_memory(error, "comparing results");
  for (size_t i = 0; (name = ss_point_field_name(i)); i++) {
    const struct ss_node field = ss_node_get(stored, name);
    struct ss_moved_field f = {.name = name, .was = NAN};
    if (!ss_node_present(field)) continue;
    if (!ss_node_is_null(field) && !ss_node_is_number(field))
      return ss_node_fail(field, error, "expected a number or null");
    if (!ss_node_is_null(field) && !ss_node_quantity(field, SS_NUMBER, &f.was, error)) return false;
    (void)ss_point_field(p, name, &f.now, &near);
    if (!isfinite(f.now)) f.now = NAN;
    if (moved(f.was, f.now, counted(name) ? 0 : tolerance)) out->field[out->fields++] = f;
  }
  out->judged_by_default = !same_verdict(stored, p->exact);
  return true;
}

static bool add_point(struct ss_diff *diff, struct list *stored, const struct ss_point *p, struct ss_error *error) {
  struct ss_changed_point *c = &diff->changed[diff->count];
  struct keyed wanted = {.key = key_of(p->setting.label, p->ranks, p->tensor, p->at)};
  if (!wanted.key) return ss_fail_memory(error, "comparing results");
  size_t low = 0, high = stored->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (strcmp(stored->entry[middle].key, wanted.key) < 0) low = middle + 1;
    else high = middle;
  }
  struct keyed *found = low < stored->count ? &stored->entry[low] : NULL;
  const bool known = found && strcmp(found->key, wanted.key) == 0;
  free(wanted.key);
  if (!known) {
    *c = (struct ss_changed_point){.change = SS_NEW, .point = p};
    diff->count++;
    diff->fresh++;
    return true;
  }
  found->met = true;
  if (!compare(found->stored, p, diff->tolerance, c, error)) {
    free(c->field);
    return false;
  }
  if (c->fields > 0 || c->judged_by_default) {
    diff->count++;
    diff->moved++;
  } else {
    free(c->field);
    diff->same++;
  }
  return true;
}

static void add_missing(struct ss_diff *diff, struct list *stored) {
  qsort(stored->entry, stored->count, sizeof *stored->entry, by_place);
  for (size_t i = 0; i < stored->count; i++) {
    if (stored->entry[i].met) continue;
    diff->changed[diff->count++] = (struct ss_changed_point){.change = SS_MISSING, .stored = stored->entry[i].stored};
    diff->missing++;
  }
}

bool ss_diff_make(struct ss_doc *doc, const struct ss_points *points, double tolerance, struct ss_diff *out,
                  struct ss_error *error) {
  const struct ss_node list = ss_node_get(ss_doc_root(doc), "points");
  struct list stored = {0};
  *out = (struct ss_diff){.baseline = ss_doc_name(doc), .tolerance = tolerance};
  out->changed = ss_alloc_zero(points->count + ss_node_size(list), sizeof *out->changed);
  bool ok = out->changed ? list_stored(list, &stored, error) : ss_fail_memory(error, "comparing results");
  for (size_t i = 0; ok && i < points->count; i++) ok = add_point(out, &stored, &points->point[i], error);
  if (ok) add_missing(out, &stored);
  free_list(&stored);
  if (!ok) ss_diff_free(out);
  return ok;
}

void ss_diff_free(struct ss_diff *diff) {
  for (size_t i = 0; diff->changed && i < diff->count; i++) free(diff->changed[i].field);
  free(diff->changed);
  *diff = (struct ss_diff){0};
}

/* --- JSON and CSV ------------------------------------------------------------------------------------------- */

static const char *const changes[] = {"moved", "new", "missing"};

static double relative(const struct ss_moved_field *f) {
  return f->was != 0 ? f->now / f->was - 1 : NAN;
}

static void add_number(cJSON *o, const char *name, double value) {
  cJSON_AddItemToObject(o, name, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
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
  add_number(o, "was", was);
  add_number(o, "now", now);
  add_number(o, "relative", change);
  cJSON_AddItemToArray(list, o);
}

static cJSON *changed_json(const struct ss_changed_point *c) {
  static const char *const names[] = {"label", "ranks", "tensor", "at"};
  cJSON *o = cJSON_CreateObject(), *now = c->point ? ss_point_json(c->point) : NULL;
  const cJSON *from = now ? now : c->stored.at;
  cJSON_AddStringToObject(o, "change", changes[c->change]);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    cJSON_AddItemToObject(o, names[i], cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(from, names[i]), 1));
  cJSON *fields = cJSON_AddArrayToObject(o, "fields"), *differs = cJSON_AddArrayToObject(o, "differs");
  for (size_t i = 0; i < c->fields; i++)
    add_field(fields, c->field[i].name, c->field[i].was, c->field[i].now, relative(&c->field[i]));
  if (c->judged_by_default) cJSON_AddItemToArray(differs, cJSON_CreateString("exact"));
  if (now) add_differing(differs, c, now);
  cJSON_Delete(now);
  return o;
}

bool ss_diff_json(const struct ss_diff *diff, const char *scenario, FILE *stream, struct ss_error *error) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "sparsync", SS_VERSION);
  cJSON_AddStringToObject(root, "scenario", scenario);
  cJSON_AddStringToObject(root, "baseline", diff->baseline);
  cJSON_AddNumberToObject(root, "tolerance", diff->tolerance);
  cJSON_AddNumberToObject(root, "same", (double)diff->same);
  cJSON_AddNumberToObject(root, "moved", (double)diff->moved);
  cJSON_AddNumberToObject(root, "new", (double)diff->fresh);
  cJSON_AddNumberToObject(root, "missing", (double)diff->missing);
  cJSON *list = cJSON_AddArrayToObject(root, "changes");
  for (size_t i = 0; i < diff->count; i++) cJSON_AddItemToArray(list, changed_json(&diff->changed[i]));
  SS_AUTO_FREE char *text = root && list ? ss_json_exact(root, true) : NULL;
  cJSON_Delete(root);
  if (!text) return ss_fail_memory(error, "writing results");
  fprintf(stream, "%s\n", text);
  return true;
}

/* A line a field that moved; points that are new or missing, or were judged otherwise, have one without. */
static void add_lines(cJSON *list, const struct ss_changed_point *c) {
  cJSON *o = changed_json(c), *fields = cJSON_DetachItemFromObjectCaseSensitive(o, "fields");
  cJSON_DeleteItemFromObjectCaseSensitive(o, "differs");
  if (cJSON_GetArraySize(fields) == 0) add_field(fields, c->judged_by_default ? "exact" : "", NAN, NAN, NAN);
  for (const cJSON *f = fields ? fields->child : NULL; f; f = f->next) {
    cJSON *line = cJSON_Duplicate(o, 1);
    for (const cJSON *v = f->child; v; v = v->next) cJSON_AddItemToObject(line, v->string, cJSON_Duplicate(v, 1));
    cJSON_AddItemToArray(list, line);
  }
  cJSON_Delete(fields);
  cJSON_Delete(o);
}

bool ss_diff_csv(const struct ss_diff *diff, FILE *stream, struct ss_error *error) {
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

/* --- the table ---------------------------------------------------------------------------------------------- */

/* With the digits in which small moves show. */
static void value_cell(struct ss_table *table, const char *name, double value) {
  const size_t length = strlen(name);
  const bool is_time = length > 2 && strcmp(name + length - 2, "_s") == 0;
  if (!isfinite(value)) ss_table_cell(table, "-");
  else if (counted(name)) ss_table_cell(table, "%.15g", value);
  else if (is_time) ss_table_cell(table, "%.6g ms", 1e3 * value);
  else ss_table_cell(table, "%.6g", value);
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
  ss_table_cell(table, "%s", text_of(change, "change"));
  ss_table_cell(table, "%s", text_of(change, "label"));
  ss_table_cell(table, "%.0f", cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(change, "ranks")));
  ss_table_cell(table, "%s", text_of(change, "tensor"));
  at_cell(table, cJSON_GetObjectItemCaseSensitive(change, "at"));
}

/* The time, if it moved; else the field that did most: of those with a value before and after. */
static const struct ss_moved_field *most_moved(const struct ss_changed_point *c) {
  const struct ss_moved_field *most = c->fields ? c->field : NULL;
  for (size_t i = 0; i < c->fields; i++) {
    if (strcmp(c->field[i].name, "time_s") == 0) return &c->field[i];
    if (!isfinite(relative(most)) || fabs(relative(&c->field[i])) > fabs(relative(most))) most = &c->field[i];
  }
  return most;
}

static void add_move(struct ss_table *table, const struct ss_changed_point *c) {
  const struct ss_moved_field *most = most_moved(c);
  if (!most) {
    ss_table_cell(table, "%s", c->judged_by_default ? "exact" : "-");
    for (int i = 0; i < 4; i++) ss_table_cell(table, "-");
    return;
  }
  ss_table_cell(table, "%s", most->name);
  value_cell(table, most->name, most->was);
  value_cell(table, most->name, most->now);
  if (isfinite(relative(most))) ss_table_cell(table, "%+.3g%%", 100 * relative(most));
  else ss_table_cell(table, "-");
  ss_table_cell(table, "%zu", c->fields - 1 + c->judged_by_default);
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

bool ss_diff_table(const struct ss_diff *diff, const char *scenario, FILE *stream, struct ss_error *error) {
  static const char *const heads[] = {"<change", "<scheme", "ranks", "<tensor", "<at",
                                      "<moved",  "was",     "now",   "by",      "others"};
  fprintf(stream, "%s against %s: %zu point%s the same, %zu moved, %zu new, %zu missing.\n", scenario, diff->baseline,
          diff->same, diff->same == 1 ? "" : "s", diff->moved, diff->fresh, diff->missing);
  if (diff->count == 0) return true;
  struct ss_table *table = ss_table_new(sizeof heads / sizeof *heads, heads);
  if (!table) return ss_fail_memory(error, "printing results");
  for (size_t i = 0; i < diff->count; i++) {
    cJSON *o = changed_json(&diff->changed[i]);
    add_place(table, o);
    add_move(table, &diff->changed[i]);
    cJSON_Delete(o);
  }
  fputc('\n', stream);
  bool ok = ss_table_print(table, stream, error);
  ss_table_free(table);
  return ok && print_differing(diff, stream, error);
}
