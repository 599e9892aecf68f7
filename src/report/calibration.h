/* Model files, and what they say of the measurements that they were made of. */
#ifndef SS_REPORT_CALIBRATION_H
#define SS_REPORT_CALIBRATION_H

#include "cost/fit_link.h"

#include <stddef.h>

struct cJSON;

/* Today, as "2026-11-21". */
const char *ss_date_text(char *buffer, size_t size);
/* "valid": [low, high], samples, outliers and residuals of a fitted line, into `object`; false: memory is short. */
bool ss_fit_quality_json(struct cJSON *object, const struct ss_link_piece *piece);
/* Writes the document to the file at `path` or to standard output, and deletes it; not `built`: memory was short. */
bool ss_model_write(const char *path, struct cJSON *root, bool built, struct ss_error *error) SS_MUST_CHECK;

#endif
