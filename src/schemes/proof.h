/* Proofs: what ranks end with is held against the sum over ranks, computed another way. */
#pragma once

#include "schemes/input.h"
#include "schemes/scheme.h"
#include "sim/state.h"

struct ss_outcome; /* schemes/simulate.h */

/* Each says whether what a rank ends with is right. */
struct ss_proof {
  /* `chunk` is what a rank holds of the summed rows [chunk->low, chunk->high), columns from `column` on. With `only`
   * it must hold exactly those rows; else every row of the range that any rank contributed to. */
  bool (*sparse)(struct ss_proof *proof, const struct ss_chunk *chunk, uint32_t column, const struct ss_chunk *only);
  /* A summed part of a dense tensor of `units` proof units. */
  bool (*dense)(struct ss_proof *proof, const struct ss_chunk *chunk, uint32_t units);
  /* Looked-up parameters, where chunks have floats: columns from `column` on of the rows that the chunk lists. NULL:
   * they have none. */
  bool (*parameters)(struct ss_proof *proof, const struct ss_chunk *chunk, uint32_t column);
  /* `chunk` is what a rank holds of its bags of a table, by their numbers (struct ss_bagged), columns from `column`
   * on: sums of looked-up parameters, of every bag that has a row. NULL: nobody pools. */
  bool (*pooled)(struct ss_proof *proof, uint32_t rank, uint32_t table, const struct ss_chunk *chunk,
                 uint32_t column);
  bool starved; /* memory was short: nothing was proven */
};

/* The brute-force sum over ranks, by marks. Made from the input alone, row by row. */
bool ss_reference_open(const struct ss_setting *setting, const struct ss_input *input, struct ss_proof **out,
                       struct ss_error *error) SS_MUST_CHECK;
void ss_reference_close(struct ss_proof *proof);

/* What values ranks had, and what became of them: the proof of schemes that do not apply all at once. Sums over
 * ranks, element by element into a table as long as the tensor: the obvious way. */
struct ss_mass {
  uint64_t rows;
  uint64_t *had; /* [rows] gradient and old residual, in units */
};

/* What the first rank ended with, of a scheme that aggregates values. */
struct ss_final {
  struct ss_chunk chunk;
  double grain; /* what its marks count: units, or halves of them where estimates are means */
};

/* `own` and the state's residuals, before the run. Close also after a failed open. */
bool ss_mass_open(struct ss_mass *mass, uint64_t rows, const struct ss_chunk *own, const struct ss_state *state,
                  struct ss_error *error) SS_MUST_CHECK;
/* Takes away what was applied (`final`; NULL: nothing) and what ranks keep. What is left is lost, or came from
 * nowhere. */
void ss_mass_settle(struct ss_mass *mass, const struct ss_chunk *final, const struct ss_state *state);
/* Sets energies, errors and, where the scheme says that it conserves what ranks had, `sound`. */
void ss_mass_judge(struct ss_mass *mass, const struct ss_setting *setting, const struct ss_final *final,
                   const struct ss_state *state, struct ss_outcome *out);
void ss_mass_close(struct ss_mass *mass);
/* SPDX-License-Identifier: Apache-2.0 */
