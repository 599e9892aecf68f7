/* What a point is: which points send the same, and which are the same. */
#ifndef SS_STUDY_IDENTITY_H
#define SS_STUDY_IDENTITY_H

#include "study/study.h"
#include "train/durations.h"

/* Of all that decides what its iterations start from, before anything is selected. */
struct ss_identity ss_job_inputs(const struct ss_job *job, const struct ss_input_options *options);
/* Of all that decides what is sent, and to what effect: jobs that share it differ only in links, network models and
 * labels, and in where of the scenario they stand. */
struct ss_identity ss_job_payloads(const struct ss_job *job);
/* Of all that decides the point: the former, the cluster, and what the scenario calls it. */
struct ss_identity ss_job_identity(const struct ss_job *job);
/* Of all of them, in their order. */
struct ss_identity ss_jobs_identity(const struct ss_job *jobs, size_t count);
/* Of all that decides what training simulates, but for the rows that a trace has. */
struct ss_identity ss_durations_identity(const struct ss_durations *durations);

/* Of what the result says: its values, its links and its arrays, as far as it has them. */
struct ss_identity ss_result_digest(const struct ss_result *result);

/* Of what is written so. */
struct ss_identity ss_text_identity(const char *text);

static inline bool ss_identity_same(struct ss_identity a, struct ss_identity b) {
  return a.high == b.high && a.low == b.low;
}

/* Something found by its identity: its place in a list. */
struct ss_keyed {
  struct ss_identity key;
  size_t place;
};
/* By key, of equal keys by place. */
void ss_keyed_sort(struct ss_keyed *list, size_t count);
/* The first of the sorted list with the key; NULL: none has it. */
const struct ss_keyed *ss_keyed_find(const struct ss_keyed *list, size_t count, struct ss_identity key);

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
bool ss_jobs_group(const struct ss_job *jobs, size_t count, const bool *wanted, struct ss_job_groups *out,
                   struct ss_error *error) SS_MUST_CHECK;
void ss_jobs_ungroup(struct ss_job_groups *groups);

#endif
