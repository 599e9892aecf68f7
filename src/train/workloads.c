#include "train/workloads.h"

#include "trace/make/like.h"

/* What a reader has at hand. */
struct reading {
  struct ss_workload *w;
  struct ss_node modules;
  const char **names; /* [modules + 1] in list order, NULL-terminated */
  uint32_t *sorted;   /* [modules] indices by name */
  struct ss_workload_estimate *estimate;
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
    const struct ss_workload_estimate e = {module, ss_arena_text(&r->w->arena, ss_node_key(n)),
                                           ss_arena_text(&r->w->arena, text)};
    if (!e.field || !e.how) return short_of_memory(error);
    r->estimate[r->estimates++] = e;
  }
  return true;
}

static bool keep_estimates(struct reading *r, struct ss_error *error) {
  struct ss_workload_estimate *kept = ss_arena_alloc(&r->w->arena, r->estimates, sizeof *kept);
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

static const struct ss_field_spec synth_fields[] = {SS_SYNTH_FIELDS, {.name = NULL}};
static const struct ss_object_spec synth_spec = {
    .says = "lookups of its own that follow Zipf's law",
    .field = synth_fields,
    .rules = "{'anyOf': [{'required': ['lookups']}, {'required': ['tokens']}, {'required': ['like']}]}"};

static bool read_synth(struct ss_node node, struct ss_module *m, enum ss_dtype dtype, struct ss_error *error) {
  struct ss_synth *s = &m->feed.synth;
  struct ss_node needed;
  ss_synth_defaults(s);
  m->feed.kind = SS_FEED_SYNTH;
  m->feed.fitted = ss_node_present(ss_node_get(node, "like"));
  s->tensor = m->name;
  s->rows = m->rows;
  s->row_width = m->row_width;
  s->dtype = dtype;
  return ss_object_check_keys(&synth_spec, node, error) &&
         (ss_node_present(ss_node_get(node, "tokens")) || ss_node_present(ss_node_get(node, "like")) ||
          ss_node_need(node, "lookups", &needed, error)) &&
         ss_object_read(&synth_spec, node, s, error) && ss_like_apply(node, s, error);
}

static const struct ss_field_spec count_fields[] = {
    {"lookups", "of a rank in an iteration", SS_IS_COUNT(0, UINT32_MAX), .required = true,
     SS_STORED(struct ss_feed, lookups)},
    {"coalesced", "distinct rows among them", SS_IS_COUNT(0, UINT32_MAX), .required = true,
     SS_STORED(struct ss_feed, coalesced)},
    {"prior", "of these, rows that the next iteration looks up", SS_IS_COUNT(0, UINT32_MAX), .required = true,
     SS_STORED(struct ss_feed, prior)},
    {"overlap", "of the rows of ranks", SS_IS_CHOICE(ss_overlap_names), .usual = "random",
     SS_STORED(struct ss_feed, overlap)},
    {.name = NULL}};
static const struct ss_object_spec count_spec = {.says = "numbers of rows, as papers print them",
                                                 .field = count_fields};

static bool read_counts(struct ss_node node, struct ss_module *m, struct ss_error *error) {
  const struct ss_node coalesced = ss_node_get(node, "coalesced");
  struct ss_feed *f = &m->feed;
  f->kind = SS_FEED_COUNTS;
  if (!ss_object_read(&count_spec, node, f, error)) return false;
  if (f->coalesced > m->rows)
    return ss_node_fail(coalesced, error, "%llu distinct rows of a table of %llu", (unsigned long long)f->coalesced,
                        (unsigned long long)m->rows);
  if (f->coalesced > f->lookups || (f->lookups > 0 && f->coalesced == 0))
    return ss_node_fail(coalesced, error, "%llu distinct rows in %llu lookups", (unsigned long long)f->coalesced,
                        (unsigned long long)f->lookups);
  if (f->prior > f->coalesced)
    return ss_node_fail(ss_node_get(node, "prior"), error,
                        "%llu prior rows, but only %llu rows (\"coalesced\") have a gradient",
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
  const struct ss_node bytes = ss_node_get(node, "bytes"), after = ss_node_get(node, "after");
  const uint64_t element = ss_dtype_bytes(r->w->dtype);
  uint64_t table, given;
  if (!ss_mul_u64(m->rows, m->row_width * element, &table) || table > SS_TENSOR_BYTES_MAX)
    return ss_node_fail(ss_node_get(node, "rows"), error, "%llu rows of %u elements are more than 2^53 bytes",
                        (unsigned long long)m->rows, m->row_width);
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

static const char *const kinds[] = {"embedding", "dense", NULL}, *const embedding_kind[] = {"embedding", NULL},
                         *const dense_kind[] = {"dense", NULL};
static const struct ss_field_spec a_name = {NULL, NULL, SS_IS_NAME},
                                  tensors[] = {{NULL, NULL, SS_IS_NAME},
                                               {NULL, NULL, SS_IS_LIST(&a_name, 1, 0)},
                                               {.name = NULL}};
static const struct ss_object_spec source_spec = {
    .name = "source",
    .says = "field name to where its number comes from; a text that begins with \"estimated\" says how it was made",
    .others = &a_name};
#define MODULE_FIELDS(kind_)                                                                                         \
  {"name", NULL, SS_IS_NAME, .required = true}, {"kind", NULL, SS_IS_CHOICE(kind_), .required = true},               \
      {"bytes", "of its gradient; of a table, if given, rows * row_width * bytes of an element", SS_IS_BYTES},       \
      {"optimizer_s", "once an iteration, before its forward pass", SS_IS_TIME,                                      \
       SS_STORED(struct ss_module, optimizer)},                                                                      \
      {"forward_s", NULL, SS_IS_TIME, SS_STORED(struct ss_module, forward)},                                         \
      {"backward_s", NULL, SS_IS_TIME, SS_STORED(struct ss_module, backward)},                                       \
      {"after", "modules whose output it needs", SS_IS_LIST(&a_name, 0, 0)},                                         \
      {"source", NULL, SS_IS_OBJECT(&source_spec)}, SS_SPEC_NOTES
static const struct ss_field_spec embedding_fields[] = {
    MODULE_FIELDS(embedding_kind),
    {"rows", NULL, SS_IS_COUNT(1, UINT32_MAX), .required = true, SS_STORED(struct ss_module, rows)},
    {"row_width", NULL, SS_IS_COUNT(1, UINT32_MAX), .required = true, SS_STORED(struct ss_module, row_width)},
    {"tensor", "of the scenario's trace; several: one table that all of them look up", SS_IS_EITHER(tensors)},
    {"synth", NULL, SS_IS_OBJECT(&synth_spec)},
    {"counts", NULL, SS_IS_OBJECT(&count_spec)},
    {.name = NULL}};
static const struct ss_field_spec dense_fields[] = {MODULE_FIELDS(dense_kind), {.name = NULL}};
static const struct ss_object_spec
    embedding_spec = {.name = "embedding",
                      .field = embedding_fields,
                      .rules =
                          "{'oneOf': [{'required': ['tensor']}, {'required': ['synth']}, {'required': ['counts']}], "
                          "'allOf': [{'properties': {'after': {'maxItems': 0}}}]}"},
    dense_spec = {.name = "dense", .field = dense_fields};
static const struct ss_field_spec modules[] = {{NULL, NULL, SS_IS_OBJECT(&dense_spec)},
                                               {NULL, NULL, SS_IS_OBJECT(&embedding_spec)},
                                               {.name = NULL}},
                                  a_module = {NULL, NULL, SS_IS_EITHER(modules)};

static bool read_module(struct reading *r, struct ss_node node, struct ss_module *m, struct ss_error *error) {
  struct ss_node name, kind;
  size_t choice;
  if (!ss_node_is_object(node)) return ss_node_fail(node, error, "a module is an object with \"name\" and \"kind\"");
  if (!ss_node_need(node, "name", &name, error) || !ss_node_need(node, "kind", &kind, error) ||
      !ss_node_choice(kind, kinds, &choice, error) || !read_kept(r->w, name, &m->name, error))
    return false;
  m->embedding = choice == 0;
  return ss_object_read(m->embedding ? &embedding_spec : &dense_spec, node, m, error) &&
         (m->embedding ? read_table(r, node, m, error) : read_dense(r, node, m, error)) &&
         note_estimates(r, ss_node_get(node, "source"), m->name, error);
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
  uint32_t *indices = ss_arena_alloc(&r->w->arena, ss_node_size(after), sizeof *indices);
  if (!indices) return short_of_memory(error);
  m->after = indices;
  for (struct ss_node n = ss_node_first(after); ss_node_present(n); n = ss_node_next(n))
    if (!find_module(r, n, &indices[m->afters++], error)) return false;
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

static const struct ss_field_spec workload_fields[] = {
    {"name", NULL, SS_IS_NAME, .required = true},
    SS_SPEC_SUMMARY,
    {"dtype", "element of every gradient", SS_IS_CHOICE(ss_dtypes), .usual = "F32",
     SS_STORED(struct ss_workload, dtype)},
    {"tokens", "non-padding words that a rank processes in an iteration (as the trace says)", SS_IS_ABOVE_0,
     .most = 0x1p53, SS_STORED(struct ss_workload, tokens)},
    {"optimizer_states", "bytes of the optimizer's states, in those of the parameters: 2 of Adam", SS_IS_FROM_0,
     .usual = "0", SS_STORED(struct ss_workload, states)},
    {"iterations", "different iterations of \"synth\" lookups (8, or the trace's)", SS_IS_COUNT(1, 1 << 20),
     SS_STORED(struct ss_workload, iterations)},
    {"modules", "in list order, which breaks ties of the forward order; backward passes go the other way",
     SS_IS_LIST(&a_module, 1, SS_MODULES_MAX), .required = true},
    {"source", NULL, SS_IS_OBJECT(&source_spec)},
    SS_SPEC_NOTES,
    {.name = NULL}};
const struct ss_object_spec ss_workload_fields = {
    .name = "workload",
    .title = "A workload: models/workloads/*.json, or inline in a scenario of train",
    .says = "docs/training.md, \"Workloads\"",
    .field = workload_fields};

static bool read_head(struct ss_node node, struct ss_workload *w, struct ss_error *error) {
  const struct ss_node summary = ss_node_get(node, "summary");
  if (!ss_node_is_object(node)) return ss_node_fail(node, error, "a workload is an object with \"modules\"");
  w->summary = "";
  w->tokens = NAN;
  return ss_object_read(&ss_workload_fields, node, w, error) &&
         read_kept(w, ss_node_get(node, "name"), &w->name, error) &&
         (!ss_node_present(summary) || read_kept(w, summary, &w->summary, error));
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
/* SPDX-License-Identifier: Apache-2.0 */
