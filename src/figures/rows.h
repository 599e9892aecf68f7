/* Rows of a panel beside others of it: relative to a series, printed in a paper, in one cell, or the best at a
 * position. Within this room: figure.c calls it. Each `node` is what the figure says, absent where it says nothing;
 * `first` is the first row of the entry. */
#pragma once

#include "base/fields.h"
#include "figures/plot.h"

/* "relative": {"to": SERIES, "as": "ratio"|"speedup"}: y over, or under, that of the series at the same x; "shown"
 * false leaves the series itself out. The rows are those of one entry, so that each has its own base. */
extern const struct ss_object_spec ss_relative_fields;
bool ss_figure_make_relative(struct ss_node node, struct ss_plot_panel *panel, size_t first,
                             struct ss_error *error) SS_MUST_CHECK;
/* "printed": the rows are what a paper prints; of a series' name, by how much that is more than the row's own series:
 * so many times less than our value of it the mark stands. */
bool ss_figure_mark_printed(struct ss_node node, struct ss_plot_panel *panel, size_t first,
                            struct ss_error *error) SS_MUST_CHECK;
/* Of a heat map a cell has one colour: of two results there, one would be hidden. */
bool ss_figure_check_cells(const struct ss_plot_panel *panel, struct ss_error *error) SS_MUST_CHECK;
/* Of the rows at one position the least z wins: it stays, with what the next takes longer (%) as z. */
void ss_figure_keep_winners(struct ss_plot_panel *panel);
