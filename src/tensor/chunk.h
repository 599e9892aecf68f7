/* Chunks: the payloads that schemes move. A part of one rank's gradient, or of a sum of several.
 *
 * A chunk is a view: a small value that shares immutable arrays by reference; whoever made the arrays (an arena)
 * owns them. It can be as little as a count (when sizes are all that is asked), and as much as rows, a 64-bit integer
 * for each, its mark, and floats. The kind of the chunk says what its marks are.
 *
 * Proofs: what rank r contributes to row i is the integer ss_contribution(r, i, 0). They are summed mod 2^64, so any
 * order gives the same bits, and a lost, doubled or swapped row shows. */
#pragma once

#include "base/error.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/random.h"

#include <stdint.h>

enum ss_chunk_kind {
  SS_CHUNK_BARE,          /* no marks: rows and floats alone, or only a count */
  SS_CHUNK_CONTRIBUTIONS, /* the mark of each row is what rank `author` contributes to it, which needs no memory */
  SS_CHUNK_PROOFS,        /* proof integers: of rows or, in a dense chunk, of `count` even shares of its rows */
  SS_CHUNK_VALUES,        /* the value of each row, in units of 2^-20 */
  SS_CHUNK_NUMBERS,       /* dense: one number for each row, such as the boundaries that ranks agree on */
  SS_CHUNK_SKETCH         /* dense: high - low buckets of a count-sketch, then the bytes of a bitmap */
};

struct ss_chunk {
  const uint32_t *rows; /* [count] ascending; equal neighbours only where a scheme sends uncoalesced rows. NULL for a
                           dense chunk, or when only the count is known */
  union {               /* [count]; NULL: not stored */
    const uint64_t *marks; /* of any kind, for what only moves, compares or adds them */
    const uint64_t *proofs;
    const int64_t *units;
    const uint64_t *numbers;
    const int64_t *sketch;
  };
  const float *values; /* element c of entry i is values[i * stride + c], c < width; NULL in simulation */
  uint64_t count;      /* entries: rows, or the proof units of a dense chunk */
  uint64_t low, high;  /* the rows it covers: [low, high) */
  uint32_t width;      /* elements of each row that this chunk carries (a slice of columns carries fewer) */
  uint32_t stride;
  uint32_t origin; /* the rank that sends it first, and */
  uint32_t part;   /* which part of its tensor it is: receivers check both */
  uint32_t author; /* the rank that contributes every entry of SS_CHUNK_CONTRIBUTIONS; else 0 */
  enum ss_chunk_kind kind;
  bool distinct; /* it is known that no row comes twice */
  bool dense;    /* every row of [low, high) is there; `values`, if any, are by row, proofs by proof unit */
};

/* What rank `rank` contributes to row (or dense proof unit) `row`; `occurrence` counts the duplicates of a lookup. */
static inline uint64_t ss_contribution(uint32_t rank, uint64_t row, uint64_t occurrence) {
  return ss_mix(((uint64_t)rank << 32) | occurrence, row);
}

/* Every entry has a mark. */
static inline bool ss_chunk_marked(const struct ss_chunk *c) {
  return c->kind != SS_CHUNK_BARE || c->count == 0;
}
static inline uint64_t ss_chunk_mark(const struct ss_chunk *c, uint64_t entry) {
  return c->kind == SS_CHUNK_CONTRIBUTIONS ? ss_contribution(c->author, c->rows[entry], 0) : c->marks[entry];
}

/* The "rank" whose contributions stand for the parameters that lookups fetch. */
#define SS_PARAMETERS UINT32_MAX

/* The float in column `column` of a row with that contribution: a whole number of 1..16, so that sums of up to 2^20
 * ranks are exact in single precision, and never zero: a row that somebody contributed to shows in a dense tensor. */
static inline float ss_contribution_value(uint64_t mark, uint32_t column) {
  return (float)(ss_mix(mark, column) >> 60) + 1.0f;
}

/* Distinct elements out of [low, high) with their values: rows[count] ascending, units[count]. */
static inline struct ss_chunk ss_chunk_of_values(const uint32_t *rows, const int64_t *units, uint64_t count,
                                                 uint64_t low, uint64_t high) {
  return (struct ss_chunk){.rows = rows,
                           .units = units,
                           .count = count,
                           .low = low,
                           .high = high,
                           .width = 1,
                           .stride = 1,
                           .kind = SS_CHUNK_VALUES,
                           .distinct = true};
}

/* Entry range of the rows in [low, high), by binary search: *first and the count returned. `rows` is not NULL. */
uint64_t ss_chunk_find(const struct ss_chunk *chunk, uint64_t low, uint64_t high, uint64_t *first);
/* The view of `chunk` on rows [low, high). A chunk of counts only is taken to be spread evenly. */
struct ss_chunk ss_chunk_slice(const struct ss_chunk *chunk, uint64_t low, uint64_t high);
/* The view of entries [first, first + count). */
struct ss_chunk ss_chunk_entries(const struct ss_chunk *chunk, uint64_t first, uint64_t count);
/* The view on columns [first, first + width) of every row. */
struct ss_chunk ss_chunk_columns(const struct ss_chunk *chunk, uint32_t first, uint32_t width);

/* Same rows and same marks, or a dense chunk's same marks. Floats are not looked at. */
bool ss_chunk_equal(const struct ss_chunk *a, const struct ss_chunk *b);
/* Same arrays of entries. */
static inline bool ss_chunk_same_entries(const struct ss_chunk *a, const struct ss_chunk *b) {
  return a->rows == b->rows && a->marks == b->marks && a->values == b->values && a->count == b->count &&
         a->kind == b->kind && a->author == b->author;
}
/* And all else: true only if nobody replaced the payload on the way. */
static inline bool ss_chunk_same(const struct ss_chunk *a, const struct ss_chunk *b) {
  return ss_chunk_same_entries(a, b) && a->low == b->low && a->high == b->high && a->origin == b->origin &&
         a->part == b->part && a->width == b->width;
}

/* A list of row ids. */
struct ss_row_list {
  uint32_t *rows;
  uint64_t count;
};

/* Even shares, the rule everywhere: part j of n in p is [floor(j*n/p), floor((j+1)*n/p)). */
SS_DEVICE static inline uint64_t ss_share(uint64_t n, uint64_t p, uint64_t j) {
  if ((n | j) >> 32 == 0) return n * j / p; /* as nearly always: a wide division is a call */
  return (uint64_t)((unsigned __int128)n * j / p);
}

/* --- sums ----------------------------------------------------------------------------------------------- */

/* Working memory of sums, one per thread; a zeroed struct is empty. */
struct ss_sum_scratch {
  struct ss_arena arena;
};
void ss_sum_scratch_free(struct ss_sum_scratch *scratch);

/* Sparse chunks (all with rows) whose entries in [low, high) are to be added up. */
struct ss_operands {
  const struct ss_chunk *chunk;
  uint32_t count;
  uint64_t low, high;
};

/* The sum as one chunk over [low, high): the union of the rows, with what the operands have of each added up. Equal
 * rows inside one operand are added too. Floats are summed where every operand has them. Cost: linear in the entries;
 * long sums use all threads, and give the same whatever their number. The arrays are `arena`'s.
 *
 * Of rows alone, whatever else the operands have: */
bool ss_sum_rows(const struct ss_operands *operands, struct ss_arena *arena, struct ss_sum_scratch *scratch,
                 struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* Of values in units; the result has values. */
bool ss_sum_values(const struct ss_operands *operands, struct ss_arena *arena, struct ss_sum_scratch *scratch,
                   struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* For building blocks that carry any scheme's chunks: of what all operands with entries have. Contributions and
 * proofs make proofs. */
bool ss_chunk_sum(const struct ss_operands *operands, struct ss_arena *arena, struct ss_sum_scratch *scratch,
                  struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;

/* The sum of the squares of its values, in units. */
double ss_chunk_energy(const struct ss_chunk *chunk);

/* a + b for two dense chunks of the same range: marks where both have the same kind of them, floats where both have
 * some; the arrays are `arena`'s. */
bool ss_chunk_add_dense(const struct ss_chunk *a, const struct ss_chunk *b, struct ss_arena *arena,
                        struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
