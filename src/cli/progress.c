#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR = 30 };

struct ss_progress ss_progress_begin(const char *what, size_t all, bool quiet) {
  struct ss_progress p = {.what = what, .all = all, .wanted = !quiet && isatty(STDERR_FILENO)};
  clock_gettime(CLOCK_MONOTONIC, &p.begin);
  return p;
}

static double seconds_between(struct timespec a, struct timespec b) {
  return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

/* Characters of a line; a line that is longer than the terminal's could not be drawn over. */
static int line_width(void) {
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* "40 s", "12 min", "3 h": an estimate has no more digits. */
static void draw(struct ss_progress *p, double share, double elapsed) {
  const double left = elapsed * (1 - share) / share;
  const char *unit = left < 100 ? "s" : left < 6000 ? "min" : "h";
  char text[128];
  (void)snprintf(text, sizeof text, " %zu of %zu %s, about %.0f %s left", p->done, p->all, p->what,
                 left / (left < 100    ? 1
                         : left < 6000 ? 60
                                       : 3600),
                 unit);
  const int room = line_width() - 1, bar = room - (int)strlen(text) - 2 < BAR ? room - (int)strlen(text) - 2 : BAR;
  const int filled = (int)(bar * share);
  if (bar > 0)
    fprintf(stderr, "\r\033[K[%.*s%*s]%s", filled, "##############################", bar - filled, "", text);
  else fprintf(stderr, "\r\033[K%.*s", room, text + 1);
  p->shown = true;
}

static void advance(struct ss_progress *p, size_t steps, double work, double whole) {
  struct timespec now;
  p->done += steps;
  p->work += work;
  p->whole = whole;
  if (!p->wanted || !(p->work > 0)) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double elapsed = seconds_between(p->begin, now);
  if (elapsed < 1 || (p->shown && seconds_between(p->drawn, now) < 0.1)) return;
  p->drawn = now;
  draw(p, p->work < p->whole ? p->work / p->whole : 1, elapsed);
}

void ss_progress_tick(void *progress) {
  struct ss_progress *p = progress;
  if (p->done < p->all) advance(p, 1, 1, (double)p->all);
}

void ss_progress_end(struct ss_progress *p) {
  if (p->shown) fputs("\r\033[K", stderr);
  p->shown = false;
}

/* --- as a watcher ------------------------------------------------------------------------------------------- */

static struct ss_progress watched;

static void watcher_begin(void *context, const char *what, size_t all) {
  *(struct ss_progress *)context = ss_progress_begin(what, all, false);
}

static void watcher_advance(void *context, size_t steps, double work, double whole) {
  advance(context, steps, work, whole);
}

static void watcher_end(void *context) {
  ss_progress_end(context);
}

const struct ss_watcher ss_progress_watcher = {
    .begin = watcher_begin, .advance = watcher_advance, .end = watcher_end, .context = &watched};
