/* `__metadata__`: strings all, some of which hold JSON of their own. Keys that we do not know are left alone: tools
 * that capture traces add theirs. */
#include "base/fields.h"
#include "base/json.h"
#include "trace/file/trace_internal.h"

/* Parses the JSON that a metadata key holds as text; the document is the caller's, NULL when the key is absent. */
static bool list_of(struct ss_node metadata, const char *key, struct ss_doc **out, struct ss_error *error) {
  const struct ss_node node = ss_node_get(metadata, key);
  const char *text;
  char name[300];
  *out = NULL;
  if (!ss_node_present(node)) return true;
  if (!ss_node_text(node, &text, error)) return false;
  (void)snprintf(name, sizeof name, "%.200s: __metadata__.%s", ss_doc_name(metadata.doc), key);
  if (!ss_doc_parse(name, text, strlen(text), out, error)) return false;
  if (ss_node_is_array(ss_doc_root(*out))) return true;
  return ss_node_fail(ss_doc_root(*out), error, "not a JSON list");
}

static const struct ss_field_spec tensor_fields[] = {
    {"name", NULL, SS_IS_TEXT, .required = true, SS_STORED(struct ss_tensor, name)},
    {"rows", NULL, SS_IS_COUNT(1, UINT32_MAX), .required = true, SS_STORED(struct ss_tensor, rows)},
    {"row_width", NULL, SS_IS_COUNT(1, UINT32_MAX), .required = true, SS_STORED(struct ss_tensor, row_width)},
    {"dtype", NULL, SS_IS_CHOICE(ss_dtypes), .required = true, SS_STORED(struct ss_tensor, dtype)},
    {.name = NULL}};
static const struct ss_field_spec dense_fields[] = {
    {"name", NULL, SS_IS_TEXT, .required = true, SS_STORED(struct ss_dense, name)},
    {"bytes", NULL, SS_IS_COUNT(0, SS_TRACE_COUNT_MAX), .required = true, SS_STORED(struct ss_dense, bytes)},
    {.name = NULL}};
static const struct ss_object_spec tensor_spec = {.field = tensor_fields}, dense_spec = {.field = dense_fields};

/* Reads a tensor of either kind, whose name becomes the trace's. */
static bool read_named(struct ss_trace *trace, const struct ss_object_spec *spec, struct ss_node node, void *out,
                       const char **name, struct ss_error *error) {
  if (!ss_object_read(spec, node, out, error)) return false;
  *name = ss_arena_text(&trace->arena, *name);
  return *name || ss_fail_memory(error, "reading a trace's tensors");
}

static bool read_tensors(struct ss_trace *trace, struct ss_node metadata, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *list = NULL;
  struct ss_node present;
  if (!ss_node_need(metadata, "tensors", &present, error)) return false;
  if (!list_of(metadata, "tensors", &list, error)) return false;
  const size_t count = ss_node_size(ss_doc_root(list));
  if (!ss_take_zero(&trace->arena, trace->tensor, count)) return ss_fail_memory(error, "reading a trace's tensors");
  for (struct ss_node at = ss_node_first(ss_doc_root(list)); ss_node_present(at); at = ss_node_next(at)) {
    struct ss_tensor *tensor = &trace->tensor[trace->tensors++].tensor;
    if (!read_named(trace, &tensor_spec, at, tensor, &tensor->name, error)) return false;
  }
  return true;
}

static bool read_dense(struct ss_trace *trace, struct ss_node metadata, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *list = NULL;
  if (!list_of(metadata, "dense", &list, error)) return false;
  if (!list) return true;
  const size_t count = ss_node_size(ss_doc_root(list));
  if (!ss_take(&trace->arena, trace->dense, count)) return ss_fail_memory(error, "reading a trace's dense tensors");
  for (struct ss_node at = ss_node_first(ss_doc_root(list)); ss_node_present(at); at = ss_node_next(at)) {
    struct ss_dense *dense = &trace->dense[trace->dense_count++];
    if (!read_named(trace, &dense_spec, at, dense, &dense->name, error)) return false;
  }
  return true;
}

static bool read_tokens(struct ss_trace *trace, struct ss_node metadata, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *list = NULL;
  if (!list_of(metadata, "tokens", &list, error)) return false;
  if (!list) return true;
  const struct ss_node root = ss_doc_root(list);
  if (ss_node_size(root) != trace->segments)
    return ss_node_fail(root, error, "has %zu numbers; %" PRIu64 " iterations of %" PRIu32 " ranks need %" PRIu64,
                        ss_node_size(root), trace->iterations, trace->ranks, trace->segments);
  if (!ss_take(&trace->arena, trace->tokens, trace->segments))
    return ss_fail_memory(error, "reading a trace's token counts");
  uint64_t *out = trace->tokens;
  for (struct ss_node at = ss_node_first(root); ss_node_present(at); at = ss_node_next(at))
    if (!ss_node_count(at, 0, SS_TRACE_COUNT_MAX, out++, error)) return false;
  return true;
}

/* Numbers are texts here, too. */
static const struct ss_field_spec fields[] = {
    {"iterations", NULL, SS_IS_COUNT(1, SS_TRACE_COUNT_MAX), .required = true,
     SS_STORED(struct ss_trace, iterations)},
    {"ranks", NULL, SS_IS_COUNT(1, SS_RANKS_MAX), .required = true, SS_STORED(struct ss_trace, ranks)},
    {"gpus_per_node", NULL, SS_IS_COUNT(1, SS_RANKS_MAX), SS_STORED(struct ss_trace, gpus_per_node)},
    {"pad_id", NULL, SS_IS_COUNT(0, UINT32_MAX), SS_STORED(struct ss_trace, pad_id)},
    {"source", NULL, SS_IS_TEXT, SS_STORED(struct ss_trace, source)},
    {"training", NULL, SS_IS_TEXT, SS_STORED(struct ss_trace, training)},
    {.name = NULL}};
static const struct ss_object_spec spec = {.field = fields};

static bool read_fields(struct ss_trace *trace, struct ss_node metadata, struct ss_error *error) {
  if (!ss_object_read_known(&spec, metadata, trace, error)) return false;
  if (!ss_mul_u64(trace->iterations, trace->ranks, &trace->segments) || trace->segments > SS_TRACE_COUNT_MAX)
    return ss_node_fail(metadata, error, "%" PRIu64 " iterations of %" PRIu32 " ranks are too many",
                        trace->iterations, trace->ranks);
  trace->source = ss_arena_text(&trace->arena, trace->source);
  if (trace->training) trace->training = ss_arena_text(&trace->arena, trace->training);
  return (trace->source && (trace->training || !ss_node_present(ss_node_get(metadata, "training")))) ||
         ss_fail_memory(error, "reading a trace's metadata");
}

bool ss_trace_read_metadata(struct ss_trace *trace, struct ss_node metadata, struct ss_error *error) {
  const char *none = "not a sparsity trace (docs/traces.md says how to write one)";
  if (!ss_node_present(metadata)) return ss_fail(error, SS_BAD_INPUT, "%s: no __metadata__: %s", trace->name, none);
  if (!ss_node_is_object(metadata)) return ss_node_fail(metadata, error, "not an object of strings");
  for (struct ss_node at = ss_node_first(metadata); ss_node_present(at); at = ss_node_next(at))
    if (!ss_node_is_text(at)) return ss_node_fail(at, error, "not a string; in a .safetensors file all metadata are");
  const char *version = ss_json_word(metadata.at, "sparsync.version");
  if (!version) return ss_node_fail(metadata, error, "no \"sparsync.version\": %s", none);
  if (strcmp(version, "1") != 0)
    return ss_node_fail(metadata, error, "sparsync.version is \"%.40s\"; this program reads \"1\"", version);
  return read_fields(trace, metadata, error) && read_tensors(trace, metadata, error) &&
         read_dense(trace, metadata, error) && read_tokens(trace, metadata, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
