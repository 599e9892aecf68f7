#include "trace/file/trace_internal.h"

/* A copy in the trace's arena; NULL when memory is short, never NULL for zero bytes. */
static void *copy_of(struct ss_trace *trace, const void *data, uint64_t count, size_t size) {
  void *copy = ss_arena_alloc(&trace->arena, count, size);
  if (copy && count) memcpy(copy, data, count * size);
  return copy;
}

static bool copy_values(struct ss_trace *trace, struct ss_tensor_data *t, const struct ss_values *values) {
  uint64_t elements;
  if (!values || !values->data) return true;
  if (!ss_mul_u64(t->total, t->tensor.row_width, &elements)) return false;
  t->values_dtype = values->dtype;
  t->values = copy_of(trace, values->data, elements, ss_dtype_bytes(values->dtype));
  return t->values != NULL;
}

static bool copy_bags(struct ss_trace *trace, struct ss_tensor_data *t) {
  if (!t->bags.first) return true;
  t->bags.first = copy_of(trace, t->bags.first, trace->segments + 1, sizeof *t->bags.first);
  t->bags.offsets = copy_of(trace, t->bags.offsets, t->bag_total + 1, sizeof *t->bags.offsets);
  return t->bags.first && t->bags.offsets;
}

/* Lists and names; the tensors' data come once the counts have been found sound. */
static bool copy_lists(struct ss_trace *trace, const struct ss_trace_content *content) {
  trace->source = ss_arena_text(&trace->arena, content->source ? content->source : "");
  if (content->training) trace->training = ss_arena_text(&trace->arena, content->training);
  if (!trace->source || (content->training && !trace->training) ||
      !ss_take(&trace->arena, trace->tensor, content->tensors) ||
      !ss_take(&trace->arena, trace->dense, content->dense_count))
    return false;
  for (size_t i = 0; i < content->tensors; i++) {
    const char *name = ss_arena_text(&trace->arena, content->tensor[i].name ? content->tensor[i].name : "");
    if (!name) return false;
    trace->tensor[i] = (struct ss_tensor_data){.tensor = content->tensor[i]};
    trace->tensor[i].tensor.name = name;
  }
  for (size_t i = 0; i < content->dense_count; i++) {
    const char *name = ss_arena_text(&trace->arena, content->dense[i].name ? content->dense[i].name : "");
    if (!name) return false;
    trace->dense[i] = (struct ss_dense){name, content->dense[i].bytes};
  }
  return true;
}

/* With `copy` the trace owns its data; without, it is a view that must not outlive the content. */
static bool fill_tensor(struct ss_trace *trace, size_t i, const struct ss_trace_content *content, bool copy) {
  struct ss_tensor_data *t = &trace->tensor[i];
  const struct ss_values *values = content->values ? &content->values[i] : NULL;
  t->total = content->offsets[i][trace->segments];
  if (content->bags) t->bags = content->bags[i];
  if (t->bags.first) t->bag_total = t->bags.first[trace->segments];
  if (copy) {
    t->offsets = copy_of(trace, content->offsets[i], trace->segments + 1, sizeof *t->offsets);
    if (!t->offsets) return false;
    t->rows32 = copy_of(trace, content->rows[i], t->total, sizeof *t->rows32);
    return t->rows32 && copy_values(trace, t, values) && copy_bags(trace, t);
  }
  t->offsets = content->offsets[i];
  t->rows32 = content->rows ? content->rows[i] : NULL;
  if (values) {
    t->values = values->data;
    t->values_dtype = values->dtype;
  }
  return true;
}

static bool fill(struct ss_trace *trace, const struct ss_trace_content *content, bool copy, struct ss_error *error) {
  trace->iterations = content->iterations;
  trace->ranks = content->ranks;
  trace->gpus_per_node = content->gpus_per_node;
  trace->pad_id = content->pad_id;
  trace->made = content->made;
  trace->row_source = content->rows ? NULL : content->row_source;
  trace->tensors = content->tensors;
  trace->dense_count = content->dense_count;
  if (!copy_lists(trace, content)) return ss_fail_memory(error, "building a trace");
  if (!ss_trace_check_counts(trace, error)) return false;
  trace->segments = trace->iterations * trace->ranks;
  if (content->tokens) {
    trace->tokens = copy_of(trace, content->tokens, trace->segments, sizeof *trace->tokens);
    if (!trace->tokens) return ss_fail_memory(error, "building a trace");
  }
  for (uint64_t i = 0; trace->tokens && i < trace->segments; i++)
    if (trace->tokens[i] > SS_TRACE_COUNT_MAX)
      return ss_fail(error, SS_BAD_INPUT, "%s: a token count is more than 2^53", trace->name);
  for (size_t i = 0; i < trace->tensors; i++) {
    if (content->bags && content->bags[i].first && content->bags[i].first[trace->segments] > SS_TRACE_COUNT_MAX)
      return ss_fail(error, SS_BAD_INPUT, "%s: %s has more than 2^53 bags", trace->name,
                     trace->tensor[i].tensor.name);
    if (!fill_tensor(trace, i, content, copy)) return ss_fail_memory(error, "building a trace");
    if (!ss_trace_check_tensor(trace, i, error)) return false;
  }
  return true;
}

static bool from_content(const char *name, const struct ss_trace_content *content, bool copy, struct ss_trace **out,
                         struct ss_error *error) {
  *out = NULL;
  struct ss_trace *trace = ss_trace_new(name);
  if (!trace) return ss_fail_memory(error, "building a trace");
  if (fill(trace, content, copy, error)) {
    *out = trace;
    return true;
  }
  ss_trace_close(trace);
  return false;
}

bool ss_trace_build(const char *name, const struct ss_trace_content *content, struct ss_trace **out,
                    struct ss_error *error) {
  return from_content(name, content, true, out, error);
}

bool ss_trace_adopt(const char *name, const struct ss_trace_content *content, struct ss_arena *data,
                    struct ss_trace **out, struct ss_error *error) {
  if (!from_content(name, content, false, out, error)) return false;
  (*out)->data = *data;
  *data = (struct ss_arena){0};
  return true;
}

bool ss_trace_write(const char *path, const struct ss_trace_content *content, struct ss_error *error) {
  SS_AUTO_TRACE struct ss_trace *view = NULL;
  return from_content(path ? path : "-", content, false, &view, error) && ss_trace_save(path, view, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
