/* CSV and TSV as they are read: record by record, of a file of any length, in a buffer of one size.
 *
 * CSV is that of RFC 4180: fields may stand in double quotes, which then hold commas, line ends and doubled quotes.
 * In TSV quotes are bytes like others. Lines end in LF or CRLF; empty ones are skipped, and so is a byte order mark.
 * Every record has as many fields as the first. */
#ifndef SS_TRACE_MAKE_FIELDS_H
#define SS_TRACE_MAKE_FIELDS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The longest record, in bytes; no table of categories has such. */
enum { SS_RECORD_MAX = 1 << 20 };

struct ss_field {
  char *text; /* not terminated; without its quotes */
  size_t size;
  bool doubled; /* for the reader: quotes within are still doubled */
};

struct ss_fields {
  const char *name; /* for messages */
  int descriptor;
  char delimiter;
  bool quotes;
  char *buffer; /* unread bytes are [at, end), behind which stands a line end of ours */
  size_t at, end;
  bool started, ended;    /* anything was read; nothing is left to be read into the buffer */
  uint64_t taken;         /* B read from the descriptor */
  uint64_t line;          /* of the record that was read last, from 1 */
  uint64_t lines;         /* line ends before `at` */
  struct ss_field *field; /* [count] of the record that was read last, in the buffer: until the next is read */
  size_t count, capacity;
  size_t width; /* fields of the first record, which all have; 0 before it */
};

/* The descriptor stays the caller's. */
bool ss_fields_open(struct ss_fields *fields, const char *name, int descriptor, bool tabs,
                    struct ss_error *error) SS_MUST_CHECK;
void ss_fields_close(struct ss_fields *fields);

/* The next record; *more is false at the end of the file. Errors name file and line: another number of fields, a
 * quote that nothing closes or that text follows, a NUL byte, a record that is too long, compressed files. */
bool ss_fields_next(struct ss_fields *fields, bool *more, struct ss_error *error) SS_MUST_CHECK;

#endif
