#include "study/trace_json.h"

#include "base/json_text.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

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
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "sparsync", SS_VERSION);
  cJSON_AddStringToObject(root, "trace", ss_trace_name(trace));
  cJSON_AddStringToObject(root, "trace_hash", ss_trace_hash_text(trace, hash, sizeof hash));
  return root;
}

static cJSON *add_tensor(cJSON *list, const struct ss_tensor *tensor) {
  cJSON *item = cJSON_CreateObject();
  cJSON_AddItemToArray(list, item);
  cJSON_AddStringToObject(item, "name", tensor->name);
  cJSON_AddNumberToObject(item, "rows", (double)tensor->rows);
  cJSON_AddNumberToObject(item, "row_width", tensor->row_width);
  cJSON_AddStringToObject(item, "dtype", ss_dtype_name(tensor->dtype));
  return item;
}

cJSON *ss_trace_info_json(const struct ss_trace *trace) {
  const double per_node = ss_trace_gpus_per_node(trace), tokens = all_tokens(trace),
               pad = (double)ss_trace_pad_id(trace);
  cJSON *root = begin(trace);
  cJSON_AddStringToObject(root, "source", ss_trace_source(trace));
  cJSON_AddNumberToObject(root, "iterations", (double)ss_trace_iterations(trace));
  cJSON_AddNumberToObject(root, "ranks", ss_trace_ranks(trace));
  ss_json_add_number(root, "gpus_per_node", per_node > 0 ? per_node : NAN);
  ss_json_add_number(root, "pad_id", pad >= 0 ? pad : NAN);
  ss_json_add_number(root, "tokens", tokens > 0 ? tokens : NAN);
  cJSON *tensors = cJSON_AddArrayToObject(root, "tensors"), *dense = cJSON_AddArrayToObject(root, "dense");
  for (size_t i = 0; i < ss_trace_tensors(trace); i++) {
    const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
    const double lookups = (double)ss_trace_total(trace, i),
                 bags = ss_trace_has_bags(trace, i) ? (double)ss_trace_all_bags(trace, i) : NAN;
    enum ss_dtype values;
    cJSON *item = add_tensor(tensors, tensor);
    cJSON_AddNumberToObject(item, "bytes",
                            (double)(tensor->rows * tensor->row_width * ss_dtype_bytes(tensor->dtype)));
    cJSON_AddNumberToObject(item, "lookups", lookups);
    ss_json_add_text(item, "values", ss_trace_values(trace, i, 0, 0, &values) ? ss_dtype_name(values) : NULL);
    ss_json_add_number(item, "bags", bags);
    ss_json_add_number(item, "pooling", bags > 0 ? lookups / bags : NAN);
  }
  for (size_t i = 0; i < ss_trace_dense_count(trace); i++) {
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(dense, item);
    cJSON_AddStringToObject(item, "name", ss_trace_dense(trace, i)->name);
    cJSON_AddNumberToObject(item, "bytes", (double)ss_trace_dense(trace, i)->bytes);
  }
  return root;
}

/* --- what was measured on it ---------------------------------------------------------------------------- */

static void add_measured(cJSON *list, const struct ss_tensor_stats *stats, uint32_t ranks) {
  cJSON *item = add_tensor(list, &stats->tensor);
  cJSON_AddNumberToObject(item, "density", stats->density);
  cJSON_AddNumberToObject(item, "overlap", stats->overlap);
  cJSON_AddItemToObject(item, "gamma", cJSON_CreateDoubleArray(stats->gamma, (int)ranks));
  cJSON *skewness = cJSON_AddObjectToObject(item, "skewness");
  for (size_t i = 0; i < stats->parts; i++) {
    char key[16];
    (void)snprintf(key, sizeof key, "%" PRIu32, stats->part[i]);
    cJSON_AddNumberToObject(skewness, key, stats->skewness[i]);
  }
  cJSON_AddNumberToObject(item, "lookups", stats->lookups);
  cJSON_AddNumberToObject(item, "coalesced", stats->coalesced);
  cJSON_AddNumberToObject(item, "prior", stats->prior);
  ss_json_add_number(item, "bags", stats->bags);
  ss_json_add_number(item, "pooling", stats->pooling);
  cJSON_AddNumberToObject(item, "lookups_bytes", stats->lookups_bytes);
  cJSON_AddNumberToObject(item, "coalesced_bytes", stats->coalesced_bytes);
  cJSON_AddNumberToObject(item, "prior_bytes", stats->prior_bytes);
}

cJSON *ss_trace_stats_json(const struct ss_trace *trace, const struct ss_stats *stats) {
  cJSON *root = begin(trace);
  cJSON_AddNumberToObject(root, "first_iteration", (double)stats->first);
  cJSON_AddNumberToObject(root, "iterations", (double)(stats->end - stats->first));
  cJSON_AddNumberToObject(root, "ranks", stats->ranks);
  cJSON *tensors = cJSON_AddArrayToObject(root, "tensors");
  for (size_t i = 0; i < stats->tensors; i++) add_measured(tensors, &stats->tensor[i], stats->ranks);
  return root;
}
