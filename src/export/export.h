/* Schedules written for other simulators (docs/export.md). */
#pragma once

#include "base/watcher.h"
#include "export/format.h"

struct ss_study;

/* "goal" or "chakra"; NULL: an error, also where this program was built without what the format needs. */
const struct ss_export_format *ss_export_format_find(const char *name, struct ss_error *error);
/* Can the format's files be called so? An error where `path` is a folder and several files come of it. */
bool ss_export_path_check(const struct ss_export_format *format, const char *path,
                          struct ss_error *error) SS_MUST_CHECK;

/* The one point of the study; SS_BAD_INPUT that says what there is several of when there is more than one. */
bool ss_export_point(const struct ss_study *study, const struct ss_point **point,
                     struct ss_error *error) SS_MUST_CHECK;

/* Plays the point's iterations, each endpoint one after the other, and writes what endpoints do in the format to
 * `path`. What it sends is not proven to be right: `run` does that. */
bool ss_export(const struct ss_point *point, const struct ss_export_format *format, const char *path,
               const struct ss_watcher *watcher, struct ss_error *error) SS_MUST_CHECK;
