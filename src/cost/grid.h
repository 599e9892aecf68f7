/* A closed form's grid: the uniform inputs and flat networks on which `check` plays its scheme. */
#ifndef SS_COST_GRID_H
#define SS_COST_GRID_H

#include "cost/cost.h"
#include "schemes/schemes.h"

/* One place of a grid, ready to be played. */
struct ss_grid_point {
  const struct ss_cost *cost;
  struct ss_setting setting;
  struct ss_uniform uniform;
  uint32_t ranks;
  double alpha, beta;
  bool verify;
};

struct ss_grid {
  struct ss_grid_point *point;
  size_t count;
};

/* Appends the points of a cost that has `exact`. "P", "d", "M", "alpha", "beta" are lists; "row_width" a count;
 * "overlap" (["full"]) and "options" ([{}]) lists. M is rounded up to the next size that divides. */
bool ss_grid_add(struct ss_grid *grid, const struct ss_cost *cost, struct ss_error *error) SS_MUST_CHECK;
void ss_grid_free(struct ss_grid *grid);

struct ss_grid_result {
  double simulated, exact, paper; /* s; paper NaN when not printed */
  double relative;                /* |simulated - exact| / exact */
  bool ok;                        /* within 1e-9, and proven where the point verifies */
};
/* Plays the point and evaluates the form from the grid's own numbers (nothing is measured). */
bool ss_grid_play(const struct ss_grid_point *point, struct ss_arena *arena, struct ss_coalesce_scratch *scratch,
                  struct ss_grid_result *out, struct ss_error *error) SS_MUST_CHECK;

#endif
