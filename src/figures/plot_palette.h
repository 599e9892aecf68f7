/* Which style a series has: schemes, systems, traces and kinds of work keep theirs in every figure. */
#pragma once

#include <stddef.h>

/* Of the series of a figure, the style (from 1 on, of plots/style.gp) of series[at]: what has one of its own
 * keeps it, whatever stands beside; all else has one of eight others, by its name: only where two of a figure would
 * have the same one, the later has the next, and a ninth what is behind them. No two have the same. */
size_t ss_palette_style(const char *const *series, size_t at);
/* SPDX-License-Identifier: Apache-2.0 */
