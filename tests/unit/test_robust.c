/* Robust regression of times, on samples whose costs are known: what is fitted, what it is relative to, and when it
 * is refused. */
#include "support.h"

#include "calibration/line_pieces.h"

enum { SIZES = 20 };
static const double T0 = 10e-6, PER_BYTE = 1e-9;

/* Sizes 1 KiB, 2 KiB, ...; times longer and shorter by `noise` in turns. */
static void make_samples(struct ss_line_sample *sample, double noise) {
  for (int i = 0; i < SIZES; i++) {
    const double bytes = 1024.0 * (1 << i);
    sample[i] = (struct ss_line_sample){0, bytes, (T0 + PER_BYTE * bytes) * (1 + (i % 2 ? noise : -noise))};
  }
}

TEST(a_line_is_found) {
  struct ss_line_sample sample[SIZES];
  struct ss_line line;
  struct ss_error error;
  make_samples(sample, 0);
  assert_true(ss_line_fit(sample, SIZES, &line, &error));
  assert_true(close_to(line.t0, T0, 1e-6));
  assert_true(close_to(line.per_byte, PER_BYTE, 1e-6));
  assert_int_equal(line.residuals.outliers, 0);
}

/* The residual of each is |1 +- noise - 1|, so the deviation is noise / 0.6745 and nothing is far from it: all have
 * weight, and the median and the largest residual are about the noise itself, of small sizes as of large ones. */
TEST(residuals_are_relative) {
  struct ss_line_sample sample[SIZES];
  struct ss_line line;
  struct ss_error error;
  make_samples(sample, 0.02);
  assert_true(ss_line_fit(sample, SIZES, &line, &error));
  assert_int_equal(line.residuals.outliers, 0);
  assert_true(close_to(line.residuals.typical, 0.02, 0.25));
  assert_true(close_to(line.residuals.worst, 0.02, 0.5));
  assert_true(close_to(line.t0, T0, 0.02));
  assert_true(close_to(line.per_byte, PER_BYTE, 0.02));
}

/* The deviation is the median residual / 0.6745, and the bisquare gives weight up to 4.685 of them: 6.95 times the
 * noise of the others. */
TEST(far_is_counted_in_deviations) {
  struct ss_line_sample sample[SIZES];
  struct ss_line line;
  struct ss_error error;
  make_samples(sample, 0.01);
  sample[9].seconds *= 1.06 / 1.01;
  assert_true(ss_line_fit(sample, SIZES, &line, &error));
  assert_int_equal(line.residuals.outliers, 0);
  make_samples(sample, 0.01);
  sample[9].seconds *= 1.08 / 1.01;
  assert_true(ss_line_fit(sample, SIZES, &line, &error));
  assert_int_equal(line.residuals.outliers, 1);
}

/* Least squares by hand: with weights w / t^2 the error of the slope is sigma * sqrt(S / (S Sxx - Sx^2)), S the sum
 * of weights; sigma is noise / 0.6745 where all residuals are the noise, and the bisquare's weight of such is w. */
static double error_of_slope(const struct ss_line_sample *sample, size_t count, double slope, double noise) {
  const double sigma = noise / 0.6745, part = 0.6745 / 4.685, w = (1 - part * part) * (1 - part * part);
  double s = 0, sx = 0, sxx = 0;
  for (size_t i = 0; i < count; i++) {
    const double t = T0 + slope * sample[i].bytes, weight = w / (t * t);
    s += weight;
    sx += weight * sample[i].bytes;
    sxx += weight * sample[i].bytes * sample[i].bytes;
  }
  return sigma * sqrt(s / (s * sxx - sx * sx));
}

/* Sizes 1 kB to 20 kB, each once longer and once shorter by a tenth: taken where the error is at most half the slope.
 */
TEST(noise_hides_a_slope) {
  static const double slopes[] = {5e-11, 8e-11, 1e-10, 2e-10}, noise = 0.1;
  struct ss_line_sample sample[2 * SIZES];
  struct ss_line line;
  unsigned taken = 0;
  for (size_t k = 0; k < COUNT(slopes); k++) {
    struct ss_error error = {0};
    for (int i = 0; i < 2 * SIZES; i++) {
      const double bytes = 1000.0 * (1 + (i >> 1));
      sample[i] = (struct ss_line_sample){0, bytes, (T0 + slopes[k] * bytes) * (1 + (i % 2 ? noise : -noise))};
    }
    const double wanted = error_of_slope(sample, 2 * SIZES, slopes[k], noise);
    const bool takes = ss_line_fit(sample, 2 * SIZES, &line, &error);
    assert_true(close_to(line.low, 1000, 0) && close_to(line.high, 1000.0 * SIZES, 0));
    assert_true(close_to(line.per_byte_error, wanted, 1e-3));
    assert_int_equal(takes, wanted <= slopes[k] / 2);
    if (!takes) assert_non_null(strstr(error.text, "lost in noise"));
    taken += takes;
  }
  assert_int_equal(taken, 2);
}

/* Alone the costs would be 2, 1 and 5. The second must not be below the first: both are then off by the same share in
 * the middle, 1.5. The third, which is not below the second by itself, is not touched. */
TEST(orders_hold) {
  static const double per[] = {1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1};
  static const double seconds[] = {2, 2, 1, 1, 5, 5}, order[] = {-1, 1, 0, 0, -1, 1}, wanted[] = {1.5, 1.5, 5};
  const struct ss_times times = {.count = 6, .costs = 3, .orders = 2, .per = per, .seconds = seconds, .order = order};
  struct ss_robust_cost cost[3];
  double weight[6];
  struct ss_error error;
  assert_true(ss_robust_fit(&times, cost, weight, &error));
  for (int i = 0; i < 3; i++) assert_true(close_to(cost[i].value, wanted[i], 1e-4));
  /* Two times of weight w tell each to sigma / sqrt(2w) of it: the order makes nothing better known. */
  assert_true(close_to(cost[1].error, cost[0].error, 1e-3));
  assert_true(cost[0].error > 0.4);
}

/* Times tell the first cost, 2, by a noise of a tenth; the second is supposed three times as large. Where nothing
 * else tells it, it is 6, give or take what the prior says; eight times of 10 outweigh it, and are pulled below 10 a
 * little. */
TEST(priors_give_way) {
  static const double spread = 0.5;
  const struct ss_cost_prior prior = {.of = 1, .like = 0, .value = 3, .spread = spread, .unit = 6};
  for (size_t told = 0; told <= 8; told += 8) {
    double per[32] = {0}, seconds[16], weight[16];
    struct ss_robust_cost cost[2];
    struct ss_error error;
    for (size_t i = 0; i < 8 + told; i++) {
      per[2 * i + (i >= 8)] = 1;
      seconds[i] = (i < 8 ? 2 : 10) * (i % 2 ? 1.05 : 0.95);
    }
    const struct ss_times times = {
        .count = 8 + told, .costs = 2, .per = per, .seconds = seconds, .prior = &prior, .priors = 1};
    assert_true(ss_robust_fit(&times, cost, weight, &error));
    assert_true(close_to(cost[0].value, 2, 0.02));
    assert_true(close_to(cost[1].value, told ? 10 : 3 * cost[0].value, 0.02));
    if (!told) assert_true(close_to(cost[1].error, spread * 6, 0.02));
    else assert_true(cost[1].value < 10 && cost[1].error < 0.5);
  }
}

/* Seconds are the second and the third cost less a tenth of the first, which all times share: it is what explains
 * most of them alone, so it is taken in first, and would end at -0.1. It is held at 0 instead, and the others make
 * do. */
TEST(no_cost_is_below_zero) {
  static const double per[] = {1, 1, 0, 1, 0.2, 0.2, 1, 0, 1, 1, 1, 0, 1, 0.2, 0.2, 1, 0, 1};
  static const double seconds[] = {0.9, 0.3, 0.9, 0.9, 0.3, 0.9};
  const struct ss_times times = {.count = 6, .costs = 3, .per = per, .seconds = seconds};
  struct ss_robust_cost cost[3];
  double weight[6];
  struct ss_error error;
  assert_true(ss_robust_fit(&times, cost, weight, &error));
  assert_true(cost[0].held && cost[0].value >= 0 && cost[0].value <= 0);
  for (int k = 1; k < 3; k++) assert_true(!cost[k].held && cost[k].value > 0.7 && cost[k].value < 1);
}

/* Rows of one element and of 64: bytes alone cannot tell what finding a place for an entry costs. */
TEST(elements_tell_what_bytes_do_not) {
  const double per_element = 3e-9;
  struct ss_line_sample sample[2 * SIZES];
  struct ss_line line;
  struct ss_error error;
  for (int i = 0; i < 2 * SIZES; i++) {
    const double entries = 1024.0 * (1 << i / 2), bytes = entries * (i % 2 ? 260 : 8);
    sample[i] = (struct ss_line_sample){entries, bytes, T0 + per_element * entries + PER_BYTE * bytes};
  }
  assert_true(ss_line_fit(sample, 2 * SIZES, &line, &error));
  assert_true(close_to(line.per_element, per_element, 1e-6) && close_to(line.per_byte, PER_BYTE, 1e-6));
  assert_true(close_to(line.t0, T0, 1e-6));
  for (int i = 0; i < 2 * SIZES; i++) sample[i].seconds = T0 + PER_BYTE * sample[i].bytes;
  assert_true(ss_line_fit(sample, 2 * SIZES, &line, &error));
  assert_true(line.per_element == 0 && close_to(line.per_byte, PER_BYTE, 1e-6)); /* bytes say it all */
}

/* Bytes beyond 1 MiB take four times as long, noise of a twentieth on top: the cut lies between the sizes about it,
 * both slopes are found, and a line stays one. */
TEST(a_line_is_cut_where_it_bends) {
  enum { BEND = 1 << 20, MOST = 1 << 26 };
  struct ss_line_sample sample[2 * SIZES];
  struct ss_lines lines;
  struct ss_error error;
  for (int bends = 0; bends < 2; bends++) {
    size_t n = 0;
    double bytes = MOST;
    while (bytes >= 4096) { /* the largest first: they are sorted */
      const double slope = bends && bytes > BEND ? 4 * PER_BYTE : PER_BYTE;
      sample[n] = (struct ss_line_sample){bytes / 8, bytes, (T0 + slope * bytes) * (1 + (n % 2 ? 0.05 : -0.05))};
      n++;
      bytes /= 2;
    }
    assert_true(ss_lines_fit(sample, n, &lines, &error));
    assert_true(lines.all.residuals.samples == n && lines.all.low == 4096 && lines.all.high == MOST);
    assert_int_equal(lines.pieces, 1 + bends);
    assert_true(isinf(lines.piece[bends].up_to) && close_to(lines.piece[0].line.per_byte, PER_BYTE, 0.1));
    if (!bends) continue;
    assert_true(lines.piece[0].up_to > BEND && lines.piece[0].up_to < 2.0 * BEND);
    assert_true(close_to(lines.piece[1].line.per_byte, 4 * PER_BYTE, 0.1) && lines.all.residuals.worst < 0.15);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
