#include "base/suggest.h"

void ss_append(char *text, size_t size, const char *format, ...) {
  const size_t used = strlen(text);
  va_list arguments;
  if (used + 4 >= size && used >= 3 && strcmp(text + used - 3, "...") == 0) return; /* it was cut before */
  va_start(arguments, format);
  const int length = vsnprintf(text + used, size - used, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length < size - used || size < 4) return;
  size_t end = size - 4;
  while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) end--; /* no part of a character stays */
  memcpy(text + end, "...", 4);
}

const char *ss_words_join(const char *const *words, const char *last, char *text, size_t size) {
  text[0] = '\0';
  for (size_t i = 0; words[i]; i++) ss_append(text, size, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : last, words[i]);
  return text;
}

enum { LONGEST_WORD = 64 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap neighbours) that make `a` into `b`, whatever the case. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t rows[3][LONGEST_WORD + 1]; /* of the table of distances between prefixes: this one and the two before */
  for (size_t j = 0; j <= b_length; j++) rows[0][j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    size_t *row = rows[i % 3];
    const size_t *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
      row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
      if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) && y == tolower((unsigned char)a[i - 2]))
        row[j] = least(row[j], higher[j - 2] + 1);
    }
  }
  return rows[a_length % 3][b_length];
}

/* The first that goes on where the word ends, of which at least three letters are there. */
static const char *longer(const char *word, const char *const *known) {
  const size_t length = strlen(word);
  while (*known && (length < 3 || strlen(*known) > LONGEST_WORD || strncasecmp(*known, word, length) != 0)) known++;
  return *known;
}

const char *ss_nearest(const char *word, const char *const *known) {
  const size_t length = strlen(word);
  const char *const *first = known;
  if (length == 0 || length > LONGEST_WORD) return NULL;
  /* One letter in three may be wrong, and at least one, but never all of them. */
  size_t best = (length < 6 ? 1 : length / 3) + 1;
  const char *nearest = NULL;
  for (; *known != NULL; known++) {
    const size_t known_length = strlen(*known);
    if (known_length > LONGEST_WORD) continue;
    const size_t distance = edit_distance(word, length, *known, known_length);
    if (distance >= best || distance >= length) continue;
    best = distance;
    nearest = *known;
  }
  return nearest ? nearest : longer(word, first);
}

struct ss_suggestion ss_suggest(const char *word, const char *const *known, const char *hint) {
  struct ss_suggestion suggestion = {""};
  const char *near = ss_nearest(word, known);
  if (near) (void)snprintf(suggestion.text, sizeof suggestion.text, " (did you mean \"%s\"?)", near);
  else if (hint) (void)snprintf(suggestion.text, sizeof suggestion.text, " (%s)", hint);
  return suggestion;
}
/* SPDX-License-Identifier: Apache-2.0 */
