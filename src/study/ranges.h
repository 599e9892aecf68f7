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
};

/* What a draw makes of a machine's numbers for that label: how many times as much each component costs, and what it
 * all takes besides. */
struct ss_drawn {
  double component[SS_COMPONENTS], model;
};
struct ss_drawn ss_draw_of(const struct ss_uncertainty *uncertainty, const char *label, uint64_t draw);

/* The time in each draw. */
void ss_draws_of(const struct ss_uncertain *uncertain, double out[SS_RANGE_DRAWS]);

/* Adds to each of the n, wins[n], the draws in which it takes least; of equals the first does. */
void ss_draws_count_wins(const struct ss_uncertain *list, size_t n, size_t *wins);

/* Are both one thing under two names, equal in time and components? Its draws are then those of either. */
bool ss_uncertain_same(const struct ss_uncertain *a, const struct ss_uncertain *b);

/* Where a number lies, most likely. */
struct ss_likely {
  double low, high; /* 5% and 95% of the draws */
};
/* Sorts them. */
struct ss_likely ss_likely_of(double draws[SS_RANGE_DRAWS]);
struct ss_likely ss_range_of(const struct ss_uncertain *uncertain);

/* One time against another, draw by draw. */
struct ss_comparison {
  double wins;            /* share of the draws in which `a` takes less */
  struct ss_likely ratio; /* of b's time to a's */
  enum ss_component
      most; /* what makes most of the spread of that ratio; SS_COMPONENTS: what is drawn for each apart */
};
struct ss_comparison ss_compare(const struct ss_uncertain *a, const struct ss_uncertain *b);

/* What would decide it: "the bandwidth between nodes"; NULL: no number of the machine, but the model itself. */
const char *ss_comparison_measure(const struct ss_comparison *comparison);

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
/* May it have a range, once it is computed? */
bool ss_result_ranged(const struct ss_result *result);
/* Fills in time_low and time_high; NaN where nothing is uncertain. */
void ss_result_add_range(struct ss_result *result);

/* One result of a cell, the first of equals, against all others. What is the same in time and components as one
 * before it is that one under another name: it wins nothing, and is no rival. */
struct ss_contest {
  double wins; /* share of the draws in which it is the fastest; NaN: nothing is uncertain */
  const struct ss_result
      *rival;        /* the fastest in most of the other draws; else the next; NULL: nobody else is there */
  double rival_wins; /* of the draws */
  struct ss_comparison against; /* the rival */
  bool decided;                 /* it is the fastest in 95 of 100 draws */
};
struct ss_contest ss_results_contest(const struct ss_result *results, size_t n, const struct ss_result *best);
