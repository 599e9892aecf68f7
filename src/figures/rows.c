#include "figures/rows.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
