/* Where two schemes cost the same, as a table, JSON or CSV. */
#ifndef SS_REPORT_CROSSOVER_H
#define SS_REPORT_CROSSOVER_H

#include "study/crossover.h"

#include <stdio.h>

bool ss_crossover_table(const struct ss_crossover_study *study, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_crossover_json(const struct ss_crossover_study *study, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_crossover_csv(const struct ss_crossover_study *study, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
