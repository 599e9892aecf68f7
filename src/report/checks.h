/* What `check` found: closed forms against the simulation, scenarios against their own expectations. */
#pragma once

#include "query/check.h"
#include "report/flat.h"
#include "report/verdicts.h"

/* One file that was to be checked. */
struct ss_checked {
  const char *file;
  size_t points;
  struct ss_verdicts expectations;
  struct ss_error error; /* why it was not judged; no text where it was */
};

/* Closed forms, or none, and files: scenarios, and what could not be checked. */
struct ss_checks_report {
  struct ss_checks forms;
  struct ss_checked *file;
  size_t files;
};

/* Of a struct ss_checks_report. JUnit's XML has a suite for the closed forms and one a file, and a case for each form
 * and each expectation. CSV has no columns for both. */
ss_printer ss_checks_table, ss_checks_as_json, ss_checks_csv, ss_checks_junit;

/* Where the form is missed at the index of the grid, without a line's end. */
void ss_parting_print(const struct ss_checks *checks, size_t index, FILE *stream);
/* SPDX-License-Identifier: Apache-2.0 */
