/* What lies between the wire and the clock, inferred from iteration times and ratios of them that somebody measured
 * or printed (docs/calibration.md, "Trainings"): named unknowns are fitted to a table, and numbers that were left out
 * are predicted from the others. */
#pragma once

#include "calibration/inference.h"
#include "study/replays.h"

struct ss_training_fit;

struct ss_training_fit_request {
  const char *file;         /* the table; relative paths in it are looked for beside it, too */
  const char *const *where; /* [wheres] COLUMN=VALUE: only such lines */
  size_t wheres;
  /* [unknowns] each "NAME", one for all trainings; "NAME@workload", "NAME@system" or "NAME@cluster", one for each of
   * them; or "NAME@system=zen", of that one alone. NAME: ss_unknown_names. A text may list several, separated by
   * commas. */
  const char *const *unknown;
  size_t unknowns;
  const struct ss_notice *notice; /* told warnings of clusters; NULL: nobody */
  struct ss_run_options run;      /* jobs, watcher */
};

/* Reads the table, simulates every training of it once, and fits to all numbers. SS_BAD_INPUT says what is wrong with
 * the table, an unknown, or that there are more unknowns than a third of the numbers. All that the request points to
 * outlives the fit, which is to be closed, also after a failure. Takes as long as `train` on these trainings, and a
 * second or so for the fit. */
bool ss_training_fit_open(const struct ss_training_fit_request *request, struct ss_training_fit **out,
                          struct ss_error *error) SS_MUST_CHECK;
void ss_training_fit_close(struct ss_training_fit *fit);
#define SS_AUTO_TRAINING_FIT __attribute__((cleanup(ss_cleanup_training_fit)))
static inline void ss_cleanup_training_fit(struct ss_training_fit **fit) {
  ss_training_fit_close(*fit);
}

/* The numbers: time[i] has its line, texts (SS_TIMES_CLAIM: ids of claims that state it) and value. */
const struct ss_training_times *ss_training_fit_times(const struct ss_training_fit *fit);

/* A number as it is predicted: `value`, and between which two it lies in 90% of cases, all as the table prints it
 * (s, or a ratio in its unit: 18 of "18% more"); `ratio` and `measured` as they are compared (1.18). NaN: a ratio of
 * nothing. */
struct ss_training_prediction {
  double value, low, high;
  double ratio, measured;
  double most;     /* factor within which 90% of the numbers that it was fitted to are predicted, each left out */
  double unfitted; /* the same number where nothing was inferred, as `ratio` */
};

/* Fits to all numbers but those of left_out [numbers of the table] (NULL: none is) and predicts all of them, into
 * out[numbers]; *inference, NULL or to be freed, is what came of the unknowns. Begins from the fit to all;
 * milliseconds to tenths of a second. Where fewer than three numbers an unknown are left it still answers: whoever
 * asks checks inference->fitted against ss_training_fit_unknowns. Not for two threads at once. */
bool ss_training_fit_predict(struct ss_training_fit *fit, const bool *left_out, struct ss_training_prediction *out,
                             struct ss_inference *inference, struct ss_error *error) SS_MUST_CHECK;

/* How many unknowns there are, each expanded; what unknown k is of; its value in `number` for x[k]. */
size_t ss_training_fit_unknowns(const struct ss_training_fit *fit);
const struct ss_inferred_number *ss_training_fit_unknown(const struct ss_training_fit *fit, size_t k);
/* Does the fit to all numbers end on a bound of unknown k that is no ideal (0 of what software costs)? */
bool ss_training_fit_bound(const struct ss_training_fit *fit, size_t k);
/* The unknowns' numbers for what was inferred, with ranges, into out[unknowns]. */
void ss_training_fit_numbers(const struct ss_training_fit *fit, const struct ss_inference *inference,
                             struct ss_inferred_number *out);
/* The fit to all numbers. */
const struct ss_inference *ss_training_fit_all(const struct ss_training_fit *fit);
size_t ss_training_fit_plays(const struct ss_training_fit *fit);
/* SPDX-License-Identifier: Apache-2.0 */
