/* Closed forms on clusters whose ranks sit on nodes and share cards: what a form for one flat class of links becomes
 * when it is known which of its messages leave a node.
 *
 * A form is linear in alpha and beta: A start-ups and B bytes at a rank. Where all its messages take the same class
 * and share nothing, it holds as it is. Elsewhere its pattern says which of them go to other nodes; then the busiest
 * port and the busiest card follow (docs/model.md, "On nodes and cards"). */
#pragma once

#include "cost/forms.h"
#include "machine/cluster.h"

struct ss_placed {
  double seconds; /* NaN: not known on this cluster */
  bool exact;     /* of inputs as the form assumes them this is the time; else no time is below it */
};

/* What a form is made of: start-ups and bytes of the rank that has most to do. */
struct ss_cost_parts {
  double startups, bytes;
};

/* A form that is placed on one cluster after the other: the first three members are the caller's, all else begins as
 * zeros and keeps what the form is made of. */
struct ss_cost_placing {
  const struct ss_cost *cost;
  const struct ss_setting *setting; /* tells how many rings go side by side */
  const struct ss_symbols *symbols; /* as for ss_cost_evaluate; alpha and beta do not count, the cluster's do */
  bool known, running;              /* running: ranks send sums of what some of them have */
  struct ss_cost_parts all, inside; /* of all ranks; of `inside_ranks` of them (0: not known) */
  double waits;                     /* s, of hosts */
  double inside_ranks;
};
bool ss_cost_place(struct ss_cost_placing *placing, const struct ss_cluster *cluster, struct ss_placed *out,
                   struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
