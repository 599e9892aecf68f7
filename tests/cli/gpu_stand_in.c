/* What the program is linked with, beside the GPU's kernels as loops (unit/cuda_loop.c) in the GPU's place: an MPI
 * that says that it takes pointers to a GPU's memory (SPARSYNC_MPI_WITHOUT_CUDA: that it does not), and that ends the
 * rank when a payload is elsewhere. */
#include "cuda_loop.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int MPIX_Query_cuda_support(void);

int MPIX_Query_cuda_support(void) {
  return !getenv("SPARSYNC_MPI_WITHOUT_CUDA");
}

static void expect_there(const void *bytes, int count, int tag) {
  enum { PAYLOAD_TAG = 1 }; /* exec/mpi_player.c */
  if (tag != PAYLOAD_TAG || count == 0 || cuda_loop_owns(bytes)) return;
  (void)fprintf(stderr, "a payload of %d bytes is not in the GPU's memory\n", count);
  abort();
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
  expect_there(bytes, count, tag);
  return PMPI_Isend(bytes, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
  expect_there(bytes, count, tag);
  return PMPI_Irecv(bytes, count, type, from, tag, comm, request);
}
/* SPDX-License-Identifier: Apache-2.0 */
