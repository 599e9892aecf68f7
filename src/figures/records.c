#include "figures/records.h"

#include "base/json.h"
#include "query/field.h"
#include "study/ranges.h"

/* --- what is known of fields --------------------------------------------------------------------------------- */

/* All others are shown by their name. */
static const struct ss_known_field knowns[] = {{"time_s", "time", "s", 1},
                                               {"iteration_s", "time", "s", 1},
                                               {"time_p50_s", "median over draws of uneven links", "s", 1},
                                               {"iteration_p50_s", "median over draws of uneven links", "s", 1},
                                               {"formula_s", "closed form", "s", 1},
                                               {"paper_s", "as printed", "s", 1},
                                               {"kernel_s", "kernel time", "s", 1},
                                               {"bytes_sent_max", "sent by the busiest rank", "B", 1},
                                               {"bytes_received_max", "received by the busiest rank", "B", 1},
                                               {"bytes_total", "sent by all", "B", 1},
                                               {"server_bytes_max", "busiest server", "B", 1},
                                               {"peak_bytes", "held by a rank at most", "B", 1},
                                               {"bytes", "size", "B", 1},
                                               {"M", "dense size", "B", 1},
                                               {"rank_bytes_sent", "sent", "B", 1},
                                               {"rank_bytes_received", "received", "B", 1},
                                               {"bandwidth", "bandwidth", "bit/s", 8},
                                               {"latency", "latency", "s", 1},
                                               {"density", "density", "%", 1},
                                               {"ranks", "ranks", "", 1},
                                               {"gamma", "densification ratio", "", 1},
                                               {"energy", "energy", "%", 1},
                                               {"busy_max", "busy", "%", 1},
                                               {"busy_mean", "busy", "%", 1},
                                               {NULL, NULL, NULL, 1}};

const struct ss_known_field *ss_known_field(const char *field) {
  const char *dot = strrchr(field, '.'), *word = dot ? dot + 1 : field;
  const struct ss_known_field *k = knowns;
  while (k->field && strcmp(k->field, word) != 0) k++;
  return k->field ? k : NULL;
}

void ss_figure_value(const char *field, double value, char *text, size_t size) {
  const struct ss_known_field *k = ss_known_field(field);
  const char *unit = k ? k->unit : "";
  if (strcmp(unit, "s") == 0) ss_units_format(text, size, SS_TIME, value);
  else if (strcmp(unit, "B") == 0) ss_units_format(text, size, SS_BYTES, value);
  else if (strcmp(unit, "bit/s") == 0) ss_units_format(text, size, SS_RATE, value);
  else if (strcmp(unit, "%") == 0) snprintf(text, size, "%.4g%%", 100 * value);
  else snprintf(text, size, "%.6g", value);
}

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
  struct ss_plot_row row = {.x = number_of(r, &m->x), .y = number_of(r, &m->y), .wins = NAN};
  const char *x = words_of(r, &m->x), *y = cells || spans ? words_of(r, &m->y) : NULL;
  row.z = number_of(r, &m->z), row.low = number_of(r, &m->low), row.high = number_of(r, &m->high);
  if (!admitted(r, m->where) || !admitted(r, m->also_where)) return true;
  if (!present(r, &m->x, x, row.x, search)) return true;
  const bool ranged = isfinite(row.low) && isfinite(row.high);
  if (spans && !ranged && !present(r, isfinite(row.low) ? &m->high : &m->low, NULL, NAN, search)) return true;
  if (!ranged && !present(r, &m->y, y, row.y, search)) return true;
  if (cells && !present(r, &m->z, NULL, row.z, search)) return true;
  const struct ss_known_field *compared = m->z.field ? ss_known_field(m->z.field) : NULL;
  if (compared && strcmp(compared->unit, "s") == 0) row.wins = ss_json_number(r->result, "wins"); /* draws of time */
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
    if (!item->string || strlen(text) + strlen(item->string) + strlen(before) + 4 >= size) continue;
    if (cJSON_IsObject(item) && !before[0]) {
      char prefix[300];
      snprintf(prefix, sizeof prefix, "%.250s.", item->string);
      name_fields(item, prefix, text, size);
    } else if (!cJSON_IsObject(item) && !cJSON_IsNull(item)) {
      ss_append(text, size, "%s%s%s", text[0] ? ", " : "", before, item->string);
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

/* --- rows beside others of their panel ---------------------------------------------------------------------- */

static bool same_x(const struct ss_plot_row *a, const struct ss_plot_row *b) {
  if (a->x_text || b->x_text) return a->x_text && b->x_text && strcmp(a->x_text, b->x_text) == 0;
  return a->x == b->x;
}

static bool same_position(const struct ss_plot_row *a, const struct ss_plot_row *b) {
  if (a->y_text || b->y_text) return same_x(a, b) && a->y_text && b->y_text && strcmp(a->y_text, b->y_text) == 0;
  return same_x(a, b) && a->y == b->y;
}

static double base_at(const struct ss_plot_row *rows, size_t count, const char *series,
                      const struct ss_plot_row *at) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(rows[i].series, series) == 0 && same_x(&rows[i], at)) return rows[i].y;
  return NAN;
}

static void leave_out(struct ss_plot_panel *panel, size_t first, const char *series) {
  size_t kept = first;
  for (size_t i = first; i < panel->rows; i++)
    if (strcmp(panel->row[i].series, series) != 0) panel->row[kept++] = panel->row[i];
  panel->rows = kept;
}

struct relative {
  const char *to;
  bool speedup, shown;
};
static const char *const ways[] = {"ratio", "speedup", NULL};
static const struct ss_field_spec relative_fields[] = {
    {"to", "a series", SS_IS_NAME, .required = true, SS_STORED(struct relative, to)},
    {"as", NULL, SS_IS_CHOICE(ways), .required = true, SS_STORED(struct relative, speedup)},
    {"shown", "that series, too", SS_IS_FLAG, .usual = "true", SS_STORED(struct relative, shown)},
    {.name = NULL}};
const struct ss_object_spec ss_relative_fields = {.field = relative_fields};

bool ss_figure_make_relative(struct ss_node node, struct ss_plot_panel *panel, size_t first, struct ss_error *error) {
  struct relative relative;
  if (!ss_node_present(node)) return true;
  if (!ss_object_read(&ss_relative_fields, node, &relative, error)) return false;
  const size_t count = panel->rows - first;
  struct ss_plot_row *rows = panel->row + first;
  SS_AUTO_FREE double *base = ss_alloc(count, sizeof *base);
  if (!base) return ss_fail_memory(error, "comparing");
  for (size_t i = 0; i < count; i++) base[i] = base_at(rows, count, relative.to, &rows[i]);
  for (size_t i = 0; i < count; i++) {
    if (!(base[i] > 0))
      return ss_node_fail(ss_node_get(node, "to"), error, "\"%s\" has no time at every place to compare with",
                          relative.to);
    struct ss_plot_row *r = &rows[i];
    const double low = relative.speedup ? base[i] / r->high : r->low / base[i],
                 high = relative.speedup ? base[i] / r->low : r->high / base[i];
    r->y = relative.speedup ? base[i] / r->y : r->y / base[i];
    r->low = low, r->high = high;
  }
  if (!relative.shown) leave_out(panel, first, relative.to);
  return true;
}

bool ss_figure_mark_printed(struct ss_node node, struct ss_plot_panel *panel, size_t first, struct ss_error *error) {
  const char *series = NULL;
  bool flag = true;
  if (!ss_node_present(node)) return true;
  if (!(ss_node_is_text(node) ? ss_node_text(node, &series, error) : ss_node_flag(node, &flag, error))) return false;
  if (panel->kind != SS_PLOT_LINES && panel->kind != SS_PLOT_BARS)
    return ss_node_fail(node, error, "is for lines and bars");
  for (size_t i = first; i < panel->rows; i++) {
    struct ss_plot_row *r = &panel->row[i];
    r->printed = flag;
    if (!series) continue;
    r->y = base_at(panel->row, first, series, r) / r->y;
    if (!isfinite(r->y)) return ss_node_fail(node, error, "\"%s\" has no value there to compare with", series);
  }
  return true;
}

bool ss_figure_check_cells(const struct ss_plot_panel *panel, struct ss_error *error) {
  char x[40], y[40];
  for (size_t i = 0; i < panel->rows; i++)
    for (size_t j = 0; j < i; j++) {
      const struct ss_plot_row *r = &panel->row[i];
      if (!same_position(r, &panel->row[j])) continue;
      snprintf(x, sizeof x, "%.6g", r->x);
      snprintf(y, sizeof y, "%.6g", r->y);
      return ss_fail(error, SS_BAD_INPUT,
                     "two results stand in one cell of the heat map, at %s and %s: choose by a field in which they "
                     "differ (--where cluster=NAME, ranks=16, tensor=NAME), or another x or y",
                     r->x_text ? r->x_text : x, r->y_text ? r->y_text : y);
    }
  return true;
}

/* Of two at one position; equals go to the first. */
static bool beats(const struct ss_plot_row *other, const struct ss_plot_row *row) {
  return other->z < row->z || (other->z == row->z && other < row);
}

/* The next takes as long in the digits that are shown, or others are best in so many draws that nobody likely is. */
static bool is_tie(const struct ss_plot_row *best, double next) {
  return next < 1.005 * best->z || best->wins < SS_LIKELY;
}

void ss_figure_keep_winners(struct ss_plot_panel *panel) {
  size_t kept = 0;
  struct ss_plot_row *rows = panel->row;
  for (size_t i = 0; i < panel->rows; i++) {
    bool best = true;
    double next = NAN;
    for (size_t j = 0; j < panel->rows; j++) {
      if (j == i || !same_position(&rows[i], &rows[j])) continue;
      best = best && !beats(&rows[j], &rows[i]);
      next = fmin(next, rows[j].z);
    }
    rows[i].low = best ? 100 * (next / rows[i].z - 1) : -1;
    rows[i].high = best;
    if (best && is_tie(&rows[i], next)) rows[i].series = SS_PLOT_TIE;
  }
  for (size_t i = 0; i < panel->rows; i++) {
    if (rows[i].high == 0) continue;
    rows[kept] = rows[i];
    rows[kept].z = rows[i].low;
    rows[kept].low = rows[kept].high = NAN;
    kept++;
  }
  panel->rows = kept;
}
/* SPDX-License-Identifier: Apache-2.0 */
