/* MPI's calls that wait, for ranks that may outnumber the cores: whoever waits gives way to others. (Open MPI can be
 * told to; MPICH spins.) All on MPI_COMM_WORLD; what they return is MPI's code. */
#ifndef SS_EXEC_PATIENT_H
#define SS_EXEC_PATIENT_H

#include <mpi.h>

int ss_patient_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op);
int ss_patient_bcast(void *data, int count, MPI_Datatype type, int root);
int ss_patient_barrier(void);
int ss_patient_probe(int source, int tag, MPI_Message *message, MPI_Status *status);
int ss_patient_waitall(int count, MPI_Request *requests, MPI_Status *statuses);

#endif
