/* The sum of many sorted chunks, block by block.
 *
 * A block is 2^16 rows: its marks (512 KiB) stay in cache while every operand's entries in it are added, whatever
 * their number. Blocks that no operand touches are skipped by looking at the operands' next rows. */
#include "tensor/chunk.h"

#include <string.h>

enum { BLOCK = 1 << 16 };

struct accumulator {
  uint64_t *marks;   /* [span] zero between blocks, NULL when operands have none */
  uint64_t *present; /* [words] one bit a row, zero between blocks */
  uint64_t *ahead;   /* [words] rows present before this word */
};

struct sum {
  const struct ss_chunk *operands;
  uint32_t n;
  uint64_t *cursor; /* [n] next entry of each operand */
  struct accumulator block;
  uint32_t span, words; /* rows of a block, and its bitset's words: BLOCK, or the whole range when it is smaller */
  uint32_t *rows;
  uint64_t *marks;
  float *values;
  uint64_t count; /* entries written */
  uint32_t width;
};

void ss_sum_scratch_free(struct ss_sum_scratch *scratch) {
  ss_arena_free(&scratch->arena);
}

/* The lowest row that any operand still has to give. */
static bool next_row(const struct sum *s, uint32_t *row) {
  bool found = false;
  *row = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    const struct ss_chunk *c = &s->operands[i];
    if (s->cursor[i] == c->count) continue;
    uint32_t next = c->rows[s->cursor[i]];
    if (!found || next < *row) *row = next;
    found = true;
  }
  return found;
}

static void add_marks(struct sum *s, uint64_t base, uint64_t end, uint64_t *until) {
  for (uint32_t i = 0; i < s->n; i++) {
    const struct ss_chunk *c = &s->operands[i];
    uint64_t e = s->cursor[i];
    for (; e < c->count && c->rows[e] < end; e++) {
      uint32_t at = (uint32_t)(c->rows[e] - base);
      s->block.present[at / 64] |= UINT64_C(1) << (at % 64);
      if (s->block.marks) s->block.marks[at] += c->marks[e];
    }
    until[i] = e;
  }
}

/* Writes the block's rows and marks, and clears it. `ahead` is left for the values to find their place. */
static void flush_rows(struct sum *s, uint64_t base) {
  uint64_t n = s->count;
  for (uint32_t w = 0; w < s->words; w++) {
    uint64_t bits = s->block.present[w];
    s->block.ahead[w] = n;
    for (; bits; bits &= bits - 1, n++) {
      uint32_t at = w * 64 + (uint32_t)__builtin_ctzll(bits);
      s->rows[n] = (uint32_t)(base + at);
      if (!s->marks) continue;
      s->marks[n] = s->block.marks[at];
      s->block.marks[at] = 0;
    }
  }
  s->count = n;
}

static void add_values(struct sum *s, uint64_t base, uint64_t first, const uint64_t *until) {
  memset(s->values + first * s->width, 0, (s->count - first) * s->width * sizeof *s->values);
  for (uint32_t i = 0; i < s->n; i++) {
    const struct ss_chunk *c = &s->operands[i];
    for (uint64_t e = s->cursor[i]; e < until[i]; e++) {
      uint32_t at = (uint32_t)(c->rows[e] - base), w = at / 64;
      uint64_t below = s->block.present[w] & ((UINT64_C(1) << (at % 64)) - 1);
      float *sum = s->values + (s->block.ahead[w] + (uint64_t)__builtin_popcountll(below)) * s->width;
      const float *value = c->values + e * c->stride;
      for (uint32_t k = 0; k < s->width; k++) sum[k] += value[k];
    }
  }
}

static bool reserve(struct sum *s, uint64_t most, bool marks, bool values, struct ss_arena *arena,
                    struct ss_arena *scratch, uint64_t **until) {
  s->cursor = ss_arena_alloc(scratch, s->n, sizeof *s->cursor);
  *until = ss_arena_alloc(scratch, s->n, sizeof **until);
  s->block.present = ss_arena_alloc(scratch, s->words, sizeof *s->block.present);
  s->block.ahead = ss_arena_alloc(scratch, s->words, sizeof *s->block.ahead);
  s->rows = ss_arena_alloc(arena, most, sizeof *s->rows);
  if (!s->cursor || !*until || !s->block.present || !s->block.ahead || !s->rows) return false;
  memset(s->cursor, 0, s->n * sizeof *s->cursor);
  memset(s->block.present, 0, s->words * sizeof *s->block.present);
  if (marks) {
    s->block.marks = ss_arena_alloc(scratch, s->span, sizeof *s->block.marks);
    s->marks = ss_arena_alloc(arena, most, sizeof *s->marks);
    if (!s->block.marks || !s->marks) return false;
    memset(s->block.marks, 0, s->span * sizeof *s->block.marks);
  }
  if (values) {
    uint64_t size;
    if (!ss_mul_u64(most, s->width, &size)) return false;
    s->values = ss_arena_alloc(arena, size, sizeof *s->values);
  }
  return !values || s->values;
}

bool ss_chunk_sum(const struct ss_chunk *operands, uint32_t n, uint64_t low, uint64_t high, struct ss_arena *arena,
                  struct ss_sum_scratch *scratch, struct ss_chunk *out, struct ss_error *error) {
  struct sum s = {.operands = operands, .n = n, .width = n > 0 ? operands[0].width : 0};
  uint64_t entries = 0, *until = NULL;
  bool marks = n > 0, values = n > 0;
  for (uint32_t i = 0; i < n; i++) {
    entries += operands[i].count;
    marks = marks && (operands[i].marks || operands[i].count == 0);
    values = values && (operands[i].values || operands[i].count == 0);
  }
  values = values && entries > 0;
  uint64_t most = entries < high - low ? entries : high - low;
  s.span = high - low < BLOCK ? (uint32_t)(high - low) : BLOCK;
  s.words = s.span / 64 + 1;
  if (s.span == 0) s.span = 1; /* an empty range: nothing comes */
  ss_arena_reset(&scratch->arena);
  if (!reserve(&s, most, marks, values, arena, &scratch->arena, &until))
    return ss_fail_memory(error, "summing sparse gradients");

  for (uint32_t row; next_row(&s, &row);) {
    uint64_t base = row - (row - low) % s.span, first = s.count;
    add_marks(&s, base, base + s.span, until);
    flush_rows(&s, base);
    if (values) add_values(&s, base, first, until);
    memset(s.block.present, 0, s.words * sizeof *s.block.present);
    memcpy(s.cursor, until, n * sizeof *until);
  }
  *out = (struct ss_chunk){.rows = s.rows,
                           .marks = s.marks,
                           .values = s.values,
                           .count = s.count,
                           .low = low,
                           .high = high,
                           .width = s.width,
                           .stride = s.width};
  return true;
}
