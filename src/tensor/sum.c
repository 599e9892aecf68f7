/* The sum of many sorted chunks, strip by strip and block by block.
 *
 * A strip is an even share of the rows, summed by one thread; there is a fixed number of them in a long sum, so that
 * threads change nothing. Two operands are merged. More are added up block by block: a block is 2^16 rows, whose
 * marks (512 KiB) stay in cache while every operand's entries in it are added, whatever their number. Blocks that no
 * operand touches are skipped by looking at the operands' next rows. */
#include "tensor/chunk.h"
#include "tensor/kernel.h"
#include "tensor/summer.h"

#include <string.h>

enum { BLOCK = 1 << 16, STRIPS = 16, LONG = 1 << 20 };

_Thread_local struct ss_summer *ss_summer;

/* Working arrays of one strip. */
struct accumulator {
  uint64_t *marks;   /* [span] zero between blocks, NULL when none are wanted */
  uint64_t *present; /* [words] one bit a row, zero between blocks */
  uint64_t *ahead;   /* [words] rows present before this word */
  uint64_t *cursor;  /* [n] next entry of each operand */
  uint64_t *until;   /* [n] its last entry in the block */
  uint64_t *end;     /* [n] its last entry in the strip */
};

struct sum {
  const struct ss_chunk *operands;
  uint32_t n, width;
  uint64_t low, high;
  enum ss_chunk_kind kind; /* of the result */
  bool floats;             /* which all operands have */
  uint32_t span, words;    /* rows of a block, and its bitset's words: BLOCK, or the whole range when it is smaller */
  /* the result's arrays; a strip writes from its own index on */
  uint32_t *rows;
  uint64_t *marks;
  float *values;
};

struct strip {
  uint64_t low, high;
  uint64_t begin, count; /* where its entries begin in the result's arrays, and how many came */
  struct accumulator block;
};

void ss_sum_scratch_free(struct ss_sum_scratch *scratch) {
  ss_arena_free(&scratch->arena);
}

/* The lowest row that any operand still has to give. */
static bool next_row(const struct sum *s, const struct accumulator *a, uint32_t *row) {
  bool found = false;
  *row = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    if (a->cursor[i] == a->end[i]) continue;
    uint32_t next = s->operands[i].rows[a->cursor[i]];
    if (!found || next < *row) *row = next;
    found = true;
  }
  return found;
}

/* Adds entry e of a chunk to the block, its marks taken as that kind. */
static inline __attribute__((always_inline)) void add_entry(const struct accumulator *a, const struct ss_chunk *c,
                                                            uint64_t e, uint64_t base, enum ss_chunk_kind kind) {
  const uint32_t at = (uint32_t)(c->rows[e] - base);
  a->present[at / 64] |= UINT64_C(1) << (at % 64);
  if (kind == SS_CHUNK_CONTRIBUTIONS) a->marks[at] += ss_contribution(c->author, c->rows[e], 0);
  else if (kind != SS_CHUNK_BARE) a->marks[at] += c->marks[e];
}

/* Adds operand i's entries of the block [base, limit); returns the first that is behind it. Neighbours share a word
 * of the bitset, and each would wait until the one before is stored: four runs of them take turns, unless they are so
 * few that looking for the last takes longer. */
static inline __attribute__((always_inline)) uint64_t add_entries(const struct accumulator *a,
                                                                  const struct ss_chunk *c, uint32_t i, uint64_t base,
                                                                  uint64_t limit, enum ss_chunk_kind kind) {
  enum { RUNS = 4, FEW = 16 };
  const uint64_t first = a->cursor[i], end = a->end[i];
  if (end - first <= FEW || c->rows[first + FEW] >= limit) {
    uint64_t e = first;
    for (; e < end && c->rows[e] < limit; e++) add_entry(a, c, e, base, kind);
    return e;
  }
  const uint64_t count = ss_lower_bound(c->rows + first, end - first, limit), run = count / RUNS;
  for (uint64_t e = first; e < first + run; e++)
    for (uint64_t r = 0; r < RUNS; r++) add_entry(a, c, e + r * run, base, kind);
  for (uint64_t e = first + RUNS * run; e < first + count; e++) add_entry(a, c, e, base, kind);
  return first + count;
}

static void add_operands(const struct sum *s, struct accumulator *a, uint64_t base, uint64_t limit) {
  for (uint32_t i = 0; i < s->n; i++) {
    const struct ss_chunk *c = &s->operands[i];
    if (!a->marks) a->until[i] = add_entries(a, c, i, base, limit, SS_CHUNK_BARE);
    else if (c->kind == SS_CHUNK_CONTRIBUTIONS)
      a->until[i] = add_entries(a, c, i, base, limit, SS_CHUNK_CONTRIBUTIONS);
    else a->until[i] = add_entries(a, c, i, base, limit, SS_CHUNK_PROOFS);
  }
}

/* Writes the block's rows and, when it has them, marks, and clears it. `ahead` is left for the floats to find their
 * place. */
static inline __attribute__((always_inline)) void flush(const struct sum *s, struct strip *strip, uint64_t base,
                                                        bool marks) {
  struct accumulator *a = &strip->block;
  uint64_t n = strip->begin + strip->count;
  for (uint32_t w = 0; w < s->words; w++) {
    uint64_t bits = a->present[w];
    a->ahead[w] = n;
    for (; bits; bits &= bits - 1, n++) {
      uint32_t at = w * 64 + (uint32_t)__builtin_ctzll(bits);
      s->rows[n] = (uint32_t)(base + at);
      if (!marks) continue;
      s->marks[n] = a->marks[at];
      a->marks[at] = 0;
    }
  }
  strip->count = n - strip->begin;
}

static inline __attribute__((always_inline)) void add_floats(const struct sum *s, const struct strip *strip,
                                                             uint64_t base, uint64_t first) {
  const struct accumulator *a = &strip->block;
  uint64_t n = strip->begin + strip->count - first;
  memset(s->values + first * s->width, 0, n * s->width * sizeof *s->values);
  for (uint32_t i = 0; i < s->n; i++) {
    const struct ss_chunk *c = &s->operands[i];
    for (uint64_t e = a->cursor[i]; e < a->until[i]; e++) {
      uint32_t at = (uint32_t)(c->rows[e] - base), w = at / 64;
      uint64_t below = a->present[w] & ((UINT64_C(1) << (at % 64)) - 1);
      float *sum = s->values + (a->ahead[w] + (uint64_t)__builtin_popcountll(below)) * s->width;
      const float *value = c->values + e * c->stride;
      for (uint32_t k = 0; k < s->width; k++) sum[k] += value[k];
    }
  }
}

/* Counting bits is one instruction where the processor has it, which x86-64 does not promise, and else a call. */
#ifdef __x86_64__
__attribute__((target("popcnt"))) static void add_floats_popcnt(const struct sum *s, const struct strip *strip,
                                                                uint64_t base, uint64_t first) {
  add_floats(s, strip, base, first);
}

static void add_values(const struct sum *s, const struct strip *strip, uint64_t base, uint64_t first) {
  if (__builtin_cpu_supports("popcnt")) add_floats_popcnt(s, strip, base, first);
  else add_floats(s, strip, base, first);
}
#else
static void add_values(const struct sum *s, const struct strip *strip, uint64_t base, uint64_t first) {
  add_floats(s, strip, base, first);
}
#endif

static void sum_blocks(const struct sum *s, struct strip *strip) {
  struct accumulator *a = &strip->block;
  for (uint32_t row; next_row(s, a, &row);) {
    uint64_t base = row - (row - strip->low) % s->span, limit = base + s->span;
    uint64_t first = strip->begin + strip->count;
    add_operands(s, a, base, limit < strip->high ? limit : strip->high);
    if (s->marks) flush(s, strip, base, true);
    else flush(s, strip, base, false);
    if (s->values) add_values(s, strip, base, first);
    memset(a->present, 0, s->words * sizeof *a->present);
    memcpy(a->cursor, a->until, s->n * sizeof *a->until);
  }
}

static uint64_t stored_mark(const struct ss_chunk *c, uint64_t entry) {
  return c->marks[entry];
}

/* Two lists of distinct rows, without floats; mark(c, i) is the mark of an entry, and NULL where there are none. */
static inline __attribute__((always_inline)) void merge(const struct sum *s, struct strip *strip,
                                                        uint64_t (*mark)(const struct ss_chunk *, uint64_t)) {
  const struct accumulator *block = &strip->block;
  const struct ss_chunk *a = &s->operands[0], *b = &s->operands[1];
  uint64_t i = block->cursor[0], j = block->cursor[1], n = strip->begin;
  const uint64_t last_i = block->end[0], last_j = block->end[1];
  while (i < last_i && j < last_j) {
    const uint32_t x = a->rows[i], y = b->rows[j];
    const bool from_a = x <= y, from_b = y <= x;
    s->rows[n] = from_a ? x : y;
    if (mark) s->marks[n] = (from_a ? mark(a, i) : 0) + (from_b ? mark(b, j) : 0);
    i += from_a;
    j += from_b;
    n++;
  }
  const struct ss_chunk *rest = i < last_i ? a : b;
  const uint64_t last = i < last_i ? last_i : last_j;
  for (uint64_t e = i < last_i ? i : j; e < last; e++, n++) {
    s->rows[n] = rest->rows[e];
    if (mark) s->marks[n] = mark(rest, e);
  }
  strip->count = n - strip->begin;
}

static void merge_two(const struct sum *s, struct strip *strip) {
  const struct ss_chunk *a = &s->operands[0], *b = &s->operands[1];
  if (!s->marks) merge(s, strip, NULL);
  else if (a->kind == SS_CHUNK_CONTRIBUTIONS || b->kind == SS_CHUNK_CONTRIBUTIONS) merge(s, strip, ss_chunk_mark);
  else merge(s, strip, stored_mark);
}

static bool distinct(const struct ss_chunk *c) {
  return c->kind == SS_CHUNK_CONTRIBUTIONS || c->distinct;
}

static bool reserve_block(const struct sum *s, bool blocks, struct accumulator *a, struct ss_arena *scratch) {
  if (!ss_take(scratch, a->cursor, s->n) || !ss_take(scratch, a->until, s->n) || !ss_take(scratch, a->end, s->n))
    return false;
  if (!blocks) return true;
  if (!ss_take_zero(scratch, a->present, s->words) || !ss_take(scratch, a->ahead, s->words)) return false;
  if (s->kind == SS_CHUNK_BARE) return true;
  a->marks = ss_arena_zero(scratch, s->span, sizeof *a->marks);
  return a->marks != NULL;
}

/* Cuts the range in `strips`, and finds every operand's entries in each. Returns how many entries may come, or false
 * when memory is short. */
static bool cut(const struct sum *s, struct strip *strip, uint32_t strips, bool blocks, struct ss_arena *scratch,
                uint64_t *most) {
  *most = 0;
  for (uint32_t k = 0; k < strips; k++) {
    uint64_t entries = 0;
    strip[k] = (struct strip){.low = s->low + ss_share(s->high - s->low, strips, k),
                              .high = s->low + ss_share(s->high - s->low, strips, k + 1),
                              .begin = *most};
    if (!reserve_block(s, blocks, &strip[k].block, scratch)) return false;
    for (uint32_t i = 0; i < s->n; i++) {
      uint64_t count = 0, *first = &strip[k].block.cursor[i];
      *first = 0;
      if (s->operands[i].count > 0) count = ss_chunk_find(&s->operands[i], strip[k].low, strip[k].high, first);
      strip[k].block.end[i] = *first + count;
      entries += count;
    }
    *most += entries < strip[k].high - strip[k].low ? entries : strip[k].high - strip[k].low;
  }
  return true;
}

static bool reserve_result(struct sum *s, uint64_t most, struct ss_arena *arena) {
  const bool marks = s->kind != SS_CHUNK_BARE;
  uint64_t size;
  if (!ss_take(arena, s->rows, most) || (marks && !ss_take(arena, s->marks, most))) return false;
  if (!s->floats) return true;
  if (!ss_mul_u64(most, s->width, &size)) return false;
  s->values = ss_arena_alloc(arena, size, sizeof *s->values);
  return s->values != NULL;
}

/* Closes the gaps between strips; returns how many entries there are. */
static uint64_t close_up(const struct sum *s, const struct strip *strip, uint32_t strips) {
  uint64_t n = strip[0].count;
  for (uint32_t k = 1; k < strips; n += strip[k++].count) {
    uint64_t from = strip[k].begin, count = strip[k].count;
    if (from == n) continue;
    memmove(s->rows + n, s->rows + from, count * sizeof *s->rows);
    if (s->marks) memmove(s->marks + n, s->marks + from, count * sizeof *s->marks);
    if (s->values)
      memmove(s->values + n * s->width, s->values + from * s->width, count * s->width * sizeof *s->values);
  }
  return n;
}

static uint64_t count_entries(struct sum *s) {
  uint64_t entries = 0;
  s->floats = true;
  for (uint32_t i = 0; i < s->n; i++) {
    const struct ss_chunk *c = &s->operands[i];
    entries += c->count;
    s->floats = s->floats && (c->values || c->count == 0);
  }
  s->floats = s->floats && entries > 0;
  return entries;
}

static void sum_strip(const struct sum *s, struct strip *strip, bool two) {
  if (two) merge_two(s, strip);
  else sum_blocks(s, strip);
}

/* One strip begins no parallel region: even one of a single thread calls the kernel at its end, to wake nobody, and
 * most sums are shorter than that takes. */
static void sum_strips(const struct sum *s, struct strip *strip, uint32_t strips, bool two) {
  if (strips == 1) {
    sum_strip(s, strip, two);
    return;
  }
#pragma omp parallel for schedule(dynamic, 1)
  for (uint32_t k = 0; k < strips; k++) sum_strip(s, &strip[k], two);
}

static bool sum(const struct ss_operands *of, enum ss_chunk_kind kind, struct ss_arena *arena,
                struct ss_sum_scratch *scratch, struct ss_chunk *out, struct ss_error *error) {
  struct sum s = {.operands = of->chunk, .n = of->count, .low = of->low, .high = of->high, .kind = kind};
  struct strip strip[STRIPS];
  SS_KERNEL_TIMED_IF(of->count > 1, SS_KERNEL_MERGE_SUM);
  uint64_t entries = count_entries(&s), most;
  uint32_t strips = entries >= LONG ? STRIPS : 1;
  bool two = s.n == 2 && !s.floats && distinct(&s.operands[0]) && distinct(&s.operands[1]);
  uint64_t range = (s.high - s.low + strips - 1) / strips;
  s.width = s.n > 0 ? s.operands[0].width : 0;
  s.span = range < BLOCK ? (uint32_t)range : BLOCK;
  s.words = s.span / 64 + 1;
  if (s.span == 0) s.span = 1; /* an empty range: nothing comes */
  if (s.n > 1) ss_kernel_ran(SS_KERNEL_MERGE_SUM, entries);
  if (ss_summer && s.n > 1 && entries > 0 && (s.floats || kind == SS_CHUNK_VALUES) &&
      ss_summer->takes(ss_summer, of, kind))
    return ss_summer->sparse(ss_summer, of, kind, arena, out, error);
  ss_arena_reset(&scratch->arena);
  if (!cut(&s, strip, strips, !two, &scratch->arena, &most) || !reserve_result(&s, most, arena))
    return ss_fail_memory(error, "summing sparse gradients");
  sum_strips(&s, strip, strips, two);
  *out = (struct ss_chunk){.rows = s.rows,
                           .marks = s.marks,
                           .values = s.values,
                           .count = close_up(&s, strip, strips),
                           .low = s.low,
                           .high = s.high,
                           .width = s.width,
                           .stride = s.width,
                           .kind = kind,
                           .distinct = true};
  return true;
}

bool ss_sum_rows(const struct ss_operands *operands, struct ss_arena *arena, struct ss_sum_scratch *scratch,
                 struct ss_chunk *out, struct ss_error *error) {
  return sum(operands, SS_CHUNK_BARE, arena, scratch, out, error);
}

bool ss_sum_values(const struct ss_operands *operands, struct ss_arena *arena, struct ss_sum_scratch *scratch,
                   struct ss_chunk *out, struct ss_error *error) {
  return sum(operands, SS_CHUNK_VALUES, arena, scratch, out, error);
}

/* What sums of a chunk are. */
static enum ss_chunk_kind summed_kind(const struct ss_chunk *c) {
  return c->kind == SS_CHUNK_CONTRIBUTIONS ? SS_CHUNK_PROOFS : c->kind;
}

bool ss_chunk_sum(const struct ss_operands *operands, struct ss_arena *arena, struct ss_sum_scratch *scratch,
                  struct ss_chunk *out, struct ss_error *error) {
  enum ss_chunk_kind kind = SS_CHUNK_BARE;
  bool any = false, alike = true;
  for (uint32_t i = 0; i < operands->count; i++) {
    const struct ss_chunk *c = &operands->chunk[i];
    if (any && c->count > 0) alike = alike && summed_kind(c) == kind;
    else if (c->count > 0 || kind == SS_CHUNK_BARE) kind = summed_kind(c);
    any = any || c->count > 0;
  }
  return sum(operands, alike ? kind : SS_CHUNK_BARE, arena, scratch, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
