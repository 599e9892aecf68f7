/* Somebody who is told how far a long computation is, say a progress bar. */
#ifndef SS_BASE_WATCHER_H
#define SS_BASE_WATCHER_H

#include <stddef.h>

/* Calls come one at a time, from any thread. */
struct ss_watcher {
  /* `all` steps follow; what: "points". */
  void (*begin)(void *context, const char *what, size_t all);
  /* So many more steps are done, which are `work` of `whole`: of what all of them take, where steps are not alike. */
  void (*advance)(void *context, size_t steps, double work, double whole);
  void (*end)(void *context);
  void *context;
};

/* The same of a watcher that may be NULL. */
static inline void ss_watcher_begin(const struct ss_watcher *watcher, const char *what, size_t all) {
  if (watcher) watcher->begin(watcher->context, what, all);
}
static inline void ss_watcher_advance(const struct ss_watcher *watcher, size_t steps, double work, double whole) {
  if (watcher) watcher->advance(watcher->context, steps, work, whole);
}
static inline void ss_watcher_end(const struct ss_watcher *watcher) {
  if (watcher) watcher->end(watcher->context);
}

#endif
