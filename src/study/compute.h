/* Computing points, one group of points at a time, by one thread. */
#pragma once

#include "cost/measure.h"
#include "study/dense.h"
#include "study/identity.h"
#include "study/study.h"

/* Where no draws are played: says of points whose cluster has "jitter" that their links are even here. */
void ss_points_tell_even(const struct ss_point *points, size_t count, const struct ss_notice *notice);

/* What iterations start from, kept for the next scheme that starts from the same: groups that follow each other on
 * one thread mostly differ in their scheme alone. A zeroed struct with `budget` set is empty. */
struct ss_inputs {
  size_t budget; /* B that may be kept */
  struct ss_identity key;
  struct ss_arena arena;
  struct ss_input *input; /* [count] of the first iterations of the point */
  uint64_t count, capacity;
  uint64_t bytes;
  struct ss_coalesce_scratch scratch;
};

/* The input of iteration options->iteration of the point: what was kept, or a new one, which is kept while the budget
 * lasts and else lives in `temporary`. It is not to be written to. */
bool ss_inputs_get(struct ss_inputs *inputs, const struct ss_point *point, const struct ss_input_options *options,
                   struct ss_arena *temporary, struct ss_input *out, struct ss_error *error) SS_MUST_CHECK;
void ss_inputs_free(struct ss_inputs *inputs);

/* B that the point takes at the least: the lists and values of all ranks of its first iteration and, where results
 * are proven, the sum that they are held against. UINT64_MAX: more than can be counted. */
uint64_t ss_point_least_bytes(const struct ss_point *point, bool verify);
/* An error, before anything is taken, when that is more than may be taken (base/estimate.h). */
bool ss_point_fits(const struct ss_point *point, bool verify, struct ss_error *error) SS_MUST_CHECK;

/* B of inputs that all threads of a process together keep: little beside what schemes need. */
enum { SS_INPUTS_ROOM = 1 << 29 };

/* What one thread keeps from group to group: zeroed, but for inputs.budget, and to be freed. */
struct ss_worker {
  uint32_t threads; /* that a play of a point may take */
  struct ss_arena arena;
  struct ss_inputs inputs;
  struct ss_state memory;
  struct ss_selector selector;
  struct ss_measures measures;
  struct ss_dense_baseline dense;
  struct ss_arena arrays;      /* those that follow */
  uint64_t *sent, *received;   /* [ranks] of one iteration */
  uint32_t networks, variants; /* those of the group's points, then what each draws of uneven links; and, in the
                                  first iteration, those on which a component of the time costs more */
  const struct ss_cluster **clusters; /* [networks + variants] */
  struct ss_cluster *drawn;           /* [networks], of which those that are drawn are used */
  struct ss_variants *varied;         /* [points of the group], with the clusters of the variants */
  double *paces;                      /* [networks + variants] of kernels */
  struct ss_tally *tallies;           /* [networks + variants] */
  uint64_t counted[SS_RESULT_FIELDS]; /* iterations that have a value, for each field */
};
void ss_worker_free(struct ss_worker *worker);

/* What all threads and processes of a run share. */
struct ss_computing {
  const struct ss_point *const *points; /* [count] */
  size_t count;
  const struct ss_costs *costs;
  const struct ss_run_options *options;
  struct ss_result *results; /* [count] in the points' order */
};
/* Plays all iterations of points that send the same, each on its own network: fills in the fields that are means over
 * them. */
bool ss_group_play(const struct ss_computing *all, const struct ss_point_group *group, struct ss_worker *worker,
                   struct ss_error *error) SS_MUST_CHECK;
/* The same, and all that goes with it: fills in the result of each point of the group, whatever it
 * was. */
bool ss_group_compute(const struct ss_computing *all, const struct ss_point_group *group, struct ss_worker *worker,
                      struct ss_error *error) SS_MUST_CHECK;

/* The point without values. */
void ss_result_begin(struct ss_result *result, const struct ss_point *point);
/* What its closed form, if one fits, says in words. */
void ss_result_add_texts(struct ss_result *result, const struct ss_point *point, const struct ss_costs *costs);
/* SPDX-License-Identifier: Apache-2.0 */
