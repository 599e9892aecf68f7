/* How far off a fitted cluster may be (machine/accuracy.h): out of what was left out of fits, by class, and of what
 * was left out on other machines.
 *
 * Times that are left out together share their error: a sample is a group of them, not a time. One machine has few,
 * so its classes are a compromise: errors of its own groups, and, as if they were so many groups more, those that all
 * measured machines have in common (models/measured/priors.json, "accuracy"; docs/calibration.md, "Accuracy"). */
#pragma once

#include "calibration/fit.h"
#include "machine/accuracy.h"

enum { SS_ERROR_LEVELS = 20, SS_ERROR_GROUPS = 96 };

/* Errors |ln(predicted / measured)| at so many levels: at[i] is the quantile (i + 1/2) / SS_ERROR_LEVELS. */
struct ss_error_levels {
  double at[SS_ERROR_LEVELS];
};

/* Times that were left out together, and are of one class. Of the two last classes errors are what is beyond those of
 * the first class, for each doubling. */
struct ss_error_group {
  enum ss_accuracy_class class;
  uint32_t times;
  double distance; /* doublings; 0 of the first three classes */
  struct ss_error_levels errors;
};
struct ss_own_errors {
  uint32_t count;
  struct ss_error_group group[SS_ERROR_GROUPS];
};

/* What all machines have in common. */
struct ss_pooled_errors {
  double weight[SS_ACCURACY_CLASSES]; /* as so many groups */
  struct ss_error_levels errors[SS_ACCURACY_CLASSES];
};
/* Those of models/measured/priors.json. */
bool ss_pooled_errors_read(struct ss_pooled_errors *out, struct ss_error *error) SS_MUST_CHECK;

/* What is left out of fits, one group after the other. */
enum ss_leave_out {
  SS_LEAVE_COLLECTIVES,
  SS_LEAVE_NODES,
  SS_LEAVE_SIZES, /* by ss_size_bands */
  SS_LEAVE_ROWS,  /* a fifth of them, here and there */
  SS_LEAVE_NOTHING,
  SS_LEAVE_OTHERS, /* all that the caller does not name */
  /* only to judge accuracy by: */
  SS_LEAVE_KIND,
  SS_LEAVE_MOST_NODES, /* so many and more, */
  SS_LEAVE_LARGE,      /* bytes above so many, */
  SS_LEAVE_SMALL       /* and below */
};
/* Sizes of vectors that are judged together: up to so many bytes. */
enum { SS_SIZE_BANDS = 4 };
extern const uint64_t ss_size_bands[SS_SIZE_BANDS];
/* One group. */
struct ss_leave {
  enum ss_leave_out by;
  uint64_t value;
};
/* Of which group list[i] is; 0 of ways that have but one. */
uint64_t ss_leave_group(const struct ss_observation *list, size_t i, enum ss_leave_out by);
bool ss_leave_takes(const struct ss_leave *leave, const struct ss_observation *list, size_t i);

#define SS_ACCURACY_ALL ((UINT32_C(1) << SS_ACCURACY_CLASSES) - 1)

/* Fits to a part, and predicts `wanted` of it, in s. Where nothing can be fitted these are NaN, part->fit is NULL,
 * and `why` says why. `fit`, which part->fit is else, is to be freed, also after a failure. */
bool ss_part_predict(struct ss_fitted_part *part, const bool *wanted, struct ss_cluster_fit *fit, double *predicted,
                     struct ss_error *why, struct ss_error *error) SS_MUST_CHECK;

/* Classes out of both. */
void ss_accuracy_compromise(const struct ss_own_errors *own, const struct ss_pooled_errors *pooled,
                            struct ss_accuracy *out);
/* All of it. `own` NULL: nobody wants to know. */
bool ss_accuracy_estimate(const struct ss_fitted_part *part, struct ss_own_errors *own, struct ss_accuracy *out,
                          struct ss_error *error) SS_MUST_CHECK;

/* What would be asked for that observation. */
struct ss_accuracy_question ss_accuracy_question_of(const struct ss_observation *o);

/* The cluster's "accuracy", and the groups as a list; the caller's. NULL: memory is short. */
struct cJSON *ss_accuracy_json(const struct ss_accuracy *accuracy, const struct ss_own_errors *own);
struct cJSON *ss_own_errors_json(const struct ss_own_errors *own);
/* SPDX-License-Identifier: Apache-2.0 */
