/* Ranges: between which times a result lies with 90% probability, and how sure it is which of two is faster.
 *
 * Each number of the machine may be off by a factor (machine/uncertainty.h). A draw takes a factor for each: the same
 * in all results, since all stand on the same machine. What a scheme is off besides, where every number is known, is
 * drawn for each scheme apart. A time is the sum of its components, so a draw costs a few products. */
#pragma once

#include "study/results.h"

enum { SS_RANGE_DRAWS = 1000 };

/* A time and what it is made of. */
struct ss_uncertain {
  double time; /* s */
  const struct ss_components *components;
  const struct ss_uncertainty *uncertainty;
  const char *label;    /* of whose own error is drawn apart */
  struct ss_spread own; /* what it may be off besides, apart from all others: by ranks and iterations */
  double passes, least; /* s: of a training passes, and them with software: no draw takes less; 0: of anything else */
  const double *played; /* [plays] rising, s: where time goes in steps, the distribution that draws have; or NULL */
  size_t plays;
  const struct ss_uncertain *part; /* [parts] what it is the sum of in each draw; NULL: it is drawn itself */
  size_t parts;
};

/* What a draw makes of a machine's numbers for that label: how many times as much each component costs (of SS_WINDOW
 * 2 where it has the other window), and what it all takes besides. */
struct ss_drawn {
  double component[SS_COMPONENTS], model;
};
struct ss_drawn ss_draw_of(const struct ss_uncertainty *uncertainty, const char *label, uint64_t draw);

/* The time in each draw. */
void ss_draws_of(const struct ss_uncertain *uncertain, double out[SS_RANGE_DRAWS]);

/* Are both one thing under two names, equal in time and components? Its draws are then those of either. */
bool ss_uncertain_same(const struct ss_uncertain *a, const struct ss_uncertain *b);

/* Brings them into another order. */
struct ss_likely ss_likely_of(double draws[SS_RANGE_DRAWS]);

/* --- decisions ----------------------------------------------------------------------------------------------- */

/* One of those that are compared: what it takes, and what draws say of that. */
struct ss_candidate {
  struct ss_uncertain of;
  const char *name;                 /* what it is called; NULL: of.label */
  bool left_out;                    /* wins nothing, as it does not fit where another one does */
  bool lossy, model_parallel;       /* what who takes it has to know */
  const struct ss_offer *offer;     /* to PyTorch; NULL: nobody offers it */
  const struct ss_library *library; /* over which it would run; NULL: nobody knows */
  const char *offered_name;         /* where who offers it picks an algorithm of its own; NULL: it is as it is */
  struct ss_uncertain as_offered;   /* what that takes */
  struct ss_likely range;           /* of its time */
  struct ss_likely next_ratio;      /* of the time of the fastest other to its own, draw by draw */
  struct ss_likely base_ratio;      /* of the baseline's */
  double wins;                      /* share of the draws in which no other takes less; NaN: nothing is drawn */
};

/* Who is fastest, by how much, and how sure that is: what sentences, tables and JSON say of a choice. What is the
 * same as one before it is that one under another name: it wins nothing, and is no rival. */
struct ss_decision {
  const struct ss_candidate *best, *next; /* the first of equals; NULL: there is no second */
  const struct ss_candidate *rival; /* the fastest in most of the draws that are not the best's; NULL: in 95 of 100
                                       nobody else is, or nothing is drawn */
  struct ss_likely rival_ratio;     /* of the rival's time to the best's */
  const struct ss_candidate *list;  /* [n] all */
  size_t n;
  const char *measure; /* what would tell them apart: "the bandwidth between nodes"; NULL: no number of
                          the machine, but the model itself */
};
/* What stands behind the name of a scheme or system where a sentence names it first: " (lossy)", " (needs model
 * parallelism)", both, or "". */
const char *ss_needs_words(bool lossy, bool model_parallel);
struct ss_result;
const char *ss_result_needs(const struct ss_result *result);
/* {"label", "lossless", "model_parallel"}; the caller's. */
struct cJSON *ss_candidate_json(const struct ss_candidate *candidate);
/* Fills in what draws say of the n candidates, at least one; `base` NULL: no baseline. The decision points into the
 * list. */
bool ss_decide(struct ss_candidate *list, size_t n, const struct ss_uncertain *base, struct ss_decision *out,
               struct ss_error *error) SS_MUST_CHECK;
/* From that share of the draws on, and below 95 of 100, which decide, who is best is called likely so, as the IPCC
 * does (Guidance Note on uncertainties, 2010, Table 1: likely is 66 to 100 of 100). */
#define SS_LIKELY 0.66
/* Adds "time_s", "next", "next_time_s" and "margin", by how much of the time the next is slower; where there is a
 * next "next_lossless" and "next_model_parallel"; and where others take exactly as long, in every draw, "ties",
 * [{"label", "lossless", "model_parallel"}, ...], the next first. Where nobody offers the best and somebody another,
 * "offered_best", the fastest of these, with "offered_best_s", ..._by, ..._how, and perhaps ..._over, ..._low_s and
 * ..._high_s. */
void ss_decision_add_times(struct cJSON *object, const struct ss_decision *decision);
/* Adds, where something is uncertain, what draws say: "time_low_s", "wins", "next_ratio_low", "dense_ratio_low" (of
 * the baseline), "rival", "rival_lossless", "measure", ...; and beside a rival "others", [{"label", "lossless",
 * "model_parallel", "wins"}, ...]: who else takes draws, most first. */
void ss_decision_add_draws(struct cJSON *object, const struct ss_decision *decision);

/* --- of a mean over iterations --------------------------------------------------------------------------------- */

/* The sum of squares about the mean of n + 1 numbers, from that of the first n, whose sum is `sum` (Welford 1962). */
double ss_mean_square_add(double squares, double sum, uint64_t n, double next);
/* What the mean of so many may be off, that deviate by `sd`, if they are independent: quantiles of Student's t, times
 * sd / sqrt(n). One alone says nothing of others, and is taken as it is. */
struct ss_spread ss_mean_spread(double mean, double sd, uint64_t count);

/* --- of results ---------------------------------------------------------------------------------------------- */

/* What the ranks that were not captured may be off; NaN: nobody knows. */
struct ss_spread ss_result_further(const struct ss_result *result);
/* Its time, as few iterations leave it too, and its dense baseline's; they point into the result. */
struct ss_uncertain ss_result_uncertain(const struct ss_result *result);
struct ss_uncertain ss_result_dense_uncertain(const struct ss_result *result);
/* Those of the n results of one cell, to be decided among. */
void ss_results_candidates(const struct ss_result *results, size_t n, struct ss_candidate *list);
/* May it have a range, once it is computed? */
bool ss_result_ranged(const struct ss_result *result);
/* Fills in what draws say of the n results of one cell, which are all that it has. */
bool ss_results_decide(struct ss_result *results, size_t n, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
