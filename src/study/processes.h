/* Commands that all processes of mpirun carry out: rank 0 reads, writes and prints for all. */
#ifndef SS_STUDY_PROCESSES_H
#define SS_STUDY_PROCESSES_H

#include "exec/communicator.h"

#include <stddef.h>

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

#endif
