/* Lists of JSON objects as CSV. */
#ifndef SS_REPORT_FLAT_H
#define SS_REPORT_FLAT_H

#include "base/error.h"

#include <stdio.h>

struct cJSON;

/* A row an object, a column a member of any of them; members that are objects are flattened to "outer.inner", arrays
 * are left out, null and absent members are empty. Numbers have 17 digits. */
bool ss_flat_csv(const struct cJSON *list, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
