/* Text in gnuplot's scripts. Letters are UTF-8's, lengths in 1/96 inch. */
#ifndef SS_FIGURES_PLOT_TEXT_H
#define SS_FIGURES_PLOT_TEXT_H

#include "figures/plot.h"

size_t ss_text_letters(const char *text);
/* The whole of `text`, or its first letters and "...": long names would leave no room for the plot. */
void ss_text_cut(const char *text, size_t most, char *out, size_t size);
/* Lines that `text` takes; with a stream they are written as labels from `top` down, `step` apart. `look`: how, as
 * gnuplot's `set label` has it; `full`: the height of the whole. */
size_t ss_text_wrap(const char *text, double width, double letter_width, FILE *stream, double top, double step,
                    const char *look, double full);

#endif
