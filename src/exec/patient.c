#include "exec/patient.h"

#include <sched.h>

/* Looks that cost less than giving way: an answer that is about to come is not missed. */
enum { LOOKS = 50 };

static void give_way(unsigned *looks) {
  if (++*looks > LOOKS) (void)sched_yield();
}

static int finish(int code, MPI_Request *request) {
  unsigned looks = 0;
  for (int done = 0; code == MPI_SUCCESS && !done; give_way(&looks))
    code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
  return code;
}

int ss_patient_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op) {
  MPI_Request request;
  return finish(MPI_Iallreduce(in, out, count, type, op, MPI_COMM_WORLD, &request), &request);
}

int ss_patient_bcast(void *data, int count, MPI_Datatype type, int root) {
  MPI_Request request;
  return finish(MPI_Ibcast(data, count, type, root, MPI_COMM_WORLD, &request), &request);
}

int ss_patient_barrier(void) {
  MPI_Request request;
  return finish(MPI_Ibarrier(MPI_COMM_WORLD, &request), &request);
}

int ss_patient_probe(int source, int tag, MPI_Message *message, MPI_Status *status) {
  int code = MPI_SUCCESS;
  unsigned looks = 0;
  for (int there = 0; code == MPI_SUCCESS && !there; give_way(&looks))
    code = MPI_Improbe(source, tag, MPI_COMM_WORLD, &there, message, status);
  return code;
}

int ss_patient_waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  int code = MPI_SUCCESS;
  unsigned looks = 0;
  for (int done = 0; code == MPI_SUCCESS && !done; give_way(&looks))
    code = MPI_Testall(count, requests, &done, statuses);
  return code;
}
