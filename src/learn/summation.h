/* What the gradients of all ranks add up to, as a scheme's own code has it, values and all.
 *
 * Values are whole units (docs/model.md, "Values"), so that addition is exact in any order. Schemes that aggregate
 * values play once, on elements. In the others a row is what moves, and one 64-bit integer stands for its elements:
 * they play once for each column, with that column's values in place of the proof's integers. All plays of a step
 * have the same messages; bytes are counted in the first. Of gradients that are cut to their largest entries an
 * element is what moves, so all schemes play once. */
#pragma once

#include "schemes/select.h"
#include "schemes/simulate.h"

/* What one rank has for one table. */
struct ss_learn_rows {
  const uint32_t *row; /* [count] ascending, distinct */
  uint64_t count;
  int64_t *unit;          /* [count * width] */
  const uint32_t *lookup; /* [lookups] ascending, duplicates kept: whose parameters are to be fetched with it */
  uint64_t lookups;
};

struct ss_summation {
  const struct ss_setting *setting;
  const struct ss_cluster *cluster;
  struct ss_player *player; /* who plays the messages; NULL: an engine of the cluster */
  uint64_t rows;
  uint32_t width, ranks;
  uint32_t plays;              /* of a step */
  struct ss_state *memory;     /* [plays] what the scheme keeps */
  struct ss_selector selector; /* what ranks keep of what they did not select */
  struct ss_arena arena;
};

/* Element e = row * width + column. */
struct ss_added {
  uint32_t *element; /* [count] ascending: those that the result lists; valid until the next run */
  double *unit;      /* [count] */
  uint64_t count;
  uint64_t sent_max; /* B: the most that a rank sent */
  bool sound;        /* all ranks ended alike, no message was amiss, what must be conserved was */
  char mismatch[160];
  double energy, energy_lost, error_l2; /* as in ss_outcome: NaN where the scheme has none; 1, 0, 0 of exact sums */
};

/* The caller has set setting, cluster, rows, width, ranks and selector.selection, and all else to zero. Checks that
 * the scheme can carry such gradients. To be closed, also after a failure. */
bool ss_summation_open(struct ss_summation *summation, struct ss_error *error) SS_MUST_CHECK;
void ss_summation_close(struct ss_summation *summation);

/* How a tensor's values become whole units: multiplied by 2^exponent and rounded, half to even, to multiples of
 * 2^-20. The largest magnitude of its first gradient that is not zero comes to lie in [2^9, 2^10), as that of a trace
 * does; later ones may grow until sums over ranks leave the range of exact doubles. A zeroed struct is ready. */
struct ss_learn_scale {
  int exponent;
  bool chosen;
};
/* Fills in own[ranks].unit from value[ranks][count * width]. False: values are too large, or no numbers. */
bool ss_learn_round(struct ss_learn_scale *scale, const struct ss_summation *summation, const double *const *value,
                    struct ss_learn_rows *own) SS_MUST_CHECK;

/* One step: own[ranks]. */
bool ss_summation_run(struct ss_summation *summation, const struct ss_learn_rows *own, struct ss_added *out,
                      struct ss_error *error) SS_MUST_CHECK;
/* What was added becomes values again. */
void ss_learn_rescale(const struct ss_learn_scale *scale, struct ss_added *added);
/* SPDX-License-Identifier: Apache-2.0 */
