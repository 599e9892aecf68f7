/* A page's figures: bars for one place or a few, lines over one numeric axis, a map of winners over two. */
#ifndef SS_REPORT_PAGE_FIGURES_H
#define SS_REPORT_PAGE_FIGURES_H

#include "report/page_places.h"

/* Writes the section. What keeps figures from being drawn goes into `lacking` (no text when they are); their data
 * stand on the page either way. */
bool ss_page_figures(struct ss_page_places *places, FILE *stream, struct ss_error *lacking,
                     struct ss_error *error) SS_MUST_CHECK;

#endif
