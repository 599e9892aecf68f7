/* Random clusters with every key of the model "fair", and random rounds of messages and computations. */
#pragma once

#include "support.h"

#include "base/memory.h"
#include "machine/network.h"

struct ss_cluster random_fair(struct dice *dice);
struct ss_jitter random_jitter(struct dice *dice);
double random_seconds(struct dice *dice);
uint64_t random_size(struct dice *dice, bool alike);
/* Round `number` of a play; its arrays are the arena's. */
struct ss_network_round random_round(struct dice *dice, uint32_t ranks, uint32_t endpoints, uint32_t number,
                                     struct ss_arena *arena);
/* SPDX-License-Identifier: Apache-2.0 */
