#include "cli/command.h"

#include "exec/launch.h"

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30, FIRST_LINE = 10, LINES_APART = 600 };

struct progress {
  const char *what; /* "points" */
  size_t done, all;
  double work, whole; /* where steps are not alike: of what they take */
  struct timespec begin, drawn;
  bool wanted, shown;
  bool lines; /* mpirun is in between, which has the terminal: lines in place of the bar */
};

/* A terminal that can clear its line. */
static bool can_be_drawn(void) {
  const char *terminal = getenv("TERM");
  return isatty(STDERR_FILENO) && !(terminal && strcmp(terminal, "dumb") == 0);
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
static void draw(struct progress *p, double share, double elapsed) {
  const double left = elapsed * (1 - share) / share;
  const char *unit = left < 100 ? "s" : left < 6000 ? "min" : "h";
  char text[128];
  (void)snprintf(text, sizeof text, " %zu of %zu %s, about %.0f %s left", p->done, p->all, p->what,
                 left / (left < 100    ? 1
                         : left < 6000 ? 60
                                       : 3600),
                 unit);
  p->shown = !p->lines;
  if (p->lines) {
    fprintf(stderr, "sparsync:%s\n", text);
    return;
  }
  const int width = line_width() - 1, bar = width - (int)strlen(text) - 2 < BAR ? width - (int)strlen(text) - 2 : BAR;
  const int filled = (int)(bar * share);
  if (bar > 0)
    fprintf(stderr, "\r\033[K[%.*s%*s]%s", filled, "##############################", bar - filled, "", text);
  else fprintf(stderr, "\r\033[K%.*s", width, text + 1);
}

static void begin(void *context, const char *what, size_t all) {
  struct progress *p = context;
  const struct ss_launch launch = ss_launch_read();
  const bool drawn = launch.rank == 0 && can_be_drawn();
  *p = (struct progress){.what = what, .all = all, .wanted = drawn || (launch.several && launch.rank == 0)};
  p->lines = p->wanted && !drawn;
  clock_gettime(CLOCK_MONOTONIC, &p->begin);
  p->drawn = p->begin;
}

static void advance(void *context, size_t steps, double work, double whole) {
  struct progress *p = context;
  struct timespec now;
  p->done += steps;
  p->work += work;
  if (whole > 0) p->whole = whole;
  if (!p->wanted || !(p->work > 0)) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double elapsed = seconds_between(p->begin, now), since = seconds_between(p->drawn, now);
  const double least = p->lines ? fmin(fmax(FIRST_LINE, elapsed - since), LINES_APART) : p->shown ? 0.1 : 1;
  if (since < least || (p->lines && p->done == p->all)) return;
  p->drawn = now;
  draw(p, p->work < p->whole ? p->work / p->whole : 1, elapsed);
}

static void end(void *context) {
  struct progress *p = context;
  if (p->shown) fputs("\r\033[K", stderr);
  p->shown = false;
}

static struct progress shown;

const struct ss_watcher ss_progress_watcher = {.begin = begin, .advance = advance, .end = end, .context = &shown};
/* SPDX-License-Identifier: Apache-2.0 */
