/* Suggestions: the known name that is nearest to one that is not known. */
#pragma once

/* The entry of `known` (NULL-terminated) with the least edit distance to `word`, or NULL when none is near. */
const char *ss_nearest(const char *word, const char *const *known);

/* The end of an error about an unknown word: ` (did you mean "zen"?)`; where no known word is near, ` (HINT)`, or
 * nothing when `hint` is NULL. */
struct ss_suggestion {
  char text[640];
};
struct ss_suggestion ss_suggest(const char *word, const char *const *known, const char *hint);
