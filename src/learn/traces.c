#include "learn/traces.h"

/* --- texts --------------------------------------------------------------------------------------------------- */

bool ss_learn_check(const struct ss_trace *trace, uint32_t ranks, uint64_t batch, struct ss_error *error) {
  const char *name = ss_trace_name(trace);
  if (ss_trace_tensors(trace) != 1 || ss_trace_pad_id(trace) != 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: is no text: what sparsync trace import makes has one table, whose row 0 is padding", name);
  if (ranks > ss_trace_ranks(trace))
    return ss_fail(error, SS_BAD_INPUT, "%s: has %" PRIu32 " ranks, not %" PRIu32, name, ss_trace_ranks(trace),
                   ranks);
  for (uint64_t t = 0; t < ss_trace_iterations(trace); t++)
    for (uint32_t r = 0; r < ranks; r++)
      if (ss_trace_count(trace, 0, t, r) % batch != 0)
        return ss_fail(error, SS_BAD_INPUT,
                       "%s: iteration %" PRIu64 ", rank %" PRIu32 ": %" PRIu64 " words are not %" PRIu64
                       " sequences of one length (say --batch as trace import was told)",
                       name, t, r, ss_trace_count(trace, 0, t, r), batch);
  return true;
}

/* --- gradients ----------------------------------------------------------------------------------------------- */

void ss_capture_begin(struct ss_capture *capture, const struct ss_learn_task *task) {
  *capture = (struct ss_capture){.task = task, .ranks = task->ranks};
}

static bool reserve(struct ss_capture *c, int table, uint64_t rows) {
  const uint32_t width = c->task->shape.width;
  if (!ss_grow(c->offsets[table], c->offset_capacity[table], (c->steps + 1) * c->ranks + 1)) return false;
  if (c->steps == 0) c->offsets[table][0] = 0;
  return ss_grow(c->rows[table], c->row_capacity[table], rows) &&
         ss_grow(c->values[table], c->value_capacity[table], rows * width);
}

static bool seen(void *context, uint64_t step, const struct ss_gradients *gradients, struct ss_error *error) {
  struct ss_capture *c = context;
  const uint32_t width = c->task->shape.width;
  (void)step;
  for (int table = 0; table < ss_model_tables(&c->task->shape); table++) {
    uint64_t rows = c->steps > 0 ? c->offsets[table][c->steps * c->ranks] : 0;
    for (uint32_t r = 0; r < c->ranks; r++) rows += gradients->own[table][r].count;
    if (!reserve(c, table, rows)) return ss_fail_memory(error, "keeping gradients");
    for (uint32_t r = 0; r < c->ranks; r++) {
      const struct ss_learn_rows *own = &gradients->own[table][r];
      uint64_t *offset = &c->offsets[table][c->steps * c->ranks + r];
      if (own->count > 0) memcpy(c->rows[table] + offset[0], own->row, own->count * sizeof *own->row);
      for (uint64_t i = 0; i < own->count * width; i++)
        c->values[table][offset[0] * width + i] = (float)gradients->value[table][r][i];
      offset[1] = offset[0] + own->count;
    }
  }
  c->steps++;
  return true;
}

struct ss_learn_watch ss_capture_watch(struct ss_capture *capture) {
  return (struct ss_learn_watch){capture, seen};
}

bool ss_capture_write(const struct ss_capture *c, const char *path, const char *source, struct ss_error *error) {
  const struct ss_model_shape *shape = &c->task->shape;
  const struct ss_tensor tensors[SS_TABLES] = {
      [SS_TABLE_INPUT] = {"input", shape->vocab, shape->width, SS_F32},
      [SS_TABLE_OUTPUT] = {"output", shape->vocab, shape->width, SS_F32},
      [SS_TABLE_CELL] = {"cell", ss_model_rows(shape, SS_TABLE_CELL), shape->width, SS_F32},
  };
  const struct ss_values values[SS_TABLES] = {{c->values[0], SS_F32}, {c->values[1], SS_F32}, {c->values[2], SS_F32}};
  const struct ss_trace_content content = {.source = source,
                                           .iterations = c->steps,
                                           .ranks = c->ranks,
                                           .tensors = (size_t)ss_model_tables(shape),
                                           .tensor = tensors,
                                           .offsets = (const uint64_t *const *)c->offsets,
                                           .rows = (const uint32_t *const *)c->rows,
                                           .pad_id = 0,
                                           .values = values};
  if (c->steps == 0) return ss_fail(error, SS_UNPROVEN, "no gradient was finite: there is nothing to capture");
  return ss_trace_write(path, &content, error);
}

void ss_capture_free(struct ss_capture *capture) {
  for (int table = 0; table < SS_TABLES; table++) {
    free(capture->offsets[table]);
    free(capture->rows[table]);
    free(capture->values[table]);
  }
  *capture = (struct ss_capture){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
