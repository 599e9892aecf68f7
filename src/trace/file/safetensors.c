#include "trace/file/safetensors.h"

#include "base/fields.h"

const char *const ss_safetensors_kinds[SS_KINDS + 1] = {"I64", "I32", "U32", "F32", "F16", "BF16", NULL};

uint32_t ss_safetensors_kind_bytes(enum ss_safetensors_kind kind) {
  switch (kind) {
  case SS_KIND_I64: return 8;
  case SS_KIND_I32:
  case SS_KIND_U32:
  case SS_KIND_F32: return 4;
  default: return 2;
  }
}

static int compare_names(const void *a, const void *b) {
  return strcmp(((const struct ss_safetensors_entry *)a)->name, ((const struct ss_safetensors_entry *)b)->name);
}

/* Empty entries first where several begin at one offset: they have no bytes. */
static int compare_offsets(const void *a, const void *b) {
  const struct ss_safetensors_entry *x = *(const struct ss_safetensors_entry *const *)a;
  const struct ss_safetensors_entry *y = *(const struct ss_safetensors_entry *const *)b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

static bool read_shape(struct ss_node shape, void *out, struct ss_error *error) {
  if (!ss_node_is_array(shape) || ss_node_size(shape) != 1)
    return ss_node_fail(shape, error, "a trace's entries have one dimension (say [1000])");
  return ss_node_count(ss_node_first(shape), 0, UINT64_C(1) << 53, out, error);
}

/* [begin, end) */
static bool read_range(struct ss_node range, void *out, struct ss_error *error) {
  struct ss_safetensors_entry *entry = out;
  if (!ss_node_is_array(range) || ss_node_size(range) != 2)
    return ss_node_fail(range, error, "not a range of bytes (say [0, 800])");
  const struct ss_node begin = ss_node_first(range), end = ss_node_next(begin);
  if (!ss_node_count(begin, 0, UINT64_C(1) << 53, &entry->begin, error)) return false;
  if (!ss_node_count(end, 0, UINT64_C(1) << 53, &entry->end, error)) return false;
  if (entry->begin > entry->end)
    return ss_node_fail(range, error, "begins at %" PRIu64 ", after its end at %" PRIu64, entry->begin, entry->end);
  return true;
}

#define PART(member) SS_STORED(struct ss_safetensors_entry, member)
static const struct ss_field_spec fields[] = {
    {"dtype", NULL, SS_IS_CHOICE(ss_safetensors_kinds), .required = true, PART(kind)},
    {"shape", NULL, .required = true, .read = read_shape, PART(count)},
    {"data_offsets", NULL, .required = true, .read = read_range},
    {.name = NULL}};
static const struct ss_object_spec spec = {.field = fields};

static bool read_entry(struct ss_node node, uint64_t size, struct ss_safetensors_entry *entry,
                       struct ss_error *error) {
  uint64_t bytes;
  *entry = (struct ss_safetensors_entry){.name = ss_node_key(node), .node = node};
  if (!ss_object_read(&spec, node, entry, error)) return false;
  if (entry->end > size)
    return ss_node_fail(ss_node_get(node, "data_offsets"), error,
                        "ends at byte %" PRIu64 " of %" PRIu64 " bytes of data: the file is cut off or damaged",
                        entry->end, size);
  const uint64_t length = entry->end - entry->begin;
  if (!ss_mul_u64(entry->count, ss_safetensors_kind_bytes(entry->kind), &bytes) || bytes != length)
    return ss_node_fail(node, error, "shape [%" PRIu64 "] of %s does not fill its %" PRIu64 " bytes", entry->count,
                        ss_safetensors_kinds[entry->kind], length);
  return true;
}

/* Every byte of the data belongs to exactly one entry. */
static bool check_cover(const struct ss_safetensors *file, struct ss_error *error) {
  SS_AUTO_FREE const struct ss_safetensors_entry **sorted = ss_alloc(file->entries, sizeof *sorted);
  if (!sorted) return ss_fail_memory(error, "reading a trace's header");
  for (size_t i = 0; i < file->entries; i++) sorted[i] = &file->entry[i];
  qsort(sorted, file->entries, sizeof *sorted, compare_offsets);

  uint64_t covered = 0;
  for (size_t i = 0; i < file->entries; i++) {
    const struct ss_safetensors_entry *entry = sorted[i];
    if (entry->begin < covered)
      return ss_node_fail(entry->node, error, "overlaps %s: begins at byte %" PRIu64 " of the data, before %" PRIu64,
                          sorted[i - 1]->name, entry->begin, covered);
    if (entry->begin > covered)
      return ss_node_fail(entry->node, error,
                          "leaves a hole of %" PRIu64 " bytes before it, at byte %" PRIu64 " of the data",
                          entry->begin - covered, covered);
    covered = entry->end;
  }
  if (covered != file->size)
    return ss_fail(error, SS_BAD_INPUT, "%s: %" PRIu64 " bytes of data, but the entries end at %" PRIu64,
                   ss_doc_name(file->doc), file->size, covered);
  return true;
}

static bool read_entries(struct ss_safetensors *file, struct ss_error *error) {
  const struct ss_node root = ss_doc_root(file->doc);
  if (!ss_node_is_object(root)) return ss_node_fail(root, error, "the header is not a JSON object");
  file->entry = ss_alloc(ss_node_size(root), sizeof *file->entry);
  if (!file->entry) return ss_fail_memory(error, "reading a trace's header");
  for (struct ss_node at = ss_node_first(root); ss_node_present(at); at = ss_node_next(at)) {
    if (strcmp(ss_node_key(at), "__metadata__") == 0) {
      file->metadata = at;
      continue;
    }
    if (!read_entry(at, file->size, &file->entry[file->entries], error)) return false;
    file->entries++;
  }
  if (!check_cover(file, error)) return false;
  qsort(file->entry, file->entries, sizeof *file->entry, compare_names);
  return true;
}

/* What the file is instead, and where it belongs: a table of times, a model or a scenario; NULL: nobody knows. */
static const char *what_else(const unsigned char *bytes, size_t size) {
  const unsigned char *end = memchr(bytes, '\n', size);
  const size_t line = end ? (size_t)(end - bytes) : size;
  if (memmem(bytes, line, "collective,", 11))
    return "a table of measured times, of which `sparsync calibrate network` makes a cluster (--cluster)";
  if (bytes[0] == '{') return "JSON, as clusters (--cluster), workloads (--workload) and scenarios are";
  size_t printable = 0;
  while (printable < line && bytes[printable] >= ' ' && bytes[printable] <= '~') printable++;
  return end && printable + 1 >= line && memchr(bytes, ',', line) /* "\r\n", too */
             ? "text, as tables of lookups are: `sparsync trace import` makes a trace of one"
             : NULL;
}

bool ss_safetensors_parse(const char *name, const unsigned char *bytes, size_t size, struct ss_safetensors *out,
                          struct ss_error *error) {
  *out = (struct ss_safetensors){0};
  uint64_t length = 0;
  if (size < sizeof length)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: %zu bytes are too few for a .safetensors file, which begins with its "
                   "header's length in 8",
                   name, size);
  memcpy(&length, bytes, sizeof length);
  const char *else_is = length > SS_SAFETENSORS_HEADER_MAX ? what_else(bytes, size) : NULL;
  if (else_is) return ss_fail(error, SS_BAD_INPUT, "%s: no .safetensors file: it is %s", name, else_is);
  if (length > SS_SAFETENSORS_HEADER_MAX)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: says that its header has %" PRIu64 " bytes; traces have at most %" PRIu64
                   " (is this a .safetensors file?)",
                   name, length, SS_SAFETENSORS_HEADER_MAX);
  if (length > size - sizeof length)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: says that its header has %" PRIu64 " bytes, but only %zu follow: the "
                   "file is cut off",
                   name, length, size - sizeof length);
  out->data = bytes + sizeof length + length;
  out->size = size - sizeof length - length;
  if (ss_doc_parse(name, (const char *)bytes + sizeof length, (size_t)length, &out->doc, error) &&
      read_entries(out, error))
    return true;
  ss_safetensors_free(out);
  return false;
}

void ss_safetensors_free(struct ss_safetensors *file) {
  ss_doc_free(file->doc);
  free(file->entry);
  *file = (struct ss_safetensors){0};
}

struct ss_safetensors_entry *ss_safetensors_find(const struct ss_safetensors *file, const char *name) {
  const struct ss_safetensors_entry wanted = {.name = name};
  return bsearch(&wanted, file->entry, file->entries, sizeof wanted, compare_names);
}
/* SPDX-License-Identifier: Apache-2.0 */
