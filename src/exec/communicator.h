/* The processes that mpirun started, one rank each. Where there is one process, and no mpirun, the communicator is
 * NULL for all functions that take one: what is collective then concerns this process alone.
 *
 * A process that fails must not leave the others waiting. Between collective steps all agree on whether to go on
 * (ss_communicator_agree); a failure in the middle of one ends them all (ss_communicator_abort). */
#pragma once

#include "base/base.h"

struct ss_communicator {
  uint32_t rank, size; /* this process, and how many there are; 1 when started without mpirun */
  uint32_t lost;       /* those that no longer answer: see ss_work_share */
  /* Prints what the user must know at once: why this process ends them all, or that one is silent. NULL: nothing. */
  void (*tell)(const struct ss_communicator *comm, const struct ss_error *error);
};

/* Starts MPI. On success ss_communicator_close is due, once, by every process. Processes that the mpirun of another
 * MPI started do not see each other: that is an error in each of them, and so is a build without MPI. */
bool ss_communicator_open(struct ss_communicator *comm, struct ss_error *error) SS_MUST_CHECK;
/* The last that a process does with it: waits until rank 0 closes it, too. When some are lost, this ends all
 * processes, those that do not answer as well, and does not come back; rank 0's status counts. */
void ss_communicator_close(struct ss_communicator *comm, enum ss_status status);

/* Collective: true when `good` is true in all processes. Else false everywhere, with the error of the lowest-ranked
 * process that failed, which names its rank unless all failed alike. */
bool ss_communicator_agree(const struct ss_communicator *comm, bool good, struct ss_error *error) SS_MUST_CHECK;

/* Collective: whether rank 0, which took a step alone, is well; else false everywhere, with its error. */
bool ss_communicator_follow(const struct ss_communicator *comm, bool good, struct ss_error *error) SS_MUST_CHECK;
/* Collective: rank 0's bytes, everywhere. */
void ss_communicator_broadcast(const struct ss_communicator *comm, void *bytes, size_t size);

/* Collective: whether this process has the numbers that rank 0 has; *at is the index of the first that differs, or
 * how many both have where only one has more. */
bool ss_communicator_same(const struct ss_communicator *comm, const uint64_t *number, uint64_t count, uint64_t *at);

/* Ends all processes with the error's status. */
_Noreturn void ss_communicator_abort(const struct ss_communicator *comm, const struct ss_error *error);

/* True when `code` is MPI_SUCCESS; else an SS_MACHINE error with MPI's own words. `what` completes "MPI failed
 * while". */
bool ss_mpi_check(int code, const char *what, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
