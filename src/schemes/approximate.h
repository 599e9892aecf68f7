/* One synchronisation of many ranks, of which a sample of rounds is played (docs/model.md, "A sample of rounds"). */
#pragma once

#include "schemes/simulate.h"

/* What is wished, and what came of it. */
struct ss_sampling {
  double wish;  /* share of the time that the error may be */
  double error; /* told: of the largest of all networks; 0: all was played */
  double share; /* of the messages that were played in the last sample; 1: all */
};

/* Is there a sample of what the setting sends that stands for all? False: an error that names those that have one. */
bool ss_sampling_check(const struct ss_setting *setting, struct ss_error *error) SS_MUST_CHECK;

/* Plays samples of rounds, each twice as large as the one before, until two estimates of the whole differ by less
 * than is wished, or all is played; `out` is what the last two say of the whole. world->share is not looked at,
 * nothing is proven, and there is no player but the networks. */
bool ss_simulate_sampled(const struct ss_setting *setting, const struct ss_world *world, const struct ss_input *input,
                         struct ss_sampling *sampling, struct ss_outcome *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
