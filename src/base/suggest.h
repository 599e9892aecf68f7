/* Words in messages: lists of them, and the known name that is nearest to one that is not known. */
#pragma once

#include "base/base.h"

/* Appends to the text, as far as it has room. */
void ss_append(char *text, size_t size, const char *format, ...) SS_PRINTF(3, 4);
/* "a, b, c", with `last` (" or ") before the last of them. Returns `text`, which is cut to fit. */
const char *ss_words_join(const char *const *words, const char *last, char *text, size_t size);

/* The entry of `known` (NULL-terminated) with the least edit distance to `word`, or NULL when none is near. */
const char *ss_nearest(const char *word, const char *const *known);

/* The end of an error about an unknown word: ` (did you mean "zen"?)`; where no known word is near, ` (HINT)`, or
 * nothing when `hint` is NULL. */
struct ss_suggestion {
  char text[640];
};
struct ss_suggestion ss_suggest(const char *word, const char *const *known, const char *hint);
/* SPDX-License-Identifier: Apache-2.0 */
