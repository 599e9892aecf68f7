/* Text in gnuplot's scripts. Letters are UTF-8's, lengths in 1/96 inch. */
#pragma once

#include "figures/plot.h"

size_t ss_text_letters(const char *text);
/* The whole of `text`, or its first letters and "...": long names would leave no room for the plot. */
void ss_text_cut(const char *text, size_t most, char *out, size_t size);
/* A text over the whole width of a figure. */
struct ss_paragraph {
  const char *text;           /* NULL: none */
  const char *look;           /* as gnuplot's `set label` has it */
  double width, letter, step; /* of the figure and of a letter; from line to line */
  unsigned quote;             /* for whom it is quoted (enum ss_quote) */
};
/* What it takes from the figure's height. */
double ss_paragraph_height(const struct ss_paragraph *p);
/* Writes its lines as labels, down from `top` of a figure that is `height` high. */
void ss_paragraph_write(const struct ss_paragraph *p, double top, double height, FILE *stream);
/* SPDX-License-Identifier: Apache-2.0 */
