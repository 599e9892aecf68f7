/* What the commands about traces print alike. */
#ifndef SS_REPORT_TRACE_H
#define SS_REPORT_TRACE_H

#include "report/table.h"

#include <stdio.h>

struct cJSON;

/* Prints a JSON document and frees it; NULL means that memory was short while it was built. */
bool ss_json_print_free(struct cJSON *json, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* Prints a table as text or CSV and frees it; NULL as above. */
bool ss_table_print_free(struct ss_table *table, bool csv, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
