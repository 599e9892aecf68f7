#include "trace/measure/extrapolate.h"

#include "base/json.h"
#include "trace/measure/incidence.h"
#include "trace/measure/popularity.h"

#include <gsl/gsl_cdf.h>

/* Parts into which the ranks are cut to see how wrong an estimate is; and the chance that the bar covers. */
enum { PARTS = 4 };
static const double coverage = 0.95;

/* One tensor at work. windows[0] is all ranks of the fit, then come its quarters, then the parts that are fitted
 * alone (quarters too, but of 2 ranks at least), then the ranks to be measured. */
struct work {
  const struct ss_trace *trace;
  const struct ss_fit *fit;
  size_t tensor, parts;
  struct ss_incidence *window;
  size_t windows;
  struct ss_popularity all;
};

/* --- how wrong it may be ---------------------------------------------------------------------------------- */

/* Half-widths of the bars, as logarithms, for as many times more ranks as the parts were held against; and ln of
 * those times. */
struct bars {
  double nnz, nnz_stretch, gamma, gamma_stretch;
};

static bool backtest(const struct work *w, const struct ss_incidence *part, struct ss_fit_backtest *out) {
  const struct ss_incidence *all = &w->window[0];
  struct ss_popularity popularity;
  *out = (struct ss_fit_backtest){.first = part->first, .gamma = NAN};
  if (part->rows <= 0) return true;
  if (!ss_popularity_fit(part, w->fit->end - w->fit->first, &w->all, &popularity)) return false;
  const double table = (double)ss_trace_tensor(w->trace, w->tensor)->rows;
  const double rows = fmin(part->rows + ss_popularity_more(&popularity, part->ranks, all->ranks), table);
  out->gamma = log(part->gamma * rows / part->rows / all->gamma);
  return true;
}

static double half_width(double squares, double freedom) {
  return freedom < 1 ? INFINITY : gsl_cdf_tdist_Pinv((1 + coverage) / 2, freedom) * sqrt(squares / freedom);
}

/* Of gamma: what the parts got wrong, and what the fit gets wrong of the very union that it saw. */
static double gamma_half_width(const struct ss_tensor_fit *t) {
  double squares = t->misfit * t->misfit, count = 1;
  for (size_t i = 0; i < t->backtests; i++) {
    if (isnan(t->backtest[i].gamma)) continue;
    squares += t->backtest[i].gamma * t->backtest[i].gamma;
    count++;
  }
  return half_width(squares, count);
}

/* Of a rank's rows: how far quarters of the ranks are from the mean of all. */
static double nnz_half_width(const struct work *w) {
  double squares = 0, count = 0;
  for (size_t i = 0; i < PARTS; i++) {
    const double nnz = w->window[1 + i].nnz;
    if (nnz <= 0) continue;
    squares += log(nnz / w->window[0].nnz) * log(nnz / w->window[0].nnz);
    count++;
  }
  return half_width(squares, count - 1);
}

static struct bars make_bars(const struct work *w, const struct ss_tensor_fit *t) {
  const double ranks = w->fit->ranks;
  return (struct bars){.nnz = nnz_half_width(w),
                       .nnz_stretch = log(ranks / w->window[1].ranks),
                       .gamma = gamma_half_width(t),
                       .gamma_stretch = log(ranks / t->held_out)};
}

/* --- estimates -------------------------------------------------------------------------------------------- */

static struct ss_interval exactly(double value) {
  return (struct ss_interval){value, value, value};
}

/* Never beyond what can be. */
static struct ss_interval between(double value, double half, double least, double most) {
  value = fmin(fmax(value, least), most);
  return (struct ss_interval){value, fmin(fmax(value * exp(-half), least), most), fmin(value * exp(half), most)};
}

static void measure(const struct ss_incidence *w, struct ss_fit_point *out) {
  const bool any = w->rows > 0;
  out->measured = true;
  out->nnz = exactly(w->nnz);
  out->rows = exactly(w->rows);
  out->gamma = exactly(any ? w->gamma : NAN);
}

static void extrapolate(const struct work *w, const struct ss_tensor_fit *t, const struct bars *bars,
                        struct ss_fit_point *out) {
  const struct ss_incidence *all = &w->window[0];
  const double table = (double)t->tensor.rows, ranks = out->ranks;
  if (!t->fitted) {
    out->nnz = out->rows = out->gamma = exactly(NAN);
    return;
  }
  const double times = log(ranks / all->ranks), nnz = bars->nnz * times / bars->nnz_stretch,
               gamma = bars->gamma * times / bars->gamma_stretch;
  const double rows = fmin(all->rows + ss_popularity_more(&w->all, all->ranks, ranks), table);
  out->nnz = between(all->nnz, nnz, 0, table);
  out->rows = between(rows, hypot(nnz, gamma), all->rows, table);
  out->gamma = between(all->gamma * rows / all->rows, gamma, 1, ranks);
}

/* --- one tensor ------------------------------------------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b) {
  const struct ss_fit_point *x = a, *y = b;
  return x->ranks < y->ranks ? -1 : x->ranks > y->ranks;
}

/* Targets in order, each once. */
static bool make_points(const struct ss_fit_options *options, struct ss_arena *arena, struct ss_tensor_fit *t) {
  if (!ss_take_zero(arena, t->point, options->targets)) return false;
  for (size_t i = 0; i < options->targets; i++) t->point[i].ranks = options->target[i];
  qsort(t->point, options->targets, sizeof *t->point, compare_ranks);
  for (size_t i = 0; i < options->targets; i++)
    if (i == 0 || t->point[i].ranks != t->point[t->points - 1].ranks) t->point[t->points++] = t->point[i];
  return true;
}

static bool make_windows(struct work *w, struct ss_arena *arena, struct ss_tensor_fit *t) {
  const uint32_t ranks = w->fit->ranks;
  t->held_out = ranks / PARTS > 2 ? ranks / PARTS : 2;
  w->parts = ranks / t->held_out;
  if (!ss_take_zero(arena, w->window, 1 + PARTS + w->parts + t->points) ||
      !ss_take_zero(arena, t->backtest, w->parts))
    return false;
  w->window[w->windows++] = (struct ss_incidence){.ranks = ranks};
  for (uint32_t i = 0; i < PARTS; i++)
    w->window[w->windows++] = (struct ss_incidence){.first = i * (ranks / PARTS), .ranks = ranks / PARTS};
  for (uint32_t i = 0; i < w->parts; i++)
    w->window[w->windows++] = (struct ss_incidence){.first = i * t->held_out, .ranks = t->held_out};
  for (size_t i = 0; i < t->points && t->point[i].ranks <= ranks; i++)
    w->window[w->windows++] = (struct ss_incidence){.ranks = t->point[i].ranks};
  return true;
}

static bool fit_windows(struct work *w, struct ss_tensor_fit *t) {
  const uint64_t iterations = w->fit->end - w->fit->first;
  t->fitted = w->window[0].rows > 0;
  if (!t->fitted) return true;
  if (!ss_popularity_fit(&w->window[0], iterations, NULL, &w->all)) return false;
  t->a = w->all.a;
  t->b = w->all.b;
  t->phi = w->all.phi;
  t->misfit = log(ss_popularity_more(&w->all, 0, w->fit->ranks) / w->window[0].rows);
  for (size_t i = 0; i < w->parts; i++)
    if (!backtest(w, &w->window[1 + PARTS + i], &t->backtest[t->backtests++])) return false;
  return true;
}

static bool fit_tensor(const struct ss_trace *trace, const struct ss_fit_options *options, struct ss_fit *fit,
                       size_t tensor, struct ss_tensor_fit *t) {
  struct work w = {.trace = trace, .fit = fit, .tensor = tensor};
  t->tensor = *ss_trace_tensor(trace, tensor);
  bool good = make_points(options, &fit->arena, t) && make_windows(&w, &fit->arena, t) &&
              ss_incidence_count(trace, tensor, fit->first, fit->end, w.window, w.windows) && fit_windows(&w, t);
  if (good) {
    const struct bars bars = make_bars(&w, t);
    for (size_t i = 0; i < t->points; i++)
      if (t->point[i].ranks <= fit->ranks) measure(&w.window[1 + PARTS + w.parts + i], &t->point[i]);
      else extrapolate(&w, t, &bars, &t->point[i]);
  }
  ss_incidence_free(w.window, w.windows);
  ss_watcher_advance(options->watcher, 1, 1, (double)ss_trace_tensors(trace));
  return good;
}

/* --- the whole -------------------------------------------------------------------------------------------- */

static bool check_options(const struct ss_trace *trace, const struct ss_fit_options *options, struct ss_fit *fit,
                          struct ss_error *error) {
  fit->first = options->first;
  fit->end = options->end;
  fit->ranks = options->ranks;
  if (!ss_trace_window(trace, fit->first, &fit->end, &fit->ranks, error)) return false;
  if (fit->ranks < SS_FIT_RANKS_MIN)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: %" PRIu32 " ranks are too few to tell how wrong an estimate may be (at least %d)",
                   ss_trace_name(trace), fit->ranks, SS_FIT_RANKS_MIN);
  if (fit->ranks > SS_FIT_RANKS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: %" PRIu32 " ranks take too long to fit (--from %d uses the first %d)",
                   ss_trace_name(trace), fit->ranks, SS_FIT_RANKS_MAX, SS_FIT_RANKS_MAX);
  return true;
}

bool ss_trace_fit(const struct ss_trace *trace, const struct ss_fit_options *options, struct ss_fit **out,
                  struct ss_error *error) {
  struct ss_fit *fit = ss_alloc_zero(1, sizeof *fit);
  if (!fit) return ss_fail_memory(error, "fitting a trace");
  if (!check_options(trace, options, fit, error)) {
    ss_fit_free(fit);
    return false;
  }
  fit->tensor = ss_arena_zero(&fit->arena, ss_trace_tensors(trace), sizeof *fit->tensor);
  bool good = fit->tensor != NULL;
  ss_watcher_begin(options->watcher, "tensors", ss_trace_tensors(trace));
  for (size_t i = 0; good && i < ss_trace_tensors(trace); i++)
    good = fit_tensor(trace, options, fit, i, &fit->tensor[fit->tensors++]);
  ss_watcher_end(options->watcher);
  if (good) {
    *out = fit;
    return true;
  }
  ss_fit_free(fit);
  return ss_fail_memory(error, "fitting a trace");
}

void ss_fit_free(struct ss_fit *fit) {
  if (!fit) return;
  ss_arena_free(&fit->arena);
  free(fit);
}
/* SPDX-License-Identifier: Apache-2.0 */
