/* The popularity of rows over ranks, fitted to counts of who has them (docs/ranges.md, "Gamma beyond the captured
 * ranks").
 *
 * Popularities q are a Poisson process on (0, 1) of intensity exp(log_mass) q^(a-1) (1-q)^(b-1), a > -1, b > 0: the
 * stable-beta process for a <= 0 (rows without end, a power law), a table of beta-binomial rows for a > 0. A rank has
 * its own probability of looking a row up in an iteration, Beta(phi q, phi (1-q)): small phi is a rank that reads its
 * own book, infinite phi ranks that draw alike. */
#pragma once

#include "trace/measure/incidence.h"

struct ss_popularity {
  double a, b, phi, log_mass;
};

/* Maximum likelihood, the counts taken as independent Poisson ones. `near` is where to begin; NULL: at several
 * places, of which the best end counts. False when memory is short. The window has a row, and 2 ranks at least. */
bool ss_popularity_fit(const struct ss_incidence *window, uint64_t iterations, const struct ss_popularity *near,
                       struct ss_popularity *out) SS_MUST_CHECK;

/* Rows in an iteration that ranks from..to-1 are expected to add to those of ranks 0..from-1. The table's end is not
 * known here: the caller's to mind. */
double ss_popularity_more(const struct ss_popularity *popularity, double from, double to);
/* SPDX-License-Identifier: Apache-2.0 */
