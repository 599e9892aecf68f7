/* What is said of where two schemes cost the same. */
#ifndef SS_REPORT_CROSSOVER_H
#define SS_REPORT_CROSSOVER_H

#include "cost/crossover.h"
#include "study/duel.h"

#include <stdio.h>

struct ss_crossover_answer {
  const struct ss_duel *duel;
  const struct ss_crossover *found;
  const char *over; /* the axis's name */
  enum ss_dimension dimension;
  double low, high, density, bytes; /* the last two where they do not vary */
  bool simulated;
};

bool ss_crossover_table(const struct ss_crossover_answer *answer, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_crossover_json(const struct ss_crossover_answer *answer, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* One line for each part of the range in which one scheme is the cheaper. */
bool ss_crossover_csv(const struct ss_crossover_answer *answer, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
