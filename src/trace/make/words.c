#include "trace/make/words.h"

#include "base/list.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct known {
  uint64_t hash;
  uint64_t place; /* of the folded spelling in the pool */
  uint64_t length;
};

/* Distinct words met so far: an open-addressing table of their numbers + 1, at most half full. */
struct table {
  uint32_t *slot;
  uint64_t slots;
  struct known *word;
  uint64_t words, word_capacity;
  char *pool;
  uint64_t used, pool_capacity;
};

static bool in_word(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

static bool grow_slots(struct table *table) {
  const uint64_t slots = table->slots ? table->slots * 2 : 1 << 12;
  uint32_t *grown = ss_alloc_zero(slots, sizeof *grown);
  if (!grown) return false;
  for (uint64_t i = 0; i < table->words; i++) {
    uint64_t at = table->word[i].hash & (slots - 1);
    while (grown[at]) at = (at + 1) & (slots - 1);
    grown[at] = (uint32_t)i + 1;
  }
  free(table->slot);
  table->slot = grown;
  table->slots = slots;
  return true;
}

/* Room for one more word and `length` more bytes of spelling. */
static bool reserve(struct table *table, size_t length) {
  if (table->words * 2 >= table->slots && !grow_slots(table)) return false;
  return ss_grow(table->word, table->word_capacity, table->words + 1) &&
         ss_grow(table->pool, table->pool_capacity, table->used + length);
}

/* The number of the word, a new one when it was not met before. */
static bool number_of(struct table *table, const char *spelling, size_t length, uint32_t *out) {
  if (!reserve(table, length)) return false;
  char *folded = table->pool + table->used;
  for (size_t i = 0; i < length; i++) {
    const char c = spelling[i];
    folded[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  const uint64_t hash = XXH64(folded, length, 0);
  uint64_t at = hash & (table->slots - 1);
  for (; table->slot[at]; at = (at + 1) & (table->slots - 1)) {
    const struct known *known = &table->word[table->slot[at] - 1];
    if (known->hash != hash || known->length != length || memcmp(table->pool + known->place, folded, length) != 0)
      continue;
    *out = table->slot[at] - 1;
    return true;
  }
  if (table->words >= UINT32_MAX - 2) return false; /* ids are 32-bit; such a table fills 100 GB first */
  table->word[table->words] = (struct known){hash, table->used, length};
  table->used += length;
  *out = (uint32_t)table->words++;
  table->slot[at] = *out + 1;
  return true;
}

/* Counts tokens and lines, and with a table, once there is room for them, lists them. */
static bool scan(const char *text, size_t size, struct table *table, struct ss_words *out) {
  bool line_has_word = false;
  out->tokens = out->lines = 0;
  for (size_t i = 0; i < size; i++) {
    if (text[i] == '\n') line_has_word = false;
    if (!in_word((unsigned char)text[i])) continue;
    const size_t begin = i;
    while (i + 1 < size && in_word((unsigned char)text[i + 1])) i++;
    if (table && !line_has_word) out->line[out->lines] = out->tokens;
    out->lines += !line_has_word;
    line_has_word = true;
    if (table && !number_of(table, text + begin, i + 1 - begin, &out->token[out->tokens])) return false;
    out->tokens++;
  }
  return true;
}

bool ss_words_read(const char *text, size_t size, struct ss_words *out) {
  struct table table = {0};
  *out = (struct ss_words){0};
  bool good = scan(text, size, NULL, out);
  out->token = ss_alloc(out->tokens, sizeof *out->token);
  out->line = ss_alloc(out->lines + 1, sizeof *out->line);
  good = good && out->token && out->line && scan(text, size, &table, out);
  if (good) out->line[out->lines] = out->tokens;
  out->distinct = (uint32_t)table.words;
  free(table.slot);
  free(table.word);
  free(table.pool);
  if (!good) ss_words_free(out);
  return good;
}

void ss_words_free(struct ss_words *words) {
  free(words->token);
  free(words->line);
  *words = (struct ss_words){0};
}

struct frequency {
  uint64_t count;
  uint32_t word;
};

static int compare_frequencies(const void *a, const void *b) {
  const struct frequency *x = a, *y = b;
  if (x->count != y->count) return x->count > y->count ? -1 : 1;
  return x->word < y->word ? -1 : 1;
}

bool ss_words_rank(const struct ss_words *words, uint64_t rows, uint32_t *ids) {
  SS_AUTO_FREE struct frequency *frequency = ss_alloc(words->distinct, sizeof *frequency);
  if (!frequency) return false;
  for (uint32_t i = 0; i < words->distinct; i++) frequency[i] = (struct frequency){0, i};
  for (uint64_t i = 0; i < words->tokens; i++) frequency[words->token[i]].count++;
  qsort(frequency, words->distinct, sizeof *frequency, compare_frequencies);
  for (uint64_t place = 0; place < words->distinct; place++)
    ids[frequency[place].word] = place + 2 < rows ? (uint32_t)(place + 2) : 1;
  return true;
}
