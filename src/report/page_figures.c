#include "report/page_parts.h"

#include "figures/plot.h"
#include "report/html.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  PANELS_MAX = 4, /* of one figure */
  GROUPS_MAX = 8, /* of bars */
  CROWD = 12,
  TOGETHER_MAX = 8, /* bars in a group */
  LINES_MAX = 12,   /* in a panel */
  BARS_MAX = 40,
  DATA_ROWS_MAX = 2000
};
/* From this ratio between the largest and the smallest time on, small ones would not be seen. */
static const double WIDE_RANGE = 20, WIDE_AXIS = 8;

struct figure {
  struct ss_plot plot;
  bool crowded; /* more categories than a phone's width has room for: drawn wide only, to be scrolled */
  char caption[600];
};

struct figures {
  struct ss_page_places *places;
  const struct ss_page_axis *x, *y;    /* numeric; NULL: none */
  const struct ss_page_place *traffic; /* of the ranks there; NULL: not known */
  FILE *stream;
  struct ss_error *lacking;
  unsigned count;
};

/* From zero on, or logarithmic where small values would not be seen and all are above zero. */
static struct ss_plot_axis axis_between(const char *label, const char *unit, double low, double high) {
  const bool log = low > 0 && high / low > WIDE_RANGE;
  return (struct ss_plot_axis){
      .label = label, .unit = unit, .scale = log ? SS_SCALE_LOG : SS_SCALE_LINEAR, .low = log ? NAN : 0, .high = NAN};
}

static struct ss_plot_axis time_axis(const struct ss_page_places *places) {
  double low = INFINITY, high = 0;
  for (size_t i = 0; i < places->count; i++)
    for (size_t k = 0; places->place[i].decides && k < places->place[i].count; k++) {
      low = fmin(low, places->place[i].point[k].time);
      high = fmax(high, places->place[i].point[k].time);
    }
  return axis_between("time", "s", low, high);
}

static struct ss_plot_axis axis_of(const char *label) {
  return (struct ss_plot_axis){.label = label, .unit = "", .low = NAN, .high = NAN};
}

static struct ss_plot_axis no_axis(void) {
  return axis_of("");
}

static bool is_rate(const struct ss_page_axis *axis) {
  return strstr(axis->name, "bandwidth") != NULL;
}

static double plotted(const struct ss_page_axis *axis, const struct ss_result *p) {
  return ss_page_number(axis, p) * (is_rate(axis) ? 8 : 1);
}

static struct ss_plot_axis value_axis(const struct ss_page_places *places, const struct ss_page_axis *axis) {
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < places->count; i++) {
    low = fmin(low, plotted(axis, places->place[i].point));
    high = fmax(high, plotted(axis, places->place[i].point));
  }
  const bool wide = low > 0 && high / low >= WIDE_AXIS, ranks = strcmp(axis->name, "ranks") == 0;
  return (struct ss_plot_axis){.label = axis->word,
                               .unit = is_rate(axis)                   ? "bit/s"
                                       : strstr(axis->name, "latency") ? "s"
                                                                       : "",
                               .scale = low > 0 && ranks ? SS_SCALE_LOG2
                                        : wide           ? SS_SCALE_LOG
                                                         : SS_SCALE_LINEAR,
                               .low = NAN,
                               .high = NAN};
}

/* --- rows --------------------------------------------------------------------------------------------------- */

static bool add(struct ss_plot_panel *panel, const char *series, const char *x_text, double x, double y,
                struct ss_error *error) {
  const struct ss_plot_row row = {
      .series = series, .x_text = x_text, .x = x, .y = y, .z = NAN, .low = NAN, .high = NAN};
  return ss_plot_add(panel, &row, error);
}

/* Bars in groups: a group a place and a bar a scheme, or, of many schemes, the other way round. */
static bool fill_bars(struct figures *m, struct figure *f, struct ss_error *error) {
  const struct ss_page_places *places = m->places;
  struct ss_plot_panel *panel = &f->plot.panel[f->plot.panels++];
  *panel = (struct ss_plot_panel){
      .title = "", .kind = SS_PLOT_BARS, .x = no_axis(), .y = time_axis(places), .z = no_axis()};
  size_t most = 0;
  for (size_t i = 0; i < places->count; i++)
    if (places->place[i].count > most) most = places->place[i].count;
  const bool by_place = places->deciding > 1 && most <= TOGETHER_MAX;
  for (size_t i = 0; i < places->count; i++) {
    const struct ss_page_place *place = &places->place[i];
    for (size_t k = 0; place->decides && k < place->count && k < BARS_MAX; k++) {
      const struct ss_result *p = &place->point[k];
      const char *where = places->deciding > 1 ? place->text : "time";
      if (!add(panel, by_place ? p->setting.label : where, by_place ? where : p->setting.label, NAN, p->time, error))
        return false;
    }
  }
  f->crowded = (by_place ? places->deciding : most) > CROWD;
  snprintf(f->caption, sizeof f->caption, "Time of one synchronisation%s%s%s.",
           places->several_tensors ? ", all tensors together" : "",
           panel->y.scale == SS_SCALE_LOG ? "; the axis is logarithmic" : "",
           most > BARS_MAX ? "; the first 40 schemes only" : "");
  return true;
}

/* How far the label is from the winner where it comes nearest. */
static double nearest(const struct ss_page_places *places, const char *label) {
  double best = INFINITY;
  for (size_t i = 0; i < places->count; i++)
    for (size_t k = 0; places->place[i].decides && k < places->place[i].count; k++) {
      const struct ss_result *p = &places->place[i].point[k];
      if (strcmp(p->setting.label, label) == 0) best = fmin(best, p->time / places->place[i].best->time);
    }
  return best;
}

/* Is the k-th scheme of the place among those that come nearest to the winner somewhere? */
static bool is_near(const struct ss_page_places *places, const struct ss_page_place *place, size_t k) {
  size_t before = 0;
  if (place->count <= LINES_MAX) return true;
  const double mine = nearest(places, place->point[k].setting.label);
  for (size_t i = 0; i < place->count; i++) {
    const double other = i == k ? INFINITY : nearest(places, place->point[i].setting.label);
    before += other < mine || (other == mine && i < k);
  }
  return before < LINES_MAX;
}

static bool in_words(const struct ss_page_axis *axis) {
  return !axis->numeric;
}

/* The panel of what the drawn axes leave open; NULL: there are as many as fit. */
static struct ss_plot_panel *panel_of(struct figure *f, const char *title) {
  for (size_t i = 0; i < f->plot.panels; i++)
    if (strcmp(f->plot.panel[i].title, title) == 0) return &f->plot.panel[i];
  if (f->plot.panels == PANELS_MAX) return NULL;
  struct ss_plot_panel *panel = &f->plot.panel[f->plot.panels++];
  *panel = (struct ss_plot_panel){.title = title, .x = no_axis(), .y = no_axis(), .z = no_axis()};
  return panel;
}

static bool add_lines(struct figures *m, const struct ss_page_place *place, struct ss_plot_panel *panel,
                      struct ss_error *error) {
  panel->kind = SS_PLOT_LINES;
  panel->x = value_axis(m->places, m->x);
  panel->y = time_axis(m->places);
  for (size_t k = 0; k < place->count; k++) {
    const struct ss_result *p = &place->point[k];
    if (is_near(m->places, place, k) && !add(panel, p->setting.label, NULL, plotted(m->x, p), p->time, error))
      return false;
  }
  return true;
}

static bool add_winner(struct figures *m, const struct ss_page_place *place, struct ss_plot_panel *panel,
                       struct ss_error *error) {
  const struct ss_result *best = place->best;
  const struct ss_plot_row row = {.series = best->setting.label,
                                  .x = plotted(m->x, best),
                                  .y = plotted(m->y, best),
                                  .z = place->next && best->time > 0 ? 100 * (place->next->time / best->time - 1) : 0,
                                  .low = NAN,
                                  .high = NAN};
  panel->kind = SS_PLOT_MAP;
  panel->x = value_axis(m->places, m->x);
  panel->y = value_axis(m->places, m->y);
  panel->x.scale = panel->y.scale = SS_SCALE_LINEAR; /* cells stand side by side, whatever their values */
  panel->z = axis_of("margin");
  return ss_plot_add(panel, &row, error);
}

/* What differs and is not drawn, as a panel's title; NULL when memory is short. */
static const char *panel_title(struct figures *m, const struct ss_result *p, struct ss_plot *plot) {
  struct ss_page_places *places = m->places;
  const char *words = ss_page_where(places, p, in_words);
  char text[600];
  size_t used = (size_t)snprintf(text, sizeof text, "%s", words ? words : "");
  for (size_t i = 0; i < places->axes && used < sizeof text; i++) {
    const struct ss_page_axis *axis = &places->axis[i];
    const char *value = axis->numeric && axis != m->x && axis != m->y ? ss_page_value(places, axis, p) : NULL;
    if (value)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", used ? ", " : "", axis->word, value);
  }
  return ss_plot_text(plot, text);
}

static bool fill_panels(struct figures *m, struct figure *f, struct ss_error *error) {
  struct ss_page_places *places = m->places;
  size_t left_out = 0, most = 0;
  for (size_t i = 0; i < places->count; i++) {
    const struct ss_page_place *place = &places->place[i];
    if (!place->decides) continue;
    const char *title = panel_title(m, place->point, &f->plot);
    if (!title) return ss_fail_memory(error, "drawing");
    struct ss_plot_panel *panel = panel_of(f, title);
    left_out += panel == NULL;
    if (place->count > most) most = place->count;
    if (panel && !(m->y ? add_winner(m, place, panel, error) : add_lines(m, place, panel, error))) return false;
  }
  snprintf(f->caption, sizeof f->caption, "%s %.100s%s%.100s%s%s%s",
           m->y ? "The fastest scheme over" : "Time of one synchronisation over", m->x->word, m->y ? " and " : "",
           m->y ? m->y->word : "", m->y ? "; the number is what the next takes longer, in per cent" : "",
           !m->y && most > LINES_MAX ? "; only the twelve schemes that come nearest to the winner somewhere" : "",
           left_out ? "; other places stand in the tables only." : ".");
  return true;
}

/* Few ranks are names: between them there is nothing. */
static bool add_ranks(struct figure *f, struct ss_plot_panel *panel, const struct ss_result *p, const double *bytes,
                      struct ss_error *error) {
  enum { NAMED = 32 };
  char name[16];
  for (uint32_t r = 0; bytes && r < p->ranks; r++) {
    snprintf(name, sizeof name, "%u", r);
    const char *text = p->ranks <= NAMED ? ss_plot_text(&f->plot, name) : NULL;
    if (p->ranks <= NAMED && !text) return ss_fail_memory(error, "drawing");
    if (!add(panel, p->setting.label, text, text ? (double)NAN : (double)r, bytes[r], error)) return false;
  }
  return true;
}

static struct ss_plot_axis bytes_axis(const struct ss_plot_panel *panel, const char *label) {
  double low = INFINITY, high = 0;
  for (size_t i = 0; i < panel->rows; i++) {
    low = fmin(low, panel->row[i].y);
    high = fmax(high, panel->row[i].y);
  }
  return axis_between(label, "B", low, high);
}

static bool fill_traffic(struct figures *m, struct figure *f, struct ss_error *error) {
  const struct ss_page_place *place = m->traffic;
  for (size_t way = 0; way < 2; way++) {
    const char *label = way ? "received" : "sent";
    struct ss_plot_panel *panel = &f->plot.panel[f->plot.panels++];
    *panel = (struct ss_plot_panel){.title = label, .kind = SS_PLOT_LINES, .x = axis_of("rank"), .z = no_axis()};
    for (size_t k = 0; k < place->count && k < LINES_MAX; k++) {
      const struct ss_result *p = &place->point[k];
      if (!add_ranks(f, panel, p, way ? p->rank_received : p->rank_sent, error)) return false;
    }
    panel->y = bytes_axis(panel, label);
  }
  const bool all = strcmp(place->point->tensor, "*") == 0;
  snprintf(f->caption, sizeof f->caption, "Bytes of each rank, %s%.200s%s%.200s.", all ? "all tensors" : "tensor ",
           all ? "" : place->point->tensor, place->text[0] ? ", " : "", place->text);
  return true;
}

/* --- writing ------------------------------------------------------------------------------------------------ */

static void value_cell(struct ss_table *table, const char *unit, double value) {
  if (isnan(value)) ss_table_cell(table, "%s", "");
  else if (strcmp(unit, "s") == 0) ss_table_quantity(table, SS_TIME, value);
  else if (strcmp(unit, "B") == 0) ss_table_quantity(table, SS_BYTES, value);
  else if (strcmp(unit, "bit/s") == 0) ss_table_quantity(table, SS_RATE, value / 8);
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
      if (map) ss_table_cell(table, "%.1f", r->z);
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

/* Ranks have traffic at every place; the figure shows the one with most of them. */
static const struct ss_page_place *busiest(const struct ss_page_places *places) {
  const struct ss_page_place *found = NULL;
  for (size_t i = 0; i < places->count; i++)
    if (places->place[i].point->rank_sent && (!found || places->place[i].point->ranks > found->point->ranks))
      found = &places->place[i];
  return found;
}

bool ss_page_figures(struct ss_page_places *places, FILE *stream, struct ss_error *lacking, struct ss_error *error) {
  struct figures m = {.places = places, .traffic = busiest(places), .stream = stream, .lacking = lacking};
  for (size_t i = 0; i < places->axes; i++) {
    const struct ss_page_axis *axis = &places->axis[i];
    if (axis->numeric && !m.x) m.x = axis;
    else if (axis->numeric && !m.y) m.y = axis;
  }
  if (m.x && !make(&m, fill_panels, error)) return false;
  if (!m.x && places->deciding <= GROUPS_MAX && !make(&m, fill_bars, error)) return false;
  if (!m.x && places->deciding > GROUPS_MAX)
    fputs("<p>More places than bars could show: the tables have them.</p>\n", stream);
  return !m.traffic || make(&m, fill_traffic, error);
}
