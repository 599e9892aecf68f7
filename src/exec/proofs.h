/* Proofs of an execution: sums and messages over MPI, held against MPI's own sum and against the simulation. */
#pragma once

#include "exec/communicator.h"
#include "schemes/simulate.h"

/* --- by sums --------------------------------------------------------------------------------------------------- */

/* A proof by values: every rank's gradient as a dense tensor, summed by MPI's own all-reduce, held against what a
 * scheme's ranks end with. Contributions are small whole numbers, so sums are exact and the comparison is bitwise. */
struct ss_dense_proof {
  struct ss_proof proof; /* first: a proof is the dense proof it stands in */
  const struct ss_input *input;
  uint64_t rows;
  uint32_t width;
  float *sum;       /* [rows * width] */
  uint64_t covered; /* elements of the sum that were reported whole, zeros included */
  uint64_t listed;  /* rows reported as only a part of the sum, and looked-up rows */
};

/* Makes the tensor of this process's own gradient, `own`, coalesced or not, with values. The input outlives
 * the proof. */
bool ss_dense_proof_open(struct ss_dense_proof *proof, const struct ss_input *input, const struct ss_chunk *own,
                         struct ss_error *error) SS_MUST_CHECK;
/* Collective: sums it over all processes. */
bool ss_dense_proof_sum(struct ss_dense_proof *proof, struct ss_error *error) SS_MUST_CHECK;
void ss_dense_proof_close(struct ss_dense_proof *proof);

/* --- by values ------------------------------------------------------------------------------------------------- */

/* A proof of schemes that aggregate values and do not apply all of them at once.
 *
 * Values travel as floats, so they are made coarse: whole numbers small enough that every sum of them is exact. Then
 * MPI's own all-reduce of dense tensors says whether what ranks had (gradient and old residual) is what they applied
 * and what they keep; all ranks must end with the same; and rank 0 with what it simulated. */

/* How coarse: units become marks / 2^shift, rounded to even. */
struct ss_grain {
  bool known;
  int shift;
};

/* The input with coarse values. The grain is chosen by the first: its largest magnitude becomes at most 2^11. Arrays
 * are `arena`'s. */
bool ss_coarse_input(const struct ss_input *input, struct ss_grain *grain, struct ss_arena *arena,
                     struct ss_input *out, struct ss_error *error) SS_MUST_CHECK;

struct ss_value_proof {
  const struct ss_communicator *comm;
  const struct ss_setting *setting;
  struct ss_mass *mass;          /* what this process's ranks had: ss_mass_open before the run */
  const struct ss_final *final;  /* what its rank ended with */
  const struct ss_state *memory; /* and keeps */
  /* the result: */
  bool good;     /* all is as it should be; the same in all processes */
  char why[160]; /* why not good, as this process sees it */
};
/* Collective: fills in the result. */
bool ss_values_prove(struct ss_value_proof *proof, struct ss_error *error) SS_MUST_CHECK;

/* Same values; entries of zero do not count, as a dense image loses them. */
bool ss_values_equal(const struct ss_final *a, const struct ss_final *b);
/* SPDX-License-Identifier: Apache-2.0 */
