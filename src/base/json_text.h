/* JSON as text, and fields that may be null. */
#ifndef SS_BASE_JSON_TEXT_H
#define SS_BASE_JSON_TEXT_H

#include "base/error.h"

#include <stdio.h>

struct cJSON;

/* The text, the caller's to free; NULL when memory is short. Bytes that are no UTF-8, as names of files may have,
 * become
 * '?': no reader would take them. */
char *ss_json_text(const struct cJSON *tree, bool formatted);

/* A document and a new line. `tree` NULL: memory was short while it was built. */
bool ss_json_print(const struct cJSON *tree, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* The same with numbers as ss_json_exact writes them, and the tree is deleted. */
bool ss_json_print_exact(struct cJSON *tree, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

/* Numbers are read back as the very same: cJSON prints 15 digits when they are near enough. The text, the caller's to
 * free; NULL when memory is short. Numbers of `tree` may be replaced by raw texts: afterwards it can only be printed
 * and deleted. */
char *ss_json_exact(struct cJSON *tree, bool formatted);

/* null when the number is not finite. */
void ss_json_add_number(struct cJSON *object, const char *name, double value);
/* null when there is no text. */
void ss_json_add_text(struct cJSON *object, const char *name, const char *text);

/* A member's number, NaN when it has none; its text, NULL when it has none. */
double ss_json_number(const struct cJSON *object, const char *name);
const char *ss_json_word(const struct cJSON *object, const char *name);

#endif
