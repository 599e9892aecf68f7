/* What a point is: which points send the same, and which are the same. */
#pragma once

#include "study/study.h"

/* What the scenario's document, as it stands in one cell of the sweep, says for all points of the cell. */
bool ss_cell_identify(struct ss_node document, struct ss_identities *out, struct ss_error *error) SS_MUST_CHECK;
/* The point's own, of what point->is has of its cell, and of what it says itself. */
bool ss_point_identify(struct ss_point *point, struct ss_error *error) SS_MUST_CHECK;
/* Of all points, in their order. */
struct ss_identity ss_points_identity(const struct ss_point *const *points, size_t count);

/* Endpoints of all networks that are played at once. */
enum { SS_ENDPOINTS_MAX = 1 << 22 };

/* Points that are simulated in one go, in the order of the first of each. */
struct ss_point_group {
  const size_t *point; /* [count] ascending */
  uint32_t count;
};
struct ss_point_groups {
  struct ss_point_group *group;
  size_t count;
  size_t *order; /* the points, group by group */
};
/* `wanted[i]`: point i is to be computed. Groups are kept small enough that their networks fit into memory. */
bool ss_points_group(const struct ss_point *const *points, size_t count, const bool *wanted,
                     struct ss_point_groups *out, struct ss_error *error) SS_MUST_CHECK;
void ss_points_ungroup(struct ss_point_groups *groups);
/* SPDX-License-Identifier: Apache-2.0 */
