#include "exec/communicator.h"

#include "exec/launch.h"
#include "exec/waiting.h"

#include <time.h>
#include <unistd.h>

enum { TOLD_AT_ONCE = 1 << 28 }; /* B */
enum { TAG_END = 1000 };         /* no other message has it */

bool ss_mpi_check(int code, const char *what, struct ss_error *error) {
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length;
  if (code == MPI_SUCCESS) return true;
  (void)MPI_Error_string(code, text, &length);
  return ss_fail(error, SS_MACHINE, "MPI failed while %s: %s", what, text);
}

static bool check_launcher(const struct ss_communicator *comm, struct ss_error *error) {
  const struct ss_launch launch = ss_launch_read();
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length;
  if (launch.size <= 1 || comm->size > 1) return true;
  (void)MPI_Get_library_version(version, &length);
  return ss_fail(
      error, SS_MACHINE,
      "%u processes were started, but each sees only itself: that was the mpirun of another MPI than the one "
      "that this sparsync was built with (%.*s)",
      launch.size, (int)strcspn(version, ",\n"), version);
}

bool ss_communicator_open(struct ss_communicator *comm, struct ss_error *error) {
  int provided, rank, size;
  *comm = (struct ss_communicator){.size = 1};
  /* OpenMP threads may run between the calls, but only the main thread makes them. */
  if (!ss_mpi_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided), "starting", error)) return false;
  if (!ss_mpi_check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "starting", error) ||
      !ss_mpi_check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "asking for the rank", error) ||
      !ss_mpi_check(MPI_Comm_size(MPI_COMM_WORLD, &size), "counting ranks", error)) {
    (void)MPI_Finalize();
    return false;
  }
  comm->rank = (uint32_t)rank;
  comm->size = (uint32_t)size;
  if (check_launcher(comm, error)) return true;
  (void)MPI_Finalize();
  return false;
}

/* Rank 0 has written all, and has MPI end those that are lost; in a second what it said is on its way at least. An
 * mpirun that was told to go on when a process dies (Open MPI's --enable-recovery) does not end the others, which
 * wait a little longer; any other would take a process that ends before for a failure. */
static _Noreturn void end(const struct ss_communicator *comm, enum ss_status status) {
  (void)sleep(comm->rank == 0 ? 1 : 3);
  if (comm->rank == 0) (void)MPI_Abort(MPI_COMM_WORLD, (int)status);
  _exit(comm->rank == 0 ? (int)status : SS_OK);
}

/* MPI_Finalize would wait for rank 0, too, but takes a core for it, and for those that are lost. */
void ss_communicator_close(struct ss_communicator *comm, enum ss_status status) {
  MPI_Request request;
  int done = 0;
  for (int r = 1; comm->rank == 0 && r < (int)comm->size; r++)
    if (MPI_Isend(&comm->lost, 1, MPI_UINT32_T, r, TAG_END, MPI_COMM_WORLD, &request) == MPI_SUCCESS)
      (void)MPI_Request_free(&request); /* it may never arrive */
  int code =
      comm->rank == 0 ? MPI_ERR_OTHER : MPI_Irecv(&comm->lost, 1, MPI_UINT32_T, 0, TAG_END, MPI_COMM_WORLD, &request);
  while (code == MPI_SUCCESS && !done) {
    code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) (void)nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
  }
  if (comm->lost) end(comm, status);
  (void)MPI_Finalize();
}

bool ss_communicator_follow(const struct ss_communicator *comm, bool good, struct ss_error *error) {
  struct {
    bool good;
    struct ss_error error;
  } told = {.good = good};
  if (!comm) return good;
  if (!good && comm->rank == 0) told.error = *error;
  ss_communicator_broadcast(comm, &told, sizeof told);
  if (!told.good) *error = told.error;
  return told.good;
}

void ss_communicator_broadcast(const struct ss_communicator *comm, void *bytes, size_t size) {
  struct ss_error broken;
  for (size_t at = 0, n; comm && at < size; at += n) {
    n = size - at < TOLD_AT_ONCE ? size - at : TOLD_AT_ONCE;
    if (!ss_mpi_check(ss_wait_bcast((char *)bytes + at, (int)n, MPI_BYTE, 0), "telling all ranks", &broken))
      ss_communicator_abort(comm, &broken);
  }
}

bool ss_communicator_agree(const struct ss_communicator *comm, bool good, struct ss_error *error) {
  struct ss_error broken;
  if (!comm) return good;
  /* The lowest rank that failed, and how many did. */
  uint32_t mine = good ? comm->size : comm->rank, first, failed = good ? 0 : 1, failures;
  if (!ss_mpi_check(ss_wait_allreduce(&mine, &first, 1, MPI_UINT32_T, MPI_MIN), "agreeing", &broken) ||
      !ss_mpi_check(ss_wait_allreduce(&failed, &failures, 1, MPI_UINT32_T, MPI_SUM), "agreeing", &broken))
    ss_communicator_abort(comm, &broken);
  if (failures == 0) return true;
  if (comm->rank == first && failures < comm->size) ss_fail_prefix(error, "rank %u of %u", first, comm->size);
  /* All processes run the same program on machines of one kind. */
  if (!ss_mpi_check(ss_wait_bcast(error, sizeof *error, MPI_BYTE, (int)first), "agreeing", &broken))
    ss_communicator_abort(comm, &broken);
  return false;
}

bool ss_communicator_same(const struct ss_communicator *comm, const uint64_t *number, uint64_t count, uint64_t *at) {
  uint64_t theirs = count;
  ss_communicator_broadcast(comm, &theirs, sizeof theirs);
  bool same = theirs == count;
  *at = theirs < count ? theirs : count;
  for (uint64_t i = theirs; i-- > 0;) { /* the first that differs is found last */
    uint64_t first = i < count ? number[i] : 0;
    ss_communicator_broadcast(comm, &first, sizeof first);
    if (i >= count || first == number[i]) continue;
    same = false;
    *at = i;
  }
  return same;
}

_Noreturn void ss_communicator_abort(const struct ss_communicator *comm, const struct ss_error *error) {
  if (comm->tell) comm->tell(comm, error);
  (void)MPI_Abort(MPI_COMM_WORLD, (int)error->status);
  exit((int)error->status);
}
/* SPDX-License-Identifier: Apache-2.0 */
