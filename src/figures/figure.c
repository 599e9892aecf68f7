#include "figures/figure.h"
#include "figures/printed.h"
#include "figures/records.h"
#include "figures/rounds_drawing.h"

#include "base/notice.h"
#include "base/watcher.h"
#include "query/cache.h"
#include "query/field.h"
#include "query/pick.h"

/* --- reading ------------------------------------------------------------------------------------------------ */

bool ss_is_figure(struct ss_doc *doc) {
  return ss_node_present(ss_node_get(ss_doc_root(doc), "panels"));
}

static const char *const scales[] = {"linear", "log", "log2", NULL}, *const kinds[] = {"lines", "bars",  "heat",
                                                                                       "map",   "spans", "rounds",
                                                                                       NULL};
#define AXIS(member) SS_STORED(struct ss_plot_axis, member)
static const struct ss_field_spec quantity_fields[] = {
    {"field", "of results", SS_IS_NAME},
    {"text", NULL, SS_IS_TEXT},
    {"value", NULL, SS_IS_EITHER(ss_expression_forms)},
    {"factor", "of the field or value", SS_IS_EITHER(ss_expression_forms)},
    {"offset", "to be added to it", SS_IS_EITHER(ss_expression_forms)},
    {"label", "of the axis", SS_IS_TEXT, AXIS(label)},
    {"unit", "of the axis", SS_IS_TEXT, AXIS(unit)},
    {"scale", "of the axis", SS_IS_CHOICE(scales), .usual = "linear", AXIS(scale)},
    {"from", "of the axis", SS_IS_NUMBER, AXIS(low)},
    {"to", "of the axis", SS_IS_NUMBER, AXIS(high)},
    {.name = NULL}};
static const struct ss_object_spec quantity_spec = {.name = "quantity", .field = quantity_fields};
static const struct ss_field_spec quantity_forms[] = {{NULL, "a field of results", SS_IS_NAME},
                                                      {NULL, NULL, SS_IS_NUMBER},
                                                      {NULL, NULL, SS_IS_OBJECT(&quantity_spec)},
                                                      {.name = NULL}};
static const struct ss_field_spec printed_forms[] = {
    {NULL, NULL, SS_IS_FLAG}, {NULL, NULL, SS_IS_TEXT}, {.name = NULL}};
static const struct ss_field_spec a_name = {NULL, NULL, SS_IS_TEXT};
static const struct ss_object_spec names_spec = {.others = &a_name};
#define QUANTITY(name)                                                                                               \
  { name, NULL, SS_IS_EITHER(quantity_forms) }
#define MAPPING QUANTITY("x"), QUANTITY("y"), QUANTITY("z"), QUANTITY("low"), QUANTITY("high"), QUANTITY("series")
#define WHERE                                                                                                        \
  { "where", "values that fields of a result must have", SS_IS_OBJECT(&ss_by_path) }
static const struct ss_field_spec entry_fields[] = {
    SS_REQUEST_FIELDS,
    {"from", "the input that is meant, where nothing is asked here", SS_IS_NAME},
    {"printed", "as the paper has it; a series: as a factor to ours of that", SS_IS_EITHER(printed_forms)},
    {"each", "a row for each member of this field", SS_IS_NAME},
    WHERE,
    MAPPING,
    {.name = NULL}};
static const struct ss_object_spec entry_spec = {
    .name = "entry",
    .says = "a request, or an input's name, and what to draw of the answer; without either a point of its own",
    .field = entry_fields};
static const struct ss_field_spec an_entry = {NULL, NULL, SS_IS_OBJECT(&entry_spec)};
static const struct ss_field_spec panel_fields[] = {
    {"title", NULL, SS_IS_TEXT},
    {"kind", NULL, SS_IS_CHOICE(kinds), .required = true, SS_STORED(struct ss_plot_panel, kind)},
    MAPPING,
    {"names", "what series are called", SS_IS_OBJECT(&names_spec)},
    WHERE,
    {"relative", "every row to that of one series", SS_IS_OBJECT(&ss_relative_fields)},
    {"data", NULL, SS_IS_LIST(&an_entry, 1, 0), .required = true},
    {.name = NULL}};
static const struct ss_object_spec panel_spec = {.name = "panel", .field = panel_fields};
static const struct ss_field_spec a_panel = {NULL, NULL, SS_IS_OBJECT(&panel_spec)};
static const struct ss_field_spec figure_fields[] = {
    {"figure", NULL, SS_IS_TEXT},
    {"title", NULL, SS_IS_TEXT},
    {"source", "what it is drawn after", SS_IS_TEXT},
    SS_SPEC_SUMMARY,
    {"differs", "from what is printed", SS_IS_TEXT},
    {"note", "below it", SS_IS_TEXT},
    {"wide", NULL, SS_IS_FLAG, SS_STORED(struct ss_plot, wide)},
    {"style", "of series by their names: a colour, a dash, or both (\"#cc3311,dashed\")", SS_IS_OBJECT(&names_spec)},
    {"estimated", "what no source says", SS_IS_LIST(&ss_name_field, 0, 0)},
    {"inputs", NULL, SS_IS_OBJECT(&ss_inputs_fields)},
    {"let", NULL, SS_IS_OBJECT(&ss_picks_fields)},
    {"panels", NULL, SS_IS_LIST(&a_panel, 1, SS_PLOT_PANELS), .required = true},
    SS_SPEC_NOTES,
    {.name = NULL}};
const struct ss_object_spec ss_figure_fields = {.title = "A figure (scenarios/figures)", .field = figure_fields};

/* Who answers a figure's requests, and what it calls by a name. */
struct asking {
  struct ss_query *query;
  struct ss_node inputs;            /* requests by name */
  struct ss_picked let;             /* numbers by name */
  const struct ss_watcher *watcher; /* NULL: nobody */
  const cJSON *given;               /* what all entries are about, which ask nothing then; NULL: they ask */
};

/* A number, or an expression over the figure's "let". */
static bool read_number(struct ss_node node, const struct asking *asking, double *out, struct ss_error *error) {
  return !ss_node_present(node) || ss_picked_evaluate(node, &asking->let, out, error);
}

/* A field's name, a number, or {"field"|"text"|"value", "factor", "offset"}; the keys of axes are another's. */
static bool read_quantity(struct ss_node node, const struct asking *asking, struct ss_figure_quantity *q,
                          struct ss_error *error) {
  if (!ss_node_present(node)) return true;
  if (ss_node_is_object(node) && !ss_node_present(ss_node_get(node, "field")) &&
      !ss_node_present(ss_node_get(node, "text")) && !ss_node_present(ss_node_get(node, "value")))
    return ss_object_check_keys(&quantity_spec, node, error);
  *q = (struct ss_figure_quantity){.value = NAN, .factor = 1};
  if (ss_node_is_text(node)) return ss_node_text(node, &q->field, error);
  if (ss_node_is_number(node)) return ss_node_quantity(node, SS_NUMBER, &q->value, error);
  if (!ss_object_check_keys(&quantity_spec, node, error)) return false;
  const struct ss_node field = ss_node_get(node, "field"), text = ss_node_get(node, "text");
  return (!ss_node_present(field) || ss_node_text(field, &q->field, error)) &&
         (!ss_node_present(text) || ss_node_text(text, &q->text, error)) &&
         read_number(ss_node_get(node, "value"), asking, &q->value, error) &&
         read_number(ss_node_get(node, "factor"), asking, &q->factor, error) &&
         read_number(ss_node_get(node, "offset"), asking, &q->offset, error);
}

static bool read_mapping(struct ss_node node, const struct asking *asking, struct ss_figure_mapping *m,
                         struct ss_error *error) {
  static const char *const keys[] = {"x", "y", "z", "low", "high", "series", NULL};
  struct ss_figure_quantity *const own[] = {&m->x, &m->y, &m->z, &m->low, &m->high, &m->series};
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
  *axis = (struct ss_plot_axis){.label = "", .unit = "", .low = NAN, .high = NAN};
  return !ss_node_is_object(node) || (ss_object_read_known(&quantity_spec, node, axis, error) &&
                                      read_text(ss_node_get(node, "label"), plot, &axis->label, error) &&
                                      read_text(ss_node_get(node, "unit"), plot, &axis->unit, error));
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
  struct ss_query_request request = {0};
  return ss_request_named(asking->inputs, from, &request.node, error) &&
         ss_query_ask(asking->query, &request, answer, error);
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
static bool request_of(struct ss_node entry, const struct asking *asking, bool needed, struct ss_query_request *out,
                       struct ss_error *error) {
  const struct ss_node from = ss_node_get(entry, "from");
  const bool asks = ss_request_asks(entry);
  *out = (struct ss_query_request){0};
  if (!ss_node_present(from)) {
    if (asks || needed) out->node = entry;
    return true;
  }
  return asks ? ss_node_fail(from, error, "names an input, and the entry asks something itself: one of the two")
              : ss_request_named(asking->inputs, from, &out->node, error);
}

static bool records_of(const struct asking *asking, const struct ss_query_request *request, const cJSON **list,
                       struct ss_error *error) {
  const cJSON *answer;
  char place[200];
  if (!ss_query_ask(asking->query, request, &answer, error)) return false;
  *list = ss_records(answer);
  if (*list && (*list)->child) return true;
  (void)ss_figure_fail_empty(ss_node_path(request->node, place, sizeof place), error);
  return ss_fail_prefix(error, "%s", ss_doc_name(request->node.doc));
}

/* Does a row of it stand for something in an answer, not for numbers and words of its own? */
static bool needs_answer(const struct ss_figure_mapping *m) {
  return m->each || m->x.field || m->y.field || m->z.field || m->low.field || m->high.field || m->series.field;
}

/* What the rows of a panel are made from. */
struct filling {
  const struct asking *asking;
  double *busy; /* the largest of what was measured while the machine did something else */
  struct ss_plot *plot;
  struct ss_plot_panel *panel;
};

static bool add_results(const cJSON *list, const struct ss_figure_mapping *m, const struct filling *f,
                        struct ss_figure_search *search, struct ss_error *error) {
  bool ok = true;
  for (const cJSON *item = list->child; ok && item; item = item->next) {
    const struct ss_figure_record r = {.result = item};
    const cJSON *busy = ss_json_get(item, "busy");
    if (cJSON_IsNumber(busy)) *f->busy = fmax(*f->busy, busy->valuedouble);
    ok = m->each ? ss_figure_add_members(item, m, f->plot, f->panel, search, error)
                 : ss_figure_add_record(&r, m, f->plot, f->panel, search, error);
  }
  return ok;
}

static bool add_entry(struct ss_node entry, const struct ss_figure_mapping *of_panel, const struct filling *f,
                      struct ss_error *error) {
  const struct ss_figure_record alone = {0};
  struct ss_figure_mapping m = *of_panel;
  struct ss_query_request request;
  const cJSON *list;
  struct ss_figure_search search = {0};
  m.also_where = ss_node_get(entry, "where");
  if (!ss_object_check_keys(&entry_spec, entry, error) || !read_mapping(entry, f->asking, &m, error) ||
      !request_of(entry, f->asking, needs_answer(&m), &request, error))
    return false;
  if (f->asking->given) {
    if (!add_results(f->asking->given, &m, f, &search, error)) return false;
  } else if (!ss_node_present(request.node)) {
    m.where = (struct ss_node){0}; /* the panel's is for answers */
    if (!ss_figure_add_record(&alone, &m, f->plot, f->panel, &search, error)) return false;
  } else if (!records_of(f->asking, &request, &list, error) || !add_results(list, &m, f, &search, error)) {
    return false;
  }
  return search.rows > 0 || ss_figure_fail_search(&search, error);
}

/* --- panels ------------------------------------------------------------------------------------------------- */

/* Of runs as they were played a panel each; nothing but what is run is to be said. */
static bool read_rounds(struct ss_node node, struct ss_query *query, struct ss_plot *plot, struct ss_error *error) {
  static const char *const keys[] = {"title", "kind", "data", NULL};
  struct ss_node data;
  const char *title = NULL;
  const cJSON *answer;
  if (!ss_node_keys(node, keys, error) || !read_text(ss_node_get(node, "title"), plot, &title, error) ||
      !ss_node_need(node, "data", &data, error))
    return false;
  for (struct ss_node entry = ss_node_first(data); ss_node_present(entry); entry = ss_node_next(entry)) {
    const struct ss_query_request request = {.node = entry};
    if (!ss_object_check_keys(&ss_request_fields, entry, error)) return false;
    if (!ss_node_present(ss_node_get(entry, "rounds")))
      return ss_node_fail(entry, error, "of this kind asks {\"rounds\": SCENARIO}");
    if (!ss_query_ask(query, &request, &answer, error) || !ss_rounds_add(plot, title, answer, error)) return false;
  }
  return ss_node_present(ss_node_first(data)) || ss_node_fail(data, error, "is no list of entries");
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written through `filling`
static bool read_panel(struct ss_node node, const struct asking *asking, double *busy, struct ss_plot *plot,
                       struct ss_error *error) {
  const struct ss_figure_quantity none = {.value = NAN, .factor = 1};
  struct ss_figure_mapping m = {none, none, none, none, none, none, {0}, {0}, {0}, NULL};
  const struct ss_node data = ss_node_get(node, "data");
  struct ss_plot_panel read;
  if (!ss_object_read(&panel_spec, node, &read, error)) return false;
  if (read.kind == SS_PLOT_ROUNDS) return read_rounds(node, asking->query, plot, error);
  if (plot->panels == SS_PLOT_PANELS) return ss_node_fail(node, error, "is more than %d panels", SS_PLOT_PANELS);
  struct ss_plot_panel *panel = &plot->panel[plot->panels++];
  if (!read_text(ss_node_get(node, "title"), plot, &panel->title, error)) return false;
  panel->kind = read.kind;
  m.names = ss_node_get(node, "names");
  m.where = ss_node_get(node, "where");
  if (!read_mapping(node, asking, &m, error) || !read_axis(ss_node_get(node, "x"), plot, &panel->x, error) ||
      !read_axis(ss_node_get(node, "y"), plot, &panel->y, error) ||
      !read_axis(ss_node_get(node, "z"), plot, &panel->z, error))
    return false;
  const struct filling filling = {asking, busy, plot, panel};
  for (struct ss_node entry = ss_node_first(data); ss_node_present(entry); entry = ss_node_next(entry)) {
    const size_t first = panel->rows;
    const struct ss_node printed = ss_node_get(entry, "printed");
    if (!add_entry(entry, &m, &filling, error) || !ss_figure_mark_printed(printed, panel, first, error)) return false;
    if (!ss_node_present(printed) && !ss_figure_make_relative(ss_node_get(node, "relative"), panel, first, error))
      return false;
  }
  if (panel->rows == 0) return ss_node_fail(data, error, "is no list of entries");
  if (panel->kind == SS_PLOT_MAP) {
    ss_figure_keep_winners(panel);
    panel->z.unit = ""; /* what the next takes more, in per cent */
  }
  return panel->kind != SS_PLOT_HEAT || ss_figure_check_cells(panel, error);
}

static bool join_note(struct ss_node root, struct ss_plot *plot, struct ss_error *error) {
  const struct ss_node source = ss_node_get(root, "source"), note = ss_node_get(root, "note"),
                       estimated = ss_node_get(root, "estimated");
  const char *text;
  char whole[3000] = "";
  if (ss_node_present(source)) {
    if (!ss_node_text(source, &text, error)) return false;
    ss_append(whole, sizeof whole, "After %.300s.", text);
  }
  if (ss_node_present(note)) {
    if (!ss_node_text(note, &text, error)) return false;
    ss_append(whole, sizeof whole, "%s%.1200s", whole[0] ? " " : "", text);
  }
  for (struct ss_node at = ss_node_first(estimated); ss_node_present(at); at = ss_node_next(at)) {
    if (!ss_node_text(at, &text, error)) return false;
    if (strlen(whole) + 320 > sizeof whole) break;
    const bool first = at.at == estimated.at->child, last = !at.at->next;
    ss_append(whole, sizeof whole, "%s%s%.300s%s", first && whole[0] ? " " : "", first ? "Estimated: " : "; ", text,
              last ? "." : "");
  }
  if (!whole[0]) return true;
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

static size_t requests_in(struct ss_node panels) {
  size_t count = 0;
  for (struct ss_node at = ss_node_first(panels); ss_node_present(at); at = ss_node_next(at))
    count += ss_node_size(ss_node_get(at, "data"));
  return count;
}

static bool read_panels(struct ss_node root, struct asking *asking, double *busy, struct ss_plot *plot,
                        struct ss_error *error) {
  const struct ss_node panels = ss_node_get(root, "panels");
  if (ss_node_size(panels) == 0 || ss_node_size(panels) > SS_PLOT_PANELS)
    return ss_node_fail(panels, error, "is not a list of 1 to %d panels", SS_PLOT_PANELS);
  if (ss_node_present(asking->inputs) && !ss_node_is_object(asking->inputs))
    return ss_node_fail(asking->inputs, error, "expected an object of requests by name");
  const size_t requests = ss_node_present(asking->inputs) ? ss_node_size(asking->inputs) : 0;
  ss_query_watch(asking->query, asking->watcher, requests_in(panels) + requests);
  ss_watcher_begin(asking->watcher, "panels", ss_node_size(panels));
  bool ok = read_let(ss_node_get(root, "let"), asking, error);
  for (struct ss_node at = ss_node_first(panels); ok && ss_node_present(at); at = ss_node_next(at)) {
    ok = read_panel(at, asking, busy, plot, error);
    ss_watcher_advance(asking->watcher, 1, 0, 0);
  }
  ss_watcher_end(asking->watcher);
  return ok;
}

static bool read_styles(struct ss_node styles, struct ss_plot *plot, struct ss_error *error) {
  const char *text;
  for (struct ss_node at = ss_node_first(styles); ss_node_present(at); at = ss_node_next(at))
    if (!ss_node_text(at, &text, error)) return false;
    else if (!ss_plot_set_style(plot, ss_node_key(at), text, error))
      return ss_fail_prefix(error, "%s", ss_doc_name(styles.doc));
  return true;
}

static bool read_figure(struct ss_node root, struct asking *asking, const struct ss_notice *notice,
                        struct ss_plot *plot, struct ss_error *error) {
  double busy = 0;
  if (!ss_object_read(&ss_figure_fields, root, plot, error) ||
      !read_text(ss_node_get(root, "title"), plot, &plot->title, error) || !join_note(root, plot, error))
    return false;
  asking->inputs = ss_node_get(root, "inputs");
  asking->query = ss_query_new(0, notice);
  const bool ok = (asking->query || ss_fail_memory(error, "computing a figure")) &&
                  read_panels(root, asking, &busy, plot, error) &&
                  read_styles(ss_node_get(root, "style"), plot, error) && ss_figure_tell_printed(root, plot, error);
  ss_picked_free(&asking->let);
  ss_query_free(asking->query);
  return ok && tell_busy(busy, notice, plot, error);
}

bool ss_figure_plot(struct ss_doc *doc, const struct ss_notice *notice, const struct ss_watcher *watcher,
                    struct ss_plot *plot, struct ss_error *error) {
  return read_figure(ss_doc_root(doc), &(struct asking){.watcher = watcher}, notice, plot, error);
}

bool ss_figure_fill(struct ss_doc *doc, const cJSON *results, const struct ss_notice *notice, struct ss_plot *plot,
                    struct ss_error *error) {
  return read_figure(ss_doc_root(doc), &(struct asking){.given = results}, notice, plot, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
