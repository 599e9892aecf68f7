/* Points computed by all processes of mpirun, group by group: what comes of them is rank 0's. */
#ifndef SS_STUDY_RUN_SHARED_H
#define SS_STUDY_RUN_SHARED_H

#include "study/compute.h"

struct ss_points_share {
  const struct ss_computing *all; /* with processes; rank 0 has all results, in the end */
  const struct ss_job_groups *groups;
  struct ss_results_listener *listener; /* told when all ends; NULL: nobody */
  /* Rank 0: a group is there. One call at a time. */
  bool (*finished)(void *context, size_t group, struct ss_error *error);
  void *context;
};

/* Collective: whether all ranks were given the same. */
bool ss_points_same(const struct ss_points_share *share, struct ss_error *error) SS_MUST_CHECK;
/* Collective; like ss_communicator_share. */
bool ss_points_share(struct ss_points_share *share, struct ss_error *error) SS_MUST_CHECK;

#endif
