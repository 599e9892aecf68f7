/* Stands between the program and MPI (LD_PRELOAD): a message takes 107 ms, 150 ns a byte, and a hundredth of that
 * longer each time that as large a one is sent the same way again. What the clock says hangs on nothing else. */
#include <mpi.h>

static double now;

static void take(int bytes, int posted) {
  static int last = -1, again;
  const int message = 2 * bytes + posted;
  again = message == last ? again + 1 : 0;
  last = message;
  now += (0.107 + 150e-9 * bytes) * (1 + 0.01 * again);
}

int MPI_Send(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  take(count, 0);
  return PMPI_Send(bytes, count, type, to, tag, comm);
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
  take(count, 1);
  return PMPI_Isend(bytes, count, type, to, tag, comm, request);
}

double MPI_Wtime(void) {
  return now;
}
/* SPDX-License-Identifier: Apache-2.0 */
