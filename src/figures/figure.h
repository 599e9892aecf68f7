/* Figures: what a file of scenarios/figures says is computed and becomes a plot; so do result files.
 *
 * A figure is data: panels, each with entries that make a request (query/cache.h), and
 * which fields of the answers are x, y and series (docs/figures.md). */
#pragma once

#include "base/fields.h"
#include "figures/plot.h"

struct ss_notice;
struct ss_watcher;

extern const struct ss_object_spec ss_figure_fields;

/* Whether the document says that it is a figure, not a result. */
bool ss_is_figure(struct ss_doc *doc);
/* Computes the figure's entries and fills `plot`, which is to be freed also on failure. The document must outlive the
 * call only. `notice` is told the warnings of clusters, `watcher` how far it is; NULL: nobody. */
bool ss_figure_plot(struct ss_doc *doc, const struct ss_notice *notice, const struct ss_watcher *watcher,
                    struct ss_plot *plot, struct ss_error *error) SS_MUST_CHECK;

/* --- result files ------------------------------------------------------------------------------------------- */

/* Values above zero of which the largest, or the end of its range, is so many times the least stand on a logarithmic
 * axis unless the user says otherwise: on one from zero the least could not be read. Pages' scripts are given it. */
#define SS_FIGURE_SPREAD 10

/* What to draw of results; NULL: not said. `kind` is lines, bars, heat, map, traffic or links. */
struct ss_plot_options {
  const char *file; /* which has them, for errors */
  const char *kind, *x, *y, *z, *series, *each, *relative, *log, *log2;
  const char **where; /* [wheres] "FIELD=VALUE" */
  size_t wheres;
  size_t *left_out; /* NULL: more places than panels are an error; else how many were left out */
};
/* Draws the result as the options say; what they do not say is guessed from it. The plot, which is to be freed also
 * on failure, has texts of its own. */
bool ss_figure_plot_results(const struct ss_plot_options *options, const struct cJSON *result,
                            const struct ss_notice *notice, struct ss_plot *plot,
                            struct ss_error *error) SS_MUST_CHECK;
/* A figure whose entries ask nothing: all are about the list of results. */
bool ss_figure_fill(struct ss_doc *doc, const struct cJSON *results, const struct ss_notice *notice,
                    struct ss_plot *plot, struct ss_error *error) SS_MUST_CHECK;

/* The error that `what` holds nothing to draw; returns false. */
bool ss_figure_fail_empty(const char *what, struct ss_error *error);
/* SPDX-License-Identifier: Apache-2.0 */
