/* Traces of a program's own arrays. */
#include "trace/file/trace.h"

#include "library/request.h"

/* What ss_trace_build takes. */
struct tables {
  struct ss_arena arena;
  struct ss_tensor *tensor;
  const uint64_t **offsets;
  const uint32_t **rows;
  struct ss_bags *bags;
};

static bool fail(const struct ss_tensor_ids *ids, struct ss_error *error, const char *format, ...) SS_PRINTF(3, 4);
static bool fail(const struct ss_tensor_ids *ids, struct ss_error *error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)ss_vfail(error, SS_BAD_INPUT, format, arguments);
  va_end(arguments);
  return ss_fail_prefix(error, "tensor %s", ids->name);
}

/* Sizes follow from offsets: these are checked before any id is read. */
static bool check_offsets(const struct ss_tensor_ids *ids, uint64_t segments, struct ss_error *error) {
  if (ids->offsets[0] != 0) return fail(ids, error, "offsets begin with %" PRIu64 ", not 0", ids->offsets[0]);
  for (uint64_t i = 0; i < segments; i++)
    if (ids->offsets[i + 1] < ids->offsets[i])
      return fail(ids, error, "offsets descend from %" PRIu64 " to %" PRIu64 " at place %" PRIu64, ids->offsets[i],
                  ids->offsets[i + 1], i + 1);
  return true;
}

static bool copy_ids(const struct ss_tensor_ids *ids, uint64_t total, uint32_t *out, uint64_t *rows,
                     struct ss_error *error) {
  const uint64_t most = ids->rows > 0 && ids->rows < UINT32_MAX ? ids->rows : UINT32_MAX;
  uint64_t largest = 0;
  for (uint64_t i = 0; i < total; i++) {
    const int64_t id = ids->ids[i];
    if ((uint64_t)id >= most) /* below 0, too */
      return fail(ids, error, "id %" PRId64 " at place %" PRIu64 " is not from 0 to %" PRIu64, id, i, most - 1);
    out[i] = (uint32_t)id;
    if (out[i] > largest) largest = out[i];
  }
  *rows = ids->rows > 0 ? ids->rows : largest + 1;
  return true;
}

static bool add_table(struct tables *t, size_t at, const struct ss_tensor_ids *ids, uint64_t segments,
                      struct ss_error *error) {
  if (!ss_argument_given(ids->name, "name of a tensor", error) ||
      !ss_argument_given(ids->offsets, "list of offsets", error) || !check_offsets(ids, segments, error))
    return false;
  const uint64_t total = ids->offsets[segments];
  uint32_t *rows;
  if (total > 0 && !ss_argument_given(ids->ids, "list of ids", error)) return false;
  if (ids->value_bytes != 0 && ids->value_bytes != 2 && ids->value_bytes != 4)
    return fail(ids, error, "elements of %" PRIu32 " bytes: 4 and 2 are known", ids->value_bytes);
  if (!ss_take(&t->arena, rows, total)) return ss_fail_memory(error, "making a trace");
  t->tensor[at] = (struct ss_tensor){.name = ids->name,
                                     .row_width = ids->row_width > 0 ? ids->row_width : 1,
                                     .dtype = ids->value_bytes == 2 ? SS_F16 : SS_F32};
  t->offsets[at] = ids->offsets;
  if (ids->bags && !ss_argument_given(ids->bag_offsets, "list of bags' offsets", error)) return false;
  if (ids->bag_offsets && !ids->bags)
    return fail(ids, error, "bags' offsets, but not which bags are whose: \"bags\" is missing");
  if (ids->bags) t->bags[at] = (struct ss_bags){ids->bags, ids->bag_offsets};
  t->rows[at] = rows;
  return copy_ids(ids, total, rows, &t->tensor[at].rows, error);
}

static bool make(struct tables *t, uint64_t segments, size_t tensors, const struct ss_tensor_ids *ids,
                 struct ss_error *error) {
  if (!ss_take_zero(&t->arena, t->bags, tensors) || !ss_take(&t->arena, t->tensor, tensors) ||
      !ss_take(&t->arena, t->offsets, tensors) || !ss_take(&t->arena, t->rows, tensors))
    return ss_fail_memory(error, "making a trace");
  for (size_t i = 0; i < tensors; i++)
    if (!add_table(t, i, &ids[i], segments, error)) return false;
  return true;
}

bool ss_trace_of_ids(uint64_t iterations, uint32_t ranks, size_t tensors, const struct ss_tensor_ids *tensor,
                     struct ss_trace **out, struct ss_error *error) {
  struct tables t = {0};
  uint64_t segments;
  if (!ss_argument_given(out, "place for the trace", error) || !ss_argument_given(tensor, "tensor", error))
    return false;
  *out = NULL;
  if (iterations == 0 || ranks == 0 || tensors == 0)
    return ss_fail(error, SS_BAD_INPUT, "a trace has at least one iteration, one rank and one tensor");
  if (ranks > SS_RANKS_MAX || iterations > UINT32_MAX || !ss_mul_u64(iterations, ranks, &segments))
    return ss_fail(error, SS_BAD_INPUT, "%" PRIu64 " iterations of %" PRIu32 " ranks are too many", iterations,
                   ranks);
  bool good = make(&t, segments, tensors, tensor, error);
  const struct ss_trace_content content = {.source = "ids that a program gave to libsparsync",
                                           .iterations = iterations,
                                           .ranks = ranks,
                                           .tensors = tensors,
                                           .tensor = t.tensor,
                                           .offsets = t.offsets,
                                           .rows = t.rows,
                                           .pad_id = -1,
                                           .bags = t.bags};
  good = good && ss_trace_build("ids", &content, out, error);
  ss_arena_free(&t.arena);
  return good;
}
/* SPDX-License-Identifier: Apache-2.0 */
