#include "exec/launch.h"

/* What launchers tell the processes of MPI that they start. (SLURM_PROCID does not belong here: a batch script has it
 * too.) */
static const struct {
  const char *rank, *size, *here;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"}, /* Open MPI's mpirun */
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},                                    /* MPICH's, and srun --mpi=pmi2 */
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"},    /* MVAPICH2's */
    {"PMIX_RANK", NULL, NULL},                                                      /* prterun, and srun --mpi=pmix */
};

static bool number(const char *name, uint32_t *out) {
  const char *text = name ? getenv(name) : NULL;
  char *end;
  if (!text || *text < '0' || *text > '9') return false;
  const unsigned long value = strtoul(text, &end, 10);
  if (*end || value > UINT32_MAX) return false;
  *out = (uint32_t)value;
  return true;
}

struct ss_launch ss_launch_read(void) {
  struct ss_launch launch = {0};
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
    if (!number(launchers[i].rank, &launch.rank)) continue;
    if (!number(launchers[i].size, &launch.size)) launch.size = 0;
    launch.launched = true;
    launch.several = launch.size != 1;
    if (!number(launchers[i].here, &launch.here)) launch.here = 1;
    break;
  }
  if (launch.here == 0) launch.here = 1;
  return launch;
}
/* SPDX-License-Identifier: Apache-2.0 */
