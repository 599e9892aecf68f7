/* The fields of scenarios (base/fields.h): those of run, plan, check and exec here, those of train in trainings.c. */
#ifndef SS_STUDY_SCENARIO_FIELDS_H
#define SS_STUDY_SCENARIO_FIELDS_H

#include "base/fields.h"

extern const struct ss_object_spec ss_scenario_fields, ss_training_fields;
/* The ways to say rank counts, and one text or several. */
extern const struct ss_field_spec ss_ranks_forms[], ss_texts_forms[];
/* A text that is not empty, as an item of a list. */
extern const struct ss_field_spec ss_name_field;

#endif
