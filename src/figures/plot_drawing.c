#include "figures/plot_drawing.h"

#include "figures/plot_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void choose_units(struct ss_drawing *d) {
  const struct ss_plot_panel *p = d->panel;
  const struct multiple x = multiple_of(p->x.unit, ss_panel_largest(p, 'x')),
                        y = multiple_of(p->y.unit, ss_panel_largest(p, 'y')),
                        z = multiple_of(p->z.unit, ss_panel_largest(p, 'z'));
  /* On a logarithmic axis each tic has the multiple that fits it. */
  d->x_factor = ss_axis_tics_have_unit(&p->x) ? 1 : x.factor, d->x_unit = ss_axis_tics_have_unit(&p->x) ? "" : x.name;
  d->y_factor = ss_axis_tics_have_unit(&p->y) ? 1 : y.factor, d->y_unit = ss_axis_tics_have_unit(&p->y) ? "" : y.name;
  d->z_factor = z.factor, d->z_unit = z.name;
}

/* --- categories --------------------------------------------------------------------------------------------- */

bool ss_panel_cells(const struct ss_plot_panel *panel) {
  return panel->kind == SS_PLOT_HEAT || panel->kind == SS_PLOT_MAP;
}

bool ss_panel_spans(const struct ss_plot_panel *panel) {
  return panel->kind == SS_PLOT_SPANS;
}

bool ss_panel_x_in_words(const struct ss_plot_panel *panel) {
  return panel->rows > 0 && panel->row[0].x_text != NULL;
}

bool ss_panel_by_category(const struct ss_plot_panel *panel) {
  return !ss_panel_spans(panel) && (panel->kind != SS_PLOT_LINES || ss_panel_x_in_words(panel));
}

bool ss_panel_y_by_category(const struct ss_plot_panel *panel) {
  return ss_panel_cells(panel) || ss_panel_spans(panel);
}

size_t ss_drawing_place_of_text(const char *const *list, size_t count, const char *text) {
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
                 SS_CATEGORIES_MAX);
}

static bool add_text(const char **list, size_t *count, const char *text, struct ss_error *error) {
  const size_t at = ss_drawing_place_of_text(list, *count, text);
  if (at < *count) return true;
  if (*count == SS_CATEGORIES_MAX) return too_many(error);
  list[(*count)++] = text;
  return true;
}

static bool add_value(double *list, size_t *count, double value, struct ss_error *error) {
  const size_t at = place_of(list, *count, value);
  if (isnan(value) || (at < *count && list[at] == value)) return true;
  if (*count == SS_CATEGORIES_MAX) return too_many(error);
  memmove(list + at + 1, list + at, (*count - at) * sizeof *list);
  list[at] = value;
  (*count)++;
  return true;
}

static bool collect(struct ss_drawing *d, struct ss_error *error) {
  /* Of numbers on an axis of their own no list is needed, but for the tics of a binary scale. */
  const bool placed =
      !ss_panel_spans(d->panel) && (ss_panel_by_category(d->panel) || d->panel->x.scale == SS_SCALE_LOG2);
  for (size_t i = 0; i < d->panel->rows; i++) {
    const struct ss_plot_row *r = &d->panel->row[i];
    if (d->panel->x.scale == SS_SCALE_LOG2 && !ss_panel_by_category(d->panel) && !(r->x > 0)) continue;
    if (placed &&
        !(r->x_text ? add_text(d->x_texts, &d->xs, r->x_text, error) : add_value(d->x_values, &d->xs, r->x, error)))
      return false;
    if (ss_panel_y_by_category(d->panel) &&
        !(r->y_text ? add_text(d->y_texts, &d->ys, r->y_text, error) : add_value(d->y_values, &d->ys, r->y, error)))
      return false;
    const size_t mine = ss_drawing_place_of_text(d->series, d->all, r->series);
    size_t at = 0;
    while (at < d->count && d->mine[at] != mine) at++;
    if (at == d->count) d->mine[d->count++] = mine;
  }
  return true;
}

double ss_drawing_x_place(const struct ss_drawing *d, const struct ss_plot_row *r) {
  return (double)(r->x_text ? ss_drawing_place_of_text(d->x_texts, d->xs, r->x_text)
                            : place_of(d->x_values, d->xs, r->x));
}

double ss_drawing_y_place(const struct ss_drawing *d, const struct ss_plot_row *r) {
  return (double)(r->y_text ? ss_drawing_place_of_text(d->y_texts, d->ys, r->y_text)
                            : place_of(d->y_values, d->ys, r->y));
}

void ss_drawing_tic_text(char *text, size_t size, const char *const *texts, const double *values, size_t i,
                         const char *unit, double factor) {
  if (texts[i]) ss_text_cut(texts[i], TIC_LETTERS, text, size);
  else snprintf(text, size, "%.3g%s", values[i] * factor, strcmp(unit, "%") == 0 ? "%" : "");
}

static const char *x_tic(const struct ss_drawing *d, size_t i, char *text, size_t size) {
  ss_drawing_tic_text(text, size, d->x_texts, d->x_values, i, d->x_unit, d->x_factor);
  return text;
}

static size_t longest_x(const struct ss_drawing *d) {
  char text[200];
  size_t most = 0;
  for (size_t i = 0; i < d->xs; i++) {
    const size_t n = ss_text_letters(x_tic(d, i, text, sizeof text));
    if (n > most) most = n;
  }
  return most;
}

bool ss_drawing_turned(const struct ss_drawing *d) {
  return ss_panel_by_category(d->panel) && (double)(longest_x(d) + 1) * letter * (double)d->xs > d->width - 60;
}

/* --- sizes -------------------------------------------------------------------------------------------------- */

size_t ss_drawing_key_letters(const struct ss_drawing *d) {
  return (size_t)((d->width - 60) / letter);
}

size_t ss_drawing_longest_name(const struct ss_drawing *d) {
  size_t most = 1;
  for (size_t i = 0; i < d->count; i++) {
    const size_t n = ss_text_letters(d->series[d->mine[i]]);
    if (n > most) most = n;
  }
  return most < ss_drawing_key_letters(d) ? most : ss_drawing_key_letters(d);
}

size_t ss_drawing_key_columns(const struct ss_drawing *d) {
  const double entry = (double)ss_drawing_longest_name(d) * letter + 36;
  const double columns = fmax(1, floor((d->width - 16) / entry));
  if (ceil((double)d->count / columns) <= SS_KEY_STACKED) return (size_t)columns;
  return (size_t)fmax(1, floor((d->width - 90) / (1.3 * entry)));
}

bool ss_drawing_has_key(const struct ss_drawing *d) {
  return d->panel->kind != SS_PLOT_HEAT && (d->count > 1 || d->panel->kind == SS_PLOT_MAP);
}

static double key_height(const struct ss_drawing *d) {
  return ss_drawing_has_key(d) ? 14 * ceil((double)d->count / (double)ss_drawing_key_columns(d)) + 4 : 0;
}

double ss_drawing_height_below(const struct ss_drawing *d) {
  return (d->panel->x.label[0] ? 42 : 26) + key_height(d) +
         (ss_drawing_turned(d) ? fmin(130, 0.55 * letter * (double)longest_x(d)) : 0);
}

double ss_drawing_height_above(const struct ss_drawing *d) {
  return d->panel->title && d->panel->title[0] ? 20 : 8;
}

double ss_drawing_height_between(const struct ss_drawing *d) {
  return ss_panel_y_by_category(d->panel) ? fmin(400, fmax(80, 24 * (double)d->ys)) : 135;
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

bool ss_drawing_open(const struct ss_plot *plot, size_t at, const char *const *series, size_t all,
                     struct ss_drawing *d, struct ss_error *error) {
  *d = (struct ss_drawing){.plot = plot, .panel = &plot->panel[at], .series = series, .all = all};
  d->x_texts = ss_alloc_zero(SS_CATEGORIES_MAX, sizeof *d->x_texts);
  d->y_texts = ss_alloc_zero(SS_CATEGORIES_MAX, sizeof *d->y_texts);
  d->x_values = ss_alloc(SS_CATEGORIES_MAX, sizeof *d->x_values);
  d->y_values = ss_alloc(SS_CATEGORIES_MAX, sizeof *d->y_values);
  if (!d->x_texts || !d->y_texts || !d->x_values || !d->y_values) return ss_fail_memory(error, "drawing");
  choose_units(d);
  if (!can_be_logarithmic(d, &d->panel->x, 'x') || !can_be_logarithmic(d, &d->panel->y, 'y'))
    return ss_fail(error, SS_BAD_INPUT, "a logarithmic axis needs a value above zero");
  return collect(d, error);
}

void ss_drawing_close(struct ss_drawing *d) {
  free(d->x_texts);
  free(d->y_texts);
  free(d->x_values);
  free(d->y_values);
}
