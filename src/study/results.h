/* Results: what came of each point, that is of one scheme on one tensor in one cell of the scenario's grid
 * (docs/results.md). */
#pragma once

#include "base/identity.h"
#include "base/json.h"
#include "base/suggest.h"
#include "machine/network.h"
#include "machine/uncertainty.h"
#include "schemes/scheme.h"
#include "study/dense.h"
#include "tensor/kernel.h"

enum ss_truth { SS_NO = 0, SS_YES = 1, SS_UNKNOWN = 2 };

/* Calls of a kernel, means over iterations, of the endpoint that computed longest. */
struct ss_kernel_use {
  double s, calls, elements, bytes;
  bool estimated; /* the device has no line of its own for it */
};

struct ss_result {
  struct ss_setting setting;
  uint32_t ranks;
  const char *tensor; /* "*": all of them together */
  struct cJSON *at;   /* where in the sweep: an object, shared, or NULL */
  const char *cluster, *device, *trace;
  const struct ss_cluster *machine; /* the cluster's numbers; NULL: not known */
  uint64_t trace_hash;              /* 0: the trace is no file */
  uint64_t seed, iterations;
  double time, time_min, time_max, kernel; /* s; on even links */
  double time_sd;                          /* s: standard deviation of the iterations' times; 0 of one */
  struct ss_fan fan;                       /* s: over draws of uneven links; NaN: none were drawn */
  uint32_t extrapolated_from;              /* ranks that were captured, of the `ranks` that are played; 0: all were */
  double captured, by_half;     /* s: time of those ranks; and as half of them, played as all of them, predict it */
  double off;                   /* at least 1: by which factor that prediction is off, in time or the busiest rank's
                                   bytes; NaN, as are the two before: no half of the ranks can play */
  double time_low, time_high;   /* s: 90% of the draws lie between (study/ranges.h); NaN: nothing is uncertain */
  double wins;                  /* share of the draws in which no other of its cell takes less */
  double next_low, next_high;   /* of the draws of the time of the fastest other of its cell to its own */
  double dense_low, dense_high; /* of the draws of dense_s to its own */
  struct ss_uncertainty uncertainty, dense_uncertainty;
  struct ss_components components, dense_components; /* s of `time`, and of `dense_s`; of what is uncertain */
  struct ss_spread further;                          /* what `off` says of the ranks that are played */
  double messages, rounds;                           /* means over iterations, as are bytes */
  double bytes, sent_max, received_max, server_max;  /* B */
  double device_memory;                              /* B; NaN: the device does not say */
  double peak,
      server_peak;      /* B that a rank, and a server, holds at most in any iteration (docs/model.md, "Memory") */
  double bound;         /* s: what the busiest link, or port, needs at the very least */
  double bound_startup; /* s of that in which messages start; NaN: an older file does not say */
  char bound_by[SS_LINK_NAME_SIZE]; /* which that is in the iteration with the largest bound; "": nothing was sent */
  double bound_max;                 /* s: of that iteration */
  struct ss_link_usage usage[SS_LINK_KINDS]; /* means over iterations; busy: shares of the time */
  struct ss_kernel_use kernels[SS_KERNELS];  /* all 0 where the device counts none */
  double dense_s;    /* of the dense all-reduce that a library would take (study/dense.h); NaN: there is none */
  const char *dense; /* which that is: "ring, shard"; NULL: none, or of "*" not the same of all tensors */
  double density, gamma, push_imbalance, pull_imbalance;
  double error_l2, error_mean; /* of an estimated sum; 0 where it is exact */
  double energy, energy_lost;  /* of what ranks had: applied, and gone for good */
  double k;                    /* entries that a rank selects; NaN: none are selected */
  double dropped;              /* share of the lookups that found no room; NaN: there is room for all */
  bool lossless;
  enum ss_truth exact;
  const char *formula, *paper, *erratum;  /* NULL: none */
  const char *formula_low, *formula_high; /* where the form is a pair of bounds */
  double formula_s, formula_low_s, formula_high_s, paper_s, paper_low_s, paper_high_s;
  double placed_s;                   /* the form on this cluster's nodes and cards; NaN: it is not known there */
  bool placed_exact;                 /* that is the time of equal blocks; else no time is below it */
  struct ss_identity identity;       /* of all that decides the result; 0 of "*" */
  double *iteration_s;               /* [iterations], or NULL */
  double *rank_sent, *rank_received; /* [ranks] means over iterations, or NULL */
  double *draw_s;                    /* [draws] mean time on the links of each draw, or NULL */
  uint32_t draws;
};

/* Texts belong to the study that was run, which must outlive its results. */
struct ss_results {
  struct ss_result *result;
  size_t count;
};
void ss_results_free(struct ss_results *results);
void ss_result_free_arrays(struct ss_result *result);

/* What a rank holds at most is no more than the device has, if that is known. */
static inline bool ss_result_fits(const struct ss_result *p) {
  return !(p->peak > p->device_memory);
}
/* It does not, where another does. */
static inline bool ss_result_left_out(const struct ss_result *p, const struct ss_result *by) {
  return !ss_result_fits(p) && ss_result_fits(by);
}
/* Do both stand in one table: schemes of one tensor in one cell? And how many of the first do. */
bool ss_result_same_cell(const struct ss_result *a, const struct ss_result *b);
size_t ss_results_in_cell(const struct ss_result *results, size_t count);
/* The fastest and the next, the first of equals; *next is NULL when there is one. What does not fit into
 * the device's memory is left out where something does. */
void ss_results_rank(const struct ss_result *results, size_t n, const struct ss_result **best,
                     const struct ss_result **next);

/* --- the numeric fields ----------------------------------------------------------------------------------- */

/* What a field is. */
enum {
  SS_FIELD_MEAN = 1,    /* a mean over iterations */
  SS_FIELD_ADDS = 2,    /* "*" has the sum over tensors; of other fields it has none */
  SS_FIELD_COUNTS = 4,  /* whole things were counted: no compiler rounds them another way */
  SS_FIELD_LATER = 8,   /* files of older programs have none */
  SS_FIELD_JUDGED = 16, /* of extrapolated ranks alone: other results do not name it */
  SS_FIELD_RANGE = 32,  /* where something is uncertain: other results do not name it */
  SS_FIELD_DRAWN = 64,  /* where numbers of the machine are: likewise */
  SS_FIELD_BESIDE = 128 /* depends on the others of its cell, too */
};
enum { SS_RESULT_FIELDS = 63 };

/* In the order of the schema, with the names that JSON has ("time_s", "bytes_sent_max", ...). */
extern const struct ss_result_field {
  const char *name;
  size_t offset;
  unsigned is;
} ss_result_fields[SS_RESULT_FIELDS];

/* The value of ss_result_fields[field], NaN when null. */
double ss_result_value(const struct ss_result *result, size_t field);
void ss_result_set_value(struct ss_result *result, size_t field, double value);
/* The value of that name; false when no field has it. */
bool ss_result_find(const struct ss_result *result, const char *name, double *out);
/* The end of an error about a name that no field has. */
struct ss_suggestion ss_result_suggest(const char *name);

/* The dense baseline of results of one tensor and cell: what any of them has. */
struct ss_dense_time ss_results_dense(const struct ss_result *results, size_t n);

/* The tensors' results in one, under the name "*". */
struct ss_result ss_result_of_all(const struct ss_result *tensors, uint32_t count);

/* --- JSON --------------------------------------------------------------------------------------------------- */

/* A cluster's numbers under plain names, for tables: latencies in s, bandwidths in B/s. */
void ss_cluster_add_numbers(struct cJSON *object, const struct ss_cluster *cluster);
/* The result as a JSON object, the caller's; NULL when memory is short. */
struct cJSON *ss_result_json(const struct ss_result *result);
/* Who offers its scheme on its cluster, or null; the caller's. */
struct cJSON *ss_result_offer_json(const struct ss_result *result);
/* {"sparsync", "scenario", "points"}: the tree that `run --format json` prints, the caller's; NULL when memory is
 * short. */
struct cJSON *ss_results_json(const struct ss_results *results, const char *scenario);

/* --- reading back what was written -------------------------------------------------------------------------- */

/* What the node says of ss_result_fields[field]: a number, or NaN where there is null or nothing. */
bool ss_result_read_number(struct ss_node node, size_t field, double *out, struct ss_error *error) SS_MUST_CHECK;
/* The point's identity, of a point that has one: "*" has none, nor has a file of an older program. */
bool ss_result_read_identity(struct ss_node node, struct ss_identity *out);
/* Is the result that was read what was written? Its "result_hash" says so; without one nobody knows. */
bool ss_result_untouched(struct ss_node node, const struct ss_result *result);
/* What it sends is known: its messages are off by more where they are beyond those that were measured. Once. */
void ss_result_widen(struct ss_result *result);
/* Fills in the values of a result that has none, with the arrays that the node has. What is amiss is an error that
 * names file and field, and the result is as it was. */
bool ss_result_read(struct ss_node node, struct ss_result *result, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
