/* Counting who has a row, fitting popularities to such counts, finding crossings and what nobody measured: against
 * closed forms and slow references. */
#include "support.h"

#include "base/memory.h"
#include "calibration/inference.h"
#include "cost/crossings.h"
#include "trace/measure/extrapolate.h"
#include "trace/measure/incidence.h"
#include "trace/measure/popularity.h"

#include <gsl/gsl_sf_gamma.h>

/* --- incidence -------------------------------------------------------------------------------------------- */

enum { RANKS = 7, ITERATIONS = 5, ROWS = 200000 };

/* Lists of random lengths around both ends of a chunk of counters, some empty, with duplicates. */
static struct ss_trace *make_trace(uint64_t seed, uint32_t **rows, uint64_t *offsets) {
  struct dice dice = {.seed = seed};
  const struct ss_tensor tensor = {"T", ROWS, 1, SS_F32};
  struct ss_trace *trace;
  struct ss_error error;
  uint64_t total = 0;
  *rows = ss_alloc(RANKS * ITERATIONS * 400, sizeof **rows);
  assert_non_null(*rows);
  for (uint32_t i = 0; i < RANKS * ITERATIONS; i++) {
    const uint32_t count = dice_one_in(&dice, 6) ? 0 : dice_below(&dice, 400);
    offsets[i] = total;
    for (uint32_t k = 0; k < count; k++)
      (*rows)[total++] = dice_one_in(&dice, 2) ? 65400 + dice_below(&dice, 200) : dice_below(&dice, ROWS);
  }
  offsets[RANKS * ITERATIONS] = total;
  const uint64_t *const all_offsets[] = {offsets};
  const uint32_t *const all_rows[] = {*rows};
  const struct ss_trace_content content = {.source = "dice",
                                           .iterations = ITERATIONS,
                                           .ranks = RANKS,
                                           .tensors = 1,
                                           .tensor = &tensor,
                                           .offsets = all_offsets,
                                           .rows = all_rows,
                                           .pad_id = -1};
  assert_true(ss_trace_build("dice", &content, &trace, &error));
  return trace;
}

/* holders[row] counts the ranks of the window that have it in iterations [first, end). */
static void count_slowly(const uint32_t *rows, const uint64_t *offsets, const struct ss_incidence *w,
                         const uint64_t span[2], double *hist) {
  static unsigned char has[ROWS][RANKS];
  memset(has, 0, sizeof has);
  for (uint64_t t = span[0]; t < span[1]; t++)
    for (uint32_t r = w->first; r < w->first + w->ranks; r++)
      for (uint64_t i = offsets[t * RANKS + r]; i < offsets[t * RANKS + r + 1]; i++) has[rows[i]][r] = 1;
  for (uint32_t i = 0; i < ROWS; i++) {
    uint32_t holders = 0;
    for (uint32_t r = 0; r < RANKS; r++) holders += has[i][r];
    if (holders) hist[holders] += 1;
  }
}

static void check_window(const uint32_t *rows, const uint64_t *offsets, const struct ss_incidence *w) {
  double ever[RANKS + 1] = {0}, once[RANKS + 1] = {0}, gamma = 0;
  count_slowly(rows, offsets, w, (uint64_t[]){1, ITERATIONS}, ever);
  double all_rows = 0, all_nnz = 0, gammas = 0;
  for (uint64_t t = 1; t < ITERATIONS; t++) {
    double here[RANKS + 1] = {0}, unions = 0, nnz = 0;
    count_slowly(rows, offsets, w, (uint64_t[]){t, t + 1}, here);
    for (uint32_t j = 1; j <= w->ranks; j++) {
      once[j] += here[j] / (ITERATIONS - 1);
      unions += here[j];
      nnz += j * here[j];
    }
    all_rows += unions / (ITERATIONS - 1);
    all_nnz += nnz / w->ranks / (ITERATIONS - 1);
    if (nnz <= 0) continue;
    gamma += unions * w->ranks / nnz;
    gammas++;
  }
  for (uint32_t j = 1; j <= w->ranks; j++) {
    assert_true(close_to(w->once[j], once[j], 1e-12));
    assert_true(close_to(w->ever[j], ever[j], 0));
  }
  assert_true(close_to(w->rows, all_rows, 1e-12));
  assert_true(close_to(w->nnz, all_nnz, 1e-12));
  if (gammas > 0) assert_true(close_to(w->gamma, gamma / gammas, 1e-12));
  else assert_true(isnan(w->gamma));
}

TEST(test_incidence) {
  for (uint64_t seed = 1; seed <= 6; seed++) {
    uint64_t offsets[RANKS * ITERATIONS + 1];
    uint32_t *rows;
    struct ss_trace *trace = make_trace(seed, &rows, offsets);
    struct ss_incidence windows[] = {{.ranks = RANKS}, {.first = 2, .ranks = 3}, {.first = 6, .ranks = 1}};
    assert_true(ss_incidence_count(trace, 0, 1, ITERATIONS, windows, COUNT(windows)));
    for (size_t i = 0; i < COUNT(windows); i++) check_window(rows, offsets, &windows[i]);
    ss_incidence_free(windows, COUNT(windows));
    ss_trace_close(trace);
    free(rows);
  }
}

/* --- popularity ------------------------------------------------------------------------------------------- */

/* C(n, j) B(j + a, n - j + b): what the integral over q comes to. */
static double expected(uint32_t n, uint32_t j, double a, double b) {
  return exp(gsl_sf_lnchoose(n, j) + gsl_sf_lnbeta(j + a, n - j + b));
}

/* One iteration: expected counts have a closed form, from which the fit must find its way back. */
TEST(test_fit_finds_the_parameters) {
  static const double parameters[][2] = {{-0.5, 2}, {-0.8, 0.7}, {0.3, 5}, {2, 40}};
  for (size_t i = 0; i < COUNT(parameters); i++) {
    const double a = parameters[i][0], b = parameters[i][1], mass = 1000;
    double once[17] = {0}, ever[17] = {0};
    struct ss_popularity found;
    for (uint32_t j = 1; j <= 16; j++) once[j] = mass * expected(16, j, a, b);
    const struct ss_incidence window = {.ranks = 16, .once = once, .ever = ever};
    assert_true(ss_popularity_fit(&window, 1, NULL, &found));
    assert_true(fabs(found.a - a) < 0.02 * (1 + fabs(a)));
    assert_true(close_to(found.b, b, 0.02));
    assert_true(isinf(found.phi));
    double more = 0;
    for (uint32_t k = 16; k < 128; k++) more += mass * exp(gsl_sf_lnbeta(1 + a, b + k));
    assert_true(close_to(ss_popularity_more(&found, 16, 128), more, 0.01));
  }
}

/* Many iterations: the chance of never in T is B(phi q, phi (1 - q) + T) / B(phi q, phi (1 - q)); counts by an
 * independent sum over a finer grid. T below and above what is summed term by term. */
TEST(test_fit_finds_phi) {
  static const uint64_t iterations[] = {12, 300, 66};
  static const double phis[] = {5, 80};
  for (size_t i = 0; i < 6; i++) {
    const uint32_t n = 16;
    const double a = -0.5, b = 3, phi = phis[i % 2], all = (double)iterations[i >> 1], step = 1e-3;
    double once[17] = {0}, ever[17] = {0};
    struct ss_popularity found;
    for (int u = 0; u < 30000; u++) { /* q = exp(-u / 1000), dq = q du / 1000 */
      const double q = exp(-(u + 0.5) * step), weight = 500 * pow(q, a) * pow(1 - q, b - 1) * step;
      const double never = exp(gsl_sf_lnbeta(phi * q, phi * (1 - q) + all) - gsl_sf_lnbeta(phi * q, phi * (1 - q)));
      for (uint32_t j = 1; j <= n; j++) {
        once[j] += weight * exp(gsl_sf_lnchoose(n, j)) * pow(q, j) * pow(1 - q, n - j);
        ever[j] += weight * exp(gsl_sf_lnchoose(n, j)) * pow(1 - never, j) * pow(never, n - j);
      }
    }
    const struct ss_incidence window = {.ranks = n, .once = once, .ever = ever};
    assert_true(ss_popularity_fit(&window, iterations[i / 2], NULL, &found));
    assert_true(close_to(found.phi, phi, 1e-3));
    assert_true(fabs(found.a - a) < 0.02);
    assert_true(close_to(found.b, b, 0.05));
  }
}

/* --- crossings -------------------------------------------------------------------------------------------- */

struct curve {
  int kind;
};

static bool costs(void *context, double x, double cost[2], struct ss_error *error) {
  const struct curve *c = context;
  cost[0] = 1;
  cost[1] = 1;
  if (c->kind == 0) cost[1] = 1 + 0.5 * sin(log(x)); /* roots at exp(k pi) */
  if (c->kind == 1) cost[1] = x < 7 ? 0.5 : 2;
  if (c->kind == 2) cost[1] = fmax(1, x / 10); /* the same up to 10 */
  if (c->kind == 3) {                          /* whole: only multiples of 3 have costs */
    if ((uint32_t)x % 3 != 0) return ss_fail(error, SS_BAD_INPUT, "not a multiple of 3");
    cost[1] = x < 500 ? 0.9 : 1.1;
  }
  if (c->kind == 4) return ss_fail(error, SS_BAD_INPUT, "nowhere at all");
  if (c->kind == 5) cost[1] = 1 + (x - 4) * (x - 4); /* touches at 4 */
  return true;
}

static struct ss_crossover search(int kind, double low, double high, bool whole, uint32_t probes) {
  struct curve curve = {kind};
  const struct ss_crossover_search s = {.low = low,
                                        .high = high,
                                        .whole = whole,
                                        .probes = probes,
                                        .precision = 1e-12,
                                        .same = 1e-12,
                                        .costs = costs,
                                        .context = &curve};
  struct ss_crossover found;
  struct ss_error error;
  assert_true(ss_crossover_find(&s, &found, &error));
  assert_int_equal(found.parts, found.crossings + 1);
  return found;
}

TEST(test_crossings) {
  struct ss_crossover all = search(0, 2, 1e5, false, 100);
  assert_int_equal(all.crossings, 3);
  for (size_t i = 0; i < 3; i++) {
    assert_true(close_to(all.crossing[i].at, exp((double)(i + 1) * M_PI), 1e-10));
    assert_int_equal(all.crossing[i].below, i % 2 ? 1 : -1);
    assert_int_equal(all.crossing[i].above, i % 2 ? -1 : 1);
    assert_false(all.crossing[i].jump);
  }
  ss_crossover_free(&all);
  struct ss_crossover jump = search(1, 1, 100, false, 10);
  assert_int_equal(jump.crossings, 1);
  assert_true(jump.crossing[0].jump && close_to(jump.crossing[0].at, 7, 1e-10));
  ss_crossover_free(&jump);
  struct ss_crossover edge = search(2, 1, 100, false, 20);
  assert_int_equal(edge.crossings, 1);
  assert_true(close_to(edge.crossing[0].at, 10, 1e-10) && edge.crossing[0].below == 0);
  assert_int_equal(edge.crossing[0].above, -1);
  ss_crossover_free(&edge);
  struct ss_crossover touch = search(5, 1, 16, false, 5); /* 4 is one of the probes */
  assert_int_equal(touch.crossings, 0);
  assert_true(close_to(touch.ratio_min, 1, 1e-12) && close_to(touch.ratio_min_at, 4, 1e-12));
  ss_crossover_free(&touch);
}

TEST(test_whole_crossings) {
  for (uint32_t probes = 5; probes <= 2000; probes = probes * 2 + 1) { /* the last ones probe every number */
    struct ss_crossover found = search(3, 3, 1200, true, probes);
    assert_int_equal(found.crossings, 1);
    assert_true(found.crossing[0].at >= 501 && found.crossing[0].at <= 501);
    assert_true(found.crossing[0].before >= 498 && found.crossing[0].before <= 498);
    assert_true(found.gaps > 0);
    for (size_t i = 1; i < found.gaps; i++)
      for (size_t k = 0; k < i; k++) assert_false(close_to(found.gap[i].at, found.gap[k].at, 0));
    ss_crossover_free(&found);
  }
}

TEST(test_nowhere) {
  struct curve curve = {4};
  const struct ss_crossover_search s = {
      .low = 1, .high = 2, .probes = 9, .precision = 1e-9, .same = 1e-12, .costs = costs, .context = &curve};
  struct ss_crossover found;
  struct ss_error error;
  assert_false(ss_crossover_find(&s, &found, &error));
  assert_string_equal(error.text, "nowhere at all");
}

/* --- inference ---------------------------------------------------------------------------------------------- */

enum { NUMBERS = 12 };

/* Numbers whose logarithms are straight in two unknowns of which one undoes nearly what the other does. */
struct straight {
  double slope[NUMBERS][2], target[NUMBERS], deviation;
  struct ss_inference_unknown unknown[2];
};

static bool predict_straight(void *context, const double *x, size_t sets, double *out, struct ss_error *error) {
  const struct straight *s = context;
  (void)error;
  for (size_t set = 0; set < sets; set++)
    for (size_t i = 0; i < NUMBERS; i++)
      out[set * NUMBERS + i] = exp(s->slope[i][0] * x[set * 2] + s->slope[i][1] * x[set * 2 + 1]);
  return true;
}

static struct straight make_straight(struct dice *dice, double room) {
  struct straight s = {.deviation = 1};
  const double along = 10 * (2 * dice_unit(dice) - 1); /* where the numbers want both to be */
  for (size_t k = 0; k < 2; k++) {
    const double usual = 4 * dice_unit(dice) - 2;
    s.unknown[k] = (struct ss_inference_unknown){usual, 100, usual - room * (0.1 + dice_unit(dice)),
                                                 usual + room * (0.1 + dice_unit(dice)), false};
  }
  for (size_t i = 0; i < NUMBERS; i++) {
    s.slope[i][0] = 0.5 + dice_unit(dice) / 2;
    s.slope[i][1] = -s.slope[i][0] * (0.9 + 0.2 * dice_unit(dice));
    s.target[i] = dice_one_in(dice, 2) ? 0.5 : -0.5; /* off by */
    for (size_t k = 0; k < 2; k++) s.target[i] += s.slope[i][k] * (s.unknown[k].usual + along);
  }
  return s;
}

/* Squares of residuals, in deviations, and of how far it is from the priors. */
static double cost_of(const struct straight *s, const double *y) {
  double cost = 0;
  for (size_t i = 0; i < NUMBERS; i++) {
    const double off = (s->slope[i][0] * y[0] + s->slope[i][1] * y[1] - s->target[i]) / s->deviation;
    cost += off * off;
  }
  for (size_t k = 0; k < 2; k++) {
    const double off = (y[k] - s->unknown[k].usual) / s->unknown[k].spread;
    cost += off * off;
  }
  return cost;
}

/* Two equations: how steep the squares are, and what pulls; all numbers but one are in them. */
struct equations {
  double square[2], both, right[2], determinant;
};

static struct equations equations_of(const struct straight *s, size_t but) {
  struct equations e = {.both = 0};
  for (size_t k = 0; k < 2; k++) {
    const double prior = s->deviation / s->unknown[k].spread;
    e.square[k] = prior * prior, e.right[k] = s->unknown[k].usual * prior * prior;
    for (size_t i = 0; i < NUMBERS; i++) {
      if (i == but) continue;
      e.square[k] += s->slope[i][k] * s->slope[i][k], e.right[k] += s->slope[i][k] * s->target[i];
      if (k == 0) e.both += s->slope[i][0] * s->slope[i][1];
    }
  }
  e.determinant = e.square[0] * e.square[1] - e.both * e.both;
  return e;
}

static double solution(const struct equations *e, size_t k) {
  return (e->right[k] * e->square[1 - k] - e->right[1 - k] * e->both) / e->determinant;
}

/* The least cost in the box: where all slopes are zero or, when that is outside, on one of four sides. */
static double least_cost(const struct straight *s) {
  const struct equations e = equations_of(s, NUMBERS);
  double y[2] = {solution(&e, 0), solution(&e, 1)}, least = INFINITY;
  const struct ss_inference_unknown *u = s->unknown;
  if (y[0] >= u[0].low && y[0] <= u[0].high && y[1] >= u[1].low && y[1] <= u[1].high) return cost_of(s, y);
  for (size_t side = 0; side < 4; side++) {
    const size_t k = side / 2, other = 1 - k;
    y[k] = side % 2 ? u[k].high : u[k].low;
    y[other] = fmin(fmax((e.right[other] - e.both * y[k]) / e.square[other], u[other].low), u[other].high);
    least = fmin(least, cost_of(s, y));
  }
  return least;
}

/* From there, and on from where it ended; to be freed. */
static struct ss_inference infer(struct straight *s, const double *from, int calls) {
  double measured[NUMBERS];
  struct ss_inference found = {.x = {from[0], from[1]}, .deviation = s->deviation};
  struct ss_error error;
  for (size_t i = 0; i < NUMBERS; i++) measured[i] = exp(s->target[i]);
  const struct ss_inference_problem problem = {s->unknown, 2, NUMBERS, measured, NULL, predict_straight, s};
  for (int i = 0; i < calls; i++) {
    ss_inference_free(&found);
    assert_true(ss_infer(&problem, &found, &error));
  }
  return found;
}

/* A call has few steps, which have to become as long as the parabola allows. */
TEST(inference_finds_what_is_least) {
  struct dice dice = {.seed = 1};
  for (int i = 0; i < 100; i++) {
    struct straight s = make_straight(&dice, 1000);
    const double usual[] = {s.unknown[0].usual, s.unknown[1].usual};
    AUTO(ss_inference_free) struct ss_inference found = infer(&s, usual, 1);
    assert_true(close_to(cost_of(&s, found.x), least_cost(&s), 1e-4));
  }
}

/* From anywhere in the box, its corners too, and on from where it ended: bounds let go of what is better inside, and
 * hold what is not. */
TEST(inference_keeps_to_its_bounds) {
  struct dice dice = {.seed = 2};
  for (int i = 0; i < 300; i++) {
    struct straight s = make_straight(&dice, 10);
    double from[2];
    for (size_t k = 0; k < 2; k++) {
      const double part = fmin(fmax(2 * dice_unit(&dice) - 0.5, 0), 1);
      from[k] = s.unknown[k].low + part * (s.unknown[k].high - s.unknown[k].low);
    }
    AUTO(ss_inference_free) struct ss_inference found = infer(&s, from, 50);
    const double cost = cost_of(&s, found.x), least = least_cost(&s);
    if (!close_to(cost, least, 1e-3)) fail_msg("case %d: %g, and %g is less", i, cost, least);
    const struct equations e = equations_of(&s, NUMBERS);
    for (size_t k = 0; k < 2; k++) { /* a bound holds what is fitted, not what is left open beside it */
      const struct ss_inference_unknown *u = &s.unknown[k];
      const double open = 1.644 * sqrt(e.square[1 - k] / e.determinant);
      assert_true(found.x[k] >= u->low && found.x[k] <= u->high && found.low[k] >= u->low &&
                  found.high[k] <= u->high);
      assert_true(found.low[k] <= fmax(found.x[k] - open, u->low) &&
                  found.high[k] >= fmin(found.x[k] + open, u->high));
    }
  }
}

/* How far off an outlier is makes no difference (Huber): beyond two deviations it pulls as much as at two. */
TEST(inference_does_not_follow_outliers) {
  struct dice dice = {.seed = 4};
  uint32_t moved = 0;
  for (int i = 0; i < 20; i++) {
    struct straight s = make_straight(&dice, 1000);
    const double usual[] = {s.unknown[0].usual, s.unknown[1].usual}, good = s.target[i % NUMBERS];
    double x[4][2];
    for (int far = 0; far < 4; far++) {
      s.target[i % NUMBERS] = good + (double[]){0, 4, 12, 100}[far];
      AUTO(ss_inference_free) struct ss_inference found = infer(&s, usual, 50);
      memcpy(x[far], found.x, sizeof x[far]);
    }
    moved += !close_to(x[1][0], x[0][0], 0.1);
    for (size_t k = 0; k < 2; k++) assert_true(close_to(x[2][k], x[1][k], 1e-2) && close_to(x[3][k], x[1][k], 1e-2));
  }
  assert_true(moved > 10);
}

static int by_size(const void *a, const void *b) {
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Each number is left out in turn, and all is solved anew: so far off is what predicts it, and so far do the unknowns
 * move. The quantiles are GSL's, between the two nearest. */
TEST(inference_says_how_far_off_it_is) {
  struct dice dice = {.seed = 3};
  uint32_t by_jackknife = 0;
  for (int i = 0; i < 100; i++) {
    struct straight s = make_straight(&dice, 1000);
    s.deviation = 0.5;
    const double usual[] = {s.unknown[0].usual, s.unknown[1].usual};
    AUTO(ss_inference_free) struct ss_inference found = infer(&s, usual, 30);
    const struct equations e = equations_of(&s, NUMBERS);
    double off[NUMBERS], mean[2] = {0}, moved[NUMBERS][2], residuals = 0;
    for (size_t n = 0; n < NUMBERS; n++) {
      const struct equations less = equations_of(&s, n);
      const double y[] = {solution(&less, 0), solution(&less, 1)};
      const double left = s.slope[n][0] * solution(&e, 0) + s.slope[n][1] * solution(&e, 1) - s.target[n];
      residuals += left * left;
      off[n] = fabs(s.slope[n][0] * y[0] + s.slope[n][1] * y[1] - s.target[n]);
      for (size_t k = 0; k < 2; k++) moved[n][k] = y[k], mean[k] += y[k] / NUMBERS;
    }
    qsort(off, NUMBERS, sizeof *off, by_size);
    assert_true(close_to(log(found.half), (off[5] + off[6]) / 2, 1e-4));
    assert_true(close_to(log(found.most), off[9] + 0.9 * (off[10] - off[9]), 1e-4)); /* 0.9 of 11 steps is 9.9 */
    const double excess = fmax(1, residuals / (NUMBERS - 2) / (s.deviation * s.deviation));
    for (size_t k = 0; k < 2; k++) {
      const double open = excess * s.deviation * s.deviation * e.square[1 - k] / e.determinant;
      double jackknife = 0;
      for (size_t n = 0; n < NUMBERS; n++) jackknife += pow(moved[n][k] - mean[k], 2) * (NUMBERS - 1) / NUMBERS;
      const double wide = 1.645 * sqrt(fmax(open, jackknife));
      by_jackknife += jackknife > open;
      assert_true(close_to(found.x[k], solution(&e, k), 1e-4) && found.fitted == NUMBERS);
      assert_true(close_to(found.high[k] - found.x[k], wide, 1e-4));
      assert_true(close_to(found.x[k] - found.low[k], wide, 1e-4));
    }
  }
  assert_true(by_jackknife > 20 && by_jackknife < 180);
}
/* SPDX-License-Identifier: Apache-2.0 */
