/* One synchronisation of one tensor, executed by the processes of mpirun and held against its simulation.
 *
 * The scheme's own source runs in every process on the MPI player, where it holds the values of one rank only, and
 * what it ends with is compared bit by bit with MPI's all-reduce of the dense tensor (schemes of values:
 * proofs.h). Rank 0 simulates the same, as `sparsync run` would, but for values being coarse. All functions are
 * collective, and all processes get the same result. */
#pragma once

#include "exec/proofs.h"
#include "machine/uncertainty.h"

/* What one endpoint sent and received: payload bytes, headers excluded. */
struct ss_traffic {
  uint64_t sent, received;
};

/* A kernel, as it was run. */
struct ss_executed_kernel {
  uint64_t calls, elements; /* of all processes */
  uint64_t on_gpu;          /* calls that GPUs made */
  double measured;          /* s, of the process where it took longest; median of the repeats */
  double predicted;         /* s, likewise, of that process's calls in the simulation */
};

struct ss_executed {
  uint32_t endpoints;                            /* ranks, then servers */
  const struct ss_traffic *executed, *simulated; /* [endpoints] */
  uint64_t headers; /* B sent over all ranks to tell receivers of sizes, ranges and parts */
  double measured;  /* s, of the rank that took longest, without what it set aside (tensor/kernel.h); sizes were
                     * known; median of the repeats */
  double copies;    /* s, set aside from the last run: between host and GPU, of the rank where they took longest */
  double announced; /* s, likewise, of the run before them, in which headers and pooled numbers told sizes */
  double predicted; /* s, on the cluster and the device */
  double network;   /* s, the same where kernels took no time */
  struct ss_components components; /* of `predicted`; of what is uncertain */
  bool exact;         /* every rank ended with the exact result, nothing was amiss, and nothing was left unchecked */
  bool equal;         /* each endpoint sent and received the simulated bytes */
  bool kernels_equal; /* each process ran the kernels of its endpoints in the simulation, on as many elements */
  struct ss_executed_kernel kernels[SS_KERNELS];
  char mismatch[160]; /* why not exact, when not */
};

/* What a setting keeps from iteration to iteration: as it is executed here, and as rank 0 simulates it. A zeroed
 * struct is empty. */
struct ss_exec_memory {
  struct ss_state executed, simulated;
  struct ss_grain grain;
};
void ss_exec_memory_free(struct ss_exec_memory *memory);

/* Tensors and indices that the wire formats cannot carry are SS_BAD_INPUT. */
bool ss_execute_check(const struct ss_setting *setting, const struct ss_input *shape,
                      struct ss_error *error) SS_MUST_CHECK;

enum { SS_EXEC_REPEATS_MAX = 101 };

/* What is to be executed, and predicted for which cluster and device. */
struct ss_execution {
  const struct ss_setting *setting;
  const struct ss_cluster *cluster;
  const struct ss_device *device;
  const struct ss_uncertainty *uncertainty;
  const struct ss_input *input; /* of comm->size ranks */
  struct ss_gpu_buffers *gpu;   /* where messages lie, and who sums; NULL: this CPU */
  uint32_t repeats;             /* timed runs, 1 to SS_EXEC_REPEATS_MAX, after one that is not */
};

/* Options were checked for the ranks and the cluster (ss_setting_check, ss_execute_check). Iterations follow each
 * other on one `memory`. Arrays are `arena`'s, which lives as long as the iteration. When one process fails between
 * rounds all return its error; in a round it ends them all. */
bool ss_execute(const struct ss_communicator *comm, const struct ss_execution *what, struct ss_exec_memory *memory,
                struct ss_arena *arena, struct ss_executed *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
