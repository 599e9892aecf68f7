#include "train/workloads.h"

#include "base/list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a reader has at hand. */
struct reading {
  struct ss_workload *w;
  struct ss_node modules;
  const char **names; /* [modules + 1] in list order, NULL-terminated */
  uint32_t *sorted;   /* [modules] places by name */
  struct ss_estimate *estimate;
  size_t estimates, capacity;
};

static bool short_of_memory(struct ss_error *error) {
  return ss_fail_memory(error, "reading a workload");
}

static bool read_kept(struct ss_workload *w, struct ss_node node, const char **out, struct ss_error *error) {
  const char *text;
  if (!ss_node_text(node, &text, error)) return false;
  if (!*text) return ss_node_fail(node, error, "an empty name (say what it is called)");
  *out = ss_arena_text(&w->arena, text);
  return *out ? true : short_of_memory(error);
}

/* Members that may be absent: *out stays as it is then. */
static bool read_number(struct ss_node parent, const char *key, enum ss_dimension dimension, double *out,
                        struct ss_error *error) {
  struct ss_node node = ss_node_get(parent, key);
  return !ss_node_present(node) || ss_node_nonnegative(node, dimension, out, error);
}

static bool read_count(struct ss_node parent, const char *key, uint64_t low, uint64_t high, uint64_t *out,
                       struct ss_error *error) {
  struct ss_node node = ss_node_get(parent, key);
  return !ss_node_present(node) || ss_node_count(node, low, high, out, error);
}

bool ss_bytes_read(struct ss_node node, uint64_t *out, struct ss_error *error) {
  double bytes;
  if (!ss_node_nonnegative(node, SS_BYTES, &bytes, error)) return false;
  if (bytes > (double)SS_TENSOR_BYTES_MAX || bytes != floor(bytes))
    return ss_node_fail(node, error, "%g is not a whole number of bytes up to 2^53", bytes);
  *out = (uint64_t)bytes;
  return true;
}

/* --- where numbers come from ---------------------------------------------------------------------------- */

static bool note_estimates(struct reading *r, struct ss_node source, const char *module, struct ss_error *error) {
  if (!ss_node_present(source)) return true;
  if (!ss_node_is_object(source))
    return ss_node_fail(source, error, "expected an object: field name to where its number comes from");
  for (struct ss_node n = ss_node_first(source); ss_node_present(n); n = ss_node_next(n)) {
    const char *text;
    if (!ss_node_text(n, &text, error)) return false;
    if (strncmp(text, "estimated", strlen("estimated")) != 0) continue;
    if (!ss_grow(r->estimate, r->capacity, r->estimates + 1)) return short_of_memory(error);
    const struct ss_estimate e = {module, ss_arena_text(&r->w->arena, ss_node_key(n)),
                                  ss_arena_text(&r->w->arena, text)};
    if (!e.field || !e.how) return short_of_memory(error);
    r->estimate[r->estimates++] = e;
  }
  return true;
}

static bool keep_estimates(struct reading *r, struct ss_error *error) {
  struct ss_estimate *kept = ss_arena_alloc(&r->w->arena, r->estimates, sizeof *kept);
  if (!kept) return short_of_memory(error);
  if (r->estimates) memcpy(kept, r->estimate, r->estimates * sizeof *kept);
  r->w->estimate = kept;
  r->w->estimates = r->estimates;
  return true;
}

/* --- feeds ---------------------------------------------------------------------------------------------- */

static bool read_tensors(struct ss_workload *w, struct ss_node node, struct ss_feed *feed, struct ss_error *error) {
  const size_t n = ss_node_is_array(node) ? ss_node_size(node) : 1;
  const char **names = ss_arena_alloc(&w->arena, n, sizeof *names);
  if (!names) return short_of_memory(error);
  if (n == 0) return ss_node_fail(node, error, "expected at least one tensor of the trace");
  feed->kind = SS_FEED_TENSOR;
  feed->tensor = names;
  feed->tensors = n;
  if (!ss_node_is_array(node)) return read_kept(w, node, &names[0], error);
  size_t i = 0;
  for (struct ss_node t = ss_node_first(node); ss_node_present(t); t = ss_node_next(t))
    if (!read_kept(w, t, &names[i++], error)) return false;
  return true;
}

static bool read_synth(struct ss_node node, struct ss_module *m, enum ss_dtype dtype, struct ss_error *error) {
  static const char *const known[] = {"lookups", "zipf", "hot", "hot_rows", "ids", "seed", NULL};
  static const char *const ids[] = {"shuffled", "popularity", NULL};
  struct ss_synth *s = &m->feed.synth;
  struct ss_node lookups, order = ss_node_get(node, "ids");
  size_t choice;
  ss_synth_defaults(s);
  choice = (size_t)s->ids;
  m->feed.kind = SS_FEED_SYNTH;
  s->tensor = m->name;
  s->rows = m->rows;
  s->row_width = m->row_width;
  s->dtype = dtype;
  if (!ss_node_keys(node, known, error) || !ss_node_need(node, "lookups", &lookups, error) ||
      !ss_node_count(lookups, 1, UINT64_C(1) << 40, &s->tokens, error) ||
      !read_number(node, "zipf", SS_RATIO, &s->zipf, error) || !read_number(node, "hot", SS_RATIO, &s->hot, error) ||
      !read_count(node, "hot_rows", 0, UINT32_MAX, &s->hot_rows, error) ||
      (ss_node_present(order) && !ss_node_choice(order, ids, &choice, error)) ||
      !read_count(node, "seed", 0, UINT64_C(1) << 53, &s->seed, error))
    return false;
  s->ids = (enum ss_ids)choice;
  return true;
}

static bool read_counts(struct ss_node node, struct ss_module *m, struct ss_error *error) {
  static const char *const known[] = {"lookups", "coalesced", "prior", "overlap", NULL};
  static const char *const overlaps[] = {"full", "none", "random", NULL};
  struct ss_feed *f = &m->feed;
  struct ss_node lookups, coalesced, prior, overlap = ss_node_get(node, "overlap");
  size_t choice = SS_OVERLAP_RANDOM;
  f->kind = SS_FEED_COUNTS;
  if (!ss_node_keys(node, known, error) || !ss_node_need(node, "lookups", &lookups, error) ||
      !ss_node_need(node, "coalesced", &coalesced, error) || !ss_node_need(node, "prior", &prior, error) ||
      !ss_node_count(lookups, 0, UINT32_MAX, &f->lookups, error) ||
      !ss_node_count(coalesced, 0, UINT32_MAX, &f->coalesced, error) ||
      !ss_node_count(prior, 0, UINT32_MAX, &f->prior, error) ||
      (ss_node_present(overlap) && !ss_node_choice(overlap, overlaps, &choice, error)))
    return false;
  f->overlap = (enum ss_overlap)choice;
  if (f->coalesced > m->rows)
    return ss_node_fail(coalesced, error, "%llu distinct rows of a table of %llu", (unsigned long long)f->coalesced,
                        (unsigned long long)m->rows);
  if (f->coalesced > f->lookups || (f->lookups > 0 && f->coalesced == 0))
    return ss_node_fail(coalesced, error, "%llu distinct rows in %llu lookups", (unsigned long long)f->coalesced,
                        (unsigned long long)f->lookups);
  if (f->prior > f->coalesced)
    return ss_node_fail(prior, error, "%llu prior rows, but only %llu rows (\"coalesced\") have a gradient",
                        (unsigned long long)f->prior, (unsigned long long)f->coalesced);
  return true;
}

static bool read_feed(struct reading *r, struct ss_node node, struct ss_module *m, struct ss_error *error) {
  struct ss_node tensor = ss_node_get(node, "tensor"), synth = ss_node_get(node, "synth"),
                 counts = ss_node_get(node, "counts");
  if (ss_node_present(tensor) + ss_node_present(synth) + ss_node_present(counts) != 1)
    return ss_node_fail(node, error,
                        "an embedding needs one of \"tensor\" (of the trace), \"synth\" and \"counts\" to feed it");
  if (ss_node_present(tensor)) return read_tensors(r->w, tensor, &m->feed, error);
  if (ss_node_present(synth)) return read_synth(synth, m, r->w->dtype, error);
  return read_counts(counts, m, error);
}

/* --- modules -------------------------------------------------------------------------------------------- */

static bool read_table(struct reading *r, struct ss_node node, struct ss_module *m, struct ss_error *error) {
  struct ss_node rows, width, bytes = ss_node_get(node, "bytes"), after = ss_node_get(node, "after");
  const uint64_t element = ss_dtype_bytes(r->w->dtype);
  uint64_t columns, table, given;
  if (!ss_node_need(node, "rows", &rows, error) || !ss_node_need(node, "row_width", &width, error) ||
      !ss_node_count(rows, 1, UINT32_MAX, &m->rows, error) || !ss_node_count(width, 1, UINT32_MAX, &columns, error))
    return false;
  m->row_width = (uint32_t)columns;
  if (!ss_mul_u64(m->rows, columns * element, &table) || table > SS_TENSOR_BYTES_MAX)
    return ss_node_fail(rows, error, "%llu rows of %u elements are more than 2^53 bytes", (unsigned long long)m->rows,
                        m->row_width);
  m->bytes = table;
  if (ss_node_present(bytes)) {
    if (!ss_bytes_read(bytes, &given, error)) return false;
    if (given != table)
      return ss_node_fail(bytes, error, "%llu rows of %u elements of %llu bytes are %llu bytes, not %llu",
                          (unsigned long long)m->rows, m->row_width, (unsigned long long)element,
                          (unsigned long long)table, (unsigned long long)given);
  }
  if (ss_node_present(after) && (!ss_node_is_array(after) || ss_node_size(after) > 0))
    return ss_node_fail(after, error, "an embedding looks up ids, which wait for no module: leave \"after\" out");
  return read_feed(r, node, m, error);
}

static bool read_dense(struct reading *r, struct ss_node node, struct ss_module *m, struct ss_error *error) {
  struct ss_node bytes = ss_node_get(node, "bytes");
  const uint32_t element = ss_dtype_bytes(r->w->dtype);
  if (!ss_node_present(bytes)) return true;
  if (!ss_bytes_read(bytes, &m->bytes, error)) return false;
  if (m->bytes % element == 0) return true;
  return ss_node_fail(bytes, error, "%llu bytes are not a whole number of %s elements of %u bytes",
                      (unsigned long long)m->bytes, ss_dtype_name(r->w->dtype), element);
}

static bool read_module(struct reading *r, struct ss_node node, struct ss_module *m, struct ss_error *error) {
  static const char *const kinds[] = {"embedding", "dense", NULL};
  static const char *const of_tables[] = {"name",  "kind", "bytes",     "forward_s", "backward_s", "after",  "source",
                                          "notes", "rows", "row_width", "tensor",    "synth",      "counts", NULL};
  static const char *const of_dense[] = {"name",  "kind",   "bytes", "forward_s", "backward_s",
                                         "after", "source", "notes", NULL};
  struct ss_node name, kind;
  size_t choice;
  if (!ss_node_is_object(node)) return ss_node_fail(node, error, "a module is an object with \"name\" and \"kind\"");
  if (!ss_node_need(node, "name", &name, error) || !ss_node_need(node, "kind", &kind, error) ||
      !ss_node_choice(kind, kinds, &choice, error) || !read_kept(r->w, name, &m->name, error))
    return false;
  m->embedding = choice == 0;
  if (!ss_node_keys(node, m->embedding ? of_tables : of_dense, error) ||
      !read_number(node, "forward_s", SS_TIME, &m->forward, error) ||
      !read_number(node, "backward_s", SS_TIME, &m->backward, error))
    return false;
  if (!(m->embedding ? read_table(r, node, m, error) : read_dense(r, node, m, error))) return false;
  return note_estimates(r, ss_node_get(node, "source"), m->name, error);
}

/* --- what comes after what ------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b, void *names) {
  const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
  const int order = strcmp(((const char *const *)names)[i], ((const char *const *)names)[k]);
  return order ? order : (i > k) - (i < k);
}

static bool sort_names(struct reading *r, struct ss_error *error) {
  const uint32_t n = r->w->modules;
  r->names = ss_alloc_zero(n + 1, sizeof *r->names);
  r->sorted = ss_alloc(n, sizeof *r->sorted);
  if (!r->names || !r->sorted) return short_of_memory(error);
  for (uint32_t i = 0; i < n; i++) {
    r->names[i] = r->w->module[i].name;
    r->sorted[i] = i;
  }
  qsort_r(r->sorted, n, sizeof *r->sorted, by_name, (void *)r->names);
  for (uint32_t i = 1; i < n; i++)
    if (strcmp(r->names[r->sorted[i - 1]], r->names[r->sorted[i]]) == 0)
      return ss_node_fail(r->modules, error, "two modules are called \"%s\"", r->names[r->sorted[i]]);
  return true;
}

static bool find_module(const struct reading *r, struct ss_node node, uint32_t *out, struct ss_error *error) {
  const char *name;
  if (!ss_node_text(node, &name, error)) return false;
  for (uint32_t low = 0, high = r->w->modules; low < high;) {
    const uint32_t middle = low + (high - low) / 2;
    const int order = strcmp(r->names[r->sorted[middle]], name);
    if (order == 0) {
      *out = r->sorted[middle];
      return true;
    }
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return ss_node_fail(node, error, "no module is called \"%s\"%s", name, ss_suggest(name, r->names, NULL).text);
}

static bool read_after(struct reading *r, struct ss_node node, struct ss_module *m, struct ss_error *error) {
  struct ss_node after = ss_node_get(node, "after");
  if (!ss_node_present(after)) return true;
  if (!ss_node_is_array(after)) return ss_node_fail(after, error, "expected a list of names of modules");
  uint32_t *places = ss_arena_alloc(&r->w->arena, ss_node_size(after), sizeof *places);
  if (!places) return short_of_memory(error);
  m->after = places;
  for (struct ss_node n = ss_node_first(after); ss_node_present(n); n = ss_node_next(n))
    if (!find_module(r, n, &places[m->afters++], error)) return false;
  return true;
}

struct sorting {
  const struct ss_workload *w;
  uint32_t *order, count;
  bool placed[SS_MODULES_MAX];
  uint32_t seen[SS_MODULES_MAX]; /* how many of a module's `after` are known to be placed */
};

static bool is_ready(struct sorting *s, uint32_t module) {
  const struct ss_module *m = &s->w->module[module];
  uint32_t *seen = &s->seen[module];
  while (*seen < m->afters && s->placed[m->after[*seen]]) ++*seen;
  return *seen == m->afters;
}

static void place(struct sorting *s, uint32_t module) {
  s->placed[module] = true;
  s->order[s->count++] = module;
}

/* False when a cycle keeps modules from being placed. */
static bool sort_modules(struct sorting *s, bool embeddings_first) {
  for (uint32_t i = 0; embeddings_first && i < s->w->modules; i++)
    if (s->w->module[i].embedding) place(s, i);
  while (s->count < s->w->modules) {
    uint32_t i = 0;
    while (i < s->w->modules && (s->placed[i] || !is_ready(s, i))) i++;
    if (i == s->w->modules) return false;
    place(s, i);
  }
  return true;
}

bool ss_workload_order(const struct ss_workload *w, bool embeddings_first, uint32_t *order, struct ss_error *error) {
  struct sorting *s = ss_alloc_zero(1, sizeof *s);
  if (!s) return ss_fail_memory(error, "ordering modules");
  s->w = w;
  s->order = order;
  const bool sorted = sort_modules(s, embeddings_first);
  free(s);
  return sorted ? true : ss_fail(error, SS_BAD_INPUT, "%s: \"after\" has a cycle", w->name);
}

/* A module that cannot be placed waits for another such, and so on: that leads into the cycle. */
static uint32_t waits_for(const struct sorting *s, uint32_t module) {
  return s->w->module[module].after[s->seen[module]];
}

static bool check_order(const struct reading *r, struct sorting *s, struct ss_error *error) {
  char text[600];
  uint32_t at = 0;
  if (sort_modules(s, false)) return true;
  while (s->placed[at]) at++;
  for (uint32_t i = 0; i < s->w->modules; i++) at = waits_for(s, at);
  const uint32_t head = at;
  size_t used = (size_t)snprintf(text, sizeof text, "%.80s", s->w->module[head].name);
  do {
    at = waits_for(s, at);
    if (used < sizeof text)
      used += (size_t)snprintf(text + used, sizeof text - used, " after %.80s", s->w->module[at].name);
  } while (at != head);
  return ss_node_fail(r->modules, error, "\"after\" has a cycle: %s", text);
}

/* --- the whole ------------------------------------------------------------------------------------------ */

/* Words a second follow from it: none, or more than doubles can count, are a slip. */
static bool read_tokens(struct ss_node parent, double *out, struct ss_error *error) {
  const struct ss_node node = ss_node_get(parent, "tokens");
  *out = NAN;
  if (!ss_node_present(node)) return true;
  if (!ss_node_positive(node, SS_NUMBER, out, error)) return false;
  return *out <= 0x1p53 || ss_node_fail(node, error, "so many words no rank processes in an iteration");
}

static bool read_head(struct ss_node node, struct ss_workload *w, struct ss_error *error) {
  static const char *const known[] = {"name",    "summary", "dtype", "tokens", "iterations",
                                      "modules", "source",  "notes", NULL};
  struct ss_node name, summary = ss_node_get(node, "summary"), dtype = ss_node_get(node, "dtype");
  size_t choice = SS_F32;
  if (!ss_node_is_object(node)) return ss_node_fail(node, error, "a workload is an object with \"modules\"");
  if (!ss_node_keys(node, known, error) || !ss_node_need(node, "name", &name, error) ||
      !read_kept(w, name, &w->name, error))
    return false;
  w->summary = "";
  if ((ss_node_present(summary) && !read_kept(w, summary, &w->summary, error)) ||
      (ss_node_present(dtype) && !ss_node_choice(dtype, ss_dtypes, &choice, error)) ||
      !read_tokens(node, &w->tokens, error) || !read_count(node, "iterations", 1, 1u << 20, &w->iterations, error))
    return false;
  w->dtype = (enum ss_dtype)choice;
  return true;
}

static bool read_modules(struct reading *r, struct ss_node node, struct ss_error *error) {
  struct ss_workload *w = r->w;
  uint32_t i = 0;
  if (!ss_node_need(node, "modules", &r->modules, error)) return false;
  const size_t n = ss_node_is_array(r->modules) ? ss_node_size(r->modules) : 0;
  if (n == 0 || n > SS_MODULES_MAX)
    return ss_node_fail(r->modules, error, "expected a list of 1 to %d modules", SS_MODULES_MAX);
  w->module = ss_arena_zero(&w->arena, n, sizeof *w->module);
  struct sorting *sorting = ss_arena_zero(&w->arena, 1, sizeof *sorting);
  uint32_t *order = ss_arena_alloc(&w->arena, n, sizeof *order);
  if (!w->module || !order || !sorting) return short_of_memory(error);
  sorting->w = w;
  sorting->order = order;
  for (struct ss_node m = ss_node_first(r->modules); ss_node_present(m); m = ss_node_next(m))
    if (!read_module(r, m, &w->module[i++], error)) return false;
  w->modules = (uint32_t)n;
  if (!sort_names(r, error)) return false;
  i = 0;
  for (struct ss_node m = ss_node_first(r->modules); ss_node_present(m); m = ss_node_next(m))
    if (!read_after(r, m, &w->module[i++], error)) return false;
  return check_order(r, sorting, error);
}

bool ss_workload_read(struct ss_node node, struct ss_workload *out, struct ss_error *error) {
  struct reading r = {.w = out};
  *out = (struct ss_workload){0};
  bool ok = read_head(node, out, error) && note_estimates(&r, ss_node_get(node, "source"), NULL, error) &&
            read_modules(&r, node, error) && keep_estimates(&r, error);
  free(r.names);
  free(r.sorted);
  free(r.estimate);
  return ok;
}

void ss_workload_free(struct ss_workload *workload) {
  ss_arena_free(&workload->arena);
  *workload = (struct ss_workload){0};
}
