#include "calibration/line_pieces.h"

enum { LEAST_SAMPLES = 4, COSTS_OF_A_PIECE = 4 /* start, elements, bytes, and where it ends */ };

struct part {
  size_t begin, end; /* of the samples */
  double error;      /* sum over them */
  struct ss_line line;
};

struct parts {
  size_t count;
  struct part part[SS_LINE_PIECES];
};

static int by_bytes(const void *a, const void *b) {
  const struct ss_line_sample *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
  return (x->elements > y->elements) - (x->elements < y->elements);
}

static double predict(const struct ss_line *line, const struct ss_line_sample *s) {
  return line->t0 + line->per_element * s->elements + line->per_byte * s->bytes;
}

static bool fit_part(const struct ss_line_sample *s, struct part *p, struct ss_error *error) {
  if (!ss_line_fit(s + p->begin, p->end - p->begin, &p->line, error)) return false;
  p->error = 0;
  for (size_t i = p->begin; i < p->end; i++) p->error += fabs(log(s[i].seconds / predict(&p->line, &s[i])));
  return true;
}

static double worth(const struct parts *parts, size_t samples) {
  double error = 0;
  for (size_t i = 0; i < parts->count; i++) error += parts->part[i].error;
  const double n = (double)samples, k = (double)(COSTS_OF_A_PIECE * parts->count);
  return 2 * n * log(fmax(error / n, 1e-6)) + k * log(n);
}

/* *out: with part `which` cut before sample `at`. False: one of the halves is no line. */
static bool cut(const struct ss_line_sample *s, const struct parts *parts, size_t which, size_t at,
                struct parts *out) {
  struct ss_error refused;
  *out = *parts;
  for (size_t i = parts->count; i > which + 1; i--) out->part[i] = out->part[i - 1];
  out->count++;
  out->part[which].end = at;
  out->part[which + 1] = (struct part){.begin = at, .end = parts->part[which].end};
  return fit_part(s, &out->part[which], &refused) && fit_part(s, &out->part[which + 1], &refused);
}

/* The best cut of any part, if it is worth more than none. */
static bool improve(const struct ss_line_sample *s, size_t samples, struct parts *parts) {
  const struct parts before = *parts;
  double best = worth(parts, samples);
  bool better = false;
  for (size_t which = 0; which < before.count; which++) {
    const struct part *p = &before.part[which];
    for (size_t at = p->begin + LEAST_SAMPLES; at + LEAST_SAMPLES <= p->end; at++) {
      struct parts tried;
      if (s[at - 1].bytes >= s[at].bytes || !cut(s, &before, which, at, &tried)) continue;
      const double value = worth(&tried, samples);
      if (!(value < best)) continue;
      best = value;
      *parts = tried;
      better = true;
    }
  }
  return better;
}

/* What is true of all pieces together. */
static bool sum_up(const struct ss_line_sample *s, size_t count, struct ss_lines *lines, const struct parts *parts) {
  SS_AUTO_FREE double *residual = ss_alloc(count, sizeof *residual), *weight = ss_alloc(count, sizeof *weight);
  if (!residual || !weight) return false;
  lines->all.low = s[0].bytes;
  lines->all.high = s[count - 1].bytes;
  for (size_t k = 0; k < parts->count; k++) {
    const struct part *p = &parts->part[k];
    /* outliers are those beyond the largest residual that a piece kept */
    for (size_t i = p->begin; i < p->end; i++) {
      residual[i] = fabs(s[i].seconds / predict(&p->line, &s[i]) - 1);
      weight[i] = residual[i] <= p->line.residuals.worst * (1 + 1e-9);
    }
  }
  return ss_residuals_of(residual, weight, count, &lines->all.residuals);
}

bool ss_lines_fit(struct ss_line_sample *s, size_t count, struct ss_lines *out, struct ss_error *error) {
  struct parts parts = {.count = 1, .part = {{.end = count}}};
  *out = (struct ss_lines){0};
  qsort(s, count, sizeof *s, by_bytes);
  if (!fit_part(s, &parts.part[0], error)) return false;
  while (parts.count < SS_LINE_PIECES && improve(s, count, &parts)) {}
  out->pieces = parts.count;
  for (size_t k = 0; k < parts.count; k++) {
    const size_t end = parts.part[k].end;
    out->piece[k] = (struct ss_line_piece){k + 1 == parts.count ? INFINITY : sqrt(s[end - 1].bytes * s[end].bytes),
                                           parts.part[k].line};
  }
  return sum_up(s, count, out, &parts) || ss_fail_memory(error, "fitting times");
}
/* SPDX-License-Identifier: Apache-2.0 */
