#include "trace/make/merge_traces.h"

#include "trace/file/trace_internal.h"

#include <inttypes.h>
#include <string.h>

/* "B: WHAT is X; A has Y": the parts cannot be one trace. */
static bool differ(const struct ss_trace *a, const struct ss_trace *b, struct ss_error *error, const char *what,
                   const char *of_a, const char *of_b) {
  return ss_fail(error, SS_BAD_INPUT, "%.200s: %.100s is %.100s; in %.200s it is %.100s", b->name, what, of_b,
                 a->name, of_a);
}

static bool same_number(const struct ss_trace *a, const struct ss_trace *b, struct ss_error *error, const char *what,
                        uint64_t of_a, uint64_t of_b) {
  char x[24], y[24];
  if (of_a == of_b) return true;
  (void)snprintf(x, sizeof x, "%" PRId64, (int64_t)of_a);
  (void)snprintf(y, sizeof y, "%" PRId64, (int64_t)of_b);
  return differ(a, b, error, what, x, y);
}

static bool same_text(const struct ss_trace *a, const struct ss_trace *b, struct ss_error *error, const char *what,
                      const char *of_a, const char *of_b) {
  char x[100], y[100];
  if (strcmp(of_a, of_b) == 0) return true;
  (void)snprintf(x, sizeof x, "\"%.90s\"", of_a);
  (void)snprintf(y, sizeof y, "\"%.90s\"", of_b);
  return differ(a, b, error, what, x, y);
}

static const char *values_name(const struct ss_tensor_data *t) {
  return t->values ? ss_dtype_name(t->values_dtype) : "absent";
}

static bool same_tensor(const struct ss_trace *a, const struct ss_trace *b, size_t i, struct ss_error *error) {
  const struct ss_tensor_data *x = &a->tensor[i], *y = &b->tensor[i];
  char what[120];
  (void)snprintf(what, sizeof what, "tensor %zu's name", i);
  if (!same_text(a, b, error, what, x->tensor.name, y->tensor.name)) return false;
  (void)snprintf(what, sizeof what, "%.80s's number of rows", x->tensor.name);
  if (!same_number(a, b, error, what, x->tensor.rows, y->tensor.rows)) return false;
  (void)snprintf(what, sizeof what, "%.80s's row_width", x->tensor.name);
  if (!same_number(a, b, error, what, x->tensor.row_width, y->tensor.row_width)) return false;
  (void)snprintf(what, sizeof what, "%.80s's dtype", x->tensor.name);
  if (!same_text(a, b, error, what, ss_dtype_name(x->tensor.dtype), ss_dtype_name(y->tensor.dtype))) return false;
  (void)snprintf(what, sizeof what, "the dtype of %.80s.values", x->tensor.name);
  if (!same_text(a, b, error, what, values_name(x), values_name(y))) return false;
  (void)snprintf(what, sizeof what, "whether %.80s has bags (1: yes)", x->tensor.name);
  return same_number(a, b, error, what, x->bags.first != NULL, y->bags.first != NULL);
}

static bool same_dense(const struct ss_trace *a, const struct ss_trace *b, struct ss_error *error) {
  if (!same_number(a, b, error, "the number of dense tensors", a->dense_count, b->dense_count)) return false;
  for (size_t i = 0; i < a->dense_count; i++) {
    char what[120];
    (void)snprintf(what, sizeof what, "dense tensor %zu's name", i);
    if (!same_text(a, b, error, what, a->dense[i].name, b->dense[i].name)) return false;
    (void)snprintf(what, sizeof what, "the size of dense tensor %.80s", a->dense[i].name);
    if (!same_number(a, b, error, what, a->dense[i].bytes, b->dense[i].bytes)) return false;
  }
  return true;
}

static bool check_agree(const struct ss_trace *a, const struct ss_trace *b, bool sources, struct ss_error *error) {
  if (!same_number(a, b, error, "the number of iterations", a->iterations, b->iterations) ||
      !same_number(a, b, error, "the number of tensors", a->tensors, b->tensors))
    return false;
  for (size_t i = 0; i < a->tensors; i++)
    if (!same_tensor(a, b, i, error)) return false;
  if (!same_dense(a, b, error) ||
      !same_number(a, b, error, "pad_id (-1: none)", (uint64_t)a->pad_id, (uint64_t)b->pad_id) ||
      !same_number(a, b, error, "gpus_per_node (0: none)", a->gpus_per_node, b->gpus_per_node) ||
      !same_number(a, b, error, "whether tokens are counted (1: yes)", a->tokens != NULL, b->tokens != NULL))
    return false;
  if (!sources || same_text(a, b, error, "source", a->source, b->source)) return true;
  return ss_fail(error, SS_BAD_INPUT,
                 "%.200s: source is \"%.100s\"; in %.200s it is \"%.100s\" (say --source TEXT to give "
                 "the merged trace one)",
                 b->name, b->source, a->name, a->source);
}

/* The merged trace being put together. */
struct job {
  const struct ss_trace *const *parts;
  size_t count;
  uint64_t iterations, ranks;
  struct ss_arena *data;
  const size_t *kept; /* [tensors] indices in every part */
  size_t tensors;
};

static void copy_tokens(const struct job *job, uint64_t *out) {
  for (uint64_t t = 0; t < job->iterations; t++)
    for (size_t p = 0; p < job->count; p++) {
      const struct ss_trace *part = job->parts[p];
      memcpy(out, part->tokens + t * part->ranks, part->ranks * sizeof *out);
      out += part->ranks;
    }
}

static void copy_rows(const struct job *job, size_t tensor, uint32_t *rows, uint64_t *offsets) {
  uint64_t offset = 0;
  *offsets++ = 0;
  for (uint64_t t = 0; t < job->iterations; t++)
    for (size_t p = 0; p < job->count; p++)
      for (uint32_t r = 0; r < job->parts[p]->ranks; r++) {
        ss_trace_rows(job->parts[p], tensor, t, r, rows + offset);
        offset += ss_trace_count(job->parts[p], tensor, t, r);
        *offsets++ = offset;
      }
}

static void copy_values(const struct job *job, size_t tensor, char *out) {
  for (uint64_t t = 0; t < job->iterations; t++)
    for (size_t p = 0; p < job->count; p++) {
      /* a part's ranks of one iteration lie side by side */
      const struct ss_trace *part = job->parts[p];
      const struct ss_tensor_data *from = &part->tensor[tensor];
      const uint64_t row = (uint64_t)from->tensor.row_width * ss_dtype_bytes(from->values_dtype);
      const uint64_t first = from->offsets[t * part->ranks], end = from->offsets[(t + 1) * part->ranks];
      if (end > first) memcpy(out, (const char *)from->values + first * row, (end - first) * row);
      out += (end - first) * row;
    }
}

static void copy_bags(const struct job *job, size_t tensor, uint64_t *first, uint64_t *offsets) {
  uint64_t bags = 0, lookups = 0;
  *first++ = 0;
  offsets[0] = 0;
  for (uint64_t t = 0; t < job->iterations; t++)
    for (size_t p = 0; p < job->count; p++)
      for (uint32_t r = 0; r < job->parts[p]->ranks; r++) {
        const uint64_t n = ss_trace_bags(job->parts[p], tensor, t, r);
        const uint64_t *at = ss_trace_bag_offsets(job->parts[p], tensor, t, r);
        for (uint64_t b = 1; b <= n; b++) offsets[bags + b] = lookups + at[b] - at[0];
        bags += n;
        lookups = offsets[bags];
        *first++ = bags;
      }
}

static bool merge_bags(const struct job *job, size_t tensor, struct ss_bags *out) {
  uint64_t total = 0;
  if (!job->parts[0]->tensor[tensor].bags.first) return true;
  for (size_t p = 0; p < job->count; p++) total += job->parts[p]->tensor[tensor].bag_total;
  uint64_t *first = ss_arena_alloc(job->data, job->iterations * job->ranks + 1, sizeof *first);
  uint64_t *offsets = ss_arena_alloc(job->data, total + 1, sizeof *offsets);
  if (!first || !offsets) return false;
  copy_bags(job, tensor, first, offsets);
  *out = (struct ss_bags){first, offsets};
  return true;
}

static bool merge_tensor(const struct job *job, size_t tensor, const uint64_t **offsets_out,
                         const uint32_t **rows_out, struct ss_values *values) {
  const struct ss_tensor_data *first = &job->parts[0]->tensor[tensor];
  uint64_t total = 0;
  for (size_t p = 0; p < job->count; p++) total += job->parts[p]->tensor[tensor].total;
  uint64_t *offsets = ss_arena_alloc(job->data, job->iterations * job->ranks + 1, sizeof *offsets);
  uint32_t *rows = ss_arena_alloc(job->data, total, sizeof *rows);
  if (!offsets || !rows) return false;
  copy_rows(job, tensor, rows, offsets);
  *offsets_out = offsets;
  *rows_out = rows;
  if (!first->values) return true;

  uint64_t elements;
  if (!ss_mul_u64(total, first->tensor.row_width, &elements)) return false;
  char *data = ss_arena_alloc(job->data, elements, ss_dtype_bytes(first->values_dtype));
  if (!data) return false;
  copy_values(job, tensor, data);
  *values = (struct ss_values){data, first->values_dtype};
  return true;
}

static bool merge(const struct job *job, const char *source, struct ss_trace **out, struct ss_error *error) {
  const struct ss_trace *first = job->parts[0];
  struct ss_arena lists __attribute__((cleanup(ss_arena_free))) = {0};
  const size_t n = job->tensors;
  struct ss_tensor *tensor = ss_arena_alloc(&lists, n, sizeof *tensor);
  const uint64_t **offsets = ss_arena_alloc(&lists, n, sizeof *offsets);
  const uint32_t **rows = ss_arena_alloc(&lists, n, sizeof *rows);
  struct ss_values *values = ss_arena_alloc(&lists, n, sizeof *values);
  struct ss_bags *bags = ss_arena_zero(&lists, n, sizeof *bags);
  uint64_t *tokens = ss_arena_alloc(&lists, job->iterations * job->ranks, sizeof *tokens);
  if (!tensor || !offsets || !rows || !values || !bags || !tokens) return ss_fail_memory(error, "merging traces");
  for (size_t i = 0; i < n; i++) {
    tensor[i] = first->tensor[job->kept[i]].tensor;
    values[i] = (struct ss_values){0};
    if (!merge_tensor(job, job->kept[i], &offsets[i], &rows[i], &values[i]) ||
        !merge_bags(job, job->kept[i], &bags[i]))
      return ss_fail_memory(error, "merging traces");
  }
  if (first->tokens) copy_tokens(job, tokens);
  const struct ss_trace_content content = {.source = source ? source : first->source,
                                           .iterations = job->iterations,
                                           .ranks = (uint32_t)job->ranks,
                                           .tensors = n,
                                           .tensor = tensor,
                                           .offsets = offsets,
                                           .rows = rows,
                                           .dense_count = first->dense_count,
                                           .dense = first->dense,
                                           .tokens = first->tokens ? tokens : NULL,
                                           .pad_id = first->pad_id,
                                           .gpus_per_node = first->gpus_per_node,
                                           .values = values,
                                           .bags = bags};
  return ss_trace_adopt("merged", &content, job->data, out, error);
}

/* The tensors that the options name, in the order of the trace: a name that it has not is an error. */
static bool keep(const struct ss_trace *trace, const struct ss_merge_options *options, size_t *kept, size_t *count,
                 struct ss_error *error) {
  *count = 0;
  for (size_t i = 0; i < trace->tensors; i++) {
    bool wanted = options->tensors == 0;
    for (size_t k = 0; k < options->tensors; k++)
      wanted = wanted || strcmp(options->tensor[k], trace->tensor[i].tensor.name) == 0;
    if (wanted) kept[(*count)++] = i;
  }
  for (size_t k = 0, at; k < options->tensors; k++)
    if (!ss_trace_find(trace, options->tensor[k], &at, error)) return false;
  return true;
}

bool ss_trace_merge(const struct ss_trace *const *parts, size_t count, const struct ss_merge_options *options,
                    struct ss_trace **out, struct ss_error *error) {
  struct ss_arena data = {0};
  struct job job = {.parts = parts, .count = count, .data = &data};
  if (count < 1) return ss_fail(error, SS_BAD_INPUT, "nothing to merge");
  job.iterations = parts[0]->iterations;
  for (size_t p = 0; p < count; p++) {
    if (!check_agree(parts[0], parts[p], options->source == NULL, error)) return false;
    job.ranks += parts[p]->ranks;
  }
  if (job.ranks > SS_RANKS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "the parts have %" PRIu64 " ranks together; a trace has at most %" PRIu32,
                   job.ranks, SS_RANKS_MAX);
  SS_AUTO_FREE size_t *kept = ss_alloc(parts[0]->tensors, sizeof *kept);
  if (!kept) return ss_fail_memory(error, "merging traces");
  job.kept = kept;
  const bool good = keep(parts[0], options, kept, &job.tensors, error) && merge(&job, options->source, out, error);
  ss_arena_free(&data);
  return good;
}
