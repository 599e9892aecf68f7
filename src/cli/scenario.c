#include "cli/scenario.h"

#include "base/data.h"
#include "cli/candidates.h"
#include "cli/scenario_trace.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AXES_MAX = 8, RANKS_MAX = 256, SCHEMES_MAX = 1024, PLACES_MAX = 100000, SCENARIO_BYTES = 16 << 20 };

struct ss_scenario {
  struct ss_doc *doc;
  const char *file; /* NULL: none */
  const struct ss_request *request;
  const char *name;
  struct ss_sources sources;
  struct ss_arena arena; /* names of places */
  struct ss_job *job;
  size_t count, room;
  bool chosen_for_user; /* no schemes were named: all that can run */
  cJSON **at;           /* one a place */
  size_t places;
  cJSON *resolved; /* the document after all edits, before the sweep's */
  cJSON *models;   /* [{"kind", "model"}], each once */
};

static const char *const keys[] = {
    "name",    "summary",    "trace", "cluster", "ranks", "device", "index_bytes", "granularity", "verify", "sizes",
    "schemes", "iterations", "sweep", "expect",  "merge", "notes",  "select",      "hierarchy",   NULL};

/* --- the document --------------------------------------------------------------------------------------- */

/* A model is read once from its own file, so that what is wrong with it names that file. */
static bool check_model(struct ss_node root, bool is_device, struct ss_error *error) {
  struct ss_cluster cluster;
  struct ss_device device;
  return is_device ? ss_device_read(root, &device, error) : ss_cluster_read(root, &cluster, error);
}

/* Turns "cluster": "NAME" into the object that the file holds, so that --set and sweeps can reach into it. */
static bool resolve(struct ss_scenario *s, const char *key, const char *kind, struct ss_error *error) {
  struct ss_node node = ss_node_get(ss_doc_root(s->doc), key);
  struct ss_doc *doc;
  const char *name;
  char found[PATH_MAX], path[PATH_MAX];
  if (!ss_node_is_text(node)) return true;
  if (!ss_node_text(node, &name, error)) return false;
  if (strcmp(kind, "devices") == 0 && strcmp(name, "none") == 0) return true;
  if (!ss_data_find(kind, name, found, sizeof found, error))
    return ss_fail_prefix(error, "%s: %s", ss_doc_name(s->doc), key);
  ss_scenario_locate(found, s->file, path, sizeof path);
  if (!ss_doc_read(path, 1 << 20, &doc, error)) return false;
  bool good = check_model(ss_doc_root(doc), strcmp(kind, "devices") == 0, error);
  cJSON *copy = good ? cJSON_Duplicate(ss_doc_root(doc).at, 1) : NULL;
  ss_doc_free(doc);
  if (!good) return false;
  return copy ? ss_doc_set_item(s->doc, key, copy, error) : ss_fail_memory(error, "reading a model");
}

static bool resolve_all(struct ss_scenario *s, struct ss_error *error) {
  return resolve(s, "cluster", "clusters", error) && resolve(s, "device", "devices", error);
}

/* "a,b" into ["a", "b"]. */
static bool set_list(struct ss_scenario *s, const char *key, const char *text, struct ss_error *error) {
  cJSON *list = cJSON_CreateArray();
  char *copy = strdup(text), *rest = copy;
  if (!list || !copy) {
    cJSON_Delete(list);
    free(copy);
    return ss_fail_memory(error, "reading options");
  }
  for (char *word; (word = strsep(&rest, ","));) cJSON_AddItemToArray(list, cJSON_CreateString(word));
  free(copy);
  return ss_doc_set_item(s->doc, key, list, error);
}

/* A model's source speaks of what its file says, not of what the command line put there. */
static bool disown(struct ss_scenario *s, const char *path, struct ss_error *error) {
  const size_t n = strcspn(path, "."), m = path[n] ? strcspn(path + n + 1, ".[") : 0;
  if (m == 0 || (strncmp(path, "cluster.", n + 1) != 0 && strncmp(path, "device.", n + 1) != 0)) return true;
  SS_AUTO_FREE char *model = strndup(path, n), *field = strndup(path + n + 1, m);
  if (!model || !field) return ss_fail_memory(error, "reading options");
  struct ss_node source = ss_node_get(ss_node_get(ss_doc_root(s->doc), model), "source");
  if (!ss_node_present(ss_node_get(source, field))) return true;
  cJSON *text = cJSON_CreateString("given on the command line");
  if (text && cJSON_ReplaceItemInObjectCaseSensitive(source.at, field, text)) return true;
  cJSON_Delete(text);
  return ss_fail_memory(error, "reading options");
}

static bool set_text(struct ss_scenario *s, const char *key, const char *text, struct ss_error *error) {
  cJSON *item = text ? cJSON_CreateString(text) : NULL;
  if (!text) return true;
  if (!item) return ss_fail_memory(error, "reading options");
  return ss_doc_set_item(s->doc, key, item, error) && disown(s, key, error);
}

static bool set_one(struct ss_scenario *s, const char *text, struct ss_error *error) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text)
    return ss_fail(error, SS_BAD_INPUT, "--set %s: expected PATH=VALUE (say cluster.bandwidth=100Gbps)", text);
  char *path = strndup(text, (size_t)(equals - text));
  if (!path) return ss_fail_memory(error, "reading options");
  bool ok = resolve_all(s, error) && ss_doc_set(s->doc, path, equals + 1, error) && disown(s, path, error);
  free(path);
  return ok;
}

static bool edit(struct ss_scenario *s, const struct ss_request *r, struct ss_error *error) {
  if (!set_text(s, "trace", r->trace, error) || !set_text(s, "cluster", r->cluster, error) ||
      !set_text(s, "device", r->device, error) || !set_text(s, "ranks", r->ranks, error) ||
      !set_text(s, "iterations", r->iterations, error) || !set_text(s, "merge", r->merge, error))
    return false;
  if (r->schemes && !set_list(s, "schemes", r->schemes, error)) return false;
  if (r->no_verify && !ss_doc_set(s->doc, "verify", "false", error)) return false;
  for (size_t i = 0; i < r->sets; i++)
    if (!set_one(s, r->set[i], error)) return false;
  if (!resolve_all(s, error)) return false;
  if ((r->bandwidth || r->latency) && !ss_node_present(ss_node_get(ss_doc_root(s->doc), "cluster")))
    return ss_fail(error, SS_BAD_INPUT, "--bandwidth and --latency change a cluster: say --cluster NAME too");
  return set_text(s, "cluster.bandwidth", r->bandwidth, error) && set_text(s, "cluster.latency", r->latency, error);
}

/* --- ranks ---------------------------------------------------------------------------------------------- */

static bool add_rank(uint64_t rank, uint32_t *out, size_t room, size_t *count, struct ss_error *error) {
  if (*count == room) return ss_fail(error, SS_BAD_INPUT, "ranks: more than %zu", room);
  out[(*count)++] = (uint32_t)rank;
  return true;
}

bool ss_ranks_parse(const char *text, uint32_t *out, size_t room, size_t *count, struct ss_error *error) {
  char copy[512], *rest = copy;
  *count = 0;
  if (strlen(text) >= sizeof copy) return ss_fail(error, SS_BAD_INPUT, "ranks: the list is too long");
  snprintf(copy, sizeof copy, "%s", text);
  for (char *word; (word = strsep(&rest, ","));) {
    char *dots = strstr(word, "..");
    uint64_t low, high;
    if (dots) *dots = '\0';
    if (!ss_count_parse(word, "ranks", 1, SS_RANKS_MAX, &low, error)) return false;
    high = low;
    if (dots && !ss_count_parse(dots + 2, "ranks", low, SS_RANKS_MAX, &high, error)) return false;
    for (uint64_t rank = low; rank <= high; rank = rank < high && rank * 2 > high ? high : rank * 2) {
      if (!add_rank(rank, out, room, count, error)) return false;
      if (rank == high) break;
    }
  }
  return true;
}

bool ss_ranks_read(struct ss_node node, uint32_t available, uint32_t *out, size_t room, size_t *count,
                   struct ss_error *error) {
  const char *text;
  uint64_t rank;
  *count = 0;
  if (!ss_node_present(node)) {
    if (available == 0)
      return ss_node_fail(node, error, "say how many \"ranks\" (a uniform tensor has any number of them)");
    return add_rank(available, out, room, count, error);
  }
  if (ss_node_is_text(node))
    return (ss_node_text(node, &text, error) && ss_ranks_parse(text, out, room, count, error)) ||
           ss_fail_prefix(error, "%s: ranks", ss_doc_name(node.doc));
  if (ss_node_is_number(node))
    return ss_node_count(node, 1, SS_RANKS_MAX, &rank, error) && add_rank(rank, out, room, count, error);
  if (!ss_node_is_array(node) || ss_node_size(node) == 0)
    return ss_node_fail(node, error, "expected a list of rank counts (say [4, 8, 16] or \"4..64\")");
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n))
    if (!ss_node_count(n, 1, SS_RANKS_MAX, &rank, error) || !add_rank(rank, out, room, count, error)) return false;
  return true;
}

/* --- one place ------------------------------------------------------------------------------------------ */

struct place {
  struct ss_cluster cluster;
  struct ss_device device;
  const struct ss_source *source;
  const char *cluster_name, *device_name;
  uint32_t merge, available; /* available: ranks, 0 for any */
  uint64_t first, end;
  bool verify;
  struct ss_setting defaults;
  struct ss_selection selection;
  cJSON *at;
};

static bool has_values(const struct ss_source *source) {
  if (!source->trace) return true;
  bool all = true;
  for (size_t i = 0; i < ss_trace_tensors(source->trace); i++) all = all && ss_trace_has_values(source->trace, i);
  return all;
}

/* The scenario's "select", of what has values. */
static bool read_select(struct ss_node node, const struct place *p, struct ss_selection *out,
                        struct ss_error *error) {
  *out = (struct ss_selection){.residual = true};
  if (!ss_node_present(node)) return true;
  if (!ss_selection_read(node, out, error)) return false;
  if (has_values(p->source)) return true;
  return ss_node_fail(
      node, error,
      "%s has no values to select from: capture them, or say \"trace\": {\"gradient\": {\"elements\": n}}",
      p->source->name);
}

static bool read_iterations(struct ss_node node, uint64_t most, uint64_t *first, uint64_t *end,
                            struct ss_error *error) {
  const char *text;
  *first = 0;
  *end = most;
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
      (*to && !ss_count_parse(to, "iterations", *first + 1, most, end, &inner)))
    return ss_node_fail(node, error, "\"%s\" is not a range of iterations (say \"0:50\"; the trace has %llu)", text,
                        (unsigned long long)most);
  return true;
}

/* Models that differ in numbers only, as in a sweep of them, are one. */
static bool same_model(const cJSON *a, const cJSON *b) {
  static const char *const texts[] = {"name", "source"};
  for (size_t i = 0; i < 2; i++) {
    const cJSON *x = cJSON_GetObjectItemCaseSensitive(a, texts[i]),
                *y = cJSON_GetObjectItemCaseSensitive(b, texts[i]);
    if ((x || y) && !cJSON_Compare(x, y, true)) return false;
  }
  return true;
}

static bool remember(struct ss_scenario *s, const char *kind, struct ss_node model, struct ss_error *error) {
  const cJSON *known;
  if (!ss_node_is_object(model)) return true;
  cJSON_ArrayForEach(known, s->models) {
    if (strcmp(cJSON_GetObjectItemCaseSensitive(known, "kind")->valuestring, kind) == 0 &&
        same_model(cJSON_GetObjectItemCaseSensitive(known, "model"), model.at))
      return true;
  }
  cJSON *entry = cJSON_CreateObject(), *copy = cJSON_Duplicate(model.at, true);
  const bool ok = entry && copy && cJSON_AddStringToObject(entry, "kind", kind) &&
                  cJSON_AddItemToObject(entry, "model", copy) && cJSON_AddItemToArray(s->models, entry);
  if (!ok) cJSON_Delete(entry);
  return ok ? true : ss_fail_memory(error, "reading a model");
}

static bool read_models(struct ss_scenario *s, struct ss_node root, struct place *p, struct ss_error *error) {
  struct ss_node cluster = ss_node_get(root, "cluster"), device = ss_node_get(root, "device");
  if (!ss_node_present(cluster)) {
    struct ss_error list;
    char nowhere[PATH_MAX];
    if (!ss_data_find("clusters", "?", nowhere, sizeof nowhere, &list))
      return ss_fail(error, SS_BAD_INPUT, "%s: no cluster given: say --cluster NAME %s", ss_doc_name(s->doc),
                     strchr(list.text, '(') ? strchr(list.text, '(') : list.text);
    return ss_fail(error, SS_BAD_INPUT, "%s: no cluster given (--cluster NAME)", ss_doc_name(s->doc));
  }
  if (!ss_cluster_read(cluster, &p->cluster, error)) return false;
  p->device = ss_device_none();
  if (ss_node_present(device) && !ss_node_is_text(device) && !ss_device_read(device, &p->device, error)) return false;
  if (!remember(s, "cluster", cluster, error) || !remember(s, "device", device, error)) return false;
  char *names = ss_arena_alloc(&s->arena, 2, sizeof p->cluster.name);
  if (!names) return ss_fail_memory(error, "reading a scenario");
  p->cluster_name = memcpy(names, p->cluster.name, sizeof p->cluster.name);
  p->device_name = memcpy(names + sizeof p->cluster.name, p->device.name, sizeof p->device.name);
  return true;
}

static bool read_place(struct ss_scenario *s, struct place *p, struct ss_error *error) {
  struct ss_node root = ss_doc_root(s->doc), trace = ss_node_get(root, "trace"), merge = ss_node_get(root, "merge"),
                 verify = ss_node_get(root, "verify");
  uint64_t group = 1;
  if (!ss_node_keys(root, keys, error)) return false;
  if (!ss_node_present(trace))
    return ss_fail(error, SS_BAD_INPUT, "%s: no trace given (--trace FILE)", ss_doc_name(s->doc));
  if (!read_models(s, root, p, error) || !ss_sources_find(&s->sources, trace, s->file, &p->source, error))
    return false;
  if (ss_node_present(merge) && !ss_node_count(merge, 1, SS_RANKS_MAX, &group, error)) return false;
  if (group > 1 && !p->source->trace)
    return ss_node_fail(merge, error, "only a captured or synthesised trace has ranks to merge");
  p->merge = (uint32_t)group;
  p->available = p->source->trace ? ss_trace_ranks(p->source->trace) / p->merge : 0;
  if (p->source->trace && p->available == 0)
    return ss_node_fail(merge, error, "%u ranks cannot be merged %llu at a time", ss_trace_ranks(p->source->trace),
                        (unsigned long long)group);
  p->verify = true;
  if (ss_node_present(verify) && !ss_node_flag(verify, &p->verify, error)) return false;
  uint64_t most = UINT64_C(1) << 20;
  if (p->source->trace) most = ss_trace_iterations(p->source->trace);
  else if (p->source->is_gradient) most = p->source->gradient.iterations;
  struct ss_node iterations = ss_node_get(root, "iterations");
  if (!read_iterations(iterations, most, &p->first, &p->end, error)) return false;
  if (!p->source->trace && !p->source->is_gradient && !ss_node_present(iterations)) p->end = 1;
  p->defaults = (struct ss_setting){.index_bytes = 4};
  return read_select(ss_node_get(root, "select"), p, &p->selection, error);
}

/* --- jobs ----------------------------------------------------------------------------------------------- */

static bool append(struct ss_scenario *s, const struct ss_job *job, struct ss_error *error) {
  if (s->count == s->room) {
    struct ss_job *grown = ss_realloc(s->job, 2 * s->room + 64, sizeof *grown);
    if (!grown) return ss_fail_memory(error, "listing points");
    s->job = grown;
    s->room = 2 * s->room + 64;
  }
  s->job[s->count++] = *job;
  return true;
}

static bool too_many(const struct place *p, uint32_t ranks, struct ss_node root, struct ss_error *error) {
  struct ss_node node = ss_node_present(ss_node_get(root, "ranks")) ? ss_node_get(root, "ranks") : root;
  char merged[64] = "", expect[512] = "";
  const uint64_t wanted = (uint64_t)ranks * (p->merge > 1 ? p->merge : 1);
  if (p->merge > 1) snprintf(merged, sizeof merged, ", merged %u at a time", p->merge);
  if (p->source->hash) /* a file */
    snprintf(expect, sizeof expect, "`sparsync trace fit %.400s --ranks %llu` estimates what to expect there; ",
             p->source->name, (unsigned long long)wanted);
  return ss_node_fail(node, error,
                      "%u ranks, but %s has %u%s (%scapture more ranks, or make a wider trace with `sparsync trace "
                      "synth --ranks %llu -o FILE`)",
                      ranks, p->source->name, p->available, merged, expect, (unsigned long long)wanted);
}

/* Schemes that aggregate values need some; and what is selected already is not selected again. */
static bool values_at_hand(const struct ss_job *job, const struct place *p, struct ss_node scheme,
                           struct ss_error *error) {
  const struct ss_scheme *what = job->setting.scheme;
  if (!what->valued) return true;
  if (!has_values(p->source))
    return ss_node_fail(scheme, error,
                        "%s aggregates values, and %s has none: capture them, or say \"trace\": {\"gradient\": "
                        "{\"elements\": n}}",
                        job->setting.label, p->source->name);
  if (p->selection.selects && !what->estimates)
    return ss_node_fail(scheme, error, "%s selects by itself: leave the scenario's \"select\" out",
                        job->setting.label);
  return true;
}

/* An explicit k is at most the elements there are. */
static bool k_fits(const struct ss_job *job, const struct ss_input *shape, struct ss_node scheme,
                   struct ss_error *error) {
  const struct ss_option *o = job->setting.scheme->options;
  uint64_t k = job->selection.k;
  for (; o && o->name; o++)
    if (strcmp(o->name, "k") == 0) k = ss_setting_value(&job->setting, "k");
  if (k <= shape->rows) return true;
  return ss_node_fail(scheme, error, "%s: k %llu is more than the %llu elements of %s", job->setting.label,
                      (unsigned long long)k, (unsigned long long)shape->rows, job->tensor_name);
}

/* Once for each tensor: a pass over all its values. */
static bool find_exponent(const struct ss_scenario *s, struct ss_job *job, struct ss_error *error) {
  if (!job->setting.scheme->valued && !job->selection.selects) return true;
  for (size_t i = s->count; i-- > 0;) { /* the nearest are the likeliest */
    const struct ss_job *b = &s->job[i];
    if (b->origin.trace != job->origin.trace || b->origin.tensor != job->origin.tensor) continue;
    if (!b->setting.scheme->valued && !b->selection.selects) continue;
    job->origin.exponent = b->origin.exponent;
    return true;
  }
  return ss_origin_exponent(&job->origin, &job->origin.exponent, error) ||
         ss_fail_prefix(error, "%s", job->trace_name);
}

/* Can the scheme run here? Asked of schemes that nobody named. */
static bool applies(const struct ss_setting *setting, const struct place *p, struct ss_layout layout, bool plan) {
  struct ss_error why;
  const struct ss_scheme *scheme = setting->scheme;
  if (scheme->valued && (!has_values(p->source) || (p->selection.selects && !scheme->estimates))) return false;
  if (!ss_setting_check(setting, layout, &why)) return false;
  return !plan || ((setting->hierarchy == p->defaults.hierarchy || layout.nodes > 1) &&
                   (p->source->trace || p->source->is_gradient ||
                    ss_uniform_divides(&p->source->uniform, ss_setting_parts(setting, layout), layout.ranks, &why)));
}

/* May `plan` choose it? */
static bool admitted(const struct ss_request *r, const struct ss_scheme *scheme) {
  return !r->plan || ((r->lossy || scheme->lossless) && (r->model_parallel || !scheme->model_parallel));
}

static void add_name(char *list, size_t room, const char *name) {
  const char *found = strstr(list, name);
  const size_t used = strlen(list), length = strlen(name);
  if (found && (found[length] == ',' || !found[length])) return;
  snprintf(list + used, room - used, "%s%s", used ? ", " : "", name);
}

/* Which options would have left some. */
static bool none_left(const struct ss_scenario *s, const struct place *p, struct ss_node schemes, uint32_t ranks,
                      struct ss_error *error) {
  char lossy[200] = "", cut[200] = "";
  for (struct ss_node n = ss_node_first(schemes); ss_node_present(n); n = ss_node_next(n)) {
    struct ss_setting setting;
    if (!ss_setting_read(n, &p->defaults, &setting, error)) return false;
    if (s->chosen_for_user && !applies(&setting, p, ss_layout_of(&p->cluster, ranks), true)) continue;
    if (!setting.scheme->lossless && !s->request->lossy) add_name(lossy, sizeof lossy, setting.scheme->name);
    if (setting.scheme->model_parallel && !s->request->model_parallel)
      add_name(cut, sizeof cut, setting.scheme->name);
  }
  if (!lossy[0] && !cut[0])
    return ss_node_fail(schemes, error, "no scheme can run here on %u ranks (--scheme NAME tells why one cannot)",
                        ranks);
  return ss_node_fail(schemes, error, "nothing is left to choose from at %u ranks: %s%s%s%s%s", ranks,
                      lossy[0] ? "--lossy admits " : "", lossy, lossy[0] && cut[0] ? "; " : "",
                      cut[0] ? "--model-parallel admits " : "", cut);
}

/* One scheme at one rank count: a job for each tensor. */
static bool add_jobs(struct ss_scenario *s, const struct place *p, struct ss_node scheme, uint32_t ranks,
                     struct ss_error *error) {
  const struct ss_trace *trace = p->source->trace;
  const struct ss_layout layout = ss_layout_of(&p->cluster, ranks);
  struct ss_job job = {.cluster = p->cluster,
                       .cluster_name = p->cluster_name,
                       .device_name = p->device_name,
                       .device = p->device,
                       .trace_name = p->source->name,
                       .trace_key = p->source->key,
                       .tensor_name = "tensor",
                       .trace_hash = p->source->hash,
                       .ranks = ranks,
                       .first = p->first,
                       .end = p->end,
                       .seed = p->source->seed,
                       .verify = p->verify,
                       .selection = p->selection,
                       .at = p->at,
                       .siblings = 1};
  job.origin = (struct ss_origin){.trace = trace,
                                  .merge = p->merge,
                                  .gradient = p->source->is_gradient ? &p->source->gradient : NULL,
                                  .uniform = p->source->uniform};
  if (!ss_setting_read(scheme, &p->defaults, &job.setting, error)) return false;
  if (!admitted(s->request, job.setting.scheme)) return true;
  if (s->chosen_for_user && !applies(&job.setting, p, layout, s->request->plan)) return true;
  job.servers = ss_setting_servers(&job.setting, layout);
  if (!ss_setting_check(&job.setting, layout, error)) return ss_fail_prefix(error, "%s", ss_doc_name(s->doc));
  if (!values_at_hand(&job, p, scheme, error)) return false;
  if (trace) {
    job.siblings = (uint32_t)ss_trace_tensors(trace);
  } else if (!p->source->is_gradient) {
    const uint64_t parts = ss_setting_parts(&job.setting, layout);
    if (!ss_uniform_divides(&p->source->uniform, parts, ranks, error))
      return ss_fail_prefix(error, "%s: %s", ss_doc_name(s->doc), job.setting.label);
  }
  for (uint32_t i = 0; i < job.siblings; i++) {
    struct ss_input shape;
    job.origin.tensor = i;
    if (trace) job.tensor_name = ss_trace_tensor(trace, i)->name;
    const struct ss_scheme *what = job.setting.scheme;
    const bool element = what->by_elements || job.selection.selects || (job.setting.element && !what->keeps_rows);
    if (!ss_input_shape(&job.origin, element, &shape, error) || !k_fits(&job, &shape, scheme, error) ||
        !find_exponent(s, &job, error) || !append(s, &job, error))
      return false;
  }
  return true;
}

static bool default_schemes(struct ss_scenario *s, struct ss_error *error) {
  const bool plan = s->request->plan;
  cJSON *all =
      plan ? ss_candidates(!ss_node_present(ss_node_get(ss_doc_root(s->doc), "hierarchy"))) : cJSON_CreateArray();
  s->chosen_for_user = true;
  for (size_t i = 0; all && !plan && ss_schemes()[i]; i++)
    if (!ss_schemes()[i]->parse) /* a family of schemes is for the user to choose from */
      cJSON_AddItemToArray(all, cJSON_CreateString(ss_schemes()[i]->name));
  return all ? ss_doc_set_item(s->doc, "schemes", all, error) : ss_fail_memory(error, "listing schemes");
}

static bool unique_labels(const struct ss_scenario *s, size_t from, struct ss_error *error) {
  for (size_t i = from; i < s->count; i++)
    for (size_t k = from; k < i; k++) {
      const struct ss_job *a = &s->job[i], *b = &s->job[k];
      if (a->ranks == b->ranks && a->origin.tensor == b->origin.tensor &&
          strcmp(a->setting.label, b->setting.label) == 0)
        return ss_fail(error, SS_BAD_INPUT, "%s: two schemes are called \"%s\": give one a \"label\"",
                       ss_doc_name(s->doc), a->setting.label);
    }
  return true;
}

static bool add_place(struct ss_scenario *s, cJSON *at, struct ss_error *error) {
  struct place p = {.at = at};
  uint32_t ranks[RANKS_MAX];
  size_t count, from = s->count;
  if (!ss_node_present(ss_node_get(ss_doc_root(s->doc), "schemes")) && !default_schemes(s, error)) return false;
  struct ss_node root = ss_doc_root(s->doc), schemes = ss_node_get(root, "schemes");
  if (!resolve_all(s, error) || !read_place(s, &p, error)) return false;
  if (!ss_setting_read_common(root, &p.defaults, error)) return false;
  if (!ss_ranks_read(ss_node_get(root, "ranks"), p.available, ranks, RANKS_MAX, &count, error)) return false;
  if (!ss_node_is_array(schemes) || ss_node_size(schemes) == 0 || ss_node_size(schemes) > SCHEMES_MAX)
    return ss_node_fail(schemes, error, "expected a list of 1 to %d schemes (say [\"allgather\", \"ps\"])",
                        SCHEMES_MAX);
  for (size_t i = 0; i < count; i++) {
    const size_t before = s->count;
    if (p.available && ranks[i] > p.available) return too_many(&p, ranks[i], root, error);
    for (struct ss_node n = ss_node_first(schemes); ss_node_present(n); n = ss_node_next(n))
      if (!add_jobs(s, &p, n, ranks[i], error)) return false;
    if (s->request->plan && s->count == before) return none_left(s, &p, schemes, ranks[i], error);
  }
  return unique_labels(s, from, error);
}

/* --- sweeps --------------------------------------------------------------------------------------------- */

struct axis {
  char *path;
  cJSON *values; /* an array, a copy: edits of the document must not touch it */
};

/* "10Gbps" as 1.25e9, so that results hold numbers. */
static cJSON *plain(const cJSON *value) {
  static const enum ss_dimension order[] = {SS_NUMBER, SS_RATE, SS_TIME, SS_BYTES, SS_RATIO};
  double number;
  for (size_t i = 0; cJSON_IsString(value) && i < sizeof order / sizeof *order; i++)
    if (ss_units_parse(value->valuestring, order[i], &number, NULL)) return cJSON_CreateNumber(number);
  return cJSON_Duplicate(value, 1);
}

/* Does `path` lie inside the field at `outer`? */
static bool inside(const char *path, const char *outer) {
  size_t length = strlen(outer);
  return strncmp(path, outer, length) == 0 && (path[length] == '.' || path[length] == '[');
}

/* What the command line says of the inside of a swept field (cluster.bandwidth, of a swept cluster) holds at every
 * place.
 */
static bool edit_again(struct ss_scenario *s, const struct axis *axes, size_t n, struct ss_error *error) {
  const struct ss_request *r = s->request;
  for (size_t a = 0; a < n; a++) {
    if (!resolve_all(s, error)) return false;
    if (strcmp(axes[a].path, "cluster") == 0 &&
        !(set_text(s, "cluster.bandwidth", r->bandwidth, error) && set_text(s, "cluster.latency", r->latency, error)))
      return false;
    for (size_t i = 0; i < r->sets; i++)
      if (inside(r->set[i], axes[a].path) && !set_one(s, r->set[i], error)) return false;
  }
  return true;
}

static bool visit(struct ss_scenario *s, const struct axis *axes, size_t n, size_t depth, cJSON *at,
                  struct ss_error *error) {
  if (depth == n) {
    cJSON **grown = ss_realloc(s->at, s->places + 1, sizeof *grown);
    cJSON *copy = cJSON_Duplicate(at, 1);
    if (grown) s->at = grown;
    if (!grown || !copy) {
      cJSON_Delete(copy);
      return ss_fail_memory(error, "sweeping");
    }
    s->at[s->places++] = copy;
    return edit_again(s, axes, n, error) && add_place(s, copy, error);
  }
  for (const cJSON *value = axes[depth].values->child; value; value = value->next) {
    cJSON *copy = cJSON_Duplicate(value, 1);
    if (!copy) return ss_fail_memory(error, "sweeping");
    if (!resolve_all(s, error) || !ss_doc_set_item(s->doc, axes[depth].path, copy, error)) return false;
    cJSON_DeleteItemFromObjectCaseSensitive(at, axes[depth].path);
    cJSON_AddItemToObject(at, axes[depth].path, plain(value));
    if (!visit(s, axes, n, depth + 1, at, error)) return false;
  }
  return true;
}

/* An axis must change something that is played, and no later axis may undo an earlier one. */
static bool check_axis(struct ss_node node, const struct axis *axes, size_t n, struct ss_error *error) {
  static const char *const fixed[] = {"sweep", "expect", "name", "summary", "notes"};
  const char *path = ss_node_key(node);
  if (!ss_node_is_array(node) || ss_node_size(node) == 0)
    return ss_node_fail(node, error, "expected a list of values");
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    if (strncmp(path, fixed[i], strlen(fixed[i])) == 0 && strcspn(path, ".[") == strlen(fixed[i]))
      return ss_node_fail(node, error, "\"%s\" cannot be swept", fixed[i]);
  for (size_t i = 0; i < n; i++)
    if (inside(axes[i].path, path))
      return ss_node_fail(node, error, "would undo \"%s\": list it first", axes[i].path);
  return true;
}

static bool sweep(struct ss_scenario *s, struct ss_error *error) {
  struct ss_node node = ss_node_get(ss_doc_root(s->doc), "sweep");
  struct axis axes[AXES_MAX];
  size_t n = 0, places = 1;
  bool ok = true;
  if (!ss_node_present(node)) return add_place(s, NULL, error);
  if (!ss_node_is_object(node) || ss_node_size(node) == 0 || ss_node_size(node) > AXES_MAX)
    return ss_node_fail(node, error, "expected an object of 1 to %d paths, each with a list of values", AXES_MAX);
  for (struct ss_node a = ss_node_first(node); ok && ss_node_present(a); a = ss_node_next(a)) {
    ok = check_axis(a, axes, n, error);
    if (!ok) break;
    places *= ss_node_size(a);
    if (places > PLACES_MAX) {
      ok = ss_node_fail(node, error, "more than %d places: sweep fewer values", PLACES_MAX);
      break;
    }
    axes[n] = (struct axis){strdup(ss_node_key(a)), cJSON_Duplicate(a.at, 1)};
    n++;
  }
  cJSON *at = cJSON_CreateObject();
  ok = ok && visit(s, axes, n, 0, at, error);
  cJSON_Delete(at);
  for (size_t i = 0; i < n; i++) {
    free(axes[i].path);
    cJSON_Delete(axes[i].values);
  }
  return ok;
}

/* --- the whole ------------------------------------------------------------------------------------------ */

static bool open_doc(struct ss_scenario *s, const struct ss_request *request, struct ss_error *error) {
  if (!request->file) return ss_doc_empty("command line", &s->doc, error);
  s->file = request->file;
  if (!ss_doc_read(request->file, SCENARIO_BYTES, &s->doc, error)) return false;
  if (ss_node_is_object(ss_doc_root(s->doc))) return true;
  return ss_node_fail(ss_doc_root(s->doc), error, "a scenario is a JSON object");
}

/* What edit_again does at every place, said as one more axis of one value. */
static void pin(cJSON *resolved, const char *path, const char *value) {
  cJSON *sweep = cJSON_GetObjectItemCaseSensitive(resolved, "sweep");
  bool within = false;
  for (const cJSON *axis = sweep ? sweep->child : NULL; axis; axis = axis->next)
    within = within || inside(path, axis->string);
  if (!within || cJSON_GetObjectItemCaseSensitive(sweep, path)) return;
  cJSON *list = cJSON_AddArrayToObject(sweep, path), *item = cJSON_ParseWithOpts(value, NULL, true);
  cJSON_AddItemToArray(list, item ? item : cJSON_CreateString(value));
}

static bool keep_resolved(struct ss_scenario *s, const struct ss_request *r, struct ss_error *error) {
  s->models = cJSON_CreateArray();
  s->resolved = cJSON_Duplicate(ss_doc_root(s->doc).at, true);
  if (!s->models || !s->resolved) return ss_fail_memory(error, "reading a scenario");
  if (r->bandwidth) pin(s->resolved, "cluster.bandwidth", r->bandwidth);
  if (r->latency) pin(s->resolved, "cluster.latency", r->latency);
  for (size_t i = 0; i < r->sets; i++) {
    const char *equals = strchr(r->set[i], '=');
    SS_AUTO_FREE char *path = equals ? strndup(r->set[i], (size_t)(equals - r->set[i])) : NULL;
    if (!path) return ss_fail_memory(error, "reading a scenario");
    pin(s->resolved, path, equals + 1);
  }
  return true;
}

bool ss_scenario_document(const struct ss_request *request, struct ss_doc **out, struct ss_error *error) {
  struct ss_scenario s = {.request = request};
  if (open_doc(&s, request, error) && edit(&s, request, error)) {
    *out = s.doc;
    return true;
  }
  ss_doc_free(s.doc);
  return false;
}

bool ss_scenario_open(const struct ss_request *request, struct ss_scenario **out, struct ss_error *error) {
  struct ss_scenario *s = ss_alloc_zero(1, sizeof *s);
  if (!s) return ss_fail_memory(error, "reading a scenario");
  s->name = "command line";
  s->request = request;
  bool ok =
      open_doc(s, request, error) && edit(s, request, error) && keep_resolved(s, request, error) && sweep(s, error);
  struct ss_node name = ok ? ss_node_get(ss_doc_root(s->doc), "name") : (struct ss_node){0};
  if (ok && ss_node_present(name)) ok = ss_node_text(name, &s->name, error);
  if (!ok) {
    ss_scenario_close(s);
    return false;
  }
  *out = s;
  return true;
}

void ss_scenario_close(struct ss_scenario *s) {
  if (!s) return;
  for (size_t i = 0; i < s->places; i++) cJSON_Delete(s->at[i]);
  free(s->at);
  cJSON_Delete(s->resolved);
  cJSON_Delete(s->models);
  free(s->job);
  ss_sources_close(&s->sources);
  ss_arena_free(&s->arena);
  ss_doc_free(s->doc);
  free(s);
}

const char *ss_scenario_name(const struct ss_scenario *s) {
  return s->name;
}

const struct ss_job *ss_scenario_jobs(const struct ss_scenario *s, size_t *count) {
  *count = s->count;
  return s->job;
}

struct ss_node ss_scenario_expect(const struct ss_scenario *s) {
  return ss_node_get(ss_doc_root(s->doc), "expect");
}

const cJSON *ss_scenario_resolved(const struct ss_scenario *s) {
  return s->resolved;
}

const cJSON *ss_scenario_models(const struct ss_scenario *s) {
  return s->models;
}
