/* Toy workloads: modules whose passes and tasks last as a test says, or as chance does. */
#pragma once

#include "support.h"

#include "train/timetable.h"

enum { MODULES = 24 };

struct toy_module {
  const char *name;
  bool embedding;
  double forward, backward;
  uint64_t bytes; /* of dense modules, in elements of 4 */
  double gradient, lookups, prior, delayed;
  uint32_t after[MODULES], afters;
};

struct toy {
  struct toy_module module[MODULES];
  uint32_t modules;
  uint64_t bucket, partition;
  double split;
  double startup, per_byte; /* of dense tasks without a gradient time of their own */
};

/* The workload and its modules, which take its names and lists. */
void toy_workload(const struct toy *toy, struct ss_workload *workload, struct ss_module module[MODULES]);

enum family { MIXED, EMBEDDINGS_FIRST, SPARSE_HEAVY, FAMILIES };
struct toy draw_toy(enum family family, uint32_t seed);
/* SPDX-License-Identifier: Apache-2.0 */
