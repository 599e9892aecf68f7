/* Where two costs are the same: over a range, every position at which the cheaper of the two changes.
 *
 * The range is probed on a grid, and each change of sign between neighbours is refined with GSL's Brent solver on the
 * logarithm of the axis; rank counts are whole, and there the first is told from which the other one is cheaper. Two
 * changes between neighbouring probes cancel and are not seen. */
#pragma once

#include "base/base.h"

struct ss_crossover_search {
  double low, high; /* of the axis, low > 0 */
  bool whole;       /* only whole numbers: rank counts */
  uint32_t
      probes; /* positions of the grid, at least 2; a whole axis with no more numbers than this is probed at each */
  double precision; /* relative, of what is refined */
  double same;      /* costs whose relative distance is at most this are equal */
  /* The two costs at x, in seconds. Where they cannot be had (a scheme that wants a power of two ranks), false, and
   * the position is left out for the reason that `error` gives. */
  bool (*costs)(void *context, double x, double cost[2], struct ss_error *error);
  void *context;
};

/* Who is cheaper: -1 the first, 1 the second, 0 neither. */
struct ss_crossing {
  double at;     /* the position; on a whole axis the first number of what comes after */
  double before; /* the last position probed that is still as before; = at when the axis is not whole */
  int below, above;
  double cost[2]; /* at `at` */
  bool jump;      /* the costs do not meet: one of them steps here */
};

/* A part of the range in which the cheaper is the same; ratio: the dearer over the cheaper at positions probed. */
struct ss_crossover_part {
  double from, to;
  int winner;
  double ratio_min, ratio_max;
};

/* A position that was left out. */
struct ss_crossover_gap {
  double at;
  char why[200];
};

struct ss_crossover {
  struct ss_crossing *crossing;
  size_t crossings;
  struct ss_crossover_part *part; /* one more than crossings */
  size_t parts;
  double ratio_min, ratio_min_at, ratio_max, ratio_max_at; /* second / first at positions probed */
  struct ss_crossover_gap *gap;
  size_t gaps, probes; /* probes: positions with costs */
};

/* How many positions the grid has, and position i of them, ascending; whole numbers may repeat. */
uint32_t ss_crossover_positions(const struct ss_crossover_search *search);
double ss_crossover_position(const struct ss_crossover_search *search, uint32_t i);

/* Fails when the costs can be had nowhere, with the reason of the first position, and when the machine cannot do one
 * (SS_MACHINE). The result is to be freed. */
bool ss_crossover_find(const struct ss_crossover_search *search, struct ss_crossover *out,
                       struct ss_error *error) SS_MUST_CHECK;
void ss_crossover_free(struct ss_crossover *crossover);
/* SPDX-License-Identifier: Apache-2.0 */
