/* What came of a scenario's expectations, in words. */
#ifndef SS_REPORT_VERDICTS_H
#define SS_REPORT_VERDICTS_H

#include "query/expectations.h"

#include <stdio.h>

/* A line for each expectation that fails, "NAME: expect[0]: expected ..., fails at 2 of 4 points:", and below it one
 * for each of those points, up to some. */
void ss_judgement_print(const struct ss_judgement *judgement, const char *name, FILE *stream);
/* "6 points, 3 expectations hold" */
void ss_judgement_words(const struct ss_judgement *judgement, size_t points, FILE *stream);
/* "16 ranks on CLUSTER, cluster.bandwidth = 10 Gbit/s, tensor NAME: found 0.2 against 0.1", a line each of the first
 * points at which it fails; the caller's, NULL when memory is short. */
char *ss_misses_text(const struct ss_judged_expectation *judged);

/* Tells on standard error what fails; then that is the error, SS_UNPROVEN. */
bool ss_judgement_conclude(const struct ss_judgement *judgement, const char *name,
                           struct ss_error *error) SS_MUST_CHECK;

#endif
