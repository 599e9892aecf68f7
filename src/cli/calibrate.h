/* The subcommands of `sparsync calibrate`: one file each, one constant each, one line in the table of
 * cmd_calibrate.c. */
#ifndef SS_CLI_CALIBRATE_H
#define SS_CLI_CALIBRATE_H

#include "cli/command.h"
#include "cost/fit_link.h"

#include <stddef.h>

extern const struct ss_command calibrate_network, calibrate_kernels;

/* Today, as "2026-11-21". */
const char *calibrate_date(char *buffer, size_t size);

struct cJSON;
/* "valid": [low, high], samples, outliers and residuals, into `object`. */
bool calibrate_add_quality(struct cJSON *object, const struct ss_link_piece *piece);
/* Prints a JSON document to `path` and frees it; NULL: memory was short. */
bool calibrate_write(struct cJSON *json, const char *path, struct ss_error *error) SS_MUST_CHECK;

#endif
