#include "figures/plot_drawing.h"

#include "figures/plot_text.h"
#include "figures/rounds_drawing.h"

enum { TIC_LETTERS = 24 };
static const double letter = 5.9; /* mean width at 8 points */

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

double ss_panel_largest(const struct ss_plot_panel *panel, char axis) {
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

bool ss_axis_tics_have_unit(const struct ss_plot_axis *a) {
  return a->scale == SS_SCALE_LOG &&
         (strcmp(a->unit, "s") == 0 || strcmp(a->unit, "B") == 0 || strcmp(a->unit, "bit/s") == 0);
}

static void choose_unit(struct ss_drawn_axis *out, const struct ss_plot_axis *a, double most) {
  const struct multiple m = multiple_of(a->unit, most);
  out->factor = m.factor;
  out->unit = m.name;
}

static void choose_units(struct ss_drawing *d) {
  const struct ss_plot_panel *p = d->panel;
  choose_unit(&d->x, &p->x, ss_panel_largest(p, 'x'));
  choose_unit(&d->y, &p->y, fmax(ss_panel_largest(p, 'y'), p->y.high)); /* NaN: none is larger */
  choose_unit(&d->z, &p->z, ss_panel_largest(p, 'z'));
  /* On a logarithmic axis each tic has the multiple that fits it. */
  if (ss_axis_tics_have_unit(&p->x)) d->x.factor = 1, d->x.unit = "";
  if (ss_axis_tics_have_unit(&p->y)) d->y.factor = 1, d->y.unit = "";
}

/* --- categories --------------------------------------------------------------------------------------------- */

bool ss_panel_cells(const struct ss_plot_panel *panel) {
  return panel->kind == SS_PLOT_HEAT || panel->kind == SS_PLOT_MAP;
}

bool ss_panel_x_in_words(const struct ss_plot_panel *panel) {
  return panel->rows > 0 && panel->row[0].x_text != NULL;
}

bool ss_panel_by_category(const struct ss_plot_panel *panel) {
  return panel->kind != SS_PLOT_SPANS && panel->kind != SS_PLOT_ROUNDS &&
         (panel->kind != SS_PLOT_LINES || ss_panel_x_in_words(panel));
}

bool ss_panel_y_by_category(const struct ss_plot_panel *panel) {
  return ss_panel_cells(panel) || panel->kind == SS_PLOT_SPANS;
}

size_t ss_drawing_index_of_text(const char *const *list, size_t count, const char *text) {
  size_t i = 0;
  while (i < count && strcmp(list[i], text) != 0) i++;
  return i;
}

static size_t index_of(const double *list, size_t count, double value) {
  size_t i = 0;
  while (i < count && list[i] < value) i++;
  return i;
}

/* Texts stand where they come, numbers in order. */
static bool add_category(struct ss_drawn_axis *axis, const char *text, double value, struct ss_error *error) {
  const size_t at =
      text ? ss_drawing_index_of_text(axis->texts, axis->count, text) : index_of(axis->values, axis->count, value);
  if (at < axis->count && (text || axis->values[at] == value)) return true;
  if (!text && isnan(value)) return true;
  if (axis->count == SS_CATEGORIES_MAX)
    return ss_fail(error, SS_BAD_INPUT, "more than %d places on an axis (take --kind lines, or --where)",
                   SS_CATEGORIES_MAX);
  if (!text) memmove(axis->values + at + 1, axis->values + at, (axis->count - at) * sizeof *axis->values);
  if (text) axis->texts[at] = text;
  else axis->values[at] = value;
  axis->count++;
  return true;
}

static bool collect(struct ss_drawing *d, struct ss_error *error) {
  /* Of numbers on an axis of their own no list is needed, but for the tics of a binary scale. */
  const bool placed =
      d->panel->kind != SS_PLOT_SPANS && (ss_panel_by_category(d->panel) || d->panel->x.scale == SS_SCALE_LOG2);
  for (size_t i = 0; i < d->panel->rows; i++) {
    const struct ss_plot_row *r = &d->panel->row[i];
    if (d->panel->x.scale == SS_SCALE_LOG2 && !ss_panel_by_category(d->panel) && !(r->x > 0)) continue;
    if (placed && !add_category(&d->x, r->x_text, r->x, error)) return false;
    if (ss_panel_y_by_category(d->panel) && !add_category(&d->y, r->y_text, r->y, error)) return false;
    const size_t mine = ss_drawing_index_of_text(d->series, d->all, r->series);
    d->printed = d->printed || r->printed;
    size_t at = 0;
    while (at < d->count && d->mine[at] != mine) at++;
    if (at == d->count) d->mine[d->count++] = mine;
  }
  return true;
}

/* Bars that stand one at each place are in its middle; where their series are what x says, a key would say it again.
 */
static void find_lonely_bars(struct ss_drawing *d) {
  size_t ours = 0;
  bool named = true;
  for (size_t i = 0; i < d->panel->rows; i++) {
    const struct ss_plot_row *r = &d->panel->row[i];
    ours += !r->printed;
    named = named && r->x_text && strcmp(r->x_text, r->series) == 0;
  }
  d->alone = d->panel->kind == SS_PLOT_BARS && ours == d->x.count;
  d->keyless = d->alone && named && !d->printed;
}

double ss_drawn_index(const struct ss_drawn_axis *axis, const char *text, double value) {
  return (double)(text ? ss_drawing_index_of_text(axis->texts, axis->count, text)
                       : index_of(axis->values, axis->count, value));
}

void ss_drawn_tic_text(const struct ss_drawn_axis *axis, size_t i, char *text, size_t size) {
  if (axis->texts[i]) ss_text_cut(axis->texts[i], TIC_LETTERS, text, size);
  else snprintf(text, size, "%.3g%s", axis->values[i] * axis->factor, strcmp(axis->unit, "%") == 0 ? "%" : "");
}

static size_t longest_x(const struct ss_drawing *d) {
  char text[200];
  size_t most = 0;
  for (size_t i = 0; i < d->x.count; i++) {
    ss_drawn_tic_text(&d->x, i, text, sizeof text);
    const size_t n = ss_text_letters(text);
    if (n > most) most = n;
  }
  return most;
}

bool ss_drawing_turned(const struct ss_drawing *d) {
  return ss_panel_by_category(d->panel) && (double)(longest_x(d) + 1) * letter * (double)d->x.count > d->width - 60;
}

/* --- sizes -------------------------------------------------------------------------------------------------- */

/* What the key may take. */
static double key_room(const struct ss_drawing *d) {
  return d->key_width > 0 ? d->key_width : d->width;
}

size_t ss_drawing_key_letters(const struct ss_drawing *d) {
  return (size_t)((key_room(d) - 60) / letter);
}

size_t ss_drawing_longest_name(const struct ss_drawing *d) {
  size_t most = d->printed ? strlen("printed") : 1;
  for (size_t i = 0; i < d->count; i++) {
    const size_t n = ss_text_letters(d->series[d->mine[i]]);
    if (n > most) most = n;
  }
  return most < ss_drawing_key_letters(d) ? most : ss_drawing_key_letters(d);
}

size_t ss_drawing_key_count(const struct ss_drawing *d) {
  return d->count + d->printed;
}

size_t ss_drawing_key_columns(const struct ss_drawing *d) {
  const double entry = (double)ss_drawing_longest_name(d) * letter + (d->panel->kind == SS_PLOT_LINES ? 50 : 36);
  const double columns = fmax(1, floor((key_room(d) - 16) / entry));
  if (ceil((double)ss_drawing_key_count(d) / columns) <= SS_KEY_STACKED) return (size_t)columns;
  return (size_t)fmax(1, floor((key_room(d) - 90) / (1.3 * entry)));
}

bool ss_drawing_has_key(const struct ss_drawing *d) {
  return !d->keyless && d->panel->kind != SS_PLOT_HEAT && d->panel->kind != SS_PLOT_ROUNDS &&
         (ss_drawing_key_count(d) > 1 || d->panel->kind == SS_PLOT_MAP);
}

double ss_drawing_key_height(const struct ss_drawing *d) {
  return ss_drawing_has_key(d) ? 14 * ceil((double)ss_drawing_key_count(d) / (double)ss_drawing_key_columns(d)) + 4
                               : 0;
}

double ss_drawing_height_below(const struct ss_drawing *d) {
  return (d->panel->x.label[0] ? 42 : 26) + (d->key_width > 0 ? 0 : ss_drawing_key_height(d)) +
         (ss_drawing_turned(d) ? fmin(130, 0.55 * letter * (double)longest_x(d)) : 0);
}

double ss_drawing_column(const struct ss_drawing *d) {
  const size_t last = d->panel->lanes - 1; /* of servers, if there are any: the longest name */
  return (d->width - 50 - letter * (double)ss_text_letters(d->panel->lane[last])) / (double)ss_rounds_last(d->panel);
}

double ss_drawing_height_above(const struct ss_drawing *d) {
  if (d->panel->kind == SS_PLOT_ROUNDS) return ss_rounds_above(d->panel, ss_drawing_column(d));
  return d->panel->title && d->panel->title[0] ? 20 : 8;
}

double ss_drawing_height_between(const struct ss_drawing *d) {
  if (d->panel->kind == SS_PLOT_ROUNDS) return 14 * fmax(4, (double)d->panel->lanes + 1);
  return ss_panel_y_by_category(d->panel) ? fmin(400, fmax(80, 24 * (double)d->y.count)) : 135;
}

/* --- the whole ---------------------------------------------------------------------------------------------- */

static bool can_be_logarithmic(const struct ss_drawing *d, const struct ss_plot_axis *a, char axis) {
  bool above = a->scale == SS_SCALE_LINEAR || ss_panel_y_by_category(d->panel) ||
               (axis == 'x' && ss_panel_by_category(d->panel));
  for (size_t i = 0; i < d->panel->rows; i++) {
    const struct ss_plot_row *r = &d->panel->row[i];
    above = above || (axis == 'x' ? r->x > 0 : r->y > 0 || r->high > 0);
  }
  return above;
}

static bool make_room(struct ss_drawn_axis *axis) {
  axis->texts = ss_alloc_zero(SS_CATEGORIES_MAX, sizeof *axis->texts);
  axis->values = ss_alloc(SS_CATEGORIES_MAX, sizeof *axis->values);
  return axis->texts && axis->values;
}

static int by_index(const void *a, const void *b) {
  const size_t *p = a, *q = b;
  return *p < *q ? -1 : *p > *q;
}

bool ss_drawing_open(const struct ss_plot *plot, size_t at, const char *const *series, size_t all,
                     struct ss_drawing *d, struct ss_error *error) {
  *d = (struct ss_drawing){.plot = plot, .panel = &plot->panel[at], .series = series, .all = all};
  if (!make_room(&d->x) || !make_room(&d->y)) return ss_fail_memory(error, "drawing");
  choose_units(d);
  if (!can_be_logarithmic(d, &d->panel->x, 'x') || !can_be_logarithmic(d, &d->panel->y, 'y'))
    return ss_fail(error, SS_BAD_INPUT, "a logarithmic axis needs a value above zero");
  if (!collect(d, error)) return false;
  qsort(d->mine, d->count, sizeof *d->mine, by_index); /* in all panels in one order */
  find_lonely_bars(d);
  d->drawn = d->count;
  return true;
}

void ss_drawing_add_series(struct ss_drawing *d) {
  for (size_t i = 0; i < d->all; i++) {
    size_t at = 0;
    while (at < d->count && d->mine[at] != i) at++;
    if (at == d->count) d->mine[d->count++] = i;
  }
}

void ss_drawing_close(struct ss_drawing *d) {
  free(d->x.texts);
  free(d->y.texts);
  free(d->x.values);
  free(d->y.values);
}
/* SPDX-License-Identifier: Apache-2.0 */
