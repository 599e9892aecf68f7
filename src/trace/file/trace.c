#include "trace/file/trace_internal.h"

#include "base/suggest.h"

#include <xxhash.h>

uint32_t ss_dtype_bytes(enum ss_dtype dtype) {
  return dtype == SS_F32 ? 4 : 2;
}

/* IEEE 754 binary16. */
static double half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double magnitude = ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 0) magnitude = ldexp(mantissa, -24);
  if (exponent == 31) magnitude = mantissa ? NAN : INFINITY;
  return bits >> 15 ? -magnitude : magnitude;
}

double ss_dtype_value(enum ss_dtype dtype, const void *values, uint64_t i) {
  uint32_t bits;
  float single;
  switch (dtype) {
  case SS_F32: return (double)((const float *)values)[i];
  case SS_F16: return half(((const uint16_t *)values)[i]);
  case SS_BF16: /* the upper half of a single */
    bits = (uint32_t)((const uint16_t *)values)[i] << 16;
    memcpy(&single, &bits, sizeof single);
    return (double)single;
  }
  return 0;
}

const char *const ss_dtypes[] = {[SS_F32] = "F32", [SS_F16] = "F16", [SS_BF16] = "BF16", NULL};

const char *ss_dtype_name(enum ss_dtype dtype) {
  return ss_dtypes[dtype];
}

struct ss_trace *ss_trace_new(const char *name) {
  struct ss_trace *trace = ss_alloc_zero(1, sizeof *trace);
  if (!trace) return NULL;
  trace->pad_id = -1;
  trace->source = "";
  trace->name = ss_arena_text(&trace->arena, name);
  if (trace->name) return trace;
  ss_trace_close(trace);
  return NULL;
}

bool ss_trace_find(const struct ss_trace *trace, const char *name, size_t *out, struct ss_error *error) {
  for (*out = 0; *out < trace->tensors; ++*out)
    if (strcmp(trace->tensor[*out].tensor.name, name) == 0) return true;
  SS_AUTO_FREE const char **names = ss_alloc_zero(trace->tensors + 1, sizeof *names);
  for (size_t i = 0; names && i < trace->tensors; i++) names[i] = trace->tensor[i].tensor.name;
  return ss_fail(error, SS_BAD_INPUT, "%s: has no tensor \"%s\"%s", trace->name, name,
                 names ? ss_suggest(name, names, "sparsync trace info lists them").text : "");
}

bool ss_trace_keep(struct ss_trace *trace, const char *const *names, size_t count, struct ss_error *error) {
  SS_AUTO_FREE struct ss_tensor_data *kept = ss_alloc(count, sizeof *kept);
  if (!kept) return ss_fail_memory(error, "reading a trace");
  for (size_t i = 0, at; i < count; i++) {
    if (!ss_trace_find(trace, names[i], &at, error)) return false;
    for (size_t k = 0; k < i; k++)
      if (strcmp(names[k], names[i]) == 0)
        return ss_fail(error, SS_BAD_INPUT, "tensor \"%s\" is named twice", names[i]);
    kept[i] = trace->tensor[at];
  }
  if (count > 0) memcpy(trace->tensor, kept, count * sizeof *kept);
  if (count > 0) trace->tensors = count;
  return true;
}

bool ss_trace_window(const struct ss_trace *trace, uint64_t first, uint64_t *end, uint32_t *ranks,
                     struct ss_error *error) {
  if (*end == 0) *end = trace->iterations;
  if (*ranks == 0) *ranks = trace->ranks;
  if (first >= *end || *end > trace->iterations)
    return ss_fail(error, SS_BAD_INPUT, "%s: iterations %" PRIu64 ":%" PRIu64 " are not within its 0:%" PRIu64,
                   trace->name, first, *end, trace->iterations);
  return *ranks <= trace->ranks ||
         ss_fail(error, SS_BAD_INPUT, "%s: has %" PRIu32 " ranks, not %" PRIu32, trace->name, trace->ranks, *ranks);
}

void ss_trace_close(struct ss_trace *trace) {
  if (!trace) return;
  ss_unmap_file(&trace->mapping);
  ss_arena_free(&trace->arena);
  ss_arena_free(&trace->data);
  free(trace);
}

const char *ss_trace_name(const struct ss_trace *trace) {
  return trace->name;
}

const char *ss_trace_source(const struct ss_trace *trace) {
  return trace->source;
}

uint64_t ss_trace_iterations(const struct ss_trace *trace) {
  return trace ? trace->iterations : 0;
}

uint32_t ss_trace_ranks(const struct ss_trace *trace) {
  return trace ? trace->ranks : 0;
}

uint32_t ss_trace_gpus_per_node(const struct ss_trace *trace) {
  return trace->gpus_per_node;
}

size_t ss_trace_tensors(const struct ss_trace *trace) {
  return trace ? trace->tensors : 0;
}

const struct ss_tensor *ss_trace_tensor(const struct ss_trace *trace, size_t tensor) {
  assert(tensor < trace->tensors);
  return &trace->tensor[tensor].tensor;
}

size_t ss_trace_dense_count(const struct ss_trace *trace) {
  return trace->dense_count;
}

const struct ss_dense *ss_trace_dense(const struct ss_trace *trace, size_t i) {
  assert(i < trace->dense_count);
  return &trace->dense[i];
}

static uint64_t segment(const struct ss_trace *trace, uint64_t iteration, uint32_t rank) {
  assert(iteration < trace->iterations && rank < trace->ranks);
  if (!trace->captured) return iteration * trace->ranks + rank;
  const uint64_t block = rank / trace->from;
  return (iteration + block * trace->iterations) * trace->captured->ranks + rank % trace->from;
}

uint64_t ss_trace_tokens(const struct ss_trace *trace, uint64_t iteration, uint32_t rank) {
  return trace->tokens ? trace->tokens[segment(trace, iteration, rank)] : 0;
}

const char *ss_trace_training(const struct ss_trace *trace) {
  return trace->training;
}

int64_t ss_trace_pad_id(const struct ss_trace *trace) {
  return trace->pad_id;
}

uint64_t ss_trace_count(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank) {
  assert(tensor < trace->tensors);
  const uint64_t *offset = trace->tensor[tensor].offsets + segment(trace, iteration, rank);
  return offset[1] - offset[0];
}

void ss_trace_rows(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank, uint32_t *out) {
  const struct ss_tensor_data *t = &trace->tensor[tensor];
  const uint64_t count = ss_trace_count(trace, tensor, iteration, rank);
  const uint64_t first = t->offsets[segment(trace, iteration, rank)];
  const struct ss_trace *own = trace->captured ? trace->captured : trace;
  if (count == 0) return;
  if (own->made) {
    const uint64_t at = segment(trace, iteration, rank);
    own->made->rows(own->made->law, at / own->ranks, (uint32_t)(at % own->ranks), out);
    return;
  }
  if (t->rows32) {
    memcpy(out, t->rows32 + first, count * sizeof *out);
    return;
  }
  for (uint64_t i = 0; i < count; i++) out[i] = (uint32_t)t->rows64[first + i];
}

const uint32_t *ss_trace_rows_mapped(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank) {
  assert(tensor < trace->tensors);
  const struct ss_tensor_data *t = &trace->tensor[tensor];
  return t->rows32 ? t->rows32 + t->offsets[segment(trace, iteration, rank)] : NULL;
}

void ss_trace_release(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank) {
  enum { LONG = 1 << 18 };
  const uint32_t *rows = ss_trace_rows_mapped(trace, tensor, iteration, rank);
  const uint64_t count = ss_trace_count(trace, tensor, iteration, rank);
  const struct ss_mapping *mapping = trace->captured ? &trace->captured->mapping : &trace->mapping;
  if (rows && count >= LONG) ss_release_mapped(mapping, rows, count * sizeof *rows);
}

uint64_t ss_trace_total(const struct ss_trace *trace, size_t tensor) {
  assert(tensor < trace->tensors);
  return trace->tensor[tensor].total;
}

bool ss_trace_has_values(const struct ss_trace *trace, size_t tensor) {
  assert(tensor < trace->tensors);
  return trace->tensor[tensor].values != NULL;
}

const void *ss_trace_values(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank,
                            enum ss_dtype *dtype) {
  assert(tensor < trace->tensors);
  const struct ss_tensor_data *t = &trace->tensor[tensor];
  if (!t->values) return NULL;
  *dtype = t->values_dtype;
  const uint64_t first = t->offsets[segment(trace, iteration, rank)];
  return (const char *)t->values + first * t->tensor.row_width * ss_dtype_bytes(t->values_dtype);
}

bool ss_trace_has_bags(const struct ss_trace *trace, size_t tensor) {
  assert(tensor < trace->tensors);
  return trace->tensor[tensor].bags.first != NULL;
}

uint64_t ss_trace_bags(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank) {
  if (!ss_trace_has_bags(trace, tensor)) return 0;
  const uint64_t *first = trace->tensor[tensor].bags.first + segment(trace, iteration, rank);
  return first[1] - first[0];
}

const uint64_t *ss_trace_bag_offsets(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank) {
  if (!ss_trace_has_bags(trace, tensor)) return NULL;
  const struct ss_bags *bags = &trace->tensor[tensor].bags;
  return bags->offsets + bags->first[segment(trace, iteration, rank)];
}

uint64_t ss_trace_all_bags(const struct ss_trace *trace, size_t tensor) {
  assert(tensor < trace->tensors);
  return trace->tensor[tensor].bag_total;
}

uint64_t ss_trace_hash(const struct ss_trace *trace) {
  if (trace->bytes) return XXH64(trace->bytes, trace->size, 0);
  if (trace->captured) {
    const uint64_t all[] = {ss_trace_hash(trace->captured), trace->from, trace->ranks};
    return XXH64(all, sizeof all, 0);
  }
  uint64_t hash = 0;
  for (size_t i = 0; i < trace->tensors; i++) {
    const struct ss_tensor_data *t = &trace->tensor[i];
    hash = XXH64(t->offsets, (trace->segments + 1) * sizeof *t->offsets, hash);
    if (trace->made) hash = XXH64(trace->source, strlen(trace->source), hash);
    else hash = XXH64(t->rows32, t->total * sizeof *t->rows32, hash);
    if (!t->bags.first) continue;
    hash = XXH64(t->bags.first, (trace->segments + 1) * sizeof *t->bags.first, hash);
    hash = XXH64(t->bags.offsets, (t->bag_total + 1) * sizeof *t->bags.offsets, hash);
  }
  return hash;
}

bool ss_trace_values_most(const struct ss_trace *trace, size_t tensor, double *out, struct ss_error *error) {
  *out = 0;
  if (trace->captured) return ss_trace_values_most(trace->captured, tensor, out, error);
  if (!ss_trace_has_values(trace, tensor)) return true;
  const struct ss_tensor *shape = ss_trace_tensor(trace, tensor);
  for (uint64_t t = 0; t < ss_trace_iterations(trace); t++)
    for (uint32_t r = 0; r < ss_trace_ranks(trace); r++) {
      enum ss_dtype dtype = SS_F32;
      const void *values = ss_trace_values(trace, tensor, t, r, &dtype);
      const uint64_t n = ss_trace_count(trace, tensor, t, r) * shape->row_width;
      for (uint64_t i = 0; i < n; i++) {
        const double magnitude = fabs(ss_dtype_value(dtype, values, i));
        if (!isfinite(magnitude))
          return ss_fail(error, SS_BAD_INPUT, "tensor %s: a value of rank %u in iteration %llu is not finite",
                         shape->name, r, (unsigned long long)t);
        *out = fmax(*out, magnitude);
      }
    }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
