/* The cheapest scheme of each tensor in each cell, out of results that were computed. */
#pragma once

#include "study/ranges.h"
#include "study/window.h"

struct ss_plan_row {
  const struct ss_result *cell; /* any result of this tensor and cell */
  /* The cheapest and the second; `next` NULL: there was one candidate. In a row of all tensors together ("*") NULL
   * means that each tensor has its own cheapest scheme, and a result is one scheme for all of them. There is no
   * second where `next_time` is NaN. */
  const struct ss_result *best, *next;
  double time, next_time;
  struct ss_components components; /* of `time` */
  struct ss_likely range;          /* of `time`; NaN, as are the next three, where nothing is uncertain */
  struct ss_likely next_ratio;     /* of `next_time` to `time`, draw by draw */
  struct ss_likely dense_ratio;    /* of the baseline's to `time` */
  double wins;                     /* share of the draws in which no other candidate takes less */
  const char *rival;               /* the cheapest in most other draws; NULL: it is the cheapest in 95 of 100 */
  double rival_wins;               /* of the draws; meant with a rival, as is the next */
  struct ss_likely rival_ratio;    /* of its time to `time` */
  const char *measure;             /* what would tell them apart (ss_comparison_measure); NULL: no measurement */
  struct ss_dense_time dense;      /* the baseline */
  bool lossless;
  const struct ss_result *all; /* [candidates] those that do not fit into the device's memory too */
  size_t candidates;
  const struct ss_turn *turn; /* with the other window another one is the cheapest; NULL: not that anybody knows */
};

struct ss_plan {
  struct ss_plan_row *row; /* in the order of the results */
  size_t count;
  struct ss_turns turns;
};

/* What the rows point to is the results', which must outlive the plan. */
bool ss_plan_make(const struct ss_results *results, struct ss_plan *out, struct ss_error *error) SS_MUST_CHECK;
void ss_plan_free(struct ss_plan *plan);

/* The plan of the study's own results, with its turns where its request asks for them: where another scheme would be
 * the cheapest, the request's notice hears so. To be freed, also after a failure. */
bool ss_study_plan(const struct ss_study *study, const struct ss_results *results, struct ss_plan *out,
                   struct ss_error *error) SS_MUST_CHECK;

/* The tree that `plan --format json` prints; the caller's, NULL when memory is short. */
struct cJSON *ss_plan_json(const struct ss_plan *plan, const char *scenario);
