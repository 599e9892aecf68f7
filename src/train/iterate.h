/* Playing iterations of a timetable: when does each operation and task begin and end?
 *
 * Iteration t is backward(t), [split(t)], forward(t+1), and of each further micro-batch a forward pass and, before
 * it, a backward pass whose gradients stay; it ends with the last forward pass on the last rank. Time 0 is the start
 * of the first backward pass, with nothing pending. Without jitter, where kernels are not shared, all ranks do the
 * same at the same time, and one stands for all. */
#pragma once

#include "train/timetable.h"
#include "train/under_way.h"

struct ss_iterate_options {
  uint64_t iterations, warmup; /* warmup >= 1, below iterations; means are over the rest */
  double compute;              /* factor on forward and backward times, and on those of the optimizer */
  uint32_t accumulation; /* micro-batches an iteration, whose gradients are added before they are sent; 0 is 1 */
  double sigma;          /* of the lognormal factor on them, one an iteration and rank; 0: no jitter */
  uint64_t seed;         /* of that */
  uint64_t recorded;     /* iterations, the last ones, whose spans are kept */
  const struct ss_task_network *network; /* where plays share links; NULL where none is needed */
};

enum ss_span_kind { SS_SPAN_BACKWARD, SS_SPAN_SPLIT, SS_SPAN_FORWARD, SS_SPAN_TASK };

struct ss_span {
  enum ss_span_kind kind;
  uint32_t stream;    /* rank; of tasks: channel */
  uint32_t what;      /* module, or task */
  uint64_t iteration; /* t of backward(t), split(t), forward(t) and gradient(t), lookups(t), ... */
  double submitted;   /* s: when it could begin, but for others: tasks only */
  double start, end;  /* s; end is NaN where the play ended before */
  int64_t before;     /* the span whose end it began at, -1: none that is kept */
  double software;    /* share of it that software takes */
};

struct ss_iterated {
  double mean, min, max; /* s an iteration */
  double own;            /* s: forward and backward times, mean over ranks */
  double stall;          /* mean - own; 0 where that is rounding */
  double split;          /* s: in the split, mean over ranks; part of the stall */
  double step;           /* s: of the optimizer and of software before forward passes; likewise */
  double busy;           /* s an iteration in which a channel is busy */
  double hidden;         /* share of it under forward or backward passes, mean over ranks; NaN: it never is */
  double sent;           /* B an iteration, all tasks and ranks */
  double *end;           /* [iterations] s */
  double window;         /* s: when the recorded iterations begin; spans of the one before are kept too */
  struct ss_span *span;
  size_t spans;
  int64_t last; /* the span that ended the last iteration */
  uint32_t streams;
};

bool ss_iterate(const struct ss_timetable *timetable, const struct ss_iterate_options *options,
                struct ss_iterated *out, struct ss_error *error) SS_MUST_CHECK;
void ss_iterated_free(struct ss_iterated *iterated);

/* Means over the measured iterations: bytes that the task sends, seconds that it lasts. */
double ss_task_sent(const struct ss_task *task, const struct ss_iterate_options *options);
double ss_task_seconds(const struct ss_task *task, const struct ss_iterate_options *options);

/* --- the critical path: from the last forward pass back, each step to what ended last of all that it waited for ----
 */

/* What the path spends on one operation or task, over the recorded iterations. */
struct ss_path_part {
  enum ss_span_kind kind;
  uint32_t what; /* module, or task */
  double seconds;
  double software; /* s of them: of tasks also until channels choose */
  double waited;   /* s of an operation: for kernels that have its stream */
};

/* Parts by falling seconds, which add up to the recorded time, those alike by kind and in the workload's order; an
 * array of *count, to be freed. */
bool ss_path_find(const struct ss_timetable *timetable, const struct ss_iterated *iterated, struct ss_path_part **out,
                  size_t *count, struct ss_error *error) SS_MUST_CHECK;

/* exp(sigma z - sigma^2/2), z standard normal: of mean 1. */
double ss_jitter(uint64_t seed, double sigma, uint64_t iteration, uint32_t rank);
/* SPDX-License-Identifier: Apache-2.0 */
