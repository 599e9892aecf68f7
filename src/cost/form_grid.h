/* A closed form's grid: the uniform inputs and synthetic gradients, on flat networks, on which `check` plays its
 * scheme. */
#pragma once

#include "cost/forms.h"
#include "schemes/simulate.h"

/* The least number that both divide. */
uint64_t ss_common_multiple(uint64_t a, uint64_t b);

/* "seed", "rho", "scale", "sigma" and "layers" of a synthetic gradient, which all may be absent; `keys`
 * (NULL-terminated) may stand there. */
bool ss_gradient_read(const struct ss_object_spec *spec, struct ss_node node, struct ss_gradient *out,
                      struct ss_error *error) SS_MUST_CHECK;
/* An entry of a cost model's "grid". */
extern const struct ss_object_spec ss_grid_entry_fields;

#define SS_GRADIENT_FIELDS(layers_most)                                                                              \
  {"seed", NULL, SS_IS_SEED, SS_STORED(struct ss_gradient, seed)},                                                   \
      {"rho", "what ranks have in common (0.5)", SS_IS_RATIO, .most = 1, SS_STORED(struct ss_gradient, rho)},        \
      {"scale", "of all values (1)", SS_IS_SHARE, SS_STORED(struct ss_gradient, scale)},                             \
      {"sigma", "spread of the layers' magnitudes (1)", SS_IS_RATIO, SS_STORED(struct ss_gradient, sigma)}, {        \
    "layers", "at most as many as elements (8)", SS_IS_COUNT(1, layers_most), SS_STORED(struct ss_gradient, layers)  \
  }

/* Which bound a point was built to reach. */
enum ss_touch { SS_TOUCH_NONE, SS_TOUCH_LOW, SS_TOUCH_HIGH };

/* One point of a grid, ready to be played. */
struct ss_grid_point {
  const struct ss_cost *cost;
  struct ss_setting setting;
  struct ss_uniform uniform;
  struct ss_gradient gradient; /* in place of the uniform tensor when it has elements */
  uint64_t iterations;         /* one after the other, with what schemes keep between them */
  enum ss_touch touches;       /* by the last of them */
  uint32_t ranks;
  double alpha, beta;
  bool verify;
  uint32_t networks; /* so many points from this one on differ in alpha and beta alone, and can be played at once; 0:
                        this one belongs to one before it */
};

struct ss_grid {
  struct ss_grid_point *point;
  size_t count;
};

/* Appends the points of a cost that has `exact` or bounds. Its grid is an entry or a list of entries. "P", "alpha"
 * and "beta" are lists; "options" (a list, [{}]), "iterations" (1) and "touches" ("low" or "high") may follow.
 * Uniform inputs: lists "d" and "M", "row_width" a count; "overlap" a list (["full"]); M is rounded up to the next
 * size of which every part of every algorithm has the same whole number of rows, and of non-zero ones, and the
 * "multiple" (1) divides both numbers.
 * Gradients: "gradient" a list of objects ("seed", "rho", "scale", "sigma", "layers"), "n" a list of their elements.
 */
bool ss_grid_add(struct ss_grid *grid, const struct ss_cost *cost, struct ss_error *error) SS_MUST_CHECK;
void ss_grid_free(struct ss_grid *grid);

struct ss_grid_result {
  double simulated;        /* s; of the last iteration */
  double exact, low, high; /* NaN where the cost has none */
  double paper;            /* NaN when not printed */
  double relative;         /* the worst iteration's distance to `exact`, the bounds, or the bound that it touches */
  bool proven;             /* nothing was found wrong with results */
  bool ok;                 /* within 1e-9, and proven where the point verifies */
};
/* What a thread keeps from point to point: zeroed, and to be freed. */
struct ss_grid_scratch {
  struct ss_arena arena;
  struct ss_coalesce_scratch coalesce;
};
void ss_grid_scratch_free(struct ss_grid_scratch *scratch);
/* Plays `networks` points, as many as the first says or fewer, into out[networks], and evaluates the forms from the
 * grid's own numbers (nothing is measured). What comes out of one does not depend on the others. */
bool ss_grid_play(const struct ss_grid_point *point, uint32_t networks, struct ss_grid_scratch *scratch,
                  struct ss_grid_result *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
