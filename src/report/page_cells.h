/* What a page is about: the tables of its results, and the axes along which they differ. */
#pragma once

#include "base/memory.h"
#include "report/results_table.h"

enum { SS_PAGE_AXES = 16 };

/* The schemes on one tensor (or "*") in one cell. */
struct ss_page_cell {
  const struct ss_result *result; /* [count] */
  size_t count;
  const struct ss_result *best, *next; /* next NULL: there is one scheme */
  struct ss_dense_time dense;          /* the baseline */
  bool decides;                        /* all tensors together, or the only one */
  const char *text;                    /* along the axes: "16 ranks, bandwidth 10 Gbit/s"; "" when there are none */
};

/* Something that differs between cells: "ranks", or a path of the sweep. */
struct ss_page_axis {
  const char *name, *word; /* the path and its last word */
  bool numeric;
  size_t values;
};

struct ss_page_cells {
  struct ss_page_cell *cell;
  size_t count, deciding;
  struct ss_page_axis axis[SS_PAGE_AXES];
  size_t axes;
  bool several_tensors;
  struct ss_arena arena;
};

/* What it points to is the results', which must outlive it. */
bool ss_page_cells_make(const struct ss_results *results, struct ss_page_cells *out,
                        struct ss_error *error) SS_MUST_CHECK;
void ss_page_cells_free(struct ss_page_cells *cells);

/* Where the result lies on a numeric axis, in base units. */
double ss_page_number(const struct ss_page_axis *axis, const struct ss_result *result);
/* The same of any axis as text, "10 Gbit/s"; copied into the arena, NULL when memory is short. */
const char *ss_page_value(struct ss_page_cells *cells, const struct ss_page_axis *axis,
                          const struct ss_result *result);
