/* Tables out of records: a column says which field of a record it shows, and how. A new column is a line of such a
 * list.
 *
 * Records are JSON objects: those that `--format json` prints, with what the table alone computes added to them. */
#pragma once

#include "report/table.h"

struct cJSON;

struct ss_column {
  const char *head;  /* '<' in front aligns left; '?' (before it) leaves the column out where no record has a value */
  const char *field; /* of the record: a name, or "outer.inner" and so on */
  const char *format; /* a dimension's unit, "s", "B" or "B/s": in the unit that fits; SS_EXACT; else as printf shows
                         a double, a share where it has "%%". NULL: as text; flags are yes and NO */
};
/* A number with the digits that give it back; an empty cell where there is none, "-" in all other formats. */
#define SS_EXACT "%.17g"

/* A row a record of the list, which may be NULL when memory was short: then so is the table. The caller's. */
struct ss_table *ss_table_of_records(const struct ss_column *columns, size_t count, const struct cJSON *records);
/* The same of an array of columns. */
#define ss_records_table(columns, records) ss_table_of_records(columns, sizeof(columns) / sizeof *(columns), records)
/* The same printed, as text or as CSV; deletes the list. */
bool ss_columns_print(const struct ss_column *columns, size_t count, struct cJSON *records, bool csv, FILE *stream,
                      struct ss_error *error) SS_MUST_CHECK;
#define ss_records_print(columns, ...) ss_columns_print(columns, sizeof(columns) / sizeof *(columns), __VA_ARGS__)

/* The first n of the list, as a list of their own: they are taken out of it. The caller's. */
struct cJSON *ss_records_take(struct cJSON *records, size_t n);
/* The objects in the member `field` of all records, as one list, each with its record's "label" and its own name as
 * "key"; the caller's. */
struct cJSON *ss_record_members(const struct cJSON *records, const char *field);
/* Adds to the list a record for each object in the record's member `field`: with what both say; the record itself
 * where there is none. */
void ss_records_spread(struct cJSON *list, const struct cJSON *record, const char *field);
/* SPDX-License-Identifier: Apache-2.0 */
