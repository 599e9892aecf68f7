#include "base/json.h"
#include "study/study_internal.h"

#include "base/data.h"
#include "schemes/registry.h"
#include "study/identity.h"
#include "study/scenario_fields.h"

enum { RANKS_MAX = 256, SCHEMES_MAX = 1024 };

/* --- ranks ---------------------------------------------------------------------------------------------- */

static bool add_rank(uint64_t rank, uint32_t *out, size_t capacity, size_t *count, struct ss_error *error) {
  if (*count == capacity) return ss_fail(error, SS_BAD_INPUT, "ranks: more than %zu", capacity);
  out[(*count)++] = (uint32_t)rank;
  return true;
}

/* "8", or both ends "4..64". The word is taken apart. */
static bool parse_span(char *word, uint64_t *low, uint64_t *high, struct ss_error *error) {
  char *dots = strstr(word, "..");
  if (dots && (dots == word || dots[2] == '\0'))
    return ss_fail(error, SS_BAD_INPUT, "ranks: \"%.40s\" has no %s: say both ends (4..64: 4, 8, 16, 32, 64)", word,
                   dots == word ? "beginning" : "end");
  if (dots) *dots = '\0';
  if (!dots && strspn(word, "0123456789") < strlen(word))
    return ss_fail(
        error, SS_BAD_INPUT,
        "ranks: \"%.40s\" is no count: say one, several (4,8,16), or both ends (4..64 doubles from 4 to 64)", word);
  if (!ss_count_parse(word, "ranks", 1, SS_RANKS_MAX, low, error)) return false;
  *high = *low;
  if (dots && !ss_count_parse(dots + 2, "ranks", 1, SS_RANKS_MAX, high, error)) return false;
  return *high >= *low || ss_fail(error, SS_BAD_INPUT, "ranks: \"%s..%s\" ends below its beginning: say %s..%s", word,
                                  dots + 2, dots + 2, word);
}

static bool each_once(const uint32_t *ranks, size_t count, struct ss_error *error) {
  for (size_t i = 1; i < count; i++)
    for (size_t k = 0; k < i; k++)
      if (ranks[k] == ranks[i]) return ss_fail(error, SS_BAD_INPUT, "ranks: %u is there twice", ranks[i]);
  return true;
}

bool ss_ranks_parse(const char *text, uint32_t *out, size_t capacity, size_t *count, struct ss_error *error) {
  char copy[512], *rest = copy;
  *count = 0;
  if (strlen(text) >= sizeof copy) return ss_fail(error, SS_BAD_INPUT, "ranks: the list is too long");
  snprintf(copy, sizeof copy, "%s", text);
  for (char *word; (word = strsep(&rest, ","));) {
    uint64_t low, high;
    if (!parse_span(word, &low, &high, error)) return false;
    for (uint64_t rank = low; rank <= high; rank = rank < high && rank * 2 > high ? high : rank * 2) {
      if (!add_rank(rank, out, capacity, count, error)) return false;
      if (rank == high) break;
    }
  }
  return each_once(out, *count, error);
}

bool ss_ranks_read(struct ss_node node, uint32_t available, uint32_t *out, size_t capacity, size_t *count,
                   struct ss_error *error) {
  const char *text;
  uint64_t rank;
  *count = 0;
  if (!ss_node_present(node)) {
    if (available == 0)
      return ss_node_fail(node, error, "say how many \"ranks\" (a uniform tensor has any number of them)");
    return add_rank(available, out, capacity, count, error);
  }
  if (ss_node_is_text(node))
    return (ss_node_text(node, &text, error) && ss_ranks_parse(text, out, capacity, count, error)) ||
           ss_fail_prefix(error, "%s", ss_doc_name(node.doc));
  if (ss_node_is_number(node))
    return ss_node_count(node, 1, SS_RANKS_MAX, &rank, error) && add_rank(rank, out, capacity, count, error);
  if (!ss_node_is_array(node) || ss_node_size(node) == 0)
    return ss_node_fail(node, error, "expected a list of rank counts (say [4, 8, 16] or \"4..64\")");
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n))
    if (!ss_node_count(n, 1, SS_RANKS_MAX, &rank, error) || !add_rank(rank, out, capacity, count, error))
      return false;
  return each_once(out, *count, error) || ss_fail_prefix(error, "%s", ss_doc_name(node.doc));
}

void ss_merge_tell(const struct ss_trace *trace, uint32_t merge, struct ss_node ranks,
                   const struct ss_notice *notice) {
  const uint32_t left = ss_trace_ranks(trace) % merge;
  char text[120];
  if (left == 0 || ss_node_present(ranks)) return;
  snprintf(text, sizeof text, "%u ranks merged %u at a time leave %u over, which %s not played",
           ss_trace_ranks(trace), merge, left, left == 1 ? "is" : "are");
  ss_notice_tell(notice, text);
}

/* --- one cell ------------------------------------------------------------------------------------------- */

struct cell {
  struct ss_point point; /* what all points of the cell have */
  const struct ss_source *source;
  size_t *tensor;     /* [point.siblings] those of the trace that are played; NULL: the one there is */
  uint32_t available; /* ranks; 0: any number */
  bool extrapolates;  /* to more than these */
  bool certain;       /* nothing is drawn; extrapolated ranks keep their range */
  bool offered;       /* only what somebody offers is played */
  struct ss_setting defaults;
  const struct ss_placement *placement; /* NULL: none is given */
};

static bool has_values(const struct cell *p) {
  bool all = true;
  for (size_t i = 0; p->tensor && i < p->point.siblings; i++)
    all = all && ss_trace_has_values(p->source->trace, p->tensor[i]);
  return all;
}

/* The scenario's "select", of what has values. */
static bool read_select(struct ss_node node, const struct cell *p, struct ss_selection *out, struct ss_error *error) {
  *out = (struct ss_selection){.residual = true};
  if (!ss_node_present(node)) return true;
  if (!ss_selection_read(node, out, error)) return false;
  if (has_values(p)) return true;
  return ss_node_fail(
      node, error,
      "%s has no values to select from: capture them, or say \"trace\": {\"gradient\": {\"elements\": n}}",
      p->point.trace_name);
}

/* Models that differ in numbers only, as in a sweep of them, are one. */
static bool same_model(const cJSON *a, const cJSON *b) {
  static const char *const texts[] = {"name", "source"};
  for (size_t i = 0; i < 2; i++) {
    const cJSON *x = ss_json_get(a, texts[i]), *y = ss_json_get(b, texts[i]);
    if ((x || y) && !cJSON_Compare(x, y, true)) return false;
  }
  return true;
}

static bool remember(struct ss_study *s, const char *kind, struct ss_node model, struct ss_error *error) {
  const cJSON *known;
  if (!ss_node_is_object(model)) return true;
  cJSON_ArrayForEach(known, s->models) {
    if (strcmp(ss_json_get(known, "kind")->valuestring, kind) == 0 &&
        same_model(ss_json_get(known, "model"), model.at))
      return true;
  }
  cJSON *entry = ss_json_object(SS_T("kind", kind), SS_J("model", cJSON_Duplicate(model.at, true)));
  return cJSON_AddItemToArray(s->models, entry) || ss_fail_memory(error, "reading a model");
}

static bool read_models(struct ss_study *s, struct ss_node root, struct cell *p, struct ss_error *error) {
  struct ss_node cluster = ss_node_get(root, "cluster"), device = ss_node_get(root, "device");
  p->point.device = ss_device_none();
  if (s->request.cluster) p->point.cluster = *s->request.cluster;
  else if (!ss_machine_read(s->doc, s->request.notice, &p->point.cluster, &p->point.device, error)) return false;
  if (s->request.plan) ss_cluster_even(&p->point.cluster, s->request.notice);
  if (!remember(s, "cluster", cluster, error) || !remember(s, "device", device, error)) return false;
  char *names = ss_arena_alloc(&s->arena, 2, sizeof p->point.cluster.name);
  if (!names) return ss_fail_memory(error, "reading a scenario");
  p->point.cluster_name = memcpy(names, p->point.cluster.name, sizeof p->point.cluster.name);
  p->point.device_name =
      memcpy(names + sizeof p->point.cluster.name, p->point.device.name, sizeof p->point.device.name);
  return true;
}

static bool find_trace(struct ss_study *s, struct ss_node trace, struct cell *p, struct ss_error *error) {
  if (!ss_sources_find(&s->sources, trace, s->base, &p->source, error)) return false;
  p->point.origin.trace = p->source->trace;
  p->point.origin.gradient = p->source->is_gradient ? &p->source->gradient : NULL;
  p->point.origin.uniform = p->source->uniform;
  p->point.trace_name = p->source->name;
  p->point.trace_hash = p->source->hash;
  p->point.seed = p->source->seed;
  p->point.tensor_name = "tensor";
  p->point.siblings = 1;
  return true;
}

/* The scenario's "tensors". */
static bool choose_tensors(struct ss_study *s, struct ss_node node, struct cell *p, struct ss_error *error) {
  const struct ss_trace *trace = p->source->trace;
  size_t chosen;
  if (!trace) return true;
  p->tensor = ss_arena_alloc(&s->arena, ss_trace_tensors(trace), sizeof *p->tensor);
  if (!p->tensor) return ss_fail_memory(error, "reading a scenario");
  if (!ss_tensors_read(node, trace, p->tensor, &chosen, error)) return false;
  p->point.siblings = (uint32_t)chosen;
  return true;
}

static bool read_placement(struct ss_study *s, struct ss_node node, struct cell *p, struct ss_error *error) {
  struct ss_placement *placement = ss_arena_alloc(&s->arena, 1, sizeof *placement);
  if (!ss_node_present(node)) return true;
  if (!placement) return ss_fail_memory(error, "reading a scenario");
  p->placement = placement;
  return ss_placement_read(node, &s->arena, placement, error);
}

/* Is one of draws, or of what only results with ranges have? */
static bool expects_ranges(struct ss_node root) {
  const struct ss_node expect = ss_node_get(root, "expect");
  for (struct ss_node n = ss_node_first(expect); ss_node_present(n); n = ss_node_next(n)) {
    const char *that = ss_json_word(n.at, "that");
    if (ss_node_present(ss_node_get(n, "draws"))) return true;
    for (size_t i = 0; that && i < SS_RESULT_FIELDS; i++)
      if (ss_result_fields[i].is & (SS_FIELD_RANGE | SS_FIELD_DRAWN) && strcmp(that, ss_result_fields[i].name) == 0)
        return true;
  }
  return false;
}

/* What needs lookups is refused without any. */
static bool check_traced(struct ss_node root, const struct ss_scenario *said, const struct cell *p,
                         struct ss_error *error) {
  const struct {
    const char *key, *what;
    bool wanted;
  } fields[] = {{"tensors", "tensors to choose from", ss_node_present(ss_node_get(root, "tensors"))},
                {"merge", "ranks to merge", said->merge > 1},
                {"capacity", "lookups that could find no room", said->capacity > 0},
                {"extrapolate", "iterations to play as further ranks", said->extrapolate}};
  for (size_t i = 0; !p->source->trace && i < sizeof fields / sizeof *fields; i++)
    if (fields[i].wanted)
      return ss_node_fail(ss_node_get(root, fields[i].key), error, "only a captured or synthesised trace has %s",
                          fields[i].what);
  return true;
}

/* What of the trace is played. */
static bool read_extent(struct ss_study *s, struct ss_node root, struct cell *p, struct ss_error *error) {
  const struct ss_trace *trace = p->source->trace;
  uint64_t most = UINT64_C(1) << 20;
  if (trace) p->available = ss_trace_ranks(trace) / p->point.origin.merge;
  if (trace && p->available == 0)
    return ss_node_fail(ss_node_get(root, "merge"), error, "%u ranks cannot be merged %u at a time",
                        ss_trace_ranks(trace), p->point.origin.merge);
  if (trace) ss_merge_tell(trace, p->point.origin.merge, ss_node_get(root, "ranks"), s->request.notice);
  if (trace) most = ss_trace_iterations(trace);
  else if (p->source->is_gradient) most = p->source->gradient.iterations;
  p->point.end = trace || p->source->is_gradient ? most : 1;
  return choose_tensors(s, ss_node_get(root, "tensors"), p, error) &&
         ss_iterations_read(ss_node_get(root, "iterations"), most, &p->point.first, &p->point.end, error);
}

static bool read_cell(struct ss_study *s, struct cell *p, struct ss_error *error) {
  const struct ss_node root = ss_doc_root(s->doc), trace = ss_node_get(root, "trace");
  struct ss_scenario said = {.setting.index_bytes = 4,
                             .name = s->name,
                             .verify = true,
                             .certain = s->request.certain || (s->request.verdicts && !expects_ranges(root)),
                             .merge = 1};
  if (!ss_object_read(&ss_scenario_fields, root, &said, error)) return false;
  if (!ss_node_present(trace))
    return ss_fail(error, SS_BAD_INPUT, "%s: no trace given (--trace FILE)", ss_doc_name(s->doc));
  if (!find_trace(s, trace, p, error) || !read_models(s, root, p, error) || !check_traced(root, &said, p, error))
    return false;
  s->name = said.name;
  p->point.verify = said.verify;
  p->certain = said.certain;
  p->offered = said.offered;
  p->extrapolates = said.extrapolate;
  p->point.origin.merge = (uint32_t)said.merge;
  p->point.origin.capacity = said.capacity;
  p->defaults = said.setting;
  return read_placement(s, ss_node_get(root, "placement"), p, error) && read_extent(s, root, p, error) &&
         ss_setting_read_common(root, &p->defaults, error) &&
         read_select(ss_node_get(root, "select"), p, &p->point.selection, error) &&
         ss_cell_identify(root, &p->point.is, error);
}

/* --- points ----------------------------------------------------------------------------------------------- */

/* A rank count beyond those captured is played out of later iterations, of which fewer are left. */
static bool widen(struct ss_study *s, struct cell *p, uint32_t ranks, struct ss_error *error) {
  const struct ss_node root = ss_doc_root(s->doc), iterations = ss_node_get(root, "iterations");
  const struct ss_trace *trace = p->source->trace;
  const struct ss_extrapolation asked = {
      .captured = trace, .ranks = ranks, .from = p->available, .merge = p->point.origin.merge};
  const uint64_t left = ss_trace_widened(trace, p->available, ranks), wanted = p->point.end;
  struct ss_point *point = &p->point;
  struct ss_error ignored;
  if (!p->extrapolates || left == 0 || ranks > SS_RANKS_MAX / asked.merge)
    return ss_extrapolation_refuse(&asked, root, p->source, error);
  point->end = left;
  if (!ss_iterations_read(iterations, left, &point->first, &point->end, &ignored))
    return ss_node_fail(iterations, error,
                        "%u ranks out of %u leave %llu of the %llu iterations of %s, too few for these (%llu "
                        "iterations are enough for %llu ranks)",
                        ranks, p->available, (unsigned long long)left, (unsigned long long)ss_trace_iterations(trace),
                        point->trace_name, (unsigned long long)wanted,
                        (unsigned long long)ss_extrapolation_most(trace, p->available, wanted));
  if (!ss_extrapolation_find(&s->extrapolations, &asked, &point->extrapolation, error)) return false;
  point->origin.trace = point->extrapolation->wide;
  return true;
}

/* Schemes that aggregate values need some; and what is selected already is not selected again. */
static bool values_at_hand(const struct ss_point *point, const struct cell *p, struct ss_node scheme,
                           struct ss_error *error) {
  const struct ss_scheme *what = point->setting.scheme;
  if (!ss_scheme_valued(what)) return true;
  if (!has_values(p))
    return ss_node_fail(scheme, error,
                        "%s aggregates values, and %s has none: capture them, or say \"trace\": {\"gradient\": "
                        "{\"elements\": n}}",
                        point->setting.label, p->point.trace_name);
  if (p->point.selection.selects && !ss_scheme_estimates(what))
    return ss_node_fail(scheme, error, "%s selects by itself: leave the scenario's \"select\" out",
                        point->setting.label);
  return true;
}

/* Only a trace can say which lookups make a bag, and all of its tensors that are played must. */
static bool bags_at_hand(const struct ss_point *point, const struct cell *p, struct ss_layout layout,
                         struct ss_node scheme, struct ss_error *error) {
  const struct ss_trace *trace = p->source->trace;
  if (!ss_setting_traits(&point->setting, layout).pools) return true;
  if (point->selection.selects || point->origin.capacity > 0)
    return ss_node_fail(scheme, error, "%s pools whole bags: leave the scenario's \"%s\" out", point->setting.label,
                        point->selection.selects ? "select" : "capacity");
  for (uint32_t i = 0; i < point->siblings; i++) {
    const size_t tensor = p->tensor ? p->tensor[i] : i;
    if (trace && ss_trace_has_bags(trace, tensor)) continue;
    return ss_node_fail(scheme, error,
                        "%s pools bags, and %s%s%s does not say which lookups make one (sparsync trace import --from "
                        "bags does)",
                        point->setting.label, p->point.trace_name, trace ? ": " : "",
                        trace ? ss_trace_tensor(trace, tensor)->name : "");
  }
  return true;
}

/* An explicit k is at most the elements there are. */
static bool k_fits(const struct ss_point *point, const struct ss_input *shape, struct ss_node scheme,
                   struct ss_error *error) {
  const uint64_t *own = ss_setting_find(&point->setting, "k"), k = own ? *own : point->selection.k;
  if (k <= shape->rows) return true;
  return ss_node_fail(scheme, error, "%s: k %llu is more than the %llu elements of %s", point->setting.label,
                      (unsigned long long)k, (unsigned long long)shape->rows, point->tensor_name);
}

/* Once for each tensor: a pass over all its values. */
static bool find_exponent(const struct ss_study *s, struct ss_point *point, struct ss_error *error) {
  if (!ss_scheme_valued(point->setting.scheme) && !point->selection.selects) return true;
  for (size_t i = s->count; i-- > 0;) { /* the nearest are the likeliest */
    const struct ss_point *b = &s->point[i];
    if (b->origin.trace != point->origin.trace || b->origin.tensor != point->origin.tensor) continue;
    if (!ss_scheme_valued(b->setting.scheme) && !b->selection.selects) continue;
    point->origin.exponent = b->origin.exponent;
    return true;
  }
  return ss_origin_exponent(&point->origin, &point->origin.exponent, error) ||
         ss_fail_prefix(error, "%s", point->trace_name);
}

/* There are several tables of a trace, of one type and not too many rows, and all of them is sent. */
static bool fit_joint(const struct cell *p) {
  const struct ss_joint joint = {p->point.siblings, p->tensor, NULL};
  const struct ss_origin origin = {.trace = p->source->trace, .joint = &joint};
  struct ss_input shape;
  struct ss_error why;
  return origin.trace && joint.tables > 1 && !p->point.selection.selects &&
         ss_input_shape(&origin, false, &shape, &why);
}

/* Where NCCL chooses the algorithm there is no other; elsewhere one is named, and it is not the one that NCCL alone
 * has.
 */
static bool library_has(const struct ss_setting *setting, struct ss_layout layout) {
  if (!setting->scheme->tune) return true;
  const bool named = ss_setting_given(setting, "algorithm");
  return layout.nccl && !setting->hierarchy ? !named : named && !ss_setting_says(setting, "algorithm", "trees");
}

/* Counts that nobody named, as "2.." of struct ss_option, end with the ranks, or the nodes of a hierarchy. */
static bool counts_fit(const struct ss_setting *setting, struct ss_layout layout) {
  const struct ss_option *o = setting->scheme->options;
  for (size_t i = 0; o && o[i].name; i++)
    if (o[i].kind == SS_OPTION_COUNT && o[i].tries && setting->given[i] &&
        setting->value[i] > (setting->hierarchy ? layout.nodes : layout.ranks))
      return false;
  return true;
}

/* Groups that hold a table whole are told apart by their size: is that not what is played under another name? */
static bool has_groups_of_its_own(const struct ss_setting *setting, struct ss_layout layout) {
  struct ss_setting usual = *setting;
  const uint32_t owners = ss_setting_traits(setting, layout).owners;
  if (owners == 0) return true;
  ss_setting_reset(&usual);
  return owners < layout.ranks &&
         (!ss_setting_given(setting, "group") || owners != ss_setting_traits(&usual, layout).owners);
}

/* Is it offered by an option that a plan does not try, though it is offered without, too? */
static bool is_second_offer(const struct ss_setting *setting, const struct ss_library *library) {
  struct ss_setting usual = *setting;
  bool untried = false;
  for (const struct ss_option *o = setting->scheme->options; o && o->name; o++)
    untried = untried || (!o->tries && ss_setting_given(setting, o->name));
  ss_setting_reset(&usual);
  return untried && ss_setting_offer(&usual, library);
}

/* Can the scheme run here? Asked of schemes that nobody named. */
static bool applies(const struct ss_setting *setting, const struct cell *p, struct ss_layout layout, bool plan) {
  struct ss_error why;
  const struct ss_scheme *scheme = setting->scheme;
  if (ss_scheme_valued(scheme) && (!has_values(p) || (p->point.selection.selects && !ss_scheme_estimates(scheme))))
    return false;
  if (!counts_fit(setting, layout) || !ss_setting_check(setting, layout, &why)) return false;
  if (ss_setting_traits(setting, layout).joint && !fit_joint(p)) return false;
  return !plan || (library_has(setting, layout) && has_groups_of_its_own(setting, layout) &&
                   (setting->hierarchy == p->defaults.hierarchy || layout.nodes > 1) &&
                   (p->source->trace || p->source->is_gradient ||
                    ss_uniform_divides(&p->source->uniform, ss_setting_parts(setting, layout), layout.ranks, &why)));
}

/* May `plan` choose it, or `report` where nobody named schemes? */
static bool admitted(const struct ss_study *s, const struct ss_scheme *scheme) {
  const struct ss_request *r = &s->request;
  return !(r->plan || (r->candidates && s->chosen_for_user)) ||
         ((r->lossy || ss_scheme_lossless(scheme)) && (r->model_parallel || !ss_scheme_model_parallel(scheme)));
}

static void add_name(char *list, size_t capacity, const char *name) {
  const char *found = strstr(list, name);
  const size_t used = strlen(list), length = strlen(name);
  if (found && (found[length] == ',' || !found[length])) return;
  snprintf(list + used, capacity - used, "%s%s", used ? ", " : "", name);
}

/* What schemes are read with, where there are so many ranks. */
static struct ss_setting defaults_at(const struct cell *p, uint32_t ranks) {
  struct ss_setting defaults = p->defaults;
  defaults.ranks = ranks;
  defaults.per_node = p->point.cluster.gpus_per_node;
  return defaults;
}

/* Which options would have left some. */
static bool none_left(const struct ss_study *s, const struct cell *p, struct ss_node schemes, uint32_t ranks,
                      struct ss_error *error) {
  char lossy[200] = "", cut[200] = "";
  for (struct ss_node n = ss_node_first(schemes); ss_node_present(n); n = ss_node_next(n)) {
    struct ss_setting setting;
    const struct ss_setting defaults = defaults_at(p, ranks);
    if (!ss_setting_read(n, &defaults, &setting, error)) return false;
    if (s->chosen_for_user && !applies(&setting, p, ss_layout_of(&p->point.cluster, ranks), true)) continue;
    if (!ss_scheme_lossless(setting.scheme) && !s->request.lossy) add_name(lossy, sizeof lossy, setting.scheme->name);
    if (ss_scheme_model_parallel(setting.scheme) && !s->request.model_parallel)
      add_name(cut, sizeof cut, setting.scheme->name);
  }
  if (!lossy[0] && !cut[0])
    return ss_node_fail(schemes, error, "no scheme can run here on %u ranks (--scheme NAME tells why one cannot)",
                        ranks);
  return ss_node_fail(schemes, error, "nothing is left to choose from at %u ranks: %s%s%s%s%s", ranks,
                      lossy[0] ? "--lossy admits " : "", lossy, lossy[0] && cut[0] ? "; " : "",
                      cut[0] ? "--model-parallel admits " : "", cut);
}

/* Times that are alike for no reason that the results tell. */
static void tell_alike(const struct ss_study *s, const struct ss_point *point, struct ss_layout layout) {
  const enum ss_hierarchy hierarchy = point->setting.hierarchy;
  char text[400];
  if (hierarchy == SS_FLAT || layout.nodes > 1 || layout.ranks < 2) return;
  snprintf(text, sizeof text,
           "%u ranks are one node of %s: of hierarchy \"%s\" only the %s inside the node is left, as long for every "
           "scheme",
           point->ranks, point->cluster_name, ss_hierarchies[hierarchy],
           ss_hierarchy_dense(hierarchy) ? "dense sum" : "sum");
  ss_notice_tell(s->request.notice, text);
}

/* All draws of a run are played at once. */
static bool draws_fit(const struct ss_study *s, const struct ss_point *point, struct ss_error *error) {
  const uint64_t endpoints = (uint64_t)point->ranks + point->servers, most = SS_ENDPOINTS_MAX / endpoints;
  const uint32_t draws = point->cluster.jitter.draws;
  if (draws == 0 || 1 + (uint64_t)draws <= most) return true;
  return ss_fail(error, SS_BAD_INPUT,
                 "%s: %u draws of %s's jitter are too many for %llu endpoints: set cluster.jitter.draws to at most "
                 "%llu, or leave \"jitter\" out",
                 ss_doc_name(s->doc), draws, point->cluster.name, (unsigned long long)endpoints,
                 (unsigned long long)(most > 1 ? most - 1 : 1));
}

/* All tensors of the trace in one point. Where they live is matched with what there is. */
static bool join_tensors(struct ss_study *s, const struct cell *p, bool placed, struct ss_point *point,
                         struct ss_error *error) {
  const struct ss_trace *trace = p->source->trace;
  const uint32_t count = point->siblings;
  struct ss_joint *joint = ss_arena_alloc(&s->arena, 1, sizeof *joint);
  struct ss_shards *shards = ss_arena_alloc(&s->arena, count, sizeof *shards);
  const struct ss_tensor **tensor = ss_arena_alloc(&s->arena, count, sizeof *tensor);
  if (!joint || !shards || !tensor) return ss_fail_memory(error, "reading a scenario");
  for (uint32_t i = 0; i < count; i++) tensor[i] = ss_trace_tensor(trace, p->tensor[i]);
  *joint = (struct ss_joint){count, p->tensor, placed ? shards : NULL};
  point->origin.joint = joint;
  point->origin.tensor = p->tensor[0];
  point->tensor_name = count > 1 ? "*" : tensor[0]->name;
  point->siblings = 1;
  return !placed || ss_placement_match(p->placement, tensor, count, point->ranks, shards, error);
}

/* Tables that travel together are those of a trace. */
static bool join_tables(struct ss_study *s, const struct cell *p, struct ss_layout layout, struct ss_node scheme,
                        struct ss_point *point, struct ss_error *error) {
  const struct ss_traits traits = ss_setting_traits(&point->setting, layout);
  if (!traits.joint) return true;
  if (traits.placed && !p->placement)
    return ss_node_fail(scheme, error,
                        "%s places tables, and no placement is given (--placement FILE; sparsync plan --place makes "
                        "one)",
                        point->setting.label);
  if (traits.placed && !p->source->trace)
    return ss_node_fail(scheme, error, "%s places tables by their names, which only a trace has",
                        point->setting.label);
  if (!p->source->trace) return true;
  if (point->selection.selects)
    return ss_node_fail(scheme, error, "%s moves whole rows of several tables: leave the scenario's \"select\" out",
                        point->setting.label);
  return join_tensors(s, p, traits.placed, point, error);
}

/* What the tensor of the point is fit for. */
static bool add_point(struct ss_study *s, const struct ss_point *point, struct ss_node scheme,
                      struct ss_error *error) {
  struct ss_point *copy;
  struct ss_input shape;
  const bool element = point->selection.selects || ss_setting_by_elements(&point->setting);
  if (!ss_grow(s->point, s->capacity, s->count + 1)) return ss_fail_memory(error, "listing points");
  copy = &s->point[s->count];
  *copy = *point;
  if (!ss_input_shape(&point->origin, element, &shape, error))
    return point->origin.joint ? ss_fail_prefix(error, "%s: %s", ss_doc_name(s->doc), point->setting.label) : false;
  if (copy->extrapolation && copy->setting.scheme->tune) {
    struct ss_setting *untuned = ss_arena_alloc(&s->arena, 1, sizeof *untuned);
    if (!untuned) return ss_fail_memory(error, "listing points");
    *untuned = copy->setting;
    copy->untuned = untuned;
  }
  const uint64_t bytes = shape.rows * shape.width * shape.value_bytes;
  ss_setting_tune(&copy->setting, &copy->cluster, copy->ranks, bytes);
  if (!k_fits(point, &shape, scheme, error) || !find_exponent(s, copy, error) || !ss_point_identify(copy, error))
    return false;
  ss_uncertainty_beyond(&copy->dense_uncertainty, ss_accuracy_beyond(&copy->cluster.accuracy, SS_ALLREDUCE, bytes));
  s->count++;
  return true;
}

static bool add_tensors(struct ss_study *s, const struct cell *p, struct ss_point *point, struct ss_node scheme,
                        struct ss_error *error) {
  const struct ss_trace *trace = p->source->trace;
  if (point->origin.joint) return add_point(s, point, scheme, error);
  for (uint32_t i = 0; i < point->siblings; i++) {
    point->origin.tensor = p->tensor ? p->tensor[i] : i;
    if (trace) point->tensor_name = ss_trace_tensor(trace, point->origin.tensor)->name;
    if (!add_point(s, point, scheme, error)) return false;
  }
  return true;
}

static void set_uncertainty(const struct cell *p, struct ss_point *point) {
  const bool allreduce = strcmp(point->setting.scheme->name, "allreduce") == 0;
  point->dense_uncertainty =
      p->certain ? ss_certain : ss_uncertainty_of(&point->cluster, &point->device, point->ranks, SS_ALLREDUCE);
  point->uncertainty = p->certain || allreduce
                           ? point->dense_uncertainty
                           : ss_uncertainty_of(&point->cluster, &point->device, point->ranks, SS_COLLECTIVES);
}

/* One scheme at one rank count: a point for each tensor, or one for all. `scheme`: where the document says it. */
static bool add_points(struct ss_study *s, const struct cell *p, const struct ss_setting *setting,
                       struct ss_node scheme, uint32_t ranks, struct ss_error *error) {
  const struct ss_layout layout = ss_layout_of(&p->point.cluster, ranks);
  struct ss_point point = p->point;
  point.setting = *setting;
  ss_setting_settle(&point.setting, &p->point.cluster.library);
  point.ranks = ranks;
  if (!admitted(s, point.setting.scheme) || (p->offered && !ss_setting_offer(setting, &p->point.cluster.library)))
    return true;
  struct ss_error why;
  if (s->chosen_for_user && p->offered && is_second_offer(setting, &p->point.cluster.library)) return true;
  if (s->chosen_for_user && (!applies(&point.setting, p, layout, s->request.plan || s->request.candidates) ||
                             !bags_at_hand(&point, p, layout, scheme, &why)))
    return true;
  point.servers = ss_setting_servers(&point.setting, layout);
  set_uncertainty(p, &point);
  if (!ss_setting_check(&point.setting, layout, error)) return ss_fail_prefix(error, "%s", ss_doc_name(s->doc));
  tell_alike(s, &point, layout);
  if (!draws_fit(s, &point, error) || !values_at_hand(&point, p, scheme, error) ||
      !bags_at_hand(&point, p, layout, scheme, error))
    return false;
  if (!p->source->trace && !p->source->is_gradient) {
    const uint64_t parts = ss_setting_parts(&point.setting, layout);
    if (!ss_uniform_divides(&p->source->uniform, parts, ranks, error))
      return ss_fail_prefix(error, "%s: %s", ss_doc_name(s->doc), point.setting.label);
  }
  return join_tables(s, p, layout, scheme, &point, error) && add_tensors(s, p, &point, scheme, error);
}

static bool default_schemes(struct ss_study *s, struct ss_error *error) {
  const bool plan = s->request.plan || s->request.candidates;
  const struct ss_node root = ss_doc_root(s->doc);
  cJSON *all = plan ? ss_candidates(!ss_node_present(ss_node_get(root, "hierarchy")),
                                    cJSON_IsTrue(ss_node_get(root, "offered").at))
                    : cJSON_CreateArray();
  s->chosen_for_user = true;
  for (size_t i = 0; all && !plan && ss_schemes()[i]; i++)
    if (!ss_schemes()[i]->parse) /* a family of schemes is for the user to choose from */
      cJSON_AddItemToArray(all, cJSON_CreateString(ss_schemes()[i]->name));
  return all ? ss_doc_set_item(s->doc, "schemes", all, error) : ss_fail_memory(error, "listing schemes");
}

static bool same_setting(const struct ss_setting *a, const struct ss_setting *b) {
  for (size_t i = 0; i < SS_OPTIONS_MAX; i++)
    if (a->real[i] < b->real[i] || a->real[i] > b->real[i]) return false;
  return a->scheme == b->scheme && memcmp(a->value, b->value, sizeof a->value) == 0 &&
         a->index_bytes == b->index_bytes && a->element == b->element && a->exchange_sizes == b->exchange_sizes &&
         a->ragged == b->ragged && a->hierarchy == b->hierarchy;
}

/* Two labels of one thing would tie as if they were two. */
static void tell_alias(const struct ss_study *s, const struct ss_setting *a, const struct ss_setting *b) {
  char text[300];
  snprintf(text, sizeof text, "\"%s\" and \"%s\" are one scheme with the same options: the second says nothing new",
           a->label, b->label);
  ss_notice_tell(s->request.notice, text);
}

static bool unique_labels(const struct ss_study *s, size_t from, struct ss_error *error) {
  for (size_t i = from; i < s->count; i++)
    for (size_t k = from; k < i; k++) {
      const struct ss_point *a = &s->point[i], *b = &s->point[k];
      if (a->ranks == b->ranks && a->origin.tensor == b->origin.tensor &&
          strcmp(a->setting.label, b->setting.label) == 0)
        return ss_fail(error, SS_BAD_INPUT, "%s: two schemes are called \"%s\": give one a \"label\"",
                       ss_doc_name(s->doc), a->setting.label);
      if (a->ranks == b->ranks && a->origin.tensor == b->origin.tensor && !s->chosen_for_user &&
          same_setting(&a->setting, &b->setting))
        tell_alias(s, &b->setting, &a->setting);
    }
  return true;
}

/* All schemes at one rank count. */
static bool add_schemes(struct ss_study *s, const struct cell *p, uint32_t ranks, struct ss_error *error) {
  const struct ss_node schemes = ss_node_get(ss_doc_root(s->doc), "schemes");
  const size_t before = s->count;
  for (struct ss_node n = ss_node_first(schemes); ss_node_present(n); n = ss_node_next(n)) {
    struct ss_setting setting;
    const struct ss_setting defaults = defaults_at(p, ranks);
    if (!ss_setting_read(n, &defaults, &setting, error) || !add_points(s, p, &setting, n, ranks, error)) return false;
  }
  if (s->count > before) return true;
  if (p->offered)
    return ss_node_fail(
        ss_node_get(ss_doc_root(s->doc), "offered"), error,
        "nobody offers to PyTorch a scheme that can run here on %u ranks (sparsync list schemes --format json "
        "says what is offered)",
        ranks);
  return !(s->request.plan || s->request.candidates) || none_left(s, p, schemes, ranks, error);
}

static bool add_cell(struct ss_study *s, cJSON *at, struct ss_error *error) {
  struct cell p = {.point.at = at};
  uint32_t ranks[RANKS_MAX] = {0};
  size_t count, from = s->count;
  if (!ss_node_present(ss_node_get(ss_doc_root(s->doc), "schemes")) && !default_schemes(s, error)) return false;
  const struct ss_node root = ss_doc_root(s->doc), schemes = ss_node_get(root, "schemes");
  if (!read_cell(s, &p, error)) return false;
  if (!ss_ranks_read(ss_node_get(root, "ranks"), p.available, ranks, RANKS_MAX, &count, error)) return false;
  if (!ss_node_is_array(schemes) || ss_node_size(schemes) == 0 || ss_node_size(schemes) > SCHEMES_MAX)
    return ss_node_fail(schemes, error, "expected a list of 1 to %d schemes (say [\"allgather\", \"ps\"])",
                        SCHEMES_MAX);
  uint32_t most = 0;
  for (size_t i = 0; i < count; i++) most = ranks[i] > most ? ranks[i] : most;
  if (!p.certain)
    ss_cluster_tell_nodes(&p.point.cluster, ss_cluster_nodes(&p.point.cluster, most), s->request.notice);
  for (size_t i = 0; i < count; i++) {
    struct cell own = p;
    if (p.available && ranks[i] > p.available && !widen(s, &own, ranks[i], error)) return false;
    if (!add_schemes(s, &own, ranks[i], error)) return false;
  }
  return unique_labels(s, from, error);
}

/* The cluster's own device is that of its cell alone. */
bool ss_study_add_cell(struct ss_study *s, cJSON *at, struct ss_error *error) {
  bool set;
  if (!ss_device_by_default(s->doc, s->base, &set, error)) return false;
  const bool ok = add_cell(s, at, error);
  if (set) cJSON_DeleteItemFromObjectCaseSensitive(ss_doc_root(s->doc).at, "device");
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
