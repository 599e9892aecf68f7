#include "train/trail.h"

/* Sums of the same times in another order differ by less, of what is as long as an iteration. */
static const double ROUNDING = 1e-11;

void ss_trail_note(struct ss_trail *trail, double since) {
  if (trail->short_of_memory || !ss_grow(trail->instant, trail->capacity, trail->count + 1)) {
    trail->short_of_memory = true;
    return;
  }
  trail->instant[trail->count++] = since;
}

void ss_trail_end_iteration(struct ss_trail *trail) {
  if (trail->short_of_memory || !ss_grow(trail->first, trail->marks, trail->iterations + 2)) {
    trail->short_of_memory = true;
    return;
  }
  if (trail->iterations == 0) trail->first[0] = 0;
  trail->first[++trail->iterations] = trail->count;
}

bool ss_trail_repeats(const struct ss_trail *trail, size_t cycle) {
  const size_t n = trail->iterations;
  if (trail->short_of_memory || n < 2 * cycle) return false;
  const size_t now = trail->first[n - cycle], before = trail->first[n - 2 * cycle];
  const size_t count = trail->first[n] - now;
  double longest = 0;
  if (now - before != count) return false;
  for (size_t i = 0; i < count; i++) longest = fmax(longest, fabs(trail->instant[now + i]));
  for (size_t i = 0; i < count; i++)
    if (fabs(trail->instant[now + i] - trail->instant[before + i]) > ROUNDING * longest) return false;
  return true;
}

void ss_trail_free(struct ss_trail *trail) {
  free(trail->instant);
  free(trail->first);
}
/* SPDX-License-Identifier: Apache-2.0 */
