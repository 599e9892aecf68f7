/* A plot as gnuplot takes it: a script that sets names, axes and places and loads a template of plots/ for each
 * panel, and data files of nothing but numbers. Lengths are in 1/96 inch. */
#include "report/plot.h"

#include "base/data.h"
#include "base/units.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN = 317, PAGE = 672 }; /* 3.3 and 7 inches */
enum { WORDS_MAX = 40, CATEGORIES_MAX = 4096, TIC_LETTERS = 24 };
static const double letter = 5.9, big_letter = 7.1, small_letter = 5.1; /* mean widths at 8, 9 and 6.5 points */

/* What one panel's script is made from. */
struct drawing {
  const struct ss_plot *plot;
  const struct ss_plot_panel *panel;
  const char *const *series; /* of the whole figure: a name has one style everywhere */
  size_t all;
  size_t mine[SS_PLOT_SERIES_MAX], count; /* places in `series` of those drawn here */
  const char **x_texts, **y_texts;        /* categories, in order of appearance; of numbers: NULL */
  double *x_values, *y_values;            /* of categories that are numbers, ascending */
  size_t xs, ys;
  double x_factor, y_factor, z_factor;
  const char *x_unit, *y_unit, *z_unit; /* as shown */
  double width, height, left, bottom;
  double below; /* what stands under the plot: tics, label, key */
};

/* --- text --------------------------------------------------------------------------------------------------- */

void ss_plot_quote(const char *text, bool tic, FILE *stream) {
  const char *const begin = text;
  fputc('\'', stream);
  for (size_t n; *text; text += n) {
    n = ss_utf8_printable(text, 4);
    if (n == 0) {
      fputc('?', stream);
      n = 1;
      continue;
    }
    if (*text == '\'') fputs("\342\200\231", stream);
    else if (*text == '>' && text - begin >= 2 && text[-1] == ']' && text[-2] == ']') fputs("\342\200\272", stream);
    else fwrite(text, 1, n, stream);
    if (tic && *text == '%') fputc(*text, stream);
  }
  fputc('\'', stream);
}

static size_t letters(const char *text) {
  size_t n = 0;
  for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
  return n;
}

/* The whole of `text`, or its first letters and "...": long names would leave no room for the plot. */
static void shorten(const char *text, size_t most, char *out, size_t size) {
  size_t at = 0, n = 0;
  for (; text[at] && n < most; at++) n += ((unsigned char)text[at + 1] & 0xc0) != 0x80;
  snprintf(out, size, "%.*s%s", (int)at, text, text[at] ? "..." : "");
}

/* Where a line of at most `room` letters ends: behind a word if there is one. */
static size_t line_end(const char *text, size_t room) {
  size_t end = 0, at = 0, n = 0;
  for (; text[at] && n <= room; at++) {
    if (text[at] == ' ' || text[at] == '\n') end = at;
    n += ((unsigned char)text[at] & 0xc0) != 0x80;
  }
  if (!text[at] && n <= room) return at;
  if (end > 0) return end;
  while (at > 1 && ((unsigned char)text[at - 1] & 0xc0) == 0x80) at--;
  return at > 1 ? at - 1 : at;
}

/* Lines that `text` takes; with a stream they are written as labels from `top` down, `step` apart. */
static size_t wrap(const char *text, double width, double letter_width, FILE *stream, double top, double step,
                   const char *look, double full) {
  const size_t room = (size_t)((width - 12) / letter_width);
  size_t lines = 0;
  char line[1000];
  while (*text && lines < WORDS_MAX) {
    size_t n = line_end(text, room);
    if (stream) {
      snprintf(line, sizeof line, "%.*s", (int)n, text);
      fputs("set label ", stream);
      ss_plot_quote(line, false, stream);
      fprintf(stream, " at screen %.6f, screen %.6f left %s\n", 6 / width,
              1 - (top + step * ((double)lines + 0.5)) / full, look);
    }
    text += n;
    while (*text == ' ' || *text == '\n') text++;
    lines++;
  }
  return lines;
}

/* --- units -------------------------------------------------------------------------------------------------- */

struct multiple {
  double factor;
  const char *name;
};

static struct multiple thousands(double most, const char *const *names, double smallest) {
  size_t i = 0;
  double unit = smallest;
  for (; names[i + 1] && most >= unit * 1000 * 0.9999; i++) unit *= 1000;
  return (struct multiple){1 / unit, names[i]};
}

static struct multiple multiple_of(const char *unit, double most) {
  static const char *const times[] = {"ns", "\302\265s", "ms", "s", NULL}, *const sizes[] = {"B",  "kB", "MB",
                                                                                             "GB", "TB", NULL},
                           *const rates[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", NULL};
  if (strcmp(unit, "s") == 0) return thousands(most, times, 1e-9);
  if (strcmp(unit, "B") == 0) return thousands(most, sizes, 1);
  if (strcmp(unit, "bit/s") == 0) return thousands(most, rates, 1);
  if (strcmp(unit, "%") == 0) return (struct multiple){100, "%"};
  return (struct multiple){1, unit};
}

static double largest(const struct ss_plot_panel *panel, char axis) {
  double most = 0;
  for (size_t i = 0; i < panel->rows; i++) {
    const struct ss_plot_row *r = &panel->row[i];
    const double values[] = {axis == 'x'   ? r->x
                             : axis == 'y' ? r->y
                                           : r->z,
                             axis == (panel->kind == SS_PLOT_SPANS ? 'x' : 'y') ? r->high : NAN};
    for (size_t j = 0; j < 2; j++)
      if (isfinite(values[j])) most = fmax(most, fabs(values[j]));
  }
  return most;
}

static bool tics_have_unit(const struct ss_plot_axis *a) {
  return a->scale == SS_SCALE_LOG &&
         (strcmp(a->unit, "s") == 0 || strcmp(a->unit, "B") == 0 || strcmp(a->unit, "bit/s") == 0);
}

static void choose_units(struct drawing *d) {
  const struct ss_plot_panel *p = d->panel;
  const struct multiple x = multiple_of(p->x.unit, largest(p, 'x')), y = multiple_of(p->y.unit, largest(p, 'y')),
                        z = multiple_of(p->z.unit, largest(p, 'z'));
  /* On a logarithmic axis each tic has the multiple that fits it. */
  d->x_factor = tics_have_unit(&p->x) ? 1 : x.factor, d->x_unit = tics_have_unit(&p->x) ? "" : x.name;
  d->y_factor = tics_have_unit(&p->y) ? 1 : y.factor, d->y_unit = tics_have_unit(&p->y) ? "" : y.name;
  d->z_factor = z.factor, d->z_unit = z.name;
}

/* --- categories --------------------------------------------------------------------------------------------- */

static bool cells(const struct ss_plot_panel *panel) {
  return panel->kind == SS_PLOT_HEAT || panel->kind == SS_PLOT_MAP;
}

static bool spans(const struct ss_plot_panel *panel) {
  return panel->kind == SS_PLOT_SPANS;
}

static bool x_in_words(const struct ss_plot_panel *panel) {
  return panel->rows > 0 && panel->row[0].x_text != NULL;
}

static bool by_category(const struct ss_plot_panel *panel) {
  return !spans(panel) && (panel->kind != SS_PLOT_LINES || x_in_words(panel));
}

static bool y_by_category(const struct ss_plot_panel *panel) {
  return cells(panel) || spans(panel);
}

static size_t place_of_text(const char *const *list, size_t count, const char *text) {
  size_t i = 0;
  while (i < count && strcmp(list[i], text) != 0) i++;
  return i;
}

static size_t place_of(const double *list, size_t count, double value) {
  size_t i = 0;
  while (i < count && list[i] < value) i++;
  return i;
}

static bool too_many(struct ss_error *error) {
  return ss_fail(error, SS_BAD_INPUT, "more than %d places on an axis (take --kind lines, or --where)",
                 CATEGORIES_MAX);
}

static bool add_text(const char **list, size_t *count, const char *text, struct ss_error *error) {
  const size_t at = place_of_text(list, *count, text);
  if (at < *count) return true;
  if (*count == CATEGORIES_MAX) return too_many(error);
  list[(*count)++] = text;
  return true;
}

static bool add_value(double *list, size_t *count, double value, struct ss_error *error) {
  const size_t at = place_of(list, *count, value);
  if (isnan(value) || (at < *count && list[at] == value)) return true;
  if (*count == CATEGORIES_MAX) return too_many(error);
  memmove(list + at + 1, list + at, (*count - at) * sizeof *list);
  list[at] = value;
  (*count)++;
  return true;
}

static bool collect(struct drawing *d, struct ss_error *error) {
  /* Of numbers on an axis of their own no list is needed, but for the tics of a binary scale. */
  const bool placed = !spans(d->panel) && (by_category(d->panel) || d->panel->x.scale == SS_SCALE_LOG2);
  for (size_t i = 0; i < d->panel->rows; i++) {
    const struct ss_plot_row *r = &d->panel->row[i];
    if (d->panel->x.scale == SS_SCALE_LOG2 && !by_category(d->panel) && !(r->x > 0)) continue;
    if (placed &&
        !(r->x_text ? add_text(d->x_texts, &d->xs, r->x_text, error) : add_value(d->x_values, &d->xs, r->x, error)))
      return false;
    if (y_by_category(d->panel) &&
        !(r->y_text ? add_text(d->y_texts, &d->ys, r->y_text, error) : add_value(d->y_values, &d->ys, r->y, error)))
      return false;
    const size_t mine = place_of_text(d->series, d->all, r->series);
    size_t at = 0;
    while (at < d->count && d->mine[at] != mine) at++;
    if (at == d->count) d->mine[d->count++] = mine;
  }
  return true;
}

static double x_place(const struct drawing *d, const struct ss_plot_row *r) {
  return (double)(r->x_text ? place_of_text(d->x_texts, d->xs, r->x_text) : place_of(d->x_values, d->xs, r->x));
}

static double y_place(const struct drawing *d, const struct ss_plot_row *r) {
  return (double)(r->y_text ? place_of_text(d->y_texts, d->ys, r->y_text) : place_of(d->y_values, d->ys, r->y));
}

static void tic_text(char *text, size_t size, const char *const *texts, const double *values, size_t i,
                     const char *unit, double factor) {
  if (texts[i]) shorten(texts[i], TIC_LETTERS, text, size);
  else snprintf(text, size, "%.3g%s", values[i] * factor, strcmp(unit, "%") == 0 ? "%" : "");
}

static const char *x_tic(const struct drawing *d, size_t i, char *text, size_t size) {
  tic_text(text, size, d->x_texts, d->x_values, i, d->x_unit, d->x_factor);
  return text;
}

static size_t longest_x(const struct drawing *d) {
  char text[200];
  size_t most = 0;
  for (size_t i = 0; i < d->xs; i++) {
    const size_t n = letters(x_tic(d, i, text, sizeof text));
    if (n > most) most = n;
  }
  return most;
}

static bool turned(const struct drawing *d) {
  return by_category(d->panel) && (double)(longest_x(d) + 1) * letter * (double)d->xs > d->width - 60;
}

/* --- sizes -------------------------------------------------------------------------------------------------- */

static size_t key_letters(const struct drawing *d) {
  return (size_t)((d->width - 60) / letter);
}

static size_t longest_name(const struct drawing *d) {
  size_t most = 1;
  for (size_t i = 0; i < d->count; i++) {
    const size_t n = letters(d->series[d->mine[i]]);
    if (n > most) most = n;
  }
  return most < key_letters(d) ? most : key_letters(d);
}

/* gnuplot stacks no more entries than fit beside the plot, and puts no more in a row than fit under it. */
enum { STACKED = 7 };

static size_t key_columns(const struct drawing *d) {
  const double entry = (double)longest_name(d) * letter + 36;
  const double columns = fmax(1, floor((d->width - 16) / entry));
  if (ceil((double)d->count / columns) <= STACKED) return (size_t)columns;
  return (size_t)fmax(1, floor((d->width - 90) / (1.3 * entry)));
}

static bool has_key(const struct drawing *d) {
  return d->panel->kind != SS_PLOT_HEAT && (d->count > 1 || d->panel->kind == SS_PLOT_MAP);
}

static double key_height(const struct drawing *d) {
  return has_key(d) ? 14 * ceil((double)d->count / (double)key_columns(d)) + 4 : 0;
}

static double height_below(const struct drawing *d) {
  return (d->panel->x.label[0] ? 42 : 26) + key_height(d) +
         (turned(d) ? fmin(130, 0.55 * letter * (double)longest_x(d)) : 0);
}

static double height_above(const struct drawing *d) {
  return d->panel->title && d->panel->title[0] ? 20 : 8;
}

static double height_between(const struct drawing *d) {
  return y_by_category(d->panel) ? fmin(400, fmax(80, 24 * (double)d->ys)) : 135;
}

/* --- the script of a panel ---------------------------------------------------------------------------------- */

static void set_label(const char *axis, const struct ss_plot_axis *a, const char *unit, FILE *s) {
  char text[300];
  snprintf(text, sizeof text, unit[0] && a->label[0] ? "%s (%s)" : "%s%s", a->label, unit);
  fprintf(s, "set %slabel ", axis);
  ss_plot_quote(text, false, s);
  fprintf(s, " offset %s\n", axis[0] == 'x' ? "0,0.7" : axis[0] == 'y' ? "0.3,0" : "0,0");
}

/* Tics at every category; of many, at every so many-th. */
static void set_category_tics(const char *axis, const struct drawing *d, const char *const *texts,
                              const double *values, size_t count, FILE *s) {
  char text[200];
  const bool x = axis[0] == 'x';
  const size_t step = x && !texts[0] ? 1 + count / 24 : 1;
  fprintf(s, "set %stics %sscale 0 (", axis, x && turned(d) ? "rotate by 35 right offset 0,-0.2 " : "");
  for (size_t i = 0; i < count; i += step) {
    tic_text(text, sizeof text, texts, values, i, x ? d->x_unit : d->y_unit, x ? d->x_factor : d->y_factor);
    if (i) fputs(", ", s);
    ss_plot_quote(text, true, s);
    fprintf(s, " %zu", i);
  }
  const double last = (double)count - 0.5;
  if (!x && spans(d->panel)) fprintf(s, ")\nset yrange [%.1f:-0.5]\n", last); /* lanes are read from the top */
  else fprintf(s, ")\nset %srange [-0.5:%.1f]\n", axis, last);
}

static void set_log2_tics(const struct drawing *d, FILE *s) {
  const size_t step = 1 + (d->xs - 1) / 10;
  fputs("set xtics (", s);
  for (size_t i = 0; i < d->xs; i += step) fprintf(s, "%s%.17g", i ? ", " : "", d->x_values[i] * d->x_factor);
  /* a range of its own, a little wider: rounding would drop the tics at its ends */
  fprintf(s, ")\nset xrange [%.17g:%.17g]\n", d->x_values[0] * d->x_factor * 0.9999,
          d->x_values[d->xs - 1] * d->x_factor * 1.0001);
}

static void set_range(const char *axis, const struct ss_plot_axis *a, double factor, bool from_zero, FILE *s) {
  char low[40] = "*", high[40] = "*";
  if (!isnan(a->low)) snprintf(low, sizeof low, "%.17g", a->low * factor);
  else if (from_zero) snprintf(low, sizeof low, "0");
  if (!isnan(a->high)) snprintf(high, sizeof high, "%.17g", a->high * factor);
  fprintf(s, "set %srange [%s:%s]%s\n", axis, low, high, axis[0] == 'x' ? " noextend" : "");
}

static void set_scale(const char *axis, const struct ss_plot_axis *a, FILE *s) {
  if (a->scale == SS_SCALE_LINEAR) return;
  fprintf(s, "set logscale %s %d\n", axis, a->scale == SS_SCALE_LOG ? 10 : 2);
  if (a->scale == SS_SCALE_LOG) fprintf(s, "set m%stics 10\n", axis);
  /* 1e-05 is no way to write a time: 10 us */
  if (tics_have_unit(a)) fprintf(s, "set format %s '%%.0s %%c%s'\n", axis, a->unit);
  else if (a->scale == SS_SCALE_LOG && strcmp(a->unit, "%") != 0) fprintf(s, "set format %s '%%g'\n", axis);
}

static bool any_below_zero(const struct ss_plot_panel *panel) {
  bool below = false;
  for (size_t i = 0; i < panel->rows; i++) below = below || panel->row[i].y < 0 || panel->row[i].low < 0;
  return below;
}

static void set_axes(const struct drawing *d, FILE *s) {
  const struct ss_plot_panel *p = d->panel;
  set_label("x", &p->x, strcmp(d->x_unit, "%") == 0 && by_category(p) ? "" : d->x_unit, s);
  set_label("y", &p->y, strcmp(d->y_unit, "%") == 0 && cells(p) ? "" : d->y_unit, s);
  if (by_category(p)) {
    set_category_tics("x", d, d->x_texts, d->x_values, d->xs, s);
  } else {
    set_scale("x", &p->x, s);
    set_range("x", &p->x, d->x_factor, false, s);
    if (p->x.scale == SS_SCALE_LOG2) set_log2_tics(d, s);
  }
  if (y_by_category(p)) {
    set_category_tics("y", d, d->y_texts, d->y_values, d->ys, s);
    return;
  }
  set_scale("y", &p->y, s);
  set_range("y", &p->y, d->y_factor, p->y.scale == SS_SCALE_LINEAR && !any_below_zero(p), s);
}

static void set_key(const struct drawing *d, double width, double height, FILE *s) {
  const size_t columns = key_columns(d), rows = (d->count + columns - 1) / columns;
  fprintf(s, "set key at screen %.6f, screen %.6f bottom center %s %zu width -key_narrow*%zu\n",
          (d->left + d->width / 2) / width, (d->bottom + 4) / height,
          rows <= STACKED ? "vertical maxrows" : "horizontal maxcols", rows <= STACKED ? rows : columns,
          longest_name(d));
}

static void set_names(const struct drawing *d, double width, double height, FILE *s) {
  char text[600];
  fprintf(s, "n = %zu\narray name[%zu]\narray style[%zu]\n", d->count, d->count, d->count);
  for (size_t i = 0; i < d->count; i++) {
    fprintf(s, "style[%zu] = %zu\nname[%zu] = ", i + 1, d->mine[i] + 1, i + 1);
    shorten(d->series[d->mine[i]], key_letters(d) - 3, text, sizeof text);
    ss_plot_quote(text, false, s);
    fputc('\n', s);
  }
  if (!has_key(d)) fputs("unset key\n", s);
  else set_key(d, width, height, s);
}

static const char *const templates[] = {"lines.gp", "bars.gp", "heat.gp", "map.gp", "spans.gp"};

/* Inside their boxes, where there is room for them. */
static void set_span_names(const struct drawing *d, FILE *s) {
  double most = isnan(d->panel->x.high) ? 0 : d->panel->x.high;
  for (size_t i = 0; i < d->panel->rows; i++) most = fmax(most, d->panel->row[i].high);
  for (size_t i = 0; i < d->panel->rows; i++) {
    const struct ss_plot_row *r = &d->panel->row[i];
    const double room = (r->high - r->low) / most * (d->width - 150);
    if (!isfinite(room) || !r->x_text || !r->x_text[0] || (double)letters(r->x_text) * small_letter + 4 > room)
      continue;
    fputs("set label ", s);
    ss_plot_quote(r->x_text, false, s);
    fprintf(s, " at %.17g, %.17g center front font small\n", (r->low + r->high) / 2 * d->x_factor, y_place(d, r));
  }
}

/* A mark at every point of a short line, of a long one at some 25. */
static size_t marks_apart(const struct drawing *d) {
  const size_t each = d->panel->rows / (d->count ? d->count : 1);
  return each > 30 ? each / 25 : 1;
}

static void write_panel(const struct drawing *d, size_t number, double width, double height, FILE *s) {
  bool ranges = false;
  for (size_t i = 0; i < d->panel->rows; i++) ranges = ranges || isfinite(d->panel->row[i].low);
  fprintf(s, "reset\nload 'style.gp'\ndata = 'panel-%zu.dat'\nranges = %d\n", number, ranges);
  fprintf(s, "most = %.17g\nroom = %d\nthin = %zu\n", largest(d->panel, 'z') * d->z_factor,
          d->xs > 0 && (d->width - 90) / (double)d->xs >= 26, marks_apart(d));
  fprintf(s, "set origin %.6f, %.6f\nset size %.6f, %.6f\n", d->left / width, d->bottom / height, d->width / width,
          d->height / height);
  if (d->panel->title && d->panel->title[0]) {
    fputs("set title ", s);
    ss_plot_quote(d->panel->title, false, s);
    fputs(" offset 0,-0.8\n", s);
  }
  /* gnuplot's own margin above a plot is made for larger type, and differs from panel to panel */
  fprintf(s, "set tmargin at screen %.6f\nset bmargin at screen %.6f\n",
          (d->bottom + d->height - height_above(d)) / height, (d->bottom + d->below) / height);
  if (d->panel->kind != SS_PLOT_HEAT)
    fprintf(s, "set rmargin at screen %.6f\n",
            (d->left + d->width - (by_category(d->panel) || !tics_have_unit(&d->panel->x) ? 16 : 30)) / width);
  set_names(d, width, height, s);
  set_axes(d, s);
  if (spans(d->panel)) set_span_names(d, s);
  if (d->panel->kind == SS_PLOT_HEAT) set_label("cb", &d->panel->z, d->z_unit, s);
  fprintf(s, "load '%s'\n", templates[d->panel->kind]);
}

/* --- data --------------------------------------------------------------------------------------------------- */

static void number(double value, FILE *s) {
  if (isfinite(value)) fprintf(s, " %.17g", value);
  else fputs(" NaN", s);
}

static int by_x(const void *a, const void *b) {
  const struct ss_plot_row *const *p = a, *const *q = b;
  if ((*p)->x != (*q)->x) return (*p)->x < (*q)->x ? -1 : 1;
  return *p < *q ? -1 : *p > *q;
}

static void data_line(const struct drawing *d, const struct ss_plot_row *r, size_t series, FILE *s) {
  /* a cluster of bars leaves a fifth of its place free */
  const double bar = 0.8 / (double)d->count;
  const bool words = by_category(d->panel);
  if (spans(d->panel)) {
    number(r->low * d->x_factor, s);
    number(r->high * d->x_factor, s);
    number(y_place(d, r), s);
    fputc('\n', s);
    return;
  }
  double x = words ? x_place(d, r) : r->x * d->x_factor, y = r->y;
  if (d->panel->kind == SS_PLOT_BARS) x += bar * ((double)series - ((double)d->count - 1) / 2);
  if (isnan(y) && isfinite(r->low) && isfinite(r->high)) y = (r->low + r->high) / 2;
  number(x, s);
  number(cells(d->panel) ? y_place(d, r) : y * d->y_factor, s);
  number(r->low * d->y_factor, s);
  number(r->high * d->y_factor, s);
  number(r->z * d->z_factor, s);
  number(bar, s);
  fputc('\n', s);
}

/* A block a series, two empty lines between. */
static bool write_data(const struct drawing *d, const char *folder, size_t index, struct ss_error *error) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/panel-%zu.dat", folder, index);
  FILE *s = fopen(path, "w");
  const struct ss_plot_row **list = ss_alloc(d->panel->rows, sizeof *list);
  for (size_t i = 0; s && list && i < d->count; i++) {
    size_t n = 0;
    for (size_t j = 0; j < d->panel->rows; j++)
      if (strcmp(d->panel->row[j].series, d->series[d->mine[i]]) == 0) list[n++] = &d->panel->row[j];
    if (d->panel->kind == SS_PLOT_LINES && !x_in_words(d->panel)) qsort(list, n, sizeof *list, by_x);
    for (size_t j = 0; j < n; j++) data_line(d, list[j], i, s);
    fputs("\n\n", s);
  }
  free(list);
  const bool ok = s && !ferror(s) && list;
  if (s && fclose(s) != 0) return ss_fail(error, SS_MACHINE, "%s: cannot write", path);
  return ok || ss_fail(error, SS_MACHINE, "%s: cannot write", path);
}

/* --- the figure --------------------------------------------------------------------------------------------- */

static bool series_of(const struct ss_plot *plot, const char **series, size_t *count, struct ss_error *error) {
  for (size_t p = 0; p < plot->panels; p++) {
    if (plot->panel[p].rows == 0)
      return ss_fail(error, SS_BAD_INPUT, "there is nothing to draw%s%s", plot->panel[p].title ? " in panel " : "",
                     plot->panel[p].title ? plot->panel[p].title : "");
    for (size_t i = 0; i < plot->panel[p].rows; i++) {
      if (place_of_text(series, *count, plot->panel[p].row[i].series) < *count) continue;
      if (*count == SS_PLOT_SERIES_MAX)
        return ss_fail(error, SS_BAD_INPUT, "more than %d series (choose with --where or --series)",
                       SS_PLOT_SERIES_MAX);
      series[(*count)++] = plot->panel[p].row[i].series;
    }
  }
  return true;
}

static bool can_be_logarithmic(const struct drawing *d, const struct ss_plot_axis *a, char axis) {
  bool above = a->scale == SS_SCALE_LINEAR || y_by_category(d->panel) || (axis == 'x' && by_category(d->panel));
  for (size_t i = 0; i < d->panel->rows; i++) {
    const struct ss_plot_row *r = &d->panel->row[i];
    above = above || (axis == 'x' ? r->x > 0 : r->y > 0 || r->high > 0);
  }
  return above;
}

static bool prepare(const struct ss_plot *plot, size_t at, const char *const *series, size_t all, struct drawing *d,
                    struct ss_error *error) {
  *d = (struct drawing){.plot = plot, .panel = &plot->panel[at], .series = series, .all = all};
  d->x_texts = ss_alloc_zero(CATEGORIES_MAX, sizeof *d->x_texts);
  d->y_texts = ss_alloc_zero(CATEGORIES_MAX, sizeof *d->y_texts);
  d->x_values = ss_alloc(CATEGORIES_MAX, sizeof *d->x_values);
  d->y_values = ss_alloc(CATEGORIES_MAX, sizeof *d->y_values);
  if (!d->x_texts || !d->y_texts || !d->x_values || !d->y_values) return ss_fail_memory(error, "drawing");
  choose_units(d);
  if (!can_be_logarithmic(d, &d->panel->x, 'x') || !can_be_logarithmic(d, &d->panel->y, 'y'))
    return ss_fail(error, SS_BAD_INPUT, "a logarithmic axis needs a value above zero");
  return collect(d, error);
}

static void finish(struct drawing *d) {
  free(d->x_texts);
  free(d->y_texts);
  free(d->x_values);
  free(d->y_values);
}

/* How gnuplot's terminals reckon the height and width of type differs: key_spacing and key_narrow make up for it. */
void ss_plot_terminal(enum ss_picture picture, const char *id, double width, double height, FILE *s) {
  fputs("set encoding utf8\n", s);
  switch (picture) {
  case SS_PICTURE_SVG:
    fprintf(s, "set terminal svg size %.0f,%.0f font 'sans-serif,10.67' noenhanced background '#ffffff' rounded",
            width, height);
    if (id) {
      fputs(" name ", s);
      ss_plot_quote(id, false, s);
    }
    fputc('\n', s);
    fputs("big = ',12'\nsmall = ',8.67'\nkey_spacing = 0.85\nkey_narrow = 0.15\n", s);
    break;
  case SS_PICTURE_PDF:
    fprintf(
        s, "set terminal pdfcairo size %.4fin,%.4fin font 'Sans,8' noenhanced fontscale 0.75 linewidth 1.5 rounded\n",
        width / 96, height / 96);
    fputs("big = ',9'\nsmall = ',6.5'\nkey_spacing = 1.1\nkey_narrow = 0.1\n", s);
    break;
  case SS_PICTURE_PNG:
    /* 288 dots an inch: print at column width, and sharp on a dense screen */
    fprintf(s,
            "set terminal pngcairo size %.0f,%.0f font 'Sans,8' noenhanced fontscale 3 linewidth 3 pointscale 3 "
            "rounded\n",
            width * 3, height * 3);
    fputs("big = ',9'\nsmall = ',6.5'\nkey_spacing = 1.1\nkey_narrow = 0.02\n", s);
    break;
  }
  fputs("set output 'picture'\n", s);
}

struct frame {
  double width, height, title, note; /* heights of the texts */
};

static struct frame place_panels(const struct ss_plot *plot, struct drawing *d) {
  struct frame f = {.width = plot->wide ? PAGE : COLUMN};
  const double each = plot->wide ? f.width / (double)plot->panels : f.width;
  double panels = 0, below = 0;
  f.title = plot->title ? 15 * (double)wrap(plot->title, f.width, big_letter, NULL, 0, 0, "", 1) + 8 : 4;
  f.note = plot->note ? 11.5 * (double)wrap(plot->note, f.width, small_letter, NULL, 0, 0, "", 1) + 8 : 4;
  for (size_t i = 0; i < plot->panels; i++) {
    d[i].width = each;
    d[i].below = height_below(&d[i]);
    below = fmax(below, d[i].below);
  }
  for (size_t i = 0; i < plot->panels; i++) {
    if (plot->wide) d[i].below = below; /* side by side, axes stand on one line */
    d[i].height = height_above(&d[i]) + height_between(&d[i]) + d[i].below;
    panels = plot->wide ? fmax(panels, d[i].height) : panels + d[i].height;
  }
  f.height = f.title + panels + f.note;
  double top = f.title;
  for (size_t i = 0; i < plot->panels; i++) {
    if (plot->wide) d[i].height = panels;
    d[i].left = plot->wide ? each * (double)i : 0;
    d[i].bottom = f.height - top - d[i].height;
    if (!plot->wide) top += d[i].height;
  }
  return f;
}

static void write_figure(const struct ss_plot *plot, enum ss_picture picture, struct drawing *d, FILE *s) {
  const struct frame f = place_panels(plot, d);
  ss_plot_terminal(picture, plot->id, f.width, f.height, s);
  fputs("set multiplot\n", s);
  /* The texts belong to a plot without anything in it: as labels of a panel they would be drawn with each. */
  fputs("reset\nset margins 0,0,0,0\nunset border\nunset tics\nunset key\n", s);
  if (plot->title) wrap(plot->title, f.width, big_letter, s, 4, 15, "font big textcolor rgb '#000000'", f.height);
  if (plot->note)
    wrap(plot->note, f.width, small_letter, s, f.height - f.note + 4, 11.5, "font small textcolor rgb '#444444'",
         f.height);
  fputs("set xrange [0:1]\nset yrange [0:1]\nplot NaN notitle\n", s);
  for (size_t i = 0; i < plot->panels; i++) write_panel(&d[i], i, f.width, f.height, s);
  fputs("unset multiplot\nset output\n", s);
}

/* Templates are copied beside the script: its folder is all that gnuplot is told of, and no path needs quoting. */
bool ss_plot_template(const char *name, const char *folder, struct ss_error *error) {
  char relative[64], from[PATH_MAX], to[PATH_MAX], text[4096];
  snprintf(relative, sizeof relative, "plots/%s", name);
  if (!ss_data_file(relative, from, sizeof from, error)) return false;
  snprintf(to, sizeof to, "%s/%s", folder, name);
  FILE *in = fopen(from, "r"), *out = fopen(to, "w");
  for (size_t n; in && out && (n = fread(text, 1, sizeof text, in)) > 0;) fwrite(text, 1, n, out);
  const bool ok = in && out && !ferror(in) && !ferror(out);
  if (in) fclose(in);
  if (out && fclose(out) != 0) return ss_fail(error, SS_MACHINE, "%s: cannot write", to);
  return ok || ss_fail(error, SS_MACHINE, "cannot copy %s to %s", from, to);
}

static bool copy_templates(const char *folder, struct ss_error *error) {
  for (size_t i = 0; i < sizeof templates / sizeof *templates; i++)
    if (!ss_plot_template(templates[i], folder, error)) return false;
  return ss_plot_template("style.gp", folder, error);
}

static bool write_all(const struct ss_plot *plot, enum ss_picture picture, struct drawing *d, const char *folder,
                      struct ss_error *error) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/figure.gp", folder);
  FILE *s = fopen(path, "w");
  if (!s) return ss_fail(error, SS_MACHINE, "%s: cannot write", path);
  write_figure(plot, picture, d, s);
  bool ok = !ferror(s);
  if (fclose(s) != 0 || !ok) return ss_fail(error, SS_MACHINE, "%s: cannot write", path);
  for (size_t i = 0; ok && i < plot->panels; i++) ok = write_data(&d[i], folder, i, error);
  return ok && copy_templates(folder, error);
}

bool ss_plot_script(const struct ss_plot *plot, enum ss_picture picture, const char *folder, struct ss_error *error) {
  struct drawing d[SS_PLOT_PANELS] = {0};
  const char *series[SS_PLOT_SERIES_MAX];
  size_t all = 0;
  bool ok = series_of(plot, series, &all, error);
  for (size_t i = 0; ok && i < plot->panels; i++) ok = prepare(plot, i, series, all, &d[i], error);
  ok = ok && write_all(plot, picture, d, folder, error);
  for (size_t i = 0; i < plot->panels; i++) finish(&d[i]);
  return ok;
}
