/* Placements: which ranks hold which part of each table of a trace, as recommenders shard theirs.
 *
 * A table is cut by columns or by rows over some ranks, shard k of n being its k-th even share, or it lives whole on
 * one. These are the column-wise, row-wise and table-wise schemes of TorchRec's ShardingType (distributed/types.py);
 * DLRM (Naumov et al. 2019, section 4) places whole tables, EmbRace (section 4.1) cuts columns. */
#pragma once

#include "base/fields.h"
#include "trace/file/trace.h"

enum ss_sharding { SS_BY_COLUMN, SS_BY_ROW, SS_BY_TABLE };
extern const char *const ss_sharding_names[]; /* "column", "row", "table"; ended by NULL */

/* Where one table is. */
struct ss_shards {
  enum ss_sharding cut;
  uint32_t count;       /* at least 1; 1 for SS_BY_TABLE */
  const uint32_t *rank; /* [count] that of each shard, none twice */
};

/* {"ranks": P, "tables": {NAME: {"partition": "column", "row" or "table", "ranks": [RANK, ...]}}}: of columns and
 * rows "ranks" may be left out: all are meant then. What else `plan` writes beside ("sparsync", "scenario",
 * "cluster", "chosen", "plan"), "name" and "notes" are not read. */
struct ss_placement {
  struct ss_node node; /* what it was read from, for errors */
  uint32_t ranks, tables;
  const char *const *name;        /* [tables] */
  const struct ss_shards *shards; /* [tables] */
};

extern const struct ss_object_spec ss_placement_fields; /* of the object */
/* Arrays and names are `arena`'s; `node` must last as long. What is wrong in itself is said: ranks out of range, a
 * rank twice, none. */
bool ss_placement_read(struct ss_node node, struct ss_arena *arena, struct ss_placement *out,
                       struct ss_error *error) SS_MUST_CHECK;
/* The shards of each of the tensors, in their order: shards[count]. Tables that there are not, tensors that are
 * missing, another number of ranks and more shards than columns or rows are errors. */
bool ss_placement_match(const struct ss_placement *placement, const struct ss_tensor *const *tensor, uint32_t count,
                        uint32_t ranks, struct ss_shards *shards, struct ss_error *error) SS_MUST_CHECK;
/* The object that ss_placement_read takes, the caller's; NULL when memory is short. */
struct cJSON *ss_placement_json(const struct ss_placement *placement);
/* SPDX-License-Identifier: Apache-2.0 */
