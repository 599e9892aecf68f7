/* Figures: rows of a table become panels of lines, bars or cells, drawn by gnuplot with the templates of plots/.
 *
 * Values are in SI base units; an axis that has a unit is drawn in the multiple that fits. Texts may come from
 * anywhere: they reach gnuplot quoted, never as commands, and no shell is involved.
 * Without gnuplot the table can still be written. */
#pragma once

#include "base/base.h"

enum ss_plot_kind {
  SS_PLOT_LINES, /* y over x, a line a series */
  SS_PLOT_BARS,  /* y over categories, a bar a series */
  SS_PLOT_HEAT,  /* z as colour over x and y */
  SS_PLOT_MAP,   /* the series that is best at (x, y) as colour; z, its margin in %, as text */
  SS_PLOT_SPANS, /* a box from `low` to `high` along x in the lane y_text, a colour a series; x_text, its name, inside
                  */
  SS_PLOT_ROUNDS /* an arrow in column x from lane `low` to lane `high`, z bytes wide; y, its phase (rounds_drawing.h)
                  */
};
enum ss_plot_scale { SS_SCALE_LINEAR, SS_SCALE_LOG, SS_SCALE_LOG2 };
enum ss_picture { SS_PICTURE_SVG, SS_PICTURE_PDF, SS_PICTURE_PNG, SS_PICTURE_TEX };

/* The series of a map's cells where the next is as good. */
#define SS_PLOT_TIE "no clear winner"

enum { SS_PLOT_PANELS = 6, SS_PLOT_ROWS_MAX = 20000, SS_PLOT_SERIES_MAX = 64 };

struct ss_plot_axis {
  const char *label; /* "" shows none; the unit is added */
  const char *unit;  /* "s", "B", "bit/s", "%" (of shares), else shown as it is; "" none */
  enum ss_plot_scale scale;
  double low, high; /* NaN: as the data have it */
};

/* A mark. NaN: absent. */
struct ss_plot_row {
  const char *series;
  const char *x_text, *y_text; /* categories, or NULL: x and y are numbers */
  double x, y, z, low, high;   /* low, high: a range about y; of spans, along x; z: of cells */
  double wins;                 /* of a map: in what share of draws it is best; NaN where nothing is drawn */
  bool printed;                /* what a paper prints: a hollow mark beside ours */
};

struct ss_plot_panel {
  const char *title;
  enum ss_plot_kind kind;
  struct ss_plot_axis x, y, z;
  struct ss_plot_row *row;
  size_t rows, capacity;
  const char *const *lane; /* [lanes] their names, of rounds */
  size_t lanes;
};

/* How a label is drawn wherever it is a series; empty or 0: as its style has it (plot_palette.h). */
struct ss_plot_style {
  const char *label;
  char colour[8]; /* "#rrggbb" */
  int dash;       /* gnuplot's number, from 1 (solid) on */
};

struct ss_plot {
  const char *title, *note; /* NULL: none */
  bool wide;                /* panels beside each other, for both columns of a page; else below each other, for one.
                               More than four, and rounds, stand in several such rows */
  struct ss_plot_panel panel[SS_PLOT_PANELS];
  size_t panels;
  struct ss_plot_style style[SS_PLOT_SERIES_MAX];
  size_t styles;
  struct ss_arena arena; /* of the texts */
};

/* A zeroed plot is empty. */
void ss_plot_free(struct ss_plot *plot);
/* A copy that lives as long as the plot; NULL when memory is short. */
const char *ss_plot_text(struct ss_plot *plot, const char *text);
/* Gives a series that is there its style, once: "#cc3311", "dashed", or "#cc3311,dotted". */
bool ss_plot_set_style(struct ss_plot *plot, const char *label, const char *style,
                       struct ss_error *error) SS_MUST_CHECK;
/* Appends a copy of the row; its texts must live as long as the plot. */
bool ss_plot_add(struct ss_plot_panel *panel, const struct ss_plot_row *row, struct ss_error *error) SS_MUST_CHECK;

/* The table that is drawn: panel, series, x, y, low, high, z (of rounds alone: panel, scheme, round, phase, from, to,
 * bytes); a line a row, in base units with 17 digits, empty where
 * there is nothing. CSV, or with `tabs` separated by tabs. */
void ss_plot_data(const struct ss_plot *plot, bool tabs, FILE *stream);

/* What gnuplot drew. */
struct ss_picture_bytes {
  char *bytes; /* [size] the caller's to free(); behind them stands a zero, for an SVG */
  size_t size;
};
/* Runs gnuplot. Without it an SS_MACHINE error that says what to install. */
bool ss_plot_draw(const struct ss_plot *plot, enum ss_picture picture, struct ss_picture_bytes *out,
                  struct ss_error *error) SS_MUST_CHECK;
/* Writes the picture to the file at `path` or to standard output, and frees it. */
bool ss_picture_write(struct ss_picture_bytes *picture, const char *path, struct ss_error *error) SS_MUST_CHECK;

/* --- for drawing: how a plot is said to gnuplot (plot_script.c) ------------------------------------------------ */

/* Writes all that gnuplot is told: it reads nothing else, and prints the picture. */
typedef bool ss_plot_writer(const void *context, enum ss_picture picture, FILE *stream, struct ss_error *error);
/* Of a struct ss_plot. */
ss_plot_writer ss_plot_script;
/* Begins a script: the terminal of the kind, `width` by `height` points of 1/96 inch; sets `big` and `small`, fonts,
 * and the spacing of keys. */
void ss_plot_terminal(enum ss_picture picture, double width, double height, FILE *stream);
/* Draws what is no plot of the above. */
bool ss_plot_draw_script(ss_plot_writer *script, const void *context, enum ss_picture picture,
                         struct ss_picture_bytes *out, struct ss_error *error) SS_MUST_CHECK;
/* What a picture's name ends in: .svg, .pdf, .png, or of PGF .tex or .pgf. */
bool ss_picture_of(const char *path, enum ss_picture *out, struct ss_error *error) SS_MUST_CHECK;
enum ss_quote { SS_QUOTE_LABEL = 0, SS_QUOTE_TIC = 1, SS_QUOTE_TEX = 2 }; /* the last may be added */
static inline unsigned ss_quote_for(enum ss_picture picture) {
  return picture == SS_PICTURE_TEX ? SS_QUOTE_TEX : SS_QUOTE_LABEL;
}
/* `text` as a single-quoted string of gnuplot, in which nothing is special but the quote: that becomes an apostrophe
 * (U+2019), since gnuplot ends a string at some doubled quotes and would run what follows. Control characters are
 * shown as '?'; in the labels of tics, which gnuplot takes for formats, percent signs are doubled. "]]>" ends in
 * U+203A: gnuplot's SVG has it as it is, which is no XML. Of TeX, what is a command or special there is a letter. */
void ss_plot_quote(const char *text, unsigned quote, FILE *stream);
/* SPDX-License-Identifier: Apache-2.0 */
