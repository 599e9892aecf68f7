#include "exec/launch.h"
#include "share/share.h"

#include <inttypes.h>
#include <stdio.h>

static void tell_error(const struct ss_communicator *comm, const struct ss_error *error) {
  if (comm->rank == 0) (void)fprintf(stderr, "sparsync: %s\n", error->text);
  else (void)fprintf(stderr, "sparsync: rank %" PRIu32 " of %" PRIu32 ": %s\n", comm->rank, comm->size, error->text);
}

/* Rank 0, when some do not answer: nobody waits for them. */
static _Noreturn void end_all(const struct ss_communicator *comm, bool good, const struct ss_error *error) {
  if (good && fflush(stdout) == 0) {
    (void)fprintf(stderr,
                  "sparsync: all is done, without %" PRIu32 " of %" PRIu32
                  " ranks; what mpirun says of an abort from here on concerns only them\n",
                  comm->lost, comm->size);
    ss_communicator_part(comm, SS_OK);
  }
  if (!good) tell_error(comm, error);
  ss_communicator_part(comm, good ? SS_MACHINE : error->status);
}

bool ss_processes_run(bool understood,
                      bool (*work)(void *context, struct ss_communicator *comm, struct ss_error *error),
                      void *context, struct ss_error *error) {
  struct ss_communicator comm;
  if (!ss_communicator_open(&comm, error)) return ss_launch_read().rank != 0;
  comm.tell = tell_error;
  const bool good = ss_communicator_agree(&comm, understood, error) && work(context, &comm, error);
  if (comm.lost) end_all(&comm, good, error);
  ss_communicator_close(&comm);
  return good || comm.rank != 0;
}

bool ss_processes_same(const struct ss_communicator *comm, const uint64_t *numbers, size_t count,
                       struct ss_error *error) {
  uint64_t at;
  const bool same = ss_communicator_same(comm, numbers, count, &at);
  if (!same)
    (void)ss_fail(error, SS_BAD_INPUT,
                  "this rank was given another scenario, other options or another trace than rank 0: start all ranks "
                  "with the same");
  return ss_communicator_agree(comm, same, error);
}
