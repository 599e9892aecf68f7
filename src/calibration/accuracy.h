/* How far off a fitted cluster may be (machine/accuracy.h): out of what was left out of fits, by class, and of what
 * was left out on other machines.
 *
 * Times that are left out together share their error: a sample is a group of them, not a time. One machine has few,
 * so its classes are a compromise: errors of its own groups, and, as if they were so many groups more, those that all
 * measured machines have in common (models/measured/priors.json, "accuracy"; docs/calibration.md, "Accuracy"). */
#pragma once

#include "calibration/fit.h"
#include "machine/accuracy.h"

struct cJSON;

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

/* A fit to some of a list, and how times of it grow with costs. */
struct ss_fitted_part {
  const struct ss_observation *list;
  size_t count;
  const struct ss_cluster_fit_options *options;
  const bool *use;              /* [count] what is fitted to */
  struct ss_known_terms *known; /* [count] */
  const struct ss_cluster_fit *fit;
  uint32_t judged; /* a bit (1 << enum ss_accuracy_class) each that something is left out for, in turn */
};
#define SS_ACCURACY_ALL ((UINT32_C(1) << SS_ACCURACY_CLASSES) - 1)

/* What was measured, of a part: collectives, kinds, least and most. */
void ss_accuracy_measured(const struct ss_fitted_part *part, struct ss_accuracy *out);
/* Its own errors: residuals, and of what is left out of it in turn. */
bool ss_accuracy_leave_out(const struct ss_fitted_part *part, struct ss_own_errors *out,
                           struct ss_error *error) SS_MUST_CHECK;
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
