#include "figures/figure.h"
#include "figures/rounds.h"

#include "base/memory.h"
#include "base/notice.h"
#include "base/watcher.h"
#include "query/field.h"
#include "query/pick.h"
#include "query/question.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a row's value comes from: a field of the result, or the same for all. */
struct quantity {
  const char *field, *text; /* NULL: not these */
  double value;             /* NaN: not this */
  double factor, offset;    /* of a field or value: factor * field + offset */
};

struct mapping {
  struct quantity x, y, z, low, high, series;
  struct ss_node names, where, also_where;
  const char *each; /* NULL: a row a result; else one for each member of this field */
};

/* One result, or one member of a field of it; neither for an entry that asks nothing. */
struct record {
  const cJSON *result, *member;
  double index;
};

/* --- reading ------------------------------------------------------------------------------------------------ */

bool ss_is_figure(struct ss_doc *doc) {
  return ss_node_present(ss_node_get(ss_doc_root(doc), "panels"));
}

/* Who answers a figure's questions, and what it calls by a name. */
struct asking {
  struct ss_query *query;
  struct ss_node inputs;            /* questions by name */
  struct ss_picked let;             /* numbers by name */
  const struct ss_watcher *watcher; /* NULL: nobody */
};

static bool read_real(struct ss_node node, double *out, struct ss_error *error) {
  return !ss_node_present(node) || ss_node_quantity(node, SS_NUMBER, out, error);
}

/* A number, or an expression over the figure's "let". */
static bool read_number(struct ss_node node, const struct asking *asking, double *out, struct ss_error *error) {
  return !ss_node_present(node) || ss_picked_evaluate(node, &asking->let, out, error);
}

/* A field's name, a number, or {"field"|"text"|"value", "factor", "offset"}; the keys of axes are another's. */
static bool read_quantity(struct ss_node node, const struct asking *asking, struct quantity *q,
                          struct ss_error *error) {
  static const char *const keys[] = {"field", "text",  "value", "factor", "offset", "label",
                                     "unit",  "scale", "from",  "to",     NULL};
  if (!ss_node_present(node)) return true;
  if (ss_node_is_object(node) && !ss_node_present(ss_node_get(node, "field")) &&
      !ss_node_present(ss_node_get(node, "text")) && !ss_node_present(ss_node_get(node, "value")))
    return ss_node_keys(node, keys, error);
  *q = (struct quantity){.value = NAN, .factor = 1};
  if (ss_node_is_text(node)) return ss_node_text(node, &q->field, error);
  if (ss_node_is_number(node)) return ss_node_quantity(node, SS_NUMBER, &q->value, error);
  if (!ss_node_keys(node, keys, error)) return false;
  const struct ss_node field = ss_node_get(node, "field"), text = ss_node_get(node, "text");
  return (!ss_node_present(field) || ss_node_text(field, &q->field, error)) &&
         (!ss_node_present(text) || ss_node_text(text, &q->text, error)) &&
         read_number(ss_node_get(node, "value"), asking, &q->value, error) &&
         read_number(ss_node_get(node, "factor"), asking, &q->factor, error) &&
         read_number(ss_node_get(node, "offset"), asking, &q->offset, error);
}

static bool read_mapping(struct ss_node node, const struct asking *asking, struct mapping *m,
                         struct ss_error *error) {
  static const char *const keys[] = {"x", "y", "z", "low", "high", "series", NULL};
  struct quantity *const own[] = {&m->x, &m->y, &m->z, &m->low, &m->high, &m->series};
  const struct ss_node each = ss_node_get(node, "each");
  if (ss_node_present(each) && !ss_node_text(each, &m->each, error)) return false;
  for (size_t i = 0; keys[i]; i++)
    if (!read_quantity(ss_node_get(node, keys[i]), asking, own[i], error)) return false;
  return true;
}

static bool read_text(struct ss_node node, struct ss_plot *plot, const char **out, struct ss_error *error) {
  const char *text;
  if (!ss_node_present(node)) return true;
  if (!ss_node_text(node, &text, error)) return false;
  *out = ss_plot_text(plot, text);
  return *out ? true : ss_fail_memory(error, "reading a figure");
}

static bool read_axis(struct ss_node node, struct ss_plot *plot, struct ss_plot_axis *axis, struct ss_error *error) {
  static const char *const scales[] = {"linear", "log", "log2", NULL};
  const struct ss_node scale = ss_node_get(node, "scale");
  size_t chosen = 0;
  *axis = (struct ss_plot_axis){.label = "", .unit = "", .low = NAN, .high = NAN};
  if (ss_node_present(scale) && !ss_node_choice(scale, scales, &chosen, error)) return false;
  axis->scale = (enum ss_plot_scale)chosen;
  return read_text(ss_node_get(node, "label"), plot, &axis->label, error) &&
         read_text(ss_node_get(node, "unit"), plot, &axis->unit, error) &&
         read_real(ss_node_get(node, "from"), &axis->low, error) &&
         read_real(ss_node_get(node, "to"), &axis->high, error);
}

/* --- values of a record ------------------------------------------------------------------------------------- */

static const cJSON *field_of(const struct record *r, const char *field) {
  if (r->member && strcmp(field, "value") == 0) return r->member;
  const cJSON *own = cJSON_IsObject(r->member) ? ss_field_find(r->member, field) : NULL;
  if (own) return own;
  return ss_field_find(r->result, field);
}

static double number_of(const struct record *r, const struct quantity *q) {
  double value = q->value;
  const cJSON *item = q->field ? field_of(r, q->field) : NULL;
  if (q->field && r->member && strcmp(q->field, "index") == 0) value = r->index;
  else if (cJSON_IsNumber(item)) value = item->valuedouble;
  value = q->factor * value + q->offset;
  return isfinite(value) ? value : NAN;
}

/* NULL: it is a number, or absent. */
static const char *words_of(const struct record *r, const struct quantity *q) {
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

static const char *series_of(const struct record *r, const struct mapping *m, char *buffer, size_t size) {
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

static bool admitted(const struct record *r, struct ss_node where) {
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

/* What was looked for, for the message when no record has it. */
struct search {
  size_t records, rows;
  const char *missing; /* the field that the last record lacked */
  bool unsaid;         /* nobody said which field: what x, y, or the ends of a span are */
  const cJSON *sample;
};

static bool keep(struct ss_plot *plot, const char *text, const char **out, struct ss_error *error) {
  *out = text ? ss_plot_text(plot, text) : NULL;
  return !text || *out ? true : ss_fail_memory(error, "collecting points");
}

static bool present(const struct record *r, const struct quantity *q, const char *words, double value,
                    struct search *search) {
  if (words || !isnan(value)) return true;
  search->missing = q->field;
  search->unsaid = search->unsaid || !q->field;
  search->sample = r->result;
  return false;
}

static bool add_record(const struct record *r, const struct mapping *m, struct ss_plot *plot,
                       struct ss_plot_panel *panel, struct search *search, struct ss_error *error) {
  char buffer[40];
  const bool cells = panel->kind == SS_PLOT_HEAT || panel->kind == SS_PLOT_MAP, spans = panel->kind == SS_PLOT_SPANS;
  struct ss_plot_row row = {.x = number_of(r, &m->x), .y = number_of(r, &m->y)};
  const char *x = words_of(r, &m->x), *y = cells || spans ? words_of(r, &m->y) : NULL;
  search->records++;
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

/* The members of a list are counted from 0; of an object, by their names if those are numbers. */
static bool add_members(const cJSON *result, const struct mapping *m, struct ss_plot *plot,
                        struct ss_plot_panel *panel, struct search *search, struct ss_error *error) {
  const cJSON *list = ss_field_find(result, m->each);
  size_t index = 0;
  if (!list || !list->child) {
    search->records++;
    search->missing = m->each;
    search->sample = result;
    return true;
  }
  for (const cJSON *item = list->child; item; item = item->next, index++) {
    const struct record r = {result, item, cJSON_IsObject(list) ? strtod(item->string, NULL) : (double)index};
    if (!add_record(&r, m, plot, panel, search, error)) return false;
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

static bool fail_search(const struct search *search, struct ss_error *error) {
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

/* --- entries ------------------------------------------------------------------------------------------------ */

bool ss_figure_fail_empty(const char *what, struct ss_error *error) {
  (void)ss_fail(
      error, SS_BAD_INPUT,
      "%s: holds no list of results (take what run, cost, plan, train or trace stats print with --format json)",
      what);
  return false;
}

static bool ask_input(const struct asking *asking, struct ss_node from, const cJSON **answer,
                      struct ss_error *error) {
  struct ss_question question = {0};
  return ss_question_named(asking->inputs, from, &question.node, error) &&
         ss_query_ask(asking->query, &question, answer, error);
}

/* "let": numbers by name, each picked from what an input gave, or an expression over those before it. */
static bool read_let(struct ss_node let, struct asking *asking, struct ss_error *error) {
  if (ss_node_present(let) && !ss_node_is_object(let))
    return ss_node_fail(let, error, "expected an object of numbers by name");
  for (struct ss_node n = ss_node_first(let); ss_node_present(n); n = ss_node_next(n)) {
    const cJSON *answer;
    struct ss_node from;
    double value;
    const bool ok = ss_node_is_object(n)
                        ? ss_node_need(n, "from", &from, error) && ask_input(asking, from, &answer, error) &&
                              ss_pick(n, answer, &asking->let, &value, error)
                        : ss_picked_evaluate(n, &asking->let, &value, error);
    if (!ok || !ss_picked_add(&asking->let, ss_node_key(n), value, error)) return false;
  }
  return true;
}

/* What the entry asks, or the input that it names; an absent node: it neither asks nor needs an answer. */
static bool question_of(struct ss_node entry, const struct asking *asking, bool needed, struct ss_question *out,
                        struct ss_error *error) {
  const struct ss_node from = ss_node_get(entry, "from");
  const bool asks = ss_question_asks(entry);
  *out = (struct ss_question){0};
  if (!ss_node_present(from)) {
    if (asks || needed) out->node = entry;
    return true;
  }
  return asks ? ss_node_fail(from, error, "names an input, and the entry asks something itself: one of the two")
              : ss_question_named(asking->inputs, from, &out->node, error);
}

static bool records_of(const struct asking *asking, const struct ss_question *question, const cJSON **list,
                       struct ss_error *error) {
  const cJSON *answer;
  char place[200];
  if (!ss_query_ask(asking->query, question, &answer, error)) return false;
  *list = ss_records(answer);
  if (*list && (*list)->child) return true;
  (void)ss_figure_fail_empty(ss_node_path(question->node, place, sizeof place), error);
  return ss_fail_prefix(error, "%s", ss_doc_name(question->node.doc));
}

/* Does a row of it stand for something in an answer, not for numbers and words of its own? */
static bool needs_answer(const struct mapping *m) {
  return m->each || m->x.field || m->y.field || m->z.field || m->low.field || m->high.field || m->series.field;
}

/* What the rows of a panel are made from. */
struct filling {
  const struct asking *asking;
  double *busy; /* the largest of what was measured while the machine did something else */
  struct ss_plot *plot;
  struct ss_plot_panel *panel;
};

static bool add_results(const cJSON *list, const struct mapping *m, const struct filling *f, struct search *search,
                        struct ss_error *error) {
  bool ok = true;
  for (const cJSON *item = list->child; ok && item; item = item->next) {
    const struct record r = {.result = item};
    const cJSON *busy = cJSON_GetObjectItemCaseSensitive(item, "busy");
    if (cJSON_IsNumber(busy)) *f->busy = fmax(*f->busy, busy->valuedouble);
    ok = m->each ? add_members(item, m, f->plot, f->panel, search, error)
                 : add_record(&r, m, f->plot, f->panel, search, error);
  }
  return ok;
}

static bool add_entry(struct ss_node entry, const struct mapping *of_panel, const struct filling *f,
                      struct ss_error *error) {
  static const char *const own[] = {"each",   "x",     "y",       "z",     "low",  "high",
                                    "series", "where", "printed", "notes", "from", NULL};
  const struct record alone = {0};
  struct mapping m = *of_panel;
  struct ss_question question;
  const cJSON *list;
  struct search search = {0};
  m.also_where = ss_node_get(entry, "where");
  if (!ss_question_keys(entry, own, error) || !read_mapping(entry, f->asking, &m, error) ||
      !question_of(entry, f->asking, needs_answer(&m), &question, error))
    return false;
  if (!ss_node_present(question.node)) {
    m.where = (struct ss_node){0}; /* the panel's is for answers */
    if (!add_record(&alone, &m, f->plot, f->panel, &search, error)) return false;
  } else if (!records_of(f->asking, &question, &list, error) || !add_results(list, &m, f, &search, error)) {
    return false;
  }
  return search.rows > 0 || fail_search(&search, error);
}

/* --- rows beside others ------------------------------------------------------------------------------------- */

static bool same_x(const struct ss_plot_row *a, const struct ss_plot_row *b) {
  if (a->x_text || b->x_text) return a->x_text && b->x_text && strcmp(a->x_text, b->x_text) == 0;
  return a->x == b->x;
}

static bool same_place(const struct ss_plot_row *a, const struct ss_plot_row *b) {
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

/* "relative": {"to": SERIES, "as": "ratio"|"speedup"}: y over, or under, that of the series at the same x; "shown"
 * false leaves the series itself out. The rows are those of one entry, so that each has its own base. */
static bool make_relative(struct ss_node node, struct ss_plot_panel *panel, size_t first, struct ss_error *error) {
  static const char *const keys[] = {"to", "as", "shown", NULL}, *const ways[] = {"ratio", "speedup", NULL};
  struct ss_node to, as;
  const char *series;
  size_t way;
  bool shown = true;
  if (!ss_node_present(node)) return true;
  if (!ss_node_keys(node, keys, error) || !ss_node_need(node, "to", &to, error) ||
      !ss_node_text(to, &series, error) || !ss_node_need(node, "as", &as, error) ||
      !ss_node_choice(as, ways, &way, error) ||
      (ss_node_present(ss_node_get(node, "shown")) && !ss_node_flag(ss_node_get(node, "shown"), &shown, error)))
    return false;
  const size_t count = panel->rows - first;
  struct ss_plot_row *rows = panel->row + first;
  SS_AUTO_FREE double *base = ss_alloc(count, sizeof *base);
  if (!base) return ss_fail_memory(error, "comparing");
  for (size_t i = 0; i < count; i++) base[i] = base_at(rows, count, series, &rows[i]);
  for (size_t i = 0; i < count; i++) {
    if (!(base[i] > 0)) return ss_node_fail(to, error, "\"%s\" has no time at every place to compare with", series);
    struct ss_plot_row *r = &rows[i];
    const double low = way ? base[i] / r->high : r->low / base[i], high = way ? base[i] / r->low : r->high / base[i];
    r->y = way ? base[i] / r->y : r->y / base[i];
    r->low = low, r->high = high;
  }
  if (!shown) leave_out(panel, first, series);
  return true;
}

/* "printed": the rows are what a paper prints; of a series' name, by how much that is more than the row's own series:
 * so many times less than our value of it the mark stands. */
static bool mark_printed(struct ss_node node, struct ss_plot_panel *panel, size_t first, struct ss_error *error) {
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

/* Of a heat map a cell has one colour: of two results there, one would be hidden. */
static bool check_cells(const struct ss_plot_panel *panel, struct ss_error *error) {
  char x[40], y[40];
  for (size_t i = 0; i < panel->rows; i++)
    for (size_t j = 0; j < i; j++) {
      const struct ss_plot_row *r = &panel->row[i];
      if (!same_place(r, &panel->row[j])) continue;
      snprintf(x, sizeof x, "%.6g", r->x);
      snprintf(y, sizeof y, "%.6g", r->y);
      return ss_fail(error, SS_BAD_INPUT,
                     "two results stand in one cell of the heat map, at %s and %s: choose by a field in which they "
                     "differ (--where cluster=NAME, ranks=16, tensor=NAME), or another x or y",
                     r->x_text ? r->x_text : x, r->y_text ? r->y_text : y);
    }
  return true;
}

/* Of two at one place; equals go to the first. */
static bool beats(const struct ss_plot_row *other, const struct ss_plot_row *row) {
  return other->z < row->z || (other->z == row->z && other < row);
}

/* Of the rows at one place the least z wins: it stays, with what the next takes longer (%) as z. */
static void keep_winners(struct ss_plot_panel *panel) {
  size_t kept = 0;
  struct ss_plot_row *rows = panel->row;
  for (size_t i = 0; i < panel->rows; i++) {
    bool best = true;
    double next = NAN;
    for (size_t j = 0; j < panel->rows; j++) {
      if (j == i || !same_place(&rows[i], &rows[j])) continue;
      best = best && !beats(&rows[j], &rows[i]);
      next = fmin(next, rows[j].z);
    }
    rows[i].low = best ? 100 * (next / rows[i].z - 1) : -1;
    rows[i].high = best;
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

/* --- panels ------------------------------------------------------------------------------------------------- */

/* Of runs as they were played a panel each; nothing but what is run is to be said. */
static bool read_rounds(struct ss_node node, struct ss_query *query, struct ss_plot *plot, struct ss_error *error) {
  static const char *const keys[] = {"title", "kind", "data", NULL}, *const own[] = {"notes", NULL};
  struct ss_node data;
  const char *title = NULL;
  const cJSON *answer;
  if (!ss_node_keys(node, keys, error) || !read_text(ss_node_get(node, "title"), plot, &title, error) ||
      !ss_node_need(node, "data", &data, error))
    return false;
  for (struct ss_node entry = ss_node_first(data); ss_node_present(entry); entry = ss_node_next(entry)) {
    const struct ss_question question = {.node = entry};
    if (!ss_question_keys(entry, own, error)) return false;
    if (!ss_node_present(ss_node_get(entry, "rounds")))
      return ss_node_fail(entry, error, "of this kind asks {\"rounds\": SCENARIO}");
    if (!ss_query_ask(query, &question, &answer, error) || !ss_rounds_add(plot, title, answer, error)) return false;
  }
  return ss_node_present(ss_node_first(data)) || ss_node_fail(data, error, "is no list of entries");
}

static bool read_panel(struct ss_node node, const struct asking *asking, double *busy, struct ss_plot *plot,
                       struct ss_error *error) {
  static const char *const keys[] = {"title",  "kind",  "x",     "y",        "z",    "low", "high",
                                     "series", "names", "where", "relative", "data", NULL};
  static const char *const kinds[] = {"lines", "bars", "heat", "map", "spans", "rounds", NULL};
  const struct quantity none = {.value = NAN, .factor = 1};
  struct mapping m = {none, none, none, none, none, none, {0}, {0}, {0}, NULL};
  struct ss_node kind, data;
  size_t chosen;
  if (!ss_node_keys(node, keys, error) || !ss_node_need(node, "kind", &kind, error) ||
      !ss_node_choice(kind, kinds, &chosen, error))
    return false;
  if (chosen == SS_PLOT_ROUNDS) return read_rounds(node, asking->query, plot, error);
  if (plot->panels == SS_PLOT_PANELS) return ss_node_fail(node, error, "is more than %d panels", SS_PLOT_PANELS);
  struct ss_plot_panel *panel = &plot->panel[plot->panels++];
  if (!read_text(ss_node_get(node, "title"), plot, &panel->title, error)) return false;
  panel->kind = (enum ss_plot_kind)chosen;
  m.names = ss_node_get(node, "names");
  m.where = ss_node_get(node, "where");
  if (!read_mapping(node, asking, &m, error) || !read_axis(ss_node_get(node, "x"), plot, &panel->x, error) ||
      !read_axis(ss_node_get(node, "y"), plot, &panel->y, error) ||
      !read_axis(ss_node_get(node, "z"), plot, &panel->z, error) || !ss_node_need(node, "data", &data, error))
    return false;
  const struct filling filling = {asking, busy, plot, panel};
  for (struct ss_node entry = ss_node_first(data); ss_node_present(entry); entry = ss_node_next(entry)) {
    const size_t first = panel->rows;
    const struct ss_node printed = ss_node_get(entry, "printed");
    if (!add_entry(entry, &m, &filling, error) || !mark_printed(printed, panel, first, error)) return false;
    if (!ss_node_present(printed) && !make_relative(ss_node_get(node, "relative"), panel, first, error)) return false;
  }
  if (panel->rows == 0) return ss_node_fail(data, error, "is no list of entries");
  if (panel->kind == SS_PLOT_MAP) keep_winners(panel);
  return panel->kind != SS_PLOT_HEAT || check_cells(panel, error);
}

static bool join_note(struct ss_node root, struct ss_plot *plot, struct ss_error *error) {
  const struct ss_node source = ss_node_get(root, "source"), note = ss_node_get(root, "note"),
                       estimated = ss_node_get(root, "estimated");
  const char *text;
  char whole[3000];
  size_t used = 0;
  whole[0] = '\0';
  if (ss_node_present(source)) {
    if (!ss_node_text(source, &text, error)) return false;
    used += (size_t)snprintf(whole, sizeof whole, "After %.300s. ", text);
  }
  if (ss_node_present(note)) {
    if (!ss_node_text(note, &text, error)) return false;
    used += (size_t)snprintf(whole + used, sizeof whole - used, "%.1200s ", text);
  }
  for (struct ss_node at = ss_node_first(estimated); ss_node_present(at); at = ss_node_next(at)) {
    if (!ss_node_text(at, &text, error)) return false;
    if (used + 320 > sizeof whole) break;
    used += (size_t)snprintf(whole + used, sizeof whole - used, "%s%.300s",
                             at.at == estimated.at->child ? "Estimated: " : "; ", text);
  }
  if (!used) return true;
  plot->note = ss_plot_text(plot, whole);
  return plot->note ? true : ss_fail_memory(error, "reading a figure");
}

/* Times that were measured here, and not in peace, say so. */
static bool tell_busy(double busy, const struct ss_notice *notice, struct ss_plot *plot, struct ss_error *error) {
  static const double worth_telling = 0.1;
  char text[120], whole[3200];
  if (!(busy > worth_telling)) return true;
  snprintf(text, sizeof text, "the machine was busy: up to %.0f%% of what was measured went to other work",
           100 * fmin(busy, 1));
  ss_notice_tell(notice, text);
  snprintf(whole, sizeof whole, "%s%sBeware: %s.", plot->note ? plot->note : "", plot->note ? " " : "", text);
  plot->note = ss_plot_text(plot, whole);
  return plot->note ? true : ss_fail_memory(error, "reading a figure");
}

static size_t questions_in(struct ss_node panels) {
  size_t count = 0;
  for (struct ss_node at = ss_node_first(panels); ss_node_present(at); at = ss_node_next(at))
    count += ss_node_size(ss_node_get(at, "data"));
  return count;
}

static bool read_panels(struct ss_node root, struct asking *asking, double *busy, struct ss_plot *plot,
                        struct ss_error *error) {
  struct ss_node panels;
  if (!ss_node_need(root, "panels", &panels, error)) return false;
  if (ss_node_size(panels) == 0 || ss_node_size(panels) > SS_PLOT_PANELS)
    return ss_node_fail(panels, error, "is not a list of 1 to %d panels", SS_PLOT_PANELS);
  if (ss_node_present(asking->inputs) && !ss_node_is_object(asking->inputs))
    return ss_node_fail(asking->inputs, error, "expected an object of questions by name");
  const size_t questions = ss_node_present(asking->inputs) ? ss_node_size(asking->inputs) : 0;
  ss_query_watch(asking->query, asking->watcher, questions_in(panels) + questions);
  ss_watcher_begin(asking->watcher, "panels", ss_node_size(panels));
  bool ok = read_let(ss_node_get(root, "let"), asking, error);
  for (struct ss_node at = ss_node_first(panels); ok && ss_node_present(at); at = ss_node_next(at)) {
    ok = read_panel(at, asking, busy, plot, error);
    ss_watcher_advance(asking->watcher, 1, 0, 0);
  }
  ss_watcher_end(asking->watcher);
  return ok;
}

bool ss_figure_plot(struct ss_doc *doc, const struct ss_notice *notice, const struct ss_watcher *watcher,
                    struct ss_plot *plot, struct ss_error *error) {
  static const char *const keys[] = {"figure", "title",  "source",    "summary", "differs", "note", "notes",
                                     "wide",   "panels", "estimated", "inputs",  "let",     NULL};
  const struct ss_node root = ss_doc_root(doc), wide = ss_node_get(root, "wide");
  if (!ss_node_keys(root, keys, error) || !read_text(ss_node_get(root, "title"), plot, &plot->title, error) ||
      !join_note(root, plot, error))
    return false;
  if (ss_node_present(wide) && !ss_node_flag(wide, &plot->wide, error)) return false;
  struct asking asking = {
      .query = ss_query_new(0, notice), .inputs = ss_node_get(root, "inputs"), .watcher = watcher};
  double busy = 0;
  const bool ok =
      (asking.query || ss_fail_memory(error, "computing a figure")) && read_panels(root, &asking, &busy, plot, error);
  ss_picked_free(&asking.let);
  ss_query_free(asking.query);
  return ok && tell_busy(busy, notice, plot, error);
}
