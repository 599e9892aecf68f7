/* cJSON takes much that is not JSON ("01", "1.", raw control characters), cuts strings at "\u0000" and numbers at 63
 * characters, and does not say where it stopped for which reason. So the grammar is checked here first, without
 * recursion; after that cJSON can fail for want of memory only. */
#include "base/json_internal.h"

enum { LONGEST_NUMBER = 63 };

struct scan {
  const char *name, *text;
  size_t at, length;
  size_t depth;
  char open[CJSON_NESTING_LIMIT]; /* '{' or '[' by depth */
  struct ss_error *error;
};

static bool scan_fail(const struct scan *scan, const char *problem) {
  size_t line = 1;
  for (size_t i = 0; i < scan->at; i++) line += scan->text[i] == '\n';
  return ss_fail(scan->error, SS_BAD_INPUT, "%s: byte %zu (line %zu): not JSON: %s", scan->name, scan->at, line,
                 problem);
}

static bool scan_expected(const struct scan *scan, const char *wanted) {
  char problem[160];
  if (scan->at >= scan->length) {
    snprintf(problem, sizeof problem, "expected %s, but the text ends", wanted);
    return scan_fail(scan, problem);
  }
  const unsigned char found = (unsigned char)scan->text[scan->at];
  snprintf(problem, sizeof problem,
           found > 0x20 && found < 0x7f ? "expected %s, found '%c'" : "expected %s, found byte 0x%02x", wanted,
           found);
  return scan_fail(scan, problem);
}

/* The byte that is due, or 0 at the end; a NUL byte itself is nowhere allowed, so the two need no telling apart. */
static char scan_peek(const struct scan *scan) {
  return scan->at < scan->length ? scan->text[scan->at] : '\0';
}

static bool scan_take(struct scan *scan, char wanted) {
  if (scan_peek(scan) != wanted) return false;
  scan->at++;
  return true;
}

static void scan_space(struct scan *scan) {
  for (char c = scan_peek(scan); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = scan_peek(scan)) scan->at++;
}

static bool scan_digits(struct scan *scan) {
  if (!isdigit((unsigned char)scan_peek(scan))) return scan_expected(scan, "a digit");
  while (isdigit((unsigned char)scan_peek(scan))) scan->at++;
  return true;
}

static bool scan_number(struct scan *scan) {
  const size_t start = scan->at;
  scan_take(scan, '-');
  if (scan_take(scan, '0')) {
    if (isdigit((unsigned char)scan_peek(scan))) return scan_fail(scan, "a number does not begin with 0");
  } else if (!scan_digits(scan)) {
    return false;
  }
  if (scan_take(scan, '.') && !scan_digits(scan)) return false;
  if (scan_take(scan, 'e') || scan_take(scan, 'E')) {
    if (!scan_take(scan, '+')) scan_take(scan, '-');
    if (!scan_digits(scan)) return false;
  }

  const size_t length = scan->at - start;
  char number[LONGEST_NUMBER + 1] = "";
  double value;
  scan->at = start; /* what may yet be wrong is wrong with the whole number */
  if (length > LONGEST_NUMBER) return scan_fail(scan, "a number of more than 63 characters");
  memcpy(number, scan->text + start, length);
  if (!ss_units_parse(number, SS_NUMBER, &value, NULL)) return scan_fail(scan, "a number too large for a double");
  scan->at = start + length;
  return true;
}

/* The four digits of a \u escape, `at` bytes in. */
static bool scan_hex(const struct scan *scan, size_t at, unsigned *out) {
  if (at > scan->length || scan->length - at < 4) return false;
  unsigned value = 0;
  for (size_t i = at; i < at + 4; i++) {
    const char c = scan->text[i];
    if (!isxdigit((unsigned char)c)) return false;
    value = value * 16 + (unsigned)(isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  *out = value;
  return true;
}

static bool scan_escape(struct scan *scan) {
  const char *text = scan->text + scan->at;
  const size_t left = scan->length - scan->at;
  if (left >= 2 && text[1] != '\0' && strchr("\"\\/bfnrt", text[1]) != NULL) {
    scan->at += 2;
    return true;
  }
  unsigned first, second;
  if (left < 2 || text[1] != 'u' || !scan_hex(scan, scan->at + 2, &first))
    return scan_fail(scan, "a backslash is followed by one of \"\\/bfnrt or by u and four hex digits");
  if (first == 0) return scan_fail(scan, "\"\\u0000\" in a string");
  if (first < 0xd800 || first > 0xdfff) {
    scan->at += 6;
    return true;
  }
  const bool pair = first < 0xdc00 && left >= 12 && text[6] == '\\' && text[7] == 'u' &&
                    scan_hex(scan, scan->at + 8, &second) && second >= 0xdc00 && second <= 0xdfff;
  if (!pair) return scan_fail(scan, "half of a surrogate pair");
  scan->at += 12;
  return true;
}

static bool scan_string(struct scan *scan) {
  if (!scan_take(scan, '"')) return scan_expected(scan, "a string");
  while (!scan_take(scan, '"')) {
    if (scan->at >= scan->length) return scan_expected(scan, "the closing '\"' of a string");
    const unsigned char c = (unsigned char)scan_peek(scan);
    if (c < 0x20) return scan_fail(scan, "a control character in a string (write it as an escape)");
    if (c == '\\') {
      if (!scan_escape(scan)) return false;
      continue;
    }
    const size_t size = ss_utf8_size(scan->text + scan->at, scan->length - scan->at);
    if (size == 0) return scan_fail(scan, "a string that is not UTF-8");
    scan->at += size;
  }
  return true;
}

static bool scan_word(struct scan *scan, const char *word) {
  const size_t length = strlen(word);
  if (scan->length - scan->at < length || memcmp(scan->text + scan->at, word, length) != 0)
    return scan_expected(scan, "a value");
  scan->at += length;
  return true;
}

static bool scan_scalar(struct scan *scan) {
  switch (scan_peek(scan)) {
  case '"': return scan_string(scan);
  case 't': return scan_word(scan, "true");
  case 'f': return scan_word(scan, "false");
  case 'n': return scan_word(scan, "null");
  default: break;
  }
  if (scan_peek(scan) == '-' || isdigit((unsigned char)scan_peek(scan))) return scan_number(scan);
  return scan_expected(scan, "a value");
}

static bool scan_key(struct scan *scan) {
  scan_space(scan);
  if (scan_peek(scan) != '"') return scan_expected(scan, "a key in quotes");
  if (!scan_string(scan)) return false;
  scan_space(scan);
  return scan_take(scan, ':') || scan_expected(scan, "':'");
}

/* Enters the array or object that begins here. *empty: it has ended, too. */
static bool scan_open(struct scan *scan, bool *empty) {
  if (scan->depth == CJSON_NESTING_LIMIT) return scan_fail(scan, "nested more than 1000 deep");
  const char kind = scan_peek(scan);
  scan->at++;
  scan_space(scan);
  *empty = scan_take(scan, kind == '{' ? '}' : ']');
  if (*empty) return true;
  scan->open[scan->depth++] = kind;
  return kind == '[' || scan_key(scan);
}

/* Behind a value: leaves what ends here. Afterwards a value is due, or at depth 0 nothing. */
static bool scan_close(struct scan *scan) {
  while (scan->depth > 0) {
    const bool object = scan->open[scan->depth - 1] == '{';
    scan_space(scan);
    if (scan_take(scan, ',')) return object ? scan_key(scan) : true;
    if (!scan_take(scan, object ? '}' : ']')) return scan_expected(scan, object ? "',' or '}'" : "',' or ']'");
    scan->depth--;
  }
  return true;
}

static bool scan_document(struct scan *scan) {
  do {
    scan_space(scan);
    const char c = scan_peek(scan);
    bool complete = true;
    if (c != '{' && c != '[') {
      if (!scan_scalar(scan)) return false;
    } else if (!scan_open(scan, &complete)) {
      return false;
    }
    if (complete && !scan_close(scan)) return false;
  } while (scan->depth > 0);
  scan_space(scan);
  return scan->at == scan->length || scan_expected(scan, "nothing behind the value");
}

bool ss_json_check(const char *name, const char *text, size_t first, size_t length, struct ss_error *error) {
  struct scan scan = {.name = name, .text = text, .at = first, .length = length, .error = error};
  return scan_document(&scan);
}
/* SPDX-License-Identifier: Apache-2.0 */
