/* The parts of a page, a file each; each writes its section. */
#pragma once

#include "report/page.h"
#include "report/page_cells.h"

/* Who is fastest, by how much, where, and what was not counted. */
bool ss_page_answer(const struct ss_page *page, struct ss_page_cells *cells, FILE *stream,
                    struct ss_error *error) SS_MUST_CHECK;
/* Bars for one cell or a few, lines over one numeric axis, a map of winners over two. What keeps figures from being
 * drawn goes into `lacking` (no text when they are); their data stand on the page either way. */
bool ss_page_figures(struct ss_page_cells *cells, FILE *stream, struct ss_error *lacking,
                     struct ss_error *error) SS_MUST_CHECK;
/* Closed forms: exact and as printed, what they assume, where the paper is wrong, and the symbols. */
bool ss_page_forms(const struct ss_page *page, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* Clusters and devices with the source of each number, traces with their hashes, and what reproduces the page. */
void ss_page_inputs(const struct ss_page *page, FILE *stream);
