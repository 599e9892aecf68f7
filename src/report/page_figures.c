#include "base/json.h"
#include "base/json_text.h"
#include "report/page_parts.h"

#include "figures/figure.h"
#include "report/html.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  GROUPS_MAX = 8, /* of bars */
  CROWD = 12,
  TOGETHER_MAX = 8, /* bars in a group */
  LINES_MAX = 12,   /* in a panel */
  BARS_MAX = 40,
  DATA_ROWS_MAX = 2000
};
/* From this ratio between the largest and the smallest value on, small ones would not be seen: of times and bytes,
 * and of what is varied. */
static const double WIDE_RANGE = 20, WIDE_AXIS = 8;

struct figure {
  struct ss_plot plot;
  bool crowded; /* more categories than a phone's width has room for: drawn wide only, to be scrolled */
  char caption[600];
};

struct figures {
  const struct ss_page_cells *cells;
  const struct ss_page_axis *x, *y;  /* numeric; NULL: none */
  const struct ss_page_row *traffic; /* of the ranks there; NULL: not known */
  FILE *stream;
  struct ss_error *lacking;
  unsigned count;
};

/* --- what is drawn ------------------------------------------------------------------------------------------ */

/* Small values of an axis would not be seen, and all are above zero: it becomes logarithmic. */
static void fit_scale(const struct ss_plot *plot, char name, double from, struct ss_plot_axis *axis) {
  double low = INFINITY, high = 0;
  for (size_t i = 0; i < plot->panels; i++)
    for (size_t k = 0; k < plot->panel[i].rows; k++) {
      const struct ss_plot_row *r = &plot->panel[i].row[k];
      low = fmin(low, name == 'x' ? r->x : r->y);
      high = fmax(high, name == 'x' ? r->x : r->y);
    }
  if (axis->scale == SS_SCALE_LINEAR && low > 0 && high / low >= from) axis->scale = SS_SCALE_LOG;
}

static void name_axes(const struct figures *m, struct ss_plot *plot) {
  for (size_t i = 0; i < plot->panels; i++) {
    plot->panel[i].x.label = m->x ? m->x->word : "";
    if (m->y) plot->panel[i].y.label = m->y->word;
  }
}

static void fit_scales(struct ss_plot *plot) {
  struct ss_plot whole = *plot;
  for (size_t i = 0; i < plot->panels; i++) {
    if (plot->panel[i].kind == SS_PLOT_LINES) fit_scale(&whole, 'x', WIDE_AXIS, &plot->panel[i].x);
    if (plot->panel[i].kind != SS_PLOT_MAP) fit_scale(&whole, 'y', WIDE_RANGE, &plot->panel[i].y);
  }
}

/* How far the label is from the winner where it comes nearest. */
static double nearest(const struct ss_page_cells *cells, const char *label) {
  double best = INFINITY;
  for (size_t i = 0; i < cells->plan.count; i++)
    for (size_t k = 0; cells->row[i].decides && k < cells->plan.row[i].candidates; k++) {
      const struct ss_result *p = &cells->plan.row[i].cell[k];
      if (strcmp(p->setting.label, label) == 0) best = fmin(best, p->time / cells->plan.row[i].time);
    }
  return best;
}

/* Is the k-th scheme of the cell among those that come nearest to the winner somewhere? */
static bool is_near(const struct ss_page_cells *cells, const struct ss_plan_row *row, size_t k) {
  size_t before = 0;
  if (row->candidates <= LINES_MAX) return true;
  const double mine = nearest(cells, row->cell[k].setting.label);
  for (size_t i = 0; i < row->candidates; i++) {
    const double other = i == k ? INFINITY : nearest(cells, row->cell[i].setting.label);
    before += other < mine || (other == mine && i < k);
  }
  return before < LINES_MAX;
}

/* What a figure takes from a result: who, how long, and where along the page's axes; without numeric ones, the cell
 * in words. */
static cJSON *record_of(const struct figures *m, const struct ss_page_row *row, const struct ss_result *p) {
  return m->x ? ss_json_object(SS_T("label", p->setting.label), SS_N("time_s", p->time),
                               SS_J("at", cJSON_Duplicate(ss_json_get(row->json, "axes"), true)))
              : ss_json_object(SS_T("label", p->setting.label), SS_N("time_s", p->time),
                               SS_T("place", m->cells->deciding > 1 ? row->place : "time"));
}

/* The largest number of schemes of a cell, and the records of all that decide. */
static cJSON *list_records(const struct figures *m, size_t *most) {
  cJSON *list = cJSON_CreateArray();
  *most = 0;
  for (size_t i = 0; list && i < m->cells->plan.count; i++) {
    const struct ss_page_row *row = &m->cells->row[i];
    if (!row->decides) continue;
    if (row->plan->candidates > *most) *most = row->plan->candidates;
    for (size_t k = 0; k < row->plan->candidates; k++)
      if (m->y || (m->x ? is_near(m->cells, row->plan, k) : k < BARS_MAX))
        cJSON_AddItemToArray(list, record_of(m, row, &row->plan->cell[k]));
  }
  return list;
}

/* Of bars; `most`: schemes in a cell. */
static void caption_bars(const struct figures *m, struct figure *f, size_t most) {
  snprintf(f->caption, sizeof f->caption, "Time of one synchronisation%s%s%s.",
           m->cells->several_tensors ? ", all tensors together" : "",
           f->plot.panel->y.scale == SS_SCALE_LOG ? "; the axis is logarithmic" : "",
           most > BARS_MAX ? "; the first 40 schemes only" : "");
}

/* Of lines and maps. */
static void caption_axes(const struct figures *m, struct figure *f, size_t most, size_t left_out) {
  const char *behind = left_out ? "; other places stand in the tables only." : ".";
  if (m->y)
    snprintf(f->caption, sizeof f->caption,
             "The fastest scheme over %.100s and %.100s; the number is what the next takes longer, in per cent%s",
             m->x->word, m->y->word, behind);
  else
    snprintf(f->caption, sizeof f->caption, "Time of one synchronisation over %.100s%s%s", m->x->word,
             most > LINES_MAX ? "; only the twelve schemes that come nearest to the winner somewhere" : "", behind);
}

/* A map of winners over two numeric axes, lines over one; else bars in groups: a group a cell and a bar a scheme,
 * or, of many schemes, the other way round. */
static bool fill_times(struct figures *m, struct figure *f, struct ss_error *error) {
  size_t most, left_out = 0;
  SS_AUTO_JSON cJSON *list = list_records(m, &most);
  const bool by_place = m->cells->deciding > 1 && most <= TOGETHER_MAX;
  struct ss_plot_options options = {.file = "the page", .y = "time_s", .z = "time_s", .left_out = &left_out};
  options.kind = m->y ? "map" : m->x ? "lines" : "bars";
  options.x = m->x ? m->x->name : by_place ? "place" : "label";
  if (m->y) options.y = m->y->name;
  options.series = m->x || by_place ? "label" : "place";
  const bool ok = ss_figure_plot_results(&options, list, NULL, &f->plot, error);
  f->plot.note = NULL; /* the caption says it */
  name_axes(m, &f->plot);
  fit_scales(&f->plot);
  f->crowded = !m->x && (by_place ? m->cells->deciding : most) > CROWD;
  if (m->x) caption_axes(m, f, most, left_out);
  else caption_bars(m, f, most);
  return ok;
}

static bool fill_traffic(struct figures *m, struct figure *f, struct ss_error *error) {
  const struct ss_plan_row *row = m->traffic->plan;
  SS_AUTO_JSON cJSON *list = cJSON_CreateArray();
  for (size_t k = 0; k < row->candidates && k < LINES_MAX; k++) {
    const struct ss_result *p = &row->cell[k];
    cJSON_AddItemToArray(
        list, ss_json_object(SS_T("label", p->setting.label),
                             SS_J("rank_bytes_sent", cJSON_CreateDoubleArray(p->rank_sent, (int)p->ranks)),
                             SS_J("rank_bytes_received", cJSON_CreateDoubleArray(p->rank_received, (int)p->ranks))));
  }
  const struct ss_plot_options options = {.file = "the page", .kind = "traffic", .series = "label"};
  const bool ok = ss_figure_plot_results(&options, list, NULL, &f->plot, error);
  fit_scales(&f->plot);
  const bool all = strcmp(row->cell->tensor, "*") == 0;
  const char *place = m->traffic->place;
  snprintf(f->caption, sizeof f->caption, "Bytes of each rank, %s%.200s%s%.200s.", all ? "all tensors" : "tensor ",
           all ? "" : row->cell->tensor, place[0] ? ", " : "", place);
  return ok;
}

/* --- writing ------------------------------------------------------------------------------------------------ */

static void value_cell(struct ss_table *table, const char *unit, double value) {
  if (isnan(value)) ss_table_cell(table, "%s", "");
  else if (strcmp(unit, "s") == 0) ss_table_quantity(table, SS_TIME, value);
  else if (strcmp(unit, "B") == 0) ss_table_quantity(table, SS_BYTES, value);
  else if (strcmp(unit, "bit/s") == 0) ss_table_quantity(table, SS_RATE, value / 8);
  else if (strcmp(unit, "%") == 0) ss_table_cell(table, "%.4g%%", 100 * value);
  else ss_table_cell(table, "%.6g", value);
}

static bool write_data(const struct figure *f, FILE *stream, struct ss_error *error) {
  const struct ss_plot *plot = &f->plot;
  const bool map = plot->panel->kind == SS_PLOT_MAP, titled = plot->panels > 1;
  const char *heads[5] = {NULL};
  size_t columns = 0, rows = 0;
  if (titled) heads[columns++] = "<panel";
  heads[columns++] = map ? "<fastest" : "<series";
  heads[columns++] = plot->panel->x.label[0] ? plot->panel->x.label : "at";
  heads[columns++] = plot->panel->y.label[0] ? plot->panel->y.label : "value";
  if (map) heads[columns++] = "margin, %";
  struct ss_table *table = ss_table_new(columns, heads);
  for (size_t p = 0; p < plot->panels; p++)
    for (size_t i = 0; i < plot->panel[p].rows && rows < DATA_ROWS_MAX; i++, rows++) {
      const struct ss_plot_panel *panel = &plot->panel[p];
      const struct ss_plot_row *r = &panel->row[i];
      if (titled) ss_table_cell(table, "%s", panel->title);
      ss_table_cell(table, "%s", r->series);
      if (r->x_text) ss_table_cell(table, "%s", r->x_text);
      else value_cell(table, panel->x.unit, r->x);
      value_cell(table, panel->y.unit, r->y);
      if (map) ss_table_number(table, "%.1f", r->z);
    }
  return ss_table_html_free(table, NULL, SIZE_MAX, stream, error);
}

/* gnuplot gives its marks the same names in every picture. On a page each picture has its own: inside tags, `prefix`
 * comes before what is named and before what refers to it. Texts, in which "<" is escaped, stay as they are. */
static void write_named(const char *svg, const char *prefix, FILE *stream) {
  static const char *const before[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};
  bool tag = false;
  while (*svg) {
    size_t n = 0;
    for (size_t i = 0; tag && n == 0 && i < sizeof before / sizeof *before; i++)
      if (strncmp(svg, before[i], strlen(before[i])) == 0) n = strlen(before[i]);
    if (n > 0) {
      fprintf(stream, "%.*s%s", (int)n, svg, prefix);
      svg += n;
      continue;
    }
    if (*svg == '<') tag = true;
    if (*svg == '>') tag = false;
    fputc(*svg++, stream);
  }
}

/* The picture without its XML declaration, which has no place inside HTML, and without gnuplot's title, which
 * browsers would show under the pointer. */
static void write_svg(const char *svg, const char *id, const char *caption_id, const char *look, FILE *stream) {
  static const char last[] = "</desc>";
  const char *root = strstr(svg, "<svg"), *end = root ? strchr(root, '>') : NULL,
             *desc = end ? strstr(end, last) : NULL;
  if (!end) return;
  fprintf(stream, "<div class=\"picture %s\"><svg role=\"img\" aria-labelledby=\"%s\"%.*s", look, caption_id,
          (int)(end - root - 3), root + 4);
  write_named(desc ? desc + sizeof last - 1 : end + 1, id, stream);
  fputs("</div>\n", stream);
}

/* Twice: for wide screens and paper, and for phones, where the wide one could not be read. */
static bool draw(struct figures *m, struct figure *f, FILE *stream, struct ss_error *error) {
  char id[32], caption_id[32];
  snprintf(caption_id, sizeof caption_id, "caption%u", m->count);
  for (int wide = 1; wide >= (f->crowded ? 1 : 0); wide--) {
    struct ss_picture_bytes svg = {NULL, 0};
    struct ss_error why = {0};
    snprintf(id, sizeof id, "figure%u%s-", m->count, wide ? "wide" : "narrow");
    f->plot.wide = wide && f->plot.panels <= 2;
    const bool ok = ss_plot_draw(&f->plot, SS_PICTURE_SVG, &svg, &why);
    if (ok) write_svg(svg.bytes, id, caption_id, f->crowded ? "crowded" : wide ? "wide" : "narrow", stream);
    free(svg.bytes);
    if (ok) continue;
    *m->lacking = why;
    return why.status == SS_MACHINE ? true : ss_fail(error, why.status, "%s", why.text);
  }
  return true;
}

static bool write_figure(struct figures *m, struct figure *f, struct ss_error *error) {
  char *pictures = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&pictures, &size);
  if (!stream) return ss_fail_memory(error, "drawing");
  m->count++;
  bool ok = m->lacking->text[0] ? true : draw(m, f, stream, error);
  fclose(stream);
  const bool drawn = ok && !m->lacking->text[0];
  fprintf(m->stream, "<figure id=\"figure%u\">\n%s", m->count, drawn && pictures ? pictures : "");
  free(pictures);
  fprintf(m->stream, "<figcaption id=\"caption%u\">Figure %u. ", m->count, m->count);
  ss_html_text(f->caption, m->stream);
  fputs("</figcaption>\n", m->stream);
  if (drawn) fputs("<details><summary>Its data</summary>\n", m->stream);
  ok = ok && write_data(f, m->stream, error);
  fputs(drawn ? "</details>\n</figure>\n" : "</figure>\n", m->stream);
  return ok;
}

static bool make(struct figures *m, bool (*fill)(struct figures *, struct figure *, struct ss_error *),
                 struct ss_error *error) {
  struct figure f = {0};
  const bool ok = fill(m, &f, error) && write_figure(m, &f, error);
  ss_plot_free(&f.plot);
  return ok;
}

/* Ranks have traffic in every cell; the figure shows the one with most of them. */
static const struct ss_page_row *busiest(const struct ss_page_cells *cells) {
  const struct ss_page_row *found = NULL;
  for (size_t i = 0; i < cells->plan.count; i++)
    if (cells->plan.row[i].cell->rank_sent && (!found || cells->plan.row[i].cell->ranks > found->plan->cell->ranks))
      found = &cells->row[i];
  return found;
}

bool ss_page_figures(const struct ss_page_cells *cells, FILE *stream, struct ss_error *lacking,
                     struct ss_error *error) {
  struct figures m = {.cells = cells, .traffic = busiest(cells), .stream = stream, .lacking = lacking};
  for (size_t i = 0; i < cells->axes; i++) {
    const struct ss_page_axis *axis = &cells->axis[i];
    if (axis->numeric && !m.x) m.x = axis;
    else if (axis->numeric && !m.y) m.y = axis;
  }
  if ((m.x || cells->deciding <= GROUPS_MAX) && !make(&m, fill_times, error)) return false;
  if (!m.x && cells->deciding > GROUPS_MAX)
    fputs("<p>More places than bars could show: the tables have them.</p>\n", stream);
  return !m.traffic || make(&m, fill_traffic, error);
}
