/* Writing: a JSON header built with cJSON, padded with spaces so that the data begin at a multiple of 8, then the
 * entries from the widest elements to the narrowest: each lies aligned to its own elements, and none leaves a hole.
 */
#include "trace/file/safetensors.h"
#include "trace/file/trace_internal.h"

#include "base/json.h"

struct entry {
  enum ss_trace_part part;
  enum ss_safetensors_kind kind;
  const struct ss_tensor_data *tensor;
  uint64_t count;
};

/* At most SS_PARTS entries a tensor, in the order in which they are written. */
static size_t list_entries(const struct ss_trace *trace, struct entry *out) {
  size_t n = 0;
  for (size_t i = 0; i < trace->tensors; i++)
    out[n++] = (struct entry){SS_PART_OFFSETS, SS_KIND_I64, &trace->tensor[i], trace->segments + 1};
  for (size_t i = 0; i < trace->tensors; i++) {
    const struct ss_tensor_data *t = &trace->tensor[i];
    if (!t->bags.first) continue;
    out[n++] = (struct entry){SS_PART_BAGS, SS_KIND_I64, t, trace->segments + 1};
    out[n++] = (struct entry){SS_PART_BAG_OFFSETS, SS_KIND_I64, t, t->bag_total + 1};
  }
  for (size_t i = 0; i < trace->tensors; i++) {
    const struct ss_tensor_data *t = &trace->tensor[i];
    out[n++] =
        (struct entry){SS_PART_ROWS, t->tensor.rows <= UINT64_C(1) << 31 ? SS_KIND_I32 : SS_KIND_U32, t, t->total};
  }
  for (uint32_t bytes = 4; bytes >= 2; bytes -= 2)
    for (size_t i = 0; i < trace->tensors; i++) {
      const struct ss_tensor_data *t = &trace->tensor[i];
      if (t->values && ss_dtype_bytes(t->values_dtype) == bytes)
        out[n++] = (struct entry){SS_PART_VALUES, SS_KIND_F32 + (enum ss_safetensors_kind)t->values_dtype, t,
                                  t->total * t->tensor.row_width};
    }
  return n;
}

static bool add_count(cJSON *metadata, const char *key, uint64_t value) {
  char text[24];
  (void)snprintf(text, sizeof text, "%" PRIu64, value);
  return cJSON_AddStringToObject(metadata, key, text);
}

/* Metadata are strings: a list is stored as its JSON text, if it was `made`. Takes over `list`. */
static bool add_list(cJSON *metadata, const char *key, cJSON *list, bool made) {
  char *text = made ? cJSON_PrintUnformatted(list) : NULL;
  const bool good = text && cJSON_AddStringToObject(metadata, key, text);
  cJSON_free(text);
  cJSON_Delete(list);
  return good;
}

static bool add_tensors(cJSON *metadata, const struct ss_trace *trace) {
  cJSON *list = cJSON_CreateArray();
  bool good = list;
  for (size_t i = 0; good && i < trace->tensors; i++) {
    const struct ss_tensor *tensor = &trace->tensor[i].tensor;
    cJSON *item = cJSON_CreateObject();
    good = cJSON_AddItemToArray(list, item) && cJSON_AddStringToObject(item, "name", tensor->name) &&
           cJSON_AddNumberToObject(item, "rows", (double)tensor->rows) &&
           cJSON_AddNumberToObject(item, "row_width", tensor->row_width) &&
           cJSON_AddStringToObject(item, "dtype", ss_dtype_name(tensor->dtype));
  }
  return add_list(metadata, "tensors", list, good);
}

static bool add_dense(cJSON *metadata, const struct ss_trace *trace) {
  if (!trace->dense_count) return true;
  cJSON *list = cJSON_CreateArray();
  bool good = list;
  for (size_t i = 0; good && i < trace->dense_count; i++) {
    cJSON *item = cJSON_CreateObject();
    good = cJSON_AddItemToArray(list, item) && cJSON_AddStringToObject(item, "name", trace->dense[i].name) &&
           cJSON_AddNumberToObject(item, "bytes", (double)trace->dense[i].bytes);
  }
  return add_list(metadata, "dense", list, good);
}

/* Printed by hand: a cJSON item for each of a million segments would take longer than writing the rows. */
static bool add_tokens(cJSON *metadata, const struct ss_trace *trace) {
  if (!trace->tokens) return true;
  SS_AUTO_FREE char *text = ss_alloc(trace->segments + 1, 21); /* 20 digits and a comma each, 2 brackets */
  if (!text) return false;
  char *at = text;
  for (uint64_t i = 0; i < trace->segments; i++) at += sprintf(at, "%c%" PRIu64, i ? ',' : '[', trace->tokens[i]);
  *at++ = ']';
  *at = '\0';
  return cJSON_AddStringToObject(metadata, "tokens", text);
}

static bool add_metadata(cJSON *root, const struct ss_trace *trace) {
  cJSON *metadata = cJSON_AddObjectToObject(root, "__metadata__");
  return metadata && cJSON_AddStringToObject(metadata, "sparsync.version", "1") &&
         add_count(metadata, "iterations", trace->iterations) && add_count(metadata, "ranks", trace->ranks) &&
         add_tensors(metadata, trace) && cJSON_AddStringToObject(metadata, "source", trace->source) &&
         add_dense(metadata, trace) && add_tokens(metadata, trace) &&
         (trace->pad_id < 0 || add_count(metadata, "pad_id", (uint64_t)trace->pad_id)) &&
         (!trace->gpus_per_node || add_count(metadata, "gpus_per_node", trace->gpus_per_node)) &&
         (!trace->training || cJSON_AddStringToObject(metadata, "training", trace->training));
}

static bool add_entry(cJSON *root, const struct entry *entry, uint64_t *offset) {
  const uint64_t end = *offset + entry->count * ss_safetensors_kind_bytes(entry->kind);
  const size_t size = strlen(entry->tensor->tensor.name) + sizeof ".bag_offsets";
  SS_AUTO_FREE char *name = ss_alloc(size, 1);
  if (!name) return false;
  (void)snprintf(name, size, "%s.%s", entry->tensor->tensor.name, ss_trace_parts[entry->part]);
  cJSON *item = cJSON_AddObjectToObject(root, name);
  if (!item || !cJSON_AddStringToObject(item, "dtype", ss_safetensors_kinds[entry->kind])) return false;
  cJSON *shape = cJSON_AddArrayToObject(item, "shape");
  cJSON *range = cJSON_AddArrayToObject(item, "data_offsets");
  if (!shape || !range) return false;
  if (!cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)entry->count)) ||
      !cJSON_AddItemToArray(range, cJSON_CreateNumber((double)*offset)) ||
      !cJSON_AddItemToArray(range, cJSON_CreateNumber((double)end)))
    return false;
  *offset = end;
  return true;
}

/* The header's text, the caller's; NULL when memory is short. */
static char *header_text(const struct ss_trace *trace, const struct entry *entries, size_t count) {
  cJSON *root = cJSON_CreateObject();
  uint64_t offset = 0;
  bool good = root && add_metadata(root, trace);
  for (size_t i = 0; good && i < count; i++) good = add_entry(root, &entries[i], &offset);
  char *text = good ? ss_json_text(root, false) : NULL;
  cJSON_Delete(root);
  return text;
}

enum { PIECE = 1 << 16 /* row ids that are taken from a source at once */ };

/* What is to be written: a header and the data of its entries. */
struct file {
  const struct ss_trace *trace;
  const char *header;
  const struct entry *entry;
  size_t entries;
  double rows; /* of all tensors */
};

static bool write_source(FILE *stream, const struct file *file, const struct ss_tensor_data *t,
                         struct ss_error *error) {
  SS_AUTO_FREE uint32_t *piece = ss_alloc(PIECE, sizeof *piece);
  if (!piece) return ss_fail_memory(error, "writing a trace");
  const struct ss_trace *trace = file->trace;
  const struct ss_row_source *source = trace->row_source;
  for (uint64_t first = 0, count; first < t->total && !ferror(stream); first += count) {
    count = t->total - first < PIECE ? t->total - first : PIECE;
    if (!ss_watcher_goes_on(source->watcher, error) ||
        !source->read(source->context, (size_t)(t - trace->tensor), first, count, piece, error))
      return false;
    ss_watcher_advance(source->watcher, first + count == t->total, (double)count, file->rows);
    for (uint64_t i = 0; i < count; i++)
      if (piece[i] >= t->tensor.rows)
        return ss_fail(error, SS_BAD_INPUT, "%s: lookup %" PRIu64 " of %s is of row %" PRIu32 ", not below %" PRIu64,
                       trace->name, first + i, t->tensor.name, piece[i], t->tensor.rows);
    (void)fwrite(piece, sizeof *piece, count, stream);
  }
  return true;
}

/* Errors of writing stay in the stream, where ss_output_commit finds them; false: a source failed. */
static bool write_rows(FILE *stream, const struct file *file, const struct ss_tensor_data *t,
                       struct ss_error *error) {
  if (file->trace->row_source) return write_source(stream, file, t, error);
  if (t->rows32) {
    (void)fwrite(t->rows32, sizeof *t->rows32, t->total, stream);
    return true;
  }
  for (uint64_t i = 0; i < t->total; i++) {
    const uint32_t id = (uint32_t)t->rows64[i];
    (void)fwrite(&id, sizeof id, 1, stream);
  }
  return true;
}

/* Of a source, with the check that no bag ends before it begins, or where a segment does not begin as its bags do. */
static bool write_bag_offsets(FILE *stream, const struct file *file, const struct ss_tensor_data *t,
                              struct ss_error *error) {
  const struct ss_trace *trace = file->trace;
  const struct ss_row_source *source = trace->row_source;
  const uint64_t entries = t->bag_total + 1;
  if (t->bags.offsets) {
    (void)fwrite(t->bags.offsets, sizeof *t->bags.offsets, entries, stream);
    return true;
  }
  SS_AUTO_FREE uint64_t *piece = ss_alloc(PIECE, sizeof *piece);
  if (!piece) return ss_fail_memory(error, "writing a trace");
  uint64_t last = 0, segment = 0;
  for (uint64_t first = 0, count; first < entries && !ferror(stream); first += count) {
    count = entries - first < PIECE ? entries - first : PIECE;
    if (!ss_watcher_goes_on(source->watcher, error)) return false;
    if (!source->bags(source->context, (size_t)(t - trace->tensor), first, count, piece, error)) return false;
    for (uint64_t i = 0; i < count; last = piece[i++]) {
      bool good = piece[i] >= last;
      for (; segment <= trace->segments && t->bags.first[segment] == first + i; segment++)
        good = good && piece[i] == t->offsets[segment];
      if (!good)
        return ss_fail(error, SS_BAD_INPUT, "%s: bag %" PRIu64 " of %s begins with lookup %" PRIu64 ", out of place",
                       trace->name, first + i, t->tensor.name, piece[i]);
    }
    (void)fwrite(piece, sizeof *piece, count, stream);
  }
  return true;
}

static bool write_file(const void *context, FILE *stream, struct ss_error *error) {
  const struct file *file = context;
  const char *header = file->header;
  const uint64_t length = strlen(header), padded = (length + 7) / 8 * 8;
  (void)fwrite(&padded, sizeof padded, 1, stream);
  (void)fwrite(header, 1, length, stream);
  (void)fwrite("       ", 1, padded - length, stream);
  for (size_t i = 0; i < file->entries && !ferror(stream); i++) {
    const struct entry *e = &file->entry[i];
    const struct ss_tensor_data *t = e->tensor;
    if (e->part == SS_PART_OFFSETS) (void)fwrite(t->offsets, sizeof *t->offsets, e->count, stream);
    else if (e->part == SS_PART_VALUES) (void)fwrite(t->values, ss_safetensors_kind_bytes(e->kind), e->count, stream);
    else if (e->part == SS_PART_BAGS) (void)fwrite(t->bags.first, sizeof *t->bags.first, e->count, stream);
    else if (!(e->part == SS_PART_ROWS ? write_rows : write_bag_offsets)(stream, file, t, error)) return false;
  }
  return true;
}

bool ss_trace_save(const char *path, const struct ss_trace *trace, struct ss_error *error) {
  if (!path || !trace) return ss_fail(error, SS_BAD_INPUT, "no trace was given, or no path for it (NULL)");
  assert(!trace->captured);
  SS_AUTO_FREE struct entry *entries = ss_alloc(trace->tensors * SS_PARTS, sizeof *entries);
  if (!entries) return ss_fail_memory(error, "writing a trace");
  const size_t count = list_entries(trace, entries);
  SS_AUTO_FREE char *header = header_text(trace, entries, count);
  if (!header) return ss_fail_memory(error, "writing a trace's header");
  if (strlen(header) > SS_SAFETENSORS_HEADER_MAX - 8)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: the header would take %zu bytes, more than the %" PRIu64 " that readers accept: "
                   "too many tensors, or token counts for too many iterations and ranks",
                   path, strlen(header), SS_SAFETENSORS_HEADER_MAX);
  struct file file = {trace, header, entries, count, 0};
  for (size_t i = 0; i < trace->tensors; i++) file.rows += (double)trace->tensor[i].total;
  return ss_output_write(path, write_file, &file, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
