/* Words of a text: runs of ASCII letters, folded to lower case, and bytes of 0x80 and above (so that UTF-8 letters
 * stay whole without tables). Everything else parts words. */
#ifndef SS_TRACE_MAKE_WORDS_H
#define SS_TRACE_MAKE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ss_words {
  uint64_t tokens, lines; /* lines without a word are not counted */
  uint32_t distinct;      /* distinct words, numbered by first occurrence */
  uint32_t *token;        /* [tokens] each token's distinct word */
  uint64_t *line;         /* [lines+1] first token of each line */
};

/* Splits the text; false when memory is short. The result is emptied by ss_words_free. */
bool ss_words_read(const char *text, size_t size, struct ss_words *out) __attribute__((warn_unused_result));
void ss_words_free(struct ss_words *words);

/* Row ids by frequency, the most frequent first and ties by first occurrence: ids[word] for each distinct word. Row 0
 * is padding and 1 the unknown word, so words begin at 2; those that would get an id of `rows` or more get 1. */
bool ss_words_rank(const struct ss_words *words, uint64_t rows, uint32_t *ids) __attribute__((warn_unused_result));

#endif
