/* What stands for all that decides something: a hash of the JSON that says it. */
#pragma once

#include "base/base.h"

struct cJSON;

struct ss_identity {
  uint64_t high, low; /* XXH3, 128 bits: of a million things no two are taken for each other */
};

/* Of what the tree says: in whatever order an object has its members, and "10Gbps" is 1.25e9. NULL says nothing at
 * all. */
struct ss_identity ss_identity_of(const struct cJSON *tree);
/* Of both, in that order. */
struct ss_identity ss_identity_join(struct ss_identity a, struct ss_identity b);

static inline bool ss_identity_same(struct ss_identity a, struct ss_identity b) {
  return a.high == b.high && a.low == b.low;
}

/* Something found by its identity: its index in a list. */
struct ss_keyed {
  struct ss_identity key;
  size_t index;
};
/* By key, of equal keys by index. */
void ss_keyed_sort(struct ss_keyed *list, size_t count);
/* The first of the sorted list with the key; NULL: none has it. */
const struct ss_keyed *ss_keyed_find(const struct ss_keyed *list, size_t count, struct ss_identity key);
/* SPDX-License-Identifier: Apache-2.0 */
