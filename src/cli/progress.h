/* A progress bar on standard error: only on a terminal, only once a second has passed, gone when the work is done. */
#ifndef SS_CLI_PROGRESS_H
#define SS_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct ss_progress {
  const char *what; /* "points" */
  size_t done, all;
  struct timespec begin;
  bool wanted, shown;
};

struct ss_progress ss_progress_begin(const char *what, size_t all, bool quiet);
/* One more is done. Not to be called by two threads at once. */
void ss_progress_step(struct ss_progress *progress);
/* Clears the line. */
void ss_progress_end(struct ss_progress *progress);

#endif
