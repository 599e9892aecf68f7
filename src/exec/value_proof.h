/* A proof of schemes that aggregate values and do not apply all of them at once.
 *
 * Values travel as floats, so they are made coarse: whole numbers small enough that every sum of them is exact. Then
 * MPI's own all-reduce of dense tensors says whether what ranks had (gradient and old residual) is what they applied
 * and what they keep; all ranks must end with the same; and rank 0 with what it simulated. */
#ifndef SS_EXEC_VALUE_PROOF_H
#define SS_EXEC_VALUE_PROOF_H

#include "exec/communicator.h"
#include "schemes/simulate.h"

/* How coarse: units become marks / 2^shift, rounded to even. */
struct ss_grain {
  bool known;
  int shift;
};

/* The input with coarse values. The grain is chosen by the first: its largest magnitude becomes at most 2^11. Arrays
 * are `arena`'s. */
bool ss_coarse_input(const struct ss_input *input, struct ss_grain *grain, struct ss_arena *arena,
                     struct ss_input *out, struct ss_error *error) SS_MUST_CHECK;

/* Collective. `mass` has what this process's ranks had (ss_mass_open before the run); `final` is what its rank ended
 * with. Says in `why`, and returns in *good, whether all is as it should be; the same everywhere but for the words.
 */
bool ss_values_prove(const struct ss_communicator *comm, const struct ss_setting *setting, struct ss_mass *mass,
                     const struct ss_final *final, const struct ss_state *memory, bool *good, char why[160],
                     struct ss_error *error) SS_MUST_CHECK;

/* Same values; entries of zero do not count, as a dense image loses them. */
bool ss_values_equal(const struct ss_final *a, const struct ss_final *b);

#endif
