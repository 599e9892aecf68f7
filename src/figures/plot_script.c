/* A plot as gnuplot takes it: a script of blocks of data, nothing but numbers, and for each panel of names, axes,
 * positions, and the template of plots/. Lengths are in 1/96 inch. */
#include "figures/plot_drawing.h"
#include "figures/plot_palette.h"
#include "figures/rounds_drawing.h"

#include "base/data.h"
#include "base/file.h"
#include "figures/plot_text.h"

enum { COLUMN = 317, PAGE = 672 };                        /* 3.3 and 7 inches */
static const double big_letter = 7.1, small_letter = 5.1; /* mean widths at 9 and 6.5 points */

/* --- the script of a panel ---------------------------------------------------------------------------------- */

static void set_label(const struct ss_drawing *d, const char *axis, const struct ss_plot_axis *a, const char *unit,
                      FILE *s) {
  char text[300];
  snprintf(text, sizeof text, unit[0] && a->label[0] ? "%s (%s)" : "%s%s", a->label, unit);
  /* gnuplot takes TeX's letters for narrower than they are, and tics would meet the label: an empty line between */
  const bool apart = d->quote == SS_QUOTE_TEX && text[0] && (axis[0] != 'x' || ss_drawing_turned(d));
  fprintf(s, "set %slabel %s", axis, apart && axis[0] != 'y' ? "\" \\n\"." : "");
  ss_plot_quote(text, d->quote, s);
  if (apart && axis[0] == 'y') fputs(".\"\\n \"", s);
  fprintf(s, " offset %s\n",
          axis[0] == 'x'   ? (ss_drawing_turned(d) ? "0,0" : "0,0.7")
          : axis[0] == 'y' ? "0.3,0"
                           : "0,0");
}

/* Tics at every category; of many, at every so many-th. */
static void set_category_tics(const char *axis, const struct ss_drawing *d, FILE *s) {
  char text[200];
  const bool x = axis[0] == 'x';
  const struct ss_drawn_axis *a = x ? &d->x : &d->y;
  const size_t step = x && !a->texts[0] ? 1 + a->count / 24 : 1;
  fprintf(s, "set %stics %sscale 0 (", axis, x && ss_drawing_turned(d) ? "rotate by 35 right offset 0,-0.2 " : "");
  for (size_t i = 0; i < a->count; i += step) {
    ss_drawn_tic_text(a, i, text, sizeof text);
    if (i) fputs(", ", s);
    ss_plot_quote(text, d->quote | SS_QUOTE_TIC, s);
    fprintf(s, " %zu", i);
  }
  const double last = (double)a->count - 0.5;
  if (!x && d->panel->kind == SS_PLOT_SPANS)
    fprintf(s, ")\nset yrange [%.1f:-0.5]\n", last); /* lanes are read from the top */
  else fprintf(s, ")\nset %srange [-0.5:%.1f]\n", axis, last);
}

static void set_log2_tics(const struct ss_drawing *d, FILE *s) {
  const size_t step = 1 + (d->x.count - 1) / 10;
  fputs("set xtics (", s);
  for (size_t i = 0; i < d->x.count; i += step) fprintf(s, "%s%.17g", i ? ", " : "", d->x.values[i] * d->x.factor);
  /* a range of its own, a little wider: rounding would drop the tics at its ends */
  fprintf(s, ")\nset xrange [%.17g:%.17g]\n", d->x.values[0] * d->x.factor * 0.9999,
          d->x.values[d->x.count - 1] * d->x.factor * 1.0001);
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
  if (ss_axis_tics_have_unit(a)) fprintf(s, "set format %s '%%.0s %%c%s'\n", axis, a->unit);
  else if (a->scale == SS_SCALE_LOG && strcmp(a->unit, "%") != 0) fprintf(s, "set format %s '%%g'\n", axis);
}

/* A logarithmic axis of y that spans less than two decades: it ends, and has tics, at ones, twos and fives. With
 * decades alone half of it could be empty, and the other half without a tic. */
static void set_short_log(const struct ss_drawing *d, FILE *s) {
  static const double ones[] = {1, 2, 5};
  const struct ss_plot_axis *y = &d->panel->y;
  double low = INFINITY, high = 0, tic[12] = {0};
  size_t n = 0;
  for (size_t i = 0; i < d->panel->rows; i++) {
    const double values[] = {d->panel->row[i].y, d->panel->row[i].low, d->panel->row[i].high};
    for (size_t k = 0; k < 3; k++)
      if (values[k] > 0) low = fmin(low, values[k]), high = fmax(high, values[k]);
  }
  low = (isnan(y->low) ? low : y->low) * d->y.factor;
  high = (isnan(y->high) ? high : y->high) * d->y.factor;
  if (!(high > low) || !(high < 100 * low)) return;
  for (int k = 0; k < 12; k++) {
    const int decade = k / 3;
    const double value = ones[k % 3] * pow(10, floor(log10(low)) + decade);
    if (n > 0 && tic[0] <= low && value <= low) tic[0] = value; /* the last below */
    else if (n == 0 || tic[n - 1] < high) tic[n++] = value;
  }
  if (isnan(y->low) && isnan(y->high)) fprintf(s, "set yrange [%.9g:%.9g]\n", tic[0], tic[n - 1]);
  fputs("set ytics (", s);
  for (size_t i = 0; i < n; i++) fprintf(s, "%s%.9g", i ? ", " : "", tic[i]);
  fputs(")\n", s);
}

static bool any_below_zero(const struct ss_plot_panel *panel) {
  bool below = false;
  for (size_t i = 0; i < panel->rows; i++) below = below || panel->row[i].y < 0 || panel->row[i].low < 0;
  return below;
}

static void set_axes(const struct ss_drawing *d, FILE *s) {
  const struct ss_plot_panel *p = d->panel;
  set_label(d, "x", &p->x, strcmp(d->x.unit, "%") == 0 && ss_panel_by_category(p) ? "" : d->x.unit, s);
  set_label(d, "y", &p->y, strcmp(d->y.unit, "%") == 0 && ss_panel_cells(p) ? "" : d->y.unit, s);
  if (p->kind == SS_PLOT_ROUNDS) {
    ss_rounds_script(p, ss_drawing_column(d), s);
    return;
  }
  if (ss_panel_by_category(p)) {
    set_category_tics("x", d, s);
  } else {
    set_scale("x", &p->x, s);
    set_range("x", &p->x, d->x.factor, false, s);
    if (p->x.scale == SS_SCALE_LOG2) set_log2_tics(d, s);
  }
  if (ss_panel_y_by_category(p)) {
    set_category_tics("y", d, s);
    return;
  }
  set_scale("y", &p->y, s);
  set_range("y", &p->y, d->y.factor, p->y.scale == SS_SCALE_LINEAR && !any_below_zero(p), s);
  if (p->y.scale == SS_SCALE_LOG) set_short_log(d, s);
}

static void set_key(const struct ss_drawing *d, double width, double height, FILE *s) {
  const size_t columns = ss_drawing_key_columns(d), rows = (ss_drawing_key_count(d) + columns - 1) / columns;
  const bool lines = d->panel->kind == SS_PLOT_LINES; /* their longer samples stand closer */
  fprintf(s, "set key at screen %.6f, screen %.6f bottom center %s %zu width -key_narrow*%zu-%g%s\n",
          d->key_width > 0 ? 0.5 : (d->left + d->width / 2) / width,
          ((d->key_width > 0 ? d->key_bottom : d->bottom) + 4) / height,
          rows <= SS_KEY_STACKED ? "vertical maxrows" : "horizontal maxcols", rows <= SS_KEY_STACKED ? rows : columns,
          ss_drawing_longest_name(d), lines ? 0.8 : 0, lines ? " samplen key_sample" : "");
}

/* The style of the i-th series, and what the user says of its label. */
static void set_style(const struct ss_drawing *d, size_t i, FILE *s) {
  const char *label = d->series[d->mine[i]];
  const size_t style = ss_palette_style(d->series, d->all, d->mine[i]);
  const struct ss_plot_style *own = d->plot->style, *end = own + d->plot->styles;
  char dash[24];
  while (own < end && strcmp(own->label, label) != 0) own++;
  fprintf(s, "style[%zu] = %zu\nink[%zu] = colour[1 + (style[%zu] - 1) %% 24]\nbelow[%zu] = %.3f\n", i + 1, style,
          i + 1, i + 1, i + 1, (double)(d->all - 1 - d->mine[i]) / (double)d->all); /* the same in all panels */
  if (strcmp(label, SS_PLOT_TIE) == 0) fprintf(s, "tie = %zu\n", i + 1);
  if (own == end) return;
  snprintf(dash, sizeof dash, own->dash ? "%d" : "dash[%d]", own->dash ? own->dash : (int)style);
  if (own->colour[0]) fprintf(s, "ink[%zu] = '%s'\n", i + 1, own->colour);
  fprintf(s,
          "ink_i = ink[%zu]\nset style line %zu linecolor rgb ink_i linewidth 1.5 dashtype %s pointtype mark[%zu] "
          "pointsize mark_size\n",
          i + 1, style, dash, 1 + (style - 1) % 8);
}

static void set_names(const struct ss_drawing *d, double width, double height, FILE *s) {
  char text[600];
  fprintf(s, "n = %zu\narray name[%zu]\narray style[%zu]\narray ink[%zu]\narray below[%zu]\ntie = 0\n", d->count,
          d->count, d->count, d->count, d->count);
  for (size_t i = 0; i < d->count; i++) {
    set_style(d, i, s);
    fprintf(s, "name[%zu] = ", i + 1);
    ss_text_cut(d->series[d->mine[i]], ss_drawing_key_letters(d) - 3, text, sizeof text);
    ss_plot_quote(text, d->quote, s);
    fputc('\n', s);
  }
  if (!ss_drawing_has_key(d)) fputs("unset key\n", s);
  else set_key(d, width, height, s);
}

static const char *const templates[] = {"lines.gp", "bars.gp", "heat.gp", "map.gp", "spans.gp", "rounds.gp"};

/* Inside their boxes, where there is room for them. */
static void set_span_names(const struct ss_drawing *d, FILE *s) {
  double most = isnan(d->panel->x.high) ? 0 : d->panel->x.high;
  for (size_t i = 0; i < d->panel->rows; i++) most = fmax(most, d->panel->row[i].high);
  for (size_t i = 0; i < d->panel->rows; i++) {
    const struct ss_plot_row *r = &d->panel->row[i];
    const double capacity = (r->high - r->low) / most * (d->width - 150);
    if (!isfinite(capacity) || !r->x_text || !r->x_text[0] ||
        (double)ss_text_letters(r->x_text) * small_letter + 4 > capacity)
      continue;
    fputs("set label ", s);
    ss_plot_quote(r->x_text, d->quote, s);
    fprintf(s, " at %.17g, %.17g center front font small\n", (r->low + r->high) / 2 * d->x.factor,
            ss_drawn_index(&d->y, r->y_text, r->y));
  }
}

/* A mark at every point of a short line, of a long one at some eight: between them its dashes are to be seen. */
static size_t marks_apart(const struct ss_drawing *d) {
  const size_t each = d->panel->rows / (d->drawn ? d->drawn : 1);
  return each > 16 ? each / 8 : 1;
}

static bool put_template(const char *name, FILE *s, struct ss_error *error) {
  char relative[64], path[PATH_MAX];
  struct ss_mapping text;
  snprintf(relative, sizeof relative, "plots/%s", name);
  if (!ss_data_file(relative, path, sizeof path, error) || !ss_map_file(path, &text, error)) return false;
  fwrite(text.data, 1, text.size, s);
  ss_unmap_file(&text);
  return true;
}

/* Turned names reach to the left of their places, the first of them beyond the plot: gnuplot leaves no room for that.
 */
static double room_for_turned(const struct ss_drawing *d) {
  enum { USUAL = 60 };
  const double slot = (d->width - USUAL) / (double)d->x.count;
  double most = 0;
  char text[200];
  for (size_t i = 0; ss_drawing_turned(d) && i < d->x.count; i++) {
    ss_drawn_tic_text(&d->x, i, text, sizeof text);
    most = fmax(most, 4.9 * (double)ss_text_letters(text) - ((double)i + 0.5) * slot); /* a letter at 35 degrees */
  }
  return most > USUAL ? fmin(most + 6, d->width / 2) : 0;
}

static bool write_panel(const struct ss_drawing *d, size_t number, double width, double height, FILE *s,
                        struct ss_error *error) {
  bool ranges = false;
  for (size_t i = 0; i < d->panel->rows; i++) ranges = ranges || isfinite(d->panel->row[i].low);
  fputs("reset\n", s);
  if (!put_template("style.gp", s, error)) return false;
  fprintf(s, "data = '$panel%zu'\nranges = %d\nprinted = %d\nlogarithmic = %d\n", number, ranges, d->printed,
          d->panel->y.scale != SS_SCALE_LINEAR);
  const double most = isnan(d->panel->z.high) ? ss_panel_largest(d->panel, 'z') : d->panel->z.high;
  fprintf(s, "tip = %.6f\n", 5 / width);
  fprintf(s, "most = %.17g\nroom = %d\nthin = %zu\n", most * d->z.factor,
          d->x.count > 0 && (d->width - 90) / (double)d->x.count >= 26, marks_apart(d));
  fprintf(s, "set origin %.6f, %.6f\nset size %.6f, %.6f\n", d->left / width, d->bottom / height, d->width / width,
          d->height / height);
  if (d->panel->title && d->panel->title[0]) {
    char title[400];
    ss_text_cut(d->panel->title, (size_t)((d->width - 30) / 5.9), title, sizeof title); /* not into the next panel */
    fputs("set title ", s);
    ss_plot_quote(title, d->quote, s);
    fprintf(s, " offset 0,%.1f\n", d->panel->kind == SS_PLOT_ROUNDS ? (ss_drawing_height_above(d) - 34) / 13 : -0.8);
  }
  /* gnuplot's own margin above a plot is made for larger type, and differs from panel to panel */
  fprintf(s, "set tmargin at screen %.6f\nset bmargin at screen %.6f\n",
          (d->bottom + d->height - ss_drawing_height_above(d)) / height, (d->bottom + d->below) / height);
  const double turned = room_for_turned(d);
  if (turned > 0) fprintf(s, "set lmargin at screen %.6f\n", (d->left + turned) / width);
  if (d->panel->kind != SS_PLOT_HEAT)
    fprintf(
        s, "set rmargin at screen %.6f\n",
        (d->left + d->width - (ss_panel_by_category(d->panel) || !ss_axis_tics_have_unit(&d->panel->x) ? 16 : 30)) /
            width);
  set_names(d, width, height, s);
  set_axes(d, s);
  if (d->panel->kind == SS_PLOT_SPANS) set_span_names(d, s);
  if (d->panel->kind == SS_PLOT_HEAT) set_label(d, "cb", &d->panel->z, d->z.unit, s);
  return put_template(templates[d->panel->kind], s, error);
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

static void data_line(const struct ss_drawing *d, const struct ss_plot_row *r, size_t series, FILE *s) {
  /* a cluster of bars leaves a fifth of its width free */
  const double bar = d->alone ? 0.6 : 0.8 / (double)d->drawn;
  const bool words = ss_panel_by_category(d->panel);
  if (d->panel->kind == SS_PLOT_SPANS) {
    number(r->low * d->x.factor, s);
    number(r->high * d->x.factor, s);
    number(ss_drawn_index(&d->y, r->y_text, r->y), s);
    fputc('\n', s);
    return;
  }
  double x = words ? ss_drawn_index(&d->x, r->x_text, r->x) : r->x * d->x.factor, y = r->y;
  if (d->panel->kind == SS_PLOT_BARS && !d->alone) x += bar * ((double)series - ((double)d->drawn - 1) / 2);
  if (isnan(y) && isfinite(r->low) && isfinite(r->high)) y = (r->low + r->high) / 2;
  number(x, s);
  number(ss_panel_cells(d->panel) ? ss_drawn_index(&d->y, r->y_text, r->y) : y * d->y.factor, s);
  number(r->low * d->y.factor, s);
  number(r->high * d->y.factor, s);
  number(r->z * d->z.factor, s);
  number(bar, s);
  fputc('\n', s);
}

static double largest_message(const struct ss_plot *plot) {
  double most = 1;
  for (size_t i = 0; i < plot->panels; i++)
    if (plot->panel[i].kind == SS_PLOT_ROUNDS) most = fmax(most, ss_panel_largest(&plot->panel[i], 'z'));
  return most;
}

/* A block of data: of a series what is ours, or what a paper prints. */
static void write_block(const struct ss_drawing *d, size_t series, bool printed, const struct ss_plot_row **list,
                        FILE *s) {
  size_t n = 0;
  for (size_t j = 0; j < d->panel->rows; j++) {
    const struct ss_plot_row *r = &d->panel->row[j];
    if (r->printed == printed && strcmp(r->series, d->series[d->mine[series]]) == 0) list[n++] = r;
  }
  if (d->panel->kind == SS_PLOT_LINES && !ss_panel_x_in_words(d->panel)) qsort(list, n, sizeof *list, by_x);
  for (size_t j = 0; j < n; j++) data_line(d, list[j], series, s);
  if (n == 0) fputs("NaN NaN NaN NaN NaN NaN\n", s);
  fputs("\n\n", s);
}

/* A block a series, two empty lines between; behind them likewise what is printed. */
static bool write_data(const struct ss_drawing *d, size_t number, FILE *s, struct ss_error *error) {
  SS_AUTO_FREE const struct ss_plot_row **list = ss_alloc(d->panel->rows, sizeof *list);
  if (!list) return ss_fail_memory(error, "drawing");
  fprintf(s, "$panel%zu << EOD\n", number);
  if (d->panel->kind == SS_PLOT_ROUNDS) ss_rounds_data(d->panel, largest_message(d->plot), s);
  for (size_t i = 0; d->panel->kind != SS_PLOT_ROUNDS && i < d->count; i++) write_block(d, i, false, list, s);
  for (size_t i = 0; d->printed && i < d->count; i++) write_block(d, i, true, list, s);
  fputs("EOD\n", s);
  return true;
}

/* --- the figure --------------------------------------------------------------------------------------------- */

static bool series_of(const struct ss_plot *plot, const char **series, size_t *count, struct ss_error *error) {
  for (size_t p = 0; p < plot->panels; p++) {
    if (plot->panel[p].rows == 0)
      return ss_fail(error, SS_BAD_INPUT, "there is nothing to draw%s%s", plot->panel[p].title ? " in panel " : "",
                     plot->panel[p].title ? plot->panel[p].title : "");
    for (size_t i = 0; i < plot->panel[p].rows; i++) {
      if (ss_drawing_index_of_text(series, *count, plot->panel[p].row[i].series) < *count) continue;
      if (*count == SS_PLOT_SERIES_MAX)
        return ss_fail(error, SS_BAD_INPUT, "more than %d series (choose with --where or --series)",
                       SS_PLOT_SERIES_MAX);
      series[(*count)++] = plot->panel[p].row[i].series;
    }
  }
  const size_t tie = ss_drawing_index_of_text(series, *count, SS_PLOT_TIE);
  for (size_t i = tie; i + 1 < *count; i++) series[i] = series[i + 1]; /* last, so that it moves nobody's style */
  if (tie < *count) series[*count - 1] = SS_PLOT_TIE;
  return true;
}

/* How gnuplot's terminals reckon the height and width of type differs: key_spacing and key_narrow make up for it;
 * with key_sample a key's lines are long enough for each of style.gp's dashes. */
void ss_plot_terminal(enum ss_picture picture, double width, double height, FILE *s) {
  static const struct {
    const char *big, *small, *tic_format;
    double spacing, narrow, sample, mark;
    int hatching;
  } type[] = {[SS_PICTURE_SVG] = {"12", "8.67", "%h", 0.85, 0.15, 3.4, 0.45, 5},
              [SS_PICTURE_PDF] = {"9", "6.5", "%h", 1.1, 0.1, 4, 0.45, 5},
              [SS_PICTURE_PNG] = {"9", "6.5", "%h", 1.1, -0.05, 4, 0.45, 5},
              [SS_PICTURE_TEX] = {"9", "6.5", "$%h$", 1.45, -0.2, 4.4, 0.7, 1}};
  fputs("set encoding utf8\n", s);
  switch (picture) {
  case SS_PICTURE_SVG:
    fprintf(s, "set terminal svg size %.0f,%.0f font 'sans-serif,10.67' noenhanced background '#ffffff' rounded\n",
            width, height);
    break;
  case SS_PICTURE_PDF:
    fprintf(
        s, "set terminal pdfcairo size %.4fin,%.4fin font 'Sans,8' noenhanced fontscale 0.75 linewidth 1.5 rounded\n",
        width / 96, height / 96);
    break;
  case SS_PICTURE_TEX: /* to be input beside the package gnuplot-lua-tikz */
    fprintf(s, "set terminal tikz size %.4fin,%.4fin font ',8' linewidth 1.5 dashlength 0.6\n", width / 96,
            height / 96);
    break;
  case SS_PICTURE_PNG:
    /* 288 dots an inch: print at column width, and sharp on a dense screen */
    fprintf(s,
            "set terminal pngcairo size %.0f,%.0f font 'Sans,8' noenhanced fontscale 3 linewidth 3 pointscale 3 "
            "rounded\n",
            width * 3, height * 3);
    break;
  }
  fprintf(s, "big = ',%s'\nsmall = ',%s'\ntic_format = '%s'\nkey_spacing = %g\nkey_narrow = %g\nkey_sample = %g\n",
          type[picture].big, type[picture].small, type[picture].tic_format, type[picture].spacing,
          type[picture].narrow, type[picture].sample);
  fprintf(s, "mark_size = %g\nhatching = %d\n", type[picture].mark, type[picture].hatching);
}

struct frame {
  double width, height, key; /* key: how high the one is that all panels have together */
  struct ss_paragraph title, note;
};

/* How many panels stand beside each other. */
static size_t panels_across(const struct ss_plot *plot) {
  enum { ROW = 4, OF_MORE = 3 };
  if (!plot->wide) return 1;
  if (plot->panel[0].kind == SS_PLOT_ROUNDS) return ss_rounds_across(plot);
  return plot->panels <= ROW ? plot->panels : OF_MORE;
}

/* Places the row of panels from `first` up to `end`; returns its height. Side by side, their axes stand on one line.
 */
static double place_row(struct ss_drawing *d, size_t first, size_t end, double bottom_of_above) {
  double below = 0, height = 0;
  for (size_t i = first; i < end; i++) below = fmax(below, d[i].below);
  for (size_t i = first; i < end; i++) {
    d[i].below = below;
    height = fmax(height, ss_drawing_height_above(&d[i]) + ss_drawing_height_between(&d[i]) + below);
  }
  for (size_t i = first; i < end; i++) {
    d[i].height = height;
    d[i].left = d[i].width * (double)(i - first);
    d[i].bottom = bottom_of_above - height; /* from the figure's top, downwards: made right when that is known */
  }
  return height;
}

/* One key for panels of a kind that have series, or printed marks, in common: below all of them, with each name once.
 * Returns how high it is; 0: each panel has its own. */
static double share_key(const struct ss_plot *plot, struct ss_drawing *d, double width) {
  struct ss_drawing *whole = &d[0];
  size_t with = 0, entries = 0;
  bool printed = false;
  for (size_t i = 0; i < plot->panels; i++) {
    if (plot->panel[i].kind != plot->panel[0].kind) return 0;
    with += ss_drawing_has_key(&d[i]);
    entries += ss_drawing_key_count(&d[i]);
    printed = printed || d[i].printed;
    if (d[i].count > whole->count) whole = &d[i];
  }
  if (with < 2 || entries == whole->all + printed || !ss_drawing_has_key(whole)) return 0;
  for (size_t i = 0; i < plot->panels; i++) d[i].keyless = d[i].keyless || &d[i] != whole;
  ss_drawing_add_series(whole);
  whole->printed = printed;
  whole->key_width = width;
  return ss_drawing_key_height(whole);
}

static struct frame place_panels(const struct ss_plot *plot, enum ss_picture picture, struct ss_drawing *d) {
  const size_t across = panels_across(plot);
  const double width = plot->wide ? PAGE : COLUMN;
  struct frame f = {
      .width = width,
      .title = {plot->title, "font big textcolor rgb '#000000'", width, big_letter, 15, ss_quote_for(picture)},
      .note = {plot->note, "font small textcolor rgb '#444444'", width, small_letter, 11.5, ss_quote_for(picture)}};
  double top = ss_paragraph_height(&f.title);
  for (size_t i = 0; i < plot->panels; i++) d[i].width = width / (double)across;
  f.key = share_key(plot, d, width);
  for (size_t i = 0; i < plot->panels; i++) {
    d[i].quote = ss_quote_for(picture);
    d[i].below = ss_drawing_height_below(&d[i]);
  }
  for (size_t i = 0; i < plot->panels; i += across)
    top += place_row(d, i, i + across < plot->panels ? i + across : plot->panels, -top);
  f.height = top + f.key + ss_paragraph_height(&f.note);
  for (size_t i = 0; i < plot->panels; i++) {
    d[i].bottom += f.height;
    d[i].key_bottom = ss_paragraph_height(&f.note);
  }
  return f;
}

static bool write_figure(const struct ss_plot *plot, enum ss_picture picture, struct ss_drawing *d, FILE *s,
                         struct ss_error *error) {
  const struct frame f = place_panels(plot, picture, d);
  for (size_t i = 0; i < plot->panels; i++)
    if (!write_data(&d[i], i, s, error)) return false;
  ss_plot_terminal(picture, f.width, f.height, s);
  fputs("set multiplot\n", s);
  /* The texts belong to a plot without anything in it: as labels of a panel they would be drawn with each. */
  fputs("reset\nset margins 0,0,0,0\nunset border\nunset tics\nunset key\n", s);
  ss_paragraph_write(&f.title, 4, f.height, s);
  ss_paragraph_write(&f.note, f.height - ss_paragraph_height(&f.note) + 4, f.height, s);
  fputs("set xrange [0:1]\nset yrange [0:1]\nplot NaN notitle\n", s);
  for (size_t i = 0; i < plot->panels; i++)
    if (!write_panel(&d[i], i, f.width, f.height, s, error)) return false;
  fputs("unset multiplot\n", s);
  return true;
}

bool ss_plot_script(const void *drawn, enum ss_picture picture, FILE *s, struct ss_error *error) {
  const struct ss_plot *plot = drawn;
  struct ss_drawing d[SS_PLOT_PANELS] = {0};
  const char *series[SS_PLOT_SERIES_MAX] = {NULL};
  size_t all = 0;
  bool ok = series_of(plot, series, &all, error);
  for (size_t i = 0; ok && i < plot->panels; i++) ok = ss_drawing_open(plot, i, series, all, &d[i], error);
  ok = ok && write_figure(plot, picture, d, s, error);
  for (size_t i = 0; i < plot->panels; i++) ss_drawing_close(&d[i]);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
