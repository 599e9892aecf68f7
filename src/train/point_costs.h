/* What a point of a training takes beside its communication: Algorithm 1, software, memory; and what bounds it. */
#pragma once

#include "train/training.h"

/* Times EmbRace's Algorithm 1 where the timetable splits and nobody did so before. */
bool ss_point_fill_split(const struct ss_training *training, struct ss_training_point *p,
                         struct ss_error *error) SS_MUST_CHECK;
/* Times the software before forward passes; keeps what the optimizer goes through where it is asked for. */
bool ss_point_fill_steps(const struct ss_training *training, struct ss_training_point *p,
                         struct ss_error *error) SS_MUST_CHECK;
/* B that a rank holds at most: parameters, the optimizer's states, gradients and residuals, and on each channel the
 * largest task (docs/training.md, "Memory"). */
double ss_point_memory(const struct ss_training *training, const struct ss_training_point *p);
/* B that a server holds at most; 0: there is none. */
double ss_point_server_memory(const struct ss_training *training, const struct ss_training_point *p);
/* Sets the shares of the critical path, which was found, and what bounds it. */
void ss_point_find_bound(const struct ss_training *training, struct ss_training_point *p);
/* SPDX-License-Identifier: Apache-2.0 */
