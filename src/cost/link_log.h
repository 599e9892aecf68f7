/* Logs of communication benchmarks: nccl-tests and OSU's. What they measured, as samples of a link (cost/fit_link.h).
 *
 * Of nccl-tests: all_reduce_perf, all_gather_perf, reduce_scatter_perf and alltoall_perf; the header tells ranks and
 * hosts. Of OSU: osu_latency, osu_bw, osu_allreduce and osu_alltoall; they do not tell how many ranks there were. */
#ifndef SS_COST_LINK_LOG_H
#define SS_COST_LINK_LOG_H

#include "cost/fit_link.h"

#include <stdint.h>

struct ss_link_log_options {
  const char *tool;   /* "alltoall_perf", where the log does not say; NULL */
  uint32_t ranks;     /* where the log does not say; 0 */
  bool in_place;      /* of nccl-tests: those columns, instead of out of place */
  double least, most; /* B: only rows of these sizes, as the log has them */
};

struct ss_link_log {
  const char *tool;    /* "all_reduce_perf" */
  const char *assumes; /* the closed form */
  uint32_t ranks, nodes;
  bool stream; /* osu_bw: messages overlap, so that its start-up is no latency */
  struct ss_link_sample *samples;
  size_t count;
};

/* At most 64 MiB of lines of at most 4095 bytes. To be freed. */
bool ss_link_log_read(const char *path, const struct ss_link_log_options *options, struct ss_link_log *out,
                      struct ss_error *error) SS_MUST_CHECK;
void ss_link_log_free(struct ss_link_log *log);

#endif
