#include "study/sources.h"

#include "base/data.h"
#include "base/list.h"
#include "cost/form_grid.h"
#include "trace/make/synth.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool read_dtype(struct ss_node node, enum ss_dtype *out, struct ss_error *error) {
  static const char *const names[] = {"F32", "F16", "BF16", NULL};
  size_t choice;
  if (!ss_node_present(node)) return true;
  if (!ss_node_choice(node, names, &choice, error)) return false;
  *out = (enum ss_dtype)choice;
  return true;
}

static bool read_count(struct ss_node parent, const char *key, uint64_t low, uint64_t high, uint64_t *out,
                       struct ss_error *error) {
  struct ss_node node = ss_node_get(parent, key);
  return !ss_node_present(node) || ss_node_count(node, low, high, out, error);
}

static bool read_uniform(struct ss_node node, struct ss_source *out, struct ss_error *error) {
  static const char *const keys[] = {"rows", "row_width", "density", "overlap", "dtype", "seed", NULL};
  static const char *const overlaps[] = {"full", "none", "random", NULL};
  struct ss_node rows, density, overlap = ss_node_get(node, "overlap");
  uint64_t row_count, width = 1, bytes;
  double share;
  size_t choice = SS_OVERLAP_RANDOM;
  enum ss_dtype dtype = SS_F32;
  if (!ss_node_keys(node, keys, error) || !ss_node_need(node, "rows", &rows, error) ||
      !ss_node_need(node, "density", &density, error) || !ss_node_count(rows, 1, UINT32_MAX, &row_count, error) ||
      !ss_node_positive(density, SS_RATIO, &share, error) ||
      !read_count(node, "row_width", 1, UINT32_MAX, &width, error) ||
      !read_count(node, "seed", 0, UINT64_C(1) << 53, &out->seed, error) ||
      (ss_node_present(overlap) && !ss_node_choice(overlap, overlaps, &choice, error)) ||
      !read_dtype(ss_node_get(node, "dtype"), &dtype, error))
    return false;
  if (!ss_mul_u64(row_count, width * ss_dtype_bytes(dtype), &bytes) || bytes > SS_TENSOR_BYTES_MAX)
    return ss_node_fail(rows, error, "%llu rows of %llu elements are more than 2^53 bytes",
                        (unsigned long long)row_count, (unsigned long long)width);
  out->uniform = (struct ss_uniform){.rows = row_count,
                                     .width = (uint32_t)width,
                                     .value_bytes = ss_dtype_bytes(dtype),
                                     .overlap = (enum ss_overlap)choice,
                                     .seed = out->seed};
  return ss_uniform_make(share, &out->uniform, error) ||
         ss_fail_prefix(error, "%s: trace.uniform", ss_doc_name(node.doc));
}

static bool read_ratio(struct ss_node parent, const char *key, double *out, struct ss_error *error) {
  struct ss_node node = ss_node_get(parent, key);
  return !ss_node_present(node) || ss_node_nonnegative(node, SS_RATIO, out, error);
}

static bool read_synth(struct ss_node node, struct ss_drawn *drawn, struct ss_source *out, struct ss_error *error) {
  static const char *const keys[] = {"tensor", "rows", "row_width", "dtype", "iterations", "ranks",    "tokens",
                                     "zipf",   "hot",  "hot_rows",  "ids",   "seed",       "distinct", NULL};
  static const char *const ids[] = {"shuffled", "popularity", NULL};
  struct ss_synth s;
  struct ss_node tensor = ss_node_get(node, "tensor"), order = ss_node_get(node, "ids");
  ss_synth_defaults(&s);
  uint64_t width = s.row_width, ranks = s.ranks;
  size_t choice = (size_t)s.ids;
  if (!ss_node_keys(node, keys, error) || (ss_node_present(tensor) && !ss_node_text(tensor, &s.tensor, error)) ||
      !read_count(node, "rows", 1, UINT32_MAX, &s.rows, error) ||
      !read_count(node, "row_width", 1, UINT32_MAX, &width, error) ||
      !read_dtype(ss_node_get(node, "dtype"), &s.dtype, error) ||
      !read_count(node, "iterations", 1, UINT64_C(1) << 40, &s.iterations, error) ||
      !read_count(node, "ranks", 1, SS_RANKS_MAX, &ranks, error) ||
      !read_count(node, "tokens", 1, UINT64_C(1) << 40, &s.tokens, error) ||
      !read_count(node, "distinct", 1, UINT32_MAX, &s.distinct, error) || !read_ratio(node, "zipf", &s.zipf, error) ||
      !read_ratio(node, "hot", &s.hot, error) || !read_count(node, "hot_rows", 0, UINT32_MAX, &s.hot_rows, error) ||
      (ss_node_present(order) && !ss_node_choice(order, ids, &choice, error)) ||
      !read_count(node, "seed", 0, UINT64_C(1) << 53, &s.seed, error))
    return false;
  s.row_width = (uint32_t)width;
  s.ranks = (uint32_t)ranks;
  s.ids = (enum ss_ids)choice;
  s.drawn = drawn;
  out->seed = s.seed;
  return ss_trace_synth(&s, &out->trace, error) || ss_fail_prefix(error, "%s: trace.synth", ss_doc_name(node.doc));
}

static bool read_gradient(struct ss_node node, struct ss_source *out, struct ss_error *error) {
  static const char *const keys[] = {"elements", "seed",         "rho",        "scale", "sigma",
                                     "layers",   "distribution", "iterations", NULL};
  static const char *const distributions[] = {"normal", "laplace", NULL};
  struct ss_gradient *g = &out->gradient;
  struct ss_node elements, distribution = ss_node_get(node, "distribution");
  size_t choice = 0;
  if (!ss_gradient_read(node, keys, 1u << 20, g, error) || !ss_node_need(node, "elements", &elements, error) ||
      !ss_node_count(elements, 1, UINT32_MAX, &g->elements, error) ||
      (ss_node_present(distribution) && !ss_node_choice(distribution, distributions, &choice, error)) ||
      !read_count(node, "iterations", 1, UINT64_C(1) << 40, &g->iterations, error))
    return false;
  if (g->layers > g->elements)
    return ss_node_fail(node, error, "%u layers of %llu elements", g->layers, (unsigned long long)g->elements);
  g->laplace = choice == 1;
  out->seed = g->seed;
  out->is_gradient = true;
  return true;
}

static bool read_file(struct ss_node node, const char *base, struct ss_source *out, struct ss_error *error) {
  char path[PATH_MAX];
  const char *name;
  if (!ss_node_text(node, &name, error)) return false;
  ss_data_locate(name, base, path, sizeof path);
  if (!ss_trace_open(path, &out->trace, error)) return false;
  out->hash = ss_trace_hash(out->trace);
  return true;
}

static bool read_source(const struct ss_sources *sources, struct ss_node node, const char *base,
                        struct ss_source *out, struct ss_error *error) {
  static const char *const keys[] = {"uniform", "synth", "gradient", NULL};
  const char *name = "uniform";
  out->seed = 1;
  if (ss_node_is_object(node)) {
    if (!ss_node_keys(node, keys, error)) return false;
    struct ss_node inside = ss_node_first(node);
    if (ss_node_size(node) != 1)
      return ss_node_fail(node, error, "say one of \"uniform\", \"synth\" and \"gradient\"");
    name = ss_node_key(inside);
    if (strcmp(name, "synth") == 0      ? !read_synth(inside, sources->drawn, out, error)
        : strcmp(name, "gradient") == 0 ? !read_gradient(inside, out, error)
                                        : !read_uniform(inside, out, error))
      return false;
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
  fresh->key = key;
  key = NULL;
  if (read_source(sources, node, base, fresh, error)) return append(sources, fresh, out, error);
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
