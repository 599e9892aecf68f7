#include "study/window.h"

#include "study/ranges.h"
#include "study/study_internal.h"

/* As in `check`: nearer times are equal. */
static const double ROUNDING = 1e-9;

/* --- the other window --------------------------------------------------------------------------------------- */

/* The points that have a window, with the other one where no draw has it; proofs were made already. */
static struct ss_point *other_points(const struct ss_study *study, size_t *count) {
  struct ss_point *points = ss_alloc(study->count, sizeof *points);
  *count = 0;
  for (size_t i = 0; points && i < study->count; i++) {
    struct ss_point point = study->point[i];
    if (!ss_cluster_fair(&point.cluster) || point.ranks == 1) continue;
    if (ss_component_uncertain(&point.uncertainty, SS_WINDOW)) continue;
    point.cluster.window = ss_other_window(ss_cluster_window_of(&point.cluster, true), point.ranks);
    point.verify = false;
    point.uncertainty = ss_certain;
    point.extrapolation = NULL; /* as far off as it is known to be */
    points[(*count)++] = point;
  }
  return points;
}

/* --- what turns --------------------------------------------------------------------------------------------- */

/* The n schemes of one cell and tensor, under one window and the other: is another one the fastest there? */
static bool compare(const struct ss_result *here, const struct ss_result *there, size_t n, uint32_t window,
                    struct ss_turns *out, struct ss_error *error) {
  const struct ss_result *best, *other, *next;
  ss_results_rank(here, n, &best, &next);
  ss_results_rank(there, n, &other, &next);
  const struct ss_result *slower = &here[other - there], *faster_other = &there[best - here];
  const bool turns = slower->time - best->time > ROUNDING * slower->time &&
                     faster_other->time - other->time > ROUNDING * faster_other->time;
  if (!turns) return true;
  if (!ss_grow_by_one(out->turn, out->count)) return ss_fail_memory(error, "comparing rankings");
  out->turn[out->count++] = (struct ss_turn){.faster = best,
                                             .slower = slower,
                                             .faster_other = faster_other->time,
                                             .slower_other = other->time,
                                             .window = window,
                                             .other = ss_other_window(window, best->ranks)};
  return true;
}

/* The window of the study's points in the cell of a result. */
static uint32_t window_at(const struct ss_study *study, const struct ss_result *result) {
  for (size_t i = 0; i < study->count; i++)
    if (study->point[i].at == result->at && study->point[i].ranks == result->ranks)
      return ss_cluster_window_of(&study->point[i].cluster, true);
  return 1;
}

/* Both lists have one order; what has no window stands in the first alone. */
static bool compare_all(const struct ss_study *study, const struct ss_results *here, const struct ss_results *there,
                        struct ss_turns *out, struct ss_error *error) {
  for (size_t i = 0, k = 0, n; i < here->count && k < there->count; i += n) {
    const struct ss_result *a = &here->result[i], *b = &there->result[k];
    n = ss_results_in_cell(a, here->count - i);
    if (!ss_result_same_cell(a, b) || strcmp(a->setting.label, b->setting.label) != 0) continue;
    if (!compare(a, b, n, window_at(study, a), out, error)) return false;
    k += n;
  }
  return true;
}

bool ss_study_turns(const struct ss_study *study, const struct ss_results *results,
                    const struct ss_run_options *options, struct ss_turns *out, struct ss_error *error) {
  struct ss_study other = *study;
  struct ss_results there = {0};
  other.request.listener = NULL;
  other.request.notice = NULL; /* all was told of the cluster's own */
  *out = (struct ss_turns){0};
  SS_AUTO_FREE struct ss_point *points = other.point = other_points(study, &other.count);
  if (!points) return ss_fail_memory(error, "comparing rankings");
  if (other.count == 0) return true;
  const struct ss_run_options plain = {.jobs = options->jobs, .watcher = options->watcher};
  const bool ok = ss_study_run(&other, &plain, &there, error) && compare_all(study, results, &there, out, error);
  ss_results_free(&there);
  if (!ok) ss_turns_free(out);
  return ok;
}

void ss_turns_free(struct ss_turns *turns) {
  free(turns->turn);
  *turns = (struct ss_turns){0};
}

/* --- in words ----------------------------------------------------------------------------------------------- */

const char *ss_window_text(uint32_t window, char text[16]) {
  if (window == UINT32_MAX) return "all";
  snprintf(text, 16, "%u", window);
  return text;
}

const char *ss_turn_text(const struct ss_turn *t, char *buffer, size_t size) {
  char window[16], other[16], time[4][32];
  const double seconds[] = {t->faster->time, t->slower->time, t->faster_other, t->slower_other};
  for (size_t i = 0; i < 4; i++) ss_units_format(time[i], sizeof time[i], SS_TIME, seconds[i]);
  snprintf(buffer, size, "with window %s %s%s takes %s and %s%s %s, with window %s %s and %s (as numbers are given)",
           ss_window_text(t->window, window), t->faster->setting.label, ss_result_needs(t->faster), time[0],
           t->slower->setting.label, ss_result_needs(t->slower), time[1], ss_window_text(t->other, other), time[2],
           time[3]);
  return buffer;
}
/* SPDX-License-Identifier: Apache-2.0 */
