/* Trainings that numbers of a table are of, simulated once, and what these numbers are under any choice of what is
 * between the wire and the clock (train/assumed.h). */
#pragma once

#include "study/training_times.h"
#include "study/trainings.h"

struct ss_replays;

struct ss_replays_request {
  const struct ss_training_times *times; /* outlive what is opened */
  bool varied[SS_UNKNOWNS]; /* which unknowns will be chosen: goodput and host bandwidth are simulated at several
                               values, between which durations are straight lines over 1/value */
  const struct ss_notice *notice; /* NULL: nobody */
  struct ss_run_options run;
};
/* Opens and simulates; to be closed. Errors of models and scenarios name the table's line. */
bool ss_replays_open(const struct ss_replays_request *request, struct ss_replays **out,
                     struct ss_error *error) SS_MUST_CHECK;
void ss_replays_close(struct ss_replays *replays);

/* All numbers, as `measured` has them, for each of `sets` choices: into out[sets][times]. NaN: a ratio of nothing. */
bool ss_replays_predict(struct ss_replays *replays, const struct ss_inferred *set, size_t sets, double *out,
                        struct ss_error *error) SS_MUST_CHECK;

/* Names of what is played, by kind (0 workloads, 1 systems, 2 clusters): the i-th, each once; NULL behind the last.
 */
const char *ss_replays_name(const struct ss_replays *replays, int kind, size_t i);
/* Does time i depend on trainings of that workload, system and cluster? NULL: any. */
bool ss_replays_touches(const struct ss_replays *replays, size_t i, const struct ss_inferred_number *number);
/* Plays that were made. */
size_t ss_replays_plays(const struct ss_replays *replays);
/* SPDX-License-Identifier: Apache-2.0 */
