#include "calibration/robust.h"

#include "base/gsl.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>

/* LONG, SHORT: most times that weights are found anew. RIDGE: keeps what cannot be told apart solvable. */
/* BEGIN: the deviation of times before it is known. */
/* ORDER_STEPS: most times that orders are found to hold or not. PENALTY: of a broken one, where the diagonal is 1. */
enum { LONG = 40, SHORT = 8, ORDER_STEPS = 12, LINE_SIZES = 3, LINE_SAMPLES = 4 };
static const double FAR = 6, RESOLUTION = 1e-4, NORMAL = 0.6745, RIDGE = 1e-10, SETTLED = 1e-7, PENALTY = 1e6,
                    BEGIN = 0.1;

double ss_times_predict(const struct ss_times *t, size_t i, const struct ss_robust_cost *cost) {
  double sum = 0;
  for (size_t k = 0; k < t->costs; k++) sum += t->per[i * t->costs + k] * cost[k].value;
  return sum;
}

/* --- least squares with x >= 0 ------------------------------------------------------------------------------- */

/* Normal equations of the rows that count: a x = b, of which only some unknowns are free; the others are 0. */
struct normal {
  size_t n;
  double *a, *b, *x, *scale; /* [n * n], [n] each */
  double *to;                /* [n] scratch */
  bool *free;
  gsl_matrix *part; /* [n * n] scratch */
  gsl_vector *right;
};

static void close_normal(struct normal *m) {
  if (m->part) gsl_matrix_free(m->part);
  if (m->right) gsl_vector_free(m->right);
}

static bool open_normal(struct normal *m, size_t n, struct ss_arena *arena) {
  *m = (struct normal){.n = n, .part = gsl_matrix_alloc(n, n), .right = gsl_vector_alloc(n)};
  return m->part && m->right && ss_take(arena, m->a, n * n) && ss_take(arena, m->b, n) && ss_take(arena, m->x, n) &&
         ss_take(arena, m->scale, n) && ss_take(arena, m->to, n) && ss_take(arena, m->free, n);
}

/* The free unknowns' part of `a`, decomposed, into m->part; how many they are. 0: there are none, or it is singular.
 */
static size_t decompose(struct normal *m) {
  size_t rows = 0;
  for (size_t i = 0; i < m->n; i++) {
    if (!m->free[i]) continue;
    size_t columns = 0;
    for (size_t k = 0; k < m->n; k++)
      if (m->free[k]) gsl_matrix_set(m->part, rows, columns++, m->a[i * m->n + k]);
    rows++;
  }
  if (rows == 0) return 0;
  gsl_matrix_view part = gsl_matrix_submatrix(m->part, 0, 0, rows, rows);
  return gsl_linalg_cholesky_decomp1(&part.matrix) == GSL_SUCCESS ? rows : 0;
}

/* Solves for the free unknowns, into m->to. */
static bool solve_free(struct normal *m) {
  const size_t rows = decompose(m);
  size_t row = 0;
  if (rows == 0) return false;
  for (size_t i = 0; i < m->n; i++)
    if (m->free[i]) gsl_vector_set(m->right, row++, m->b[i]);
  gsl_matrix_view part = gsl_matrix_submatrix(m->part, 0, 0, rows, rows);
  gsl_vector_view right = gsl_vector_subvector(m->right, 0, rows);
  if (gsl_linalg_cholesky_svx(&part.matrix, &right.vector) != GSL_SUCCESS) return false;
  row = 0;
  for (size_t i = 0; i < m->n; i++) m->to[i] = m->free[i] ? gsl_vector_get(m->right, row++) : 0;
  return true;
}

/* The unknown that is held at 0 and most wants to rise; SIZE_MAX: none does. */
static size_t most_wanted(const struct normal *m) {
  size_t best = SIZE_MAX;
  double most = 1e-9;
  for (size_t i = 0; i < m->n; i++) {
    if (m->free[i] || !(m->scale[i] > 0)) continue;
    double slope = m->b[i];
    for (size_t k = 0; k < m->n; k++) slope -= m->a[i * m->n + k] * m->x[k];
    if (slope > most) {
      most = slope;
      best = i;
    }
  }
  return best;
}

/* Goes from x towards m->to until an unknown would pass 0, which is then held; true: nothing would. */
static bool walk(struct normal *m) {
  const double *to = m->to;
  double far = 1;
  for (size_t i = 0; i < m->n; i++)
    if (m->free[i] && to[i] <= 0 && m->x[i] / (m->x[i] - to[i]) < far) far = m->x[i] / (m->x[i] - to[i]);
  for (size_t i = 0; i < m->n; i++) {
    if (!m->free[i]) continue;
    m->x[i] += far * (to[i] - m->x[i]);
    if (far < 1 && to[i] <= 0 && m->x[i] <= 1e-14) {
      m->x[i] = 0;
      m->free[i] = false;
    }
  }
  return far >= 1;
}

/* Lawson and Hanson, "Solving Least Squares Problems" (1974), chapter 23. */
static bool solve_positive(struct normal *m) {
  for (size_t i = 0; i < m->n; i++) {
    m->x[i] = 0;
    m->free[i] = false;
  }
  size_t next;
  for (size_t step = 0; step < 3 * m->n && (next = most_wanted(m)) != SIZE_MAX; step++) {
    m->free[next] = true;
    for (size_t tries = 0; tries <= m->n; tries++) {
      if (!solve_free(m)) return m->free[next] = false, step > 0;
      if (walk(m)) break;
    }
  }
  return true;
}

/* --- weights ------------------------------------------------------------------------------------------------ */

/* Of a residual of so many deviations. */
static double huber(double u) {
  return u <= 1.345 ? 1 : 1.345 / u;
}
static double bisquare(double u) {
  const double part = u / 4.685;
  return part < 1 ? (1 - part * part) * (1 - part * part) : 0;
}

/* What one fit of several needs. */
struct fitting {
  const struct ss_times *times;
  struct normal normal;
  struct ss_robust_cost *cost;
  double *weight, *relative, *scratch; /* [count] `relative`: what residuals are relative to */
  double *row;                         /* [costs] scratch: an order */
  bool *broken;                        /* [orders] would not hold without a penalty */
  double sigma;
};

/* A row like those of times, whose deviations are as many of its own as theirs are of sigma, and far ones count less.
 */
static void add_prior(struct fitting *f, const struct ss_cost_prior *p) {
  struct normal *m = &f->normal;
  const double of = f->cost[p->of].value, about = p->value * (p->like == SIZE_MAX ? 1 : f->cost[p->like].value);
  const double off = f->sigma / (p->spread * p->unit);
  const double w = off * off * (of > 0 && about > 0 ? huber(fabs(log(of / about)) / p->spread) : 1);
  m->a[p->of * m->n + p->of] += w;
  if (p->like == SIZE_MAX) {
    m->b[p->of] += w * p->value;
    return;
  }
  m->a[p->like * m->n + p->like] += w * p->value * p->value;
  m->a[(p->of > p->like ? p->of * m->n + p->like : p->like * m->n + p->of)] -= w * p->value;
}

/* Unknowns are in units in which the diagonal is 1. */
static void gather(struct fitting *f) {
  const struct ss_times *t = f->times;
  struct normal *m = &f->normal;
  memset(m->a, 0, m->n * m->n * sizeof *m->a);
  memset(m->b, 0, m->n * sizeof *m->b);
  for (size_t i = 0; i < t->count; i++) {
    const double w = f->weight[i] / (f->relative[i] * f->relative[i]), *per = &t->per[i * t->costs];
    if (!(w > 0)) continue;
    for (size_t k = 0; k < m->n; k++) {
      if (!(per[k] > 0)) continue;
      m->b[k] += w * per[k] * t->seconds[i];
      for (size_t l = 0; l <= k; l++) m->a[k * m->n + l] += w * per[k] * per[l];
    }
  }
  for (size_t i = 0; i < t->priors; i++) add_prior(f, &t->prior[i]);
  for (size_t k = 0; k < m->n; k++) m->scale[k] = sqrt(m->a[k * m->n + k]);
  for (size_t k = 0; k < m->n; k++) {
    m->b[k] /= m->scale[k] > 0 ? m->scale[k] : 1;
    for (size_t l = 0; l <= k; l++) {
      const double by = m->scale[k] * m->scale[l];
      m->a[k * m->n + l] /= by > 0 ? by : 1;
      m->a[l * m->n + k] = m->a[k * m->n + l];
    }
    m->a[k * m->n + k] *= 1 + RIDGE;
  }
}

/* An order in the units of the unknowns, its largest entry 1; into f->row. */
static void scale_order(struct fitting *f, size_t order) {
  const struct normal *m = &f->normal;
  double most = 0;
  for (size_t k = 0; k < m->n; k++) {
    f->row[k] = m->scale[k] > 0 ? f->times->order[order * m->n + k] / m->scale[k] : 0;
    most = fmax(most, fabs(f->row[k]));
  }
  for (size_t k = 0; k < m->n; k++) f->row[k] /= most > 0 ? most : 1;
}

static void add_penalties(struct fitting *f) {
  struct normal *m = &f->normal;
  for (size_t o = 0; o < f->times->orders; o++) {
    if (!f->broken[o]) continue;
    scale_order(f, o);
    for (size_t k = 0; k < m->n; k++)
      for (size_t l = 0; l < m->n; l++) m->a[k * m->n + l] += PENALTY * f->row[k] * f->row[l];
  }
}

/* Whether an order is found broken that held, or the other way. */
static bool find_broken(struct fitting *f) {
  const struct normal *m = &f->normal;
  bool changed = false;
  for (size_t o = 0; o < f->times->orders; o++) {
    double sum = 0;
    scale_order(f, o);
    for (size_t k = 0; k < m->n; k++) sum += f->row[k] * m->x[k];
    changed = changed || f->broken[o] != (sum < 0);
    f->broken[o] = sum < 0;
  }
  return changed;
}

/* A penalty pulls to one side: an order that holds with its penalty would hold without, and is let go. */
static bool solve_ordered(struct fitting *f) {
  for (int step = 0; step < ORDER_STEPS; step++) {
    gather(f);
    add_penalties(f);
    if (!solve_positive(&f->normal)) return false;
    if (!find_broken(f)) break;
  }
  return true;
}

static bool solve_once(struct fitting *f) {
  if (!solve_ordered(f)) return false;
  for (size_t k = 0; k < f->normal.n; k++) {
    f->cost[k].value = f->normal.scale[k] > 0 ? f->normal.x[k] / f->normal.scale[k] : 0;
    f->cost[k].absent = !(f->normal.scale[k] > 0);
    f->cost[k].held = !f->cost[k].absent && !f->normal.free[k];
  }
  return true;
}

static double residual(const struct ss_times *t, size_t i, const struct ss_robust_cost *cost) {
  const double predicted = ss_times_predict(t, i, cost);
  return predicted > 0 ? fabs(t->seconds[i] / predicted - 1) : 1 / RESOLUTION;
}

/* New residuals, their deviation, and what weights they deserve. */
static void weigh(struct fitting *f, double (*weigh_one)(double)) {
  const struct ss_times *t = f->times;
  size_t kept = 0;
  for (size_t i = 0; i < t->count; i++) f->scratch[kept++] = residual(t, i, f->cost);
  gsl_sort(f->scratch, 1, kept);
  f->sigma = fmax(kept > 0 ? f->scratch[kept / 2] / NORMAL : 0, RESOLUTION);
  for (size_t i = 0; i < t->count; i++) {
    const double predicted = ss_times_predict(t, i, f->cost);
    f->weight[i] = weigh_one(residual(t, i, f->cost) / f->sigma);
    if (predicted > 0) f->relative[i] = predicted;
  }
}

static bool iterate(struct fitting *f, double (*weigh_one)(double), int times) {
  for (int i = 0; i < times; i++) {
    const double before = ss_times_predict(f->times, 0, f->cost);
    weigh(f, weigh_one);
    if (!solve_once(f)) return false;
    if (fabs(ss_times_predict(f->times, 0, f->cost) / before - 1) < SETTLED && i > 2) break;
  }
  return true;
}

/* Standard errors: sigma^2 times the inverse of what was solved, without penalties: that orders hold is supposed, and
 * makes nothing better known. Those that are held have none. */
static bool add_errors(struct fitting *f) {
  struct normal *m = &f->normal;
  gather(f);
  const size_t rows = decompose(m);
  gsl_matrix_view part = gsl_matrix_submatrix(m->part, 0, 0, rows > 0 ? rows : 1, rows > 0 ? rows : 1);
  if (rows == 0 || gsl_linalg_cholesky_invert(&part.matrix) != GSL_SUCCESS) return false;
  size_t row = 0;
  for (size_t k = 0; k < m->n; k++) {
    f->cost[k].error = 0;
    if (!m->free[k]) continue;
    f->cost[k].error = f->sigma * sqrt(gsl_matrix_get(m->part, row, row)) / m->scale[k];
    row++;
  }
  return true;
}

static bool fit_all(struct fitting *f, bool whole) {
  const struct ss_times *t = f->times;
  for (size_t i = 0; i < t->count; i++) {
    f->relative[i] = t->seconds[i];
    f->weight[i] = 1;
  }
  f->sigma = BEGIN;
  if (!solve_once(f) || !iterate(f, huber, whole ? LONG : SHORT)) return false;
  if (!whole) return true;
  const double far = fmax(FAR * f->sigma, RESOLUTION);
  for (size_t i = 0; i < t->count; i++) f->weight[i] = residual(t, i, f->cost) <= far ? 1 : 0;
  return solve_once(f) && iterate(f, bisquare, LONG) && add_errors(f);
}

bool ss_robust_fit(const struct ss_times *times, struct ss_robust_cost *cost, double *weight,
                   struct ss_error *error) {
  struct ss_arena arena = {0};
  struct fitting f = {.times = times, .cost = cost};
  const size_t n = times->count;
  f.weight = weight;
  bool ok = open_normal(&f.normal, times->costs, &arena) && ss_take(&arena, f.relative, n) &&
            ss_take(&arena, f.scratch, n) && ss_take(&arena, f.row, times->costs) &&
            ss_take_zero(&arena, f.broken, times->orders) && (weight || ss_take(&arena, f.weight, n));
  if (ok) {
    memset(cost, 0, times->costs * sizeof *cost);
    ss_gsl_errors_off();
    ok = (n > 0 && fit_all(&f, weight != NULL)) ||
         ss_fail(error, SS_BAD_INPUT, "%zu times are too few, or too much alike, to fit %zu costs", n, times->costs);
    ss_gsl_errors_back();
  } else {
    (void)ss_fail_memory(error, "fitting times");
  }
  close_normal(&f.normal);
  ss_arena_free(&arena);
  return ok;
}

bool ss_residuals_of(const double *of, const double *weight, size_t count, struct ss_residuals *out) {
  SS_AUTO_FREE double *sorted = ss_alloc(count, sizeof *sorted);
  size_t kept = 0;
  *out = (struct ss_residuals){.samples = count};
  if (!sorted) return false;
  for (size_t i = 0; i < count; i++)
    if (weight[i] > 0) sorted[kept++] = of[i];
  gsl_sort(sorted, 1, kept);
  out->outliers = count - kept;
  out->typical = kept ? gsl_stats_median_from_sorted_data(sorted, 1, kept) : 0;
  out->worst = kept ? sorted[kept - 1] : 0;
  return true;
}

/* --- one line ---------------------------------------------------------------------------------------------- */

static bool enough(const struct ss_line_sample *s, size_t count, struct ss_line *out, struct ss_error *error) {
  size_t sizes = 0;
  out->low = INFINITY;
  for (size_t i = 0; i < count; i++) {
    size_t before = 0;
    while (before < i && s[before].bytes != s[i].bytes) before++;
    sizes += before == i;
    out->low = fmin(out->low, s[i].bytes);
    out->high = fmax(out->high, s[i].bytes);
  }
  return (sizes >= LINE_SIZES && count >= LINE_SAMPLES) ||
         ss_fail(error, SS_BAD_INPUT, "%zu times of %zu sizes are too few to fit (at least %d of %d)", count, sizes,
                 LINE_SAMPLES, LINE_SIZES);
}

/* The costs of a line, and what each is charged for. */
enum { LINE_START, LINE_BYTES, LINE_ELEMENTS, LINE_COSTS };

static bool sum_up(const struct ss_times *times, const struct ss_robust_cost *cost, const double *weight,
                   struct ss_line *out, struct ss_error *error) {
  SS_AUTO_FREE double *of = ss_alloc(times->count, sizeof *of);
  for (size_t i = 0; of && i < times->count; i++) of[i] = residual(times, i, cost);
  out->t0 = cost[LINE_START].value;
  out->per_byte = cost[LINE_BYTES].value;
  out->per_byte_error = cost[LINE_BYTES].error;
  out->per_element = times->costs > LINE_ELEMENTS ? cost[LINE_ELEMENTS].value : 0;
  return (of && ss_residuals_of(of, weight, times->count, &out->residuals)) || ss_fail_memory(error, "fitting times");
}

/* With the first `costs` of a line's costs. */
static bool fit_costs(const struct ss_line_sample *s, size_t count, size_t costs, struct ss_robust_cost *cost,
                      struct ss_line *out, struct ss_error *error) {
  SS_AUTO_FREE double *per = ss_alloc(count, costs * sizeof *per);
  SS_AUTO_FREE double *seconds = ss_alloc(count, sizeof *seconds);
  SS_AUTO_FREE double *weight = ss_alloc(count, sizeof *weight);
  if (!per || !seconds || !weight) return ss_fail_memory(error, "fitting times");
  for (size_t i = 0; i < count; i++) {
    const double of[LINE_COSTS] = {[LINE_START] = 1, [LINE_BYTES] = s[i].bytes, [LINE_ELEMENTS] = s[i].elements};
    memcpy(per + costs * i, of, costs * sizeof *per);
    seconds[i] = s[i].seconds;
  }
  const struct ss_times times = {.count = count, .costs = costs, .per = per, .seconds = seconds};
  return ss_robust_fit(&times, cost, weight, error) && sum_up(&times, cost, weight, out, error);
}

/* Do elements tell more than bytes, of which each has as many? */
static bool elements_differ(const struct ss_line_sample *s, size_t count) {
  const double alike = 1.02;
  double least = INFINITY, most = 0;
  for (size_t i = 0; i < count; i++) {
    least = fmin(least, s[i].elements / s[i].bytes);
    most = fmax(most, s[i].elements / s[i].bytes);
  }
  return most > alike * least;
}

bool ss_line_fit(const struct ss_line_sample *s, size_t count, struct ss_line *out, struct ss_error *error) {
  const double better = 0.8;
  struct ss_robust_cost cost[LINE_COSTS], both[LINE_COSTS];
  struct ss_error refused;
  *out = (struct ss_line){0};
  if (!enough(s, count, out, error)) return false;
  struct ss_line with_elements = *out;
  if (!fit_costs(s, count, LINE_ELEMENTS, cost, out, error)) return false;
  if (elements_differ(s, count) && fit_costs(s, count, LINE_COSTS, both, &with_elements, &refused) &&
      with_elements.residuals.typical < better * out->residuals.typical) {
    *out = with_elements;
    return true;
  }
  if (!(out->per_byte > 0))
    return ss_fail(error, SS_BAD_INPUT, "times do not grow with sizes from %.0f to %.0f B: measure larger ones",
                   out->low, out->high);
  if (out->per_byte_error <= out->per_byte / 2) return true;
  return ss_fail(error, SS_BAD_INPUT,
                 "with sizes from %.0f to %.0f B the time a byte takes is lost in noise (%.2g +- %.2g s): measure "
                 "larger ones",
                 out->low, out->high, out->per_byte, out->per_byte_error);
}
/* SPDX-License-Identifier: Apache-2.0 */
