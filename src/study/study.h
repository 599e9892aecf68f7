/* Studies: what to run, from a JSON file, a document in memory, edits, or all of them (docs/scenarios.md), and
 * running it.
 *
 * A sweep edits the document once for each cell of its grid. What comes out is a flat list of points, each complete
 * in itself, in a fixed order; each point gives one result. */
#pragma once

#include "base/json.h"
#include "base/watcher.h"
#include "cost/forms.h"
#include "machine/device.h"
#include "schemes/select.h"
#include "schemes/simulate.h"
#include "study/results.h"

struct ss_communicator;
struct ss_extrapolation;
struct ss_sources;
struct ss_study;

/* What points have in common, as identities of the JSON that says all of it. */
struct ss_identities {
  struct ss_identity inputs;   /* what iterations start from, before anything is selected */
  struct ss_identity payloads; /* and what is sent of it, and to what effect: points that share it differ only in
                                  links, network models and labels, and in where of the scenario they stand */
  struct ss_identity point;    /* and the cluster, and what the scenario calls it */
};

/* One result to be computed. */
struct ss_point {
  struct ss_setting setting;
  struct ss_cluster cluster;
  const char *cluster_name, *device_name; /* shared by all points of one cell */
  struct ss_device device;
  struct ss_origin origin;
  struct ss_selection selection;
  const char *trace_name, *tensor_name;
  uint64_t trace_hash;
  uint32_t ranks, servers;
  const struct ss_extrapolation *extrapolation; /* where the origin's ranks come from; NULL: all were captured */
  const struct ss_setting *untuned; /* of extrapolated ranks, where the library chooses (ss_setting_tune): the setting
                                       before that; else NULL */
  uint64_t first, end, seed;        /* iterations [first, end) */
  struct cJSON *at;                 /* shared by all points of one cell; NULL without a sweep */
  uint32_t siblings; /* tensors of the trace: points of one scheme and cell follow each other; 1 of all together */
  bool verify;
  struct ss_uncertainty uncertainty, dense_uncertainty; /* of the scheme, and the baseline; ss_certain: nobody asks */
  struct ss_identities is;
};

/* --- what is asked ------------------------------------------------------------------------------------------ */

/* How a study is run, and who is told. */
struct ss_run_options {
  unsigned jobs; /* threads; 0: as many as there are cores */
  bool per_rank, per_iteration;
  const struct ss_watcher *watcher; /* told how far the run is; NULL: nobody */
  struct ss_communicator *comm;     /* whose processes share the work; NULL: one process does all */
  double patience;                  /* s: a process that is silent for longer is lost */
};

/* Somebody who wants to know while results are computed. Calls come one at a time, from any thread; a function that
 * returns false ends the run with its error. */
struct ss_results_listener {
  /* All is read, and nothing computed yet (ss_judged_study_make, query/answers.h). NULL: nobody asks. */
  bool (*opened)(struct ss_results_listener *self, const struct ss_study *study, struct ss_error *error);
  /* Is the result known already? It has its names, and gets its values. NULL: none is. */
  bool (*recall)(struct ss_results_listener *self, struct ss_result *result, bool *known, struct ss_error *error);
  /* A result was computed: in any order, "*" only where all tensors travel together. NULL: nobody asks. */
  bool (*computed)(struct ss_results_listener *self, const struct ss_result *result, struct ss_error *error);
  /* Before the first is computed: the results of all points, without values. */
  bool (*begin)(struct ss_results_listener *self, const struct ss_results *blank, struct ss_error *error);
  /* The next `count` results in that order: all of one cell and rank count. */
  bool (*ready)(struct ss_results_listener *self, const struct ss_result *results, size_t count,
                struct ss_error *error);
  /* All processes are being ended: adds to the error what becomes of the results that are there. NULL: nothing. */
  void (*stopped)(struct ss_results_listener *self, struct ss_error *error);
};

/* A document, edits of it, and who works and is told. The commands, the library, and claims and figures
 * make one each. All that it points to is the asker's, and outlives what is made of it. */
struct ss_request {
  const char *file;             /* NULL: none */
  const struct cJSON *document; /* copied; NULL: what `file` holds, or an empty object */
  const char *name;             /* stands for the document in messages; NULL: `file`, or "command line" */
  const char *base;             /* a relative path that is not found from here is looked for beside this file, and one
                                   folder up; NULL: `file` */
  /* {PATH: VALUE}, edits in this order, of paths as ss_doc_set_item takes them; NULL: none. "schemes" may be a text
   * "a,b", "cluster" the text "a,b" of an outermost axis. */
  const struct cJSON *edits;
  const struct cJSON
      *options; /* {PATH: OPTION}: what a command calls its fields in messages; NULL: no command asks */

  bool plan;       /* without named schemes all of ss_candidates are played, and only those that the next two admit */
  bool candidates; /* the same without named schemes; those that are named are all played */
  bool lossy;      /* schemes that do not end with the exact sum */
  bool model_parallel;          /* schemes that need the table cut over ranks */
  bool certain;                 /* numbers of machines are taken as they are: nothing has a range */
  bool verdicts;                /* so they are unless an expectation asks for ranges: nothing else is wanted */
  bool turns;                   /* where the window decides is to be known (study/window.h) */
  const struct ss_costs *costs; /* outlive the study; NULL: it opens all of models/costs */
  const struct ss_study *like;  /* of the same file or base: its traces are taken, not opened again, and so are those
                                   of its own `like`; they outlive the study. NULL: none */
  struct ss_drawn *drawn;       /* synthetic lookups that are known, by other threads' studies too; NULL: none */
  const struct ss_sources *traces;  /* found by their names, before any file; where there is no `like`. NULL: none */
  const struct ss_cluster *cluster; /* instead of the document's: one whose links a search has moved, of which a
                                       document could not say 1/bandwidth to the last bit. NULL: the document's */
  const struct ss_notice *notice;   /* told warnings: of clusters while the study is opened, of hours of work
                                       before it begins; NULL: nobody */
  struct ss_results_listener *listener; /* told of a run's or a plan's results; NULL: nobody */
  struct ss_run_options run;
  struct cJSON *answer; /* what came of it, the asker's to delete; NULL: nothing yet */
};

bool ss_study_open(const struct ss_request *request, struct ss_study **out, struct ss_error *error) SS_MUST_CHECK;
/* NULL is nothing. */
void ss_study_close(struct ss_study *study);
static inline void ss_cleanup_study(struct ss_study **study) {
  ss_study_close(*study);
}
#define SS_AUTO_STUDY __attribute__((cleanup(ss_cleanup_study)))

/* The document alone: the request's, with its edits, "cluster" and "device" replaced by what their names stand for.
 * For commands whose scenarios say other things beside; to be freed. */
bool ss_study_document(const struct ss_request *request, struct ss_doc **out, struct ss_error *error) SS_MUST_CHECK;

/* Where the document names no device, "device" becomes what its cluster names, or what the cluster's "memory" makes;
 * *set: it did. The cluster is an object; a path is looked for beside `base`. */
bool ss_device_by_default(struct ss_doc *doc, const char *base, bool *set, struct ss_error *error) SS_MUST_CHECK;

/* The document's cluster, whose warnings are told, and its device, models in place of their names. */
bool ss_machine_read(struct ss_doc *doc, const struct ss_notice *notice, struct ss_cluster *cluster,
                     struct ss_device *device, struct ss_error *error) SS_MUST_CHECK;

const char *ss_study_name(const struct ss_study *study);
/* The scenario's "expect" (query/expectations.h). */
struct ss_node ss_study_expect(const struct ss_study *study);
const struct ss_point *ss_study_points(const struct ss_study *study, size_t *count);
/* The closed forms whose values its results have. */
const struct ss_costs *ss_study_costs(const struct ss_study *study);
/* Nobody named schemes. */
bool ss_study_chose_schemes(const struct ss_study *study);
/* The scenario after all edits, names of models replaced by what their files hold; the sweep stands in it. The same
 * results come of it without edits. */
const struct cJSON *ss_study_resolved(const struct ss_study *study);
/* [{"kind": "cluster" or "device", "model": {...}}] of all cells, each with its "source"; models that differ in
 * numbers only stand once. */
const struct cJSON *ss_study_models(const struct ss_study *study);

/* --- running it ------------------------------------------------------------------------------------------- */

/* One result for each point, and behind those of a trace with several tensors one ("*") for all together. Points that
 * differ in nothing but their network are simulated in one go. The study's request says who is told. The results are
 * to be freed, before the study is closed.
 *
 * With options->comm it is collective, and like ss_work_share: rank 0 has the listener and gets the results,
 * the others get none. */
bool ss_study_run(const struct ss_study *study, const struct ss_run_options *options, struct ss_results *out,
                  struct ss_error *error) SS_MUST_CHECK;

/* The same for several studies in one process: also points of different ones are simulated in one go. The first
 * one's request says who is told. out[count] are to be freed before the first study is closed. */
bool ss_studies_run(const struct ss_study *const *studies, size_t count, const struct ss_run_options *options,
                    struct ss_results *out, struct ss_error *error) SS_MUST_CHECK;

/* The list of "schemes" that "zen:format=coo,balance=even,ps" stands for, the caller's; NULL: an error. */
struct cJSON *ss_study_schemes(const char *text, struct ss_error *error) SS_MUST_CHECK;

/* --- rank counts ------------------------------------------------------------------------------------------ */

/* "4,8,16", "4..64" (doubling) or both mixed, into out[capacity]. */
bool ss_ranks_parse(const char *text, uint32_t *out, size_t capacity, size_t *count,
                    struct ss_error *error) SS_MUST_CHECK;
/* A scenario's "ranks": such a text, a number, or a list; absent: `available`, an error where that is 0. */
bool ss_ranks_read(struct ss_node node, uint32_t available, uint32_t *out, size_t capacity, size_t *count,
                   struct ss_error *error) SS_MUST_CHECK;
/* Tells which ranks of the trace `merge` leaves over, where nobody said "ranks". */
void ss_merge_tell(const struct ss_trace *trace, uint32_t merge, struct ss_node ranks,
                   const struct ss_notice *notice);
/* SPDX-License-Identifier: Apache-2.0 */
