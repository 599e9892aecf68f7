#include "train/assumed.h"

#include "train/recorded.h"
#include "train/training.h"

const char *const ss_unknown_names[] = {"compute",        "software.step", "software.step_per_byte",
                                        "software.call",  "software.copy", "interference",
                                        "host.bandwidth", "goodput",       NULL};

const char *ss_unknown_unit(enum ss_unknown unknown) {
  static const char *const units[SS_UNKNOWNS] = {"", "s", "s/B", "s", "B/s", "", "B/s", ""};
  return units[unknown];
}

const struct ss_assumed ss_nothing_assumed = {{NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}};

/* How many names it says, if it holds of that training; -1: it does not. */
static int names_of(const struct ss_inferred_number *n, const char *workload, const char *system,
                    const char *cluster) {
  const char *const said[] = {n->workload, n->system, n->cluster}, *const is[] = {workload, system, cluster};
  int names = 0;
  for (int i = 0; i < 3; i++) {
    if (!said[i]) continue;
    if (strcmp(said[i], is[i]) != 0) return -1;
    names++;
  }
  return names;
}

struct ss_assumed ss_inferred_of(const struct ss_inferred *inferred, const char *workload, const char *system,
                                 const char *cluster) {
  struct ss_assumed out = ss_nothing_assumed;
  int most[SS_UNKNOWNS] = {0};
  for (size_t i = 0; inferred && i < inferred->count; i++) {
    const struct ss_inferred_number *n = &inferred->number[i];
    const int names = names_of(n, workload, system, cluster);
    if (names < most[n->what]) continue;
    most[n->what] = names;
    out.value[n->what] = n->value;
  }
  return out;
}

bool ss_assumed_says(const struct ss_assumed *a) {
  bool says = false;
  for (int i = 0; i < SS_UNKNOWNS; i++) says = says || !isnan(a->value[i]);
  return says;
}

void ss_assumed_apply(const struct ss_assumed *assumed, struct ss_concurrency *concurrency) {
  struct ss_software *s = &concurrency->software;
  double *const place[SS_UNKNOWNS] = {[SS_UNKNOWN_STEP] = &s->step,
                                      [SS_UNKNOWN_STEP_PER_BYTE] = &s->step_per_byte,
                                      [SS_UNKNOWN_CALL] = &s->call,
                                      [SS_UNKNOWN_COPY] = &s->copy,
                                      [SS_UNKNOWN_INTERFERENCE] = &concurrency->interference};
  for (int i = 0; i < SS_UNKNOWNS; i++)
    if (place[i] && !isnan(assumed->value[i])) *place[i] = assumed->value[i];
}

/* --- played once more --------------------------------------------------------------------------------------- */

static bool mix(const struct ss_mixed_point *mixed, size_t count, struct ss_timetable *out, struct ss_arena *arena) {
  const struct ss_timetable *own = &mixed->point->timetable;
  if (!ss_take(arena, out->task, own->tasks)) return false;
  memcpy(out->task, own->task, own->tasks * sizeof *own->task);
  for (uint32_t i = 0; count > 1 && i < own->tasks; i++) {
    double *seconds = ss_arena_zero(arena, own->task[i].period, sizeof *seconds);
    if (!seconds) return false;
    for (size_t k = 0; k < count; k++)
      for (uint32_t t = 0; t < own->task[i].period; t++)
        seconds[t] += mixed[k].weight * mixed[k].point->timetable.task[i].seconds[t];
    out->task[i].seconds = seconds;
  }
  return true;
}

/* The cluster's links as tasks that share them find them. */
static struct ss_cluster links_of(const struct ss_training *training, const struct ss_assumed *assumed) {
  struct ss_cluster cluster = training->durations.cluster;
  const double goodput = assumed->value[SS_UNKNOWN_GOODPUT], host = assumed->value[SS_UNKNOWN_HOST_BANDWIDTH];
  const double path = isnan(host) ? cluster.host.bandwidth : host;
  if (!isnan(goodput))
    ss_cluster_scale(&cluster,
                     &(struct ss_cluster_factors){.latency = 1, .byte_time = 1 / goodput, .intra_bandwidth = 1});
  cluster.host.bandwidth = path;
  return cluster;
}

static bool play(const struct ss_training *training, const struct ss_timetable *t, const struct ss_assumed *assumed,
                 struct ss_iterate_options *options, struct ss_iterated *out, struct ss_error *error) {
  SS_AUTO(ss_recorded_close) struct ss_recorded recorded = {0};
  if (!ss_concurrency_needs_network(&t->policy.concurrency)) return ss_iterate(t, options, out, error);
  const struct ss_cluster cluster = links_of(training, assumed);
  if (!ss_recorded_open(&recorded, &training->durations, t, error)) return false;
  options->network = ss_recorded_on(&recorded, &cluster, 1);
  return options->network ? ss_iterate(t, options, out, error) : ss_fail_memory(error, "playing iterations");
}

bool ss_training_replay(const struct ss_mixed_point *mixed, size_t count, const struct ss_assumed *assumed,
                        struct ss_iterated *out, struct ss_error *error) {
  SS_AUTO(ss_arena_free) struct ss_arena arena = {0};
  const struct ss_training_point *p = mixed->point;
  struct ss_iterate_options options = p->options;
  struct ss_timetable t = p->timetable;
  const double compute = assumed->value[SS_UNKNOWN_COMPUTE];
  ss_assumed_apply(assumed, &t.policy.concurrency);
  options.compute = mixed->training->options.compute * (isnan(compute) ? 1 : compute) *
                    ss_training_crowded(mixed->training, p->ranks);
  options.recorded = 1;
  if (options.iterations > 2 * options.warmup) options.iterations = 2 * options.warmup; /* a cycle tells as much */
  if (!mix(mixed, count, &t, &arena)) return ss_fail_memory(error, "playing iterations");
  if (!ss_training_steps(p, &t, &arena, error) || !play(mixed->training, &t, assumed, &options, out, error))
    return false;
  const struct ss_iterated played = *out;
  ss_iterated_free(out);
  *out = (struct ss_iterated){.mean = played.mean,
                              .own = played.own,
                              .stall = played.stall,
                              .split = played.split,
                              .step = played.step,
                              .busy = played.busy,
                              .hidden = played.hidden};
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
