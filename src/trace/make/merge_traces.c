#include "trace/make/merge_traces.h"

#include "base/json.h"
#include "trace/file/trace_internal.h"

/* What parts must have in common; `source`: also where they come from. */
static cJSON *facts_of(const struct ss_trace *t, bool source) {
  char name[48];
  cJSON *facts = ss_json_object(SS_N("iterations", (double)t->iterations), SS_N("tensors", (double)t->tensors),
                                SS_N("dense tensors", (double)t->dense_count));
  for (size_t i = 0; i < t->tensors; i++) {
    const struct ss_tensor_data *d = &t->tensor[i];
    (void)snprintf(name, sizeof name, "tensor %zu", i);
    ss_json_add(facts, SS_J(name, ss_json_object(SS_T("name", d->tensor.name), SS_N("rows", (double)d->tensor.rows),
                                                 SS_N("row_width", d->tensor.row_width),
                                                 SS_T("dtype", ss_dtype_name(d->tensor.dtype)),
                                                 SS_T("values", d->values ? ss_dtype_name(d->values_dtype) : NULL),
                                                 SS_B("bags", d->bags.first != NULL))));
  }
  for (size_t i = 0; i < t->dense_count; i++) {
    (void)snprintf(name, sizeof name, "dense tensor %zu", i);
    ss_json_add(facts,
                SS_J(name, ss_json_object(SS_T("name", t->dense[i].name), SS_N("bytes", (double)t->dense[i].bytes))));
  }
  ss_json_add(facts, SS_N("pad_id", (double)t->pad_id), SS_N("gpus_per_node", t->gpus_per_node),
              SS_B("tokens", t->tokens != NULL), SS_T("source", source ? t->source : NULL));
  return facts;
}

/* The first thing in which they differ, if there is one. */
static bool check_same(const struct ss_trace *a, const struct ss_trace *b, const char *of, const cJSON *first,
                       const cJSON *other, struct ss_error *error) {
  SS_AUTO_JSON cJSON *list = cJSON_CreateArray();
  if (!first || !other || !list) return ss_fail_memory(error, "merging traces");
  ss_json_differences(list, of, first, other);
  if (!list->child) return true;
  const char *what = ss_json_word(list->child, "input");
  SS_AUTO_FREE char *was = cJSON_PrintUnformatted(ss_json_get(list->child, "was")),
                    *now = cJSON_PrintUnformatted(ss_json_get(list->child, "now"));
  if (!was || !now) return ss_fail_memory(error, "merging traces");
  return ss_fail(error, SS_BAD_INPUT, "%.200s: %s is %.100s; in %.200s it is %.100s%s", b->name, what, now, a->name,
                 was, strcmp(what, "source") == 0 ? " (say --source TEXT to give the merged trace one)" : "");
}

static bool check_agree(const struct ss_trace *a, const struct ss_trace *b, bool sources, struct ss_error *error) {
  SS_AUTO_JSON cJSON *first = facts_of(a, sources), *other = facts_of(b, sources);
  return check_same(a, b, "", first, other, error);
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

/* --- parts of a capture ------------------------------------------------------------------------------------- */

static bool read_training(const struct ss_trace *trace, struct ss_doc **out, struct ss_error *error) {
  char name[300];
  (void)snprintf(name, sizeof name, "%.200s: __metadata__.training", trace->name);
  return ss_doc_parse(name, trace->training, strlen(trace->training), out, error);
}

/* All parts of a capture say the same of it. */
static bool check_training(const struct ss_trace *a, const struct ss_trace *b, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *first = NULL, *other = NULL;
  if (!a->training && !b->training) return true;
  if (!a->training || !b->training)
    return ss_fail(error, SS_BAD_INPUT, "%.200s is captured from a training, %.200s is not: they are of two runs",
                   a->training ? a->name : b->name, a->training ? b->name : a->name);
  if (strcmp(a->training, b->training) == 0) return true;
  if (!read_training(a, &first, error) || !read_training(b, &other, error)) return false;
  const cJSON *one = ss_doc_root(first).at, *two = ss_doc_root(other).at;
  const char *run = ss_json_word(one, "run"), *another = ss_json_word(two, "run");
  if (run && another && strcmp(run, another) != 0)
    return ss_fail(error, SS_BAD_INPUT, "%.200s is of another run (%.40s) than %.200s (%.40s)", b->name, another,
                   a->name, run);
  return check_same(a, b, "training", one, two, error);
}

/* And all ranks that ran are there, each once. */
static bool check_world(const struct job *job, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  struct ss_node world;
  uint64_t ranks;
  if (!job->parts[0]->training) return true;
  for (size_t p = 0; p < job->count; p++)
    for (size_t q = 0; q < p; q++)
      if (strcmp(job->parts[p]->name, job->parts[q]->name) == 0)
        return ss_fail(error, SS_BAD_INPUT, "%.200s is given twice: each rank that ran counts once",
                       job->parts[p]->name);
  if (!read_training(job->parts[0], &doc, error) || !ss_node_need(ss_doc_root(doc), "world", &world, error) ||
      !ss_node_count(world, 1, SS_RANKS_MAX, &ranks, error))
    return false;
  return ranks == job->ranks || ss_fail(error, SS_BAD_INPUT,
                                        "the training ran on %" PRIu64 " ranks, the parts have %" PRIu64
                                        " (each process wrote one: PREFIX-rank0000.safetensors and so on)",
                                        ranks, job->ranks);
}

static void copy_tokens(const struct job *job, uint64_t *out) {
  for (uint64_t t = 0; t < job->iterations; t++)
    for (size_t p = 0; p < job->count; p++) {
      const struct ss_trace *part = job->parts[p];
      memcpy(out, part->tokens + t * part->ranks, part->ranks * sizeof *out);
      out += part->ranks;
    }
}

/* What is merged of one tensor; NULL where it has no values, or no bags. */
struct merged {
  uint64_t *offsets, *first_bags, *bag_offsets; /* from 0 on */
  uint32_t *rows;
  char *values;
  enum ss_dtype dtype;
};

static void copy_segments(const struct job *job, size_t tensor, const struct merged *out) {
  const uint64_t row =
      (uint64_t)job->parts[0]->tensor[tensor].tensor.row_width * ss_dtype_bytes(out->dtype); /* B of its values */
  uint64_t lookups = 0, bags = 0, segment = 0;
  for (uint64_t t = 0; t < job->iterations; t++)
    for (size_t p = 0; p < job->count; p++)
      for (uint32_t r = 0; r < job->parts[p]->ranks; r++) {
        const struct ss_trace *part = job->parts[p];
        const uint64_t count = ss_trace_count(part, tensor, t, r), more = ss_trace_bags(part, tensor, t, r);
        const uint64_t *at = ss_trace_bag_offsets(part, tensor, t, r);
        enum ss_dtype dtype;
        const void *values = ss_trace_values(part, tensor, t, r, &dtype);
        ss_trace_rows(part, tensor, t, r, out->rows + lookups);
        if (out->values && count > 0) memcpy(out->values + lookups * row, values, count * row);
        for (uint64_t b = 1; out->bag_offsets && b <= more; b++) out->bag_offsets[bags + b] = lookups + at[b] - at[0];
        lookups += count;
        bags += more;
        out->offsets[++segment] = lookups;
        if (out->first_bags) out->first_bags[segment] = bags;
      }
}

static bool merge_tensor(const struct job *job, size_t tensor, struct merged *out) {
  const struct ss_tensor_data *first = &job->parts[0]->tensor[tensor];
  const uint64_t segments = job->iterations * job->ranks;
  uint64_t total = 0, bags = 0, elements;
  for (size_t p = 0; p < job->count; p++) {
    total += job->parts[p]->tensor[tensor].total;
    bags += job->parts[p]->tensor[tensor].bag_total;
  }
  *out = (struct merged){.dtype = first->values_dtype};
  if (!ss_take_zero(job->data, out->offsets, segments + 1) || !ss_take(job->data, out->rows, total)) return false;
  if (first->values) {
    if (!ss_mul_u64(total, first->tensor.row_width, &elements)) return false;
    out->values = ss_arena_alloc(job->data, elements, ss_dtype_bytes(out->dtype));
    if (!out->values) return false;
  }
  if (first->bags.first && (!ss_take_zero(job->data, out->first_bags, segments + 1) ||
                            !ss_take_zero(job->data, out->bag_offsets, bags + 1)))
    return false;
  copy_segments(job, tensor, out);
  return true;
}

static bool merge(const struct job *job, const char *source, struct ss_trace **out, struct ss_error *error) {
  const struct ss_trace *first = job->parts[0];
  SS_AUTO(ss_arena_free) struct ss_arena lists = {0};
  const size_t n = job->tensors;
  struct ss_tensor *tensor = ss_arena_alloc(&lists, n, sizeof *tensor);
  const uint64_t **offsets = ss_arena_alloc(&lists, n, sizeof *offsets);
  const uint32_t **rows = ss_arena_alloc(&lists, n, sizeof *rows);
  struct ss_values *values = ss_arena_alloc(&lists, n, sizeof *values);
  struct ss_bags *bags = ss_arena_zero(&lists, n, sizeof *bags);
  uint64_t *tokens = ss_arena_alloc(&lists, job->iterations * job->ranks, sizeof *tokens);
  if (!tensor || !offsets || !rows || !values || !bags || !tokens) return ss_fail_memory(error, "merging traces");
  for (size_t i = 0; i < n; i++) {
    struct merged merged;
    tensor[i] = first->tensor[job->kept[i]].tensor;
    if (!merge_tensor(job, job->kept[i], &merged)) return ss_fail_memory(error, "merging traces");
    offsets[i] = merged.offsets;
    rows[i] = merged.rows;
    values[i] = (struct ss_values){merged.values, merged.dtype};
    bags[i] = (struct ss_bags){merged.first_bags, merged.bag_offsets};
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
                                           .training = first->training,
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
  SS_AUTO(ss_arena_free) struct ss_arena data = {0};
  struct job job = {.parts = parts, .count = count, .data = &data};
  if (count < 1) return ss_fail(error, SS_BAD_INPUT, "nothing to merge");
  job.iterations = parts[0]->iterations;
  for (size_t p = 0; p < count; p++) {
    if (!check_training(parts[0], parts[p], error) ||
        !check_agree(parts[0], parts[p], options->source == NULL, error))
      return false;
    job.ranks += parts[p]->ranks;
  }
  if (job.ranks > SS_RANKS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "the parts have %" PRIu64 " ranks together; a trace has at most %" PRIu32,
                   job.ranks, SS_RANKS_MAX);
  SS_AUTO_FREE size_t *kept = ss_alloc(parts[0]->tensors, sizeof *kept);
  if (!check_world(&job, error)) return false;
  if (!kept) return ss_fail_memory(error, "merging traces");
  job.kept = kept;
  return keep(parts[0], options, kept, &job.tensors, error) && merge(&job, options->source, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
