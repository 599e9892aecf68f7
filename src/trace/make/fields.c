#include "trace/make/fields.h"

#include "base/list.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a record ends in. */
enum found { WHOLE, CUT /* the buffer ends before it does */, FAILED };

bool ss_fields_open(struct ss_fields *f, const char *name, int descriptor, bool tabs, struct ss_error *error) {
  *f = (struct ss_fields){.name = name, .descriptor = descriptor, .delimiter = tabs ? '\t' : ',', .quotes = !tabs};
  f->buffer = ss_alloc(SS_RECORD_MAX + 1, 1);
  return f->buffer || ss_fail_memory(error, "reading a table");
}

void ss_fields_close(struct ss_fields *f) {
  free(f->buffer);
  free(f->field);
  *f = (struct ss_fields){.descriptor = -1};
}

static uint64_t line_ends(const char *text, size_t size) {
  uint64_t lines = 0;
  for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
  return lines;
}

static bool fail_at(const struct ss_fields *f, uint64_t line, struct ss_error *error) {
  return ss_fail_prefix(error, "%s: line %" PRIu64, f->name, line);
}

/* What is no text at all is told from its first bytes. */
static bool check_text(const struct ss_fields *f, const char *fresh, size_t size, bool first,
                       struct ss_error *error) {
  static const char *const magic[] = {"\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh", "\xfd\x37zXZ"};
  for (size_t i = 0; first && i < sizeof magic / sizeof *magic; i++)
    if (size >= strlen(magic[i]) && memcmp(fresh, magic[i], strlen(magic[i])) == 0)
      return ss_fail(error, SS_BAD_INPUT,
                     "%s: is compressed (zcat FILE | sparsync trace import - ..., or xzcat, ...)", f->name);
  if (first && size >= 4 && memcmp(fresh, "PK\3\4", 4) == 0)
    return ss_fail(error, SS_BAD_INPUT, "%s: is a zip archive (unzip -p FILE | sparsync trace import - ...)",
                   f->name);
  const char *nul = memchr(fresh, 0, size);
  if (!nul) return true;
  (void)ss_fail(error, SS_BAD_INPUT, "a NUL byte: not text in ASCII or UTF-8");
  return fail_at(f, f->lines + line_ends(f->buffer + f->at, (size_t)(nul - (f->buffer + f->at))) + 1, error);
}

/* More bytes behind those that are unread, which move to the front. */
static bool refill(struct ss_fields *f, struct ss_error *error) {
  const bool first = !f->started;
  f->started = true;
  memmove(f->buffer, f->buffer + f->at, f->end - f->at);
  f->end -= f->at;
  f->at = 0;
  if (f->end == SS_RECORD_MAX) {
    (void)ss_fail(error, SS_BAD_INPUT, "a record of more than %d bytes (are its fields and lines as --from says?)",
                  SS_RECORD_MAX);
    return fail_at(f, f->lines + 1, error);
  }
  const size_t before = f->end;
  while (f->end < SS_RECORD_MAX && !f->ended) {
    const ssize_t got = read(f->descriptor, f->buffer + f->end, SS_RECORD_MAX - f->end);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ss_fail(error, SS_BAD_INPUT, "%s: cannot read: %s", f->name, strerror(errno));
    f->end += (size_t)got;
    f->taken += (uint64_t)got;
    f->ended = got == 0;
  }
  f->buffer[f->end] = '\n';
  if (first && f->end >= 3 && memcmp(f->buffer, "\xef\xbb\xbf", 3) == 0) f->at = 3;
  return check_text(f, f->buffer + before, f->end - before, first, error);
}

static bool add_field(struct ss_fields *f, struct ss_field field, struct ss_error *error) {
  if (f->width && f->count == f->width)
    return ss_fail(error, SS_BAD_INPUT, "more fields than the %zu of the first record", f->width);
  if (f->count == f->capacity && !ss_grow(f->field, f->capacity, f->count + 1))
    return ss_fail_memory(error, "reading a table");
  f->field[f->count++] = field;
  return true;
}

/* A field in quotes that begins behind `*at`, which moves behind the quote that closes it. Nothing is changed yet:
 * the record may be cut, and read again. */
static enum found find_quoted(struct ss_fields *f, char **at, struct ss_error *error) {
  char *const begin = *at, *const end = f->buffer + f->end, *last = begin;
  struct ss_field field = {.text = begin};
  while ((last = memchr(last, '"', (size_t)(end - last))) && last + 1 < end && last[1] == '"') {
    field.doubled = true;
    last += 2;
  }
  if (!f->ended && (!last || last + 1 == end)) return CUT;
  if (!last) (void)ss_fail(error, SS_BAD_INPUT, "a quote opens and nothing closes it");
  if (!last) return FAILED;
  field.size = (size_t)(last - begin);
  *at = last + 1;
  if (**at == '\r' && (*at)[1] == '\n') ++*at;
  if (**at != f->delimiter && **at != '\n') {
    (void)ss_fail(error, SS_BAD_INPUT, "text behind the quote that closes a field");
    return FAILED;
  }
  return add_field(f, field, error) ? WHOLE : FAILED;
}

static enum found find_plain(struct ss_fields *f, char **at, struct ss_error *error) {
  const char delimiter = f->delimiter;
  char *const begin = *at, *last = begin;
  while (*last != delimiter && *last != '\n') last++;
  *at = last;
  const bool carriage = *last == '\n' && last > begin && last[-1] == '\r';
  return add_field(f, (struct ss_field){begin, (size_t)(last - begin) - carriage, false}, error) ? WHOLE : FAILED;
}

/* The fields of the record from `at` on, which is moved behind it if it is whole. */
static enum found find_fields(struct ss_fields *f, struct ss_error *error) {
  char *at = f->buffer + f->at, *const end = f->buffer + f->end;
  for (f->count = 0;; at++) {
    const bool is_quoted = f->quotes && at < end && *at == '"';
    if (is_quoted) at++;
    const enum found found = is_quoted ? find_quoted(f, &at, error) : find_plain(f, &at, error);
    if (at >= end && !f->ended && found != FAILED) return CUT;
    if (found != WHOLE) return found;
    if (*at == '\n') break;
  }
  f->at = at < end ? (size_t)(at + 1 - f->buffer) : f->end;
  return WHOLE;
}

static void undouble(struct ss_field *field) {
  char *to = field->text;
  for (const char *from = field->text, *end = from + field->size; from < end; from++) {
    *to++ = *from;
    if (*from == '"') from++;
  }
  field->size = (size_t)(to - field->text);
  field->doubled = false;
}

/* Empty lines, and what is left of the buffer: is there a record? */
static bool skip_to_record(struct ss_fields *f, bool *more, struct ss_error *error) {
  for (;;) {
    const char *at = f->buffer + f->at;
    if (f->at == f->end || (*at == '\r' && f->at + 1 == f->end)) {
      *more = !f->ended || f->at < f->end;
      if (f->ended) return true;
      if (!refill(f, error)) return false;
    } else if (*at == '\n' || (*at == '\r' && at[1] == '\n')) {
      f->at += *at == '\r' ? 2 : 1;
      f->lines++;
    } else {
      *more = true;
      return true;
    }
  }
}

/* Line ends of the record at [begin, at): those within quotes too. */
static void count_lines(struct ss_fields *f, size_t begin) {
  f->line = f->lines + 1;
  f->lines += f->quotes ? line_ends(f->buffer + begin, f->at - begin) : 1;
}

bool ss_fields_next(struct ss_fields *f, bool *more, struct ss_error *error) {
  enum found found;
  if (!skip_to_record(f, more, error)) return false;
  if (!*more) return true;
  size_t begin = f->at;
  while ((found = find_fields(f, error)) == CUT) {
    if (!refill(f, error)) return false;
    begin = f->at;
  }
  if (found == WHOLE && f->width && f->count < f->width)
    (void)ss_fail(error, SS_BAD_INPUT, "%zu fields, not the %zu of the first record", f->count, f->width);
  if (found == FAILED || (f->width && f->count < f->width)) return fail_at(f, f->lines + 1, error);
  f->width = f->count;
  count_lines(f, begin);
  for (size_t i = 0; i < f->count; i++)
    if (f->field[i].doubled) undouble(&f->field[i]);
  return true;
}
