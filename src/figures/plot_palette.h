/* Which style a series has: schemes, systems, traces and kinds of work keep theirs in every figure. */
#pragma once

#include <stddef.h>

/* Of the `count` series of a figure, the style (from 1 on, of plots/style.gp) of series[at]: what has one of its own
 * keeps it, whatever stands beside; all else has one of eight others, by its name: only where two of a figure would
 * have the same one, the later has the next; a ninth has one that is nobody's in this figure, and only behind 24 does
 * a colour come twice. No two have the same style. */
size_t ss_palette_style(const char *const *series, size_t count, size_t at);
/* SPDX-License-Identifier: Apache-2.0 */
