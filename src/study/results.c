#include "study/results.h"

#include "base/json_text.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the numeric fields ----------------------------------------------------------------------------------- */

#define FIELD(name, member, is)                                                                                      \
  { name, offsetof(struct ss_result, member), is }
const struct ss_result_field ss_result_fields[SS_RESULT_FIELDS] = {
    FIELD("time_s", time, SS_FIELD_MEAN | SS_FIELD_ADDS),
    FIELD("time_min_s", time_min, SS_FIELD_ADDS),
    FIELD("time_max_s", time_max, SS_FIELD_ADDS),
    FIELD("time_p5_s", fan.p5, SS_FIELD_DRAWN),
    FIELD("time_p50_s", fan.p50, SS_FIELD_DRAWN),
    FIELD("time_p95_s", fan.p95, SS_FIELD_DRAWN),
    FIELD("kernel_s", kernel, SS_FIELD_MEAN | SS_FIELD_ADDS),
    FIELD("bound_s", bound, SS_FIELD_MEAN | SS_FIELD_ADDS),
    FIELD("messages", messages, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("rounds", rounds, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("bytes_total", bytes, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("bytes_sent_max", sent_max, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("bytes_received_max", received_max, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
    FIELD("server_bytes_max", server_max, SS_FIELD_MEAN | SS_FIELD_ADDS | SS_FIELD_COUNTS),
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

struct ss_result ss_result_of_all(const struct ss_result *tensors, uint32_t count) {
  struct ss_result all = tensors[0];
  all.tensor = "*";
  all.bound_max = all.bound;
  all.iteration_s = all.rank_sent = all.rank_received = all.draw_s = NULL;
  all.formula = all.formula_low = all.formula_high = all.paper = NULL;
  all.identity = (struct ss_identity){0};
  for (uint32_t t = 1; t < count; t++) all.exact = both(all.exact, tensors[t].exact);
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
  add_draws(&all, tensors, count);
  return all;
}

void ss_result_free_arrays(struct ss_result *r) {
  free(r->iteration_s);
  free(r->rank_sent);
  free(r->rank_received);
  free(r->draw_s);
  r->iteration_s = r->rank_sent = r->rank_received = r->draw_s = NULL;
}

void ss_results_free(struct ss_results *results) {
  for (size_t i = 0; i < results->count; i++) ss_result_free_arrays(&results->point[i]);
  free(results->point);
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

/* The links of each kind that there is. */
static void add_usage(cJSON *object, const struct ss_result *r) {
  cJSON *links = cJSON_AddObjectToObject(object, "links");
  for (size_t k = 0; k < SS_LINK_KINDS; k++) {
    const struct ss_link_usage *u = &r->usage[k];
    if (u->links == 0) continue;
    cJSON *kind = cJSON_AddObjectToObject(links, ss_link_kind_names[k]);
    cJSON_AddNumberToObject(kind, "count", u->links);
    cJSON_AddNumberToObject(kind, "bytes_max", u->bytes_max);
    cJSON_AddNumberToObject(kind, "bytes_mean", u->bytes_mean);
    cJSON_AddNumberToObject(kind, "busy_max", u->busy_max);
    cJSON_AddNumberToObject(kind, "busy_mean", u->busy_mean);
  }
}

void ss_cluster_add_numbers(cJSON *o, const struct ss_cluster *c) {
  const uint32_t window = ss_cluster_window(c);
  cJSON_AddStringToObject(o, "cluster_model", c->model);
  cJSON_AddNumberToObject(o, "cluster_latency_s", c->inter.alpha);
  cJSON_AddNumberToObject(o, "cluster_bandwidth", 1 / c->inter.beta);
  cJSON_AddNumberToObject(o, "cluster_intra_latency_s", c->intra.alpha);
  cJSON_AddNumberToObject(o, "cluster_intra_bandwidth", 1 / c->intra.beta);
  cJSON_AddNumberToObject(o, "cluster_gpus_per_node", c->gpus_per_node);
  cJSON_AddNumberToObject(o, "cluster_nics", ss_cluster_nics(c));
  ss_json_add_number(o, "cluster_window", window == UINT32_MAX ? NAN : (double)window); /* null: no limit */
}

/* The kernels that ran. */
static void add_kernels(cJSON *object, const struct ss_result *r) {
  cJSON *kernels = cJSON_AddObjectToObject(object, "kernels");
  for (int k = 0; k < SS_KERNELS; k++) {
    const struct ss_kernel_use *use = &r->kernels[k];
    if (!(use->elements > 0)) continue;
    cJSON *kernel = cJSON_AddObjectToObject(kernels, ss_kernel_name((enum ss_kernel_kind)k));
    cJSON_AddNumberToObject(kernel, "s", use->s);
    cJSON_AddNumberToObject(kernel, "calls", use->calls);
    cJSON_AddNumberToObject(kernel, "elements", use->elements);
    cJSON_AddNumberToObject(kernel, "bytes", use->bytes);
    cJSON_AddBoolToObject(kernel, "estimated", use->estimated);
  }
}

/* What was computed. */
static cJSON *values_json(const struct ss_result *r) {
  cJSON *o = cJSON_CreateObject();
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++)
    ss_json_add_number(o, ss_result_fields[i].name, ss_result_value(r, i));
  ss_json_add_text(o, "bound_by", r->bound_by[0] ? r->bound_by : NULL);
  add_usage(o, r);
  add_kernels(o, r);
  cJSON_AddBoolToObject(o, "lossless", r->lossless);
  add_verdict(o, "exact", r->exact);
  ss_json_add_text(o, "placed", isnan(r->placed_s) ? NULL : r->placed_exact ? "exact" : "bound");
  ss_json_add_text(o, "formula", r->formula);
  ss_json_add_text(o, "formula_low", r->formula_low);
  ss_json_add_text(o, "formula_high", r->formula_high);
  ss_json_add_text(o, "paper", r->paper);
  ss_json_add_text(o, "erratum", r->erratum);
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

struct ss_identity ss_result_digest(const struct ss_result *r) {
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

static void add_place(cJSON *o, const struct ss_result *r) {
  char hash[32];
  cJSON_AddNumberToObject(o, "ranks", r->ranks);
  cJSON_AddStringToObject(o, "tensor", r->tensor);
  cJSON_AddItemToObject(o, "at", r->at ? cJSON_Duplicate(r->at, 1) : cJSON_CreateObject());
  cJSON_AddStringToObject(o, "cluster", r->cluster);
  cJSON_AddStringToObject(o, "device", r->device);
  cJSON_AddStringToObject(o, "trace", r->trace);
  snprintf(hash, sizeof hash, "xxh64:%016llx", (unsigned long long)r->trace_hash);
  ss_json_add_text(o, "trace_hash", r->trace_hash ? hash : NULL);
  cJSON_AddNumberToObject(o, "seed", (double)r->seed);
  cJSON_AddNumberToObject(o, "iterations", (double)r->iterations);
  add_hash(o, "point_hash", r->identity);
}

cJSON *ss_result_json(const struct ss_result *r) {
  cJSON *o = cJSON_CreateObject(), *values = values_json(r);
  if (!o || !values) return NULL;
  cJSON_AddStringToObject(o, "scheme", r->setting.scheme->name);
  cJSON_AddStringToObject(o, "label", r->setting.label);
  cJSON_AddItemToObject(o, "options", ss_setting_json(&r->setting));
  add_place(o, r);
  add_hash(o, "result_hash", digest(r, values));
  for (cJSON *value; (value = cJSON_DetachItemViaPointer(values, values->child));)
    cJSON_AddItemToObject(o, value->string, value);
  cJSON_Delete(values);
  return o;
}

cJSON *ss_results_json(const struct ss_results *results, const char *scenario) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "sparsync", SS_VERSION);
  cJSON_AddStringToObject(root, "scenario", scenario);
  cJSON *list = cJSON_AddArrayToObject(root, "points");
  for (size_t i = 0; i < results->count; i++) {
    cJSON *point = ss_result_json(&results->point[i]);
    if (cJSON_AddItemToArray(list, point)) continue;
    cJSON_Delete(point);
    cJSON_Delete(root);
    return NULL;
  }
  return root;
}
