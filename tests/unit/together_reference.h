/* A second way to the timelines of trainings whose tasks are under way at once: instant by instant, every operation
 * and task looked at anew, all plays on the network of fair_reference.h, also those that are alone. Of the program it
 * takes the timetable's list of tasks, and the factors of jitter. */
#pragma once

#include "fair_reference.h"

#include "train/iterate.h"

/* The play of a task in an iteration, and s before its first round. */
struct reference_call {
  struct reference_begun play;
  double start;
};

struct reference_training {
  const struct ss_timetable *timetable; /* its split and step are used, its keys and channels are not */
  const struct ss_concurrency *concurrency;
  const struct ss_iterate_options *options;
  const struct ss_cluster *const *clusters; /* [count] of the network */
  uint32_t count, ranks;                    /* ranks: of the network */
  struct reference_call (*call)(void *context, uint32_t task, uint64_t iteration);
  void *context;
};

enum { REFERENCE_ITERATIONS = 32 };
struct reference_trained {
  double end[REFERENCE_ITERATIONS];
  double own, stall, split, step, busy, hidden; /* as ss_iterated has them */
};

void reference_train(const struct reference_training *in, struct reference_trained *out);
/* SPDX-License-Identifier: Apache-2.0 */
