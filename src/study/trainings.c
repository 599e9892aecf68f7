#include "study/trainings.h"

#include "base/data.h"
#include "schemes/registry.h"
#include "share/share.h"
#include "study/scenario_fields.h"
#include "study/study_internal.h"

enum { LIST_MAX = 256 };

/* --- lists of models -------------------------------------------------------------------------------------- */

/* The object that `node` is, or that the model has which it names: *doc is to be freed. */
static bool find_model(struct ss_train_study *s, struct ss_node *node, const char *kind, struct ss_doc **doc,
                       struct ss_error *error) {
  if (ss_node_is_object(*node)) return true;
  if (!ss_data_open_node(kind, *node, s->base, doc, error)) return false;
  *node = ss_doc_root(*doc);
  return true;
}

static bool add_workload(struct ss_train_study *s, struct ss_node node, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  struct ss_training *t = &s->training;
  struct ss_node model = node;
  if (!ss_grow_by_one(t->workload, t->workloads)) return ss_fail_memory(error, "reading workloads");
  t->workload[t->workloads++] = (struct ss_fed_workload){0};
  if (!find_model(s, &model, "workloads", &doc, error) ||
      !ss_workload_read(model, &t->workload[t->workloads - 1].workload, error))
    return false;
  for (size_t i = 0; i + 1 < t->workloads; i++)
    if (strcmp(t->workload[i].workload.name, t->workload[t->workloads - 1].workload.name) == 0)
      return ss_node_fail(node, error, "two workloads are called \"%s\"", t->workload[i].workload.name);
  return true;
}

static bool read_workloads(struct ss_train_study *s, struct ss_error *error) {
  struct ss_node root = ss_doc_root(s->doc), one = ss_node_get(root, "workload"),
                 all = ss_node_get(root, "workloads");
  if (s->captured.doc) return add_workload(s, s->captured.workload, error);
  if (!ss_node_present(one) && !ss_node_present(all))
    return ss_node_fail(root, error,
                        "say which \"workload\" to train, or a list of \"workloads\" (sparsync list "
                        "workloads shows them)");
  if (ss_node_present(one)) return add_workload(s, one, error);
  if (!ss_node_is_array(all) || ss_node_size(all) == 0 || ss_node_size(all) > LIST_MAX)
    return ss_node_fail(all, error, "expected a list of 1 to %d workloads", LIST_MAX);
  for (struct ss_node n = ss_node_first(all); ss_node_present(n); n = ss_node_next(n))
    if (!add_workload(s, n, error)) return false;
  return true;
}

/* What a system does not say of software, and of how it slows computing down, is as it was captured. */
static void take_overheads(struct ss_node model, const struct ss_concurrency *captured, struct ss_concurrency *out) {
  const struct ss_node software = ss_node_get(model, "software");
  struct ss_software *o = &out->software;
  const struct ss_software *c = &captured->software;
  if (!ss_node_present(ss_node_get(model, "interference"))) out->interference = captured->interference;
  if (!ss_node_present(ss_node_get(software, "call"))) o->call = c->call;
  if (!ss_node_present(ss_node_get(software, "copy"))) o->copy = c->copy;
  if (!ss_node_present(ss_node_get(software, "step"))) o->step = c->step;
  if (!ss_node_present(ss_node_get(software, "step_per_byte"))) o->step_per_byte = c->step_per_byte;
}

/* The captured one is there already. */
static bool is_captured(const struct ss_train_study *s, struct ss_node node) {
  return s->captured.doc && s->training.systems > 0 && ss_node_is_text(node) &&
         strcmp(node.at->valuestring, s->training.system[0].name) == 0;
}

static bool add_system(struct ss_train_study *s, struct ss_node node, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  struct ss_training *t = &s->training;
  struct ss_node model = node;
  if (is_captured(s, node)) return true;
  if (!ss_grow_by_one(t->system, t->systems)) return ss_fail_memory(error, "reading systems");
  t->system[t->systems++] = (struct ss_system){0};
  struct ss_system *own = &t->system[t->systems - 1];
  if (!find_model(s, &model, "systems", &doc, error) || !ss_system_read(model, own, error)) return false;
  if (s->captured.doc && own > t->system) take_overheads(model, &t->system[0].concurrency, &own->concurrency);
  for (const struct ss_system *other = t->system; other < own; other++)
    if (strcmp(other->name, own->name) == 0)
      return ss_node_fail(node, error, "two systems are called \"%s\"", other->name);
  return true;
}

/* All that are shipped, in the order of their names. */
static bool name_systems(struct ss_train_study *s, struct ss_error *error) {
  char **names;
  size_t count;
  if (!ss_data_list("systems", &names, &count, error)) return false;
  cJSON *list = cJSON_CreateStringArray((const char *const *)names, (int)count);
  free(names);
  s->training.skips = true;
  return ss_doc_set_item(s->doc, "systems", list, error);
}

static bool read_baselines(struct ss_train_study *s, struct ss_node node, struct ss_error *error) {
  struct ss_training *t = &s->training;
  if (!ss_node_present(node) && !s->captured.doc) return true;
  if (ss_node_present(node) && s->captured.doc)
    return ss_node_fail(node, error, "of a capture speed-ups are over the system that was captured");
  for (size_t i = 0; i < t->systems; i++) t->system[i].baseline = i == 0 && s->captured.doc;
  if (s->captured.doc) return true;
  if (!ss_node_is_array(node)) return ss_node_fail(node, error, "expected a list of names of systems");
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n)) {
    const char *name;
    bool found = false;
    if (!ss_node_text(n, &name, error)) return false;
    for (size_t i = 0; i < t->systems; i++)
      if (strcmp(t->system[i].name, name) == 0) t->system[i].baseline = found = true;
    if (!found) return ss_node_fail(n, error, "no system of this scenario is called \"%s\"", name);
  }
  return true;
}

static bool read_systems(struct ss_train_study *s, struct ss_error *error) {
  if (!ss_node_present(ss_node_get(ss_doc_root(s->doc), "systems")) && !name_systems(s, error)) return false;
  struct ss_node root = ss_doc_root(s->doc), all = ss_node_get(root, "systems");
  if (!ss_node_is_array(all) || ss_node_size(all) == 0 || ss_node_size(all) > LIST_MAX)
    return ss_node_fail(all, error, "expected a list of 1 to %d systems (sparsync list systems shows them)",
                        LIST_MAX);
  s->training.asked = s->captured.doc != NULL;
  if (s->captured.doc && !add_system(s, s->captured.system, error)) return false;
  for (struct ss_node n = ss_node_first(all); ss_node_present(n); n = ss_node_next(n))
    if (!add_system(s, n, error)) return false;
  return read_baselines(s, ss_node_get(root, "baselines"), error);
}

/* Is that what was captured, under the name of who offers it? Then it is told once, as it ran. */
static bool runs_already(const struct ss_train_study *s, const struct ss_system *other) {
  const struct ss_system *own = s->training.system;
  return s->captured.doc && s->training.skips && other > own && own->offer.by[0] &&
         strcmp(own->offer.by, other->offer.by) == 0 && own->sparse.scheme == other->sparse.scheme &&
         own->dense.scheme == other->dense.scheme && own->schedule == other->schedule;
}

/* The one that was captured, and the others, of which perhaps those alone are wanted that somebody offers. */
static bool keep_wanted(struct ss_train_study *s, struct ss_error *error) {
  struct ss_training *t = &s->training;
  const struct ss_library *library = &t->durations.cluster.library;
  size_t kept = 0;
  for (size_t i = 0; i < t->systems; i++) {
    const bool offered = !s->offered || ss_offer_over(&t->system[i].offer, library) || (s->captured.doc && i == 0);
    if (offered && !runs_already(s, &t->system[i])) t->system[kept++] = t->system[i];
    else ss_system_free(&t->system[i]);
  }
  t->systems = kept;
  return kept > 0 || ss_node_fail(ss_node_get(ss_doc_root(s->doc), "systems"), error,
                                  "nobody offers one of these to PyTorch over the cluster's library (sparsync list "
                                  "systems says who offers what)");
}

/* --- where ------------------------------------------------------------------------------------------------ */

static bool read_layout(struct ss_train_study *s, const struct ss_notice *notice, struct ss_error *error) {
  struct ss_durations *d = &s->training.durations;
  bool set;
  if (!ss_device_by_default(s->doc, s->base, &set, error) ||
      !ss_machine_read(s->doc, notice, &d->cluster, &d->device, error))
    return false;
  snprintf(s->cluster, sizeof s->cluster, "%s", d->cluster.name);
  snprintf(s->device, sizeof s->device, "%s", d->device.name);
  return true;
}

static bool read_trace(struct ss_train_study *s, struct ss_error *error) {
  struct ss_node root = ss_doc_root(s->doc), trace = ss_node_get(root, "trace"), merge = ss_node_get(root, "merge");
  uint64_t group = 1;
  s->training.merge = 1;
  if (!ss_node_present(trace)) {
    if (!ss_node_present(merge)) return true;
    return ss_node_fail(merge, error, "merges ranks of a trace, and there is none");
  }
  if (!ss_sources_find(&s->sources, trace, s->base, &s->source, error)) return false;
  if (!s->source->trace)
    return ss_node_fail(trace, error,
                        "training takes looked-up rows from a file or from {\"synth\": ...}; tables of "
                        "printed sizes say so in the workload (\"counts\")");
  if (ss_node_present(merge) && !ss_node_count(merge, 1, ss_trace_ranks(s->source->trace), &group, error))
    return false;
  s->training.merge = (uint32_t)group;
  s->training.trace = s->source->trace;
  return true;
}

/* Rank counts beyond those captured play later iterations as further ranks, and all counts the view of the largest.
 */
static bool widen(struct ss_train_study *s, const struct ss_extrapolation *asked, const struct ss_notice *notice,
                  struct ss_error *error) {
  const struct ss_extrapolation *found;
  char text[200];
  if (!ss_extrapolation_find(&s->extrapolations, asked, &found, error)) return false;
  s->training.trace = found->wide;
  snprintf(
      text, sizeof text,
      "ranks from %u on play later iterations of the %u captured ones; `sparsync run --extrapolate` says how far "
      "off that is",
      asked->from, asked->from);
  ss_notice_tell(notice, text);
  return true;
}

/* What was run is played, too, behind what is asked for; and more ranks than it had are later iterations of it. */
static bool add_world(struct ss_train_study *s, struct ss_node ranks, struct ss_error *error) {
  size_t *n = &s->training.rank_counts;
  if (!s->captured.doc) return true;
  if (s->training.merge > 1)
    return ss_node_fail(ss_node_get(ss_doc_root(s->doc), "merge"), error, "a capture's ranks are those that ran");
  s->extrapolate = true;
  for (size_t i = 0; i < *n; i++)
    if (s->ranks[i] == s->captured.world) return true;
  if (*n == SS_TRAIN_RANKS) return ss_node_fail(ranks, error, "more than %d rank counts", SS_TRAIN_RANKS - 1);
  s->ranks[(*n)++] = s->captured.world;
  return true;
}

static bool read_ranks(struct ss_train_study *s, const struct ss_request *request, struct ss_error *error) {
  struct ss_training *t = &s->training;
  struct ss_node root = ss_doc_root(s->doc), ranks = ss_node_get(root, "ranks");
  uint32_t most = 0;
  const uint32_t available = t->trace ? ss_trace_ranks(t->trace) / t->merge : 0;
  if (!ss_node_present(ranks) && !available)
    return ss_fail(error, SS_BAD_INPUT, "%s: say how many \"ranks\" (--ranks 4,8,16)", ss_doc_name(s->doc));
  if (!ss_ranks_read(ranks, available, s->ranks, SS_TRAIN_RANKS, &t->rank_counts, error) ||
      !add_world(s, ranks, error))
    return false;
  t->ranks = s->ranks;
  for (size_t i = 0; i < t->rank_counts; i++)
    if (s->ranks[i] > most) most = s->ranks[i];
  if (t->trace) ss_merge_tell(t->trace, t->merge, ranks, request->notice);
  const struct ss_cluster *cluster = &t->durations.cluster;
  if (!request->certain) ss_cluster_tell_nodes(cluster, ss_cluster_nodes(cluster, most), request->notice);
  ss_cluster_tell_one_node(cluster, most, request->notice);
  if (!available || most <= available) return true;
  const struct ss_extrapolation asked = {t->trace, .ranks = most, .from = available, .merge = t->merge};
  if (!s->extrapolate || most > SS_RANKS_MAX / t->merge || ss_trace_widened(t->trace, available, most) == 0)
    return ss_extrapolation_refuse(&asked, root, s->source, error);
  return widen(s, &asked, request->notice, error);
}

/* --- feeding ---------------------------------------------------------------------------------------------- */

static const char *rename_tensor(void *context, const char *module, const char *tensor) {
  const struct ss_train_study *s = context;
  struct ss_node other = ss_node_get(ss_node_get(ss_doc_root(s->doc), "feeds"), module);
  const char *name;
  return ss_node_is_text(other) && ss_node_text(other, &name, NULL) ? name : tensor;
}

static bool has_module(const struct ss_training *t, const char *name) {
  for (size_t i = 0; i < t->workloads; i++)
    for (uint32_t k = 0; k < t->workload[i].workload.modules; k++) {
      const struct ss_module *m = &t->workload[i].workload.module[k];
      if (m->embedding && m->feed.kind == SS_FEED_TENSOR && strcmp(m->name, name) == 0) return true;
    }
  return false;
}

static bool check_feeds(const struct ss_train_study *s, struct ss_error *error) {
  struct ss_node feeds = ss_node_get(ss_doc_root(s->doc), "feeds");
  const char *name;
  if (!ss_node_present(feeds)) return true;
  if (!ss_node_is_object(feeds))
    return ss_node_fail(feeds, error, "expected an object: module to tensor of the trace");
  for (struct ss_node n = ss_node_first(feeds); ss_node_present(n); n = ss_node_next(n)) {
    if (!ss_node_text(n, &name, error)) return false;
    if (!has_module(&s->training, ss_node_key(n)))
      return ss_node_fail(n, error, "no embedding called \"%s\" is fed by a trace", ss_node_key(n));
  }
  return true;
}

static bool feed(struct ss_train_study *s, const struct ss_train_study *like, struct ss_error *error) {
  struct ss_training *t = &s->training;
  const size_t tensors = t->trace ? ss_trace_tensors(t->trace) : 0;
  SS_AUTO_FREE bool *used = ss_alloc_zero(tensors, sizeof *used);
  struct ss_feeding feeding = {.trace = t->trace,
                               .merge = t->merge,
                               .rename = rename_tensor,
                               .context = s,
                               .used = used,
                               .drawn = s->sources.drawn};
  if (!used) return ss_fail_memory(error, "reading lookups");
  for (size_t i = 0; i < t->rank_counts; i++)
    if (t->ranks[i] > feeding.ranks) feeding.ranks = t->ranks[i];
  for (size_t i = 0; like && i < t->workloads && i < like->training.workloads; i++)
    t->workload[i].like = &like->training.workload[i];
  if (!check_feeds(s, error)) return false;
  for (size_t i = 0; i < t->workloads; i++)
    if (!ss_fed_workload_open(&t->workload[i], &feeding, error))
      return ss_fail_prefix(error, "%s", ss_doc_name(s->doc));
  for (size_t i = 0; i < tensors && !s->captured.doc; i++) /* a capture has gradients beside the rows */
    if (!used[i])
      return ss_fail(
          error, SS_BAD_INPUT,
          "%s: the trace's tensor \"%s\" feeds no module of %s (give a module \"tensor\": \"%s\", or leave "
          "the trace out)",
          ss_doc_name(s->doc), ss_trace_tensor(t->trace, i)->name, t->workload[0].workload.name,
          ss_trace_tensor(t->trace, i)->name);
  return true;
}

/* --- how long, how evenly --------------------------------------------------------------------------------- */

static const struct ss_field_spec jitter_fields[] = {
    {"lognormal", "sigma", SS_IS_RATIO, .most = 10, .required = true, SS_STORED(struct ss_iterate_options, sigma)},
    {"seed", NULL, SS_IS_SEED, .usual = "1", SS_STORED(struct ss_iterate_options, seed)},
    {.name = NULL}};
static const struct ss_object_spec jitter_spec = {
    .says = "sigma of the factor exp(sigma z - sigma^2/2) on compute, one an iteration and rank",
    .field = jitter_fields};
static const struct ss_object_spec feeds_spec = {.others = &ss_name_field};
#define FORMS(kind, spec)                                                                                            \
  static const struct ss_field_spec kind##_forms[] = {{NULL, NULL, SS_IS_NAME},                                      \
                                                      {NULL, NULL, SS_IS_OBJECT(&(spec))},                           \
                                                      {.name = NULL}},                                               \
                                    a_##kind = {NULL, "a name in models/" #kind "s, a path, or an object",           \
                                                SS_IS_EITHER(kind##_forms)}
FORMS(workload, ss_workload_fields);
FORMS(system, ss_system_fields);
static const struct ss_field_spec software_forms[] = {
    {NULL, NULL, SS_IS_NAME}, {NULL, NULL, SS_IS_OBJECT(&ss_inferred_fields)}, {.name = NULL}};

static const char *const all_reduces[] = {[SS_ALL_REDUCES_FASTEST] = "fastest", [SS_ALL_REDUCES_RING] = "ring", NULL};
static const struct ss_field_spec fields[] = {
    {"name", NULL, SS_IS_TEXT, SS_STORED(struct ss_train_study, name)},
    SS_SPEC_SUMMARY,
    SS_SPEC_NOTES,
    {"workload", NULL, SS_IS_EITHER(workload_forms), .against = "workloads capture"},
    {"workloads", "in place of workload", SS_IS_LIST(&a_workload, 1, LIST_MAX), .against = "capture"},
    {"systems", "all that are shipped and can run by default", SS_IS_LIST(&a_system, 1, LIST_MAX)},
    {"trace", "feeds the modules that name its tensors", SS_IS_EITHER(ss_lookups_forms)},
    {"capture", "a captured training: its trace, workload and system, on as many ranks", SS_IS_NAME},
    {"feeds", "module to tensor of the trace, instead of the one that the workload names", SS_IS_OBJECT(&feeds_spec),
     .against = "capture"},
    {"merge", "ranks to be made one (1)", SS_IS_COUNT(1, SS_RANKS_MAX)},
    {"cluster", "a name in models/clusters, a path, or an object", SS_IS_EITHER(ss_cluster_forms)},
    {"device", "a name in models/devices, a path, an object, or \"none\"", SS_IS_EITHER(ss_device_forms)},
    {"ranks", "rank counts: 16, [4, 8] or \"4..64\" (doubling); all of the trace's by default",
     SS_IS_EITHER(ss_ranks_forms)},
    {"extrapolate", "beyond the trace's ranks, play later iterations as further ranks", SS_IS_FLAG, .usual = "false",
     SS_STORED(struct ss_train_study, extrapolate)},
    {"iterations", "played, warm-up included; two rounds of the trace by default, at least 8",
     SS_IS_COUNT(2, 10000000), SS_STORED(struct ss_train_study, training.options.iterations)},
    {"accumulation", "micro-batches an iteration, whose gradients are added before they are sent",
     SS_IS_COUNT(1, 1 << 16), .usual = "1", SS_STORED(struct ss_train_study, training.options.accumulation)},
    {"jitter", NULL, SS_IS_OBJECT(&jitter_spec), SS_STORED(struct ss_train_study, training.options)},
    {"software", "what `calibrate training` inferred: a file, or an object", SS_IS_EITHER(software_forms)},
    {"compute", "factor on all forward and backward times", SS_IS_RATIO, .usual = "1",
     SS_STORED(struct ss_train_study, training.options.compute)},
    {"scale", "factors on estimated inputs (1)", SS_IS_OBJECT(&ss_scale_fields)},
    {"all_reduces", "dense all-reduces that name no algorithm: as a library would take them, or rings",
     SS_IS_CHOICE(all_reduces), .usual = "fastest", SS_STORED(struct ss_train_study, training.all_reduces)},
    {"sizes", "where systems do not say it (the library's; free without one)", SS_IS_CHOICE(ss_size_ways)},
    {"ragged", "where systems do not say it (the library's; v without one)", SS_IS_CHOICE(ss_ragged_ways)},
    {"baselines", "systems that speed-ups are over; those that say so by default", SS_IS_LIST(&ss_name_field, 0, 0)},
    {"offered", "only systems that somebody offers to PyTorch", SS_IS_FLAG, .usual = "false",
     SS_STORED(struct ss_train_study, offered)},
    {"certain", "numbers are taken as they are: nothing is drawn", SS_IS_FLAG, .usual = "false",
     SS_STORED(struct ss_train_study, training.durations.certain)},
    {"verify", "prove each simulated exchange", SS_IS_FLAG, .usual = "false",
     SS_STORED(struct ss_train_study, training.durations.verify)},
    {.name = NULL}};
const struct ss_object_spec ss_training_fields = {
    .title = "A scenario of sparsync train", .says = "docs/training.md, \"Scenario\"", .field = fields};

/* A capture is predicted as it ran, or nothing that was measured could judge it. */
static bool check_as_ran(const struct ss_train_study *s, struct ss_error *error) {
  const struct ss_node root = ss_doc_root(s->doc);
  const struct ss_training *t = &s->training;
  if (!s->captured.doc) return true;
  if (t->options.accumulation != s->captured.accumulation)
    return ss_node_fail(ss_node_get(root, "accumulation"), error, "the capture ran with %" PRIu32 ": leave it out",
                        s->captured.accumulation);
  return t->options.compute == 1 ||
         ss_fail(error, SS_BAD_INPUT, "%s: compute times are those of the capture: leave \"compute\" out",
                 ss_doc_name(s->doc));
}

static bool read_options(struct ss_train_study *s, struct ss_error *error) {
  const struct ss_node root = ss_doc_root(s->doc), jitter = ss_node_get(root, "jitter");
  s->training.options.seed = 1;
  if (ss_node_present(jitter) && !ss_node_is_object(jitter))
    return ss_node_fail(jitter, error, "expected {\"lognormal\": 0.1}");
  if (!ss_object_read(&ss_training_fields, root, s, error)) return false;
  if (s->captured.doc && !ss_node_present(ss_node_get(root, "accumulation")))
    s->training.options.accumulation = s->captured.accumulation;
  return ss_setting_read_common(root, &s->training.said, error);
}

static void take_cores(const struct ss_captured *c, struct ss_training *t) {
  const uint32_t per_node = c->gpus_per_node ? c->gpus_per_node : c->cores.ranks;
  t->cores = c->cores;
  t->cores.then = c->world < per_node ? c->world : per_node;
  t->cores.most = t->durations.cluster.gpus_per_node;
}

/* Before rows are drawn: they follow from the workload. */
static bool scale(struct ss_train_study *s, struct ss_error *error) {
  struct ss_training *t = &s->training;
  struct ss_node node = ss_node_get(ss_doc_root(s->doc), "scale");
  if (!ss_scale_read(node, &s->scale, error)) return false;
  if (s->scale.factor[SS_SCALED_KERNELS] != 1 && !t->durations.device.counted)
    return ss_node_fail(ss_node_get(node, ss_scaled_names[SS_SCALED_KERNELS]), error,
                        "no device, no kernels (say --device NAME)");
  if (s->scale.factor[SS_SCALED_INTRA_BANDWIDTH] != 1 && !t->durations.cluster.has_intra)
    return ss_node_fail(ss_node_get(node, ss_scaled_names[SS_SCALED_INTRA_BANDWIDTH]), error,
                        "%s has no links of their own inside a node", s->cluster);
  t->options.compute *= s->scale.factor[SS_SCALED_COMPUTE];
  ss_scale_cluster(&s->scale, &t->durations.cluster);
  ss_scale_device(&s->scale, &t->durations.device);
  for (size_t i = 0; i < t->workloads; i++) ss_scale_workload(&s->scale, &t->workload[i].workload);
  for (size_t i = 0; i < t->systems; i++) ss_scale_system(&s->scale, &t->system[i]);
  take_cores(&s->captured, t);
  return check_as_ran(s, error);
}

static bool read_capture(struct ss_train_study *s, const struct ss_notice *notice, struct ss_error *error) {
  const struct ss_node root = ss_doc_root(s->doc), node = ss_node_get(root, "capture");
  if (!ss_node_present(node)) return true;
  if (!ss_captured_find(&s->sources, node, s->base, &s->captured, error)) return false;
  ss_captured_tell_nodes(&s->captured, ss_node_get(root, "cluster"), notice);
  return true;
}

static bool read_software(struct ss_train_study *s, struct ss_error *error) {
  const struct ss_node node = ss_node_get(ss_doc_root(s->doc), "software");
  if (!ss_node_present(node)) return true;
  if (!ss_inferred_read(node, s->base, &s->software, error)) return false;
  s->training.inferred = &s->software.inferred;
  return true;
}

/* What was inferred of others only says nothing here. */
static bool software_is_used(const struct ss_train_study *s, struct ss_error *error) {
  const struct ss_training *t = &s->training;
  for (size_t i = 0; i < t->points; i++)
    if (ss_assumed_says(&t->point[i].assumed)) return true;
  const struct ss_node node = ss_node_get(ss_doc_root(s->doc), "software");
  return s->software.inferred.count == 0 || t->points == 0 ||
         ss_node_fail(
             node, error,
             "none of its %zu numbers is of a workload, system and cluster that are played here (%s, %s, %s)",
             s->software.inferred.count, t->point->fed->workload.name, t->point->system->name,
             t->durations.cluster.name);
}

/* "a,b" becomes ["a", "b"]. */
static bool split(struct ss_doc *doc, const char *key, struct ss_error *error) {
  const struct ss_node node = ss_node_get(ss_doc_root(doc), key);
  if (!ss_node_is_text(node)) return true;
  return ss_doc_set_item(doc, key, ss_json_words(node.at->valuestring), error);
}

/* Copies through memory of which nobody says how fast they are cost nothing; fills in a notice of it, or "". */
static void leave_copies_out(struct ss_train_study *s, char *text, size_t size) {
  const struct ss_cluster *cluster = &s->training.durations.cluster;
  const char *first = NULL;
  size_t others = 0;
  char more[40] = "";
  text[0] = '\0';
  for (size_t i = 0; i < s->training.systems && !(cluster->host.bandwidth > 0); i++) {
    struct ss_system *system = &s->training.system[i];
    if (!system->staging) continue;
    system->staging = SS_STAGED_NOTHING;
    if (first) others++;
    else first = system->name;
  }
  if (!first) return;
  if (others > 0) snprintf(more, sizeof more, " (and %zu more)", others);
  snprintf(text, size,
           "%.99s%s copies messages through the memory of machines, which costs nothing here: say how fast in the "
           "\"host\" of cluster %.99s",
           first, more, cluster->name);
}

bool ss_train_study_open(const struct ss_request *request, const struct ss_train_study *like,
                         struct ss_train_study *out, struct ss_error *error) {
  *out = (struct ss_train_study){.base = request->base ? request->base : request->file,
                                 .name = "command line",
                                 .training.helps = request->run.per_iteration,
                                 .per_iteration = request->run.per_iteration,
                                 .notice = request->notice};
  if (!ss_study_document(request, &out->doc, error)) return false;
  struct ss_node root = ss_doc_root(out->doc);
  out->sources.like = request->traces;
  out->sources.drawn = request->drawn;
  const struct ss_node schemes = ss_node_get(root, "schemes");
  if (ss_node_present(schemes))
    return ss_node_fail(schemes, error,
                        "a scenario of schemes, which sparsync run takes: train compares systems (a workload and "
                        "\"systems\", as in scenarios/training)");
  const struct ss_node sweep = ss_node_get(root, "sweep");
  if (ss_node_present(sweep))
    return ss_node_fail(sweep, error,
                        "a training takes one cluster and one value of a field: run and plan take several");
  if (!ss_object_check_keys(&ss_training_fields, root, error) || !split(out->doc, "workloads", error) ||
      !split(out->doc, "systems", error))
    return false;
  if (!read_capture(out, request->notice, error) || !read_workloads(out, error) || !read_systems(out, error) ||
      !read_trace(out, error) || !read_layout(out, request->notice, error) || !read_options(out, error) ||
      !keep_wanted(out, error) || !read_software(out, error) || !read_ranks(out, request, error) ||
      !scale(out, error) || !feed(out, like, error))
    return false;
  out->training.durations.certain |= request->certain;
  char copies[400];
  leave_copies_out(out, copies, sizeof copies);
  if (!ss_training_prepare(&out->training, error) || !software_is_used(out, error)) return false;
  if (copies[0]) ss_notice_tell(request->notice, copies);
  ss_extrapolation_tell_idle(&out->extrapolations, root, request->notice);
  return true;
}

/* --- running ---------------------------------------------------------------------------------------------- */

size_t ss_training_group(const struct ss_training *t, size_t first) {
  const struct ss_training_point *p = &t->point[first];
  size_t n = 1;
  while (first + n < t->points && p[n].fed == p->fed && p[n].ranks == p->ranks) n++;
  return n;
}

static bool play(struct ss_training *t, unsigned jobs, struct ss_error *error) {
  return ss_training_play(t, jobs, error) && ss_training_draw(t, error);
}

const struct ss_training_point *ss_training_fastest(const struct ss_training *t, size_t first, bool lossless) {
  const struct ss_training_point *best = NULL, *p = &t->point[first], *end = p + ss_training_group(t, first);
  for (; p < end; p++)
    if (!(lossless && ss_system_lossy(p->system)) && ss_training_may_win(t, p) &&
        (!best || p->result.mean < best->result.mean))
      best = p;
  return best;
}

static bool rank_systems(struct ss_train_study *s, unsigned jobs, struct ss_error *error) {
  static const double factors[SS_TRAIN_FACTORS] = {0.5, 1, 2};
  static const size_t order[SS_TRAIN_FACTORS] = {0, 2, 1}; /* what stays is played last */
  struct ss_training *t = &s->training;
  const double compute = t->options.compute;
  s->best = ss_alloc_zero(t->points, sizeof *s->best);
  if (!s->best) return ss_fail_memory(error, "comparing systems");
  for (size_t k = 0; k < SS_TRAIN_FACTORS; k++) {
    const size_t at = order[k];
    s->factor[at] = factors[at];
    t->options.compute = compute * factors[at];
    if (!play(t, jobs, error)) return false;
    for (size_t i = 0; i < t->points; i += ss_training_group(t, i)) {
      const struct ss_system *best = ss_training_fastest(t, i, false)->system;
      for (size_t n = ss_training_group(t, i), p = i; p < i + n; p++) s->best[p][at] = best;
    }
  }
  return true;
}

static bool share(void *context, const struct ss_work *work, struct ss_error *error) {
  const struct ss_run_options *options = context;
  return ss_work_share(options->comm, work, options->patience, error);
}

/* The scenario names workloads and systems: what these hold is in what is carried. */
static bool agree(const struct ss_train_study *s, const struct ss_run_options *options, struct ss_error *error) {
  const struct ss_training *t = &s->training;
  const struct ss_identity all =
      ss_identity_join(ss_identity_of(ss_doc_root(s->doc).at), ss_durations_identity(&t->durations));
  const uint64_t numbers[] = {all.high, all.low, t->trace ? ss_trace_hash(t->trace) : 0};
  return !options->comm || ss_processes_same(options->comm, numbers, sizeof numbers / sizeof *numbers, error);
}

/* All at once: most of what trainings send is the same. */
static bool simulate(struct ss_train_study *study, size_t count, const struct ss_run_options *options,
                     struct ss_error *error) {
  SS_AUTO_FREE struct ss_durations **durations = ss_alloc(count, sizeof *durations);
  struct ss_run_options own = *options;
  const struct ss_durations_options how = {
      .jobs = options->jobs, .watcher = options->watcher, .run = share, .context = &own};
  const bool first = ss_processes_first(options->comm);
  size_t simulations = 0;
  if (!durations) return ss_fail_memory(error, "simulating");
  for (size_t i = 0; i < count; i++) {
    durations[i] = &study[i].training.durations;
    simulations += durations[i]->count;
    if (!agree(&study[i], options, error)) return false;
  }
  if (first) ss_watcher_begin(options->watcher, "simulations", simulations);
  const bool ok = ss_durations_make(durations, count, &how, error);
  if (first) ss_watcher_end(options->watcher);
  return ok;
}

/* Says which of the largest calls are beyond those that the links were fitted on. */
static void tell_beyond(const struct ss_train_study *s) {
  const struct ss_training *t = &s->training;
  const struct ss_cluster *cluster = &t->durations.cluster;
  struct ss_largest_calls largest = {{0}};
  for (const struct ss_training_point *p = t->point; !t->durations.certain && p < t->point + t->points; p++)
    for (const struct ss_task *task = p->timetable.task; task < p->timetable.task + p->timetable.tasks; task++) {
      const struct ss_scheme *scheme = t->durations.duration[task->duration].carried.setting.scheme;
      ss_largest_calls_add(&largest, cluster, ss_scheme_collective(scheme), ss_task_call_bytes(t, p, task));
    }
  ss_cluster_tell_calls(cluster, &largest, s->notice);
}

bool ss_train_studies_run(struct ss_train_study *study, size_t count, const struct ss_run_options *options,
                          bool sensitivity, struct ss_error *error) {
  bool ok = simulate(study, count, options, error);
  for (size_t i = 0; ok && ss_processes_first(options->comm) && i < count; i++)
    ok = sensitivity ? rank_systems(&study[i], options->jobs, error) : play(&study[i].training, options->jobs, error);
  for (size_t i = 0; ok && ss_processes_first(options->comm) && i < count; i++) tell_beyond(&study[i]);
  return ok;
}

void ss_train_study_close(struct ss_train_study *s) {
  ss_training_free(&s->training);
  ss_extrapolations_free(&s->extrapolations);
  ss_captured_close(&s->captured);
  ss_sources_close(&s->sources);
  ss_inferred_close(&s->software);
  ss_doc_free(s->doc);
  free(s->best);
  *s = (struct ss_train_study){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
