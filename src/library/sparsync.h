/* libsparsync: how long synchronising sparse gradients takes, under which scheme, on which cluster, and why.
 *
 * A request says what is asked: a document (a scenario, or an object of options), edits of it, traces that the
 * program has made, how many threads may work and who is told. What is asked of it (that it be run, planned, priced,
 * ...) gives an answer: rows with named fields, and the JSON that the command of that name prints.
 *
 *   struct ss_error error;
 *   struct ss_answer *answer = NULL;
 *   struct ss_request *request = ss_request_new();
 *   bool good = ss_request_open(request, "demo", &error) && ss_request_set(request, "ranks", "8", &error) &&
 *               ss_request_run(request, &answer, &error);
 *
 * Fields and their units: docs/results.md; documents: docs/scenarios.md and docs/library.md. Times are in s, sizes in
 * B, rates in B/s.
 *
 * Errors are values. A function that can fail returns false and fills in the error that it was given (NULL: nobody
 * reads it); it has then changed nothing that the caller can see. NULL for a handle or a text that is needed is such
 * an error, too; functions that free, and those that cannot fail, take it for nothing.
 *
 * Threads. Different requests may be used by different threads at once. One request, or one answer, belongs to one
 * thread at a time; only ss_request_cancel may come from any. Traces do not change and may be shared.
 *
 * The process is its program's: nothing is printed, no signal is handled, nothing ends it, and its working folder,
 * locale and environment stay as they are. Models and scenarios that come with the library are found at
 * $SPARSYNC_DATA, or beside where it is installed. */
#ifndef SPARSYNC_H
#define SPARSYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SS_PUBLIC __attribute__((visibility("default")))

/* --- errors -------------------------------------------------------------------------------------------------- */

#ifndef SS_BASE_ERROR_H /* the library's own sources have both from there */
enum ss_status {
  SS_OK = 0,
  SS_UNPROVEN = 1,  /* a proof failed: a scheme that should be exact is not */
  SS_BAD_INPUT = 2, /* what was asked cannot be so; the text says what would do */
  SS_MACHINE = 3,   /* memory or disk failed us */
  SS_CANCELLED = 4  /* by ss_request_cancel */
};

/* The caller's, on its stack or anywhere; meant only after a function returned false. The text is one line of UTF-8
 * for the person who asked: what was read (file, JSON path), what was found, what would do. */
struct ss_error {
  enum ss_status status;
  char text[872];
  char
      field[128]; /* the path of the document's field that is wrong ("schemes[0].teams"); "": none in particular is */
};
#endif

/* "0.2.0", of the library that is loaded. */
SS_PUBLIC const char *ss_version(void);

/* --- traces -------------------------------------------------------------------------------------------------- */

/* Which rows of each sparse tensor each rank looked up, iteration by iteration. */
struct ss_trace;

/* The lookups of one tensor, as a program has them: rank r in iteration t looked up the rows
 * ids[offsets[t * ranks + r]] up to, and without, ids[offsets[t * ranks + r + 1]], duplicates kept. */
struct ss_tensor_ids {
  const char *name;
  uint64_t rows;           /* of the table; 0: one more than the largest id */
  uint32_t row_width;      /* elements a row; 0: 1 */
  uint32_t value_bytes;    /* of an element, 4 or 2; 0: 4 */
  const uint64_t *offsets; /* [iterations * ranks + 1], from 0 on, not descending */
  const int64_t *ids;      /* [offsets[iterations * ranks]], each from 0 to rows - 1 */
  /* Which of them make a bag, whose rows are pooled; NULL: it is not known. Bag b has the ids from bag_offsets[b] up
   * to, and without, bag_offsets[b + 1]; those of rank r in iteration t are the bags from bags[t * ranks + r] on. */
  const uint64_t *bags;        /* [iterations * ranks + 1], from 0 on, not descending */
  const uint64_t *bag_offsets; /* [bags[iterations * ranks] + 1], likewise; where a rank's ids begin, its bags do;
                                * neither array without the other */
};

// NOLINTBEGIN(readability-redundant-declaration): this header is installed and stands alone; the rooms below have
// trace/file/trace.h
/* Maps a .safetensors file (docs/traces.md) and checks all of it. The trace is the caller's, to be closed. */
SS_PUBLIC bool ss_trace_open(const char *path, struct ss_trace **out, struct ss_error *error);
/* The same of ids in memory, which are copied. */
SS_PUBLIC bool ss_trace_of_ids(uint64_t iterations, uint32_t ranks, size_t tensors,
                               const struct ss_tensor_ids *tensor, struct ss_trace **out, struct ss_error *error);
/* Writes a .safetensors file, whole or not at all. */
SS_PUBLIC bool ss_trace_save(const char *path, const struct ss_trace *trace, struct ss_error *error);
/* After all requests that have it are freed. */
SS_PUBLIC void ss_trace_close(struct ss_trace *trace);

SS_PUBLIC uint64_t ss_trace_iterations(const struct ss_trace *trace);
SS_PUBLIC uint32_t ss_trace_ranks(const struct ss_trace *trace);
SS_PUBLIC size_t ss_trace_tensors(const struct ss_trace *trace);
// NOLINTEND(readability-redundant-declaration)

/* --- requests ------------------------------------------------------------------------------------------------ */

struct ss_request;
struct ss_answer;

/* An empty document: what is asked is then all in edits. NULL: memory is short. */
SS_PUBLIC struct ss_request *ss_request_new(void);
SS_PUBLIC void ss_request_free(struct ss_request *request);

/* The document: the file at a path, or the name of a scenario that is shipped ("demo"). Its relative paths are looked
 * for from the working folder, then beside the file, then one folder up. Edits that were made stay. */
SS_PUBLIC bool ss_request_open(struct ss_request *request, const char *scenario, struct ss_error *error);
/* The document: JSON text, an object. Its relative paths are looked for from the working folder, then among what is
 * shipped. */
SS_PUBLIC bool ss_request_parse(struct ss_request *request, const char *json, struct ss_error *error);

/* An edit: the field at a path ("ranks", "cluster.bandwidth", "schemes.0.format") gets a value: JSON if it is that,
 * else a text ("25Gbps"); of "schemes" also a list as the command takes it ("zen:format=coo,allreduce"). Whether the
 * field can have it turns out when something is asked. Beside fields of the document there are, true or false:
 * "per_rank" and "per_iteration" (rows have arrays), and of plans "lossy" and "model_parallel" (such schemes are
 * candidates, too). */
SS_PUBLIC bool ss_request_set(struct ss_request *request, const char *path, const char *value,
                              struct ss_error *error);
/* From now on the document's "trace" may name this one, which must outlive the request. */
SS_PUBLIC bool ss_request_lend_trace(struct ss_request *request, const char *name, struct ss_trace *trace,
                                     struct ss_error *error);

/* Threads that work at once; 0, as in the beginning: one a core. Answers do not depend on it. */
SS_PUBLIC void ss_request_use_threads(struct ss_request *request, unsigned threads);
/* How far the work is. Fields may come at its end. */
struct ss_progress {
  const char *what; /* is being done, so many of all: "points", "simulations" */
  size_t done, all;
  double share; /* of the time that all of them take, from 0 to 1: they are not alike */
};
/* `told` hears how far the work is, anew for every kind of `what`; NULL: nobody. Calls come one at a time, from any
 * thread, and hold the work up while they last. */
SS_PUBLIC void ss_request_watch(struct ss_request *request,
                                void (*told)(void *context, const struct ss_progress *progress), void *context);
/* `told` hears, from the thread that asks, what a user should know though an answer comes: one sentence without its
 * full stop. NULL: nobody. */
SS_PUBLIC void ss_request_hear(struct ss_request *request, void (*told)(void *context, const char *text),
                               void *context);
/* What is being asked of the request, else the next that will be, ends soon with SS_CANCELLED: before the iteration
 * of a simulation that comes next. From any thread, from a function that is told, and from a signal's handler. */
SS_PUBLIC void ss_request_cancel(struct ss_request *request);

/* --- what is asked ------------------------------------------------------------------------------------------- */

/* *out is the caller's, to be freed, and NULL on failure. A request may be asked several things, one after the other.
 *
 * The document of the first six is a scenario (docs/scenarios.md); only ss_request_check judges its "expect". */

/* Simulates every point. A row a point: scheme, label, ranks, tensor, time_s, bytes_total, ... */
SS_PUBLIC bool ss_request_run(struct ss_request *request, struct ss_answer **out, struct ss_error *error);
/* A row a tensor and place: the cheapest scheme, its time, the next and its margin. Without "schemes" all lossless
 * candidates that can run. */
SS_PUBLIC bool ss_request_plan(struct ss_request *request, struct ss_answer **out, struct ss_error *error);
/* Where the tables of the trace might live, each candidate played. A row a candidate: placement, time_s, ...; the
 * JSON is the best one as a scenario's "placement" (docs/scenarios.md). One place, one rank count. "schemes" may be
 * edited to alltoall:pooling=sum (or padded): of pooled bags. */
SS_PUBLIC bool ss_request_place(struct ss_request *request, struct ss_answer **out, struct ss_error *error);
/* Simulates every point, and holds them against the scenario's "expect". A row an expectation: expectation, ok,
 * points, misses; of the whole answer "ok" says that all hold, "points" has the points. What fails is no error. */
SS_PUBLIC bool ss_request_check(struct ss_request *request, struct ss_answer **out, struct ss_error *error);
/* Writes the schedule of the scenario's one point for other simulators (docs/export.md): the format "goal" makes a
 * file at `path`, "chakra" one for each rank, `path`.0.et, `path`.1.et, ... */
SS_PUBLIC bool ss_request_export(struct ss_request *request, const char *format, const char *path,
                                 struct ss_error *error);
/* A row a system, workload and rank count: iteration time and stall. The document is one of docs/training.md. */
SS_PUBLIC bool ss_request_train(struct ss_request *request, struct ss_answer **out, struct ss_error *error);

/* The document of the others is an object of options, as docs/library.md lists them. */

/* A row a closed form and rank count. {"M", "density", ...} */
SS_PUBLIC bool ss_request_cost(struct ss_request *request, struct ss_answer **out, struct ss_error *error);
/* Where two schemes cost the same. A row a range of the quantity: from, to, winner. {"a", "b", "over", ...} */
SS_PUBLIC bool ss_request_crossover(struct ss_request *request, struct ss_answer **out, struct ss_error *error);
/* A row a scheme, with the loss of every step. {"text" or "trace", "schemes", ...} */
SS_PUBLIC bool ss_request_learn(struct ss_request *request, struct ss_answer **out, struct ss_error *error);
/* A row a tensor: density, overlap, gamma, ... {"trace", "ranks", "iterations"} */
SS_PUBLIC bool ss_request_stats(struct ss_request *request, struct ss_answer **out, struct ss_error *error);

/* Makes a trace of data (docs/traces.md) at `path`, and opens it: *out is the caller's, to be closed (out NULL: it is
 * not opened). {"files", "ranks", ...} */
SS_PUBLIC bool ss_request_import(struct ss_request *request, const char *path, struct ss_trace **out,
                                 struct ss_error *error);

/* A cluster fitted to benchmarks' logs, as one row, whose JSON is a file of models/clusters. {"logs", ...} */
SS_PUBLIC bool ss_request_calibrate(struct ss_request *request, struct ss_answer **out, struct ss_error *error);

/* --- answers ------------------------------------------------------------------------------------------------- */

SS_PUBLIC void ss_answer_free(struct ss_answer *answer);

SS_PUBLIC size_t ss_answer_rows(const struct ss_answer *answer);

/* What a field holds. */
enum ss_field_kind {
  SS_FIELD_ABSENT, /* the row has no such field, or it is null */
  SS_FIELD_NUMBER,
  SS_FIELD_TEXT,
  SS_FIELD_FLAG,
  SS_FIELD_LIST /* or an object */
};

/* Fields are named by paths: "time_s", "at.cluster.bandwidth", "options.format" (or "format"), "iteration_s.0". Rows
 * count from 0; a row or field that is not there is absent. Instead of a row, SS_WHOLE means all of the answer, as
 * its JSON has it: "scenario", "ratio.max". */
#define SS_WHOLE SIZE_MAX
SS_PUBLIC enum ss_field_kind ss_answer_kind(const struct ss_answer *answer, size_t row, const char *field);
/* NaN when it is no number. Whole numbers are exact up to 2^53. */
SS_PUBLIC double ss_answer_number(const struct ss_answer *answer, size_t row, const char *field);
/* NULL when it is no text; else the answer's. */
SS_PUBLIC const char *ss_answer_text(const struct ss_answer *answer, size_t row, const char *field);
/* False when it is no flag. */
SS_PUBLIC bool ss_answer_flag(const struct ss_answer *answer, size_t row, const char *field);

/* All of it as JSON, which the command prints with --format json; the answer's. NULL: memory is short. */
SS_PUBLIC const char *ss_answer_json(struct ss_answer *answer);

/* --- what a training ends with ------------------------------------------------------------------------------- */

/* A tensor whose gradients a scheme synchronises, step by step: ranks end with what the scheme leaves them, be that
 * the sum, the largest of it, or an estimate, and what they did not send waits for the next step. No time is
 * predicted. `sparsync learn` adds up gradients by the same code (docs/learning.md). One belongs to one thread at a
 * time. */
struct ss_sync;

struct ss_sync_tensor {
  const char *scheme; /* "spardl:density=0.01", as --scheme takes it, or a JSON object (docs/scenarios.md) */
  uint64_t rows;      /* rows * row_width elements, fewer than 2^32 */
  uint32_t row_width; /* at most 65536; 1 of what has no rows, like the weights of a dense layer */
  uint32_t ranks;
  uint32_t gpus_per_node; /* where the scheme has a hierarchy; 0: 1 */
  double select;          /* the share of its elements that each rank sends, the rest waits, of schemes that do not
                             select by themselves; 0: all */
};

/* What a rank has. */
struct ss_rank_gradient {
  uint64_t count;       /* rows; 0: it has nothing */
  const int64_t *rows;  /* [count] ascending, each once; NULL: all of the tensor (count is its rows), of which rows
                           that are all zeros are not there */
  const double *values; /* [count * row_width] finite */
};

/* What each rank ends with: elements (row * row_width + column) ascending, the others are zero. Valid until the next
 * step. */
struct ss_synced {
  uint64_t count;
  const uint32_t *element;              /* [count] */
  const double *value;                  /* [count] sums over ranks, not means */
  uint64_t sent_bytes;                  /* the most that a rank sent, values of 4 B */
  double energy, energy_lost, error_l2; /* docs/model.md, "Values"; NaN where the scheme has none; 1, 0, 0 of exact
                                           sums */
};

/* *out is the caller's, to be closed, and NULL on failure. */
SS_PUBLIC bool ss_sync_open(const struct ss_sync_tensor *tensor, struct ss_sync **out, struct ss_error *error);
/* One step: gradient[ranks]. Values become whole units by the first gradient (docs/learning.md, "Units"); later ones
 * may be 2^23 / ranks times as large, at least, and are refused beyond. Sums beyond what a double holds are infinite.
 * SS_UNPROVEN: ranks did not end alike, or something was lost that must be kept. After that, and after SS_MACHINE, it
 * can only be closed. */
SS_PUBLIC bool ss_sync_step(struct ss_sync *sync, const struct ss_rank_gradient *gradient, struct ss_synced *out,
                            struct ss_error *error);
SS_PUBLIC void ss_sync_close(struct ss_sync *sync);

#ifdef __cplusplus
}
#endif

#endif
/* SPDX-License-Identifier: Apache-2.0 */
