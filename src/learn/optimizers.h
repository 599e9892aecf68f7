/* Optimisers that touch only what a gradient lists: SGD, Adagrad, and EmbRace's sparse Adam.
 *
 * Updates are element by element, so one update in two parts gives the same bits as one in one part, in any order,
 * for SGD and Adagrad. Adam also counts steps, for its bias correction, which is where two updates would differ from
 * one. EmbRace (§5.7) therefore lets the prior part use the next step without storing it, and the delayed part store
 * it, also when that part is empty. */
#pragma once

#include "base/base.h"

enum ss_optimizer_kind { SS_SGD, SS_ADAGRAD, SS_ADAM };
extern const char *const ss_optimizer_names[]; /* by kind, NULL-terminated */

struct ss_optimizer_options {
  enum ss_optimizer_kind kind;
  double rate; /* learning rate, above 0 */
};
/* SGD 1, Adagrad 0.1, Adam 0.001 */
double ss_optimizer_rate(enum ss_optimizer_kind kind);

/* Of one table. The step is Adam's, and one for the whole table:
 *   m = 0.9 m + 0.1 g        v = 0.999 v + 0.001 g^2
 *   p = p - rate · sqrt(1 - 0.999^step)/(1 - 0.9^step) · m / (sqrt(v) + 1e-8)
 * Adagrad: s = s + g^2, p = p - rate · g / (sqrt(s) + 1e-10). */
struct ss_optimizer {
  struct ss_optimizer_options options;
  double *first, *second; /* [elements] m and v; s is `second` */
  uint64_t step;          /* stored so far */
};

/* All of an update at once, or what the next forward pass needs, or the rest. */
enum ss_part { SS_PART_WHOLE, SS_PART_PRIOR, SS_PART_DELAYED };

struct ss_update {
  const uint32_t *element; /* [count] distinct */
  const double *gradient;  /* [count] */
  uint64_t count;
};

/* The optimiser is the caller's, to be closed (also after a failure). */
bool ss_optimizer_open(const struct ss_optimizer_options *options, uint64_t elements, struct ss_optimizer *out,
                       struct ss_error *error) SS_MUST_CHECK;
void ss_optimizer_close(struct ss_optimizer *optimizer);
void ss_optimizer_apply(struct ss_optimizer *optimizer, double *parameters, const struct ss_update *update,
                        enum ss_part part);
/* SPDX-License-Identifier: Apache-2.0 */
