/* Times of trainings that somebody measured or printed, ratios of them and shares, as a table: a number a line (CSV;
 * docs/calibration.md, "Trainings"; models/measured/papers.csv is one).
 *
 * Columns: `workload`, `system`, `cluster` (names or files), `ranks`, `quantity` and `value`; of ratios `of`. Several
 * workloads, rank counts or systems are separated by "|": of workloads and ranks `reduce` says whether the number is
 * the least or the most of them, of systems the best of them counts. */
#pragma once

#include "base/csv.h"

enum ss_time_column {
  SS_TIMES_WORKLOAD,
  SS_TIMES_SYSTEM,
  SS_TIMES_CLUSTER,
  SS_TIMES_RANKS,
  SS_TIMES_QUANTITY,
  SS_TIMES_VALUE,
  SS_TIMES_UNIT,
  SS_TIMES_OF,
  SS_TIMES_REDUCE,
  SS_TIMES_SCENARIO, /* whose cluster, device, workloads and systems are meant where names are its own */
  SS_TIMES_SET,      /* PATH=VALUE, separated by spaces: edits of it */
  SS_TIMES_OF_SCENARIO,
  SS_TIMES_OF_SET,
  SS_TIMES_CLAIM, /* ids of claims that state the number, separated by spaces */
  SS_TIMES_SOURCE,
  SS_TIMES_COLUMNS
};

enum ss_time_quantity {
  SS_TIME_ITERATION,     /* s */
  SS_TIME_SPEED,         /* samples: ranks over the iteration */
  SS_TIME_COMPUTE,       /* s of forward and backward passes */
  SS_TIME_STALL,         /* s of the iteration beside compute and what software takes before forward passes */
  SS_TIME_COMMUNICATION, /* s in which channels are busy */
  SS_TIME_HIDDEN,        /* share of that under passes */
  SS_TIME_QUANTITIES
};
extern const char *const ss_time_quantities[]; /* "iteration", "speed", ...; NULL-terminated */

/* How a number is printed: as it is (s, or a share), or as a ratio r: r "times", 100(r-1) "% more", 100(1-r) "%
 * less", 100r "%". */
enum ss_time_form { SS_TIME_PLAIN, SS_TIME_TIMES, SS_TIME_MORE, SS_TIME_LESS, SS_TIME_PERCENT };

enum ss_time_reduce { SS_TIME_ALONE, SS_TIME_LEAST, SS_TIME_MOST };

struct ss_training_time {
  uint64_t line;
  const char *text[SS_TIMES_COLUMNS]; /* as they stand there; "": nothing does */
  enum ss_time_quantity quantity, of_quantity;
  enum ss_time_form form;
  enum ss_time_reduce reduce;
  double measured; /* above 0: s, a share, or the ratio r */
};

struct ss_training_times {
  struct ss_arena arena;
  const char *file;
  struct ss_training_time *time;
  size_t count;
  size_t others; /* numbers of no training: lines that name no workload */
};

/* Reads the lines for which all `where`, [wheres] COLUMN=VALUE, hold. What is wrong is told with file and line. To be
 * freed, also after a failure. */
bool ss_training_times_read(const char *file, const char *const *where, size_t wheres, struct ss_training_times *out,
                            struct ss_error *error) SS_MUST_CHECK;
void ss_training_times_free(struct ss_training_times *times);

/* A ratio, or s, as a form prints it; back; and in words: "3.1 times", "18% more", "101.8 ms". */
double ss_time_printed(enum ss_time_form form, double measured);
double ss_time_ratio(enum ss_time_form form, double printed);
const char *ss_training_time_text(const struct ss_training_time *time, double measured, char *buffer, size_t size);
/* SPDX-License-Identifier: Apache-2.0 */
