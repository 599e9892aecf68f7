/* What a fit works on: observations, how their times grow with costs, and which sizes have costs of their own. Within
 * this room: fit.c fits costs to it, pieces.c makes designs of it and finds the pieces. */
#pragma once

#include "calibration/fit.h"

enum { SS_FIT_PRIORS = 4 * SS_COST_KINDS };
enum { SS_FIT_COSTS = SS_COST_KINDS * SS_COST_PIECES * 2, SS_FIT_ORDERS = SS_COST_MEMORY * (SS_COST_PIECES - 1) };
/* s a byte that a core adds: what is supposed where nothing tells it. */
#define SS_SUPPOSED_SUM 1e-10

struct ss_fit_problem {
  const struct ss_observation *list;
  struct ss_known_terms *known; /* of each in the list */
  size_t *at;                   /* [count] indices in the list of those that are fitted */
  size_t *first;                /* [count] of each, the first that is the same call: only that one is played */
  size_t count;
  double *per;      /* [count * SS_FIT_COSTS] scratch: a design */
  double *seconds;  /* [count] scratch: times that are left to fit, */
  double *taken;    /* [count] and what was taken off them */
  double *order;    /* [SS_FIT_ORDERS * SS_FIT_COSTS] scratch: of pieces that follow one another */
  double *score[2]; /* [count] scratch: of two fits */
  struct ss_way_prior way_prior[SS_COST_KINDS]; /* [way_priors] of NCCL's costs */
  size_t way_priors;
  struct ss_cost_prior prior[SS_FIT_PRIORS]; /* scratch: of the last design */
  double cap;                                /* no residual counts more */
  double latency;   /* s that is given, not fitted, of messages between nodes; NAN: none is */
  bool between;     /* some runs were of several nodes; else it is given of messages inside one */
  bool mpi;         /* some were of MPI's: its messages go another way by size, as eager ones, or after a handshake */
  bool suppose_sum; /* the observations do not tell sums from messages */
  bool inside;      /* some runs stayed inside one node: what messages cost there can be told */
  uint64_t *sizes;  /* [count * SS_COST_TERMS] scratch */
  bool starved;     /* memory was short in a fit that was tried: what was chosen means nothing */
  struct ss_arena arena;
};

/* What a kind is charged as: messages of a kind without pieces cost what those between nodes do; SS_COST_KINDS:
 * nothing is charged. */
enum ss_cost_kind ss_fit_charged_as(const struct ss_measured_cluster *m, enum ss_cost_kind kind);
/* Whether what a message of that kind takes to start is given, not fitted. */
bool ss_fit_latency_given(const struct ss_fit_problem *p, enum ss_cost_kind kind);
/* Whether the term is of messages, or a memory, of that kind, and not of cards alone. */
bool ss_fit_is_of(const struct ss_measured_cluster *m, const struct ss_cost_term *t, enum ss_cost_kind kind);
/* Where the two costs of a kind's piece are among all. */
size_t ss_fit_index(const struct ss_measured_cluster *m, enum ss_cost_kind kind, uint32_t piece);
/* All times, as sums of costs; in the problem's scratch. */
struct ss_times ss_fit_design(struct ss_fit_problem *p, const struct ss_measured_cluster *m);

/* How the time of the i-th that is fitted grows with costs. */
static inline struct ss_known_terms *ss_fit_terms(const struct ss_fit_problem *p, size_t i) {
  return &p->known[p->at[p->first[i]]];
}

/* Mean distance of a fit to all; INFINITY: there is none. */
double ss_fit_score(struct ss_fit_problem *p, const struct ss_measured_cluster *m);
/* score[count]: the same of observations that the fit has not seen, each fifth left out; false: a fold has no fit. */
bool ss_fit_cross_validate(struct ss_fit_problem *p, const struct ss_measured_cluster *m,
                           double *score) SS_MUST_CHECK;
/* Whether scores `a` are better than `b` by more than so many standard errors of their difference: of two
 * suppositions, or of the best of many boundaries, of which some look better by chance. */
enum { SS_FIT_ONE = 2, SS_FIT_MANY = 3 };
bool ss_fit_better(const double *a, const double *b, size_t count, double errors);
/* Adds pieces to m while those that were not seen are told better for it. */
void ss_fit_find_pieces(struct ss_fit_problem *p, struct ss_measured_cluster *m);
/* SPDX-License-Identifier: Apache-2.0 */
