#include "calibration/inference.h"

#include "base/gsl.h"

#include <gsl/gsl_linalg.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>

enum { STEPS = 40, STEPS_AGAIN = 6, DAMPINGS = 3 }; /* again: from where a fit to nearly the same ended */
static const double DEVIATION = 0.1, LEAST_DEVIATION = 0.005, MOST_DEVIATION = 0.2, BEYOND = 2, ENOUGH = 1e-5,
                    STEP = 0.02, NINETY = 1.645, LEAST = 0.1;

/* One point, y [unknowns] being what is fitted, with all derivatives. */
struct state {
  const struct ss_inference_problem *p;
  size_t n, used;
  double y[SS_INFERRED_MOST];
  double *x, *out;        /* [1 + most sets] choices, and what is predicted for them */
  double *residual;       /* [numbers]; of those that are not used 0 */
  double *weight, *slope; /* [numbers], [numbers][n] */
  double cost, deviation;
  gsl_matrix *normal, *factor;
  gsl_vector *right, *step;
};

static double value_of(const struct ss_inference_unknown *u, double y) {
  return u->logarithm ? exp(y) : y;
}

void ss_inference_begin(const struct ss_inference_problem *p, struct ss_inference *out) {
  *out = (struct ss_inference){.fitted = 0};
  for (size_t k = 0; k < p->unknowns; k++) out->x[k] = value_of(&p->unknown[k], p->unknown[k].usual);
}

void ss_inference_free(struct ss_inference *inference) {
  free(inference->predicted);
  inference->predicted = NULL;
}

static bool used(const struct ss_inference_problem *p, size_t i) {
  return !p->use || p->use[i];
}

static void set_choice(const struct state *s, size_t set, const double *y) {
  for (size_t k = 0; k < s->n; k++) s->x[set * s->n + k] = value_of(&s->p->unknown[k], y[k]);
}

/* Huber's weight of a residual, and what it costs. */
static double weigh(double residual, double deviation, double *cost) {
  const double size = fabs(residual) / deviation;
  *cost += size <= BEYOND ? size * size : BEYOND * (2 * size - BEYOND);
  return size <= BEYOND ? 1 : BEYOND / size;
}

/* Residuals of that set, and what it costs with its priors. */
static double cost_of(const struct state *s, size_t set, const double *y, double *residual, double *weight) {
  const double *out = s->out + set * s->p->numbers;
  double cost = 0;
  for (size_t i = 0; i < s->p->numbers; i++) {
    const double r = used(s->p, i) ? log(out[i] / s->p->measured[i]) : 0;
    if (!isfinite(r)) return INFINITY;
    const double w = weigh(r, s->deviation, &cost);
    if (residual) residual[i] = r, weight[i] = w;
  }
  for (size_t k = 0; k < s->n; k++) {
    const double off = (y[k] - s->p->unknown[k].usual) / s->p->unknown[k].spread;
    cost += off * off;
  }
  return cost;
}

/* Away from the nearer bound. */
static double step_of(const struct ss_inference_unknown *u, double y) {
  const double step = STEP * u->spread;
  return y + step > u->high ? -step : step;
}

/* Residuals and slopes at s->y. */
static bool look(struct state *s, struct ss_error *error) {
  const size_t n = s->n, numbers = s->p->numbers;
  double y[SS_INFERRED_MOST];
  set_choice(s, 0, s->y);
  for (size_t k = 0; k < n; k++) {
    memcpy(y, s->y, sizeof y);
    y[k] += step_of(&s->p->unknown[k], y[k]);
    set_choice(s, k + 1, y);
  }
  if (!s->p->predict(s->p->context, s->x, n + 1, s->out, error)) return false;
  s->cost = cost_of(s, 0, s->y, s->residual, s->weight);
  if (!isfinite(s->cost)) return ss_fail(error, SS_BAD_INPUT, "a number that was measured is predicted as 0");
  for (size_t i = 0; i < numbers; i++)
    for (size_t k = 0; k < n; k++) {
      const double by = log(s->out[(k + 1) * numbers + i] / s->out[i]);
      s->slope[i * n + k] = used(s->p, i) && isfinite(by) ? by / step_of(&s->p->unknown[k], s->y[k]) : 0;
    }
  return true;
}

/* Is it held at a bound, with all pulling it beyond? */
static bool held(const struct state *s, size_t k, double pull) {
  const struct ss_inference_unknown *u = &s->p->unknown[k];
  return (s->y[k] <= u->low && pull <= 0) || (s->y[k] >= u->high && pull >= 0);
}

/* normal = slopes' weighted squares and priors; right = what pulls at each unknown. `hold`: bounds hold them. */
static void set_up(struct state *s, bool hold) {
  const size_t n = s->n;
  const double of_all = 1 / (s->deviation * s->deviation);
  gsl_matrix_set_zero(s->normal);
  for (size_t k = 0; k < n; k++) {
    const struct ss_inference_unknown *u = &s->p->unknown[k];
    double pull = (u->usual - s->y[k]) / (u->spread * u->spread);
    for (size_t i = 0; i < s->p->numbers; i++) {
      const double w = s->weight[i] * of_all * s->slope[i * n + k];
      pull -= w * s->residual[i];
      for (size_t l = 0; l < n; l++) *gsl_matrix_ptr(s->normal, k, l) += w * s->slope[i * n + l];
    }
    *gsl_matrix_ptr(s->normal, k, k) += 1 / (u->spread * u->spread);
    gsl_vector_set(s->right, k, pull);
  }
  for (size_t k = 0; hold && k < n; k++) {
    if (!held(s, k, gsl_vector_get(s->right, k))) continue;
    for (size_t l = 0; l < n; l++) gsl_matrix_set(s->normal, k, l, 0), gsl_matrix_set(s->normal, l, k, 0);
    gsl_matrix_set(s->normal, k, k, 1);
    gsl_vector_set(s->right, k, 0);
  }
}

/* The step with so much damping, into y. */
static bool solve(struct state *s, double damping, double *y) {
  gsl_matrix_memcpy(s->factor, s->normal);
  for (size_t k = 0; k < s->n; k++) *gsl_matrix_ptr(s->factor, k, k) *= 1 + damping;
  if (gsl_linalg_cholesky_decomp1(s->factor) != GSL_SUCCESS ||
      gsl_linalg_cholesky_solve(s->factor, s->right, s->step) != GSL_SUCCESS)
    return false;
  for (size_t k = 0; k < s->n; k++)
    y[k] = fmin(fmax(s->y[k] + gsl_vector_get(s->step, k), s->p->unknown[k].low), s->p->unknown[k].high);
  return true;
}

/* Steps with several dampings at once, of which the best is taken. *better: one was. */
static bool advance(struct state *s, double *damping, bool *better, struct ss_error *error) {
  double y[DAMPINGS][SS_INFERRED_MOST], tried[DAMPINGS], least = s->cost;
  size_t best = DAMPINGS;
  set_up(s, true);
  for (size_t d = 0; d < DAMPINGS; d++) {
    tried[d] = *damping * pow(100, (double)d - 1);
    if (!solve(s, tried[d], y[d])) memcpy(y[d], s->y, sizeof y[d]);
    set_choice(s, d, y[d]);
  }
  if (!s->p->predict(s->p->context, s->x, DAMPINGS, s->out, error)) return false;
  for (size_t d = 0; d < DAMPINGS; d++) {
    const double cost = cost_of(s, d, y[d], NULL, NULL);
    if (cost < least) least = cost, best = d;
  }
  *better = best < DAMPINGS && s->cost - least > ENOUGH * (1 + s->cost);
  if (best == DAMPINGS) return true;
  memcpy(s->y, y[best], sizeof s->y);
  *damping = fmin(fmax(tried[best], 1e-8), 1e6);
  return true;
}

/* --- ranges -------------------------------------------------------------------------------------------------- */

/* How far each unknown moves when a number is left out, into moved [n], and that number's residual then. */
static double leave_out(struct state *s, size_t i, double *moved) {
  const double of_all = s->weight[i] / (s->deviation * s->deviation);
  double leverage = 0;
  gsl_vector_const_view slope = gsl_vector_const_view_array(s->slope + i * s->n, s->n);
  gsl_linalg_cholesky_solve(s->factor, &slope.vector, s->step);
  for (size_t k = 0; k < s->n; k++) leverage += of_all * s->slope[i * s->n + k] * gsl_vector_get(s->step, k);
  const double residual = s->residual[i] / fmax(1 - leverage, LEAST);
  for (size_t k = 0; k < s->n; k++) moved[k] = of_all * residual * gsl_vector_get(s->step, k);
  return residual;
}

static void find_ranges(struct state *s, struct ss_inference *out, double *errors) {
  double moved[SS_INFERRED_MOST], sum[SS_INFERRED_MOST] = {0}, squares[SS_INFERRED_MOST] = {0}, all = 0;
  size_t count = 0;
  const double numbers = (double)s->used;
  set_up(s, false);
  gsl_matrix_memcpy(s->factor, s->normal);
  if (gsl_linalg_cholesky_decomp1(s->factor) != GSL_SUCCESS) return;
  for (size_t i = 0; i < s->p->numbers; i++) {
    if (!used(s->p, i)) continue;
    const double residual = leave_out(s, i, moved);
    errors[count++] = fabs(residual);
    all += s->residual[i] * s->residual[i];
    for (size_t k = 0; k < s->n; k++) sum[k] += moved[k], squares[k] += moved[k] * moved[k];
  }
  const double excess = fmax(1, all / fmax(1, numbers - (double)s->n) / (s->deviation * s->deviation));
  for (size_t k = 0; k < s->n; k++) {
    gsl_vector_set_basis(s->right, k);
    gsl_linalg_cholesky_solve(s->factor, s->right, s->step);
    const double open = excess * gsl_vector_get(s->step, k);
    const double jackknife = (numbers - 1) / numbers * (squares[k] - sum[k] * sum[k] / numbers);
    const double wide = NINETY * sqrt(fmax(open, jackknife));
    const struct ss_inference_unknown *u = &s->p->unknown[k];
    out->low[k] = value_of(u, fmax(s->y[k] - wide, u->low));
    out->high[k] = value_of(u, fmin(s->y[k] + wide, u->high));
  }
  gsl_sort(errors, 1, count);
  out->half = count ? exp(gsl_stats_median_from_sorted_data(errors, 1, count)) : NAN;
  out->most = count ? exp(gsl_stats_quantile_from_sorted_data(errors, 1, count, 0.9)) : NAN;
}

/* --- all of it ------------------------------------------------------------------------------------------------- */

static bool open_state(const struct ss_inference_problem *p, const struct ss_inference *from, struct ss_arena *arena,
                       struct state *s) {
  const size_t n = p->unknowns, sets = n + 1 > DAMPINGS ? n + 1 : DAMPINGS;
  *s = (struct state){.p = p, .n = n, .deviation = DEVIATION};
  for (size_t i = 0; i < p->numbers; i++) s->used += used(p, i);
  for (size_t k = 0; k < n; k++) {
    const struct ss_inference_unknown *u = &p->unknown[k];
    s->y[k] = fmin(fmax(u->logarithm ? log(from->x[k]) : from->x[k], u->low), u->high);
  }
  s->normal = gsl_matrix_alloc(n, n), s->factor = gsl_matrix_alloc(n, n);
  s->right = gsl_vector_alloc(n), s->step = gsl_vector_alloc(n);
  return s->normal && s->factor && s->right && s->step && ss_take(arena, s->x, sets * n) &&
         ss_take(arena, s->out, sets * p->numbers) && ss_take_zero(arena, s->residual, p->numbers) &&
         ss_take_zero(arena, s->weight, p->numbers) && ss_take_zero(arena, s->slope, p->numbers * n);
}

static void close_state(struct state *s) {
  gsl_matrix_free(s->normal);
  gsl_matrix_free(s->factor);
  gsl_vector_free(s->right);
  gsl_vector_free(s->step);
}

static bool fit(struct state *s, int steps, struct ss_error *error) {
  double damping = 0.01;
  bool better = true;
  for (int i = 0; i < steps && better; i++)
    if (!look(s, error) || !advance(s, &damping, &better, error)) return false;
  return look(s, error);
}

/* The deviation of what is left. `sizes`: scratch. */
static void find_deviation(struct state *s, double *sizes) {
  size_t count = 0;
  for (size_t i = 0; i < s->p->numbers; i++)
    if (used(s->p, i)) sizes[count++] = fabs(s->residual[i]);
  if (count <= s->n) return;
  gsl_sort(sizes, 1, count);
  const double median = gsl_stats_median_from_sorted_data(sizes, 1, count);
  const double found = 1.4826 * median * sqrt((double)count / (double)(count - s->n));
  s->deviation = fmin(fmax(found, LEAST_DEVIATION), MOST_DEVIATION);
}

/* With the deviation that is known, or else twice: the second time with that of what the first one leaves. */
static bool fit_all(struct state *s, double known, double *sizes, struct ss_error *error) {
  if (known > 0) s->deviation = known;
  if (!fit(s, known > 0 ? STEPS_AGAIN : STEPS, error)) return false;
  if (known > 0) return true;
  find_deviation(s, sizes);
  return fit(s, STEPS, error);
}

bool ss_infer(const struct ss_inference_problem *p, struct ss_inference *out, struct ss_error *error) {
  SS_AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct state s;
  double *errors = NULL;
  ss_gsl_errors_off();
  bool ok = (open_state(p, out, &arena, &s) && ss_take(&arena, errors, p->numbers)) ||
            ss_fail_memory(error, "fitting trainings");
  out->predicted = ok ? ss_alloc(p->numbers, sizeof *out->predicted) : NULL;
  ok = ok && (out->predicted || ss_fail_memory(error, "fitting trainings")) &&
       fit_all(&s, out->deviation, errors, error);
  if (ok) {
    memcpy(out->predicted, s.out, p->numbers * sizeof *s.out);
    for (size_t k = 0; k < s.n; k++) out->x[k] = value_of(&p->unknown[k], s.y[k]);
    out->fitted = s.used;
    out->deviation = s.deviation;
    find_ranges(&s, out, errors);
  }
  close_state(&s);
  ss_gsl_errors_back();
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
