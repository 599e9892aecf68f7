/* Commands that all processes of mpirun carry out, and work that they share: rank 0 reads, writes and prints for all.
 *
 * Of the work rank 0 hands out one item at a time to whoever is free, and gets what each process computed.
 *
 * In every process the thread that calls only talks: all of MPI's calls are its own (MPI_THREAD_FUNNELED), and it
 * answers at once, however long an item takes. Other threads compute; in rank 0 one more takes results in, so that a
 * slow reader of standard output keeps nobody waiting.
 *
 * Items of a process that is silent for longer than `patience` are handed out again. Usually that does not come to
 * pass: when a process dies, mpirun ends the others with a signal, at which rank 0 says what is missing. */
#pragma once

#include "base/work.h"
#include "exec/communicator.h"

/* Every process of mpirun calls this with whether it understood its command line, else with that error. If all did,
 * all carry out `work`; its result counts in rank 0, and elsewhere the result is true: so one message is printed, and
 * one exit status given. Without MPI an error. */
bool ss_processes_run(bool understood,
                      bool (*work)(void *context, struct ss_communicator *comm, struct ss_error *error),
                      void *context, struct ss_error *error) SS_MUST_CHECK;

/* Whether this process is rank 0, or the only one. */
static inline bool ss_processes_first(const struct ss_communicator *comm) {
  return !comm || comm->rank == 0;
}

/* Collective: an error unless all have rank 0's numbers, which stand for all that decides the result. */
bool ss_processes_same(const struct ss_communicator *comm, const uint64_t *numbers, size_t count,
                       struct ss_error *error) SS_MUST_CHECK;

/* Computes all items of the work, here without a communicator (as ss_work_run), else in all processes, which have the
 * same items. Collective: in rank 0 true when all items were finished, else the error of the first in order that
 * failed, as if one process had computed all; elsewhere true. When comm->lost is not 0 afterwards, nothing
 * collective may follow, and elsewhere than in rank 0 nothing but ss_communicator_close. `patience`: s. */
bool ss_work_share(struct ss_communicator *comm, const struct ss_work *work, double patience,
                   struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
