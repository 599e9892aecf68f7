#include "base/watcher.h"

static void advance(void *context, size_t steps, double work, double whole) {
  struct ss_watched_step *step = context;
  (void)steps; /* they are not those of the longer computation */
  if (!(work > 0 && whole > 0)) return;
  const double more = fmin(step->work * work / whole, step->work - step->told);
  step->told += more;
  ss_watcher_advance(step->longer, 0, more, step->whole);
}

static bool stops(void *context) {
  const struct ss_watcher *longer = ((const struct ss_watched_step *)context)->longer;
  return longer && longer->stops && longer->stops(longer->context);
}

struct ss_watcher ss_watched_step_watcher(struct ss_watched_step *step) {
  return (struct ss_watcher){.advance = advance, .stops = stops, .context = step};
}

void ss_watched_step_end(struct ss_watched_step *step) {
  ss_watcher_advance(step->longer, 0, step->work - step->told, step->whole);
  step->told = step->work;
}
/* SPDX-License-Identifier: Apache-2.0 */
