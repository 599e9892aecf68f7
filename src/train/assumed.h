/* What is assumed of a training where nobody measured it: numbers between the wire and the clock, each of which may
 * be said of one workload, system or cluster (docs/ranges.md, "What a clock holds beside the wire"); and iterations
 * played once more with other such numbers, without simulating anything anew. */
#pragma once

#include "machine/accuracy.h"
#include "train/iterate.h"

struct ss_training;
struct ss_training_point;

enum ss_unknown {
  SS_UNKNOWN_COMPUTE,        /* factor on forward and backward times */
  SS_UNKNOWN_STEP,           /* s; this and the next three: struct ss_software */
  SS_UNKNOWN_STEP_PER_BYTE,  /* s/B */
  SS_UNKNOWN_CALL,           /* s */
  SS_UNKNOWN_COPY,           /* B/s */
  SS_UNKNOWN_INTERFERENCE,   /* struct ss_concurrency */
  SS_UNKNOWN_HOST_BANDWIDTH, /* B/s, of the path to the memory of machines */
  SS_UNKNOWN_GOODPUT,        /* share of the bandwidth of links that messages get */
  SS_UNKNOWNS
};
/* "compute", "software.step", "software.step_per_byte", "software.call", "software.copy", "interference",
 * "host.bandwidth", "goodput"; NULL-terminated. */
extern const char *const ss_unknown_names[];
/* "s", "s/B", "B/s", or "" of a factor. */
const char *ss_unknown_unit(enum ss_unknown unknown);

/* Values by enum ss_unknown; NaN: as workload, system and cluster say. */
struct ss_assumed {
  double value[SS_UNKNOWNS];
};
extern const struct ss_assumed ss_nothing_assumed;

/* A number, and of what it holds; a NULL name: of all. */
struct ss_inferred_number {
  enum ss_unknown what;
  const char *workload, *system, *cluster;
  double value, low, high; /* 90% of what it may be lies between; NaN: nobody says */
};
/* Of whom several hold, the one that names most counts, the later one of those that name as much. */
struct ss_inferred {
  const struct ss_inferred_number *number;
  size_t count;
  struct ss_spread within; /* of times that are predicted with it; 0: nobody says */
};
/* What holds of that training; a NULL list: nothing does. */
struct ss_assumed ss_inferred_of(const struct ss_inferred *inferred, const char *workload, const char *system,
                                 const char *cluster);

/* Does it say anything? */
bool ss_assumed_says(const struct ss_assumed *assumed);

/* Puts what is assumed in the place of what a system says of software and interference. */
void ss_assumed_apply(const struct ss_assumed *assumed, struct ss_concurrency *concurrency);

/* --- played once more --------------------------------------------------------------------------------------- */

/* The same point of a training that was simulated with other links: tasks last the weighted sum of all that are
 * listed. */
struct ss_mixed_point {
  const struct ss_training *training;
  const struct ss_training_point *point;
  double weight;
};

/* Plays the point's iterations with `assumed` in the place of its own; `mixed`, [count], are points alike, the first
 * the point itself. Only `mean`, `own`, `stall`, `split`, `step`, `busy` and `hidden` of *out are told. Needs
 * ss_training_play before. Where tasks share a network their schemes run once more, to have their rounds. */
bool ss_training_replay(const struct ss_mixed_point *mixed, size_t count, const struct ss_assumed *assumed,
                        struct ss_iterated *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
