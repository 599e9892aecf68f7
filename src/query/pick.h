/* One number out of a result: of records by label, ranks and cell, or by path (docs/scenarios.md, "Files of claims").
 */
#pragma once

#include "base/fields.h"
#include "cost/formula.h"

/* Values by name, for expressions; zeroed it is empty. */
struct ss_picked {
  struct ss_variable *value; /* names are the caller's */
  size_t count;
};
void ss_picked_free(struct ss_picked *values);
bool ss_picked_add(struct ss_picked *values, const char *name, double value, struct ss_error *error) SS_MUST_CHECK;

extern const struct ss_object_spec ss_picks_fields; /* numbers by name: picks and expressions */
extern const struct ss_field_spec ss_expression_forms[];

/* A number, or a text that is an expression over the values; an error says where it stands. */
bool ss_picked_evaluate(struct ss_node node, const struct ss_picked *values, double *out,
                        struct ss_error *error) SS_MUST_CHECK;

/* The number that `pick` names in the result. Its expressions may use `values` besides the fields of a record; its
 * key "from", which says what result is meant, is the caller's affair. */
bool ss_pick(struct ss_node pick, const struct cJSON *result, const struct ss_picked *values, double *out,
             struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
