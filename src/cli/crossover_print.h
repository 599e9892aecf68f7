/* What `crossover` prints. */
#ifndef SS_CLI_CROSSOVER_PRINT_H
#define SS_CLI_CROSSOVER_PRINT_H

#include <stdio.h>

#include "cost/crossover.h"
#include "study/duel.h"

struct ss_crossover_told {
  const struct ss_duel *duel;
  const struct ss_crossover *found;
  const char *over; /* the axis's name */
  enum ss_dimension dimension;
  double low, high, density, bytes; /* the last two where they do not vary */
  bool simulated;
};

bool ss_crossover_print(const struct ss_crossover_told *told, enum ss_format format, FILE *stream,
                        struct ss_error *error) SS_MUST_CHECK;

#endif
