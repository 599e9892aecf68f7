/* Results: one point is one scheme on one tensor at one place of the scenario's grid. Printed as a table that answers
 * first, as JSON or as CSV (docs/results.md). */
#ifndef SS_REPORT_POINTS_H
#define SS_REPORT_POINTS_H

#include "report/flat.h"
#include "schemes/scheme.h"

#include <stdio.h>

struct cJSON;
struct ss_table;

enum ss_verdict { SS_NO = 0, SS_YES = 1, SS_UNKNOWN = 2 };

struct ss_point {
  struct ss_setting setting;
  uint32_t ranks;
  const char *tensor; /* "*": all of them together */
  struct cJSON *at;   /* where in the sweep: an object, shared, or NULL */
  const char *cluster, *device, *trace;
  uint64_t trace_hash; /* 0: the trace is no file */
  uint64_t seed, iterations;
  double time, time_min, time_max, kernel;          /* s */
  double messages, rounds;                          /* means over iterations, as are bytes */
  double bytes, sent_max, received_max, server_max; /* B */
  double density, gamma, push_imbalance, pull_imbalance;
  double error_l2, error_mean; /* of an estimated sum; 0 where it is exact */
  double energy, energy_lost;  /* of what ranks had: applied, and gone for good */
  double k;                    /* entries that a rank selects; NaN: none are selected */
  bool lossless;
  enum ss_verdict exact;
  const char *formula, *paper, *erratum;  /* NULL: none */
  const char *formula_low, *formula_high; /* where the form is a pair of bounds */
  double formula_s, formula_low_s, formula_high_s, paper_s, paper_low_s, paper_high_s;
  uint64_t hash[2];                  /* of all that decides the point; 0 of "*" */
  double *iteration_s;               /* [iterations], or NULL */
  double *rank_sent, *rank_received; /* [ranks] means over iterations, or NULL */
};

struct ss_points {
  struct ss_point *point;
  size_t count;
};

/* The numeric field of that name as JSON has it ("time_s", "bytes_sent_max", ...), NaN when null; false when no field
 * has the name. `near` gets the nearest name, or NULL. */
bool ss_point_field(const struct ss_point *point, const char *name, double *out, const char **near);
/* The names of those fields, in their order; NULL behind the last. */
const char *ss_point_field_name(size_t place);
void ss_point_set_field(struct ss_point *point, size_t place, double value);
/* The point as a JSON object, the caller's; NULL when memory is short. */
struct cJSON *ss_point_json(const struct ss_point *point);

/* "cluster.bandwidth = 10 Gbit/s, index_bytes = 4" of a place in the sweep. */
void ss_at_print(const struct cJSON *at, bool cluster_too, FILE *stream);
/* "16 ranks on CLUSTER, cluster.bandwidth = 10 Gbit/s" */
void ss_point_print_place(const struct ss_point *point, FILE *stream);

/* --- the table's parts, for those who print it otherwise ------------------------------------------------------- */

/* Do both stand in one table: schemes of one tensor at one place? */
bool ss_point_same_place(const struct ss_point *a, const struct ss_point *b);
/* The dense baseline, the first all-reduce of a table's points; NaN: there is none. */
double ss_points_dense(const struct ss_point *points, size_t n);
/* "16 ranks on CLUSTER, tensor NAME: zen is fastest, ..." of a table's points, with the line's end. */
void ss_points_words(const struct ss_point *points, size_t n, FILE *stream);
/* The table of n points, the caller's; NULL when memory is short. */
struct ss_table *ss_points_block(const struct ss_point *points, size_t n);
/* What its columns mean, all but the first; ends with a NULL head. `more`: a second line, or NULL. */
struct ss_column_note {
  const char *head, *text, *more;
};
extern const struct ss_column_note ss_column_notes[];
/* What "time" means for these points, without a line's end. */
void ss_points_time_note(const struct ss_points *points, FILE *stream);

/* Points written as they come, in the printed order. */
struct ss_points_writer {
  FILE *stream;
  const char *scenario; /* its name */
  size_t written;
  struct ss_columns columns; /* of CSV */
};
struct ss_points_form {
  /* `blank`: all points, their values may be missing yet. */
  bool (*begin)(struct ss_points_writer *writer, const struct ss_points *blank, struct ss_error *error);
  /* All of some places and rank counts. */
  bool (*more)(struct ss_points_writer *writer, const struct ss_point *points, size_t count, struct ss_error *error);
  bool (*end)(struct ss_points_writer *writer, const struct ss_points *points, struct ss_error *error);
};
extern const struct ss_points_form ss_points_table, ss_points_json, ss_points_csv;
void ss_points_writer_free(struct ss_points_writer *writer);

/* All at once. */
bool ss_points_print(const struct ss_points_form *form, const struct ss_points *points, const char *scenario,
                     FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
