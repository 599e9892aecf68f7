#include "calibration/observations.h"

bool ss_reading_suppose(const struct ss_reading *reading, enum ss_collective collective, struct ss_observation *one,
                        struct ss_error *error) {
  const char *algorithm = NULL;
  for (size_t i = 0; i < reading->supposes; i++) {
    char name[32];
    const char *text = reading->suppose[i], *equals = strchr(text, '=');
    (void)snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - text) : 0, text);
    const enum ss_collective of = ss_collective_of(name);
    if (!equals || of == SS_COLLECTIVES)
      return ss_fail(error, SS_BAD_INPUT, "--suppose: \"%s\" is not COLLECTIVE=ALGORITHM (say allreduce=ring)", text);
    if (of != collective) continue;
    if (algorithm) return ss_fail(error, SS_BAD_INPUT, "--suppose: two algorithms of %s: say one", name);
    algorithm = equals + 1;
    reading->supposed[i] = true;
  }
  one->supposed = collective < SS_SENDRECV;
  one->open = one->supposed && !algorithm;
  if (one->open && collective == SS_ALLTOALL && !ss_library_mpi(one->library)) algorithm = "linear";
  one->algorithm = ss_algorithm_of(collective, algorithm);
  return one->algorithm || ss_fail(error, SS_BAD_INPUT, "--suppose: %s has no algorithm \"%s\"",
                                   ss_collective_names[collective], algorithm);
}

static void tell_skipped(struct ss_observations *all, const struct ss_reading *reading,
                         const struct ss_observation *one, double size) {
  char text[256];
  all->skipped++;
  (void)snprintf(text, sizeof text, "%.120s: line %" PRIu32 ": no time of %.0f B: left out",
                 all->source[all->sources - 1], one->line, size);
  ss_notice_tell(reading->notice, text);
}

bool ss_observations_add(struct ss_observations *all, const struct ss_reading *reading, double size,
                         const struct ss_observation *one, struct ss_error *error) {
  if (size < reading->least || size > reading->most) return true;
  if (!(one->seconds > 0)) {
    tell_skipped(all, reading, one, size);
    return true;
  }
  if ((uint64_t)one->nodes * one->per_node > SS_OBSERVATION_RANKS)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: line %" PRIu32 ": %" PRIu64 " ranks are more than can be played in reasonable time (%d)",
                   all->source[all->sources - 1], one->line, (uint64_t)one->nodes * one->per_node,
                   SS_OBSERVATION_RANKS);
  if (all->count == SS_OBSERVATIONS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu32 ": more rows than can be fitted together (%d)",
                   all->source[all->sources - 1], one->line, SS_OBSERVATIONS_MAX);
  if (!ss_grow_by_one(all->list, all->count)) return ss_fail_memory(error, "reading times");
  all->list[all->count] = *one;
  all->list[all->count++].source = all->sources - 1;
  return true;
}

void ss_observations_free(struct ss_observations *all) {
  for (uint32_t i = 0; i < all->sources; i++) free(all->source[i]);
  free(all->source);
  free(all->list);
  *all = (struct ss_observations){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
