#include "base/base.h"

size_t ss_utf8_size(const char *text, size_t length) {
  const unsigned char *bytes = (const unsigned char *)text;
  if (length == 0) return 0;
  if (bytes[0] < 0x80) return 1;
  const size_t size = bytes[0] < 0xc2 ? 0 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : bytes[0] < 0xf5 ? 4 : 0;
  if (size == 0 || size > length) return 0;
  for (size_t i = 1; i < size; i++)
    if ((bytes[i] & 0xc0) != 0x80) return 0;

  /* The second byte alone tells overlong forms, surrogates and what lies beyond U+10FFFF. */
  if (bytes[0] == 0xe0 && bytes[1] < 0xa0) return 0;
  if (bytes[0] == 0xed && bytes[1] >= 0xa0) return 0;
  if (bytes[0] == 0xf0 && bytes[1] < 0x90) return 0;
  if (bytes[0] == 0xf4 && bytes[1] >= 0x90) return 0;
  return size;
}

size_t ss_utf8_printable(const char *text, size_t length) {
  const unsigned char *bytes = (const unsigned char *)text;
  const size_t size = ss_utf8_size(text, length);
  if (size == 1 && (bytes[0] < 0x20 || bytes[0] == 0x7f)) return 0;
  if (size == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0) return 0; /* C1: U+009B starts a terminal's escapes */
  return size;
}

/* Texts quote file names and file contents, which may be hostile: nothing of them may steer the terminal. */
void ss_make_printable(char *text) {
  while (*text != '\0') {
    const size_t size = ss_utf8_printable(text, 4);
    if (size == 0) *text = '?';
    text += size == 0 ? 1 : size;
  }
}

static void end_in_dots(char *text, size_t length) {
  size_t end = length - 3;
  while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
  memcpy(text + end, "...", 4);
}

bool ss_vfail(struct ss_error *error, enum ss_status status, const char *format, va_list arguments) {
  if (error == NULL) return false;
  char text[sizeof error->text] = "an error that could not be put into words";
  const int length = vsnprintf(text, sizeof text, format, arguments);
  ss_make_printable(text);
  if (length >= 0 && (size_t)length >= sizeof text) end_in_dots(text, sizeof text - 1);
  error->status = status;
  error->field[0] = '\0';
  memcpy(error->text, text, sizeof text);
  return false;
}

bool(ss_fail)(struct ss_error *error, enum ss_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  ss_vfail(error, status, format, arguments);
  va_end(arguments);
  return false;
}

bool(ss_fail_memory)(struct ss_error *error, const char *what) {
  return ss_fail(error, SS_MACHINE, "out of memory while %s", what);
}

bool(ss_fail_prefix)(struct ss_error *error, const char *format, ...) {
  if (error == NULL) return false;
  char prefix[sizeof error->text] = "";
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(prefix, sizeof prefix, format, arguments);
  va_end(arguments);
  const struct ss_error own = *error;
  (void)ss_fail(error, own.status, "%s: %s", prefix, own.text);
  memcpy(error->field, own.field, sizeof own.field);
  return false;
}
/* SPDX-License-Identifier: Apache-2.0 */
