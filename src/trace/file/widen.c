#include "trace/file/trace_internal.h"

uint64_t ss_trace_widened(const struct ss_trace *trace, uint32_t from, uint32_t ranks) {
  return trace->iterations / (ranks / from + (ranks % from > 0));
}

/* Lookups and bags of all segments of the view. */
static void count(struct ss_trace *view) {
  for (size_t k = 0; k < view->tensors; k++) {
    struct ss_tensor_data *tensor = &view->tensor[k];
    tensor->total = tensor->bag_total = 0;
    for (uint64_t t = 0; t < view->iterations; t++)
      for (uint32_t r = 0; r < view->ranks; r++) {
        tensor->total += ss_trace_count(view, k, t, r);
        tensor->bag_total += ss_trace_bags(view, k, t, r);
      }
  }
}

bool ss_trace_widen(const struct ss_trace *trace, uint32_t from, uint32_t ranks, struct ss_trace **out,
                    struct ss_error *error) {
  assert(!trace->captured && from >= 1 && from <= trace->ranks && ss_trace_widened(trace, from, ranks) > 0);
  struct ss_trace *view = ss_trace_new(trace->name);
  if (!view || !ss_take(&view->arena, view->tensor, trace->tensors)) {
    ss_trace_close(view);
    return ss_fail_memory(error, "extrapolating ranks");
  }
  memcpy(view->tensor, trace->tensor, trace->tensors * sizeof *view->tensor);
  view->captured = trace;
  view->from = from;
  view->source = trace->source;
  view->training = trace->training;
  view->ranks = ranks;
  view->iterations = ss_trace_widened(trace, from, ranks);
  view->segments = view->iterations * ranks;
  view->tensors = trace->tensors;
  view->dense_count = trace->dense_count;
  view->dense = trace->dense;
  view->tokens = trace->tokens;
  view->pad_id = trace->pad_id;
  view->gpus_per_node = trace->gpus_per_node;
  count(view);
  *out = view;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
