/* The parts of a page, a file each; each writes its section. */
#pragma once

#include "report/page.h"
#include "study/plan.h"

enum { SS_PAGE_AXES = 16 };

/* A table of the page: the schemes on one tensor (or "*") in one cell, and which of them plan takes. */
struct ss_page_row {
  const struct ss_plan_row *plan;
  struct cJSON *json; /* the same as `plan` prints it, and "axes": {"ranks": 16, "cluster.nic": "per-node"}: numbers
                         and texts */
  const char *place;  /* along the axes: "16 ranks, bandwidth 10 Gbit/s"; "" when there are none */
  bool decides;       /* all tensors together, or the only one */
};

/* Something that differs between cells: "ranks", or a path of the sweep. */
struct ss_page_axis {
  const char *name, *word; /* the path and its last word */
  bool numeric;
  size_t values;
};

/* What a page is about: the plan of its results, and the axes along which its rows differ. */
struct ss_page_cells {
  struct ss_plan plan;
  struct cJSON *json;      /* the list of rows */
  struct ss_page_row *row; /* [plan.count] */
  size_t deciding;
  struct ss_page_axis axis[SS_PAGE_AXES];
  size_t axes;
  bool several_tensors;
};

/* What it points to is the results', which must outlive it. To be freed, also after a failure. */
bool ss_page_cells_make(const struct ss_results *results, struct ss_page_cells *out,
                        struct ss_error *error) SS_MUST_CHECK;
void ss_page_cells_free(struct ss_page_cells *cells);

/* Who is fastest, by how much, where, and what was not counted. */
bool ss_page_answer(const struct ss_page *page, const struct ss_page_cells *cells, FILE *stream,
                    struct ss_error *error) SS_MUST_CHECK;
/* Bars for one cell or a few, lines over one numeric axis, a map of winners over two. What keeps figures from being
 * drawn goes into `lacking` (no text when they are); their data stand on the page either way. */
bool ss_page_figures(const struct ss_page_cells *cells, FILE *stream, struct ss_error *lacking,
                     struct ss_error *error) SS_MUST_CHECK;
/* Closed forms: exact and as printed, what they assume, where the paper is wrong, and the symbols. */
bool ss_page_forms(const struct ss_page *page, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* Clusters and devices with the source of each number, traces with their hashes, and what reproduces the page. */
void ss_page_inputs(const struct ss_page *page, FILE *stream);
