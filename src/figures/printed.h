/* What a figure says below it of the marks that a paper prints: how far they lie from ours, and what became of the
 * claims that it names. */
#pragma once

#include "base/fields.h"
#include "figures/plot.h"

/* Appends to the plot's note the largest factor between a printed row and ours of the same series at the same x, and,
 * where the claims ("id" anywhere in the figure, of the files it names) are not all
 * reproduced or predicted, how many have which pinned verdict. */
bool ss_figure_tell_printed(struct ss_node root, struct ss_plot *plot, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
