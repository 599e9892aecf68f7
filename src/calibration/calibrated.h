/* Model files out of measurements: what observations make of a cluster, as JSON with all that is to be known of it.
 */
#pragma once

#include "calibration/validation.h"

/* Today, as "2026-11-21". */
const char *ss_date_text(char *buffer, size_t size);
/* "valid": [low, high], samples, outliers and residuals of a fitted line, into `object`. */
void ss_line_quality_json(struct cJSON *object, const struct ss_line *line);

/* What a cluster file is made of. */
struct ss_calibrated {
  char name[128];
  char measured[512]; /* what, and where from: "all_reduce.log (all_reduce_perf, ring)" */
  struct ss_cluster_fit fit;
  const struct ss_observations *observations;
  double latency;              /* s, given; NAN: fitted */
  struct ss_accuracy accuracy; /* not `known`: nothing is said */
  struct ss_own_errors own;    /* the errors that it comes from */
};

/* Fits a cluster to all of them, and judges it by what it predicts of those that were left out (unless `unjudged`).
 * `name` NULL: what was measured. The observations must outlive what comes, which is to be freed, also after a
 * failure. */
bool ss_calibrate(const struct ss_observations *all, const struct ss_cluster_fit_options *options, const char *name,
                  struct ss_calibrated *out, struct ss_error *error) SS_MUST_CHECK;
void ss_calibrated_free(struct ss_calibrated *calibrated);
/* The cluster's name: `name`, or (NULL) the tables' system, else the most nodes and GPUs of a run and the logs'
 * hardware: "4x8-nvidia-h100-80gb-hbm3". */
void ss_calibration_name(const char *name, const struct ss_observations *all, char *text, size_t size);

/* The cluster file. NULL, or without some members: memory is short. */
struct cJSON *ss_calibrated_cluster(const struct ss_calibrated *c);
/* A device file with the rate of sums, which a merge is supposed to have too. Only where sums are known. */
struct cJSON *ss_calibrated_device(const struct ss_calibrated *c);
bool ss_calibrated_sums(const struct ss_cluster_fit *fit);
/* Why the fit hardly can be true, each a text; an empty list: nothing is known against it. */
struct cJSON *ss_calibrated_doubts(const struct ss_calibrated *c);
/* The pieces of a kind as a list of objects. */
struct cJSON *ss_calibrated_pieces(const struct ss_cluster_fit *fit, enum ss_cost_kind kind);

/* What runs tell most of: links between nodes, or, of one node, those inside it. */
enum ss_cost_kind ss_calibrated_main_kind(const struct ss_calibrated *c);
/* Whether observation i is the first of its algorithm that was supposed. */
bool ss_calibrated_supposes(const struct ss_observations *all, size_t i);
/* The name of the file that it comes from, without its folder. */
const char *ss_calibrated_source(const struct ss_observations *all, const struct ss_observation *o);
/* SPDX-License-Identifier: Apache-2.0 */
