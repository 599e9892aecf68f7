#include "base/json.h"
#include "figures/figure.h"
#include "figures/plot_drawing.h"
#include "figures/records.h"
#include "query/field.h"

static void add_axis(cJSON *panel, const char *name, const char *field, const char *labelled) {
  const struct ss_known_field *k = ss_known_field(labelled);
  cJSON *axis = cJSON_AddObjectToObject(panel, name);
  ss_json_add(axis, SS_T("field", field), SS_T("label", k ? k->label : labelled));
  if (!k) return;
  if (k->unit[0]) cJSON_AddStringToObject(axis, "unit", k->unit);
  if (k->factor != 1) cJSON_AddNumberToObject(axis, "factor", k->factor);
}

/* What a result is called, by the field that says so. */
static const char *const called[] = {"label",     "form",      "system", "scheme", "name",
                                     "placement", "algorithm", "tensor", NULL};

/* Names under an axis need no word that says that they are names. */
static void leave_unsaid(cJSON *axis, const char *field) {
  for (size_t i = 0; called[i]; i++)
    if (strcmp(called[i], field) == 0) cJSON_ReplaceItemInObjectCaseSensitive(axis, "label", cJSON_CreateString(""));
}

static bool varies(const cJSON *list, const char *field) {
  const cJSON *first = ss_field_find(list->child, field);
  for (const cJSON *item = list->child; item; item = item->next) {
    const cJSON *other = ss_field_find(item, field);
    if (first && other && !cJSON_Compare(first, other, true)) return true;
  }
  return false;
}

/* The first of the fields that all results could have; NULL: none. */
static const char *first_of(const cJSON *list, const char *const *fields) {
  for (size_t i = 0; fields[i]; i++)
    for (const cJSON *item = list->child; item; item = item->next) {
      const cJSON *found = ss_field_find(item, fields[i]);
      if (found && !cJSON_IsNull(found)) return fields[i];
    }
  return NULL;
}

/* What nobody named: x is what was varied, first of all the sweep. */
static const char *default_x(const cJSON *list) {
  static const char *const numbers[] = {"ranks", "bytes"};
  const cJSON *at = ss_json_get(list->child, "at");
  for (const cJSON *item = at ? at->child : NULL; item; item = item->next)
    if (varies(list, item->string)) return item->string;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (varies(list, numbers[i])) return numbers[i];
  const char *name = first_of(list, called);
  return name ? name : "label";
}

/* --- which results ------------------------------------------------------------------------------------------ */

static bool read_wheres(cJSON *where, const struct ss_plot_options *a, struct ss_error *error) {
  char key[256];
  for (size_t i = 0; i < a->wheres; i++) {
    const char *equal = strchr(a->where[i], '=');
    if (!equal || equal == a->where[i] || (size_t)(equal - a->where[i]) >= sizeof key)
      return ss_fail(error, SS_BAD_INPUT, "--where: \"%s\" is not FIELD=VALUE (say ranks=16)", a->where[i]);
    snprintf(key, sizeof key, "%.*s", (int)(equal - a->where[i]), a->where[i]);
    cJSON *list = ss_json_get(where, key), *value = cJSON_ParseWithOpts(equal + 1, NULL, true);
    if (!list) list = cJSON_AddArrayToObject(where, key);
    cJSON_AddItemToArray(list, value ? value : cJSON_CreateString(equal + 1));
  }
  return true;
}

/* "8, 16 or 32" of a field of the results */
static void list_values(const cJSON *list, const char *field, char *text, size_t size) {
  SS_AUTO_JSON cJSON *seen = cJSON_CreateArray();
  text[0] = '\0';
  for (const cJSON *r = list->child; r; r = r->next) {
    const cJSON *found = ss_field_find(r, field);
    bool known = !found || cJSON_IsArray(found) || cJSON_IsObject(found);
    for (const cJSON *s = seen ? seen->child : NULL; s && !known; s = s->next) known = cJSON_Compare(s, found, true);
    if (known || !cJSON_AddItemToArray(seen, cJSON_Duplicate(found, true))) continue;
    SS_AUTO_FREE char *value = cJSON_IsString(found) ? NULL : cJSON_PrintUnformatted(found);
    ss_append(text, size, "%s%s", text[0] ? ", " : "", value ? value : found->valuestring);
  }
}

/* `members`: a field that the record has not may be one of its members'. */
static bool admits(const cJSON *where, const cJSON *record, bool members) {
  for (const cJSON *w = where->child; w; w = w->next) {
    const cJSON *found = ss_field_find(record, w->string);
    if (!(members && !found) && !ss_field_is(found, w)) return false;
  }
  return true;
}

static bool fail_where(const cJSON *list, const cJSON *where, const cJSON *value, struct ss_error *error) {
  char values[400];
  list_values(list, where->string, values, sizeof values);
  SS_AUTO_FREE char *text = value ? cJSON_PrintUnformatted(value) : NULL;
  return ss_fail(error, SS_BAD_INPUT, "--where %s: no result %s%s%s%s%s", where->string, text ? "has " : "is left",
                 text ? text : "", values[0] ? " (there are: " : ", nor any", values, values[0] ? ")" : "");
}

/* A value that no result has does nothing beside others of its field. */
static bool check_values(const cJSON *list, const cJSON *where, struct ss_error *error) {
  for (const cJSON *w = where->child; w; w = w->next)
    for (const cJSON *value = w->child; value; value = value->next) {
      bool any = false, known = false;
      for (const cJSON *r = list->child; r && !any; r = r->next) {
        const cJSON *found = ss_field_find(r, w->string);
        known = known || found;
        any = ss_field_is(found, value);
      }
      if (known && !any) return fail_where(list, w, value, error);
    }
  return true;
}

/* Those of the list that `where` admits, by reference. */
static bool choose(const cJSON *list, const cJSON *where, bool members, cJSON *out, struct ss_error *error) {
  for (const cJSON *r = list->child; r; r = r->next)
    if (admits(where, r, members) && !cJSON_AddItemReferenceToArray(out, (cJSON *)r))
      return ss_fail_memory(error, "drawing");
  if (out->child) return check_values(list, where, error);
  for (const cJSON *w = where->child; w; w = w->next) {
    bool any = false;
    for (const cJSON *r = list->child; r && !any; r = r->next) any = ss_field_is(ss_field_find(r, w->string), w);
    if (!any) return fail_where(list, w, NULL, error);
  }
  return ss_fail(error, SS_BAD_INPUT, "--where: no result has all of it");
}

/* --- where they stand --------------------------------------------------------------------------------------- */

enum { FREE_MAX = 16, PANELS_MAX = 4 };

/* What a picture does not show: fields that vary, though neither an axis nor the series is one of them. */
struct free_fields {
  const char *name[FREE_MAX];
  size_t count;
};

static bool is_field(const cJSON *list, const char *name, const char *field) {
  if (!name) return false;
  const cJSON *a = ss_field_find(list->child, name), *b = ss_field_find(list->child, field);
  return strcmp(name, field) == 0 || (a && a == b);
}

/* Is the last word of something swept: "cluster" of the sweep's own "cluster". */
static bool is_swept(const cJSON *list, const char *field) {
  return cJSON_HasObjectItem(ss_json_get(list->child, "at"), field);
}

/* Is the field the same wherever the other is: that tells both? */
static bool follows(const cJSON *list, const char *field, const char *other) {
  for (const cJSON *a = list->child; a; a = a->next)
    for (const cJSON *b = list->child; b != a; b = b->next)
      if (cJSON_Compare(ss_field_find(a, other), ss_field_find(b, other), true) &&
          !cJSON_Compare(ss_field_find(a, field), ss_field_find(b, field), true))
        return false;
  return true;
}

static void add_free(struct free_fields *f, const cJSON *list, const char *field, const char *const *shown) {
  for (size_t i = 0; i < 3; i++)
    if (is_field(list, shown[i], field)) return;
  if (strcmp(field, "device") == 0 && follows(list, field, "cluster")) return;
  if (varies(list, field) && f->count < FREE_MAX) f->name[f->count++] = field;
}

/* `shown`: [3] the fields of axes and series, each may be NULL. */
static struct free_fields find_free(const cJSON *list, const char *const *shown, bool labels) {
  static const char *const fields[] = {"ranks", "cluster", "device", "workload", "tensor", NULL};
  const cJSON *at = ss_json_get(list->child, "at");
  struct free_fields f = {.count = 0};
  for (const cJSON *item = cJSON_IsObject(at) ? at->child : NULL; item; item = item->next)
    add_free(&f, list, item->string, shown);
  for (size_t i = 0; fields[i]; i++)
    if (!is_swept(list, fields[i])) add_free(&f, list, fields[i], shown);
  if (labels) add_free(&f, list, "label", shown);
  return f;
}

static cJSON *cell_of(const cJSON *record, const struct free_fields *f) {
  cJSON *cell = cJSON_CreateObject();
  for (size_t i = 0; i < f->count; i++) {
    const cJSON *found = ss_field_find(record, f->name[i]);
    if (found) cJSON_AddItemToObject(cell, f->name[i], cJSON_Duplicate(found, true));
  }
  return cell;
}

/* All cells that differ in free fields, each {FIELD: VALUE}; the caller's. */
static cJSON *find_cells(const cJSON *list, const struct free_fields *f) {
  cJSON *cells = cJSON_CreateArray();
  for (const cJSON *r = list->child; r; r = r->next) {
    cJSON *cell = cell_of(r, f);
    bool known = false;
    for (const cJSON *p = cells ? cells->child : NULL; p && !known; p = p->next) known = cJSON_Compare(p, cell, true);
    if (known || !cJSON_AddItemToArray(cells, cell)) cJSON_Delete(cell);
  }
  return cells;
}

/* "bert, ranks = 8": what results have names of needs no word that says what it is. */
static bool is_named(const char *field) {
  static const char *const named[] = {"cluster", "device", "workload", "tensor"};
  for (size_t i = 0; i < sizeof named / sizeof *named; i++)
    if (strcmp(field, named[i]) == 0) return true;
  return false;
}

static void title_of(const cJSON *cell, const char *before, char *text, size_t size) {
  snprintf(text, size, "%s", before ? before : "");
  for (const cJSON *p = cell->child; p; p = p->next) {
    char value[100];
    const char *and = text[0] ? ", " : "", *name = cJSON_IsString(p) ? p->valuestring : value;
    if (!cJSON_IsString(p))
      ss_figure_value(p->string, cJSON_IsNumber(p) ? p->valuedouble : cJSON_IsTrue(p), value, sizeof value);
    if (cJSON_IsString(p) && is_named(p->string))
      ss_append(text, size, "%s%.90s", and, strcmp(name, "*") == 0 ? "all tensors" : name);
    else ss_append(text, size, "%s%s = %.90s", and, p->string, name);
  }
}

/* --- panels ------------------------------------------------------------------------------------------------- */

/* What the panels are made of. */
struct making {
  cJSON *root;
  const struct ss_plot_options *a;
  const char *kind, *series;
  const cJSON *list, *where; /* the results that are drawn, and what chose them */
  const cJSON *cell;         /* {FIELD: VALUE}: those of the panel now made */
};

static cJSON *add_panel(const struct making *m, const char *kind, const char *title, const char *each) {
  cJSON *panels = ss_json_get(m->root, "panels"), *panel = cJSON_CreateObject();
  char text[400];
  if (!panels) panels = cJSON_AddArrayToObject(m->root, "panels");
  cJSON_AddItemToArray(panels, panel);
  cJSON_AddStringToObject(panel, "kind", kind);
  title_of(m->cell, title, text, sizeof text);
  if (text[0]) cJSON_AddStringToObject(panel, "title", text);
  cJSON *entry = cJSON_CreateObject(), *where = cJSON_Duplicate(m->where, true);
  if (each) cJSON_AddStringToObject(entry, "each", each);
  cJSON_AddItemToArray(cJSON_AddArrayToObject(panel, "data"), entry);
  for (const cJSON *p = m->cell->child; p; p = p->next) (void)ss_json_put(where, p->string, cJSON_Duplicate(p, true));
  cJSON_AddItemToObject(panel, "where", where);
  return panel;
}

static void set_scale(cJSON *panel, const char *axis, const char *scale) {
  cJSON *object = ss_json_get(panel, axis);
  if (cJSON_IsObject(object)) cJSON_AddStringToObject(object, "scale", scale);
}

/* Axes' names, each once: anything else would draw linear axes, and say nothing. */
static bool check_axes(const char *option, const char *text, struct ss_error *error) {
  static const char *const good[] = {"x", "y", "xy", "yx", "none"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    if (!text || strcmp(text, good[i]) == 0) return true;
  return ss_fail(error, SS_BAD_INPUT, "%s: \"%s\" is not x, y, xy or none", option, text);
}

static void set_scales(cJSON *panel, const struct ss_plot_options *a, const char *x, bool bars) {
  const bool log2 = a->log2 ? strchr(a->log2, 'x') != NULL : strcmp(x, "ranks") == 0;
  const char *log = a->log ? a->log : "";
  if (!bars && strchr(log, 'x')) set_scale(panel, "x", "log"); /* bars stand by name */
  else if (!bars && log2) set_scale(panel, "x", "log2");
  if (strchr(log, 'y')) set_scale(panel, "y", "log");
  else if (a->log2 && strchr(a->log2, 'y')) set_scale(panel, "y", "log2");
}

static void traffic_panels(const struct making *m) {
  static const char *const ways[] = {"rank_bytes_sent", "rank_bytes_received"};
  for (size_t i = 0; i < 2; i++) {
    cJSON *panel = add_panel(m, "lines", i ? "received" : "sent", ways[i]);
    add_axis(panel, "x", "index", "rank");
    add_axis(panel, "y", "value", ways[i]);
    cJSON_AddStringToObject(panel, "series", m->series);
  }
}

/* How busy links are, kind by kind: the busiest of a kind, and what is usual for it. */
static void links_panels(const struct making *m) {
  static const char *const fields[] = {"busy_max", "busy_mean"}, *const titles[] = {"the busiest link of its kind",
                                                                                    "mean of all links of the kind"};
  static const char *const names[][2] = {{"nic-out", "NIC, out"}, {"nic-in", "NIC, in"}};
  for (size_t i = 0; i < 2; i++) {
    cJSON *panel = add_panel(m, "heat", titles[i], "links");
    const char *x = m->a->x ? m->a->x : "label";
    add_axis(panel, "x", x, x);
    leave_unsaid(ss_json_get(panel, "x"), x);
    add_axis(panel, "y", "key", "");
    add_axis(panel, "z", fields[i], fields[i]);
    cJSON_AddNumberToObject(ss_json_get(panel, "z"), "to", 1);
    cJSON_AddStringToObject(panel, "series", m->series);
    cJSON *renamed = cJSON_AddObjectToObject(panel, "names");
    for (size_t k = 0; k < 2; k++) cJSON_AddStringToObject(renamed, names[k][0], names[k][1]);
  }
}

static void set_relative(cJSON *panel, const char *series) {
  cJSON *relative = cJSON_AddObjectToObject(panel, "relative"), *axis = ss_json_get(panel, "y");
  char label[300];
  ss_json_add(relative, SS_T("to", series), SS_T("as", "ratio"));
  snprintf(label, sizeof label, "%.120s / %.120s's", ss_json_get(axis, "label")->valuestring, series);
  cJSON_ReplaceItemInObjectCaseSensitive(axis, "label", cJSON_CreateString(label));
  cJSON_DeleteItemFromObjectCaseSensitive(axis, "unit");
}

/* The fields asked for, or guessed. */
struct axes {
  const char *x, *y, *z;
  bool cells;
};

static struct axes choose_axes(const struct making *m) {
  static const char *const times[] = {"time_s", "iteration_s", "formula_s", "formula_high_s", "density", NULL};
  const struct ss_plot_options *a = m->a;
  const char *time = first_of(m->list, times);
  struct axes axes = {.cells = strcmp(m->kind, "heat") == 0 || strcmp(m->kind, "map") == 0};
  axes.x = a->x ? a->x : a->each ? "index" : axes.cells ? "ranks" : default_x(m->list);
  axes.y = a->y ? a->y : a->each ? "value" : axes.cells ? default_x(m->list) : time;
  axes.z = a->z ? a->z : time;
  return axes;
}

/* Times are drawn with what their draws of uneven links spread over, where results have any. */
static void add_fan(cJSON *panel, const cJSON *list, const struct axes *axes) {
  static const char *const fans[][3] = {{"time_s", "time_p5_s", "time_p95_s"},
                                        {"time_s", "time_low_s", "time_high_s"},
                                        {"iteration_s", "iteration_p5_s", "iteration_p95_s"},
                                        {"time_p50_s", "time_p5_s", "time_p95_s"},
                                        {"iteration_p50_s", "iteration_p5_s", "iteration_p95_s"}};
  for (size_t i = 0; !axes->cells && i < sizeof fans / sizeof *fans; i++) {
    if (strcmp(axes->y, fans[i][0]) != 0 || !first_of(list, (const char *[]){fans[i][1], NULL})) continue;
    ss_json_add(panel, SS_T("low", fans[i][1]), SS_T("high", fans[i][2]));
    return;
  }
}

static void one_panel(const struct making *m, const struct axes *axes) {
  const struct ss_plot_options *a = m->a;
  const char *kind = !a->kind && cJSON_IsString(ss_field_find(m->list->child, axes->x)) ? "bars" : m->kind;
  cJSON *panel = add_panel(m, kind, NULL, a->each);
  add_axis(panel, "x", axes->x, axes->x);
  leave_unsaid(ss_json_get(panel, "x"), axes->x);
  add_axis(panel, "y", axes->y, a->each && !a->y ? a->each : axes->y);
  if (axes->cells) add_axis(panel, "z", axes->z, axes->z);
  add_fan(panel, m->list, axes);
  cJSON_AddStringToObject(panel, "series", m->series);
  if (a->relative) set_relative(panel, a->relative);
  if (!axes->cells) set_scales(panel, a, axes->x, strcmp(kind, "bars") == 0);
}

/* A line may be drawn along what is no swept field: then what moves along it is the first thing that varies. */
static struct free_fields free_fields_of(const struct making *m, const struct axes *axes) {
  const bool traffic = strcmp(m->kind, "traffic") == 0, links = strcmp(m->kind, "links") == 0;
  const bool map = strcmp(m->kind, "map") == 0, fixed = axes->cells || traffic || links;
  const char *shown[] = {traffic ? NULL
                         : links ? (m->a->x ? m->a->x : "label")
                                 : axes->x,
                         axes->cells ? axes->y : NULL, axes->cells && !map ? NULL : m->series};
  if (!fixed && m->a->x && strcmp(shown[0], "label") != 0) {
    const char *moved = default_x(m->list);
    struct free_fields all = find_free(m->list, (const char *[]){NULL, NULL, NULL}, false);
    bool is_swept = false;
    for (size_t i = 0; i < all.count; i++) is_swept = is_swept || is_field(m->list, shown[0], all.name[i]);
    if (!is_swept) shown[1] = moved;
  }
  return find_free(m->list, shown, strcmp(m->kind, "heat") == 0);
}

static bool fail_cells(const struct making *m, const struct free_fields *f, int cells, struct ss_error *error) {
  char names[600] = "";
  for (size_t i = 0; i < f->count; i++) ss_append(names, sizeof names, "%s%s", i ? ", " : "", f->name[i]);
  return ss_fail(error, SS_BAD_INPUT,
                 "%s: %d places would be drawn as if they were one, %s var%s: choose with --where %s=VALUE, or draw "
                 "along it with --x or --series",
                 m->a->file, cells, names, f->count == 1 ? "ies" : "y", f->name[0]);
}

/* A panel, or two, for each cell; what one series alone has, is the series. */
static bool make_panels(struct making *m, struct ss_error *error) {
  const bool pairs = strcmp(m->kind, "traffic") == 0 || strcmp(m->kind, "links") == 0;
  const struct axes axes = choose_axes(m);
  if (!pairs && (!axes.y || (axes.cells && !axes.z)))
    return ss_fail(error, SS_BAD_INPUT, "%s: say what to draw with --y", m->a->file);
  struct free_fields f = free_fields_of(m, &axes);
  if (f.count == 1 && !m->a->series && !axes.cells && !pairs && !varies(m->list, m->series)) {
    m->series = f.name[0];
    f.count = 0;
  }
  SS_AUTO_JSON cJSON *cells = find_cells(m->list, &f);
  const int count = cJSON_GetArraySize(cells);
  const int most = PANELS_MAX / (1 + pairs);
  const bool ok = count <= most || m->a->left_out || fail_cells(m, &f, count, error);
  if (m->a->left_out) *m->a->left_out = count > most ? (size_t)(count - most) : 0;
  if (pairs ? strcmp(m->kind, "links") == 0 : count > 1) cJSON_AddTrueToObject(m->root, "wide");
  m->cell = cells ? cells->child : NULL;
  for (int i = 0; ok && m->cell && i < most; i++, m->cell = m->cell->next)
    if (strcmp(m->kind, "traffic") == 0) traffic_panels(m);
    else if (pairs) links_panels(m);
    else one_panel(m, &axes);
  return ok;
}

/* Of what crossover answers: who is cheaper from where to where. */
static bool draw_ranges(const cJSON *result, const struct ss_notice *notice, struct ss_plot *plot,
                        struct ss_error *error) {
  const cJSON *ranges = ss_json_get(result, "ranges");
  const char *over = ss_json_word(result, "over");
  cJSON *root = cJSON_CreateObject(), *panel = cJSON_CreateObject(), *data = cJSON_CreateArray();
  SS_AUTO_DOC struct ss_doc *figure = NULL;
  if (!ss_doc_adopt("plot", root, &figure, error)) return false;
  ss_json_add(panel, SS_T("kind", "spans"), SS_T("y", "winner"), SS_T("series", "winner"), SS_J("data", data));
  add_axis(panel, "x", "from", over);
  add_axis(panel, "low", "from", over);
  add_axis(panel, "high", "to", over);
  set_scale(panel, "x", "log");
  cJSON_AddItemToArray(data, cJSON_CreateObject());
  cJSON_AddItemToArray(cJSON_AddArrayToObject(root, "panels"), panel);
  return ss_figure_fill(figure, ranges, notice, plot, error);
}

static bool explain_map(struct ss_plot *plot, struct ss_error *error) {
  bool ties = false;
  for (size_t p = 0; p < plot->panels; p++)
    for (size_t i = 0; i < plot->panel[p].rows; i++)
      ties = ties || strcmp(plot->panel[p].row[i].series, SS_PLOT_TIE) == 0;
  plot->note = ss_plot_text(
      plot,
      ties ? "A cell has the colour of who is best there; its number: by how many % the next has more. Hatched: by "
             "less than 0.5%, or the best is so in fewer than 66 of 100 draws."
           : "A cell has the colour of who is best there; its number: by how many % the next has more.");
  return plot->note || ss_fail_memory(error, "drawing");
}

static void widen(double value, double *low, double *high) {
  if (isfinite(value)) *low = fmin(*low, value), *high = fmax(*high, value);
}

/* Panels that differ in a place alone are read beside each other: one axis of y for all. Axes of which nothing was
 * said are logarithmic where values are spread. */
static void share_axes(const struct ss_plot_options *a, struct ss_plot *plot) {
  double least = INFINITY, low = INFINITY, high = 0, left = INFINITY, right = 0;
  for (size_t p = 0; p < plot->panels; p++) {
    const struct ss_plot_panel *panel = &plot->panel[p];
    if (panel->kind != SS_PLOT_LINES && panel->kind != SS_PLOT_BARS) return;
    for (size_t i = 0; i < panel->rows; i++) {
      const struct ss_plot_row *r = &panel->row[i];
      widen(r->y, &least, &high), widen(r->y, &low, &high), widen(r->low, &low, &high), widen(r->high, &low, &high);
      widen(r->x_text ? 0 : r->x, &left, &right);
    }
  }
  for (size_t p = 0; p < plot->panels; p++) {
    struct ss_plot_axis *x = &plot->panel[p].x, *y = &plot->panel[p].y;
    const bool free = !a->log && !a->log2;
    if (free && y->scale == SS_SCALE_LINEAR && low > 0 && high > SS_FIGURE_SPREAD * least) y->scale = SS_SCALE_LOG;
    if (free && x->scale == SS_SCALE_LINEAR && left > 0 && right > SS_FIGURE_SPREAD * left &&
        plot->panel[p].kind == SS_PLOT_LINES)
      x->scale = SS_SCALE_LOG;
    if (plot->panels < 2 || !(high > 0) || !(low >= 0)) continue;
    const bool linear = y->scale == SS_SCALE_LINEAR;
    y->high = high * (linear ? 1.05 : 1.2);
    if (!linear && low > 0) y->low = low / 1.2;
  }
}

/* What a kind of picture is not drawn by. */
static bool check_options(const struct ss_plot_options *a, const char *kind, struct ss_error *error) {
  const struct {
    const char *option, *value, *idle; /* kinds, with spaces around them */
  } options[] = {{"--x", a->x, " traffic "},
                 {"--y", a->y, " traffic links "},
                 {"--z", a->z, " lines bars traffic links "},
                 {"--series", a->series, " links "},
                 {"--each", a->each, " traffic links "},
                 {"--relative", a->relative, " traffic links "},
                 {"--log", a->log, " heat map links "},
                 {"--log2", a->log2, " heat map links "}};
  char word[16];
  (void)snprintf(word, sizeof word, " %s ", kind);
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (options[i].value && strstr(options[i].idle, word))
      return ss_fail(error, SS_BAD_INPUT, "%s does nothing in a picture of the kind \"%s\"", options[i].option, kind);
  return true;
}

bool ss_figure_plot_results(const struct ss_plot_options *a, const cJSON *result, const struct ss_notice *notice,
                            struct ss_plot *plot, struct ss_error *error) {
  const cJSON *all = ss_records(result);
  if (!check_axes("--log", a->log, error) || !check_axes("--log2", a->log2, error)) return false;
  if (!all || !all->child) return ss_figure_fail_empty(a->file, error);
  if (!a->kind && ss_json_word(result, "over") && ss_json_get(result, "ranges"))
    return draw_ranges(result, notice, plot, error);
  cJSON *root = cJSON_CreateObject();
  SS_AUTO_DOC struct ss_doc *figure = NULL;
  if (!ss_doc_adopt("plot", root, &figure, error)) return false;
  SS_AUTO_JSON cJSON *list = cJSON_CreateArray(), *where = cJSON_CreateObject();
  struct making m = {.root = root, .a = a, .kind = a->kind ? a->kind : "lines", .list = list, .where = where};
  const bool members = a->each || strcmp(m.kind, "traffic") == 0 || strcmp(m.kind, "links") == 0;
  if (!check_options(a, m.kind, error) || !read_wheres(where, a, error) || !choose(all, where, members, list, error))
    return false;
  m.series = a->series ? a->series : first_of(list, called);
  if (!m.series) m.series = "tensor";
  if (!make_panels(&m, error)) return false;
  if (!ss_figure_fill(figure, all, notice, plot, error)) return false;
  if (strcmp(m.kind, "map") == 0 && !explain_map(plot, error)) return false;
  share_axes(a, plot);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
