/* Results on networks that are faster and slower than the study's: what the sliders of a page stand on. */
#pragma once

#include "study/study.h"

/* How many times as long a start-up, or as fast a byte, is at each step; the middle one is the study's own network.
 */
enum { SS_SCALED_STEPS = 5, SS_SCALED_OWN = 2 };
extern const double ss_scaled_factors[SS_SCALED_STEPS];

/* [results][latency][bandwidth], s: the time of each result where all latencies between nodes, and all bandwidths,
 * are so many times those of its cluster (ss_cluster_scale_component; exchanges with their own numbers alike).
 * Kernels and links inside nodes stay as they are. */
typedef double ss_scaled_times[SS_SCALED_STEPS][SS_SCALED_STEPS];

/* Simulates the points of the study anew on each of these networks, but for its own, without proofs and on even
 * links. `results`: of this study. *out: one for each of them, the caller's. */
bool ss_study_scaled(const struct ss_study *study, const struct ss_results *results,
                     const struct ss_run_options *options, ss_scaled_times **out,
                     struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
