/* Verdicts in words: what came of a scenario's expectations. */
#pragma once

#include "query/expectations.h"

/* "6 points, 3 expectations hold; expect[2] in 0.973 of the draws" */
void ss_expectations_words(const struct ss_verdicts *verdicts, size_t points, FILE *stream);
/* "16 ranks on CLUSTER, cluster.bandwidth = 10 Gbit/s, tensor NAME: found 0.2 against 0.1", a line each of the first
 * points at which it fails, behind `margin`. */
void ss_misses_print(const struct ss_verdict *verdict, const char *margin, FILE *stream);

/* Prints on standard error a line for each expectation that fails, "NAME: expect[0]: expected ..., fails at 2 of 4
 * points:", and below it one for each of those points, up to some; then that is the error, SS_UNPROVEN. */
bool ss_expectations_conclude(const struct ss_verdicts *verdicts, const char *name,
                              struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
