/* The scenarios of `sparsync train`: which workloads under which systems, where (docs/training.md). */
#ifndef SS_STUDY_TRAINING_H
#define SS_STUDY_TRAINING_H

#include "study/scenario.h"
#include "study/sources.h"
#include "train/scale.h"
#include "train/training.h"

/* What the command line says beside the common options; strings are the caller's. */
struct ss_train_request {
  struct ss_request common;
  const char *workloads, *systems; /* "a,b"; NULL: the scenario's */
};

enum { SS_TRAIN_RANKS = 64 };

struct ss_train_scenario {
  struct ss_doc *doc;
  const char *file, *name;
  char cluster[128], device[128];
  const char *trace; /* NULL: none */
  struct ss_sources sources;
  uint32_t ranks[SS_TRAIN_RANKS];
  struct ss_scale scale;
  struct ss_training training; /* prepared, scaled */
};

/* To be closed also after a failure. */
bool ss_train_scenario_open(const struct ss_train_request *request, struct ss_train_scenario *out,
                            struct ss_error *error) SS_MUST_CHECK;
void ss_train_scenario_close(struct ss_train_scenario *scenario);

#endif
