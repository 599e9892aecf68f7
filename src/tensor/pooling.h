/* Bags whose rows lie with several owners: which bags of a rank have a row in an owner's range, what those rows add
 * up to (forward, an owner sends that), and what gradients of bags are as gradients of rows (backward, an owner sums
 * those). Sums are meant; a mean divides by numbers that the bag's rank has. */
#pragma once

#include "tensor/chunk.h"

/* What a rank looked up, bag by bag; its bags are numbered table by table. */
struct ss_bagged {
  uint64_t count;            /* bags, empty ones too */
  const uint64_t *first;     /* [tables + 1] bags before each table's */
  const uint32_t *row, *bag; /* [lookups] bags ascend */
};

/* Rows of one table that have the same owners. */
struct ss_pool_range {
  uint32_t table;
  uint64_t low, high;
};

struct ss_pooled_rank;

struct ss_pooling {
  uint32_t ranks;
  const struct ss_bagged *bagged;    /* [ranks] */
  const uint64_t *lookups;           /* [ranks] */
  const struct ss_pool_range *range; /* [ranges] those of a table side by side, ascending, all of its rows */
  uint32_t ranges;
  const uint32_t *all; /* 0, 1, ...: as many as a rank has bags; NULL: only bags with a row in a range count */
  struct ss_pooled_rank *rank; /* [ranks] */
};

/* `padded`: all bags of the table are there in each of its ranges, those without a row as zeros. What says ranks,
 * bags, lookups and ranges is set, and the caller's; all else is the arena's. */
bool ss_pooling_open(struct ss_pooling *pooling, bool padded, struct ss_arena *arena,
                     struct ss_error *error) SS_MUST_CHECK;
/* Bags of the rank in the range, by number, without content and width; and lookups of it in the range. */
struct ss_chunk ss_pooling_bags(const struct ss_pooling *pooling, uint32_t rank, uint32_t range);
uint64_t ss_pooling_lookups(const struct ss_pooling *pooling, uint32_t rank, uint32_t range);

/* What to make of bags. */
struct ss_pool_content {
  bool marks, values; /* proof integers; floats of the chunk's columns from `column` on */
  uint32_t column;
  struct ss_arena *arena;
};
/* Fills in what ss_pooling_bags gave, of which the width is set now: sums of the parameters of a bag's rows in the
 * range; or the gradient of each bag, which its rank contributes. */
bool ss_pooling_parameters(const struct ss_pooling *pooling, uint32_t rank, uint32_t range,
                           const struct ss_pool_content *content, struct ss_chunk *bags,
                           struct ss_error *error) SS_MUST_CHECK;
bool ss_pooling_gradients(uint32_t rank, const struct ss_pool_content *content, struct ss_chunk *bags,
                          struct ss_error *error) SS_MUST_CHECK;
/* Every lookup of the rank in the range as an entry of its own, ascending, with what `bags` have of its bag; those of
 * bags that are not there are left out. False: memory is short. */
bool ss_pooling_spread(const struct ss_pooling *pooling, uint32_t rank, uint32_t range, const struct ss_chunk *bags,
                       struct ss_arena *arena, struct ss_chunk *out) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
