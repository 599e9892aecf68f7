/* How good a calibration is: what was measured, predicted without it. One collective after the other, or one number
 * of nodes, is left out, the cluster is fitted to the others, and what was left out is predicted. */
#pragma once

#include "calibration/accuracy.h"
#include "calibration/fit.h"
#include "calibration/observations.h"

struct cJSON;

enum ss_leave_out {
  SS_LEAVE_COLLECTIVES,
  SS_LEAVE_NODES,
  SS_LEAVE_SIZES, /* by ss_validation_bands */
  SS_LEAVE_ROWS,  /* a fifth of them, here and there */
  SS_LEAVE_NOTHING,
  SS_LEAVE_OTHERS /* all that the caller does not name */
};

/* Errors |predicted / measured - 1| of some observations. */
struct ss_error_spread {
  size_t count;
  double median, p90, worst;
  double within_half, within_most; /* shares that the two factors of their ranges hold; NAN without ranges */
};

/* How far off a time may be that is predicted by a cluster fitted to others. */
struct ss_range {
  struct ss_spread within;
  enum ss_accuracy_class class;
  double nodes_doubled, size_doubled; /* beyond what was measured */
  size_t part;                        /* by whose errors */
};

struct ss_validation {
  size_t count;
  double *predicted;         /* [count] s; NAN: it was fitted to, or no cluster could be fitted without its group */
  uint64_t *message;         /* [count] its largest message, B */
  struct ss_range *range;    /* [count] NULL: nobody asked */
  struct ss_own_errors *own; /* [parts] of each part that was fitted to */
  size_t parts;
  uint32_t unfit;   /* groups without which nothing could be fitted */
  char reason[256]; /* why the first could not */
};

/* Sizes of vectors that are judged together: up to so many bytes. */
enum { SS_VALIDATION_BANDS = 4 };
extern const uint64_t ss_validation_bands[SS_VALIDATION_BANDS];
uint32_t ss_validation_band(uint64_t bytes);

/* How many parts are left out, one after the other: collectives, or numbers of nodes; else 1. */
size_t ss_validation_groups(const struct ss_observations *all, enum ss_leave_out what);

/* `fitted`: of SS_LEAVE_OTHERS, which of the list are fitted to; they are not predicted. To be freed, also after a
 * failure. */
bool ss_validate(const struct ss_observations *all, const struct ss_cluster_fit_options *options,
                 enum ss_leave_out what, const bool *fitted, struct ss_validation *out,
                 struct ss_error *error) SS_MUST_CHECK;
/* Fits to a part and predicts `wanted` of it; NAN where nothing can be fitted. */
bool ss_part_predict(const struct ss_fitted_part *part, const bool *wanted, double *predicted,
                     struct ss_error *error) SS_MUST_CHECK;
void ss_validation_free(struct ss_validation *validation);

/* Of those that `in` (NULL: all) says are counted; NAN where there are none. */
struct ss_error_spread ss_validation_judge(const struct ss_validation *v, const struct ss_observation *list,
                                           bool (*in)(const struct ss_observation *o, uint64_t message,
                                                      const void *context),
                                           const void *context);

/* Pairs of algorithms that did the same collective on as many nodes and ranks with as many bytes, whose measured
 * times differ by more than 1.5 times: how many, and how many are predicted in the measured order. Where one was
 * measured several times, it is its median that counts. */
struct ss_ranked_pairs {
  size_t pairs, right;
};
bool ss_validation_rank(const struct ss_validation *v, const struct ss_observation *list, struct ss_ranked_pairs *out,
                        struct ss_error *error) SS_MUST_CHECK;

/* A validation, and what it is of. */
struct ss_validation_report {
  const struct ss_validation *validation;
  const struct ss_observations *observations;
  enum ss_leave_out left_out;
  const char *title; /* of the picture: whose times they are */
};
/* {"errors": [of all, and by collective, algorithm, nodes and size], "left_out", "not_predicted", "pairs",
 * "pairs_right", "times": [measured and predicted]}, and its lists; the caller's. Lists are NULL when memory is
 * short.
 */
bool ss_validation_tree(const struct ss_validation_report *report, struct cJSON **out,
                        struct ss_error *error) SS_MUST_CHECK;
struct cJSON *ss_validation_errors(const struct ss_validation_report *report);
struct cJSON *ss_validation_times(const struct ss_validation_report *report);
