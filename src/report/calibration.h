/* Model files out of measurements, and what they say of these: printed as JSON, told in words. */
#ifndef SS_REPORT_CALIBRATION_H
#define SS_REPORT_CALIBRATION_H

#include "calibration/validation.h"

#include <stdio.h>

struct cJSON;

/* Today, as "2026-11-21". */
const char *ss_date_text(char *buffer, size_t size);
/* "valid": [low, high], samples, outliers and residuals of a fitted line, into `object`; false: memory is short. */
bool ss_line_quality_json(struct cJSON *object, const struct ss_line *line);
/* Writes the document to the file at `path` or to standard output, and deletes it; not `built`: memory was short. */
bool ss_model_write(const char *path, struct cJSON *root, bool built, struct ss_error *error) SS_MUST_CHECK;

/* What a cluster file is made of. */
struct ss_calibrated {
  const char *name, *measured; /* `measured`: of what, and where from: "all_reduce.log (all_reduce_perf, ring)" */
  const struct ss_cluster_fit *fit;
  const struct ss_observations *observations;
  double latency;                   /* s, given; NAN: fitted */
  struct ss_error_spread unseen[2]; /* predicted from the others: each collective, each number of nodes; count 0:
                                 there is but one */
};

/* The cluster file; NULL: memory is short. */
struct cJSON *ss_calibrated_cluster(const struct ss_calibrated *c);
/* A device file with the rate of sums, which a merge is supposed to have too; NULL: memory is short. Only where sums
 * are known. */
struct cJSON *ss_calibrated_device(const struct ss_calibrated *c);
bool ss_calibrated_sums(const struct ss_cluster_fit *fit);
/* The pieces of a kind as a list of objects; NULL: memory is short. */
struct cJSON *ss_calibrated_pieces(const struct ss_cluster_fit *fit, enum ss_cost_kind kind);
/* A few lines on what was supposed, what came out, how well it fits, which observations do not, and what should be
 * doubted. */
void ss_calibrated_tell(const struct ss_calibrated *c, FILE *stream);

#endif
