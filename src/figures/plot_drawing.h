/* What one panel's data ask of its drawing: units, categories, and how much room the words around it take. */
#pragma once

#include "figures/plot.h"

/* Most categories of an axis; most entries of a key that gnuplot stacks (more in a row than fit there it drops). */
enum { SS_CATEGORIES_MAX = 4096, SS_KEY_STACKED = 7 };

/* What the data of a panel ask of one of its axes. */
struct ss_drawn_axis {
  const char **texts; /* categories, in order of appearance; of numbers: NULL */
  double *values;     /* of categories that are numbers, ascending */
  size_t count;       /* of categories */
  double factor;      /* from base units to what is shown */
  const char *unit;   /* as shown */
};

/* What one panel's script is made from. */
struct ss_drawing {
  const struct ss_plot *plot;
  const struct ss_plot_panel *panel;
  const char *const *series; /* of the whole figure: a name has one style everywhere */
  size_t all;
  size_t mine[SS_PLOT_SERIES_MAX],
      count;                    /* indices in `series` of those drawn here, then of those its key alone has */
  size_t drawn;                 /* of them: drawn here */
  bool printed;                 /* some marks are what a paper prints */
  struct ss_drawn_axis x, y, z; /* z has no categories */
  double width, height, left, bottom;
  double below; /* what stands under the plot: tics, label, key */
  bool keyless; /* another panel's key is that of all, or each bar stands over its own name */
  bool alone;   /* of bars: at each place stands one */
  double key_width,
      key_bottom; /* of the figure, where this panel's key is that of all and stands below them; else 0 */
  unsigned quote; /* for whom texts are quoted (enum ss_quote) */
};

/* --- panels ------------------------------------------------------------------------------------------------- */

/* Cells of a grid: heat, or a map of winners. */
bool ss_panel_cells(const struct ss_plot_panel *panel);
bool ss_panel_x_in_words(const struct ss_plot_panel *panel);
/* Values of x, or y, stand side by side, as names do. */
bool ss_panel_by_category(const struct ss_plot_panel *panel);
bool ss_panel_y_by_category(const struct ss_plot_panel *panel);
/* Of the axis 'x', 'y' or 'z', without its sign. */
double ss_panel_largest(const struct ss_plot_panel *panel, char axis);
/* Each tic of a logarithmic axis has the unit that fits it. */
bool ss_axis_tics_have_unit(const struct ss_plot_axis *axis);

/* --- drawings ----------------------------------------------------------------------------------------------- */

/* Panel `at` of the plot, whose series in all are `series`. To be closed, also after a failure. */
bool ss_drawing_open(const struct ss_plot *plot, size_t at, const char *const *series, size_t all,
                     struct ss_drawing *out, struct ss_error *error) SS_MUST_CHECK;
/* The panel's key is to have all series of the figure. */
void ss_drawing_add_series(struct ss_drawing *drawing);
void ss_drawing_close(struct ss_drawing *drawing);

/* `count` when it is not in the list. */
size_t ss_drawing_index_of_text(const char *const *list, size_t count, const char *text);
/* The index of a row among the categories: by its text, or of numbers (text NULL) by its value. */
double ss_drawn_index(const struct ss_drawn_axis *axis, const char *text, double value);
/* What stands at category i: its text, or its value in the unit. */
void ss_drawn_tic_text(const struct ss_drawn_axis *axis, size_t i, char *text, size_t size);
/* The tics of x are too long to lie flat. */
bool ss_drawing_turned(const struct ss_drawing *drawing);

/* Letters that an entry of the key, and a name of y, can have; how many columns the key takes. */
size_t ss_drawing_key_letters(const struct ss_drawing *drawing);
size_t ss_drawing_key_columns(const struct ss_drawing *drawing);
/* Entries of the key. */
size_t ss_drawing_key_count(const struct ss_drawing *drawing);
bool ss_drawing_has_key(const struct ss_drawing *drawing);
/* 0 without one. */
double ss_drawing_key_height(const struct ss_drawing *drawing);
size_t ss_drawing_longest_name(const struct ss_drawing *drawing);
/* Of rounds: how wide one is. */
double ss_drawing_column(const struct ss_drawing *drawing);
double ss_drawing_height_above(const struct ss_drawing *drawing);
double ss_drawing_height_below(const struct ss_drawing *drawing);
/* The least, of the plot itself. */
double ss_drawing_height_between(const struct ss_drawing *drawing);
/* SPDX-License-Identifier: Apache-2.0 */
