/* Without MPI nobody is together: `crew` is NULL everywhere. */
#include "study/run_shared.h"
#include "study/processes.h"
#include "study/training_shared.h"
#include "exec/launch.h"

bool ss_work_together(bool understood, bool (*work)(void *context, struct ss_crew *crew, struct ss_error *error),
                      void *context, struct ss_error *error) {
  (void)work;
  (void)context;
  if (understood)
    (void)ss_fail(error, SS_MACHINE,
                  "started by mpirun, but built without MPI: start one (without mpirun), or install MPI (Debian: "
                  "libopenmpi-dev openmpi-bin) and build again");
  return ss_launch_read().rank != 0;
}

bool ss_together_agree(const struct ss_crew *crew, bool good, struct ss_error *error) {
  (void)crew;
  (void)error;
  return good;
}

bool ss_together_follow(const struct ss_crew *crew, bool good, struct ss_error *error) {
  (void)crew;
  (void)error;
  return good;
}

void ss_together_tell(const struct ss_crew *crew, void *bytes, size_t size) {
  (void)crew;
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

bool ss_train_share(struct ss_training *training, const struct ss_points_wish *wish, struct ss_progress *progress,
                    struct ss_error *error) {
  (void)training;
  (void)wish;
  (void)progress;
  return ss_fail(error, SS_MACHINE, "built without MPI");
}
