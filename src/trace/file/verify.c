#include "trace/file/trace_internal.h"

static bool check_distinct(const struct ss_trace *trace, struct ss_error *error) {
  SS_AUTO_FREE const char **names = ss_alloc(trace->tensors, sizeof *names);
  if (!names) return ss_fail_memory(error, "checking a trace");
  for (size_t i = 0; i < trace->tensors; i++) names[i] = trace->tensor[i].tensor.name;
  const char *twice = ss_sort_texts(names, trace->tensors);
  return !twice || ss_fail(error, SS_BAD_INPUT, "%s: two tensors are called \"%s\"", trace->name, twice);
}

static bool check_shape(const struct ss_trace *trace, const struct ss_tensor *tensor, struct ss_error *error) {
  if (!tensor->name || !*tensor->name) return ss_fail(error, SS_BAD_INPUT, "%s: a tensor has no name", trace->name);
  if (tensor->rows < 1 || tensor->rows > UINT32_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: %s has %" PRIu64 " rows; a trace holds 1 to %" PRIu32, trace->name,
                   tensor->name, tensor->rows, UINT32_MAX);
  if (tensor->row_width < 1)
    return ss_fail(error, SS_BAD_INPUT, "%s: %s has a row_width of 0", trace->name, tensor->name);
  uint64_t bytes;
  if (!ss_mul_u64(tensor->rows, (uint64_t)tensor->row_width * ss_dtype_bytes(tensor->dtype), &bytes) ||
      bytes > SS_TENSOR_BYTES_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: %s has %" PRIu64 " rows of %" PRIu32 " elements: more than 2^53 bytes",
                   trace->name, tensor->name, tensor->rows, tensor->row_width);
  return true;
}

bool ss_trace_check_counts(const struct ss_trace *trace, struct ss_error *error) {
  const char *name = trace->name;
  if (trace->iterations < 1) return ss_fail(error, SS_BAD_INPUT, "%s: has no iterations; it needs at least 1", name);
  if (trace->ranks < 1 || trace->ranks > SS_RANKS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: has %" PRIu32 " ranks; a trace has 1 to %" PRIu32, name, trace->ranks,
                   SS_RANKS_MAX);
  uint64_t segments;
  if (!ss_mul_u64(trace->iterations, trace->ranks, &segments) || segments > SS_TRACE_COUNT_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: %" PRIu64 " iterations of %" PRIu32 " ranks are too many", name,
                   trace->iterations, trace->ranks);
  if (trace->tensors < 1) return ss_fail(error, SS_BAD_INPUT, "%s: lists no tensor", name);
  if (trace->pad_id < -1 || trace->pad_id > UINT32_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: pad_id %" PRId64 " is not a row id", name, trace->pad_id);
  for (size_t i = 0; i < trace->dense_count; i++)
    if (trace->dense[i].bytes > SS_TRACE_COUNT_MAX)
      return ss_fail(error, SS_BAD_INPUT, "%s: dense tensor %s has more than 2^53 bytes", name, trace->dense[i].name);
  for (size_t i = 0; i < trace->tensors; i++)
    if (!check_shape(trace, &trace->tensor[i].tensor, error)) return false;
  return check_distinct(trace, error);
}

static bool check_offsets(const struct ss_trace *trace, const struct ss_tensor_data *t, struct ss_error *error) {
  const char *name = t->tensor.name;
  if (t->offsets[0] != 0)
    return ss_fail(error, SS_BAD_INPUT, "%s: %s.offsets begins with %" PRId64 ", not 0", trace->name, name,
                   (int64_t)t->offsets[0]);
  for (uint64_t i = 0; i < trace->segments; i++)
    if (t->offsets[i + 1] < t->offsets[i] || t->offsets[i + 1] > t->total)
      return ss_fail(error, SS_BAD_INPUT,
                     "%s: %s.offsets[%" PRIu64 "] is %" PRId64 ": not between the one before (%" PRIu64
                     ") and the number of rows looked up (%" PRIu64 ")",
                     trace->name, name, i + 1, (int64_t)t->offsets[i + 1], t->offsets[i], t->total);
  if (t->offsets[trace->segments] != t->total)
    return ss_fail(error, SS_BAD_INPUT, "%s: %s.offsets ends with %" PRIu64 ", but %s.rows has %" PRIu64 " entries",
                   trace->name, name, t->offsets[trace->segments], name, t->total);
  return true;
}

static bool fail_bags(const struct ss_trace *trace, const struct ss_tensor_data *t, const char *part, uint64_t at,
                      const char *why, struct ss_error *error) {
  const uint64_t *list = strcmp(part, "bags") == 0 ? t->bags.first : t->bags.offsets;
  return ss_fail(error, SS_BAD_INPUT, "%s: %s.%s[%" PRIu64 "] is %" PRId64 ": %s", trace->name, t->tensor.name, part,
                 at, (int64_t)list[at], why);
}

/* From 0 on, never back, up to `total`. Returns the first index that is not so, or `count`. */
static uint64_t first_wrong(const uint64_t *list, uint64_t count, uint64_t total) {
  uint64_t before = 0;
  for (uint64_t i = 0; i < count; before = list[i++])
    if (list[i] < before || list[i] > total || (i == 0 && list[i] != 0) || (i + 1 == count && list[i] != total))
      return i;
  return count;
}

/* No bag reaches over the end of its segment. */
static bool check_bags(const struct ss_trace *trace, const struct ss_tensor_data *t, struct ss_error *error) {
  const struct ss_bags *bags = &t->bags;
  uint64_t at;
  if (!bags->first) return true;
  at = first_wrong(bags->first, trace->segments + 1, t->bag_total);
  if (at <= trace->segments)
    return fail_bags(trace, t, "bags", at, "counts of bags begin with 0, do not fall and end with their number",
                     error);
  if (!bags->offsets) return true; /* what a source gives is checked as it is written */
  at = first_wrong(bags->offsets, t->bag_total + 1, t->total);
  if (at <= t->bag_total)
    return fail_bags(trace, t, "bag_offsets", at,
                     "offsets of bags begin with 0, do not fall and end with the number of rows looked up", error);
  for (uint64_t s = 0; s <= trace->segments; s++)
    if (bags->offsets[bags->first[s]] != t->offsets[s])
      return fail_bags(trace, t, "bag_offsets", bags->first[s], "not where a rank's lookups begin, as its bags do",
                       error);
  return true;
}

/* The largest of the ids [begin, end), seen as unsigned. */
static uint64_t largest_between(const struct ss_tensor_data *t, uint64_t begin, uint64_t end) {
  uint32_t most32 = 0;
  uint64_t most64 = 0;
  if (t->rows32)
    for (uint64_t i = begin; i < end; i++) most32 = t->rows32[i] > most32 ? t->rows32[i] : most32;
  else
    for (uint64_t i = begin; i < end; i++) most64 = (uint64_t)t->rows64[i] > most64 ? (uint64_t)t->rows64[i] : most64;
  return most32 | most64;
}

/* Fixed chunks: threads share them out, and a maximum does not depend on the order. */
static uint64_t largest(const struct ss_tensor_data *t) {
  enum { CHUNK = 1 << 20 };
  uint64_t largest = 0;
#pragma omp parallel for reduction(max : largest) if (t->total > CHUNK)
  for (uint64_t begin = 0; begin < t->total; begin += CHUNK) {
    const uint64_t most = largest_between(t, begin, t->total - begin < CHUNK ? t->total : begin + CHUNK);
    largest = most > largest ? most : largest;
  }
  return largest;
}

static int64_t id_at(const struct ss_tensor_data *t, uint64_t i) {
  if (!t->rows32) return t->rows64[i];
  return t->rows_signed ? (int64_t)(int32_t)t->rows32[i] : (int64_t)t->rows32[i];
}

static bool fail_id(const struct ss_trace *trace, const struct ss_tensor_data *t, struct ss_error *error) {
  uint64_t i = 0, segment = 0;
  while (id_at(t, i) >= 0 && (uint64_t)id_at(t, i) < t->tensor.rows) i++;
  while (t->offsets[segment + 1] <= i) segment++;
  return ss_fail(error, SS_BAD_INPUT,
                 "%s: %s.rows[%" PRIu64 "] (iteration %" PRIu64 ", rank %" PRIu64 ") is %" PRId64
                 ", not a row id from 0 to %" PRIu64,
                 trace->name, t->tensor.name, i, segment / trace->ranks, segment % trace->ranks, id_at(t, i),
                 t->tensor.rows - 1);
}

bool ss_trace_check_tensor(const struct ss_trace *trace, size_t tensor, struct ss_error *error) {
  const struct ss_tensor_data *t = &trace->tensor[tensor];
  if (!check_offsets(trace, t, error) || !check_bags(trace, t, error)) return false;
  if (t->total == 0 || trace->row_source || trace->made)
    return true; /* what a source gives is checked as it is written */
  /* Seen as unsigned, a negative id is large; in a tensor of more than 2^31 rows, still at least 2^31. */
  const uint64_t limit = t->rows_signed && t->tensor.rows > INT32_MAX ? (uint64_t)INT32_MAX + 1 : t->tensor.rows;
  return largest(t) < limit || fail_id(trace, t, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
