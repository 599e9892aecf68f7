/* A proof by values: every rank's gradient as a dense tensor, summed by MPI's own all-reduce, held against what a
 * scheme's ranks end with. Contributions are small whole numbers, so sums are exact and the comparison is bitwise. */
#ifndef SS_EXEC_DENSE_PROOF_H
#define SS_EXEC_DENSE_PROOF_H

#include "exec/communicator.h"
#include "schemes/proof.h"

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

#endif
