/* One cluster out of many observations.
 *
 * Times grow with costs as playing says (calibration/model.h); costs are fitted to them by robust regression
 * (calibration/robust.h), played again at what came out, and fitted again. Costs depend on size by pieces: boundaries
 * are added one by one, each where it helps most, and cross-validation says how many are worth it. */
#pragma once

#include "calibration/model.h"
#include "calibration/robust.h"

/* What is supposed of a kind's costs before they are measured: relative to rings in Simple, or (of these, and of what
 * starts a call) absolute, give or take a factor of e^spread; a spread of 0: nothing is. */
struct ss_way_prior {
  enum ss_cost_kind kind;
  bool absolute;
  double latency, latency_spread, byte_time, byte_time_spread;
};

/* Those of models/measured/priors.json for cards that carry so much (B/s). */
bool ss_way_priors_read(double card_rate, struct ss_way_prior out[SS_COST_KINDS], size_t *count,
                        struct ss_error *error) SS_MUST_CHECK;

struct ss_cluster_fit_options {
  uint32_t gpus_per_node;           /* of a node; 0: as many as a run used */
  uint32_t nics;                    /* 0: found, where runs tell, else 1 */
  uint32_t window;                  /* 0: found, where exchanges were posted at once, else 1 */
  double latency;                   /* s between nodes, not fitted; NAN: fitted */
  struct ss_library library;        /* NCCL: its tuner may say what was played */
  bool unjudged;                    /* nothing is left out to judge the fit by: that takes several fits more */
  bool ranges;                      /* a validation says which range each time has: that takes many fits more */
  const struct ss_watcher *watcher; /* told how far a validation is; NULL: nobody */
};

/* Of the observations whose largest message, or whose vector, a piece covers. */
struct ss_piece_quality {
  double low, high; /* B: the smallest and the largest; meant only where there are samples */
  struct ss_residuals residuals;
};

struct ss_cluster_fit {
  struct ss_measured_cluster cluster;
  struct ss_piece_quality quality[SS_COST_KINDS][SS_COST_PIECES];
  size_t count;
  double *predicted; /* [count] s, as played */
  double *weight;    /* [count] 0: an outlier, which the costs were not fitted to */
  struct ss_residuals residuals;
  bool exchange_tied; /* exchanges were seen, but nothing tells costs of their own from those between nodes */
  bool sum_supposed;  /* sums could not be told from messages: 0.1 ns a byte was supposed of them */
};

/* How observations' times grow with costs, as they were last played. */
struct ss_known_terms {
  struct ss_cost_term *term;
  uint32_t count;
};

/* Observations to fit to, and how. */
struct ss_fitted_part {
  const struct ss_observation *list;
  size_t count;
  const struct ss_cluster_fit_options *options;
  const bool *use;                  /* [count] which of them; NULL: all */
  struct ss_known_terms *known;     /* [count] zero in the beginning, kept from fit to fit; NULL: not kept */
  const struct ss_cluster_fit *fit; /* what came of it; NULL: nothing did */
  uint32_t judged; /* a bit (1 << enum ss_accuracy_class) each that something is left out for, in turn */
};

/* Too few observations, and times that do not grow with size, are SS_BAD_INPUT. To be freed, also after a failure. */
bool ss_cluster_fit(const struct ss_fitted_part *of, struct ss_cluster_fit *out,
                    struct ss_error *error) SS_MUST_CHECK;
void ss_cluster_fit_free(struct ss_cluster_fit *fit);
void ss_known_terms_free(struct ss_known_terms *known, size_t count);
/* SPDX-License-Identifier: Apache-2.0 */
