/* One layer of LSTM, as torch.nn.LSTM has it (Hochreiter and Schmidhuber 1997, with forget gates), with one bias a
 * gate.
 *
 * Its weights are a table, of rows that are as wide as the state, width w: for each element of what is read the
 * weights into the input gate, the forget gate, the candidate and the output gate; then for each element of the
 * state; then biases. */
#pragma once

#include "base/base.h"

enum { SS_CELL_GATES = 4 };

static inline uint64_t ss_cell_rows(uint32_t width) {
  return (uint64_t)SS_CELL_GATES * (2 * (uint64_t)width + 1);
}

/* What is read in turn, and what becomes of it. Arrays are an arena's. */
struct ss_sequence {
  uint32_t width;
  uint64_t length;
  const double *weight;       /* the table */
  const double **input;       /* [length][width], the caller's to set; NULL: nothing is read, and the state stays */
  double *state;              /* [length + 1][width] before each is read; zero at first */
  double *of_state;           /* as `state`: its gradient, the caller's to set, between the two calls */
  double *cell, *gate, *next; /* of the same; [length][4 * width]; [5 * width] */
};

/* How many numbers a sequence takes, but for what it reads; widths are below 2^17, lengths below 2^40. */
static inline uint64_t ss_sequence_doubles(uint32_t width, uint64_t length) {
  return (3 * (length + 1) + SS_CELL_GATES * length + SS_CELL_GATES + 1) * width;
}
bool ss_sequence_open(uint32_t width, uint64_t length, struct ss_arena *arena, struct ss_sequence *out) SS_MUST_CHECK;
/* Forward: states. */
void ss_sequence_read(struct ss_sequence *sequence);
/* Backward: adds to the gradient of the table, and of what was read (of_input[length][width]). */
void ss_sequence_learn(struct ss_sequence *sequence, double *gradient, double *const *of_input);
/* SPDX-License-Identifier: Apache-2.0 */
