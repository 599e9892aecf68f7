#include "trace/measure/popularity.h"

#include "base/gsl.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_multimin.h>
#include <gsl/gsl_sf_gamma.h>

/* Integrals over q are sums over even steps of its logit: popularities from 2e-9 to 1 - 2e-9. */
enum { NODES = 801 };
static const double logit_end = 20;

static double logit_step(void) {
  return 2 * logit_end / (NODES - 1);
}

/* ln q and ln(1 - q) at node i. */
static double log_q(int i) {
  return -log1p(exp(logit_end - i * logit_step()));
}
static double log_not_q(int i) {
  return -log1p(exp(i * logit_step() - logit_end));
}

/* --- what the fit works on -------------------------------------------------------------------------------- */

/* A sum over iterations t = 0..T-1 of something smooth in t: the first ones, and Gauss-Legendre for the rest. */
enum { PLAIN = 64, REST = 16 };

struct fitting {
  const struct ss_incidence *window;
  uint64_t iterations;
  gsl_integration_glfixed_table *rule; /* of the rest; NULL: there is none */
  double *choose;                      /* [ranks + 1] ln of binomial coefficients */
  double *once;                        /* [ranks + 1][NODES] chance that j ranks have a row in an iteration */
  double *weight, *sum_once, *sum_ever;
  double log_scale; /* of the weights */
  struct ss_arena arena;
};

static void fitting_free(struct fitting *f) {
  if (f->rule) gsl_integration_glfixed_table_free(f->rule);
  ss_arena_free(&f->arena);
}

static bool fitting_init(struct fitting *f) {
  const uint32_t n = f->window->ranks;
  if (f->iterations > PLAIN) f->rule = gsl_integration_glfixed_table_alloc(REST);
  if ((f->iterations > PLAIN && !f->rule) || !ss_take(&f->arena, f->choose, (size_t)n + 1) ||
      !ss_take(&f->arena, f->once, ((size_t)n + 1) * NODES) || !ss_take(&f->arena, f->weight, NODES) ||
      !ss_take(&f->arena, f->sum_once, (size_t)n + 1) || !ss_take(&f->arena, f->sum_ever, (size_t)n + 1))
    return false;
  for (uint32_t j = 0; j <= n; j++) f->choose[j] = gsl_sf_lnchoose(n, j);
  for (uint32_t j = 1; j <= n; j++)
    for (int i = 0; i < NODES; i++)
      f->once[(size_t)j * NODES + (size_t)i] = exp(f->choose[j] + j * log_q(i) + (n - j) * log_not_q(i));
  return true;
}

/* ln of the chance that a rank never looks up a row of popularity q: of a beta mixture of T draws it is the sum over
 * t < T of ln(1 - q phi / (phi + t)). */
static double log_never(const struct fitting *f, double log_q_here, double log_not_q_here, double phi) {
  const double q = exp(log_q_here), all = (double)f->iterations;
  double sum = log_not_q_here; /* t = 0 */
  if (isinf(phi)) return all * log_not_q_here;
  for (uint64_t t = 1; t < f->iterations && t < PLAIN; t++) sum += log1p(-q * phi / (phi + (double)t));
  if (!f->rule) return sum;
  /* midpoint rule backwards, in the variable ln(phi + t) */
  const double low = log(phi + PLAIN - 0.5), high = log(phi + all - 0.5);
  for (size_t i = 0; i < REST; i++) {
    double u, weight;
    (void)gsl_integration_glfixed_point(low, high, i, &u, &weight, f->rule);
    sum += weight * exp(u) * log1p(-q * phi * exp(-u));
  }
  return sum;
}

/* --- likelihood ------------------------------------------------------------------------------------------- */

/* The parameters as the search has them: ln(1 + a), ln b, ln phi; and how far it may go. */
static const double lowest[3] = {-9, -6, -3}, highest[3] = {6, 12, 17};

static struct ss_popularity popularity_at(const double x[3], bool alike) {
  return (struct ss_popularity){.a = expm1(x[0]), .b = exp(x[1]), .phi = alike ? INFINITY : exp(x[2])};
}

static void weigh_nodes(struct fitting *f, const struct ss_popularity *p) {
  f->log_scale = -INFINITY;
  for (int i = 0; i < NODES; i++) {
    f->weight[i] = p->a * log_q(i) + p->b * log_not_q(i);
    f->log_scale = fmax(f->log_scale, f->weight[i]);
  }
  for (int i = 0; i < NODES; i++) f->weight[i] = exp(f->weight[i] - f->log_scale) * logit_step();
}

/* Expected counts, up to the mass, into sum_once and sum_ever. */
static void expect_counts(struct fitting *f, const struct ss_popularity *p) {
  const uint32_t n = f->window->ranks;
  weigh_nodes(f, p);
  for (uint32_t j = 1; j <= n; j++) {
    f->sum_once[j] = f->sum_ever[j] = 0;
    for (int i = 0; i < NODES; i++) f->sum_once[j] += f->weight[i] * f->once[(size_t)j * NODES + (size_t)i];
  }
  for (int i = 0; f->iterations > 1 && i < NODES; i++) {
    if (f->weight[i] < 1e-30) continue; /* of the largest: lost in the sums */
    const double never = log_never(f, log_q(i), log_not_q(i), p->phi), ever = log(-expm1(never));
    for (uint32_t j = 1; j <= n; j++) f->sum_ever[j] += f->weight[i] * exp(f->choose[j] + j * ever + (n - j) * never);
  }
}

/* The mass that makes as many rows expected as were counted, and minus the log-likelihood with it. */
static double misfit(struct fitting *f, const struct ss_popularity *p, double *mass) {
  const struct ss_incidence *w = f->window;
  const bool both = f->iterations > 1;
  double counted = 0, expected = 0, sum = 0;
  expect_counts(f, p);
  for (uint32_t j = 1; j <= w->ranks; j++) {
    counted += w->once[j] + (both ? w->ever[j] : 0);
    expected += f->sum_once[j] + (both ? f->sum_ever[j] : 0);
  }
  *mass = counted / expected;
  for (uint32_t j = 1; j <= w->ranks; j++) {
    sum -= w->once[j] * log(*mass * f->sum_once[j] + 1e-300);
    if (both) sum -= w->ever[j] * log(*mass * f->sum_ever[j] + 1e-300);
  }
  return sum;
}

/* Outside the box, the value at its wall and a slope back. */
static double objective(const gsl_vector *at, void *context) {
  struct fitting *f = context;
  double x[3] = {0, 0, 0}, outside = 0, mass;
  for (size_t i = 0; i < at->size && i < 3; i++) {
    const double wanted = gsl_vector_get(at, i);
    x[i] = fmin(fmax(wanted, lowest[i]), highest[i]);
    outside += (wanted - x[i]) * (wanted - x[i]);
  }
  const struct ss_popularity p = popularity_at(x, at->size < 3);
  return misfit(f, &p, &mass) + 1e3 * outside;
}

/* --- the search ------------------------------------------------------------------------------------------- */

enum { STEPS_MOST = 500 };

/* Nelder and Mead's simplex from `x`, which becomes its best; *least is the value there. */
static bool search(struct fitting *f, size_t unknowns, double x[3], double *least) {
  gsl_multimin_function function = {.f = objective, .n = unknowns, .params = f};
  gsl_vector *at = gsl_vector_alloc(unknowns), *step = gsl_vector_alloc(unknowns);
  gsl_multimin_fminimizer *s = gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, unknowns);
  bool ok = at && step && s;
  for (size_t i = 0; ok && i < unknowns; i++) {
    gsl_vector_set(at, i, x[i]);
    gsl_vector_set(step, i, 0.5);
  }
  ok = ok && gsl_multimin_fminimizer_set(s, &function, at, step) == GSL_SUCCESS;
  for (int i = 0; ok && i < STEPS_MOST; i++)
    if (gsl_multimin_fminimizer_iterate(s) != GSL_SUCCESS ||
        gsl_multimin_test_size(gsl_multimin_fminimizer_size(s), 1e-4) == GSL_SUCCESS)
      break;
  for (size_t i = 0; ok && i < unknowns; i++)
    x[i] = fmin(fmax(gsl_vector_get(gsl_multimin_fminimizer_x(s), i), lowest[i]), highest[i]);
  if (ok) *least = gsl_multimin_fminimizer_minimum(s);
  if (s) gsl_multimin_fminimizer_free(s);
  if (step) gsl_vector_free(step);
  if (at) gsl_vector_free(at);
  return ok;
}

static bool search_all(struct fitting *f, const struct ss_popularity *near, struct ss_popularity *out) {
  double starts[][3] = {{-1, 0, 4}, {-0.5, 1, 8}, {-1, 0, 1}}, best = INFINITY, mass;
  const size_t unknowns = f->iterations > 1 ? 3 : 2;
  size_t count = sizeof starts / sizeof *starts, chosen = 0;
  if (near) {
    starts[0][0] = log1p(near->a);
    starts[0][1] = log(near->b);
    starts[0][2] = fmin(log(near->phi), highest[2]);
    count = 1;
  }
  for (size_t i = 0; i < count; i++) {
    double least;
    if (!search(f, unknowns, starts[i], &least)) return false;
    if (least < best) {
      best = least;
      chosen = i;
    }
  }
  *out = popularity_at(starts[chosen], unknowns < 3);
  (void)misfit(f, out, &mass);
  out->log_mass = log(mass) - f->log_scale;
  return true;
}

bool ss_popularity_fit(const struct ss_incidence *window, uint64_t iterations, const struct ss_popularity *near,
                       struct ss_popularity *out) {
  SS_AUTO(fitting_free) struct fitting f = {.window = window, .iterations = iterations};
  ss_gsl_errors_off(); /* memory that is short is told, not an abort */
  const bool ok = fitting_init(&f) && search_all(&f, near, out);
  ss_gsl_errors_back();
  return ok;
}

double ss_popularity_more(const struct ss_popularity *p, double from, double to) {
  double sum = 0;
  for (int i = 0; i < NODES; i++)
    sum -= exp(p->log_mass + p->a * log_q(i) + (p->b + from) * log_not_q(i)) * expm1((to - from) * log_not_q(i));
  return sum * logit_step();
}
/* SPDX-License-Identifier: Apache-2.0 */
