#include "study/sources.h"

#include "base/data.h"
#include "cost/form_grid.h"
#include "trace/make/like.h"

/* --- what is made ------------------------------------------------------------------------------------------- */

struct uniform {
  uint64_t rows, width, seed;
  double density;
  enum ss_overlap overlap;
  enum ss_dtype dtype;
};

static const struct ss_field_spec uniform_fields[] = {
    {"rows", NULL, SS_IS_COUNT(1, UINT32_MAX), .required = true, SS_STORED(struct uniform, rows)},
    {"row_width", NULL, SS_IS_COUNT(1, UINT32_MAX), .usual = "1", SS_STORED(struct uniform, width)},
    {"density", NULL, SS_IS_SHARE, .most = 1, .required = true, SS_STORED(struct uniform, density)},
    {"overlap", "of the rows of ranks", SS_IS_CHOICE(ss_overlap_names), .usual = "random",
     SS_STORED(struct uniform, overlap)},
    {"dtype", NULL, SS_IS_CHOICE(ss_dtypes), .usual = "F32", SS_STORED(struct uniform, dtype)},
    {"seed", NULL, SS_IS_SEED, .usual = "1", SS_STORED(struct uniform, seed)},
    {.name = NULL}};
static const struct ss_object_spec uniform_spec = {.says = "one tensor, as dense on every rank",
                                                   .field = uniform_fields};

static bool read_uniform(struct ss_node node, void *source, struct ss_error *error) {
  struct ss_source *out = source;
  struct uniform u;
  uint64_t bytes;
  if (!ss_object_read(&uniform_spec, node, &u, error)) return false;
  if (!ss_mul_u64(u.rows, u.width * ss_dtype_bytes(u.dtype), &bytes) || bytes > SS_TENSOR_BYTES_MAX)
    return ss_node_fail(ss_node_get(node, "rows"), error, "%llu rows of %llu elements are more than 2^53 bytes",
                        (unsigned long long)u.rows, (unsigned long long)u.width);
  out->seed = u.seed;
  out->uniform = (struct ss_uniform){.rows = u.rows,
                                     .width = (uint32_t)u.width,
                                     .value_bytes = ss_dtype_bytes(u.dtype),
                                     .overlap = u.overlap,
                                     .seed = u.seed};
  return ss_uniform_make(u.density, &out->uniform, error) ||
         ss_fail_prefix(error, "%s: trace.uniform", ss_doc_name(node.doc));
}

static const struct ss_field_spec synth_fields[] = {
    {"tensor", "its name", SS_IS_NAME, SS_STORED(struct ss_synth, tensor)},
    {"rows", NULL, SS_IS_COUNT(1, UINT32_MAX), SS_STORED(struct ss_synth, rows)},
    {"row_width", NULL, SS_IS_COUNT(1, UINT32_MAX), SS_STORED(struct ss_synth, row_width)},
    {"dtype", NULL, SS_IS_CHOICE(ss_dtypes), SS_STORED(struct ss_synth, dtype)},
    {"iterations", NULL, SS_IS_COUNT(1, UINT64_C(1) << 40), SS_STORED(struct ss_synth, iterations)},
    {"ranks", NULL, SS_IS_COUNT(1, SS_RANKS_MAX), SS_STORED(struct ss_synth, ranks)},
    SS_SYNTH_FIELDS,
    {"distinct", "each so many lookups in a row are of different rows, as a token's top-k experts are",
     SS_IS_COUNT(1, UINT32_MAX), SS_STORED(struct ss_synth, distinct)},
    {.name = NULL}};
static const struct ss_object_spec synth_spec = {.says = "lookups that follow Zipf's law", .field = synth_fields};

/* B of lookups of a synthetic trace that are drawn once. */
enum { HELD = 1 << 28 };

static bool read_synth(struct ss_node node, void *source, struct ss_error *error) {
  struct ss_source *out = source;
  struct ss_synth s;
  ss_synth_defaults(&s);
  if (!ss_object_read(&synth_spec, node, &s, error) || !ss_like_apply(node, &s, error)) return false;
  s.drawn = out->drawn;
  s.held = HELD;
  out->seed = s.seed;
  return ss_trace_synth(&s, &out->trace, error) || ss_fail_prefix(error, "%s: trace.synth", ss_doc_name(node.doc));
}

static const char *const distributions[] = {"normal", "laplace", NULL};
static const struct ss_field_spec gradient_fields[] = {
    {"elements", NULL, SS_IS_COUNT(1, UINT32_MAX), .required = true, SS_STORED(struct ss_gradient, elements)},
    SS_GRADIENT_FIELDS(1 << 20),
    {"distribution", NULL, SS_IS_CHOICE(distributions), .usual = "normal", SS_STORED(struct ss_gradient, laplace)},
    {"iterations", NULL, SS_IS_COUNT(1, UINT64_C(1) << 40), SS_STORED(struct ss_gradient, iterations)},
    {.name = NULL}};
static const struct ss_object_spec gradient_spec = {.says = "synthetic gradients, with values",
                                                    .field = gradient_fields};

static bool read_gradient(struct ss_node node, void *source, struct ss_error *error) {
  struct ss_source *out = source;
  struct ss_gradient *g = &out->gradient;
  if (!ss_gradient_read(&gradient_spec, node, g, error)) return false;
  if (g->layers > g->elements)
    return ss_node_fail(node, error, "%u layers of %llu elements", g->layers, (unsigned long long)g->elements);
  out->seed = g->seed;
  out->is_gradient = true;
  return true;
}

/* --- where it comes from ------------------------------------------------------------------------------------ */

static const struct ss_field_spec trace_fields[] = {
    {"uniform", NULL, SS_IS_OBJECT(&uniform_spec), .read = read_uniform},
    {"synth", NULL, SS_IS_OBJECT(&synth_spec), .read = read_synth},
    {"gradient", NULL, SS_IS_OBJECT(&gradient_spec), .read = read_gradient},
    {.name = NULL}};
static const struct ss_object_spec trace_spec = {.name = "trace",
                                                 .says = "what to make",
                                                 .field = trace_fields,
                                                 .rules = "{'minProperties': 1, 'maxProperties': 1}"};
const struct ss_field_spec ss_trace_forms[] = {
    {NULL, NULL, SS_IS_NAME}, {NULL, NULL, SS_IS_OBJECT(&trace_spec)}, {.name = NULL}};
static const struct ss_field_spec lookups_fields[] = {{"synth", NULL, SS_IS_OBJECT(&synth_spec)}, {.name = NULL}};
static const struct ss_object_spec lookups_spec = {
    .name = "lookups", .says = "what to make", .field = lookups_fields, .rules = "{'minProperties': 1}"};
const struct ss_field_spec ss_lookups_forms[] = {
    {NULL, NULL, SS_IS_NAME}, {NULL, NULL, SS_IS_OBJECT(&lookups_spec)}, {.name = NULL}};

static bool read_file(struct ss_node node, const char *base, struct ss_source *out, struct ss_error *error) {
  char path[PATH_MAX];
  const char *name;
  if (!ss_node_text(node, &name, error)) return false;
  ss_data_locate(name, base, path, sizeof path);
  if (!ss_trace_open(path, &out->trace, error)) return false;
  out->hash = ss_trace_hash(out->trace);
  return true;
}

static bool read_source(struct ss_node node, const char *base, struct ss_source *out, struct ss_error *error) {
  const char *name;
  out->seed = 1;
  if (ss_node_is_object(node)) {
    if (ss_node_size(node) != 1)
      return ss_node_fail(node, error, "say one of \"uniform\", \"synth\" and \"gradient\"");
    if (!ss_object_read(&trace_spec, node, out, error)) return false;
    name = ss_node_key(ss_node_first(node));
  } else {
    if (!ss_node_is_text(node))
      return ss_node_fail(node, error,
                          "a trace is a path, {\"uniform\": ...}, {\"synth\": ...} or {\"gradient\": ...}");
    if (!read_file(node, base, out, error) || !ss_node_text(node, &name, error)) return false;
  }
  out->name = strdup(name);
  return out->name ? true : ss_fail_memory(error, "opening a trace");
}

static void close_source(struct ss_source *source) {
  if (!source->borrowed) ss_trace_close(source->trace);
  free(source->name);
  free(source->key);
  free(source);
}

static bool append(struct ss_sources *sources, struct ss_source *fresh, const struct ss_source **out,
                   struct ss_error *error) {
  if (!ss_grow_by_one(sources->source, sources->count)) {
    close_source(fresh);
    return ss_fail_memory(error, "opening a trace");
  }
  sources->source[sources->count++] = fresh;
  *out = fresh;
  return true;
}

bool ss_sources_find(struct ss_sources *sources, struct ss_node node, const char *base, const struct ss_source **out,
                     struct ss_error *error) {
  SS_AUTO_FREE char *key = cJSON_PrintUnformatted(node.at);
  if (!key) return ss_fail_memory(error, "opening a trace");
  assert(sources);
  for (const struct ss_sources *from = sources; from; from = from->like)
    for (size_t i = 0; i < from->count; i++)
      if (from->source[i]->key && strcmp(from->source[i]->key, key) == 0) {
        *out = from->source[i];
        return true;
      }
  struct ss_source *fresh = ss_alloc_zero(1, sizeof *fresh);
  if (!fresh) return ss_fail_memory(error, "opening a trace");
  *fresh = (struct ss_source){.key = key, .drawn = sources->drawn};
  key = NULL;
  if (read_source(node, base, fresh, error)) return append(sources, fresh, out, error);
  close_source(fresh);
  return false;
}

bool ss_sources_lend(struct ss_sources *sources, const char *name, struct ss_trace *trace, struct ss_error *error) {
  const struct ss_source *added;
  for (size_t i = 0; i < sources->count; i++)
    if (strcmp(sources->source[i]->name, name) == 0)
      return ss_fail(error, SS_BAD_INPUT, "two traces are called \"%s\"", name);
  struct ss_source *fresh = ss_alloc_zero(1, sizeof *fresh);
  cJSON *text = cJSON_CreateString(name);
  if (fresh && text) {
    *fresh = (struct ss_source){.key = cJSON_PrintUnformatted(text), .name = strdup(name), .trace = trace, .seed = 1};
    fresh->borrowed = true;
    fresh->hash = ss_trace_hash(trace);
  }
  cJSON_Delete(text);
  if (fresh && fresh->key && fresh->name) return append(sources, fresh, &added, error);
  if (fresh) close_source(fresh);
  return ss_fail_memory(error, "naming a trace");
}

void ss_sources_close(struct ss_sources *sources) {
  for (size_t i = 0; i < sources->count; i++) close_source(sources->source[i]);
  free(sources->source);
  *sources = (struct ss_sources){0};
}

/* --- which part of it --------------------------------------------------------------------------------------- */

bool ss_iterations_read(struct ss_node node, uint64_t most, uint64_t *first, uint64_t *end, struct ss_error *error) {
  const char *text;
  *first = 0;
  if (!ss_node_present(node)) return true;
  if (ss_node_is_number(node)) return ss_node_count(node, 1, most, end, error);
  if (!ss_node_text(node, &text, error)) return false;
  const char *colon = strchr(text, ':');
  char from[32] = "0";
  struct ss_error inner;
  if (colon && (size_t)(colon - text) < sizeof from && colon != text)
    snprintf(from, sizeof from, "%.*s", (int)(colon - text), text);
  const char *to = colon ? colon + 1 : text;
  if (!ss_count_parse(from, "iterations", 0, most - 1, first, &inner) ||
      ((!colon || *to) && !ss_count_parse(to, "iterations", *first + 1, most, end, &inner)) || *first >= *end)
    return ss_node_fail(node, error, "\"%s\" is not a range of iterations (say \"0:50\"; the trace has %llu)", text,
                        (unsigned long long)most);
  return true;
}

static bool take_tensor(struct ss_node name, const struct ss_trace *trace, size_t *tensor, size_t *count,
                        struct ss_error *error) {
  const char *text;
  size_t at;
  if (!ss_node_text(name, &text, error)) return false;
  if (!ss_trace_find(trace, text, &at, error)) return ss_fail_prefix(error, "%s", ss_doc_name(name.doc));
  for (size_t i = 0; i < *count; i++)
    if (tensor[i] == at) return ss_node_fail(name, error, "tensor \"%s\" is named twice", text);
  tensor[(*count)++] = at;
  return true;
}

bool ss_tensors_read(struct ss_node node, const struct ss_trace *trace, size_t *tensor, size_t *count,
                     struct ss_error *error) {
  *count = 0;
  if (ss_node_is_text(node)) return take_tensor(node, trace, tensor, count, error);
  if (ss_node_present(node) && (!ss_node_is_array(node) || ss_node_size(node) == 0))
    return ss_node_fail(node, error, "expected a tensor's name, or a list of names");
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n))
    if (!take_tensor(n, trace, tensor, count, error)) return false;
  for (size_t i = 0; !ss_node_present(node) && i < ss_trace_tensors(trace); i++) tensor[(*count)++] = i;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
