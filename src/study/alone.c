/* Without MPI there is one process: communicators are NULL everywhere. */
#include "exec/launch.h"
#include "study/processes.h"
#include "study/run_shared.h"
#include "study/training_shared.h"

bool ss_processes_run(bool understood,
                      bool (*work)(void *context, struct ss_communicator *comm, struct ss_error *error),
                      void *context, struct ss_error *error) {
  (void)work;
  (void)context;
  if (understood)
    (void)ss_fail(error, SS_MACHINE,
                  "started by mpirun, but built without MPI: start one (without mpirun), or install MPI (Debian: "
                  "libopenmpi-dev openmpi-bin) and build again");
  return ss_launch_read().rank != 0;
}

bool ss_processes_agree(const struct ss_communicator *comm, bool good, struct ss_error *error) {
  (void)comm;
  (void)error;
  return good;
}

bool ss_processes_follow(const struct ss_communicator *comm, bool good, struct ss_error *error) {
  (void)comm;
  (void)error;
  return good;
}

void ss_processes_broadcast(const struct ss_communicator *comm, void *bytes, size_t size) {
  (void)comm;
  (void)bytes;
  (void)size;
}

bool ss_points_same(const struct ss_points_share *share, struct ss_error *error) {
  (void)share;
  (void)error;
  return true;
}

bool ss_points_share(const struct ss_points_share *share, struct ss_error *error) {
  (void)share;
  return ss_fail(error, SS_MACHINE, "built without MPI");
}

bool ss_train_share(struct ss_training *training, const struct ss_run_options *options, struct ss_error *error) {
  (void)training;
  (void)options;
  return ss_fail(error, SS_MACHINE, "built without MPI");
}
