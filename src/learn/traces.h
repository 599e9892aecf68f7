/* The traces that a training reads and makes. */
#pragma once

#include "learn/trainer.h"

/* --- what `train --learn --trace` reads: a text that `trace import` has turned into row ids before ------------- */

/* Whether its first `ranks` ranks (all, at the most) read sequences, `batch` of one length in every iteration. Rows
 * are numbered by frequency from padding (0) and unknown (1) on. */
bool ss_learn_check(const struct ss_trace *trace, uint32_t ranks, uint64_t batch,
                    struct ss_error *error) SS_MUST_CHECK;

/* --- the gradients of a training as a trace with values, for schemes that select ------------------------------ */

/* Collects what ss_learn shows it: give ss_learn `watch`. */
struct ss_capture {
  const struct ss_learn_task *task;
  uint32_t ranks;
  uint64_t steps;
  uint64_t *offsets[SS_TABLES]; /* [steps * ranks + 1] */
  uint32_t *rows[SS_TABLES];
  float *values[SS_TABLES];
  size_t offset_capacity[SS_TABLES], row_capacity[SS_TABLES], value_capacity[SS_TABLES];
};

void ss_capture_begin(struct ss_capture *capture, const struct ss_learn_task *task);
struct ss_learn_watch ss_capture_watch(struct ss_capture *capture);
/* Tensors "input" and "output" of F32, rows coalesced and ascending, values before they are rounded to units. Every
 * value is finite. */
bool ss_capture_write(const struct ss_capture *capture, const char *path, const char *source,
                      struct ss_error *error) SS_MUST_CHECK;
void ss_capture_free(struct ss_capture *capture);
/* SPDX-License-Identifier: Apache-2.0 */
