/* Stands between the program and MPI (LD_PRELOAD): one message of one rank is wrong, or late. SPARSYNC_WRONG says
 * which, "RANK MESSAGE HOW": counted from 0 among those that are not empty; HOW is "value", a bit in its last byte,
 * "size", one in its first (of a header: in the bytes that it announces), "late", or "stop": the rank stops itself
 * before it sends that. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void harm(unsigned char *bytes, int count, const char *how) {
  if (strcmp(how, "value") == 0) bytes[count - 1] ^= 0x40;
  else if (strcmp(how, "size") == 0) *bytes ^= 0x40;
  else if (strcmp(how, "stop") == 0) (void)raise(SIGSTOP);
  else (void)nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
  static int sent;
  const char *plan = getenv("SPARSYNC_WRONG");
  char how[8];
  int rank, who, which;
  (void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // NOLINTNEXTLINE(cert-err34-c): the test's own words
  if (plan && count > 0 && sscanf(plan, "%d %d %7s", &who, &which, how) == 3 && who == rank && which == sent++)
    harm((unsigned char *)(size_t)bytes, count, how);
  return PMPI_Isend(bytes, count, type, to, tag, comm, request);
}
/* SPDX-License-Identifier: Apache-2.0 */
