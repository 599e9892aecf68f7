/* Schedules of others, foreign ones: who sends what to whom after what, out of a file, and how long that takes on
 * even links.
 *
 * A file is GOAL as `export goal` writes it (sends, receives, calculations, what each requires), or JSON of rounds:
 * {"ranks": 4, "rounds": [[[0, 1, "M/P"], [1, 2, 1024]], ...]}, a message being who, to whom, and how many bytes, as
 * a number, a size or a formula. A message of a round waits for all that both its ends did in earlier rounds, and for
 * those before it in the round at the same ports. */
#pragma once

#include "base/json.h"
#include "cost/formula.h"

struct ss_foreign;

/* Bytes of JSON are formulas over `variables`, whose first gets the number of ranks (P). To be closed. Errors name
 * the file and the line, or the place. */
bool ss_foreign_open(const char *path, struct ss_variable *variables, size_t count, struct ss_foreign **out,
                     struct ss_error *error) SS_MUST_CHECK;
void ss_foreign_close(struct ss_foreign *schedule);
/* When the last operation is done, s: each begins once all that it requires is done, a message once both its ends
 * may, and takes `latency` and `byte_time` a byte. What waits for itself is an error. */
bool ss_foreign_play(const struct ss_foreign *schedule, double latency, double byte_time, double *out,
                     struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
