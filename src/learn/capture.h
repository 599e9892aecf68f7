/* The gradients of a training as a trace with values, for schemes that select. */
#ifndef SS_LEARN_CAPTURE_H
#define SS_LEARN_CAPTURE_H

#include "learn/trainer.h"

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

#endif
