/* Two schemes held against each other while one quantity varies: their costs by closed form. */
#pragma once

#include "cost/suppose.h"

enum ss_over { SS_OVER_DENSITY, SS_OVER_RANKS, SS_OVER_BANDWIDTH, SS_OVER_LATENCY, SS_OVER_M, SS_OVERS };
/* What may vary, and between which values it usually does. */
extern const struct ss_axis {
  const char *name;
  enum ss_dimension dimension;
  double low, high;
} ss_axes[SS_OVERS];

/* Which of a cost's forms counts; SS_FORM_NODES: the exact one on the cluster's nodes and cards (cost/placed.h). */
enum ss_form { SS_FORM_EXACT, SS_FORM_PAPER, SS_FORM_LOW, SS_FORM_HIGH, SS_FORM_NODES, SS_FORMS };
extern const char *const ss_form_names[SS_FORMS + 1]; /* ends with NULL */

struct ss_duel_side {
  char label[96];
  struct ss_setting setting;
  struct ss_doc *doc;          /* the scheme as a scenario has it */
  const struct ss_cost *first; /* the form used at the first position that has one; NULL: none yet */
  bool several;                /* other positions use other forms */
};

struct ss_duel {
  struct ss_supposition *with;  /* the caller's; what varies is written over */
  const struct ss_costs *costs; /* the caller's */
  struct ss_cluster cluster;
  struct ss_duel_side side[2];
  enum ss_over over;
  enum ss_form form;
  uint32_t ranks; /* where they do not vary */
};

/* Reads one scheme: a name, a closed form's name (as `cost` prints it), either with options behind a colon
 * (zen:format=coo,balance=even), or a JSON object. side->doc is to be freed, also after a failure. */
bool ss_duel_side_read(const struct ss_costs *costs, const struct ss_supposition *with, const char *text,
                       struct ss_duel_side *side, struct ss_error *error) SS_MUST_CHECK;

struct ss_duel_setup {
  const struct ss_costs *costs;
  const struct ss_supposition *with;
  const struct ss_cluster *cluster;
  uint32_t ranks;
};
/* The closed form that holds for the scheme there, and its symbols as the scheme's own options have them; *cost is
 * NULL where there is none. */
bool ss_duel_side_suppose(const struct ss_duel_side *side, const struct ss_duel_setup *at, struct ss_supposed *out,
                          const struct ss_cost **cost, struct ss_error *error) SS_MUST_CHECK;

/* Reads both. The other fields are set already. To be closed, also after a failure. */
bool ss_duel_open(struct ss_duel *duel, const char *a, const char *b, struct ss_error *error) SS_MUST_CHECK;
void ss_duel_close(struct ss_duel *duel);

/* What varies takes the value x; the rank count there. */
uint32_t ss_duel_move(struct ss_duel *duel, double x);
/* The two costs at x, in s, for struct ss_crossover_search; `duel` is a struct ss_duel. */
bool ss_duel_forms(void *duel, double x, double cost[2], struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
