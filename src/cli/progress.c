#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR = 30 };

struct ss_progress ss_progress_begin(const char *what, size_t all, bool quiet) {
  struct ss_progress p = {.what = what, .all = all, .wanted = !quiet && isatty(STDERR_FILENO)};
  clock_gettime(CLOCK_MONOTONIC, &p.begin);
  return p;
}

void ss_progress_step(struct ss_progress *p) {
  struct timespec now;
  p->done++;
  if (!p->wanted) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  double elapsed = (double)(now.tv_sec - p->begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - p->begin.tv_nsec);
  if (elapsed < 1) return;
  double left = elapsed * (double)(p->all - p->done) / (double)p->done;
  int filled = (int)(BAR * p->done / p->all);
  fprintf(stderr, "\r[%.*s%*s] %zu of %zu %s, about %.0f s left ", filled, "##############################",
          BAR - filled, "", p->done, p->all, p->what, left);
  p->shown = true;
}

void ss_progress_end(struct ss_progress *p) {
  if (p->shown) fputs("\r\033[K", stderr);
  p->shown = false;
}
