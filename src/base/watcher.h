/* Somebody who is told how far a long computation is, say a progress bar, and who may end it. */
#pragma once

#include "base/base.h"

/* Calls come one at a time, from any thread; only `stops` may be asked by several at once. A function that is NULL is
 * not called. */
struct ss_watcher {
  /* `all` steps follow; what: "points". */
  void (*begin)(void *context, const char *what, size_t all);
  /* So many more steps are done, which are `work` of `whole`: of what all of them take, where steps are not alike.
   * Both may be told apart: no steps, or no work (0 of 0). */
  void (*advance)(void *context, size_t steps, double work, double whole);
  void (*end)(void *context);
  /* Is the computation to end, with the status SS_CANCELLED? */
  bool (*stops)(void *context);
  void *context;
};

/* The same of a watcher that may be NULL. */
static inline void ss_watcher_begin(const struct ss_watcher *watcher, const char *what, size_t all) {
  if (watcher && watcher->begin) watcher->begin(watcher->context, what, all);
}
static inline void ss_watcher_advance(const struct ss_watcher *watcher, size_t steps, double work, double whole) {
  if (watcher && watcher->advance) watcher->advance(watcher->context, steps, work, whole);
}
static inline void ss_watcher_end(const struct ss_watcher *watcher) {
  if (watcher && watcher->end) watcher->end(watcher->context);
}
/* One step of a longer computation, which is itself one that tells how far it is: the longer one moves on within the
 * step. */
struct ss_watched_step {
  const struct ss_watcher *longer; /* who watches the longer one; NULL: nobody */
  double work, whole;              /* of the step, and of all steps */
  double told;                     /* of the step's work, so far */
};
/* Who is to watch the step, which the watcher points to. */
struct ss_watcher ss_watched_step_watcher(struct ss_watched_step *step);
/* The step is over: what its computation did not tell is told. */
void ss_watched_step_end(struct ss_watched_step *step);

/* Asked wherever much work begins; false: with that error. */
static inline bool ss_watcher_goes_on(const struct ss_watcher *watcher, struct ss_error *error) {
  return !watcher || !watcher->stops || !watcher->stops(watcher->context) ||
         ss_fail(error, SS_CANCELLED, "cancelled before it was done");
}
/* SPDX-License-Identifier: Apache-2.0 */
