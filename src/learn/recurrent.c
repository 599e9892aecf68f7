#include "learn/recurrent.h"

bool ss_sequence_open(uint32_t width, uint64_t length, struct ss_arena *arena, struct ss_sequence *out) {
  *out = (struct ss_sequence){.width = width, .length = length};
  return ss_take(arena, out->input, length) && ss_take(arena, out->state, (length + 1) * width) &&
         ss_take(arena, out->of_state, (length + 1) * width) && ss_take(arena, out->cell, (length + 1) * width) &&
         ss_take(arena, out->gate, length * SS_CELL_GATES * width) &&
         ss_take(arena, out->next, (size_t)(SS_CELL_GATES + 1) * width);
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

/* to += factor * from: each sum adds up in one order, however wide the compiler's vectors are. */
static void add(double *restrict to, double factor, const double *restrict from, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) to[i] += factor * from[i];
}

static double dot(const double *a, const double *b, uint32_t n) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* One word: gates, and from them the cell and the state after it. */
static void step(struct ss_sequence *s, uint64_t t) {
  const uint32_t w = s->width, all = SS_CELL_GATES * w;
  const double *before = s->cell + t * w, *state = s->state + t * w, *weight = s->weight;
  double *z = s->gate + t * all, *after = s->cell + (t + 1) * w, *out = s->state + (t + 1) * w;
  if (!s->input[t]) {
    memcpy(after, before, w * sizeof *after);
    memcpy(out, state, w * sizeof *out);
    return;
  }
  memcpy(z, weight + 2 * (size_t)w * all, all * sizeof *z);
  for (uint32_t j = 0; j < w; j++) add(z, s->input[t][j], weight + (size_t)j * all, all);
  for (uint32_t j = 0; j < w; j++) add(z, state[j], weight + ((size_t)w + j) * all, all);
  for (uint32_t i = 0; i < all; i++) z[i] = i >= 2 * w && i < 3 * w ? tanh(z[i]) : sigmoid(z[i]);
  for (uint32_t i = 0; i < w; i++) {
    after[i] = z[w + i] * before[i] + z[i] * z[2 * w + i];
    out[i] = z[3 * w + i] * tanh(after[i]);
  }
}

void ss_sequence_read(struct ss_sequence *s) {
  memset(s->state, 0, s->width * sizeof *s->state);
  memset(s->cell, 0, s->width * sizeof *s->cell);
  for (uint64_t t = 0; t < s->length; t++) step(s, t);
}

/* The gradients of the gates' sums z, from those of the state and the cell after word t; that of the cell becomes
 * what it is before the word. */
static void gates_back(const struct ss_sequence *s, uint64_t t, double *of_cell, double *of_z) {
  const uint32_t w = s->width;
  const double *gate = s->gate + t * SS_CELL_GATES * w, *of_state = s->of_state + (t + 1) * w;
  for (uint32_t i = 0; i < w; i++) {
    const double in = gate[i], forget = gate[w + i], candidate = gate[2 * w + i], out = gate[3 * w + i];
    const double shown = tanh(s->cell[(t + 1) * w + i]);
    const double of_after = of_cell[i] + of_state[i] * out * (1 - shown * shown);
    of_z[i] = of_after * candidate * in * (1 - in);
    of_z[w + i] = of_after * s->cell[t * w + i] * forget * (1 - forget);
    of_z[2 * w + i] = of_after * in * (1 - candidate * candidate);
    of_z[3 * w + i] = of_state[i] * shown * out * (1 - out);
    of_cell[i] = of_after * forget;
  }
}

void ss_sequence_learn(struct ss_sequence *s, double *gradient, double *const *of_input) {
  const uint32_t w = s->width, all = SS_CELL_GATES * w;
  double *of_z = s->next, *of_cell = s->next + all;
  memset(of_cell, 0, w * sizeof *of_cell);
  for (uint64_t t = s->length; t-- > 0;) {
    double *before = s->of_state + t * w;
    if (!s->input[t]) {
      add(before, 1, before + w, w);
      continue;
    }
    gates_back(s, t, of_cell, of_z);
    add(gradient + 2 * (size_t)w * all, 1, of_z, all);
    for (uint32_t j = 0; j < w; j++) {
      const size_t read = (size_t)j * all, kept = ((size_t)w + j) * all;
      add(gradient + read, s->input[t][j], of_z, all);
      add(gradient + kept, s->state[t * w + j], of_z, all);
      of_input[t][j] += dot(s->weight + read, of_z, all);
      before[j] += dot(s->weight + kept, of_z, all);
    }
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
