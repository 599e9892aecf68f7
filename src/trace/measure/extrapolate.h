/* What more ranks would bring: expected rows, densification and bytes beyond the ranks that a trace has, with an
 * error bar (docs/ranges.md, "Gamma beyond the captured ranks"), by the popularity of rows (popularity.h). */
#pragma once

#include "base/watcher.h"
#include "trace/file/trace.h"

/* Fewer ranks cannot be parted to tell how wrong an estimate may be; more take too long to fit. */
enum { SS_FIT_RANKS_MIN = 4, SS_FIT_RANKS_MAX = 1024 };

/* A zero `end` or `ranks` means all. */
struct ss_fit_options {
  uint64_t first, end; /* iterations [first, end) */
  uint32_t ranks;      /* fit on the first so many */
  const uint32_t *target;
  size_t targets;                   /* rank counts to tell of, any order */
  const struct ss_watcher *watcher; /* told after each tensor; NULL: nobody */
};

/* Measured values have low = high = value. NaN: there is nothing to tell, as nobody looks anything up. */
struct ss_interval {
  double value, low, high;
};

struct ss_fit_point {
  uint32_t ranks;
  bool measured;
  struct ss_interval nnz;   /* distinct rows of one rank in an iteration */
  struct ss_interval rows;  /* of the union of all ranks */
  struct ss_interval gamma; /* densification: union / mean nnz */
};

/* A part of the ranks, fitted alone and held against all ranks of the fit: ln(predicted / measured) of gamma. */
struct ss_fit_backtest {
  uint32_t first;
  double gamma; /* NaN: the part has no rows */
};

struct ss_tensor_fit {
  struct ss_tensor tensor; /* its name belongs to the trace */
  bool fitted;             /* false: too little was looked up to fit anything */
  double a, b;
  double phi;        /* infinite: ranks draw alike, or there is one iteration only and nobody can tell */
  double misfit;     /* ln(fitted / measured) of the union of all ranks of the fit */
  uint32_t held_out; /* ranks of each part */
  size_t backtests;
  struct ss_fit_backtest *backtest;
  size_t points;
  struct ss_fit_point *point; /* [points] ascending by ranks, no rank count twice */
};

struct ss_fit {
  uint64_t first, end;
  uint32_t ranks;
  size_t tensors;
  struct ss_tensor_fit *tensor;
  struct ss_arena arena; /* of the arrays */
};

/* A window outside the trace, too few or too many ranks, or an unknown tensor is an SS_BAD_INPUT error. The result is
 * the caller's, to be freed with ss_fit_free before the trace is closed. */
bool ss_trace_fit(const struct ss_trace *trace, const struct ss_fit_options *options, struct ss_fit **out,
                  struct ss_error *error) SS_MUST_CHECK;
/* NULL is allowed. */
void ss_fit_free(struct ss_fit *fit);
/* SPDX-License-Identifier: Apache-2.0 */
