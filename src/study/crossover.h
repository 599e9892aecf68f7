/* Where two schemes cost the same over one quantity: by closed forms, or by playing both on uniform tensors. */
#pragma once

#include "base/watcher.h"
#include "cost/crossings.h"
#include "cost/duel.h"
#include "study/ranges.h"

/* A size that was moved so that every part of it has the same whole number of rows. */
struct ss_rounding {
  double at, rows, density; /* as played */
  double rows_wanted, density_wanted;
};

/* What both take at a value, and what of it each component makes. */
struct ss_crossover_place {
  double x, time[2];
  struct ss_components components[2];
  struct ss_uncertainty uncertainty[2];
};

struct ss_crossover_study {
  struct ss_duel duel; /* opened by the caller */
  bool simulated, certain;
  double low, high;                 /* the range */
  uint32_t probes;                  /* positions of the grid; 0: 257, simulated 17 */
  unsigned jobs;                    /* threads of a simulation; 0: all cores */
  const struct ss_watcher *watcher; /* told of simulated positions; NULL: nobody */

  /* what comes of it */
  struct ss_crossover found;
  struct ss_likely *likely; /* [crossings] where they lie; NaN: nobody can say; NULL: certain */
  struct ss_likely
      *apart;    /* [parts] between which the dearer time over the cheaper lies, at each place of the part */
  double always; /* share of the draws in which the winner of the whole range is that; NaN likewise */
  struct ss_rounding *rounding;
  size_t roundings;
  struct ss_crossover_place *place; /* that are drawn */
  size_t places;
  uint32_t probed, wanted;
  double whole; /* of what all simulated positions take */
};

bool ss_crossover_study_run(struct ss_crossover_study *study, struct ss_error *error) SS_MUST_CHECK;
/* Also closes the duel. Harmless when nothing was run. */
void ss_crossover_study_free(struct ss_crossover_study *study);

/* The tree that `crossover --format json` prints; the caller's, NULL when memory is short. */
struct cJSON *ss_crossover_study_json(const struct ss_crossover_study *t);
/* SPDX-License-Identifier: Apache-2.0 */
