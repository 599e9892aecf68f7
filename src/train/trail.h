/* When iterations repeat: what happened in each, by how long after the end of the one before. */
#pragma once

#include "base/base.h"

struct ss_trail {
  double *instant; /* [count] s */
  size_t count, capacity;
  size_t *first; /* [iterations + 1] of each iteration that has ended, and of the one that goes on */
  size_t iterations, marks;
  bool short_of_memory; /* nothing is kept any more, and nothing repeats */
};

/* Something happened, so long after the last iteration's end. */
void ss_trail_note(struct ss_trail *trail, double since);
void ss_trail_end_iteration(struct ss_trail *trail);
/* Did all of the last `cycle` iterations go as those `cycle` before, up to rounding? */
bool ss_trail_repeats(const struct ss_trail *trail, size_t cycle);
void ss_trail_free(struct ss_trail *trail);
/* SPDX-License-Identifier: Apache-2.0 */
