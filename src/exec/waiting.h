/* MPI's calls that wait, for ranks that may outnumber the cores: while they wait, other processes run. (Open MPI can
 * be told to do so; MPICH spins.) All on MPI_COMM_WORLD; what they return is MPI's code. */
#pragma once

#include <mpi.h>
#include <stdint.h>

int ss_wait_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op);
/* In place; tables of any length, a part after the other. */
int ss_wait_allreduce_table(void *table, uint64_t count, MPI_Datatype type, MPI_Op op);
int ss_wait_bcast(void *data, int count, MPI_Datatype type, int root);
int ss_wait_barrier(void);
int ss_wait_probe(int source, int tag, MPI_Message *message, MPI_Status *status);
int ss_wait_all(int count, MPI_Request *requests, MPI_Status *statuses);
/* SPDX-License-Identifier: Apache-2.0 */
