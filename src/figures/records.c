#include "figures/records.h"

#include "figures/known_fields.h"
#include "query/field.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- values of a record ------------------------------------------------------------------------------------- */

static const cJSON *field_of(const struct ss_figure_record *r, const char *field) {
  if (r->member && strcmp(field, "value") == 0) return r->member;
  const cJSON *own = cJSON_IsObject(r->member) ? ss_field_find(r->member, field) : NULL;
  if (own) return own;
  return ss_field_find(r->result, field);
}

static double number_of(const struct ss_figure_record *r, const struct ss_figure_quantity *q) {
  double value = q->value;
  const cJSON *item = q->field ? field_of(r, q->field) : NULL;
  if (q->field && r->member && strcmp(q->field, "index") == 0) value = r->index;
  else if (item && cJSON_IsNumber(item)) value = item->valuedouble;
  value = q->factor * value + q->offset;
  return isfinite(value) ? value : NAN;
}

/* NULL: it is a number, or absent. */
static const char *words_of(const struct ss_figure_record *r, const struct ss_figure_quantity *q) {
  if (!q->field) return q->text;
  const cJSON *item = field_of(r, q->field);
  if (!item) return r->member && strcmp(q->field, "key") == 0 ? r->member->string : NULL;
  if (cJSON_IsString(item)) return item->valuestring;
  if (cJSON_IsBool(item)) return cJSON_IsTrue(item) ? "true" : "false";
  return NULL;
}

static const char *renamed(struct ss_node names, const char *text) {
  const struct ss_node node = ss_node_get(names, text);
  return ss_node_is_text(node) ? node.at->valuestring : text;
}

static const char *series_of(const struct ss_figure_record *r, const struct ss_figure_mapping *m, char *buffer,
                             size_t size) {
  const char *words = words_of(r, &m->series);
  if (!words) {
    const double value = number_of(r, &m->series);
    buffer[0] = '\0';
    if (!isnan(value)) ss_figure_value(m->series.field ? m->series.field : "", value, buffer, size);
    words = buffer;
  }
  return renamed(m->names, words);
}

/* --- which records ------------------------------------------------------------------------------------------ */

static bool admitted(const struct ss_figure_record *r, struct ss_node where) {
  const cJSON index = {.type = cJSON_Number, .valuedouble = r->index},
              key = {.type = cJSON_String, .valuestring = r->member ? r->member->string : NULL};
  for (struct ss_node at = ss_node_first(where); ss_node_present(at); at = ss_node_next(at)) {
    const cJSON *found = field_of(r, ss_node_key(at));
    if (r->member && strcmp(ss_node_key(at), "index") == 0) found = &index;
    if (!found && r->member && r->member->string && strcmp(ss_node_key(at), "key") == 0) found = &key;
    if (!ss_field_is(found, at.at)) return false;
  }
  return true;
}

/* --- rows --------------------------------------------------------------------------------------------------- */

static bool keep(struct ss_plot *plot, const char *text, const char **out, struct ss_error *error) {
  *out = text ? ss_plot_text(plot, text) : NULL;
  return !text || *out ? true : ss_fail_memory(error, "collecting points");
}

static bool present(const struct ss_figure_record *r, const struct ss_figure_quantity *q, const char *words,
                    double value, struct ss_figure_search *search) {
  if (words || !isnan(value)) return true;
  search->missing = q->field;
  search->unsaid = search->unsaid || !q->field;
  search->sample = r->result;
  return false;
}

bool ss_figure_add_record(const struct ss_figure_record *r, const struct ss_figure_mapping *m, struct ss_plot *plot,
                          struct ss_plot_panel *panel, struct ss_figure_search *search, struct ss_error *error) {
  char buffer[40];
  const bool cells = panel->kind == SS_PLOT_HEAT || panel->kind == SS_PLOT_MAP, spans = panel->kind == SS_PLOT_SPANS;
  struct ss_plot_row row = {.x = number_of(r, &m->x), .y = number_of(r, &m->y)};
  const char *x = words_of(r, &m->x), *y = cells || spans ? words_of(r, &m->y) : NULL;
  row.z = number_of(r, &m->z), row.low = number_of(r, &m->low), row.high = number_of(r, &m->high);
  if (!admitted(r, m->where) || !admitted(r, m->also_where)) return true;
  if (!present(r, &m->x, x, row.x, search)) return true;
  const bool ranged = isfinite(row.low) && isfinite(row.high);
  if (spans && !ranged && !present(r, isfinite(row.low) ? &m->high : &m->low, NULL, NAN, search)) return true;
  if (!ranged && !present(r, &m->y, y, row.y, search)) return true;
  if (cells && !present(r, &m->z, NULL, row.z, search)) return true;
  search->rows++;
  return keep(plot, series_of(r, m, buffer, sizeof buffer), &row.series, error) &&
         keep(plot, x ? renamed(m->names, x) : NULL, &row.x_text, error) &&
         keep(plot, y ? renamed(m->names, y) : NULL, &row.y_text, error) && ss_plot_add(panel, &row, error);
}

bool ss_figure_add_members(const cJSON *result, const struct ss_figure_mapping *m, struct ss_plot *plot,
                           struct ss_plot_panel *panel, struct ss_figure_search *search, struct ss_error *error) {
  const cJSON *list = ss_field_find(result, m->each);
  size_t index = 0;
  if (!list || !list->child) {
    search->missing = m->each;
    search->sample = result;
    return true;
  }
  for (const cJSON *item = list->child; item; item = item->next, index++) {
    const struct ss_figure_record r = {result, item,
                                       cJSON_IsObject(list) ? strtod(item->string, NULL) : (double)index};
    if (!ss_figure_add_record(&r, m, plot, panel, search, error)) return false;
  }
  return true;
}

static void name_fields(const cJSON *object, const char *before, char *text, size_t size) {
  for (const cJSON *item = object ? object->child : NULL; item; item = item->next) {
    const size_t used = strlen(text);
    if (!item->string || used + strlen(item->string) + strlen(before) + 4 >= size) continue;
    if (cJSON_IsObject(item) && !before[0]) {
      char prefix[300];
      snprintf(prefix, sizeof prefix, "%.250s.", item->string);
      name_fields(item, prefix, text, size);
    } else if (!cJSON_IsObject(item) && !cJSON_IsNull(item)) {
      snprintf(text + used, size - used, "%s%s%s", used ? ", " : "", before, item->string);
    }
  }
}

bool ss_figure_fail_search(const struct ss_figure_search *search, struct ss_error *error) {
  char fields[700] = "";
  if (!search->missing && search->unsaid)
    return ss_fail(error, SS_BAD_INPUT,
                   "say which fields \"x\" and \"y\" are (of a map also \"z\", of spans \"low\" and \"high\")");
  if (!search->missing) return ss_fail(error, SS_BAD_INPUT, "no result is left by \"where\"");
  name_fields(search->sample, "", fields, sizeof fields);
  const char *names[128] = {NULL};
  size_t count = 0;
  const bool is_there = cJSON_HasObjectItem(search->sample, search->missing);
  for (const cJSON *item = search->sample->child; item && count < 127; item = item->next)
    if (item->string) names[count++] = item->string;
  return ss_fail(error, SS_BAD_INPUT, "no result has a value for \"%s\"%s; there are %s", search->missing,
                 is_there ? "" : ss_suggest(search->missing, names, NULL).text, fields);
}
