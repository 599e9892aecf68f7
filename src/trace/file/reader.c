#include "trace/file/safetensors.h"
#include "trace/file/trace_internal.h"

#include <inttypes.h>
#include <string.h>

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

/* Finds and claims "TENSOR.PART"; *out is NULL when there is none. */
static bool find_part(struct ss_trace *trace, const struct ss_safetensors *file, const char *tensor, const char *part,
                      struct ss_safetensors_entry **out, struct ss_error *error) {
  const size_t size = strlen(tensor) + strlen(part) + 2;
  SS_AUTO_FREE char *name = ss_alloc(size, 1);
  if (!name) return ss_fail_memory(error, "reading a trace");
  (void)snprintf(name, size, "%s.%s", tensor, part);
  *out = ss_safetensors_find(file, name);
  if (!*out) return true;
  if ((*out)->claimed) return ss_fail(error, SS_BAD_INPUT, "%s: two tensors are called \"%s\"", trace->name, tensor);
  (*out)->claimed = true;
  return true;
}

static bool need_part(struct ss_trace *trace, const struct ss_safetensors *file, const char *tensor, const char *part,
                      struct ss_safetensors_entry **out, struct ss_error *error) {
  if (!find_part(trace, file, tensor, part, out, error)) return false;
  return *out || ss_fail(error, SS_BAD_INPUT, "%s: has no entry \"%s.%s\" for the tensor that its metadata lists",
                         trace->name, tensor, part);
}

static bool need_offsets(const struct ss_safetensors_entry *entry, struct ss_error *error) {
  return entry->kind == SS_KIND_I64 ||
         ss_node_fail(entry->node, error, "is %s; offsets are I64", ss_safetensors_kinds[entry->kind]);
}

/* One for each segment, and the end. */
static bool need_segments(const struct ss_trace *trace, const struct ss_safetensors_entry *entry,
                          struct ss_error *error) {
  return entry->count == trace->segments + 1 ||
         ss_node_fail(entry->node, error,
                      "has %" PRIu64 " numbers; %" PRIu64 " iterations of %" PRIu32 " ranks need %" PRIu64,
                      entry->count, trace->iterations, trace->ranks, trace->segments + 1);
}

static bool read_offsets(struct ss_trace *trace, const struct ss_safetensors *file, struct ss_tensor_data *t,
                         struct ss_error *error) {
  struct ss_safetensors_entry *entry;
  if (!need_part(trace, file, t->tensor.name, "offsets", &entry, error) || !need_offsets(entry, error) ||
      !need_segments(trace, entry, error))
    return false;
  t->offsets = entry_data(trace, file, entry);
  return t->offsets || ss_fail_memory(error, "copying a trace's offsets");
}

static bool read_rows(struct ss_trace *trace, const struct ss_safetensors *file, struct ss_tensor_data *t,
                      struct ss_error *error) {
  struct ss_safetensors_entry *entry;
  if (!need_part(trace, file, t->tensor.name, "rows", &entry, error)) return false;
  if (entry->kind != SS_KIND_I64 && entry->kind != SS_KIND_I32 && entry->kind != SS_KIND_U32)
    return ss_node_fail(entry->node, error, "is %s; row ids are I64, I32 or U32", ss_safetensors_kinds[entry->kind]);
  const void *data = entry_data(trace, file, entry);
  if (!data) return ss_fail_memory(error, "copying a trace's rows");
  t->total = entry->count;
  t->rows_signed = entry->kind == SS_KIND_I32;
  if (entry->kind == SS_KIND_I64) t->rows64 = data;
  else t->rows32 = data;
  return true;
}

static bool read_values(struct ss_trace *trace, const struct ss_safetensors *file, struct ss_tensor_data *t,
                        struct ss_error *error) {
  struct ss_safetensors_entry *entry;
  if (!find_part(trace, file, t->tensor.name, "values", &entry, error)) return false;
  if (!entry) return true;
  if (entry->kind < SS_KIND_F32)
    return ss_node_fail(entry->node, error, "is %s; values are F32, F16 or BF16", ss_safetensors_kinds[entry->kind]);
  t->values_dtype = (enum ss_dtype)(entry->kind - SS_KIND_F32);
  uint64_t wanted;
  if (!ss_mul_u64(t->total, t->tensor.row_width, &wanted) || entry->count != wanted)
    return ss_node_fail(entry->node, error,
                        "has %" PRIu64 " numbers; %" PRIu64 " rows of %" PRIu32 " elements are wanted", entry->count,
                        t->total, t->tensor.row_width);
  t->values = entry_data(trace, file, entry);
  return t->values || ss_fail_memory(error, "copying a trace's values");
}

/* Both entries or none. */
static bool read_bags(struct ss_trace *trace, const struct ss_safetensors *file, struct ss_tensor_data *t,
                      struct ss_error *error) {
  struct ss_safetensors_entry *first, *offsets;
  if (!find_part(trace, file, t->tensor.name, "bags", &first, error) ||
      !find_part(trace, file, t->tensor.name, "bag_offsets", &offsets, error))
    return false;
  if (!first && !offsets) return true;
  if (!first || !offsets)
    return ss_node_fail((first ? first : offsets)->node, error, "needs %s.%s beside it", t->tensor.name,
                        first ? "bag_offsets" : "bags");
  if (!need_offsets(first, error) || !need_offsets(offsets, error) || !need_segments(trace, first, error))
    return false;
  if (offsets->count < 1) return ss_node_fail(offsets->node, error, "is empty; no bags at all have one offset, 0");
  t->bag_total = offsets->count - 1;
  t->bags = (struct ss_bags){entry_data(trace, file, first), entry_data(trace, file, offsets)};
  return (t->bags.first && t->bags.offsets) || ss_fail_memory(error, "copying a trace's bags");
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
  for (size_t i = 0; i < trace->tensors; i++) {
    struct ss_tensor_data *t = &trace->tensor[i];
    if (!read_offsets(trace, &file, t, error) || !read_rows(trace, &file, t, error) ||
        !read_values(trace, &file, t, error) || !read_bags(trace, &file, t, error))
      return false;
  }
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
