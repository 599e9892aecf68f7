/* JSON as text. */
#ifndef SS_REPORT_EXACT_H
#define SS_REPORT_EXACT_H

#include "base/error.h"

#include <stdio.h>

struct cJSON;

/* A document and a new line. `tree` NULL: memory was short while it was made. */
bool ss_json_print(const struct cJSON *tree, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

/* Numbers are read back as the very same: cJSON prints 15 digits when they are near enough. The text, the caller's to
 * free; NULL when memory is short. Numbers of `tree` may be replaced by raw texts: it is
 * good for nothing but to be printed and deleted then. */
char *ss_json_exact(struct cJSON *tree, bool formatted);

#endif
