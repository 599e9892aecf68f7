/* What models that were taken keep: their headers' promises. */
#pragma once

#include "train/workloads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline void check_refusal(const struct ss_error *error) {
  if (error->status != SS_BAD_INPUT || strlen(error->text) < 10 || strchr(error->text, '\n')) abort();
}

static inline bool is_time(double t) {
  return isfinite(t) && t >= 0;
}

/* Every module once, and none before one that it waits for. */
static inline void check_order(const struct ss_workload *w, bool embeddings_first) {
  uint32_t *order = calloc(w->modules, sizeof *order), *place = calloc(w->modules, sizeof *place);
  if (!order || !place || !ss_workload_order(w, embeddings_first, order, NULL)) abort();
  for (uint32_t i = 0; i < w->modules; i++) {
    if (order[i] >= w->modules || place[order[i]]) abort();
    place[order[i]] = i + 1;
  }
  for (uint32_t i = 0; i < w->modules; i++)
    for (uint32_t j = 0; j < w->module[i].afters; j++)
      if (w->module[i].after[j] >= w->modules || place[w->module[i].after[j]] >= place[i]) abort();
  free(order);
  free(place);
}

static inline void check_modules(const struct ss_workload *w) {
  if (w->modules < 1 || w->modules > SS_MODULES_MAX || !w->name) abort();
  for (uint32_t i = 0; i < w->modules; i++) {
    const struct ss_module *m = &w->module[i];
    if (!is_time(m->forward) || !is_time(m->backward)) abort();
    if (m->embedding && (m->rows == 0 || m->row_width == 0)) abort();
    if (m->feed.kind == SS_FEED_COUNTS && m->embedding &&
        (m->feed.prior > m->feed.coalesced || m->feed.coalesced > m->rows))
      abort();
  }
  check_order(w, false);
  if (!(w->tokens > 0 || isnan(w->tokens))) abort();
}
/* SPDX-License-Identifier: Apache-2.0 */
