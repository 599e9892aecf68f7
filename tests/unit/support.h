/* What several unit tests share: seeded random numbers, clusters, the headers that cmocka wants. */
#pragma once

#include "listed.h"

#include "machine/cluster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* AUTO(ss_thing_free) struct ss_thing t = {0}; is freed where its block ends. */
#define AUTO(free) __attribute__((cleanup(free)))

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))

/* Random cases, of so many in the plain build, which judges what comes out of them. Sanitizers, which look at memory
 * and slow it down, take a fifth: the first ones. */
#if defined(__SANITIZE_ADDRESS__)
#define CASES(count) (((count) + 9) / 10)
#else
#define CASES(count) (count)
#endif

/* The numbers of one seed, one after the other; failures print the seed. */
struct dice {
  uint64_t seed, thrown;
};
uint64_t dice_next(struct dice *dice);
/* Uniform in [0, n), n > 0; in [low, high]; in [0, 1). */
uint32_t dice_below(struct dice *dice, uint32_t n);
uint32_t dice_between(struct dice *dice, uint32_t low, uint32_t high);
double dice_unit(struct dice *dice);
/* True once in n. */
bool dice_one_in(struct dice *dice, uint32_t n);

/* Every rank a node of its own, one link for all. */
struct ss_cluster flat_cluster(double alpha, double beta);

/* |got - wanted| at most `relative` of the larger. */
bool close_to(double got, double wanted, double relative);
/* SPDX-License-Identifier: Apache-2.0 */
