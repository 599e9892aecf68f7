/* How long each task lasts: its scheme, simulated with the rows that it carries. Every question is asked once,
 * however many systems ask it. */
#ifndef SS_TRAIN_DURATIONS_H
#define SS_TRAIN_DURATIONS_H

#include "base/watcher.h"
#include "train/lookups.h"
#include "train/system.h"

/* What one task carries, and how. */
struct ss_carried {
  struct ss_setting setting;
  uint32_t ranks;
  const struct ss_lookups *lookups; /* rows of an embedding; NULL: `bytes` of a dense tensor */
  enum ss_share_of_rows share;
  uint64_t bytes;
  enum ss_dtype dtype;
  struct ss_selection select; /* of a dense tensor's entries, when the scheme does not send it whole */
};

struct ss_duration {
  struct ss_carried carried;
  uint32_t period; /* iterations that differ */
  uint32_t draws;  /* of uneven links; 0: links are even */
  double *seconds; /* [1 + draws][period] on even links, then on those of each draw */
  double *sent;    /* [period] B over all ranks */
  double sampled;  /* 1; or how many times larger the tensor is than what was simulated */
};

struct ss_durations {
  struct ss_cluster cluster;
  struct ss_device device;
  bool verify; /* prove what can be proven; an unsound result is an error with status SS_UNPROVEN */
  struct ss_duration *duration;
  uint32_t count, capacity;
};

/* The place of the answer, which is there after ss_durations_make. */
bool ss_durations_want(struct ss_durations *durations, const struct ss_carried *carried, uint32_t *out,
                       struct ss_error *error) SS_MUST_CHECK;
/* Simulates what was wanted, on `jobs` threads (0: one a core). `watcher` (may be NULL) is told after
 * each. */
bool ss_durations_make(struct ss_durations *durations, unsigned jobs, const struct ss_watcher *watcher,
                       struct ss_error *error) SS_MUST_CHECK;
/* The same for several: what sends the same in more than one, over other links, is simulated once for all of them. */
bool ss_durations_make_all(struct ss_durations *const *all, size_t count, unsigned jobs,
                           const struct ss_watcher *watcher, struct ss_error *error) SS_MUST_CHECK;
void ss_durations_free(struct ss_durations *durations);

/* The same one by one, for those who share them out. A worker serves one thread; NULL: memory is short. */
struct ss_durations_worker;
struct ss_durations_worker *ss_durations_worker_new(const struct ss_durations *durations);
void ss_durations_worker_free(struct ss_durations_worker *worker);
bool ss_duration_answer(struct ss_durations_worker *worker, struct ss_duration *duration,
                        struct ss_error *error) SS_MUST_CHECK;
/* The answer as bytes, the caller's to free (NULL: memory is short), and taken from them by another process of this
 * program. */
void *ss_duration_pack(const struct ss_duration *duration, size_t *size);
bool ss_duration_unpack(struct ss_duration *duration, const void *bytes, size_t size,
                        struct ss_error *error) SS_MUST_CHECK;

#endif
