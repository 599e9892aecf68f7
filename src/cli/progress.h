/* A progress bar on standard error: only on a terminal, only once a second has passed, gone when the work is done. */
#ifndef SS_CLI_PROGRESS_H
#define SS_CLI_PROGRESS_H

#include "base/watcher.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct ss_progress {
  const char *what; /* "points" */
  size_t done, all;
  double work, whole; /* where steps are not alike: of what they take */
  struct timespec begin, drawn;
  bool wanted, shown;
};

struct ss_progress ss_progress_begin(const char *what, size_t all, bool quiet);
/* One more is done; steps beyond all are not shown. For functions that report steps to a `context`, which is the
 * progress. Not to be called by two threads at once. */
void ss_progress_tick(void *progress);
/* The same for those who only know that somebody watches: one computation at a time. */
extern const struct ss_watcher ss_progress_watcher;
/* Clears the line. */
void ss_progress_end(struct ss_progress *progress);

#endif
