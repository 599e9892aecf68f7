/* Reports of JSON: documents as they are, lists of objects as CSV. */
#pragma once

#include "base/base.h"

struct cJSON;

/* Prints what `report` points to, whose type each printer states. It fits ss_output_write, which finds what cannot be
 * written. */
typedef bool ss_printer(const void *report, FILE *stream, struct ss_error *error);

/* Prints a document and frees it; NULL means that memory was short while it was built. */
bool ss_json_print_free(struct cJSON *json, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

/* A row an object, a column a member of any of them; members that are objects are flattened to "outer.inner", arrays
 * are left out, null and absent members are empty. Numbers have 17 digits. The list is freed; NULL as above. */
bool ss_flat_csv_free(struct cJSON *list, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

/* The same in parts, for lists that come bit by bit: the columns of all objects must be known first. A zeroed struct
 * has none; they stand in order of first appearance. */
struct ss_columns {
  char **name;
  size_t count, capacity;
};
bool ss_columns_add(struct ss_columns *columns, const struct cJSON *entry, struct ss_error *error) SS_MUST_CHECK;
void ss_columns_free(struct ss_columns *columns);
/* `head`: names first. */
bool ss_flat_rows(const struct ss_columns *columns, const struct cJSON *list, bool head, FILE *stream,
                  struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
