/* The fields of scenarios (base/fields.h): those of run, plan, check and exec here, those of train in trainings.c. */
#pragma once

#include "base/fields.h"
#include "schemes/setting.h"

/* What the table of a scenario stores; other fields have readers of their own. */
struct ss_scenario {
  struct ss_setting setting; /* first: what schemes may say themselves */
  const char *name;
  bool verify, certain, extrapolate, offered;
  uint64_t merge;
  double capacity; /* 0: not said */
};
extern const struct ss_object_spec ss_scenario_fields, ss_training_fields;
/* The ways to say rank counts and iterations; an item of a list of schemes. */
extern const struct ss_field_spec ss_ranks_forms[], ss_iterations_forms[], ss_scheme_field;
/* The schemas of what is read here and below: docs/schemas/NAME.schema.json. */
extern const struct ss_schema ss_study_schemas[];

/* What a scenario promises of its results. Texts are the document's. */
struct ss_expectation {
  const char *that, *of, *tensor; /* tensor NULL: all */
  enum ss_relation { SS_LESS, SS_LESS_EQUAL, SS_GREATER, SS_GREATER_EQUAL, SS_EQUAL } is;
  double within; /* NaN: not said */
  double draws;  /* the share of the draws in which it is to hold; NaN: times are judged as they are */
  struct ss_node than, at;
};
extern const struct ss_object_spec ss_expectation_fields;
extern const char *const ss_relations[]; /* by enum ss_relation; NULL-terminated */
/* SPDX-License-Identifier: Apache-2.0 */
