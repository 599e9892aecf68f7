/* A study: the document with its edits and sweeps (study.c), and the points of each cell (points.c). */
#pragma once

#include "study/extrapolation.h"
#include "study/sources.h"
#include "study/study.h"

struct ss_study {
  struct ss_doc *doc;
  const char *base; /* relative paths are looked for beside it; NULL: nowhere else */
  struct ss_request request;
  struct ss_costs own_costs; /* where the request has none */
  const char *name;
  struct ss_sources sources;
  struct ss_extrapolations extrapolations;
  struct ss_arena arena; /* names of cells */
  struct ss_point *point;
  size_t count, capacity;
  bool chosen_for_user; /* no schemes were named: all that can run */
  struct cJSON **at;    /* one a cell */
  size_t cells;
  struct cJSON *resolved; /* the document after all edits, before the sweep's */
  struct cJSON *models;   /* [{"kind", "model"}], each once */
};

/* Turns a device that the document names into the object that its file holds. */
bool ss_device_resolve(struct ss_doc *doc, const char *base, struct ss_error *error) SS_MUST_CHECK;
/* Appends the points of the document as it stands, models in place of their names. `at`: the cell of the sweep, or
 * NULL. */
bool ss_study_add_cell(struct ss_study *scenario, struct cJSON *at, struct ss_error *error) SS_MUST_CHECK;

/* What `plan` chooses from where the scenario names no schemes: a list as a scenario has it, the caller's; NULL when
 * memory is short. Every registered scheme but the families, with what its options try (struct ss_option); with
 * `hierarchies` all of them again behind shards and leaders; with `offered` what somebody offers besides. Simple ones
 * first, so that they win ties. Whether one can run somewhere is not asked here. */
struct cJSON *ss_candidates(bool hierarchies, bool offered);
/* SPDX-License-Identifier: Apache-2.0 */
