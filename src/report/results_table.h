/* Results as a table that answers first, as JSON or as CSV (docs/results.md). */
#pragma once

#include "report/flat.h"
#include "study/results.h"

struct ss_table;

/* "cluster.bandwidth = 10 Gbit/s, index_bytes = 4" of a cell in the sweep. */
void ss_at_print(const struct cJSON *at, FILE *stream);
/* "16 ranks on CLUSTER, cluster.bandwidth = 10 Gbit/s, tensor NAME"; no `tensor` (NULL) ends it before. */
void ss_cell_print(double ranks, const char *cluster, const struct cJSON *at, const char *tensor, FILE *stream);

/* --- the table's parts, for other forms of it ------------------------------------------------------- */

/* Which of a cell's results is the fastest; SIZE_MAX: it cannot be told from another one. */
size_t ss_results_winner(const struct ss_result *results, size_t n);
/* " Does not fit into 24 GB of memory: NAME (41 GB)", and ", NAME (41 GB)" of those behind the first. */
void ss_unfit_print(const char *label, double peak, double memory, bool first, FILE *stream);
/* How many times as fast as the dense baseline; NaN, shown as "-", where either takes no time. */
double ss_vs_dense(double dense, double time);
/* Adds texts to a record of a table: a time, or a ratio, and where it lies in 90 of 100 draws, "2.05 ms 1.48..2.97"
 * and "1.43x 1.25..1.62"; without the range where there is none (NaN); nothing where there is no time. */
void ss_time_add(struct cJSON *record, const char *name, double time, double low, double high);
void ss_ratio_add(struct cJSON *record, const char *name, double ratio, double low, double high);
/* The same of per cent, "95% 93..97", and of a number, "12000 9000..15000": `unit` "%" or "". */
void ss_count_add(struct cJSON *record, const char *name, const char *unit, double count, double low, double high);
/* The head of such a column: "time (90%)" where one of the records has that field, a number, else "time". */
#define SS_RANGED(records, head, low) (ss_records_have((records), (low)) ? head " (90%)" : (head))
bool ss_records_have(const struct cJSON *records, const char *field);
/* Adds a range alone, "1.1 ms..1.5 ms"; nothing where there is no `low` (NaN). */
void ss_range_add(struct cJSON *record, const char *name, double low, double high);

/* What differs between the cells of records: "ranks", "cluster", paths of the sweep, "tensor"; values of the first
 * record, named; `numeric`: numbers alone. Returns how many. */
enum { SS_PLACES = 24 };
size_t ss_places_vary(const struct cJSON *records, const struct cJSON *list[SS_PLACES], bool numeric);
/* As "16 ranks" or "bandwidth 10 Gbit/s": the value of what varies. */
void ss_place_print(const struct cJSON *value, FILE *stream);
/* The value of such a field in a record. */
const struct cJSON *ss_place_of(const struct cJSON *record, const char *field);
/* Adds it to each record as "place", "16 ranks, bandwidth 10 Gbit/s"; "" where that of the one before is the same;
 * nothing where nothing differs. */
void ss_places_add(struct cJSON *records);

/* What tables show of `count` results, which may be of several cells: their JSON, and in words "time", "vs_dense",
 * "imbalance", "form", "off_by", "bottleneck", "fan", "bar" and the "busy" of links; "half", "busiest", and
 * "counted_s", of kernels, where a device is given. The caller's; NULL when memory is short. */
struct cJSON *ss_results_records(const struct ss_result *results, size_t count);
/* The table of such records, and how busy their links are: of each kind the busiest and the mean; the caller's. */
struct ss_table *ss_results_block(const struct cJSON *records);
struct ss_table *ss_results_links(const struct cJSON *records);
/* What its columns mean, one after the other; a text may have several lines. */
typedef void ss_note_writer(const char *head, const char *text, FILE *stream);
bool ss_results_notes(const struct ss_results *results, ss_note_writer *note, FILE *stream,
                      struct ss_error *error) SS_MUST_CHECK;
/* The least and the most that a result is a mean over. */
struct ss_iterations_played {
  uint64_t least, most;
};
/* Whose kernels are in times: no device's (NULL), one device's, or "several devices"; and whether some are estimates.
 */
struct ss_counted {
  const char *device;
  bool estimated;
};
void ss_counted_add(struct ss_counted *counted, const char *device);
struct ss_counted ss_results_counted(const struct ss_result *results, size_t n);
/* "as on quick (estimated; ...)": the device whose kernels count, after the word kernels. */
void ss_print_counted(struct ss_counted counted, FILE *stream);
/* What "time" means, without a line's end: a mean over iterations, and whose kernels are in it. */
void ss_print_time_note(struct ss_iterations_played iterations, struct ss_counted counted, FILE *stream);
struct ss_iterations_played ss_results_iterations(const struct ss_results *results);

/* What "low..high" means, a column of results that have extrapolated ranks. */
extern const char ss_range_note[];

/* Points written as they come, in the printed order. */
struct ss_results_writer {
  FILE *stream;
  const char *scenario;       /* its name */
  const struct cJSON *inputs; /* to stand in JSON before the results; NULL: nothing */
  bool chosen;                /* nobody named schemes: tables say what they left untried */
  bool links;                 /* in tables, below each block how busy its links are and what they carry */
  size_t written;
  struct ss_columns columns; /* of CSV */
};
struct ss_results_form {
  /* `blank`: all results, their values may be missing yet. NULL: there is nothing to begin, or to end. */
  bool (*begin)(struct ss_results_writer *writer, const struct ss_results *blank, struct ss_error *error);
  /* All of some cells and rank counts. */
  bool (*more)(struct ss_results_writer *writer, const struct ss_result *results, size_t count,
               struct ss_error *error);
  bool (*end)(struct ss_results_writer *writer, const struct ss_results *results, struct ss_error *error);
};
extern const struct ss_results_form ss_results_as_table, ss_results_as_json, ss_results_as_csv;
/* The answers first, a sentence for each cell as it is known, and then one table of what decides, with bars of the
 * time.
 */
extern const struct ss_results_form ss_results_in_brief;
void ss_results_writer_free(struct ss_results_writer *writer);

/* All at once, of a struct ss_results_report. */
struct ss_results_report {
  const struct ss_results_form *form;
  const struct ss_results *results;
  const char *scenario; /* its name */
  const struct cJSON *inputs;
  bool links;
};
ss_printer ss_results_print;
/* SPDX-License-Identifier: Apache-2.0 */
