/* Two schemes held against each other while one quantity varies: their costs by closed form or by simulation. */
#ifndef SS_STUDY_DUEL_H
#define SS_STUDY_DUEL_H

#include "cli/forms.h"

enum ss_over { SS_OVER_DENSITY, SS_OVER_RANKS, SS_OVER_BANDWIDTH, SS_OVER_LATENCY, SS_OVER_M, SS_OVERS };
/* Which of a cost's forms counts. */
enum ss_form { SS_FORM_EXACT, SS_FORM_PAPER, SS_FORM_LOW, SS_FORM_HIGH };

struct ss_duel_side {
  char label[96];
  struct ss_setting setting;
  struct ss_doc *doc;          /* the scheme as a scenario has it */
  const struct ss_cost *first; /* the form used at the first place that has one; NULL: none yet */
  bool several;                /* other places use other forms */
};

/* A size that was moved so that every part of it has the same whole number of rows. */
struct ss_rounding {
  double at, rows, density; /* as played */
  double rows_wanted, density_wanted;
};

struct ss_duel {
  struct ss_forms_call *forms; /* the caller's; what varies is written over */
  const struct ss_call *call;
  struct ss_cluster cluster;
  struct ss_costs costs;
  struct ss_duel_side side[2];
  enum ss_over over;
  enum ss_form form;
  uint32_t ranks; /* where they do not vary */
  struct ss_rounding *rounding;
  size_t roundings;
  void (*tick)(void *context); /* called for each place; NULL: not */
  void *tick_context;
};

/* Opens costs and reads both schemes: a name, a closed form's name (as `cost` prints it), either with options behind
 * a colon (zen:format=coo,balance=even), or a JSON object. `duel` has its call, forms and cluster; to be closed, also
 * after a failure. */
bool ss_duel_open(struct ss_duel *duel, const char *a, const char *b, struct ss_error *error) SS_MUST_CHECK;
void ss_duel_close(struct ss_duel *duel);

/* The two costs at x, for struct ss_crossover_search. */
bool ss_duel_forms(void *duel, double x, double cost[2], struct ss_error *error);
bool ss_duel_simulate(void *duel, double x, double cost[2], struct ss_error *error);

#endif
