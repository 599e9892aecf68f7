#include "exec/waiting.h"

#include <sched.h>

/* So many tests cost less than giving way: an answer that is about to come is not missed. */
enum { TESTS = 50 };

static void give_way(unsigned *tests) {
  if (++*tests > TESTS) (void)sched_yield();
}

int ss_wait_all(int count, MPI_Request *requests, MPI_Status *statuses) {
  int code = MPI_SUCCESS;
  unsigned tests = 0;
  for (int done = 0; code == MPI_SUCCESS && !done; give_way(&tests))
    code = MPI_Testall(count, requests, &done, statuses);
  return code;
}

static int finish(int code, MPI_Request *request) {
  return code == MPI_SUCCESS ? ss_wait_all(1, request, MPI_STATUSES_IGNORE) : code;
}

int ss_wait_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op) {
  MPI_Request request;
  return finish(MPI_Iallreduce(in, out, count, type, op, MPI_COMM_WORLD, &request), &request);
}

int ss_wait_allreduce_table(void *table, uint64_t count, MPI_Datatype type, MPI_Op op) {
  enum { AT_ONCE = 1 << 24 };
  int size, code = MPI_Type_size(type, &size);
  for (uint64_t at = 0; code == MPI_SUCCESS && at < count; at += AT_ONCE) {
    const int n = count - at < AT_ONCE ? (int)(count - at) : AT_ONCE;
    code = ss_wait_allreduce(MPI_IN_PLACE, (char *)table + at * (uint64_t)size, n, type, op);
  }
  return code;
}

int ss_wait_bcast(void *data, int count, MPI_Datatype type, int root) {
  MPI_Request request;
  return finish(MPI_Ibcast(data, count, type, root, MPI_COMM_WORLD, &request), &request);
}

int ss_wait_barrier(void) {
  MPI_Request request;
  return finish(MPI_Ibarrier(MPI_COMM_WORLD, &request), &request);
}

int ss_wait_probe(int source, int tag, MPI_Message *message, MPI_Status *status) {
  int code = MPI_SUCCESS;
  unsigned tests = 0;
  for (int there = 0; code == MPI_SUCCESS && !there; give_way(&tests))
    code = MPI_Improbe(source, tag, MPI_COMM_WORLD, &there, message, status);
  return code;
}
/* SPDX-License-Identifier: Apache-2.0 */
