#include "cost/fit_link.h"

#include "base/memory.h"

#include <assert.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* PASSES: residuals are relative to what was measured at first, then to what the pass before made of it, so that a
 * time that is far off does not weigh by being so. */
enum { PASSES = 4, SPLITS = 32, PARAMETERS_MAX = 2 };
static const double FAR = 6, CAP = 4, DECISIVE = 10, RESOLUTION = 1e-4, NORMAL = 0.6745;

struct capacity {
  struct ss_link_sample *samples;
  size_t count;
  double *residual;            /* [count] scratch */
  struct ss_link_sample *near; /* [count] scratch */
};

/* --- one segment ------------------------------------------------------------------------------------------ */

struct workspace {
  gsl_multifit_robust_workspace *robust;
  gsl_matrix *x, *covariance;
  gsl_vector *y, *c;
};

static void close_workspace(struct workspace *w) {
  if (w->robust) gsl_multifit_robust_free(w->robust);
  if (w->x) gsl_matrix_free(w->x);
  if (w->covariance) gsl_matrix_free(w->covariance);
  if (w->y) gsl_vector_free(w->y);
  if (w->c) gsl_vector_free(w->c);
}

static bool open_workspace(struct workspace *w, const gsl_multifit_robust_type *type, size_t n, size_t parameters) {
  *w = (struct workspace){.robust = gsl_multifit_robust_alloc(type, n, parameters),
                          .x = gsl_matrix_alloc(n, parameters),
                          .covariance = gsl_matrix_alloc(parameters, parameters),
                          .y = gsl_vector_alloc(n),
                          .c = gsl_vector_alloc(parameters)};
  if (w->robust && w->x && w->covariance && w->y && w->c) return true;
  close_workspace(w);
  return false;
}

static double predicted(const struct ss_link_sample *s, const struct ss_link_piece *p) {
  return s->starts * p->alpha + s->bytes * p->beta;
}

/* Rows are divided by `against` the times, columns by their largest element. `parameters` is 1 without an alpha. */
static void fill(struct workspace *w, const struct ss_link_sample *s, size_t n, size_t parameters,
                 const struct ss_link_piece *before, double *scale) {
  assert(parameters <= PARAMETERS_MAX);
  scale[0] = scale[1] = 0;
  for (size_t i = 0; i < n; i++) {
    const double by = before ? predicted(&s[i], before) : s[i].seconds;
    const double against = by > 0 ? by : s[i].seconds;
    const double column[] = {s[i].bytes / against, s[i].starts / against};
    gsl_vector_set(w->y, i, s[i].seconds / against);
    for (size_t k = 0; k < parameters; k++) {
      gsl_matrix_set(w->x, i, k, column[k]);
      scale[k] = fmax(scale[k], column[k]);
    }
  }
  for (size_t k = 0; k < parameters; k++)
    for (size_t i = 0; scale[k] > 0 && i < n; i++) gsl_matrix_set(w->x, i, k, gsl_matrix_get(w->x, i, k) / scale[k]);
}

static bool solve(struct workspace *w, const struct ss_link_sample *s, size_t n, size_t parameters,
                  struct ss_link_piece *p) {
  double scale[PARAMETERS_MAX] = {0};
  for (int pass = 0; pass < PASSES; pass++) {
    fill(w, s, n, parameters, pass > 0 ? p : NULL, scale);
    if (!(scale[0] > 0) || (parameters == 2 && !(scale[1] > 0))) return false;
    const int status = gsl_multifit_robust(w->x, w->y, w->c, w->covariance, w->robust);
    if (status != GSL_SUCCESS && status != GSL_EMAXITER) return false;
    p->beta = gsl_vector_get(w->c, 0) / scale[0];
    /* GSL's covariance takes a sigma that outliers enlarge, so that nobody trusts a fit with many of them: here they
     * are told apart, and the error is that of the rest. */
    const gsl_multifit_robust_stats stats = gsl_multifit_robust_statistics(w->robust);
    const double rest = stats.sigma > 0 ? stats.sigma_rob / stats.sigma : 1;
    p->beta_error = rest * sqrt(gsl_matrix_get(w->covariance, 0, 0)) / scale[0];
    p->alpha = parameters == 2 ? gsl_vector_get(w->c, 1) / scale[1] : 0;
    p->alpha_error = parameters == 2 ? rest * sqrt(gsl_matrix_get(w->covariance, 1, 1)) / scale[1] : 0;
    if (!isfinite(p->alpha) || !isfinite(p->beta)) return false;
  }
  return true;
}

static bool robust(const gsl_multifit_robust_type *type, const struct ss_link_sample *s, size_t n, size_t parameters,
                   struct ss_link_piece *p, double *weights) {
  struct workspace w;
  if (n <= parameters + 1 || !open_workspace(&w, type, n, parameters)) return false;
  const bool ok = solve(&w, s, n, parameters, p);
  const gsl_multifit_robust_stats stats = gsl_multifit_robust_statistics(w.robust);
  for (size_t i = 0; ok && i < n; i++) weights[i] = gsl_vector_get(stats.weights, i);
  close_workspace(&w);
  return ok;
}

static double residual(const struct ss_link_sample *s, const struct ss_link_piece *p) {
  return fabs(s->seconds / predicted(s, p) - 1);
}

/* What is left over, of the samples that were given weight. `weights` is overwritten. */
static void sum_up(const struct ss_link_sample *s, size_t n, struct ss_link_piece *p, double *weights) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (weights[i] > 0) weights[kept++] = residual(&s[i], p);
  gsl_sort(weights, 1, kept);
  p->outliers = p->samples - kept;
  p->typical = kept ? gsl_stats_median_from_sorted_data(weights, 1, kept) : 0;
  p->worst = kept ? weights[kept - 1] : 0;
}

/* The samples that are not very far from the line, into room->near; returns how many. */
static size_t keep_near(const struct capacity *capacity, const struct ss_link_sample *s, size_t n,
                        const struct ss_link_piece *p) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) capacity->residual[i] = residual(&s[i], p);
  gsl_sort(capacity->residual, 1, n);
  const double far = fmax(FAR * capacity->residual[n / 2] / NORMAL, RESOLUTION);
  for (size_t i = 0; i < n; i++)
    if (residual(&s[i], p) <= far) capacity->near[kept++] = s[i];
  return kept;
}

/* With an alpha, or without where it would be below 0. The bisquare forgets what is far, and so may settle on any few
 * samples: it starts from what Huber's, which has one solution, leaves near. */
static bool fit_line(const struct capacity *capacity, const struct ss_link_sample *s, size_t n, size_t parameters,
                     struct ss_link_piece *p) {
  if (!robust(gsl_multifit_robust_huber, s, n, parameters, p, capacity->residual)) return false;
  const size_t kept = keep_near(capacity, s, n, p);
  if (!robust(gsl_multifit_robust_bisquare, capacity->near, kept, parameters, p, capacity->residual)) return false;
  p->samples = n;
  p->low = s[0].message;
  p->high = s[n - 1].message;
  p->no_alpha = parameters == 1;
  sum_up(capacity->near, kept, p, capacity->residual);
  return p->beta > 0;
}

/* False where no line with alpha >= 0 and beta > 0 is near. Samples are in order. */
static bool fit_piece(const struct capacity *capacity, size_t first, size_t end, struct ss_link_piece *p) {
  const struct ss_link_sample *s = capacity->samples + first;
  *p = (struct ss_link_piece){0};
  const bool ok = fit_line(capacity, s, end - first, 2, p);
  return p->alpha < 0 ? fit_line(capacity, s, end - first, 1, p) : ok;
}

/* --- one segment or two ----------------------------------------------------------------------------------- */

/* Mean distance from the pieces, of which the second begins at `split`; `cap` bounds the single ones. */
static double distance(const struct capacity *capacity, const struct ss_link_piece *piece, size_t split, double cap) {
  double sum = 0;
  for (size_t i = 0; i < capacity->count; i++)
    sum += fmin(residual(&capacity->samples[i], &piece[i >= split]), cap) / (double)capacity->count;
  return fmax(sum, RESOLUTION);
}

static double criterion(const struct capacity *capacity, const struct ss_link_piece *piece, size_t split,
                        double cap) {
  const double n = (double)capacity->count, parameters = split < capacity->count ? 6 : 3;
  return 2 * n * log(distance(capacity, piece, split, cap)) + parameters * log(n);
}

static double median_distance(const struct capacity *capacity, const struct ss_link_piece *piece) {
  for (size_t i = 0; i < capacity->count; i++) capacity->residual[i] = residual(&capacity->samples[i], piece);
  gsl_sort(capacity->residual, 1, capacity->count);
  return capacity->residual[capacity->count / 2];
}

/* Where message size number `nth` begins; sizes are counted from 0. */
static size_t begin_of(const struct capacity *capacity, size_t nth) {
  size_t i = 0;
  for (size_t seen = 0; i < capacity->count; i++)
    if (i > 0 && capacity->samples[i].message > capacity->samples[i - 1].message && ++seen == nth) break;
  return nth > 0 ? i : 0;
}

static size_t count_sizes(const struct capacity *capacity) {
  size_t sizes = capacity->count > 0;
  for (size_t i = 1; i < capacity->count; i++)
    sizes += capacity->samples[i].message > capacity->samples[i - 1].message;
  return sizes;
}

static void try_two(const struct capacity *capacity, size_t sizes, struct ss_link_fit *fit) {
  const double cap = fmax(CAP * median_distance(capacity, fit->piece), RESOLUTION);
  const double one = criterion(capacity, fit->piece, capacity->count, cap);
  const size_t choices = sizes + 1 - 2 * (size_t)SS_LINK_SEGMENT, step = 1 + (choices - 1) / SPLITS;
  struct ss_link_piece best[2] = {0};
  for (size_t c = 0; c < choices; c += step) {
    struct ss_link_piece piece[2];
    const size_t split = begin_of(capacity, SS_LINK_SEGMENT + c);
    if (!fit_piece(capacity, 0, split, &piece[0]) || !fit_piece(capacity, split, capacity->count, &piece[1]))
      continue;
    const double evidence = one - criterion(capacity, piece, split, cap);
    if (evidence <= fit->evidence) continue;
    fit->evidence = evidence;
    best[0] = piece[0];
    best[1] = piece[1];
  }
  if (fit->evidence <= DECISIVE) return;
  fit->pieces = 2;
  fit->piece[0] = best[0];
  fit->piece[1] = best[1];
}

static int by_message(const void *a, const void *b) {
  const struct ss_link_sample *x = a, *y = b;
  if (x->message != y->message) return x->message > y->message ? 1 : -1;
  return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

static bool fit_sorted(const struct capacity *capacity, bool split, struct ss_link_fit *out, struct ss_error *error) {
  const size_t sizes = count_sizes(capacity);
  *out = (struct ss_link_fit){.pieces = 1, .evidence = -INFINITY};
  if (sizes < SS_LINK_SIZES || capacity->count < SS_LINK_SEGMENT)
    return ss_fail(error, SS_BAD_INPUT, "%zu times of %zu sizes are too few to fit (at least %d of %d)",
                   capacity->count, sizes, SS_LINK_SEGMENT, SS_LINK_SIZES);
  if (!fit_piece(capacity, 0, capacity->count, out->piece))
    return ss_fail(error, SS_BAD_INPUT, "times do not grow with sizes from %.0f to %.0f B: measure larger ones",
                   capacity->samples[0].message, capacity->samples[capacity->count - 1].message);
  if (split && sizes >= 2 * (size_t)SS_LINK_SEGMENT) try_two(capacity, sizes, out);
  const struct ss_link_piece *last = &out->piece[out->pieces - 1];
  if (last->beta_error <= last->beta / 2) return true;
  return ss_fail(error, SS_BAD_INPUT,
                 "with sizes from %.0f to %.0f B the time a byte takes is lost in noise (%.2g +- %.2g s): measure "
                 "larger ones",
                 last->low, last->high, last->beta, last->beta_error);
}

static bool fit(struct ss_link_sample *samples, size_t count, bool split, struct ss_link_fit *out,
                struct ss_error *error) {
  if (count > SS_LINK_SAMPLES)
    return ss_fail(error, SS_BAD_INPUT, "%zu times are too many to fit (at most %d)", count, SS_LINK_SAMPLES);
  SS_AUTO_FREE double *residuals = ss_alloc(count, sizeof *residuals);
  SS_AUTO_FREE struct ss_link_sample *near = ss_alloc(count, sizeof *near);
  if (!residuals || !near) return ss_fail_memory(error, "fitting times");
  const struct capacity capacity = {samples, count, residuals, near};
  qsort(samples, count, sizeof *samples, by_message);
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  const bool ok = fit_sorted(&capacity, split, out, error);
  gsl_set_error_handler(handler);
  return ok;
}

bool ss_link_fit(struct ss_link_sample *samples, size_t count, struct ss_link_fit *out, struct ss_error *error) {
  return fit(samples, count, true, out, error);
}

bool ss_line_fit(struct ss_link_sample *samples, size_t count, struct ss_link_piece *out, struct ss_error *error) {
  struct ss_link_fit whole;
  if (!fit(samples, count, false, &whole, error)) return false;
  *out = whole.piece[0];
  return true;
}
