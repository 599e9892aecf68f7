/* Model files out of measurements: written as JSON, told in words. */
#pragma once

#include "calibration/calibrated.h"

/* Writes the document to the file at `path` or to standard output, and deletes it; NULL: memory was short. */
bool ss_model_write(const char *path, struct cJSON *root, struct ss_error *error) SS_MUST_CHECK;

/* A few lines on what was supposed, what came out, how well it fits, which observations do not, and what should be
 * doubted. */
void ss_calibrated_tell(const struct ss_calibrated *c, FILE *stream);
/* SPDX-License-Identifier: Apache-2.0 */
