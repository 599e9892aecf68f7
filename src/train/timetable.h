/* A timetable: the tasks of a workload under a schedule, what each waits for, and its turn in the queue.
 *
 * Backward passes run in reverse list order, forward passes in `forward` order; a task is made by the end of an
 * operation and gates later ones. How long tasks last is filled in by the caller, from simulations
 * (train/durations.h) or by hand. docs/training.md, "The timeline". */
#pragma once

#include "train/system.h"
#include "train/workloads.h"

struct ss_policy {
  enum ss_schedule schedule;
  uint64_t bucket, first_bucket, partition;
  const struct ss_buckets *listed; /* instead of `bucket`; NULL: none are */
  bool exchanges;                  /* an embedding has a lookup exchange beside its gradient's */
  bool dense_tables;               /* gradients of embeddings are dense tensors: fused and cut as such */
  bool fuse_tables;                /* in the same buckets as dense modules */
  struct ss_concurrency concurrency;
};
struct ss_policy ss_system_policy(const struct ss_system *system);

enum ss_task_kind { SS_TASK_GRADIENT, SS_TASK_LOOKUPS, SS_TASK_PRIOR, SS_TASK_DELAYED };
/* "gradient", "lookups", "prior", "delayed" */
const char *ss_task_kind_name(enum ss_task_kind kind);

struct ss_task {
  enum ss_task_kind kind;
  const uint32_t *member; /* [members] modules whose gradient it carries, in backward order; or one embedding */
  uint32_t members;
  uint32_t maker;       /* of a gradient: the module at the end of whose backward pass it is there */
  uint32_t part, parts; /* of a tensor that is cut */
  bool dense;           /* it carries `bytes` of a dense tensor (or selected entries of it), not rows */
  uint64_t bytes;
  double key;       /* turn in the queue: lower is earlier */
  double late_key;  /* of delayed rows once the next split is done */
  uint32_t delayed; /* of prior rows: the task with the table's delayed ones */
  uint32_t channel;

  /* the caller's */
  const double *seconds; /* [period] by iteration modulo period */
  const double *sent;    /* [period] B, over all ranks; NULL: not known */
  uint32_t period;
  uint32_t duration;    /* the caller's own number */
  const uint32_t *ways; /* [SS_DENSE_WAYS] such numbers of a dense all-reduce, of which the fastest counts, UINT32_MAX
                           where there is none; NULL: it is played one way alone */
  const char *way;      /* the fastest; NULL likewise */
};

/* Lists of tasks, one for each module. */
struct ss_task_lists {
  const uint32_t *first; /* [modules + 1] */
  const uint32_t *task;
};

struct ss_timetable {
  struct ss_arena arena;
  const struct ss_workload *workload;
  struct ss_policy policy;
  uint32_t ranks;
  const uint32_t *forward; /* [modules] */
  struct ss_task *task;
  uint32_t tasks, gradients;        /* gradients: those that carry some of iteration t */
  struct ss_task_lists by_backward; /* tasks that the end of a module's backward pass makes */
  struct ss_task_lists by_forward;  /* and of its forward pass */
  struct ss_task_lists gates;       /* tasks that its forward pass waits for */
  const uint32_t *before_backward;  /* lookup exchanges that the next backward pass waits for */
  uint32_t befores;
  bool splits; /* Algorithm 1 runs after the last backward pass, and makes the prior and delayed tasks */

  /* the caller's */
  const double *split; /* [split_period] s */
  uint32_t split_period;
  const double *step; /* [step_period][modules] s before each forward pass: the software's; NULL: nothing */
  uint32_t step_period;
};

/* The workload must outlive the timetable, which is to be freed also after a failure. */
bool ss_timetable_make(const struct ss_workload *workload, const struct ss_policy *policy, uint32_t ranks,
                       struct ss_timetable *out, struct ss_error *error) SS_MUST_CHECK;
void ss_timetable_free(struct ss_timetable *timetable);
/* "gradient of encoder-embedding", "gradient of lstm, 2 of 8", "gradient of softmax and 3 more" */
void ss_task_name(const struct ss_timetable *timetable, const struct ss_task *task, char *out, size_t size);
/* SPDX-License-Identifier: Apache-2.0 */
