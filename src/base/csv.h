/* CSV and TSV as they are read: record by record, of a file of any length or a text in memory, in a buffer of one
 * size.
 *
 * CSV is that of RFC 4180: fields may stand in double quotes, which then hold commas, line ends and doubled quotes.
 * In TSV quotes are bytes like others. Lines end in LF or CRLF; empty ones are skipped, and so is a byte order mark.
 * Every record has as many fields as the first. */
#pragma once

#include "base/base.h"

/* The longest record, in bytes; no table has such. */
enum { SS_RECORD_MAX = 1 << 20 };

struct ss_csv_field {
  char *text; /* not terminated; without its quotes */
  size_t size;
  bool doubled; /* for the reader: quotes within are still doubled */
};

struct ss_csv {
  const char *name; /* for messages */
  int descriptor;   /* below 0: a text in memory, of which this is unread: */
  const char *text;
  size_t left;
  char delimiter;
  bool quotes;
  char *buffer; /* unread bytes are [at, end), behind which stands a line end of ours */
  size_t at, end;
  bool started, ended;        /* anything was read; nothing is left to be read into the buffer */
  uint64_t taken;             /* B read from the descriptor */
  uint64_t line;              /* of the record that was read last, from 1 */
  uint64_t lines;             /* line ends before `at` */
  struct ss_csv_field *field; /* [count] of the record that was read last, in the buffer: until the next is read */
  size_t count, capacity;
  size_t width;      /* fields of the first record, which all have; 0 before it */
  const char **head; /* [width] names of the columns, ended by NULL, where ss_csv_head has read them; else NULL */
};

/* The descriptor, or the text, stays the caller's. */
bool ss_csv_open(struct ss_csv *csv, const char *name, int descriptor, bool tabs,
                 struct ss_error *error) SS_MUST_CHECK;
bool ss_csv_open_text(struct ss_csv *csv, const char *name, const void *text, size_t size, bool tabs,
                      struct ss_error *error) SS_MUST_CHECK;
void ss_csv_close(struct ss_csv *csv);

/* The next record; *more is false at the end of the file. Errors name file and line, and the column in bytes where
 * there is one: another number of fields, a quote that nothing closes or that text follows, a NUL byte, a record that
 * is too long, compressed files. */
bool ss_csv_next(struct ss_csv *csv, bool *more, struct ss_error *error) SS_MUST_CHECK;
/* The same of the first record, whose fields are the columns' names from then on. */
bool ss_csv_head(struct ss_csv *csv, bool *more, struct ss_error *error) SS_MUST_CHECK;
/* Which column has that name; SIZE_MAX: none. */
size_t ss_csv_column(const struct ss_csv *csv, const char *name, size_t size);

/* A field of the record that was read last, as a terminated text in place. */
static inline const char *ss_csv_text(const struct ss_csv *csv, size_t column) {
  csv->field[column].text[csv->field[column].size] = '\0';
  return csv->field[column].text;
}

/* Puts file and line of the record that was read last before the error; false. */
bool ss_csv_fail(const struct ss_csv *csv, struct ss_error *error);

/* Writes a field of CSV, quoted where it must be. */
void ss_csv_put(const char *text, FILE *stream);
/* SPDX-License-Identifier: Apache-2.0 */
