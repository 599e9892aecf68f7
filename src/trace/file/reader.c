#include "trace/file/safetensors.h"
#include "trace/file/trace_internal.h"

/* The entry's data in place, or a copy where the file has it at an address that its elements cannot be read from. */
static const void *entry_data(struct ss_trace *trace, const struct ss_safetensors *file,
                              const struct ss_safetensors_entry *entry) {
  const unsigned char *data = file->data + entry->begin;
  const uint64_t bytes = entry->end - entry->begin;
  if ((uintptr_t)data % ss_safetensors_kind_bytes(entry->kind) == 0) return data;
  void *copy = ss_arena_alloc(&trace->arena, bytes, 1);
  if (copy && bytes) memcpy(copy, data, bytes);
  return copy;
}

const char *const ss_trace_parts[SS_PARTS] = {"offsets", "rows", "values", "bags", "bag_offsets"};

enum { OFFSETS = 1 << SS_KIND_I64, IDS = OFFSETS | 1 << SS_KIND_I32 | 1 << SS_KIND_U32 };
static const struct {
  unsigned kinds;
  const char *wanted;
} elements[SS_PARTS] = {
    [SS_PART_OFFSETS] = {OFFSETS, "offsets are I64"},
    [SS_PART_ROWS] = {IDS, "row ids are I64, I32 or U32"},
    [SS_PART_VALUES] = {1 << SS_KIND_F32 | 1 << SS_KIND_F16 | 1 << SS_KIND_BF16, "values are F32, F16 or BF16"},
    [SS_PART_BAGS] = {OFFSETS, "offsets are I64"},
    [SS_PART_BAG_OFFSETS] = {OFFSETS, "offsets are I64"}};

struct found {
  struct ss_safetensors_entry *entry; /* NULL: there is none */
  const void *data;
};

/* Finds and claims the part of the tensor; its offsets and rows must be there. */
static bool find_part(struct ss_trace *trace, const struct ss_safetensors *file, const char *tensor,
                      enum ss_trace_part part, struct found *out, struct ss_error *error) {
  const size_t size = strlen(tensor) + strlen(ss_trace_parts[part]) + 2;
  SS_AUTO_FREE char *name = ss_alloc(size, 1);
  if (!name) return ss_fail_memory(error, "reading a trace");
  (void)snprintf(name, size, "%s.%s", tensor, ss_trace_parts[part]);
  struct ss_safetensors_entry *entry = ss_safetensors_find(file, name);
  *out = (struct found){.entry = entry};
  if (!entry)
    return part > SS_PART_ROWS ||
           ss_fail(error, SS_BAD_INPUT, "%s: has no entry \"%s\" for the tensor that its metadata lists", trace->name,
                   name);
  if (entry->claimed) return ss_fail(error, SS_BAD_INPUT, "%s: two tensors are called \"%s\"", trace->name, tensor);
  entry->claimed = true;
  if (!(elements[part].kinds & 1u << entry->kind))
    return ss_node_fail(entry->node, error, "is %s; %s", ss_safetensors_kinds[entry->kind], elements[part].wanted);
  out->data = entry_data(trace, file, entry);
  return out->data || ss_fail_memory(error, "copying what a trace holds");
}

/* One for each segment, and the end. */
static bool need_segments(const struct ss_trace *trace, const struct ss_safetensors_entry *entry,
                          struct ss_error *error) {
  return entry->count == trace->segments + 1 ||
         ss_node_fail(entry->node, error,
                      "has %" PRIu64 " numbers; %" PRIu64 " iterations of %" PRIu32 " ranks need %" PRIu64,
                      entry->count, trace->iterations, trace->ranks, trace->segments + 1);
}

static bool take_values(struct ss_tensor_data *t, const struct found *values, struct ss_error *error) {
  uint64_t wanted;
  if (!values->entry) return true;
  t->values_dtype = (enum ss_dtype)(values->entry->kind - SS_KIND_F32);
  t->values = values->data;
  return (ss_mul_u64(t->total, t->tensor.row_width, &wanted) && values->entry->count == wanted) ||
         ss_node_fail(values->entry->node, error,
                      "has %" PRIu64 " numbers; %" PRIu64 " rows of %" PRIu32 " elements are wanted",
                      values->entry->count, t->total, t->tensor.row_width);
}

/* Both entries or none. */
static bool take_bags(const struct ss_trace *trace, struct ss_tensor_data *t, const struct found *first,
                      const struct found *offsets, struct ss_error *error) {
  if (!first->entry && !offsets->entry) return true;
  if (!first->entry || !offsets->entry)
    return ss_node_fail((first->entry ? first : offsets)->entry->node, error, "needs %s.%s beside it", t->tensor.name,
                        ss_trace_parts[first->entry ? SS_PART_BAG_OFFSETS : SS_PART_BAGS]);
  if (!need_segments(trace, first->entry, error)) return false;
  if (offsets->entry->count < 1)
    return ss_node_fail(offsets->entry->node, error, "is empty; no bags at all have one offset, 0");
  t->bag_total = offsets->entry->count - 1;
  t->bags = (struct ss_bags){first->data, offsets->data};
  return true;
}

static bool read_tensor(struct ss_trace *trace, const struct ss_safetensors *file, struct ss_tensor_data *t,
                        struct ss_error *error) {
  struct found part[SS_PARTS];
  for (unsigned p = 0; p < SS_PARTS; p++)
    if (!find_part(trace, file, t->tensor.name, (enum ss_trace_part)p, &part[p], error)) return false;
  const struct found *rows = &part[SS_PART_ROWS];
  t->offsets = part[SS_PART_OFFSETS].data;
  t->total = rows->entry->count;
  t->rows_signed = rows->entry->kind == SS_KIND_I32;
  if (rows->entry->kind == SS_KIND_I64) t->rows64 = rows->data;
  else t->rows32 = rows->data;
  return need_segments(trace, part[SS_PART_OFFSETS].entry, error) && take_values(t, &part[SS_PART_VALUES], error) &&
         take_bags(trace, t, &part[SS_PART_BAGS], &part[SS_PART_BAG_OFFSETS], error);
}

static bool all_claimed(const struct ss_safetensors *file, struct ss_error *error) {
  for (size_t i = 0; i < file->entries; i++)
    if (!file->entry[i].claimed)
      return ss_node_fail(file->entry[i].node, error,
                          "belongs to no tensor in __metadata__.tensors (entries are NAME.offsets, NAME.rows, "
                          "NAME.values, NAME.bags and NAME.bag_offsets)");
  return true;
}

/* Reads trace->bytes. */
static bool read_bytes(struct ss_trace *trace, struct ss_error *error) {
  SS_AUTO(ss_safetensors_free) struct ss_safetensors file = {0};
  if (!ss_safetensors_parse(trace->name, trace->bytes, trace->size, &file, error) ||
      !ss_trace_read_metadata(trace, file.metadata, error) || !ss_trace_check_counts(trace, error))
    return false;
  for (size_t i = 0; i < trace->tensors; i++)
    if (!read_tensor(trace, &file, &trace->tensor[i], error)) return false;
  if (!all_claimed(&file, error)) return false;
  for (size_t i = 0; i < trace->tensors; i++)
    if (!ss_trace_check_tensor(trace, i, error)) return false;
  return true;
}

bool ss_trace_open_memory(const char *name, const void *bytes, size_t size, struct ss_trace **out,
                          struct ss_error *error) {
  struct ss_trace *trace = ss_trace_new(name);
  if (!trace) return ss_fail_memory(error, "opening a trace");
  trace->bytes = bytes;
  trace->size = size;
  if (read_bytes(trace, error)) {
    *out = trace;
    return true;
  }
  ss_trace_close(trace);
  return false;
}

bool ss_trace_open(const char *path, struct ss_trace **out, struct ss_error *error) {
  struct ss_mapping mapping;
  if (!path || !out) return ss_fail(error, SS_BAD_INPUT, "no path of a trace was given, or no place for it (NULL)");
  if (!ss_map_file(path, &mapping, error)) return false;
  if (!ss_trace_open_memory(path, mapping.data, mapping.size, out, error)) {
    ss_unmap_file(&mapping);
    return false;
  }
  (*out)->mapping = mapping;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
