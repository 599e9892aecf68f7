#include "base/json.h"
#include "study/study_internal.h"

#include "base/data.h"
#include "base/identity.h"
#include "study/captured.h"
#include "study/scenario_fields.h"

#include <unistd.h>

enum { AXES_MAX = 8, CELLS_MAX = 100000, SCENARIO_BYTES = 16 << 20 };

/* --- the document --------------------------------------------------------------------------------------- */

/* A model is read once from its own file, so that what is wrong with it names that file. */
static bool check_model(struct ss_node root, const char *kind, struct ss_error *error) {
  struct ss_cluster cluster;
  struct ss_device device;
  struct ss_placement placement;
  struct ss_arena arena = {0};
  if (strcmp(kind, "devices") == 0) return ss_device_read(root, &device, error);
  if (strcmp(kind, "clusters") == 0) return ss_cluster_read(root, &cluster, error);
  const bool good = ss_placement_read(root, &arena, &placement, error);
  ss_arena_free(&arena);
  return good;
}

/* A copy of the named model; NULL: an error. */
static cJSON *copy_model(const char *base, struct ss_node name, const char *kind, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  if (!ss_data_open_node(kind, name, base, &doc, error) || !check_model(ss_doc_root(doc), kind, error)) return NULL;
  cJSON *copy = cJSON_Duplicate(ss_doc_root(doc).at, 1);
  if (!copy) (void)ss_fail_memory(error, "reading a model");
  return copy;
}

/* Puts what the object says, but for "like", over what is in `model`. */
static bool overlay(struct ss_node object, cJSON *model, struct ss_error *error) {
  for (struct ss_node n = ss_node_first(object); ss_node_present(n); n = ss_node_next(n)) {
    if (strcmp(ss_node_key(n), "like") == 0) continue;
    if (!ss_json_put(model, ss_node_key(n), cJSON_Duplicate(n.at, 1)))
      return ss_fail_memory(error, "reading a model");
  }
  return true;
}

/* Turns "cluster": "NAME" into the object that the file holds, so that --set and sweeps can reach into it; and
 * "device": {"like": "NAME", ...} into the same with what is said beside it. */
static bool resolve(struct ss_doc *doc, const char *base, const char *key, const char *kind, struct ss_error *error) {
  const struct ss_node node = ss_node_get(ss_doc_root(doc), key);
  const bool is_device = strcmp(kind, "devices") == 0;
  const struct ss_node like = is_device ? ss_node_get(node, "like") : (struct ss_node){0};
  const struct ss_node name = ss_node_present(like) ? like : node;
  if (!ss_node_present(like) && (!ss_node_is_text(node) || (is_device && strcmp(node.at->valuestring, "none") == 0)))
    return true;
  cJSON *copy = copy_model(base, name, kind, error);
  if (!copy) return false;
  if (!ss_node_present(like) || overlay(node, copy, error)) return ss_doc_set_item(doc, key, copy, error);
  cJSON_Delete(copy);
  return false;
}

bool ss_device_resolve(struct ss_doc *doc, const char *base, struct ss_error *error) {
  return resolve(doc, base, "device", "devices", error);
}

/* Turns models that the document names into the objects that their files hold. */
static bool resolve_models(struct ss_study *s, struct ss_error *error) {
  return resolve(s->doc, s->base, "cluster", "clusters", error) && ss_device_resolve(s->doc, s->base, error) &&
         resolve(s->doc, s->base, "placement", "placements", error);
}

/* A name, or with options an object that is labelled as it was written. */
static cJSON *scheme_item(const char *text, struct ss_error *error) {
  SS_AUTO_FREE char *copy = strdup(text);
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  char *options = copy ? ss_setting_split(copy) : NULL;
  cJSON *item = NULL;
  if (copy && !options) item = cJSON_CreateString(copy);
  else if (copy &&
           (!ss_doc_empty(text, &doc, error) || !ss_doc_set_item(doc, "name", cJSON_CreateString(copy), error) ||
            !ss_doc_set_item(doc, "label", cJSON_CreateString(text), error) ||
            !ss_setting_set_options(doc, options, error)))
    return NULL;
  else if (doc) item = cJSON_Duplicate(ss_doc_root(doc).at, true);
  if (!item) (void)ss_fail_memory(error, "reading options");
  return item;
}

/* Where the next scheme of "zen:format=coo,balance=even,ps" begins: a word with a '=', but no ':' before it, is one
 * more option. NULL: there is none. */
static char *next_scheme(char *text) {
  for (char *comma = strchr(text, ','); comma; comma = strchr(comma + 1, ',')) {
    const size_t n = strcspn(comma + 1, ",:=");
    if (comma[1 + n] != '=') return comma;
  }
  return NULL;
}

cJSON *ss_study_schemes(const char *text, struct ss_error *error) {
  SS_AUTO_FREE char *copy = strdup(text);
  cJSON *list = cJSON_CreateArray();
  bool ok = (copy && list) || ss_fail_memory(error, "reading options");
  for (char *at = copy, *next; ok && at; at = next) {
    next = next_scheme(at);
    if (next) *next++ = '\0';
    cJSON *item = scheme_item(at, error);
    ok = item && cJSON_AddItemToArray(list, item);
  }
  if (ok) return list;
  cJSON_Delete(list);
  return NULL;
}

/* Exchanges without a source of their own have that of bandwidth, which is about to go. */
static bool keep_exchange(struct ss_node model, struct ss_node source) {
  cJSON *of_bandwidth = ss_node_get(source, "bandwidth").at;
  if (!ss_node_present(ss_node_get(model, "exchange")) || ss_node_present(ss_node_get(source, "exchange")) ||
      !of_bandwidth)
    return true;
  return cJSON_AddItemToObject(source.at, "exchange", cJSON_Duplicate(of_bandwidth, true));
}

/* Of a cluster that gives more numbers of one kind, an edit changes one of them. */
static void tell_rest(struct ss_study *s, struct ss_node model, const char *field) {
  const bool exchange = ss_node_present(ss_node_get(ss_node_get(model, "exchange"), field)),
             costs = ss_node_present(ss_node_get(ss_node_get(model, "library"), "costs"));
  const cJSON *name = ss_json_get(model.at, "name");
  char text[400];
  if ((strcmp(field, "bandwidth") != 0 && strcmp(field, "latency") != 0) || (!exchange && !costs)) return;
  snprintf(text, sizeof text, "cluster %.100s: another %s does not change %s%s%s (--set cluster.%s%s=...)",
           cJSON_IsString(name) ? name->valuestring : "inline", field, exchange ? "its exchanges" : "",
           exchange && costs ? ", nor " : "", costs ? "what its library costs" : "",
           exchange ? "exchange." : "library.costs", exchange ? field : "");
  ss_notice_tell(s->request.notice, text);
}

/* A model's source speaks of what its file says, not of what was put there: "given ...". */
static bool disown(struct ss_study *s, const char *path, struct ss_error *error) {
  const size_t n = strcspn(path, "."), m = path[n] ? strcspn(path + n + 1, ".[") : 0;
  if (m == 0 || (strncmp(path, "cluster.", n + 1) != 0 && strncmp(path, "device.", n + 1) != 0)) return true;
  SS_AUTO_FREE char *name = strndup(path, n), *field = strndup(path + n + 1, m);
  if (!name || !field) return ss_fail_memory(error, "reading options");
  const struct ss_node model = ss_node_get(ss_doc_root(s->doc), name), source = ss_node_get(model, "source");
  if (!keep_exchange(model, source)) return ss_fail_memory(error, "reading options");
  if (strcmp(name, "cluster") == 0 && !path[n + 1 + m]) tell_rest(s, model, field);
  const bool known = ss_node_present(ss_node_get(source, field)), own = strcmp(field, "exchange") == 0;
  if (!ss_node_present(source) || (!known && !own)) return true;
  return ss_json_put(source.at, field, cJSON_CreateString("given in place of the file's")) ||
         ss_fail_memory(error, "reading options");
}

/* Does `path` lie inside the field at `outer`? */
static bool inside(const char *path, const char *outer) {
  size_t length = strlen(outer);
  return strncmp(path, outer, length) == 0 && (path[length] == '.' || path[length] == '[');
}

/* Of the two ways to say what is trained, a list stands in place of one. */
static const char one_workload[] = "workload", workloads[] = "workloads";

/* Takes the value over. */
static bool put_value(struct ss_study *s, const char *path, cJSON *value, struct ss_error *error) {
  const struct ss_object_spec *const documents[] = {&ss_scenario_fields, &ss_training_fields};
  if (!ss_doc_set_item(s->doc, path, value, error)) return false;
  for (size_t i = 0; i < 2; i++) ss_object_forget_other_name(documents[i], ss_doc_root(s->doc).at, path);
  if (strcmp(path, workloads) == 0) cJSON_DeleteItemFromObjectCaseSensitive(ss_doc_root(s->doc).at, one_workload);
  return true;
}

static bool set_value(struct ss_study *s, const char *path, cJSON *value, struct ss_error *error) {
  return put_value(s, path, value, error) && disown(s, path, error);
}

/* One; or several, or one of a scenario that sweeps them, as the outermost axis before what the sweep has of others.
 * A path may have commas in it. */
static bool set_clusters(struct ss_study *s, const char *text, struct ss_error *error) {
  const struct ss_node old = ss_node_get(ss_doc_root(s->doc), "sweep");
  const bool one = !strchr(text, ',') || access(text, F_OK) == 0;
  if (one && !ss_node_present(ss_node_get(old, "cluster")))
    return set_value(s, "cluster", cJSON_CreateString(text), error);
  cJSON *list = one ? cJSON_CreateStringArray(&text, 1) : ss_json_words(text);
  cJSON *sweep = ss_json_object(SS_J("cluster", list));
  for (struct ss_node a = ss_node_first(old); ss_node_present(a); a = ss_node_next(a))
    if (strcmp(ss_node_key(a), "cluster") != 0)
      cJSON_AddItemToObject(sweep, ss_node_key(a), cJSON_Duplicate(a.at, true));
  return ss_doc_set_item(s->doc, "sweep", sweep, error) &&
         set_value(s, "cluster", cJSON_Duplicate(cJSON_GetArrayItem(list, 0), true), error);
}

/* Models become objects before an edit that may reach into them. */
static bool make_edit(struct ss_study *s, const cJSON *e, struct ss_error *error) {
  const bool whole = strcspn(e->string, ".[") == strlen(e->string);
  if (whole && cJSON_IsString(e) && strcmp(e->string, "cluster") == 0) return set_clusters(s, e->valuestring, error);
  cJSON *value = cJSON_IsString(e) && strcmp(e->string, "schemes") == 0 ? ss_study_schemes(e->valuestring, error)
                                                                        : cJSON_Duplicate(e, true);
  if (value && (whole || resolve_models(s, error))) return set_value(s, e->string, value, error);
  cJSON_Delete(value);
  return false;
}

/* Whether the command's option is it: "--latency TIME" is "--latency". */
static bool is_option(const char *option, const char *name) {
  const size_t n = strlen(name);
  return option && strncmp(option, name, n) == 0 && (option[n] == ' ' || option[n] == '\0');
}

static const char *option_of(const struct ss_request *request, const char *path) {
  return ss_json_word(request->options, path);
}

/* An edit of what a later one replaces would change nothing. */
static bool edit_stays(const struct ss_study *s, const cJSON *edit, struct ss_error *error) {
  for (const cJSON *e = edit->next; e; e = e->next) {
    const bool one = strcmp(e->string, workloads) == 0 && inside(edit->string, one_workload);
    if (one || inside(edit->string, e->string))
      return ss_fail(error, SS_BAD_INPUT, "%s: %.200s would be undone by %.200s behind it", ss_doc_name(s->doc),
                     edit->string, e->string);
  }
  return true;
}

static bool edit(struct ss_study *s, struct ss_error *error) {
  for (const cJSON *e = s->request.edits ? s->request.edits->child : NULL; e; e = e->next) {
    if (!edit_stays(s, e, error)) return false;
    const char *option = option_of(&s->request, e->string);
    const bool of_cluster = is_option(option, "--bandwidth") || is_option(option, "--latency");
    if (of_cluster && !ss_node_present(ss_node_get(ss_doc_root(s->doc), "cluster")))
      return ss_fail(error, SS_BAD_INPUT, "--bandwidth and --latency change a cluster: say --cluster NAME too");
    if (!make_edit(s, e, error)) return false;
  }
  return ss_captured_name_trace(s->doc, error) && resolve_models(s, error);
}

/* --- sweeps --------------------------------------------------------------------------------------------- */

/* "10Gbps" as 1.25e9, so that results hold numbers. */
static cJSON *plain(const cJSON *value) {
  static const enum ss_dimension order[] = {SS_NUMBER, SS_RATE, SS_TIME, SS_BYTES, SS_RATIO};
  double number;
  for (size_t i = 0; cJSON_IsString(value) && i < sizeof order / sizeof *order; i++)
    if (ss_units_parse(value->valuestring, order[i], &number, NULL)) return cJSON_CreateNumber(number);
  return cJSON_Duplicate(value, 1);
}

/* What edits say of the inside of a swept field (cluster.bandwidth, of a swept cluster) holds in every cell. */
static bool edit_again(struct ss_study *s, const cJSON *axis, struct ss_error *error) {
  for (; axis; axis = axis->next) {
    if (!resolve_models(s, error)) return false;
    for (const cJSON *e = s->request.edits ? s->request.edits->child : NULL; e; e = e->next)
      if (inside(e->string, axis->string) && !make_edit(s, e, error)) return false;
  }
  return true;
}

static bool add_cell(struct ss_study *s, const cJSON *axes, const cJSON *at, struct ss_error *error) {
  if (!ss_grow_by_one(s->at, s->cells)) return ss_fail_memory(error, "sweeping");
  cJSON *copy = s->at[s->cells++] = cJSON_Duplicate(at, 1);
  if (!copy) return ss_fail_memory(error, "sweeping");
  return edit_again(s, axes, error) && resolve_models(s, error) && ss_study_add_cell(s, copy, error);
}

/* Every value of the axis and of those behind it. */
static bool visit(struct ss_study *s, const cJSON *axes, const cJSON *axis, cJSON *at, struct ss_error *error) {
  if (!axis) return add_cell(s, axes, at, error);
  for (const cJSON *value = axis->child; value; value = value->next) {
    if (!resolve_models(s, error) || !set_value(s, axis->string, cJSON_Duplicate(value, 1), error)) return false;
    if (!ss_json_put(at, axis->string, plain(value))) return ss_fail_memory(error, "sweeping");
    if (!visit(s, axes, axis->next, at, error)) return false;
  }
  return true;
}

/* A value that is there twice would be played twice. */
static bool values_differ(struct ss_node list, struct ss_error *error) {
  const size_t count = ss_node_size(list);
  SS_AUTO_FREE struct ss_keyed *keyed = ss_alloc(count, sizeof *keyed);
  size_t i = 0;
  if (!keyed) return ss_fail_memory(error, "sweeping");
  for (const cJSON *value = list.at->child; value; value = value->next, i++)
    keyed[i] = (struct ss_keyed){ss_identity_of(value), i};
  ss_keyed_sort(keyed, count);
  for (i = 1; i < count; i++) {
    if (!ss_identity_same(keyed[i - 1].key, keyed[i].key)) continue;
    SS_AUTO_FREE char *text = cJSON_PrintUnformatted(cJSON_GetArrayItem(list.at, (int)keyed[i].index));
    return ss_node_fail(list, error, "%.80s is there twice", text ? text : "a value");
  }
  return true;
}

/* An axis must change something that is played, and no later axis may undo an earlier one. */
static bool check_axis(struct ss_node node, struct ss_node first, struct ss_error *error) {
  static const char *const fixed[] = {"sweep", "expect", "name", "summary", "notes", "capture"};
  const char *path = ss_node_key(node);
  if (!ss_node_is_array(node) || ss_node_size(node) == 0)
    return ss_node_fail(node, error, "expected a list of values");
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    if (strncmp(path, fixed[i], strlen(fixed[i])) == 0 && strcspn(path, ".[") == strlen(fixed[i]))
      return ss_node_fail(node, error, "\"%s\" cannot be swept", fixed[i]);
  if (!values_differ(node, error)) return false;
  for (struct ss_node earlier = first; earlier.at != node.at; earlier = ss_node_next(earlier))
    if (inside(ss_node_key(earlier), path))
      return ss_node_fail(node, error, "would undo \"%s\": list it first", ss_node_key(earlier));
  return true;
}

/* What a command's option says of a field would say nothing where every cell has its own. */
static bool options_have_say(const struct ss_request *request, struct ss_node sweep, struct ss_error *error) {
  for (const cJSON *e = request->options && request->edits ? request->edits->child : NULL; e; e = e->next) {
    const struct ss_node axis = ss_node_get(sweep, e->string);
    const char *option = option_of(request, e->string);
    if (!ss_node_present(axis) || !option || is_option(option, "--cluster")) continue;
    return ss_node_fail(
        axis, error,
        "the sweep gives every place its own, so %.*s would change nothing: leave the option out, or say "
        "--set 'sweep={\"%s\": [VALUE]}' to sweep over something else",
        (int)strcspn(option, " "), option, e->string);
  }
  return true;
}

static bool check_sweep(const struct ss_study *s, struct ss_node sweep, struct ss_error *error) {
  const struct ss_node first = ss_node_first(sweep);
  size_t cells = 1;
  if (!ss_node_is_object(sweep) || ss_node_size(sweep) == 0 || ss_node_size(sweep) > AXES_MAX)
    return ss_node_fail(sweep, error, "expected an object of 1 to %d paths, each with a list of values", AXES_MAX);
  if (!options_have_say(&s->request, sweep, error)) return false;
  for (struct ss_node axis = first; ss_node_present(axis); axis = ss_node_next(axis)) {
    if (!check_axis(axis, first, error)) return false;
    cells *= ss_node_size(axis);
    if (cells > CELLS_MAX) return ss_node_fail(sweep, error, "more than %d places: sweep fewer values", CELLS_MAX);
  }
  return true;
}

/* Of a copy: edits of the document must not touch it. */
static bool sweep(struct ss_study *s, struct ss_error *error) {
  const struct ss_node node = ss_node_get(ss_doc_root(s->doc), "sweep");
  if (!ss_node_present(node)) return ss_study_add_cell(s, NULL, error);
  if (!check_sweep(s, node, error)) return false;
  SS_AUTO_JSON cJSON *axes = cJSON_Duplicate(node.at, 1), *at = cJSON_CreateObject();
  return axes && at ? visit(s, axes->child, axes->child, at, error) : ss_fail_memory(error, "sweeping");
}

/* --- the whole ------------------------------------------------------------------------------------------ */

/* Other files, by a key that they have. */
static bool is_scenario(struct ss_node root, struct ss_error *error) {
  static const char *const kinds[][2] = {{"sparsync", "results, which sparsync plot draws"},
                                         {"bandwidth", "a cluster: say --cluster"},
                                         {"segments", "a cluster: say --cluster"},
                                         {"memory_bandwidth", "a device: say --device"},
                                         {"kernels", "a device: say --device"},
                                         {"modules", "a workload of sparsync train: say --workload"},
                                         {"sparse", "a system of sparsync train: say --system"},
                                         {"panels", "a figure, which sparsync plot draws"}};
  static const char *const ours[] = {"trace", "cluster", "schemes", "workload", "workloads", "systems", "capture"};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (ss_node_present(ss_node_get(root, ours[i]))) return true;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (ss_node_present(ss_node_get(root, kinds[i][0])))
      return ss_fail(error, SS_BAD_INPUT, "%s: no scenario, but %s", ss_doc_name(root.doc), kinds[i][1]);
  return true;
}

static bool open_doc(struct ss_study *s, struct ss_error *error) {
  const struct ss_request *r = &s->request;
  const char *name = r->name ? r->name : r->file ? r->file : "command line";
  bool ok;
  s->base = r->base ? r->base : r->file;
  if (r->document) ok = ss_doc_adopt(name, cJSON_Duplicate(r->document, true), &s->doc, error);
  else if (r->file) ok = ss_doc_read(r->file, SCENARIO_BYTES, &s->doc, error);
  else ok = ss_doc_empty(name, &s->doc, error);
  if (!ok) return false;
  if (!ss_node_is_object(ss_doc_root(s->doc)))
    return ss_node_fail(ss_doc_root(s->doc), error, "a scenario is a JSON object");
  return is_scenario(ss_doc_root(s->doc), error);
}

/* What edit_again does in every cell, said as one more axis of one value, which is taken over. */
static void pin(cJSON *resolved, const char *path, cJSON *value) {
  cJSON *sweep = ss_json_get(resolved, "sweep");
  bool within = false;
  for (const cJSON *axis = sweep ? sweep->child : NULL; axis; axis = axis->next)
    within = within || inside(path, axis->string);
  if (within && !ss_json_get(sweep, path)) cJSON_AddItemToArray(cJSON_AddArrayToObject(sweep, path), value);
  else cJSON_Delete(value);
}

static bool keep_resolved(struct ss_study *s, struct ss_error *error) {
  s->models = cJSON_CreateArray();
  s->resolved = cJSON_Duplicate(ss_doc_root(s->doc).at, true);
  if (!s->models || !s->resolved) return ss_fail_memory(error, "reading a scenario");
  for (const cJSON *e = s->request.edits ? s->request.edits->child : NULL; e; e = e->next)
    pin(s->resolved, e->string, cJSON_Duplicate(e, true));
  return true;
}

bool ss_study_document(const struct ss_request *request, struct ss_doc **out, struct ss_error *error) {
  struct ss_study s = {.request = *request};
  if (open_doc(&s, error) && edit(&s, error)) {
    *out = s.doc;
    return true;
  }
  ss_doc_free(s.doc);
  return false;
}

/* Who says where tables live expects them to live there. */
static void tell_unused_placement(const struct ss_study *s) {
  if (!ss_node_present(ss_node_get(ss_doc_root(s->doc), "placement"))) return;
  for (size_t i = 0; i < s->count; i++)
    if (s->point[i].origin.joint && s->point[i].origin.joint->shards) return;
  ss_notice_tell(s->request.notice,
                 "the placement is not used: no scheme places tables by it (alltoall:partition=placed does)");
}

/* Who edits what trainings alone have of a cluster expects it to count. (A file may know more than is asked.) */
static void tell_unused_host(const struct ss_study *s) {
  static const char host[] = "cluster.host";
  for (const cJSON *e = s->request.edits ? s->request.edits->child : NULL; e; e = e->next)
    if (strncmp(e->string, host, sizeof host - 1) == 0 &&
        (!e->string[sizeof host - 1] || e->string[sizeof host - 1] == '.'))
      ss_notice_tell(s->request.notice, "cluster.host does nothing here: trainings alone copy through it");
}

/* Of a document that names one: all its ranks must be there. */
static bool check_capture(struct ss_study *s, struct ss_error *error) {
  SS_AUTO(ss_captured_close) struct ss_captured capture = {0};
  const struct ss_node root = ss_doc_root(s->doc), node = ss_node_get(root, "capture");
  if (!ss_node_present(node)) return true;
  if (!ss_captured_find(&s->sources, node, s->base, &capture, error)) return false;
  ss_captured_tell_nodes(&capture, ss_node_get(root, "cluster"), s->request.notice);
  ss_notice_tell(s->request.notice, "each table is synchronised alone here; `train --capture` plays all gradients as "
                                    "they ran: in buckets, one after the other, behind computing");
  return true;
}

bool ss_study_open(const struct ss_request *request, struct ss_study **out, struct ss_error *error) {
  struct ss_study *s = ss_alloc_zero(1, sizeof *s);
  if (!s) return ss_fail_memory(error, "reading a scenario");
  s->request = *request;
  s->name = "command line";
  s->sources.like = request->like ? &request->like->sources : request->traces;
  s->sources.drawn = request->drawn;
  if (open_doc(s, error) && edit(s, error) && check_capture(s, error) && keep_resolved(s, error) && sweep(s, error) &&
      (request->costs || ss_costs_open(NULL, 0, &s->own_costs, error))) {
    tell_unused_placement(s);
    tell_unused_host(s);
    ss_extrapolation_tell_idle(&s->extrapolations, ss_doc_root(s->doc), request->notice);
    ss_costs_tell(&s->own_costs, s->request.notice);
    *out = s;
    return true;
  }
  ss_study_close(s);
  return false;
}

void ss_study_close(struct ss_study *s) {
  if (!s) return;
  for (size_t i = 0; i < s->cells; i++) cJSON_Delete(s->at[i]);
  free(s->at);
  cJSON_Delete(s->resolved);
  cJSON_Delete(s->models);
  free(s->point);
  ss_extrapolations_free(&s->extrapolations);
  ss_sources_close(&s->sources);
  ss_arena_free(&s->arena);
  ss_doc_free(s->doc);
  ss_costs_close(&s->own_costs);
  free(s);
}

const char *ss_study_name(const struct ss_study *s) {
  return s->name;
}

const struct ss_point *ss_study_points(const struct ss_study *s, size_t *count) {
  *count = s->count;
  return s->point;
}

struct ss_node ss_study_expect(const struct ss_study *s) {
  return ss_node_get(ss_doc_root(s->doc), "expect");
}

const cJSON *ss_study_resolved(const struct ss_study *s) {
  return s->resolved;
}

const cJSON *ss_study_models(const struct ss_study *s) {
  return s->models;
}

bool ss_study_chose_schemes(const struct ss_study *s) {
  return s->chosen_for_user;
}

const struct ss_costs *ss_study_costs(const struct ss_study *s) {
  return s->request.costs ? s->request.costs : &s->own_costs;
}
/* SPDX-License-Identifier: Apache-2.0 */
