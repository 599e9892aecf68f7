/* Runs of schemes over MPI as a table, JSON or CSV: measured times, traffic and proofs beside what was simulated. */
#pragma once

#include "exec/exec.h"
#include "report/flat.h"
#include "study/study.h"

/* What one point came to, over its iterations. */
struct ss_exec_point {
  const struct ss_point *point;
  uint64_t count;                  /* iterations */
  double *measured;                /* [count] s, ascending in the end, as is: */
  double *announced;               /* [count] s, of the runs in which ranks learn sizes */
  double predicted;                /* s, mean */
  double deviation;                /* s, of iterations from it */
  struct ss_components components; /* of `predicted` */
  double network;                  /* s, mean; the same where kernels took no time */
  uint32_t endpoints;
  struct ss_traffic *executed, *simulated;       /* [endpoints] B, over all iterations */
  struct ss_traffic executed_max, simulated_max; /* B, largest of the ranks' each iteration, over all iterations */
  uint64_t headers;
  double copies; /* s, between host and GPU, over all iterations */
  bool exact, equal, kernels_equal;
  struct ss_executed_kernel kernels[SS_KERNELS]; /* over all iterations */
  char mismatch[160];
};

/* What is printed: a JSON as docs/schemas/exec.schema.json has it; in CSV the fields of its points, without what each
 * endpoint sent and received. */
struct ss_exec_answer {
  const struct ss_exec_point *points; /* [count] */
  size_t count;
  const char *scenario;
  uint32_t ranks, repeats;
  bool gpu_buffers;
};

ss_printer ss_exec_table, ss_exec_json, ss_exec_csv;
/* SPDX-License-Identifier: Apache-2.0 */
