/* Built without MPI there is never a communicator: no processes can be run, and all functions get NULL. */
#include "exec/launch.h"
#include "share/share.h"

bool ss_processes_run(bool understood,
                      bool (*work)(void *context, struct ss_communicator *comm, struct ss_error *error),
                      void *context, struct ss_error *error) {
  (void)understood;
  (void)work;
  (void)context;
  (void)ss_fail(error, SS_MACHINE,
                "started by mpirun, but built without MPI: start one (without mpirun), or install MPI (Debian: "
                "libopenmpi-dev openmpi-bin) and build again");
  return ss_launch_read().rank != 0;
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

bool ss_processes_same(const struct ss_communicator *comm, const uint64_t *numbers, size_t count,
                       struct ss_error *error) {
  (void)numbers;
  (void)count;
  return ss_communicator_agree(comm, true, error);
}

bool ss_work_share(struct ss_communicator *comm, const struct ss_work *work, double patience,
                   struct ss_error *error) {
  (void)comm;
  (void)patience;
  return ss_work_run(work, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
