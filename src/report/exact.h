/* JSON whose numbers are read back as the very same: cJSON prints 15 digits when they are near enough. */
#ifndef SS_REPORT_EXACT_H
#define SS_REPORT_EXACT_H

#include <stdbool.h>

struct cJSON;

/* The text, the caller's to free; NULL when memory is short. Numbers of `tree` may be replaced by raw texts: it is
 * good for nothing but to be printed and deleted then. */
char *ss_json_exact(struct cJSON *tree, bool formatted);

#endif
