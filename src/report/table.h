/* Text tables and CSV from the same cells. */
#pragma once

#include "base/units.h"

struct ss_table;

/* NULL when memory is short; every other call on a table that ran out of memory does nothing, and printing it then
 * fails. A column whose head begins with '<' (not shown) is left-aligned, others right-aligned. */
struct ss_table *ss_table_new(size_t columns, const char *const *heads);
/* The same of the heads that are listed. */
#define ss_table_of(...)                                                                                             \
  ss_table_new(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), (const char *const[]){__VA_ARGS__})
void ss_table_free(struct ss_table *table);
/* Appends a cell; rows fill up from the left. printf-style. */
void ss_table_cell(struct ss_table *table, const char *format, ...) SS_PRINTF(2, 3);
/* A cell for each of the texts that are listed. */
#define ss_table_texts(table, ...)                                                                                   \
  ss_table_add_texts(table, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *),                       \
                     (const char *const[]){__VA_ARGS__})
void ss_table_add_texts(struct ss_table *table, size_t count, const char *const *texts);
/* A number as `format` shows a double, or a quantity in the unit that fits; "-" when it is not finite. */
void ss_table_number(struct ss_table *table, const char *format, double value) SS_PRINTF(2, 0);
void ss_table_quantity(struct ss_table *table, enum ss_dimension dimension, double value);
/* A number with the digits that give it back; an empty cell when it is not finite. */
void ss_table_exact(struct ss_table *table, double value);
/* How tables are printed: as text, or as Markdown (GitHub's). A report does not know for whom it is printed; the
 * command line does, and says so once, before anything is printed (by whatever thread). */
enum ss_table_style { SS_TABLE_TEXT, SS_TABLE_MARKDOWN };
void ss_table_style_set(enum ss_table_style style);
/* Elsewhere than in a terminal it is as wide as a line of 120 characters at most; otherwise it is as wide as it is.
 */
void ss_table_fold(struct ss_table *table);
/* As text: columns two spaces apart under a rule; trailing spaces trimmed. UTF-8 counts as characters. Where it is
 * too wide, in pieces one below the other, each with the columns that say what a row is of. As Markdown: with an
 * empty line on either side, and what Markdown would read as its own escaped. */
bool ss_table_print(const struct ss_table *table, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* RFC 4180: quotes where needed, CRLF-free lines. */
bool ss_table_csv(const struct ss_table *table, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* The same without the heads: more lines of a file that has them. */
bool ss_table_csv_more(const struct ss_table *table, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* Prints as CSV, or as ss_table_print does, and frees the table. */
bool ss_table_print_free(struct ss_table *table, bool csv, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* Prints as HTML in a box of its own, in which it scrolls when it is wide, and frees the table; row `strong` (from 0)
 * is marked, SIZE_MAX marks none. `look`: its class in page.css, of "texts" that are long, or "". `caption` may be
 * NULL. */
bool ss_table_html_free(struct ss_table *table, const char *look, const char *caption, size_t strong, FILE *stream,
                        struct ss_error *error) SS_MUST_CHECK;

/* What makes a terminal show what follows so; "" where the stream is no terminal that has colours, or $NO_COLOR says
 * not to (https://no-color.org): files and pipes get the same bytes as ever. */
enum ss_colour { SS_PLAIN, SS_BOLD, SS_RED, SS_YELLOW };
const char *ss_colour(FILE *stream, enum ss_colour colour);
/* SPDX-License-Identifier: Apache-2.0 */
