/* Training runs as tables, JSON, CSV, and timelines. */
#ifndef SS_REPORT_TRAIN_H
#define SS_REPORT_TRAIN_H

#include "figures/plot.h"
#include "train/scale.h"
#include "train/training.h"

#include <stdio.h>

/* What results name beside the points. */
struct ss_training_names {
  const char *scenario, *cluster, *device, *trace; /* trace: NULL where none feeds anything */
  double factor[3];                                /* on compute times, of which `ranking` tells; 0: not asked */
  const char *(*best)[3];                          /* [points] the fastest system at each factor; NULL: not asked */
  const struct ss_scale *scale;                    /* what "scale" made of estimates; NULL: nothing */
  bool per_iteration;
};

bool ss_training_json(const struct ss_training *training, const struct ss_training_names *names, FILE *stream,
                      struct ss_error *error) SS_MUST_CHECK;
bool ss_training_csv(const struct ss_training *training, const struct ss_training_names *names, FILE *stream,
                     struct ss_error *error) SS_MUST_CHECK;
bool ss_training_table(const struct ss_training *training, const struct ss_training_names *names, FILE *stream,
                       struct ss_error *error) SS_MUST_CHECK;

/* The recorded iterations of every point as Chrome trace-event JSON, which Perfetto opens: a process a point, with
 * threads for compute and for communication. */
bool ss_training_timeline(const struct ss_training *training, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

/* The last iteration of every system at the largest rank count, drawn by gnuplot; bytes as ss_plot_draw has them. */
bool ss_training_gantt(const struct ss_training *training, enum ss_picture picture, char **bytes, size_t *size,
                       struct ss_error *error) SS_MUST_CHECK;

/* What a timeline shows of a span of the last iteration. */
struct ss_training_shown {
  const char *kind, *name; /* "dense gradients"; of the (first) module */
  double start, end;       /* s from the iteration's begin; what runs on beyond its end is cut there */
  bool task;               /* on the channel, else computed */
};
/* False: nothing; the span lies elsewhere, or on another rank than the first. */
bool ss_training_show(const struct ss_training_point *point, const struct ss_span *span,
                      struct ss_training_shown *out) SS_MUST_CHECK;

/* "forward of lstm", "Algorithm 1", "prior of embedding" */
void ss_training_part_name(const struct ss_training_point *point, enum ss_span_kind kind, uint32_t what, char *out,
                           size_t size);

#endif
