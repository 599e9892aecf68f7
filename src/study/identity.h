/* What a point is: which points send the same, and which are the same. */
#ifndef SS_STUDY_IDENTITY_H
#define SS_STUDY_IDENTITY_H

#include "study/study.h"

/* What the scenario's document, as it stands in one cell of the sweep, says for all jobs of the cell. */
bool ss_cell_identify(struct ss_node document, struct ss_identities *out, struct ss_error *error) SS_MUST_CHECK;
/* The job's own, of what job->is has of its cell, and of what it says itself. */
bool ss_job_identify(struct ss_job *job, struct ss_error *error) SS_MUST_CHECK;
/* Of all points, in their order. */
struct ss_identity ss_jobs_identity(const struct ss_job *const *jobs, size_t count);

/* Endpoints of all networks that are played at once. */
enum { SS_ENDPOINTS_MAX = 1 << 22 };

/* Jobs that are simulated in one go, in the order of the first of each. */
struct ss_job_group {
  const size_t *job; /* [count] ascending */
  uint32_t count;
};
struct ss_job_groups {
  struct ss_job_group *group;
  size_t count;
  size_t *place; /* the jobs, group by group */
};
/* `wanted[i]`: job i is to be computed. Groups are kept small enough that their networks fit into memory. */
bool ss_jobs_group(const struct ss_job *const *jobs, size_t count, const bool *wanted, struct ss_job_groups *out,
                   struct ss_error *error) SS_MUST_CHECK;
void ss_jobs_ungroup(struct ss_job_groups *groups);

#endif
