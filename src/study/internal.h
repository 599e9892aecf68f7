/* A scenario while it is read: the document with its edits and sweeps (scenario.c), and the jobs of each place
 * (scenario_jobs.c). */
#ifndef SS_STUDY_INTERNAL_H
#define SS_STUDY_INTERNAL_H

#include "study/scenario.h"
#include "study/sources.h"

struct ss_scenario {
  struct ss_doc *doc;
  const char *file; /* NULL: none */
  const struct ss_request *request;
  const char *name;
  struct ss_sources sources;
  struct ss_arena arena; /* names of places */
  struct ss_job *job;
  size_t count, capacity;
  bool chosen_for_user; /* no schemes were named: all that can run */
  struct cJSON **at;    /* one a place */
  size_t places;
  struct cJSON *resolved; /* the document after all edits, before the sweep's */
  struct cJSON *models;   /* [{"kind", "model"}], each once */
};

/* Turns models that the document names into the objects that their files hold. */
bool ss_scenario_resolve(struct ss_scenario *scenario, struct ss_error *error) SS_MUST_CHECK;
/* Appends the jobs of the document as it stands. `at`: the place in the sweep, or NULL. */
bool ss_scenario_add_place(struct ss_scenario *scenario, struct cJSON *at, struct ss_error *error) SS_MUST_CHECK;

#endif
