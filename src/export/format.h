/* Schedules written for other simulators (docs/export.md); formats: one file and one constant each. */
#pragma once

#include "base/spool.h"
#include "base/watcher.h"
#include "export/operations.h"

struct ss_point;
struct ss_study;

/* Both simulators have formulas that go wrong at 0: a message without bytes is written as one of one. */
static inline uint64_t ss_operation_bytes(const struct ss_operation *operation) {
  return operation->bytes > 0 ? operation->bytes : 1;
}

/* What has been played, and where its operations are: a stream an endpoint. */
struct ss_exported {
  const struct ss_point *point;
  const struct ss_operations *played;
  struct ss_spool *spool;
};

enum { SS_OPERATION_ROOM = 2048 /* B that any format takes for an operation */ };

struct ss_export_format {
  const char *name; /* "goal" */
  double ticks;     /* of its clock in a second: times are whole ticks */
  uint32_t files;   /* that it makes at most; 0: one */
  /* Writes an operation that takes so many ticks, and returns its size in B. */
  size_t (*write)(const struct ss_operation *operation, uint64_t ticks, char out[static SS_OPERATION_ROOM]);
  /* Makes the file, or the files, that `path` says. */
  bool (*finish)(const struct ss_exported *exported, const char *path, struct ss_error *error);
};

/* GOAL, "Group Operation Assembly Language" (Hoefler, Siebert, Lumsdaine, 2009), as text that LogGOPSim's txt2bin
 * takes (https://github.com/spcl/LogGOPSim); one file. Clock: 1 ns. */
extern const struct ss_export_format ss_format_goal;
/* Chakra execution traces (https://github.com/mlcommons/chakra), as ASTRA-sim reads them: PATH.N.et of endpoint N.
 * Clock: 1 us. NULL: this program was built without protobuf-c. */
extern const struct ss_export_format *const ss_format_chakra;

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
/* SPDX-License-Identifier: Apache-2.0 */
