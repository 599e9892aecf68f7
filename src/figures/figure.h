/* Figures: what a file of scenarios/figures says is computed and becomes a plot; so do result files.
 *
 * A figure is data: panels, each with entries that name a command (or a file, or a measurement of this machine), and
 * which fields of the results are x, y and series (docs/figures.md). */
#ifndef SS_FIGURES_FIGURE_H
#define SS_FIGURES_FIGURE_H

#include "base/json.h"
#include "figures/plot.h"

struct cJSON;

/* Whether the document says that it is a figure, not a result. */
bool ss_is_figure(struct ss_doc *doc);
/* Computes the figure's entries and fills `plot`, which is to be freed also on failure. The document must outlive the
 * call only. */
bool ss_figure_plot(struct ss_doc *doc, struct ss_plot *plot, struct ss_error *error) SS_MUST_CHECK;

/* --- an entry's results (figure_data.c) ------------------------------------------------------------------------ */

/* The documents, or the list of objects, that an entry's "command", "file" or "measure" gives. Freed with
 * ss_records_free. */
struct ss_records {
  struct ss_doc *doc;        /* owns `list`, or NULL */
  struct cJSON *made, *list; /* made: owns `list`, or NULL; list: an array of objects */
};
bool ss_records_get(struct ss_node entry, struct ss_records *out, struct ss_error *error) SS_MUST_CHECK;
void ss_records_free(struct ss_records *records);

/* The member at a path like "at.cluster.bandwidth", whose keys may hold dots themselves; a last word alone
 * ("bandwidth") finds it in "at" and "options". NULL: none. */
const struct cJSON *ss_record_find(const struct cJSON *record, const char *path);

/* --- measurements (figure_measure.c) --------------------------------------------------------------------------- */

/* "measure": {"name": ..., parameters}: an array of objects, the caller's to delete. `made` is the path that
 * the trace "$made" stands for. */
bool ss_measure(struct ss_node measure, const char *made, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
/* A text of a figure; what begins with "$data/" is a path in the data folder. */
bool ss_figure_path(const char *text, char *path, size_t size, struct ss_error *error) SS_MUST_CHECK;

#endif
