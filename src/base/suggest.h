/* What somebody may have meant. */
#ifndef SS_BASE_SUGGEST_H
#define SS_BASE_SUGGEST_H

/* The entry of `known` (NULL-terminated) with the least edit distance to `word`, or NULL when none is near. */
const char *ss_nearest(const char *word, const char *const *known);

#endif
