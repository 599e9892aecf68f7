#include "study/trace_json.h"

const char *ss_trace_hash_text(const struct ss_trace *trace, char *buffer, size_t size) {
  (void)snprintf(buffer, size, "xxh64:%016" PRIx64, ss_trace_hash(trace));
  return buffer;
}

/* Over all iterations and ranks. */
static double all_tokens(const struct ss_trace *trace) {
  double sum = 0;
  for (uint64_t t = 0; t < ss_trace_iterations(trace); t++)
    for (uint32_t r = 0; r < ss_trace_ranks(trace); r++) sum += (double)ss_trace_tokens(trace, t, r);
  return sum;
}

/* --- what a trace holds --------------------------------------------------------------------------------- */

static cJSON *begin(const struct ss_trace *trace) {
  char hash[32];
  return ss_json_object(SS_T("sparsync", SS_VERSION), SS_T("trace", ss_trace_name(trace)),
                        SS_T("trace_hash", ss_trace_hash_text(trace, hash, sizeof hash)));
}

static cJSON *add_tensor(cJSON *list, const struct ss_tensor *tensor) {
  cJSON *item = cJSON_CreateObject();
  cJSON_AddItemToArray(list, item);
  ss_json_add(item, SS_T("name", tensor->name), SS_N("rows", (double)tensor->rows),
              SS_N("row_width", tensor->row_width), SS_T("dtype", ss_dtype_name(tensor->dtype)));
  return item;
}

/* Of a trace that is no capture null. */
static cJSON *capture_json(const struct ss_captured *c) {
  const double per_node = c->gpus_per_node;
  if (!c->doc) return cJSON_CreateNull();
  return ss_json_object(SS_T("run", c->run), SS_N("world", c->world),
                        SS_N("gpus_per_node", per_node > 0 ? per_node : NAN), SS_T("backend", c->backend),
                        SS_T("device", c->device), SS_T("workload", ss_json_word(c->workload.at, "name")),
                        SS_T("system", ss_json_word(c->system.at, "name")), SS_N("steps", (double)c->steps),
                        SS_N("iteration_s", c->time), SS_N("quiet_iteration_s", c->quiet));
}

cJSON *ss_trace_info_json(const struct ss_trace *trace, const struct ss_captured *captured) {
  const double per_node = ss_trace_gpus_per_node(trace), tokens = all_tokens(trace),
               pad = (double)ss_trace_pad_id(trace);
  cJSON *root = begin(trace);
  ss_json_add(root, SS_T("source", ss_trace_source(trace)), SS_N("iterations", (double)ss_trace_iterations(trace)),
              SS_N("ranks", ss_trace_ranks(trace)), SS_N("gpus_per_node", per_node > 0 ? per_node : NAN),
              SS_N("pad_id", pad >= 0 ? pad : NAN), SS_N("tokens", tokens > 0 ? tokens : NAN),
              SS_J("training", capture_json(captured)));
  cJSON *tensors = cJSON_AddArrayToObject(root, "tensors"), *dense = cJSON_AddArrayToObject(root, "dense");
  for (size_t i = 0; i < ss_trace_tensors(trace); i++) {
    const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
    const double lookups = (double)ss_trace_total(trace, i),
                 bags = ss_trace_has_bags(trace, i) ? (double)ss_trace_all_bags(trace, i) : NAN;
    enum ss_dtype values;
    cJSON *item = add_tensor(tensors, tensor);
    ss_json_add(item, SS_N("bytes", (double)(tensor->rows * tensor->row_width * ss_dtype_bytes(tensor->dtype))),
                SS_N("lookups", lookups),
                SS_T("values", ss_trace_values(trace, i, 0, 0, &values) ? ss_dtype_name(values) : NULL),
                SS_N("bags", bags), SS_N("pooling", bags > 0 ? lookups / bags : NAN));
  }
  for (size_t i = 0; i < ss_trace_dense_count(trace); i++) {
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(dense, item);
    ss_json_add(item, SS_T("name", ss_trace_dense(trace, i)->name),
                SS_N("bytes", (double)ss_trace_dense(trace, i)->bytes));
  }
  return root;
}

/* --- what was measured on it ---------------------------------------------------------------------------- */

static void add_measured(cJSON *list, const struct ss_tensor_stats *stats, uint32_t ranks) {
  cJSON *item = add_tensor(list, &stats->tensor);
  ss_json_add(item, SS_N("density", stats->density), SS_N("overlap", stats->overlap),
              SS_J("gamma", cJSON_CreateDoubleArray(stats->gamma, (int)ranks)));
  cJSON *skewness = cJSON_AddObjectToObject(item, "skewness");
  for (size_t i = 0; i < stats->parts; i++) {
    char key[16];
    (void)snprintf(key, sizeof key, "%" PRIu32, stats->part[i]);
    cJSON_AddNumberToObject(skewness, key, stats->skewness[i]);
  }
  ss_json_add(item, SS_N("lookups", stats->lookups), SS_N("coalesced", stats->coalesced), SS_N("prior", stats->prior),
              SS_N("bags", stats->bags), SS_N("pooling", stats->pooling), SS_N("lookups_bytes", stats->lookups_bytes),
              SS_N("coalesced_bytes", stats->coalesced_bytes), SS_N("prior_bytes", stats->prior_bytes));
}

cJSON *ss_trace_stats_json(const struct ss_trace *trace, const struct ss_stats *stats) {
  cJSON *root = begin(trace);
  ss_json_add(root, SS_N("first_iteration", (double)stats->first),
              SS_N("iterations", (double)(stats->end - stats->first)), SS_N("ranks", stats->ranks));
  cJSON *tensors = cJSON_AddArrayToObject(root, "tensors");
  for (size_t i = 0; i < stats->tensors; i++) add_measured(tensors, &stats->tensor[i], stats->ranks);
  return root;
}
/* SPDX-License-Identifier: Apache-2.0 */
