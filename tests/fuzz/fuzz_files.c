/* What users bring from elsewhere: logs of benchmarks, results of earlier runs, claims. An input is a file of each.
 */
#include "calibration/observations.h"
#include "claims/claims.h"
#include "in_memory.h"
#include "query/baselines.h"
#include "study/store.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct ss_error *error) {
  if (error->status != SS_BAD_INPUT || strlen(error->text) < 10 || strchr(error->text, '\n')) abort();
}

static void read_log(const char *path, uint32_t ranks) {
  struct ss_observations all = {0};
  struct ss_error error = {0};
  const struct ss_reading reading = {.ranks = ranks, .most = INFINITY};
  if (!ss_observations_read(path, &reading, &all, &error)) check_refusal(&error);
  for (size_t i = 0; i < all.count; i++) {
    const struct ss_observation *o = &all.list[i];
    if (!(o->seconds > 0) || !isfinite(o->seconds) || o->nodes < 1 || o->per_node < 1 || !o->algorithm) abort();
    if (o->source >= all.sources || o->line < 1) abort();
  }
  ss_observations_free(&all);
}

/* Stored results against none: every stored point is missing. */
static void read_results(const char *path) {
  struct ss_doc *doc;
  struct ss_error error = {0};
  if (!ss_results_read(path, &doc, &error)) {
    check_refusal(&error);
    return;
  }
  struct ss_diff diff;
  const struct ss_results none = {0};
  if (!ss_diff_make(doc, NULL, &none, "none", 1e-9, &diff, &error)) {
    check_refusal(&error);
  } else {
    if (diff.moved || diff.fresh || diff.same || diff.missing == 0) abort();
    ss_diff_free(&diff);
  }
  ss_doc_free(doc);
}

static void read_claims(const char *path) {
  struct ss_claims claims = {0};
  struct ss_error error = {0};
  if (!ss_claims_open(&path, 1, &claims, &error)) check_refusal(&error);
  ss_claims_free(&claims);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  const int file = in_memory(data, size, path, sizeof path);
  read_log(path, 0);
  read_log(path, 4);
  read_results(path);
  read_claims(path);
  put_away(file, path);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
