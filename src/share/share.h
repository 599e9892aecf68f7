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
#ifndef SS_SHARE_SHARE_H
#define SS_SHARE_SHARE_H

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

struct ss_shared_work {
  void *context;
  size_t count;     /* items; the same in all processes, and so is what they mean */
  const char *what; /* items, for the user: "simulations" */
  unsigned jobs;    /* threads of this process that compute; 0: its part of the cores that it may run on */
  double patience;  /* s */

  /* What one of so many threads keeps from item to item; NULL: memory is short. */
  void *(*open_worker)(void *context, unsigned threads);
  void (*close_worker)(void *worker);
  /* Computes an item; several threads at once. Its result as bytes that the caller frees; NULL: it failed. */
  void *(*compute)(void *context, void *worker, size_t item, size_t *size, struct ss_error *error);
  /* Rank 0: what came of an item, wherever it was computed. One call at a time, in any order; none once an item has
   * failed. */
  bool (*finished)(void *context, size_t item, const void *bytes, size_t size, struct ss_error *error);
  /* Rank 0: the run is being ended. Adds to the error's text what is missing: the items that are not done[item]. */
  void (*missing)(void *context, const bool *done, struct ss_error *error);
};

/* Collective. In rank 0: true when all items were finished; else the error of the first in order that failed, as if
 * one process had computed all. Elsewhere: true. When comm->lost is not 0 afterwards, only rank 0 comes back: nothing
 * collective may follow, and ss_communicator_part is due. */
bool ss_communicator_share(struct ss_communicator *comm, const struct ss_shared_work *work,
                           struct ss_error *error) SS_MUST_CHECK;
/* Rank 0, when some are lost and all is written: ends all processes, also those that do not answer. */
_Noreturn void ss_communicator_part(const struct ss_communicator *comm, enum ss_status status);

#endif
