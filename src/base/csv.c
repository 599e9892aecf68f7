#include "base/csv.h"

#include <unistd.h>

/* What a record ends in. */
enum found { WHOLE, CUT /* the buffer ends before it does */, FAILED };

static bool begin(struct ss_csv *csv, bool tabs, struct ss_error *error) {
  csv->delimiter = tabs ? '\t' : ',';
  csv->quotes = !tabs;
  csv->buffer = ss_alloc(SS_RECORD_MAX + 1, 1);
  return csv->buffer || ss_fail_memory(error, "reading a table");
}

bool ss_csv_open(struct ss_csv *csv, const char *name, int descriptor, bool tabs, struct ss_error *error) {
  *csv = (struct ss_csv){.name = name, .descriptor = descriptor};
  return begin(csv, tabs, error);
}

bool ss_csv_open_text(struct ss_csv *csv, const char *name, const void *text, size_t size, bool tabs,
                      struct ss_error *error) {
  *csv = (struct ss_csv){.name = name, .descriptor = -1, .text = text, .left = size};
  return begin(csv, tabs, error);
}

void ss_csv_close(struct ss_csv *csv) {
  free(csv->buffer);
  free(csv->field);
  free(csv->head);
  *csv = (struct ss_csv){.descriptor = -1};
}

static uint64_t line_ends(const char *text, size_t size) {
  uint64_t lines = 0;
  for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
  return lines;
}

/* "FILE: line L, column C: ..." of what stands at `where` in the buffer, behind `at`. */
static bool fail_at(const struct ss_csv *csv, const char *where, struct ss_error *error) {
  const char *begin = csv->buffer + csv->at, *line = memrchr(begin, '\n', (size_t)(where - begin));
  return ss_fail_prefix(error, "%s: line %" PRIu64 ", column %td", csv->name,
                        csv->lines + line_ends(begin, (size_t)(where - begin)) + 1,
                        where - (line ? line + 1 : begin) + 1);
}

static bool fail_in(const struct ss_csv *csv, uint64_t line, struct ss_error *error) {
  return ss_fail_prefix(error, "%s: line %" PRIu64, csv->name, line);
}

bool ss_csv_fail(const struct ss_csv *csv, struct ss_error *error) {
  return fail_in(csv, csv->line, error);
}

/* What is no text at all is told from its first bytes. */
static bool check_text(const struct ss_csv *csv, const char *fresh, size_t size, bool first, struct ss_error *error) {
  static const char *const magic[] = {"\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh", "\xfd\x37zXZ"};
  for (size_t i = 0; first && i < sizeof magic / sizeof *magic; i++)
    if (size >= strlen(magic[i]) && memcmp(fresh, magic[i], strlen(magic[i])) == 0)
      return ss_fail(error, SS_BAD_INPUT, "%s: is compressed (zcat FILE | sparsync ... -, or xzcat, ...)", csv->name);
  if (first && size >= 4 && memcmp(fresh, "PK\3\4", 4) == 0)
    return ss_fail(error, SS_BAD_INPUT, "%s: is a zip archive (unzip -p FILE | sparsync ... -)", csv->name);
  if (first && size && memchr(fresh, '\r', size) && !memchr(fresh, '\n', size))
    return ss_fail(error, SS_BAD_INPUT, "%s: lines end in a carriage return alone (tr '\\r' '\\n' < FILE)",
                   csv->name);
  const char *nul = memchr(fresh, 0, size);
  if (!nul) return true;
  (void)ss_fail(error, SS_BAD_INPUT, "a NUL byte: not text in ASCII or UTF-8");
  return fail_at(csv, nul, error);
}

/* Bytes of the file or the text, as many as there are; below 0: errno. */
static ssize_t take(struct ss_csv *csv, char *into, size_t size) {
  if (csv->descriptor >= 0) return read(csv->descriptor, into, size);
  size = size < csv->left ? size : csv->left;
  if (size) memcpy(into, csv->text, size);
  csv->text += size;
  csv->left -= size;
  return (ssize_t)size;
}

/* More bytes behind those that are unread, which move to the front. */
static bool refill(struct ss_csv *csv, struct ss_error *error) {
  const bool first = !csv->started;
  csv->started = true;
  memmove(csv->buffer, csv->buffer + csv->at, csv->end - csv->at);
  csv->end -= csv->at;
  csv->at = 0;
  if (csv->end == SS_RECORD_MAX) {
    (void)ss_fail(error, SS_BAD_INPUT,
                  "a record of more than %d bytes (are its fields and lines parted as supposed?)", SS_RECORD_MAX);
    return fail_in(csv, csv->lines + 1, error);
  }
  const size_t before = csv->end;
  while (csv->end < SS_RECORD_MAX && !csv->ended) {
    const ssize_t got = take(csv, csv->buffer + csv->end, SS_RECORD_MAX - csv->end);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ss_fail(error, SS_BAD_INPUT, "%s: cannot read: %s", csv->name, strerror(errno));
    csv->end += (size_t)got;
    csv->taken += (uint64_t)got;
    csv->ended = got == 0;
  }
  csv->buffer[csv->end] = '\n';
  if (first && csv->end >= 3 && memcmp(csv->buffer, "\xef\xbb\xbf", 3) == 0) csv->at = 3;
  return check_text(csv, csv->buffer + before, csv->end - before, first, error);
}

static bool add_field(struct ss_csv *csv, struct ss_csv_field field, struct ss_error *error) {
  if (csv->width && csv->count == csv->width) {
    (void)ss_fail(error, SS_BAD_INPUT, "more fields than the %zu of the first record", csv->width);
    return fail_at(csv, field.text, error);
  }
  if (csv->count == csv->capacity && !ss_grow(csv->field, csv->capacity, csv->count + 1))
    return ss_fail_memory(error, "reading a table");
  csv->field[csv->count++] = field;
  return true;
}

static enum found fail_quote(const struct ss_csv *csv, const char *where, const char *what, struct ss_error *error) {
  (void)ss_fail(error, SS_BAD_INPUT, "%s", what);
  (void)fail_at(csv, where, error);
  return FAILED;
}

/* A field in quotes that begins behind `*at`, which moves behind the quote that closes it. Nothing is changed yet:
 * the record may be cut, and read again. */
static enum found find_quoted(struct ss_csv *csv, char **at, struct ss_error *error) {
  char *const begin = *at, *const end = csv->buffer + csv->end, *last = begin;
  struct ss_csv_field field = {.text = begin};
  while ((last = memchr(last, '"', (size_t)(end - last))) && last + 1 < end && last[1] == '"') {
    field.doubled = true;
    last += 2;
  }
  if (!csv->ended && (!last || last + 1 == end)) return CUT;
  if (!last) return fail_quote(csv, begin - 1, "a quote opens and nothing closes it", error);
  field.size = (size_t)(last - begin);
  *at = last + 1;
  if (**at == '\r' && (*at)[1] == '\n') ++*at;
  if (**at != csv->delimiter && **at != '\n')
    return fail_quote(csv, *at, "text behind the quote that closes a field", error);
  return add_field(csv, field, error) ? WHOLE : FAILED;
}

static enum found find_plain(struct ss_csv *csv, char **at, struct ss_error *error) {
  const char delimiter = csv->delimiter;
  char *const begin = *at, *last = begin;
  while (*last != delimiter && *last != '\n') last++;
  *at = last;
  const bool carriage = *last == '\n' && last > begin && last[-1] == '\r';
  return add_field(csv, (struct ss_csv_field){begin, (size_t)(last - begin) - carriage, false}, error) ? WHOLE
                                                                                                       : FAILED;
}

/* The fields of the record from `at` on, which is moved behind it if it is whole. */
static enum found find_fields(struct ss_csv *csv, struct ss_error *error) {
  char *at = csv->buffer + csv->at, *const end = csv->buffer + csv->end;
  for (csv->count = 0;; at++) {
    const bool is_quoted = csv->quotes && at < end && *at == '"';
    if (is_quoted) at++;
    const enum found found = is_quoted ? find_quoted(csv, &at, error) : find_plain(csv, &at, error);
    if (at >= end && !csv->ended && found != FAILED) return CUT;
    if (found != WHOLE) return found;
    if (*at == '\n') break;
  }
  csv->at = at < end ? (size_t)(at + 1 - csv->buffer) : csv->end;
  return WHOLE;
}

static void undouble(struct ss_csv_field *field) {
  char *to = field->text;
  for (const char *from = field->text, *end = from + field->size; from < end; from++) {
    *to++ = *from;
    if (*from == '"') from++;
  }
  field->size = (size_t)(to - field->text);
  field->doubled = false;
}

/* Empty lines, and what is left of the buffer: is there a record? */
static bool skip_to_record(struct ss_csv *csv, bool *more, struct ss_error *error) {
  for (;;) {
    const char *at = csv->buffer + csv->at;
    if (csv->at == csv->end || (*at == '\r' && csv->at + 1 == csv->end)) {
      *more = !csv->ended || csv->at < csv->end;
      if (csv->ended) return true;
      if (!refill(csv, error)) return false;
    } else if (*at == '\n' || (*at == '\r' && at[1] == '\n')) {
      csv->at += *at == '\r' ? 2 : 1;
      csv->lines++;
    } else {
      *more = true;
      return true;
    }
  }
}

/* Line ends of the record at [begin, at): those within quotes too. */
static void count_lines(struct ss_csv *csv, size_t begin) {
  csv->line = csv->lines + 1;
  csv->lines += csv->quotes ? line_ends(csv->buffer + begin, csv->at - begin) : 1;
}

bool ss_csv_next(struct ss_csv *csv, bool *more, struct ss_error *error) {
  enum found found;
  if (!skip_to_record(csv, more, error)) return false;
  if (!*more) return true;
  size_t begin = csv->at;
  while ((found = find_fields(csv, error)) == CUT) {
    if (!refill(csv, error)) return false;
    begin = csv->at;
  }
  if (found == FAILED) return false;
  if (csv->width && csv->count < csv->width) {
    (void)ss_fail(error, SS_BAD_INPUT, "%zu fields, not the %zu of the first record", csv->count, csv->width);
    return fail_in(csv, csv->lines + 1, error);
  }
  csv->width = csv->count;
  count_lines(csv, begin);
  for (size_t i = 0; i < csv->count; i++)
    if (csv->field[i].doubled) undouble(&csv->field[i]);
  return true;
}

/* Of two columns with one name, nobody knows which is meant; those without are called by their numbers. */
static bool check_names(struct ss_csv *csv, struct ss_error *error) {
  SS_AUTO_FREE const char **name = ss_alloc(csv->count, sizeof *name);
  if (!name) return ss_fail_memory(error, "reading a table");
  size_t count = 0;
  for (size_t i = 0; i < csv->count; i++)
    if (*csv->head[i]) name[count++] = csv->head[i];
  const char *twice = ss_sort_texts(name, count);
  if (twice) {
    (void)ss_fail(error, SS_BAD_INPUT, "two columns are called \"%.100s\"", twice);
    return fail_in(csv, csv->line, error);
  }
  return true;
}

bool ss_csv_head(struct ss_csv *csv, bool *more, struct ss_error *error) {
  size_t bytes = 0;
  if (!ss_csv_next(csv, more, error) || !*more) return !*more;
  for (size_t i = 0; i < csv->count; i++) bytes += csv->field[i].size + 1;
  csv->head = ss_alloc(1, (csv->count + 1) * sizeof *csv->head + bytes);
  if (!csv->head) return ss_fail_memory(error, "reading a table");
  csv->head[csv->count] = NULL;
  char *text = (char *)(csv->head + csv->count + 1);
  for (size_t i = 0; i < csv->count; i++) {
    memcpy(text, csv->field[i].text, csv->field[i].size);
    text[csv->field[i].size] = '\0';
    csv->head[i] = text;
    text += csv->field[i].size + 1;
  }
  return check_names(csv, error);
}

size_t ss_csv_column(const struct ss_csv *csv, const char *name, size_t size) {
  for (size_t i = 0; csv->head && i < csv->width; i++)
    if (strlen(csv->head[i]) == size && memcmp(csv->head[i], name, size) == 0) return i;
  return SIZE_MAX;
}

void ss_csv_put(const char *text, FILE *stream) {
  if (strpbrk(text, ",\"\r\n") == NULL) {
    fputs(text, stream);
    return;
  }
  fputc('"', stream);
  for (; *text != '\0'; text++) {
    if (*text == '"') fputc('"', stream);
    fputc(*text, stream);
  }
  fputc('"', stream);
}
/* SPDX-License-Identifier: Apache-2.0 */
