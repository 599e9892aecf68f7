#include "exec/launch.h"
#include "share/share.h"

#include <inttypes.h>
#include <stdio.h>

static void tell_error(const struct ss_communicator *comm, const struct ss_error *error) {
  if (comm->rank == 0) (void)fprintf(stderr, "sparsync: %s\n", error->text);
  else (void)fprintf(stderr, "sparsync: rank %" PRIu32 " of %" PRIu32 ": %s\n", comm->rank, comm->size, error->text);
}

bool ss_processes_run(bool understood,
                      bool (*work)(void *context, struct ss_communicator *comm, struct ss_error *error),
                      void *context, struct ss_error *error) {
  struct ss_communicator comm;
  if (!ss_communicator_open(&comm, error)) return ss_launch_read().rank != 0;
  comm.tell = tell_error;
  const bool good = ss_communicator_agree(&comm, understood, error) && work(context, &comm, error);
  if (comm.lost && !good) tell_error(&comm, error);
  if (comm.lost && good)
    (void)fprintf(stderr,
                  "sparsync: all is done, without %" PRIu32 " of %" PRIu32
                  " ranks; what mpirun says of an abort from here on concerns only them\n",
                  comm.lost, comm.size);
  const bool written = fflush(stdout) == 0;
  ss_communicator_close(&comm, !good ? error->status : written ? SS_OK : SS_MACHINE);
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
