/* How good a calibration is: what was measured, predicted without it. One collective after the other, or one number
 * of nodes, is left out, the cluster is fitted to the others, and what was left out is predicted. */
#pragma once

#include "calibration/accuracy.h"

/* What is left out in turn, whatever it is of: group by group, all that belong to it together. */
struct ss_leaving {
  void *context; /* what both functions get */
  size_t groups, count;
  bool (*takes)(void *context, size_t group, size_t i);
  /* Fits to all but left_out [count], and predicts those. */
  bool (*predict)(void *context, size_t group, const bool *left_out, struct ss_error *error);
  const struct ss_watcher *watcher; /* told after each group; NULL: nobody */
};
bool ss_leave_each(const struct ss_leaving *leaving, struct ss_error *error) SS_MUST_CHECK;

/* How far off a time may be that is predicted by a cluster fitted to others. */
struct ss_range {
  struct ss_spread within;
  enum ss_accuracy_class class;
  double nodes_doubled, size_doubled; /* beyond what was measured */
  size_t part;                        /* by whose errors */
};

struct ss_validation {
  const struct ss_observations *observations;
  enum ss_leave_out left_out;
  double *predicted;      /* [observations] s; NAN: it was fitted to, or nothing could be fitted without its group */
  struct ss_range *range; /* [observations] NULL: nobody asked */
  struct ss_own_errors *own; /* [parts] of each part that was fitted to */
  size_t parts;
  uint32_t unfit;   /* groups without which nothing could be fitted */
  char reason[256]; /* why the first could not */
};

/* `fitted`: of SS_LEAVE_OTHERS, which of the list are fitted to; they are not predicted. To be freed, also after a
 * failure. */
bool ss_validate(const struct ss_observations *all, const struct ss_cluster_fit_options *options,
                 enum ss_leave_out what, const bool *fitted, struct ss_validation *out,
                 struct ss_error *error) SS_MUST_CHECK;
void ss_validation_free(struct ss_validation *validation);

/* Pairs of algorithms that did the same collective on as many nodes and ranks with as many bytes, whose measured
 * times differ by more than 1.5 times: how many, and how many are predicted in the measured order. Where one was
 * measured several times, it is its median that counts. */
struct ss_ranked_pairs {
  size_t pairs, right;
};
bool ss_validation_rank(const struct ss_validation *v, struct ss_ranked_pairs *out,
                        struct ss_error *error) SS_MUST_CHECK;

/* {"name": whose times they are, "errors": [|predicted / measured - 1| of all, and by collective, algorithm, nodes
 * and size], "left_out", "not_predicted", "reason" (why not), "pairs", "pairs_right", "times": [measured and
 * predicted]}; the caller's. */
bool ss_validation_tree(const struct ss_validation *v, const char *name, struct cJSON **out,
                        struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
