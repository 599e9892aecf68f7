/* Commands that the processes of mpirun carry out together: rank 0 reads, writes and speaks for all. */
#ifndef SS_STUDY_PROCESSES_H
#define SS_STUDY_PROCESSES_H

#include "exec/communicator.h"

#include <stddef.h>

/* Every process of mpirun calls this with what it made of its command line: whether it understood it, else its
 * error. If all did, `work` is carried out by all; its result counts in rank 0. Elsewhere the result is true: so one
 * message is printed, and one exit status given. Without MPI an error. */
bool ss_processes_run(bool understood,
                      bool (*work)(void *context, struct ss_communicator *comm, struct ss_error *error),
                      void *context, struct ss_error *error) SS_MUST_CHECK;

/* Is this the process that writes? `comm` NULL: there is only this one. */
static inline bool ss_processes_first(const struct ss_communicator *comm) {
  return !comm || comm->rank == 0;
}
/* Collective: whether all are well, or (`follow`) rank 0 is, which took a step alone; else false, with its error. */
bool ss_processes_agree(const struct ss_communicator *comm, bool good, struct ss_error *error) SS_MUST_CHECK;
bool ss_processes_follow(const struct ss_communicator *comm, bool good, struct ss_error *error) SS_MUST_CHECK;
/* Collective: rank 0's bytes, everywhere. */
void ss_processes_broadcast(const struct ss_communicator *comm, void *bytes, size_t size);

/* Collective: an error unless all have rank 0's numbers, which stand for all that decides the result. */
bool ss_processes_same(const struct ss_communicator *comm, const uint64_t *numbers, size_t count,
                       struct ss_error *error) SS_MUST_CHECK;
/* Tells the user that a rank is silent, and what becomes of its "groups of points". */
void ss_processes_lost(const struct ss_communicator *comm, uint32_t rank, double patience, size_t items,
                       const char *what);

#endif
