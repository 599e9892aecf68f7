/* The scenarios of `sparsync train`: which workloads under which systems, where (docs/training.md). */
#pragma once

#include "study/captured.h"
#include "study/extrapolation.h"
#include "study/ranges.h"
#include "study/software.h"
#include "study/sources.h"
#include "study/study.h"
#include "train/scale.h"
#include "train/training.h"

enum { SS_TRAIN_RANKS = 64, SS_TRAIN_FACTORS = 3 };

struct ss_train_study {
  struct ss_doc *doc;
  const char *base, *name;
  char cluster[128], device[128];
  const struct ss_source *source; /* the trace; NULL: none */
  struct ss_captured captured;    /* whose system comes first, and at whose rank count it was measured; without `doc`
                                    there is none */
  struct ss_inferred_file software; /* what a fit inferred; `numbers` and `count` 0: nothing was */
  struct ss_sources sources;
  struct ss_extrapolations extrapolations;
  bool extrapolate; /* to more ranks than the trace has */
  bool offered;     /* only systems that somebody offers */
  uint32_t ranks[SS_TRAIN_RANKS];
  struct ss_scale scale;
  struct ss_training training;     /* prepared, scaled */
  double factor[SS_TRAIN_FACTORS]; /* on compute times, of which `best` tells */
  const struct ss_system *(
      *best)[SS_TRAIN_FACTORS];   /* [points] the fastest system at each factor; NULL: nobody asked */
  bool per_iteration;             /* JSON has arrays */
  const struct ss_notice *notice; /* NULL: nobody listens */
  bool wide;                      /* the table has all columns */
};

/* The request may edit "workloads" and "systems" by texts "a,b", the first also where the document has a "workload".
 * `like` outlives the study, which draws no rows that it, or its own `like`, has drawn; NULL: none. To be closed also
 * after a failure. */
bool ss_train_study_open(const struct ss_request *request, const struct ss_train_study *like,
                         struct ss_train_study *out, struct ss_error *error) SS_MUST_CHECK;
void ss_train_study_close(struct ss_train_study *study);

/* Simulates all tasks of [count] studies and plays all their points; `sensitivity`: also with compute times half and
 * twice as long. With options->comm it is collective, and only rank 0 plays. */
bool ss_train_studies_run(struct ss_train_study *study, size_t count, const struct ss_run_options *options,
                          bool sensitivity, struct ss_error *error) SS_MUST_CHECK;

/* How many points from the first on are of its workload and number of ranks. */
size_t ss_training_group(const struct ss_training *training, size_t first);
/* The fastest of these that may be called so; NULL: none of them is lossless, as is asked for. */
const struct ss_training_point *ss_training_fastest(const struct ss_training *training, size_t first, bool lossless);
/* Which system is fastest of n such points: `list`, [n], and the decision point into them. */
bool ss_training_decide(const struct ss_training *training, size_t first, size_t n, struct ss_candidate *list,
                        struct ss_decision *out, struct ss_error *error) SS_MUST_CHECK;

/* Fills in what draws say of all points, and of what would help them. */
bool ss_training_draw(struct ss_training *training, struct ss_error *error) SS_MUST_CHECK;

/* The tree that `train --format json` prints, and its list of points; the caller's, NULL when memory is short. */
struct cJSON *ss_train_study_json(const struct ss_train_study *study);
struct cJSON *ss_train_study_points(const struct ss_train_study *study);
/* Of a capture, what that tree has under "capture": measured against predicted, and what other systems would make of
 * it (docs/training.md, "Captures"); the caller's. NULL: there is no capture, or memory was short. */
struct cJSON *ss_train_study_capture(const struct ss_train_study *study);

/* What runs in a timeline, and its names. */
enum ss_shade {
  SS_SHADE_BACKWARD,
  SS_SHADE_FORWARD,
  SS_SHADE_SPLIT,
  SS_SHADE_DENSE,
  SS_SHADE_ROWS,
  SS_SHADE_PRIOR,
  SS_SHADE_LOOKUPS,
  SS_SHADE_DELAYED,
  SS_SHADES
};
extern const char *const ss_shade_names[SS_SHADES];

/* What a timeline shows of a span of the last iteration. */
struct ss_training_shown {
  enum ss_shade shade;
  const char *name;  /* of the (first) module */
  double start, end; /* s from the iteration's begin; what runs on beyond its end is cut there */
  bool task;         /* on a channel, else computed */
  uint32_t channel;  /* of a task */
  double slowed;     /* s of a task; see ss_training_slowed */
};
/* False: nothing; the span lies elsewhere, or on another rank than the first. */
bool ss_training_show(const struct ss_training_point *point, const struct ss_span *span,
                      struct ss_training_shown *out) SS_MUST_CHECK;

/* How much longer than alone the span's task takes, s: it waits for links that others use, or for shared kernels. */
double ss_training_slowed(const struct ss_training_point *point, const struct ss_span *span);

/* "forward of lstm", "Algorithm 1", "prior of embedding" */
void ss_training_part_name(const struct ss_training_point *point, enum ss_span_kind kind, uint32_t what, char *out,
                           size_t size);
/* SPDX-License-Identifier: Apache-2.0 */
