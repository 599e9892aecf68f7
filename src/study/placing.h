/* Where the tables of a trace might live: placements as sharding planners make them, each played on the cluster.
 *
 * Whole tables go largest first to the rank that has least, by bytes that travel and by bytes that are held at once:
 * the greedy rule of TorchRec's planner (planner/partitioners.py, GreedyPerfPartitioner), Graham's LPT. What planners
 * take two constants for, how long a placement takes, is played. */
#pragma once

#include "study/ranges.h"
#include "study/study.h"
#include "trace/placement.h"

/* What a table weighs; bytes are of all ranks together, means over iterations, if nothing of it stayed at home. */
struct ss_table_load {
  const char *name;
  uint64_t rows;
  uint32_t width, value_bytes;
  double lookups, distinct; /* rows */
  double bags;              /* that are not empty, or padded all; only where they are pooled */
  double bytes;             /* B: looked-up parameters and gradients, or their pooled vectors */
  double held;              /* B of the table itself */
};

struct ss_placing_candidate {
  const char *name; /* "columns", "rows", "tables", "greedy", "mixed" */
  struct ss_placement placement;
  struct ss_result *result; /* as it was played, with what each rank sent and received */
  /* The largest over ranks / the mean: of bytes that a rank sent and received, as played (NaN: nothing was); of bytes
   * of tables that it holds; of bytes that it serves as an owner, its own included (NaN: some table is cut by rows,
   * whose popularity decides). */
  double bytes_imbalance, held_imbalance, served_imbalance;
};

enum { SS_PLACINGS = 5 };

struct ss_placing {
  uint32_t ranks, tables, index_bytes;
  const char *const *schemes; /* [2] tables whole, and placed */
  bool pooled;
  struct ss_table_load *table; /* [tables] */
  struct ss_placing_candidate candidate[SS_PLACINGS];
  size_t best;                                 /* takes the least time */
  struct ss_candidate drawn[SS_PLACINGS];      /* of the candidates, in their order */
  struct ss_decision decision;                 /* among these */
  double whole_served_bound, whole_held_bound; /* no placement of whole tables has less imbalance */
  struct ss_study *study[SS_PLACINGS + 1];     /* whose texts the results have */
  struct ss_results results[SS_PLACINGS];
  struct ss_arena arena;
};

/* Of a request of one cell, one number of ranks and a trace. Its document's schemes are not asked for; an edit of
 * "schemes" may say "alltoall:pooling=sum" (or padded): then bags are pooled. Close also after a failure. */
bool ss_placing_make(const struct ss_request *request, struct ss_placing *out, struct ss_error *error) SS_MUST_CHECK;
void ss_placing_close(struct ss_placing *placing);

/* The best placement as alltoall takes it, with all candidates under "plan"; and their list. The caller's, NULL when
 * memory is short. */
struct cJSON *ss_placing_json(const struct ss_placing *placing, const char *scenario);
struct cJSON *ss_placing_rows(const struct ss_placing *placing);
/* SPDX-License-Identifier: Apache-2.0 */
