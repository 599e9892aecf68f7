/* Text tables and CSV from the same cells. */
#ifndef SS_REPORT_TABLE_H
#define SS_REPORT_TABLE_H

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

struct ss_table;

/* NULL when memory is short; every other call on a table that ran out of memory does nothing, and printing it then
 * fails. A column whose head begins with '<' (not shown) is left-aligned, others right-aligned. */
struct ss_table *ss_table_new(size_t columns, const char *const *heads);
void ss_table_free(struct ss_table *table);
/* Appends a cell; rows fill up from the left. printf-style. */
void ss_table_cell(struct ss_table *table, const char *format, ...) SS_PRINTF(2, 3);
/* Columns two spaces apart under a rule; trailing spaces trimmed. UTF-8 counts as characters. */
bool ss_table_print(const struct ss_table *table, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* An HTML table in a box of its own, in which it scrolls when it is wide; row `strong` (from 0) is marked, SIZE_MAX
 * marks none. `caption` may be NULL. */
bool ss_table_html(const struct ss_table *table, const char *caption, size_t strong, FILE *stream,
                   struct ss_error *error) SS_MUST_CHECK;
/* RFC 4180: quotes where needed, CRLF-free lines. */
bool ss_table_csv(const struct ss_table *table, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* The same without the heads: more lines of a file that has them. */
bool ss_table_csv_more(const struct ss_table *table, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
