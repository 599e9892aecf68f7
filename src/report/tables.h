/* Reports as tables that answer first, as JSON, CSV and pictures: what each printer gets, and what it adds. */
#pragma once

#include "figures/plot.h"
#include "report/results_table.h"

struct ss_placing;
struct ss_training;

/* Answers of the library, of a struct ss_answer: whatever was asked as JSON and CSV, and some kinds as tables. CSV of
 * those with a list of rows, of which statistics have one a tensor and k. */
ss_printer ss_answer_print_json, ss_answer_print_csv, ss_stats_csv;
ss_printer ss_cost_table, ss_crossover_table, ss_stats_table;

/* A plan, of the tree that `plan --format json` prints; its times are means over so many iterations,
 * some of the kernels in them `estimated`. */
bool ss_plan_table(const struct cJSON *plan, struct ss_iterations_played iterations, bool estimated, FILE *stream,
                   struct ss_error *error) SS_MUST_CHECK;
/* Its parts, of the list of rows: a sentence a row, below the cell that they are of; where a sweep goes over
 * hierarchies, a line on the best of all, which are the reader's to choose, as schemes are; and the table, for which
 * texts are added to the rows. */
void ss_plan_words(const struct cJSON *rows, FILE *stream);
void ss_plan_hierarchies(const struct cJSON *rows, FILE *stream);
struct ss_table *ss_plan_block(struct cJSON *rows);
/* Placements of tables side by side. */
bool ss_placing_table(const struct ss_placing *placing, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

/* What moved since a baseline was stored, of a struct ss_diff. */
ss_printer ss_diff_table, ss_diff_json, ss_diff_csv;

/* What the papers print against what the model gives, of a struct ss_claims; CSV is docs/claims.csv. */
ss_printer ss_claims_table, ss_claims_json, ss_claims_csv, ss_claims_markdown;

/* Learning curves, of a struct ss_learning. CSV has a row for each step of each curve; data for plots/learn.gp a
 * block for each curve, its label first: step, loss, mean loss over the last fiftieth of the steps up to there. */
ss_printer ss_curves_table, ss_curves_csv, ss_curves_plot_data;

/* Trainings, of a struct ss_train_study. */
ss_printer ss_training_table, ss_training_json, ss_training_csv;
/* A capture, of what ss_train_study_capture tells: measured against predicted; what the fastest systems at a rank
 * count would make of it; what could not be known. */
void ss_capture_words(const struct cJSON *o, FILE *stream);
void ss_capture_switch(const struct cJSON *o, double ranks, FILE *stream);
void ss_capture_unknown(const struct cJSON *o, FILE *stream);
/* Of a struct ss_training: the recorded iterations of every point as Chrome trace-event JSON, which Perfetto opens, a
 * process a point, with threads for compute and for communication. */
ss_printer ss_training_timeline;
/* The last iteration of every system at the largest rank count, drawn by gnuplot as by ss_plot_draw. */
bool ss_training_gantt(const struct ss_training *training, enum ss_picture picture, struct ss_picture_bytes *out,
                       struct ss_error *error) SS_MUST_CHECK;

/* How good calibrations are, of what ss_validation_tree makes: by collective, algorithm, nodes and size. CSV: a row
 * an observation. */
ss_printer ss_validation_table, ss_validation_markdown, ss_validation_json, ss_validation_csv;
/* Predicted against measured times, one colour a collective; the line where both are equal, and 25% about it. */
bool ss_validation_draw(const struct cJSON *validation, enum ss_picture picture, struct ss_picture_bytes *out,
                        struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
