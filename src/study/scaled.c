#include "study/scaled.h"

#include "study/study_internal.h"

const double ss_scaled_factors[SS_SCALED_STEPS] = {0.25, 0.5, 1, 2, 4};

enum { NETWORKS = SS_SCALED_STEPS * SS_SCALED_STEPS, OWN = SS_SCALED_OWN * SS_SCALED_STEPS + SS_SCALED_OWN };

static void scale(struct ss_cluster *cluster, double latency, double byte_time) {
  ss_cluster_scale_component(cluster, SS_LATENCY, latency);
  ss_cluster_scale_component(cluster, SS_TRANSFER, byte_time);
  if (!cluster->has_exchange) return;
  ss_cluster_scale_component(cluster, SS_EXCHANGE_LATENCY, latency);
  ss_cluster_scale_component(cluster, SS_EXCHANGE_TRANSFER, byte_time);
}

/* The study on one of the networks; its points go to `points`. */
static void study_on(const struct ss_study *study, int network, struct ss_point *points, struct ss_study *out) {
  const double latency = ss_scaled_factors[network / SS_SCALED_STEPS],
               bandwidth = ss_scaled_factors[network % SS_SCALED_STEPS];
  *out = *study;
  out->request.listener = NULL;
  out->request.notice = NULL;
  out->point = points;
  for (size_t i = 0; i < study->count; i++) {
    points[i] = study->point[i];
    points[i].verify = false;
    points[i].uncertainty = points[i].dense_uncertainty = ss_certain;
    points[i].extrapolation = NULL;
    points[i].cluster.jitter.draws = 0;
    scale(&points[i].cluster, latency, 1 / bandwidth);
  }
}

static void take_times(const struct ss_results *results, int network, ss_scaled_times *out) {
  for (size_t i = 0; i < results->count; i++)
    out[i][network / SS_SCALED_STEPS][network % SS_SCALED_STEPS] = results->result[i].time;
}

/* All at once: points that send the same are simulated together (study/rounds.h). */
bool ss_study_scaled(const struct ss_study *study, const struct ss_results *results,
                     const struct ss_run_options *options, ss_scaled_times **out, struct ss_error *error) {
  const struct ss_run_options plain = {.jobs = options->jobs, .watcher = options->watcher};
  const size_t others = NETWORKS - 1;
  SS_AUTO_FREE struct ss_point *points = ss_alloc(study->count, others * sizeof *points);
  SS_AUTO_FREE struct ss_study *on = ss_alloc(others, sizeof *on);
  SS_AUTO_FREE ss_scaled_times *times = ss_alloc(results->count, sizeof *times);
  const struct ss_study *list[NETWORKS - 1];
  struct ss_results found[NETWORKS - 1];
  if (!points || !on || !times) return ss_fail_memory(error, "playing other networks");
  take_times(results, OWN, times);
  for (size_t k = 0; k < others; k++) {
    study_on(study, k < OWN ? (int)k : (int)k + 1, points + k * study->count, &on[k]);
    list[k] = &on[k];
  }
  if (!ss_studies_run(list, others, &plain, found, error)) return false;
  for (size_t k = 0; k < others; k++) {
    take_times(&found[k], k < OWN ? (int)k : (int)k + 1, times);
    ss_results_free(&found[k]);
  }
  *out = times;
  times = NULL;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
