/* Uniform tensors, the idealisation that closed forms describe: every rank has the same number of non-zero rows, and
 * so has every even partition whose number of parts divides the tensor's rows and its non-zero rows. */
#pragma once

#include "base/base.h"

/* Whether ranks have the same rows, no rows in common, or rows drawn at random from the seed. */
extern const char *const ss_overlap_names[]; /* by enum ss_overlap; ends with NULL */
enum ss_overlap { SS_OVERLAP_FULL, SS_OVERLAP_NONE, SS_OVERLAP_RANDOM };

struct ss_uniform {
  uint64_t rows, nnz;          /* of the tensor; of one rank */
  uint32_t width, value_bytes; /* elements of a row; bytes of an element */
  enum ss_overlap overlap;
  uint64_t seed;
};

/* Sets `nnz` to density * rows; the caller has set all other fields. A density outside (0, 1], or one that makes no
 * whole number of rows, is an SS_BAD_INPUT error that names the next number of rows that would do. */
bool ss_uniform_make(double density, struct ss_uniform *uniform, struct ss_error *error) SS_MUST_CHECK;
/* The least number of rows, from `rows` on, that `parts` divides and of which `density` is a whole number that
 * `parts` divides too; 0 when none is near. */
uint64_t ss_uniform_rows(uint64_t rows, double density, uint64_t parts);
/* Checks that `parts` divides rows and nnz, and that `ranks` ranks without overlap find enough rows. */
bool ss_uniform_divides(const struct ss_uniform *uniform, uint64_t parts, uint32_t ranks,
                        struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
