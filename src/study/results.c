#include "study/results.h"

#include "schemes/registry.h"
#include "study/ranges.h"

bool ss_result_same_cell(const struct ss_result *a, const struct ss_result *b) {
  return a->ranks == b->ranks && a->at == b->at && a->cluster == b->cluster && strcmp(a->tensor, b->tensor) == 0;
}

size_t ss_results_in_cell(const struct ss_result *results, size_t count) {
  size_t n = 1;
  while (n < count && ss_result_same_cell(results, &results[n])) n++;
  return n;
}

void ss_results_rank(const struct ss_result *results, size_t n, const struct ss_result **best,
                     const struct ss_result **next) {
  *best = results;
  *next = NULL;
  for (size_t i = 1; i < n; i++)
    if (ss_result_left_out(*best, &results[i]) ||
        (!ss_result_left_out(&results[i], *best) && results[i].time < (*best)->time))
      *best = &results[i];
  for (size_t i = 0; i < n; i++)
    if (&results[i] != *best && !ss_result_left_out(&results[i], *best) &&
        (!*next || results[i].time < (*next)->time))
      *next = &results[i];
}

/* --- the numeric fields ----------------------------------------------------------------------------------- */

#define PARTS(prefix, member)                                                                                        \
  PART(prefix "latency", member, SS_LATENCY), PART(prefix "transfer", member, SS_TRANSFER),                          \
      PART(prefix "exchange_latency", member, SS_EXCHANGE_LATENCY),                                                  \
      PART(prefix "exchange_transfer", member, SS_EXCHANGE_TRANSFER),                                                \
      PART(prefix "intra_latency", member, SS_INTRA_LATENCY),                                                        \
      PART(prefix "intra_transfer", member, SS_INTRA_TRANSFER), PART(prefix "kernels", member, SS_COMPUTING),        \
      PART(prefix "window", member, SS_WINDOW)
#define PART(name, member, component)                                                                                \
  {                                                                                                                  \
    name "_part_s", offsetof(struct ss_result, member) + (component) * sizeof(double), /* of its only array */       \
        SS_FIELD_LATER | SS_FIELD_DRAWN | SS_FIELD_ADDS                                                              \
  }
#define FIELD(name, member, is)                                                                                      \
  { name, offsetof(struct ss_result, member), is }
enum { EXTRAPOLATED = SS_FIELD_LATER | SS_FIELD_JUDGED, BESIDE = SS_FIELD_LATER | SS_FIELD_DRAWN | SS_FIELD_BESIDE };
const struct ss_result_field ss_result_fields[SS_RESULT_FIELDS] = {
    FIELD("time_s", time, SS_FIELD_MEAN | SS_FIELD_ADDS),
    FIELD("time_min_s", time_min, SS_FIELD_ADDS),
    FIELD("time_max_s", time_max, SS_FIELD_ADDS),
    FIELD("time_sd_s", time_sd, SS_FIELD_LATER | SS_FIELD_DRAWN | SS_FIELD_ADDS),
    FIELD("time_p5_s", fan.p5, SS_FIELD_LATER),
    FIELD("time_p50_s", fan.p50, SS_FIELD_LATER),
    FIELD("time_p95_s", fan.p95, SS_FIELD_LATER),
    FIELD("time_low_s", time_low, SS_FIELD_LATER | SS_FIELD_RANGE),
    FIELD("time_high_s", time_high, SS_FIELD_LATER | SS_FIELD_RANGE),
    FIELD("wins", wins, BESIDE),
    FIELD("next_ratio_low", next_low, BESIDE),
    FIELD("next_ratio_high", next_high, BESIDE),
    FIELD("dense_ratio_low", dense_low, SS_FIELD_LATER | SS_FIELD_DRAWN),
    FIELD("dense_ratio_high", dense_high, SS_FIELD_LATER | SS_FIELD_DRAWN),
    PARTS("", components),
    PARTS("dense_", dense_components),
    FIELD("captured_s", captured, EXTRAPOLATED | SS_FIELD_ADDS),
    FIELD("captured_by_half_s", by_half, EXTRAPOLATED | SS_FIELD_ADDS),
    FIELD("error_factor", off, EXTRAPOLATED),
    FIELD("kernel_s", kernel, SS_FIELD_MEAN | SS_FIELD_ADDS),
    FIELD("bound_s", bound, SS_FIELD_MEAN | SS_FIELD_ADDS),
    FIELD("bound_startup_s", bound_startup, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_LATER),
    FIELD("messages", messages, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("rounds", rounds, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("bytes_total", bytes, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("bytes_sent_max", sent_max, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("bytes_received_max", received_max, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("server_bytes_max", server_max, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("peak_bytes", peak, SS_FIELD_LATER | SS_FIELD_COUNTS),
    FIELD("server_peak_bytes", server_peak, SS_FIELD_LATER | SS_FIELD_COUNTS),
    FIELD("device_memory_bytes", device_memory, SS_FIELD_LATER),
    FIELD("dense_s", dense_s, SS_FIELD_ADDS),
    FIELD("density", density, 0),
    FIELD("gamma", gamma, 0),
    FIELD("push_imbalance", push_imbalance, SS_FIELD_MEAN),
    FIELD("pull_imbalance", pull_imbalance, SS_FIELD_MEAN),
    FIELD("error_l2", error_l2, SS_FIELD_MEAN),
    FIELD("error_mean", error_mean, SS_FIELD_MEAN),
    FIELD("energy", energy, SS_FIELD_MEAN),
    FIELD("energy_lost", energy_lost, SS_FIELD_MEAN),
    FIELD("k", k, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("dropped", dropped, SS_FIELD_MEAN),
    FIELD("formula_s", formula_s, SS_FIELD_ADDS),
    FIELD("formula_low_s", formula_low_s, SS_FIELD_ADDS),
    FIELD("formula_high_s", formula_high_s, SS_FIELD_ADDS),
    FIELD("placed_s", placed_s, SS_FIELD_ADDS),
    FIELD("paper_s", paper_s, SS_FIELD_ADDS),
    FIELD("paper_low_s", paper_low_s, 0),
    FIELD("paper_high_s", paper_high_s, 0),
};

double ss_result_value(const struct ss_result *result, size_t field) {
  double value;
  memcpy(&value, (const char *)result + ss_result_fields[field].offset, sizeof value);
  return value;
}

void ss_result_set_value(struct ss_result *result, size_t field, double value) {
  memcpy((char *)result + ss_result_fields[field].offset, &value, sizeof value);
}

bool ss_result_find(const struct ss_result *result, const char *name, double *out) {
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++) {
    if (strcmp(ss_result_fields[i].name, name) != 0) continue;
    *out = ss_result_value(result, i);
    return true;
  }
  return false;
}

struct ss_suggestion ss_result_suggest(const char *name) {
  const char *names[SS_RESULT_FIELDS + 1] = {NULL};
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++) names[i] = ss_result_fields[i].name;
  return ss_suggest(name, names, NULL);
}

static enum ss_truth both(enum ss_truth a, enum ss_truth b) {
  return a == SS_NO || b == SS_YES ? a : b;
}

static void add_use(struct ss_kernel_use *sum, const struct ss_kernel_use *use) {
  sum->s += use->s;
  sum->calls += use->calls;
  sum->elements += use->elements;
  sum->bytes += use->bytes;
  sum->estimated = sum->estimated || use->estimated;
}

/* --- draws ------------------------------------------------------------------------------------------------ */

/* Tensors follow each other on the links of one draw. */
static void add_draws(struct ss_result *all, const struct ss_result *tensors, uint32_t count) {
  double sum[SS_DRAWS_MAX] = {0};
  for (uint32_t t = 0; t < count; t++)
    for (uint32_t d = 0; d < all->draws; d++) sum[d] += tensors[t].draw_s ? tensors[t].draw_s[d] : NAN;
  if (all->draws > 0 && !isnan(sum[0])) all->fan = ss_fan_of(sum, all->draws);
}

/* What is off by the ranks is so by each tensor's part of the time. */
static void add_ranges(struct ss_result *all, const struct ss_result *tensors, uint32_t count) {
  double half = 0, most = 0;
  for (uint32_t t = 0; t < count; t++) {
    const struct ss_spread further = ss_result_further(&tensors[t]);
    half += tensors[t].time * further.half;
    most += tensors[t].time * further.most;
  }
  all->further = (struct ss_spread){half / all->time, most / all->time};
}

struct ss_result ss_result_of_all(const struct ss_result *tensors, uint32_t count) {
  struct ss_result all = tensors[0];
  all.tensor = "*";
  all.bound_max = all.bound;
  all.iteration_s = all.rank_sent = all.rank_received = all.draw_s = NULL;
  all.formula = all.formula_low = all.formula_high = all.paper = NULL;
  all.identity = (struct ss_identity){0};
  for (uint32_t t = 1; t < count; t++) all.exact = both(all.exact, tensors[t].exact);
  for (uint32_t t = 1; t < count; t++)
    if (all.dense != tensors[t].dense) all.dense = NULL;
  for (uint32_t t = 1; t < count; t++) {
    if (tensors[t].bound <= all.bound_max) continue;
    all.bound_max = tensors[t].bound;
    memcpy(all.bound_by, tensors[t].bound_by, sizeof all.bound_by);
  }
  memset(all.usage, 0, sizeof all.usage); /* tensors follow each other: no link is busy with both */
  for (uint32_t t = 1; t < count; t++)
    for (int k = 0; k < SS_KERNELS; k++) add_use(&all.kernels[k], &tensors[t].kernels[k]);
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++) {
    double sum = ss_result_fields[i].is & SS_FIELD_ADDS ? ss_result_value(&tensors[0], i) : NAN;
    for (uint32_t t = 1; t < count; t++) sum += ss_result_value(&tensors[t], i);
    ss_result_set_value(&all, i, sum);
  }
  all.peak = all.server_peak = 0; /* tensors follow each other */
  for (uint32_t t = 0; t < count; t++) {
    all.peak = fmax(all.peak, tensors[t].peak);
    all.server_peak = fmax(all.server_peak, tensors[t].server_peak);
  }
  all.device_memory = tensors[0].device_memory;
  add_draws(&all, tensors, count);
  add_ranges(&all, tensors, count);
  return all;
}

struct ss_dense_time ss_results_dense(const struct ss_result *results, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isnan(results[i].dense_s))
      return (struct ss_dense_time){results[i].dense_s, results[i].dense, results[i].dense_components};
  return (struct ss_dense_time){.seconds = NAN};
}

void ss_result_free_arrays(struct ss_result *r) {
  free(r->iteration_s);
  free(r->rank_sent);
  free(r->rank_received);
  free(r->draw_s);
  r->iteration_s = r->rank_sent = r->rank_received = r->draw_s = NULL;
}

void ss_results_free(struct ss_results *results) {
  for (size_t i = 0; i < results->count; i++) ss_result_free_arrays(&results->result[i]);
  free(results->result);
  *results = (struct ss_results){0};
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void add_verdict(cJSON *object, const char *name, enum ss_truth verdict) {
  if (verdict == SS_UNKNOWN) cJSON_AddNullToObject(object, name);
  else cJSON_AddBoolToObject(object, name, verdict == SS_YES);
}

static void add_array(cJSON *object, const char *name, const double *values, uint64_t count) {
  if (!values) return;
  cJSON_AddItemToObject(object, name, cJSON_CreateDoubleArray(values, (int)count));
}

/* What links of a kind, and calls of a kernel, amounted to. */
#define NUMBER(type, member)                                                                                         \
  { #member, NULL, SS_IS_FROM_0, .required = true, SS_STORED(struct type, member) }
static const struct ss_field_spec usage_fields[] = {
    {"count", NULL, SS_IS_COUNT(0, UINT32_MAX), .required = true, SS_STORED(struct ss_link_usage, links)},
    NUMBER(ss_link_usage, bytes_max),
    NUMBER(ss_link_usage, bytes_mean),
    NUMBER(ss_link_usage, busy_max),
    NUMBER(ss_link_usage, busy_mean),
    {.name = NULL}};
static const struct ss_field_spec kernel_fields[] = {
    NUMBER(ss_kernel_use, s),
    NUMBER(ss_kernel_use, calls),
    NUMBER(ss_kernel_use, elements),
    NUMBER(ss_kernel_use, bytes),
    {"estimated", NULL, SS_IS_FLAG, .required = true, SS_STORED(struct ss_kernel_use, estimated)},
    {.name = NULL}};
static const struct ss_object_spec usage_spec = {.field = usage_fields}, kernel_spec = {.field = kernel_fields};

/* The texts of its closed form. */
static const struct member {
  const char *name;
  size_t offset;
} of_forms[] = {{"formula", offsetof(struct ss_result, formula)},
                {"formula_low", offsetof(struct ss_result, formula_low)},
                {"formula_high", offsetof(struct ss_result, formula_high)},
                {"paper", offsetof(struct ss_result, paper)},
                {"erratum", offsetof(struct ss_result, erratum)},
                {0}};

static const char *text_at(const struct ss_result *r, const struct member *member) {
  const char *text;
  memcpy(&text, (const char *)r + member->offset, sizeof text);
  return text;
}

static void add_numbers(cJSON *object, const struct ss_field_spec *field, const void *part) {
  for (; field->name; field++) {
    double value;
    if (field->kind != SS_SPEC_NONNEGATIVE) continue;
    memcpy(&value, (const char *)part + field->offset, sizeof value);
    cJSON_AddNumberToObject(object, field->name, value);
  }
}

/* The links of each kind that there is. */
static void add_usage(cJSON *object, const struct ss_result *r) {
  cJSON *links = cJSON_AddObjectToObject(object, "links");
  for (size_t k = 0; k < SS_LINK_KINDS; k++) {
    if (r->usage[k].links == 0) continue;
    cJSON *kind = cJSON_AddObjectToObject(links, ss_link_kind_names[k]);
    cJSON_AddNumberToObject(kind, "count", r->usage[k].links);
    add_numbers(kind, usage_fields, &r->usage[k]);
  }
}

void ss_cluster_add_numbers(cJSON *o, const struct ss_cluster *c) {
  const uint32_t window = ss_cluster_window_of(c, true);
  ss_json_add(o, SS_T("cluster_model", c->model), SS_N("cluster_latency_s", c->inter.alpha),
              SS_N("cluster_bandwidth", 1 / c->inter.beta), SS_N("cluster_intra_latency_s", c->intra.alpha),
              SS_N("cluster_intra_bandwidth", 1 / c->intra.beta), SS_N("cluster_gpus_per_node", c->gpus_per_node),
              SS_N("cluster_nics", ss_cluster_nics(c)));
  ss_json_add_number(o, "cluster_window", window == UINT32_MAX ? NAN : (double)window); /* null: no limit */
}

/* The kernels that ran. */
static void add_kernels(cJSON *object, const struct ss_result *r) {
  cJSON *kernels = cJSON_AddObjectToObject(object, "kernels");
  for (int k = 0; k < SS_KERNELS; k++) {
    const struct ss_kernel_use *use = &r->kernels[k];
    if (!(use->elements > 0)) continue;
    cJSON *kernel = cJSON_AddObjectToObject(kernels, ss_kernel_name((enum ss_kernel_kind)k));
    add_numbers(kernel, kernel_fields, use);
    cJSON_AddBoolToObject(kernel, "estimated", use->estimated);
  }
}

/* What was computed. */
static cJSON *values_json(const struct ss_result *r) {
  cJSON *o = cJSON_CreateObject();
  const unsigned unnamed = (r->extrapolated_from ? 0 : SS_FIELD_JUDGED) | (ss_result_ranged(r) ? 0 : SS_FIELD_RANGE) |
                           (ss_spread_certain(&r->uncertainty.model) ? SS_FIELD_DRAWN : 0);
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++)
    if (!(ss_result_fields[i].is & unnamed)) ss_json_add_number(o, ss_result_fields[i].name, ss_result_value(r, i));
  ss_json_add(o, SS_T("dense", r->dense), SS_T("bound_by", r->bound_by[0] ? r->bound_by : NULL));
  add_usage(o, r);
  add_kernels(o, r);
  cJSON_AddBoolToObject(o, "lossless", r->lossless);
  add_verdict(o, "exact", r->exact);
  ss_json_add_text(o, "placed", isnan(r->placed_s) ? NULL : r->placed_exact ? "exact" : "bound");
  for (const struct member *m = of_forms; m->name; m++) ss_json_add_text(o, m->name, text_at(r, m));
  add_array(o, "iteration_s", r->iteration_s, r->iterations);
  add_array(o, "draw_s", r->draw_s, r->draws);
  add_array(o, "rank_bytes_sent", r->rank_sent, r->ranks);
  add_array(o, "rank_bytes_received", r->rank_received, r->ranks);
  return o;
}

static bool is_known(struct ss_identity identity) {
  return identity.high || identity.low;
}

static struct ss_identity digest(const struct ss_result *r, const cJSON *values) {
  return is_known(r->identity) ? ss_identity_join(r->identity, ss_identity_of(values)) : r->identity;
}

/* The hash of what the result says, and of its identity; 0 of "*". */
static struct ss_identity digest_of(const struct ss_result *r) {
  cJSON *values = values_json(r);
  const struct ss_identity all = digest(r, values);
  cJSON_Delete(values);
  return all;
}

static void add_hash(cJSON *o, const char *name, struct ss_identity hash) {
  char text[64];
  snprintf(text, sizeof text, "xxh128:%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
  ss_json_add_text(o, name, is_known(hash) ? text : NULL);
}

static void add_cell(cJSON *o, const struct ss_result *r) {
  char hash[32];
  ss_json_add(o, SS_N("ranks", r->ranks), SS_T("tensor", r->tensor),
              SS_J("at", r->at ? cJSON_Duplicate(r->at, 1) : cJSON_CreateObject()), SS_T("cluster", r->cluster),
              SS_T("device", r->device), SS_T("trace", r->trace));
  if (r->extrapolated_from) ss_json_add(o, SS_N("extrapolated_from", r->extrapolated_from));
  snprintf(hash, sizeof hash, "xxh64:%016llx", (unsigned long long)r->trace_hash);
  ss_json_add(o, SS_T("trace_hash", r->trace_hash ? hash : NULL), SS_N("seed", (double)r->seed),
              SS_N("iterations", (double)r->iterations));
  add_hash(o, "point_hash", r->identity);
}

cJSON *ss_result_offer_json(const struct ss_result *r) {
  const struct ss_library *library = r->machine ? &r->machine->library : NULL;
  return ss_offer_json(ss_setting_offer(&r->setting, library), library);
}

cJSON *ss_result_json(const struct ss_result *r) {
  cJSON *o = cJSON_CreateObject(), *values = values_json(r);
  if (!o || !values) return NULL;
  ss_json_add(o, SS_T("scheme", r->setting.scheme->name), SS_T("label", r->setting.label),
              SS_J("options", ss_setting_json(&r->setting)), SS_J("offered", ss_result_offer_json(r)));
  add_cell(o, r);
  add_hash(o, "result_hash", digest(r, values));
  for (cJSON *value; (value = cJSON_DetachItemViaPointer(values, values->child));)
    cJSON_AddItemToObject(o, value->string, value);
  cJSON_Delete(values);
  return o;
}

cJSON *ss_results_json(const struct ss_results *results, const char *scenario) {
  cJSON *root = ss_json_object(SS_T("sparsync", SS_VERSION), SS_T("scenario", scenario));
  cJSON *list = cJSON_AddArrayToObject(root, "points");
  for (size_t i = 0; i < results->count; i++) {
    cJSON *point = ss_result_json(&results->result[i]);
    if (cJSON_AddItemToArray(list, point)) continue;
    cJSON_Delete(point);
    cJSON_Delete(root);
    return NULL;
  }
  return root;
}

/* --- points read back -------------------------------------------------------------------------------------- */

static bool read_hash(struct ss_node node, const char *key, struct ss_identity *out) {
  static const char prefix[] = "xxh128:";
  const struct ss_node field = ss_node_get(node, key);
  const char *text;
  if (!ss_node_is_text(field) || !ss_node_text(field, &text, NULL)) return false;
  if (strncmp(text, prefix, sizeof prefix - 1) != 0) return false;
  text += sizeof prefix - 1;
  if (strspn(text, "0123456789abcdef") != 32 || text[32] != '\0') return false;
  // NOLINTNEXTLINE(cert-err34-c): sixteen digits each, as was just seen, fit
  return sscanf(text, "%16" SCNx64 "%16" SCNx64, &out->high, &out->low) == 2;
}

bool ss_result_read_identity(struct ss_node node, struct ss_identity *out) {
  return read_hash(node, "point_hash", out);
}

bool ss_result_untouched(struct ss_node node, const struct ss_result *r) {
  struct ss_identity hash;
  return read_hash(node, "result_hash", &hash) && ss_identity_same(hash, digest_of(r));
}

/* Null is as it was: not known. */
static bool read_exact(struct ss_node node, void *out, struct ss_error *error) {
  bool yes;
  if (!ss_node_flag(node, &yes, error)) return false;
  *(enum ss_truth *)out = yes ? SS_YES : SS_NO;
  return true;
}

static bool read_dense(struct ss_node node, void *out, struct ss_error *error) {
  const char *name;
  if (!ss_node_text(node, &name, error)) return false;
  *(const char **)out = ss_dense_way_name(name);
  return true;
}

static bool read_usage(struct ss_node node, void *out, struct ss_error *error) {
  struct ss_link_usage *usage = out;
  for (size_t k = 0; k < SS_LINK_KINDS; k++) {
    const struct ss_node kind = ss_node_get(node, ss_link_kind_names[k]);
    if (ss_node_present(kind) && !ss_object_read_known(&usage_spec, kind, &usage[k], error)) return false;
  }
  return true;
}

static bool read_kernels(struct ss_node node, void *out, struct ss_error *error) {
  struct ss_kernel_use *use = out;
  for (int k = 0; k < SS_KERNELS; k++) {
    const struct ss_node kernel = ss_node_get(node, ss_kernel_name((enum ss_kernel_kind)k));
    if (ss_node_present(kernel) && !ss_object_read_known(&kernel_spec, kernel, &use[k], error)) return false;
  }
  return true;
}

#define STORED(member) SS_STORED(struct ss_result, member)
static const char *const placed[] = {"bound", "exact", NULL};
static const struct ss_field_spec others[] = {
    {"exact", NULL, SS_IS_FLAG, .required = true, .nullable = true, STORED(exact), .read = read_exact},
    {"bound_by", NULL, SS_IS_TEXT, .required = true, .nullable = true, STORED(bound_by)},
    {"dense", NULL, SS_IS_TEXT, .nullable = true, STORED(dense), .read = read_dense},
    {"placed", NULL, SS_IS_CHOICE(placed), .nullable = true, STORED(placed_exact)},
    {"links", NULL, SS_IS_ANY, STORED(usage), .read = read_usage}, /* CSV has none, nor kernels */
    {"kernels", NULL, SS_IS_ANY, STORED(kernels), .read = read_kernels},
    {.name = NULL}};
static const struct ss_object_spec others_spec = {.field = others};

bool ss_result_read_number(struct ss_node node, size_t field, double *out, struct ss_error *error) {
  const struct ss_node value = ss_node_get(node, ss_result_fields[field].name);
  *out = NAN;
  if (!ss_node_present(value) || ss_node_is_null(value)) return true;
  return ss_node_is_number(value) ? ss_node_quantity(value, SS_NUMBER, out, error)
                                  : ss_node_fail(value, error, "expected a number or null");
}

static bool read_numbers(struct ss_node node, struct ss_result *r, struct ss_error *error) {
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++) {
    const bool later = ss_result_fields[i].is & SS_FIELD_LATER;
    struct ss_node value;
    double number;
    if ((!later && !ss_node_need(node, ss_result_fields[i].name, &value, error)) ||
        !ss_result_read_number(node, i, &number, error))
      return false;
    ss_result_set_value(r, i, number);
  }
  return true;
}

/* Absent arrays leave NULL: the caller sees what is missing. */
static bool read_array(struct ss_node node, const char *key, size_t count, double **out, struct ss_error *error) {
  const struct ss_node list = ss_node_get(node, key);
  *out = ss_node_present(list) ? ss_alloc(count, sizeof **out) : NULL;
  if (!ss_node_present(list)) return true;
  return *out ? ss_node_numbers(list, count, *out, error) : ss_fail_memory(error, "reading results");
}

void ss_result_widen(struct ss_result *r) {
  if (!r->machine) return;
  const uint32_t collective = ss_scheme_collective(r->setting.scheme);
  const uint64_t bytes = ss_scheme_call_bytes(&r->setting, r->ranks, r->bytes);
  ss_uncertainty_beyond(&r->uncertainty, ss_accuracy_beyond(&r->machine->accuracy, collective, bytes));
}

bool ss_result_read(struct ss_node node, struct ss_result *result, struct ss_error *error) {
  struct ss_result r = *result;
  r.iteration_s = r.rank_sent = r.rank_received = r.draw_s = NULL;
  for (const struct member *m = of_forms; m->name; m++) /* a form that could not be computed stays unnamed */
    if (!ss_node_is_text(ss_node_get(node, m->name))) memset((char *)&r + m->offset, 0, sizeof(const char *));
  const bool ok = read_numbers(node, &r, error) && ss_object_read_known(&others_spec, node, &r, error) &&
                  read_array(node, "draw_s", r.draws, &r.draw_s, error) &&
                  read_array(node, "iteration_s", r.iterations, &r.iteration_s, error) &&
                  read_array(node, "rank_bytes_sent", r.ranks, &r.rank_sent, error) &&
                  read_array(node, "rank_bytes_received", r.ranks, &r.rank_received, error);
  if (ok) ss_result_widen(&r), *result = r;
  else ss_result_free_arrays(&r);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
