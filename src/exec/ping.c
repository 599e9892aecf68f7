#include "exec/ping.h"

#include "exec/waiting.h"

#include <gsl/gsl_statistics_double.h>
#include <mpi.h>

enum { LEAST = 3 }; /* repeats, however long they take */

struct table {
  const struct ss_communicator *comm;
  unsigned char *out, *in;
  int bytes;
};

/* As schemes send (exec/mpi_player.h): both at once, giving way to other processes while waiting. */
static int exchange(const struct table *t, int to, int from) {
  MPI_Request request[2];
  int code = MPI_Irecv(t->in, t->bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request[0]);
  if (code == MPI_SUCCESS) code = MPI_Isend(t->out, t->bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request[1]);
  return code == MPI_SUCCESS ? ss_wait_all(2, request, MPI_STATUSES_IGNORE) : code;
}

static int ping_pong(const struct table *t) {
  const int last = (int)t->comm->size - 1, rank = (int)t->comm->rank;
  int code = MPI_SUCCESS;
  if (rank == 0) {
    code = MPI_Send(t->out, t->bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD);
    if (code == MPI_SUCCESS) code = MPI_Recv(t->in, t->bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == last) {
    code = MPI_Recv(t->in, t->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) code = MPI_Send(t->out, t->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  return code;
}

static int pairwise(const struct table *t) {
  const int P = (int)t->comm->size, rank = (int)t->comm->rank;
  int code = MPI_SUCCESS;
  for (int s = 1; s < P && code == MPI_SUCCESS; s++) code = exchange(t, (rank + s) % P, (rank - s + P) % P);
  return code;
}

/* One time of the pattern, of the rank that took longest; the same on all ranks. */
static bool once(const struct table *t, int (*pattern)(const struct table *t), double *seconds,
                 struct ss_error *error) {
  if (!ss_mpi_check(MPI_Barrier(MPI_COMM_WORLD), "waiting for all ranks", error)) return false;
  const double start = MPI_Wtime();
  if (!ss_mpi_check(pattern(t), "sending", error)) return false;
  const double mine = MPI_Wtime() - start;
  return ss_mpi_check(MPI_Allreduce(&mine, seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "timing", error);
}

static bool repeat(const struct table *t, int (*pattern)(const struct table *t), uint32_t repeats, double *median,
                   struct ss_error *error) {
  double times[SS_PING_REPEATS_MAX], total = 0;
  uint32_t n = 0;
  if (!once(t, pattern, median, error)) return false;
  while (n < repeats && (total < 1 || n < LEAST)) {
    if (!once(t, pattern, &times[n], error)) return false;
    total += times[n++]; /* the same on all ranks, so that all stop alike */
  }
  *median = gsl_stats_median(times, 1, n);
  return true;
}

bool ss_ping_measure(const struct ss_communicator *comm, size_t bytes, uint32_t repeats, struct ss_ping *out,
                     struct ss_error *error) {
  struct table t = {comm, ss_alloc_zero(bytes, 1), ss_alloc_zero(bytes, 1), (int)bytes};
  bool ok = (t.out && t.in) || ss_fail_memory(error, "making messages");
  ok = ok && repeat(&t, ping_pong, repeats, &out->one_way, error) &&
       repeat(&t, pairwise, repeats, &out->pairwise, error);
  out->one_way /= 2;
  free(t.out);
  free(t.in);
  if (!ok) ss_communicator_abort(comm, error);
  return true;
}

bool ss_ping_nodes(const struct ss_communicator *comm, uint32_t *out, struct ss_error *error) {
  MPI_Comm node;
  int size, counts[2];
  int code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  if (!ss_mpi_check(code, "asking for machines", error)) return false;
  (void)MPI_Comm_size(node, &size);
  (void)MPI_Comm_free(&node);
  const int mine[] = {size, -size};
  code = MPI_Allreduce(mine, counts, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (!ss_mpi_check(code, "asking for machines", error)) return false;
  *out = counts[0] == -counts[1] ? comm->size / (uint32_t)counts[0] : comm->size;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
