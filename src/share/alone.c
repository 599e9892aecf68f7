/* Built without MPI there is never a communicator: opening one fails, and all functions get NULL. */
#include "share/share.h"

#include <stdlib.h>

bool ss_communicator_open(struct ss_communicator *comm, struct ss_error *error) {
  (void)comm;
  return ss_fail(error, SS_MACHINE,
                 "started by mpirun, but built without MPI: start one (without mpirun), or install MPI (Debian: "
                 "libopenmpi-dev openmpi-bin) and build again");
}

bool ss_communicator_agree(const struct ss_communicator *comm, bool good, struct ss_error *error) {
  (void)comm;
  (void)error;
  return good;
}

bool ss_communicator_follow(const struct ss_communicator *comm, bool good, struct ss_error *error) {
  return ss_communicator_agree(comm, good, error);
}

void ss_communicator_broadcast(const struct ss_communicator *comm, void *bytes, size_t size) {
  (void)comm;
  (void)bytes;
  (void)size;
}

/* --- only ever called with a communicator ------------------------------------------------------------------ */

void ss_communicator_close(struct ss_communicator *comm) {
  (void)comm;
}

bool ss_communicator_same(const struct ss_communicator *comm, const uint64_t *number, uint64_t count, uint64_t *at) {
  (void)comm;
  (void)number;
  (void)count;
  *at = 0;
  return true;
}

bool ss_communicator_share(struct ss_communicator *comm, const struct ss_shared_work *work, struct ss_error *error) {
  (void)comm;
  (void)work;
  return ss_fail(error, SS_MACHINE, "built without MPI");
}

_Noreturn void ss_communicator_part(const struct ss_communicator *comm, enum ss_status status) {
  (void)comm;
  exit((int)status);
}
