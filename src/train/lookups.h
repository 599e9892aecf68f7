/* The rows that each rank looks up in each iteration, of one embedding: what its gradients and exchanges carry. */
#pragma once

#include "train/workloads.h"

struct ss_lookups {
  const struct ss_module *module;
  enum ss_dtype dtype;
  uint64_t iterations;
  uint32_t ranks;
  uint64_t *first, *distinct_first; /* [iterations * ranks + 1] */
  uint32_t *row, *distinct;         /* as looked up, sorted, duplicates kept; and without them */
  /* gradients with values, as the trace has them; NULL: values are made up where a scheme wants some */
  const struct ss_trace *valued;
  size_t tensor;
  uint32_t merge;
  bool borrowed; /* all arrays are another's, which outlives it */
};

/* What feeds a workload: a trace, or NULL. `names` of its tensors may be changed by the scenario's "feeds". */
struct ss_feeding {
  const struct ss_trace *trace;
  uint32_t merge; /* ranks that become one */
  uint32_t ranks; /* the most that are played */
  /* the trace's tensor for a module's: NULL: of the same name */
  const char *(*rename)(void *context, const char *module, const char *tensor);
  void *context;
  bool *used;             /* [tensors of the trace] set where a module names one; NULL: nobody asks */
  struct ss_drawn *drawn; /* synthetic lookups that are known; NULL: none */
};

/* A tensor that the trace lacks, a trace with more rows than the table, or with too few ranks is an error. To be
 * freed also after a failure. */
bool ss_lookups_make(const struct ss_workload *workload, const struct ss_module *module,
                     const struct ss_feeding *feeding, struct ss_lookups *out, struct ss_error *error) SS_MUST_CHECK;
void ss_lookups_free(struct ss_lookups *lookups);
/* The same rows as `like`, which were drawn for a module that says the same and outlive `out`; false: it does not. */
bool ss_lookups_borrow(const struct ss_lookups *like, const struct ss_workload *workload,
                       const struct ss_module *module, const struct ss_feeding *feeding, struct ss_lookups *out);
/* Do both look up the same, and draw the same values? Both may be NULL. */
bool ss_lookups_same(const struct ss_lookups *a, const struct ss_lookups *b);

/* Algorithm 1: prior rows are a rank's own distinct rows of t that any of the ranks looks up at t+1. */
enum ss_share_of_rows { SS_ROWS_ALL, SS_ROWS_PRIOR, SS_ROWS_DELAYED };

struct ss_lookups_options {
  struct ss_input_options input; /* its lists are always made */
  enum ss_share_of_rows share;
  uint32_t columns; /* of the table that are looked at; 0: all */
};

/* What a scheme starts from, as ss_input_make has it; arrays are `arena`'s. */
bool ss_lookups_input(const struct ss_lookups *lookups, const struct ss_lookups_options *options,
                      struct ss_arena *arena, struct ss_input *out, struct ss_error *error) SS_MUST_CHECK;

/* The most distinct rows that the first `ranks` ranks have together in any iteration. */
uint64_t ss_lookups_most(const struct ss_lookups *lookups, uint32_t ranks);

/* What Algorithm 1 does to a rank's rows, in one launch, where all ranks together look up `next` rows in the
 * iteration after, is added to *work (docs/training.md, "The split"). */
struct ss_split_work {
  struct ss_kernel_work coalesce, pack;
};
void ss_lookups_split_work(const struct ss_lookups *lookups, uint64_t iteration, uint32_t rank, uint64_t next,
                           struct ss_split_work *work);
/* Rows that any of the first `ranks` ranks looks up. False: memory is short. */
bool ss_lookups_touched(const struct ss_lookups *lookups, uint64_t iteration, uint32_t ranks, uint64_t *rows);
/* Lookups of the first `ranks` ranks. */
uint64_t ss_lookups_gathered(const struct ss_lookups *lookups, uint64_t iteration, uint32_t ranks);
/* SPDX-License-Identifier: Apache-2.0 */
