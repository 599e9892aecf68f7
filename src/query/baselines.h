/* Stored results against new ones: which points moved, which are new, which are gone. */
#pragma once

#include "base/json.h"
#include "study/study.h"

/* What the results come of, to be stored beside them: {"scenario", "clusters": {NAME: {...}}, "devices"}, without
 * names, notes, sources and expectations; the caller's, NULL when memory is short. */
struct cJSON *ss_study_inputs(const struct ss_study *study);

/* Zeroed it is empty. */
struct ss_diff {
  /* {"sparsync", "scenario", "baseline", "tolerance", "same", "moved", "new", "missing",
   *  "inputs": [{"input", "was", "now"}] that are not what they were, null: the baseline has none,
   *  "changes": [{"change", "label", "ranks", "tensor", "at", "fields": [{"field", "was", "now", "relative"}],
   *               "differs": [names of what else is not what it was], "within_range": of a time that moved alone}] in
   *   printed order, the missing last} */
  struct cJSON *tree;
  size_t same, moved, fresh, missing; /* points */
};

/* `stored` is what ss_results_read gave of JSON, `inputs` what the points come of. A baseline is a list of promises,
 * one a point: points meet by label, ranks, tensor and cell of the sweep. Bytes, messages, rounds and k must be the
 * same; other numbers may differ by `tolerance`, relative. Fields that the stored points do not have are not
 * compared. To be freed. */
bool ss_diff_make(struct ss_doc *stored, const struct cJSON *inputs, const struct ss_results *results,
                  const char *scenario, double tolerance, struct ss_diff *out, struct ss_error *error) SS_MUST_CHECK;
void ss_diff_free(struct ss_diff *diff);
/* SPDX-License-Identifier: Apache-2.0 */
