/* Hashing rows to parts: ZEN's h0 and what is built on it.
 *
 * ZEN's hierarchical hashing (Algorithm 1) does two things: h0 says which partition a row belongs to, on every rank
 * the same, and h1..hk find a slot in that partition's memory, so that thousands of GPU threads can write without
 * agreeing. Only the first has a meaning for the traffic; ss_hash_partition does it, stably. The second is a kernel
 * whose memory, probes and losses can be looked at: ss_hash_hierarchical, and ss_hash_lossy, the strawman
 * (Algorithm 3) that it is held against.
 *
 * Rows are distinct; every result is the same at any number of threads. */
#pragma once

#include "tensor/hash_row.h"

/* ZEN's h0: the part, of `parts` > 0, that a row belongs to. */
static inline uint32_t ss_hash_part(uint64_t row, uint64_t seed, uint32_t parts) {
  return (uint32_t)ss_below(ss_hash_row(row, seed), parts);
}

/* More parts than there can be ranks with a list of rows each; the kernels below refuse more. */
enum { SS_HASH_PARTS = 1 << 16 };

/* Distinct rows to be hashed. */
struct ss_hash_input {
  const uint32_t *rows;  /* [count] */
  const uint64_t *marks; /* [count] what goes with each row; NULL: nothing */
  uint64_t count;
  const float *values; /* [count][stride] of which `width` go with each row, too; NULL: none */
  uint64_t width, stride;
};

/* Rows part after part: part p is entries [offsets[p], offsets[p + 1]). The arrays are the caller's and overlap no
 * inputs. */
struct ss_hash_output {
  uint32_t *rows;    /* [count] */
  uint64_t *marks;   /* [count], or NULL where the input has none */
  uint64_t *offsets; /* [parts + 1] */
  float *values;     /* [count][width], likewise */
};

/* The rows by their part, each part in the order of the input. */
bool ss_hash_partition(const struct ss_hash_input *in, uint64_t seed, uint32_t parts,
                       const struct ss_hash_output *out, struct ss_error *error) SS_MUST_CHECK;

/* How many of the rows [low, high) each part has, into sizes[parts]. */
bool ss_hash_sizes(uint64_t low, uint64_t high, uint64_t seed, uint32_t parts, uint64_t *sizes,
                   struct ss_error *error) SS_MUST_CHECK;

/* --- ZEN's Algorithm 1 ------------------------------------------------------------------------------------- */

enum { SS_HASH_PROBES = 8 };

/* Algorithm 1's parameters. The memories are totals, shared evenly over the partitions: ZEN's pseudocode makes them
 * per partition, its section 5.2 and its "< 150 MB" need totals. */
struct ss_hash_memory {
  uint64_t seed;           /* of h0; h_i has seed + i */
  uint32_t parts;          /* n */
  uint32_t probes;         /* k, at most SS_HASH_PROBES; ZEN takes 3 */
  uint64_t parallel_slots; /* r1 */
  uint64_t serial_slots;   /* r2 */
};

/* ZEN's setting for `count` rows: r1 = 2 count, r2 = r1/10, three probes; seed 1. */
struct ss_hash_memory ss_hash_memory_zen(uint32_t parts, uint64_t count);
/* B: indices are read and written, and the memory is cleared and read once. */
uint64_t ss_hash_hierarchical_bytes(const struct ss_hash_memory *memory, uint64_t count);

struct ss_hash_tally {
  uint64_t placed[SS_HASH_PROBES]; /* rows that found room at the first, second, ... probe */
  uint64_t serial;                 /* rows that found none and went to serial memory */
  uint64_t serial_fullest;         /* of them, in the fullest partition */
};

/* Algorithm 1 on rows below UINT32_MAX (an id is stored as row + 1, so that 0 is an empty slot); each part comes in
 * the order of its memory. Marks are not looked at. No row is lost: a serial memory that would overflow is an
 * SS_BAD_INPUT error that says what it had room for. */
bool ss_hash_hierarchical(const struct ss_hash_memory *memory, const struct ss_hash_input *in,
                          const struct ss_hash_output *out, struct ss_hash_tally *tally,
                          struct ss_error *error) SS_MUST_CHECK;

/* Algorithm 3 on rows below UINT32_MAX: one hash, h0, into memory->parallel_slots slots of each part, the last to
 * come overwrites. What survives comes part by part in the order of the memory; the rest is lost. Marks are not
 * looked at, nor is the rest of `memory`. */
bool ss_hash_lossy(const struct ss_hash_memory *memory, const struct ss_hash_input *in,
                   const struct ss_hash_output *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
