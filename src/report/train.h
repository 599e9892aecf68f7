/* Training runs as tables, JSON, CSV, and timelines. */
#ifndef SS_REPORT_TRAIN_H
#define SS_REPORT_TRAIN_H

#include "figures/plot.h"
#include "report/flat.h"
#include "study/trainings.h"

/* Of a struct ss_train_study. */
ss_printer ss_training_table, ss_training_json, ss_training_csv;

/* Of a struct ss_training: the recorded iterations of every point as Chrome trace-event JSON, which Perfetto opens, a
 * process a point, with threads for compute and for communication. */
ss_printer ss_training_timeline;

/* The last iteration of every system at the largest rank count, drawn by gnuplot as by ss_plot_draw. */
bool ss_training_gantt(const struct ss_training *training, enum ss_picture picture, struct ss_picture_bytes *out,
                       struct ss_error *error) SS_MUST_CHECK;

#endif
