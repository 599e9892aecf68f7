/* A kernel's times as lines one after the other: what fits in a cache goes faster, and what is shared by threads
 * starts later. */
#pragma once

#include "calibration/robust.h"

enum { SS_LINE_PIECES = 4 };

struct ss_line_piece {
  double up_to; /* B: calls of more are the next piece's; INFINITY of the last */
  struct ss_line line;
};

struct ss_lines {
  size_t pieces;
  struct ss_line_piece piece[SS_LINE_PIECES]; /* by size */
  struct ss_line all;                         /* low, high and residuals of all of them; its costs mean nothing */
};

/* One line, cut in two where that helps most as long as it pays: n samples of mean relative error e (the absolute
 * logarithm of seconds over what is predicted, outliers included) with k costs and cuts are worth 2 n ln e + k ln n
 * (Schwarz's criterion for Laplace's errors). A piece has at least four samples. Sorts the samples by bytes. Errors
 * as ss_line_fit. */
bool ss_lines_fit(struct ss_line_sample *samples, size_t count, struct ss_lines *out,
                  struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
