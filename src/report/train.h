/* Training runs as tables, JSON, CSV, and timelines. */
#ifndef SS_REPORT_TRAIN_H
#define SS_REPORT_TRAIN_H

#include "figures/plot.h"
#include "study/training.h"

#include <stdio.h>

bool ss_training_json(const struct ss_train_study *study, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_training_csv(const struct ss_train_study *study, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_training_table(const struct ss_train_study *study, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

/* The recorded iterations of every point as Chrome trace-event JSON, which Perfetto opens: a process a point, with
 * threads for compute and for communication. */
bool ss_training_timeline(const struct ss_training *training, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

/* The last iteration of every system at the largest rank count, drawn by gnuplot; bytes as ss_plot_draw has them. */
bool ss_training_gantt(const struct ss_training *training, enum ss_picture picture, char **bytes, size_t *size,
                       struct ss_error *error) SS_MUST_CHECK;

#endif
