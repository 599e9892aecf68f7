/* How long each task lasts: its scheme, simulated with the rows that it carries. Everything is simulated once,
 * however many systems ask it. */
#pragma once

#include "base/identity.h"
#include "base/work.h"
#include "machine/uncertainty.h"
#include "sim/recording.h"
#include "train/lookups.h"
#include "train/system.h"

/* What one task carries, and how. */
struct ss_carried {
  struct ss_setting setting;
  uint32_t ranks;
  const struct ss_lookups *lookups; /* rows of an embedding; NULL: `bytes` of a dense tensor */
  enum ss_share_of_rows share;
  uint64_t bytes;
  bool staged;    /* through the memory of machines */
  double goodput; /* share of the bandwidth of links that it gets; 0 is 1 */
  double host;    /* B/s of the path to that memory; 0: as the cluster says */
  enum ss_dtype dtype;
  struct ss_selection select; /* of a dense tensor's entries, when the scheme does not send it whole */
};

struct ss_duration {
  struct ss_carried carried;
  struct ss_identity says;      /* what is carried and how, but for the rows themselves */
  uint32_t period;              /* iterations that differ */
  uint32_t draws;               /* of uneven links; 0: links are even */
  double *seconds;              /* [1 + draws][period] on even links, then on those of each draw */
  double *sent;                 /* [period] B over all ranks */
  double own, besides, server;  /* B, the most of all iterations: of a rank its gradient, and what else it holds; of a
                                   server all */
  struct ss_components share;   /* of its time on even links, in its first iteration; of what is uncertain */
  char link[SS_LINK_NAME_SIZE]; /* that needs longest in its first iteration; "": none */
  bool host; /* it is a path to host memory, or a port all of whose bytes flow as fast as that lets them */
  double link_share, link_startup; /* of its time, which that link needs at the very least; of that, for start-ups */
  double sampled;                  /* 1; or how many times larger the tensor is than what was simulated */
};

struct ss_durations {
  struct ss_cluster cluster;
  struct ss_device device;
  bool certain; /* nobody asks which share of a duration a component is */
  bool verify;  /* prove what can be proven; an unsound result is an error with status SS_UNPROVEN */
  struct ss_duration *duration;
  uint32_t count, capacity;
};

/* Where the answer is, which is there after ss_durations_make. */
bool ss_durations_want(struct ss_durations *durations, const struct ss_carried *carried, uint32_t *out,
                       struct ss_error *error) SS_MUST_CHECK;
/* Of what is carried by all of them, in their order, but for the rows themselves. */
struct ss_identity ss_durations_identity(const struct ss_durations *durations);

struct ss_durations_options {
  unsigned jobs;                    /* threads; 0: one a core */
  const struct ss_watcher *watcher; /* told after each simulation; NULL: nobody */
  /* Who runs all simulations, say on several processes; NULL: ss_work_run does. */
  bool (*run)(void *context, const struct ss_work *work, struct ss_error *error);
  void *context;
};
/* Simulates what was wanted by all of them: what sends the same in more than one, over other links, in one go. */
bool ss_durations_make(struct ss_durations *const *all, size_t count, const struct ss_durations_options *options,
                       struct ss_error *error) SS_MUST_CHECK;
/* The rounds of a duration's iterations, of the tensor as it is sampled. */
struct ss_rounds_of_duration {
  struct ss_recording *iteration; /* [period] */
  uint32_t period;
  struct ss_input shape; /* of the tensor; without its lists */
  double sampled;
};
/* Runs the scheme once more; what `out` holds is the caller's, also after a failure. */
bool ss_durations_record(const struct ss_durations *durations, uint32_t duration, struct ss_rounds_of_duration *out,
                         struct ss_error *error) SS_MUST_CHECK;
void ss_rounds_of_duration_free(struct ss_rounds_of_duration *rounds);
/* The cluster as the duration's messages find it in that iteration, and s that the call takes besides. */
struct ss_cluster ss_duration_cluster(const struct ss_duration *duration, const struct ss_input *shape,
                                      const struct ss_cluster *cluster, uint32_t iteration, double *start);

void ss_durations_free(struct ss_durations *durations);
/* SPDX-License-Identifier: Apache-2.0 */
