/* Work shared among the crew: items that any process can compute, handed out one after the other to whoever is free;
 * what comes of them goes to rank 0.
 *
 * In every process the thread that calls only talks: all of MPI's calls are its own (MPI_THREAD_FUNNELED), and it
 * answers at once, however long an item takes. Other threads compute; in rank 0 one more takes results in, so that a
 * slow reader of standard output keeps nobody waiting.
 *
 * A process that is silent for longer than `patience` is taken for lost, and its items are handed out again. Usually
 * nobody gets to see that: when a process dies, mpirun ends the others with a signal, at which rank 0 says what is
 * missing. */
#ifndef SS_SHARE_SHARE_H
#define SS_SHARE_SHARE_H

#include "exec/communicator.h"

#include <stddef.h>

struct ss_shared_work {
  void *context;
  size_t count;     /* items; the same in all processes, and so is what they mean */
  unsigned threads; /* of this process that compute: see ss_communicator_threads */
  double patience;  /* s */

  /* Computes an item; called by the thread `thread` below `threads`, several at once. */
  bool (*compute)(void *context, unsigned thread, size_t item, struct ss_error *error);
  /* What rank 0 is to know of an item that was computed here: bytes, to be freed by the caller. NULL: memory is
   * short. */
  void *(*pack)(void *context, size_t item, size_t *size);
  /* Rank 0: an item that another process computed. */
  bool (*unpack)(void *context, size_t item, const void *bytes, size_t size, struct ss_error *error);
  /* Rank 0: an item is there, wherever it was computed. One call at a time, of this and of unpack. */
  bool (*finished)(void *context, size_t item, struct ss_error *error);
  /* Rank 0: a process is silent; so many items that it had go to others. */
  void (*lost)(void *context, uint32_t rank, size_t items);
  /* Rank 0: all ends here. Adds to the error's text what is missing: done[item] says what is not. */
  void (*missing)(void *context, const bool *done, struct ss_error *error);
};

/* Threads to compute with: `jobs`, or when that is 0 this process's part of the cores that it may run on, which other
 * processes of the crew may run on too. Collective. */
bool ss_communicator_threads(const struct ss_communicator *comm, unsigned jobs, unsigned *out,
                             struct ss_error *error) SS_MUST_CHECK;

/* Collective. In rank 0: true when all items were finished; else the error of the first in order that failed, as if
 * one process had computed all. Elsewhere: true. When crew->lost is not 0 afterwards, only rank 0 comes back: there
 * is nothing collective any more, and ss_communicator_part is due. */
bool ss_communicator_share(struct ss_communicator *comm, const struct ss_shared_work *work,
                           struct ss_error *error) SS_MUST_CHECK;
/* Rank 0, when some are lost and all is written: ends all processes, also those that do not answer. */
_Noreturn void ss_communicator_part(const struct ss_communicator *comm, enum ss_status status);

#endif
