#include "support.h"

#include "base/random.h"

uint64_t dice_next(struct dice *dice) {
  return ss_mix(dice->seed, dice->thrown++);
}

uint32_t dice_below(struct dice *dice, uint32_t n) {
  return (uint32_t)ss_below(dice_next(dice), n);
}

uint32_t dice_between(struct dice *dice, uint32_t low, uint32_t high) {
  return low + dice_below(dice, high - low + 1);
}

double dice_unit(struct dice *dice) {
  return ss_unit(dice_next(dice));
}

bool dice_one_in(struct dice *dice, uint32_t n) {
  return dice_below(dice, n) == 0;
}

struct ss_cluster flat_cluster(double alpha, double beta) {
  struct ss_cluster cluster = {.name = "flat", .model = "alpha-beta", .gpus_per_node = 1};
  cluster.inter = cluster.intra = (struct ss_link){alpha, beta};
  return cluster;
}

bool close_to(double got, double wanted, double relative) {
  return fabs(got - wanted) <= relative * fmax(fabs(got), fabs(wanted));
}
/* SPDX-License-Identifier: Apache-2.0 */
