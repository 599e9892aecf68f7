#include "report/points.h"

#include "base/memory.h"
#include "report/exact.h"
#include "report/flat.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The numeric fields, in the order of the schema. */
static const struct field {
  const char *name;
  size_t offset;
} fields[] = {
    {"time_s", offsetof(struct ss_point, time)},
    {"time_min_s", offsetof(struct ss_point, time_min)},
    {"time_max_s", offsetof(struct ss_point, time_max)},
    {"kernel_s", offsetof(struct ss_point, kernel)},
    {"messages", offsetof(struct ss_point, messages)},
    {"rounds", offsetof(struct ss_point, rounds)},
    {"bytes_total", offsetof(struct ss_point, bytes)},
    {"bytes_sent_max", offsetof(struct ss_point, sent_max)},
    {"bytes_received_max", offsetof(struct ss_point, received_max)},
    {"server_bytes_max", offsetof(struct ss_point, server_max)},
    {"density", offsetof(struct ss_point, density)},
    {"gamma", offsetof(struct ss_point, gamma)},
    {"push_imbalance", offsetof(struct ss_point, push_imbalance)},
    {"pull_imbalance", offsetof(struct ss_point, pull_imbalance)},
    {"error_l2", offsetof(struct ss_point, error_l2)},
    {"error_mean", offsetof(struct ss_point, error_mean)},
    {"energy", offsetof(struct ss_point, energy)},
    {"energy_lost", offsetof(struct ss_point, energy_lost)},
    {"k", offsetof(struct ss_point, k)},
    {"formula_s", offsetof(struct ss_point, formula_s)},
    {"formula_low_s", offsetof(struct ss_point, formula_low_s)},
    {"formula_high_s", offsetof(struct ss_point, formula_high_s)},
    {"paper_s", offsetof(struct ss_point, paper_s)},
    {"paper_low_s", offsetof(struct ss_point, paper_low_s)},
    {"paper_high_s", offsetof(struct ss_point, paper_high_s)},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static double value_of(const struct ss_point *point, const struct field *field) {
  double value;
  memcpy(&value, (const char *)point + field->offset, sizeof value);
  return value;
}

bool ss_point_field(const struct ss_point *point, const char *name, double *out, const char **near) {
  const char *names[FIELDS + 1] = {NULL};
  for (size_t i = 0; i < FIELDS; i++) {
    names[i] = fields[i].name;
    if (strcmp(fields[i].name, name) != 0) continue;
    *out = value_of(point, &fields[i]);
    return true;
  }
  *near = ss_nearest(name, names);
  return false;
}

const char *ss_point_field_name(size_t place) {
  return place < FIELDS ? fields[place].name : NULL;
}

void ss_point_set_field(struct ss_point *point, size_t place, double value) {
  memcpy((char *)point + fields[place].offset, &value, sizeof value);
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void add_number(cJSON *object, const char *name, double value) {
  if (isfinite(value)) cJSON_AddNumberToObject(object, name, value);
  else cJSON_AddNullToObject(object, name);
}

static void add_text(cJSON *object, const char *name, const char *text) {
  if (text) cJSON_AddStringToObject(object, name, text);
  else cJSON_AddNullToObject(object, name);
}

static void add_verdict(cJSON *object, const char *name, enum ss_verdict verdict) {
  if (verdict == SS_UNKNOWN) cJSON_AddNullToObject(object, name);
  else cJSON_AddBoolToObject(object, name, verdict == SS_YES);
}

static const char *const hierarchies[] = {"none", "shard", "leader"};

static void add_options(cJSON *object, const struct ss_setting *s) {
  cJSON *options = cJSON_AddObjectToObject(object, "options");
  const struct ss_option *option = s->scheme->options;
  for (size_t i = 0; option && option[i].name; i++) {
    if (option[i].kind == SS_OPTION_CHOICE)
      cJSON_AddStringToObject(options, option[i].name, option[i].choices[s->value[i]]);
    else if (option[i].kind == SS_OPTION_FLAG) cJSON_AddBoolToObject(options, option[i].name, s->value[i] != 0);
    else if (option[i].kind == SS_OPTION_REAL) cJSON_AddNumberToObject(options, option[i].name, s->real[i]);
    else if (s->given[i]) cJSON_AddNumberToObject(options, option[i].name, (double)s->value[i]);
  }
  cJSON_AddNumberToObject(options, "index_bytes", s->index_bytes);
  cJSON_AddStringToObject(options, "granularity", s->element ? "element" : "row");
  cJSON_AddStringToObject(options, "sizes", s->exchange_sizes ? "exchanged" : "free");
  cJSON_AddStringToObject(options, "hierarchy", hierarchies[s->hierarchy]);
}

static void add_array(cJSON *object, const char *name, const double *values, uint64_t count) {
  if (!values) return;
  cJSON_AddItemToObject(object, name, cJSON_CreateDoubleArray(values, (int)count));
}

cJSON *ss_point_json(const struct ss_point *p) {
  cJSON *o = cJSON_CreateObject();
  char hash[32], whole[64];
  if (!o) return NULL;
  cJSON_AddStringToObject(o, "scheme", p->setting.scheme->name);
  cJSON_AddStringToObject(o, "label", p->setting.label);
  add_options(o, &p->setting);
  cJSON_AddNumberToObject(o, "ranks", p->ranks);
  cJSON_AddStringToObject(o, "tensor", p->tensor);
  cJSON_AddItemToObject(o, "at", p->at ? cJSON_Duplicate(p->at, 1) : cJSON_CreateObject());
  cJSON_AddStringToObject(o, "cluster", p->cluster);
  cJSON_AddStringToObject(o, "device", p->device);
  cJSON_AddStringToObject(o, "trace", p->trace);
  snprintf(hash, sizeof hash, "xxh64:%016llx", (unsigned long long)p->trace_hash);
  add_text(o, "trace_hash", p->trace_hash ? hash : NULL);
  cJSON_AddNumberToObject(o, "seed", (double)p->seed);
  cJSON_AddNumberToObject(o, "iterations", (double)p->iterations);
  snprintf(whole, sizeof whole, "xxh128:%016llx%016llx", (unsigned long long)p->hash[0],
           (unsigned long long)p->hash[1]);
  add_text(o, "point_hash", p->hash[0] || p->hash[1] ? whole : NULL);
  for (size_t i = 0; i < FIELDS; i++) add_number(o, fields[i].name, value_of(p, &fields[i]));
  cJSON_AddBoolToObject(o, "lossless", p->lossless);
  add_verdict(o, "exact", p->exact);
  add_text(o, "formula", p->formula);
  add_text(o, "formula_low", p->formula_low);
  add_text(o, "formula_high", p->formula_high);
  add_text(o, "paper", p->paper);
  add_text(o, "erratum", p->erratum);
  add_array(o, "iteration_s", p->iteration_s, p->iterations);
  add_array(o, "rank_bytes_sent", p->rank_sent, p->ranks);
  add_array(o, "rank_bytes_received", p->rank_received, p->ranks);
  return o;
}

/* What cJSON prints of the document, up to the list's first or from behind its last entry on. */
static bool print_frame(const struct ss_points_writer *w, bool opening, struct ss_error *error) {
  cJSON *root = cJSON_CreateObject();
  if (!root) return ss_fail_memory(error, "writing results");
  cJSON_AddStringToObject(root, "sparsync", SS_VERSION);
  cJSON_AddStringToObject(root, "scenario", w->scenario);
  cJSON_AddArrayToObject(root, "points");
  SS_AUTO_FREE char *text = cJSON_Print(root);
  cJSON_Delete(root);
  const char *gap = text ? strrchr(text, ']') : NULL;
  if (!gap) return ss_fail_memory(error, "writing results");
  if (opening) fprintf(w->stream, "%.*s", (int)(gap - text), text);
  else fprintf(w->stream, "%s\n", gap);
  return true;
}

/* The frame waits for the first point: a run that fails at once prints nothing. */
static bool json_begin(struct ss_points_writer *w, const struct ss_points *blank, struct ss_error *error) {
  (void)w;
  (void)blank;
  (void)error;
  return true;
}

/* The point as it stands in a list in an object, so that it is indented as there. */
static bool print_point(struct ss_points_writer *w, const struct ss_point *p, struct ss_error *error) {
  cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "points"), *point = ss_point_json(p);
  if (point && !cJSON_AddItemToArray(list, point)) cJSON_Delete(point);
  SS_AUTO_FREE char *text = root && list && point ? ss_json_exact(root, true) : NULL;
  cJSON_Delete(root);
  const char *from = text ? strchr(text, '[') : NULL, *to = text ? strrchr(text, ']') : NULL;
  if (!from || !to) return ss_fail_memory(error, "writing results");
  fprintf(w->stream, "%s%.*s", w->written++ ? ", " : "", (int)(to - from - 1), from + 1);
  return true;
}

static bool json_more(struct ss_points_writer *w, const struct ss_point *points, size_t count,
                      struct ss_error *error) {
  if (w->written == 0 && count > 0 && !print_frame(w, true, error)) return false;
  for (size_t i = 0; i < count; i++)
    if (!print_point(w, &points[i], error)) return false;
  return true;
}

static bool json_end(struct ss_points_writer *w, const struct ss_points *points, struct ss_error *error) {
  (void)points;
  return (w->written > 0 || print_frame(w, true, error)) && print_frame(w, false, error);
}

const struct ss_points_form ss_points_json = {json_begin, json_more, json_end};

/* --- CSV ------------------------------------------------------------------------------------------------ */

static bool csv_begin(struct ss_points_writer *w, const struct ss_points *blank, struct ss_error *error) {
  for (size_t i = 0; i < blank->count; i++) {
    cJSON *point = ss_point_json(&blank->point[i]);
    const bool ok = point ? ss_columns_add(&w->columns, point, error) : ss_fail_memory(error, "writing results");
    cJSON_Delete(point);
    if (!ok) return false;
  }
  return true;
}

static bool csv_more(struct ss_points_writer *w, const struct ss_point *points, size_t count,
                     struct ss_error *error) {
  cJSON *list = cJSON_CreateArray();
  if (!list) return ss_fail_memory(error, "writing results");
  for (size_t i = 0; i < count; i++) cJSON_AddItemToArray(list, ss_point_json(&points[i]));
  bool ok = ss_flat_rows(&w->columns, list, w->written == 0, w->stream, error);
  w->written += count;
  cJSON_Delete(list);
  return ok;
}

static bool csv_end(struct ss_points_writer *w, const struct ss_points *points, struct ss_error *error) {
  (void)w;
  (void)points;
  (void)error;
  return true;
}

const struct ss_points_form ss_points_csv = {csv_begin, csv_more, csv_end};

/* --- all at once ---------------------------------------------------------------------------------------- */

void ss_points_writer_free(struct ss_points_writer *w) {
  ss_columns_free(&w->columns);
}

bool ss_points_print(const struct ss_points_form *form, const struct ss_points *points, const char *scenario,
                     FILE *stream, struct ss_error *error) {
  struct ss_points_writer writer = {.stream = stream, .scenario = scenario};
  const bool ok = form->begin(&writer, points, error) && form->more(&writer, points->point, points->count, error) &&
                  form->end(&writer, points, error);
  ss_points_writer_free(&writer);
  return ok;
}
