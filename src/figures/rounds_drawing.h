/* Pictures of who sends what to whom: a panel a run, lanes of endpoints, rounds from left to right. */
#pragma once

#include "figures/plot.h"

struct cJSON;

/* Appends a panel for each of the "runs" that study/rounds.h tells of. `title`: of them; NULL: what distinguishes
 * each. What are fields of panels' rows: x the round, y the phase, low and high the lanes from and to, z the bytes.
 */
bool ss_rounds_add(struct ss_plot *plot, const char *title, const struct cJSON *tree,
                   struct ss_error *error) SS_MUST_CHECK;
/* The same as a whole plot, which is empty, and is to be freed also on failure. */
bool ss_rounds_plot(struct ss_plot *plot, const struct cJSON *tree, struct ss_error *error) SS_MUST_CHECK;

/* How many such panels stand beside each other on a page. */
size_t ss_rounds_across(const struct ss_plot *plot);
/* The last round of a panel. */
size_t ss_rounds_last(const struct ss_plot_panel *panel);
/* How much room the panel's title and sizes take above its lanes; `column`: how wide a round is, in 1/96 inch. */
double ss_rounds_above(const struct ss_plot_panel *panel, double column);
/* Writes what a panel's script says of its lanes, rounds and phases. */
void ss_rounds_script(const struct ss_plot_panel *panel, double column, FILE *stream);
/* Writes the arrows: a block of data for each of seven widths, the first for messages without bytes. `most`: the
 * largest message of the figure. */
void ss_rounds_data(const struct ss_plot_panel *panel, double most, FILE *stream);
/* SPDX-License-Identifier: Apache-2.0 */
