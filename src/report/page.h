/* One self-contained page: the answer in the words and the table of `plan`, a figure as `plot` draws it, the tables
 * of `run --wide`, what was expected, closed forms, inputs with their sources, and what makes the page again. A
 * script of its own (plots/page.js) sorts, filters and plays with it; without it the same stands there. No other
 * script runs, no network; dark and light; readable on a phone and on paper.
 *
 * Every text that comes from a file or the command line goes through report/html.h. */
#pragma once

#include "query/expectations.h"
#include "report/results_table.h"
#include "study/scaled.h"

struct ss_page {
  const char *name, *summary; /* of the scenario; summary NULL: none */
  char *command;              /* as it was called */
  char *scenario;             /* its JSON with all edits made */
  const struct cJSON *sweep;  /* the scenario's, or NULL */
  const struct cJSON *models; /* [{"kind", "model"}], each with its "source" */
  struct cJSON *warnings;     /* texts that the user was told */
  struct cJSON *plan;         /* of the results, as ss_study_plan makes it */
  struct ss_verdicts expectations;
  const struct ss_results *results;
  const ss_scaled_times *scaled;    /* [results->count]; NULL: no other network was played */
  bool no_lossy, no_model_parallel; /* such schemes were not considered */
  struct ss_error *lacking;         /* out: why no figure was drawn; no text when one was */
};

/* Of a struct ss_page. Without gnuplot there is no figure, and *lacking says why. */
ss_printer ss_page_print;
/* SPDX-License-Identifier: Apache-2.0 */
