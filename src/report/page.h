/* One self-contained page: the question, the winner in words, figures, tables, formulas with their errata, inputs and
 * what reproduces it. No scripts, no network; dark and light; readable on a phone and on paper.
 *
 * Every text that comes from a file or the command line goes through report/html.h. */
#pragma once

#include "cost/forms.h"
#include "query/expectations.h"
#include "report/results_table.h"
#include "study/window.h"

struct ss_page {
  const char *name, *summary; /* of the scenario; summary NULL: none */
  char *command;              /* as it was called */
  char *scenario;             /* its JSON with all edits made */
  const struct cJSON *sweep;  /* the scenario's, or NULL */
  const struct cJSON *models; /* [{"kind", "model"}], each with its "source" */
  struct ss_verdicts expectations;
  const struct ss_costs *costs; /* whose forms the results have */
  const struct ss_results *results;
  const struct ss_turns *turns;     /* of the results; NULL: nobody asked */
  bool no_lossy, no_model_parallel; /* such schemes were not considered */
  struct ss_error *lacking;         /* out: why figures were not drawn; no text when they were */
};

/* Of a struct ss_page. Without gnuplot the page has the figures' data instead, and *lacking says why. */
ss_printer ss_page_print;
