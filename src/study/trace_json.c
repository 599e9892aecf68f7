#include "study/trace_json.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>

const char *ss_trace_hash_text(const struct ss_trace *trace, char *buffer, size_t size) {
  (void)snprintf(buffer, size, "xxh64:%016" PRIx64, ss_trace_hash(trace));
  return buffer;
}

double ss_trace_all_tokens(const struct ss_trace *trace) {
  double sum = 0;
  for (uint64_t t = 0; t < ss_trace_iterations(trace); t++)
    for (uint32_t r = 0; r < ss_trace_ranks(trace); r++) sum += (double)ss_trace_tokens(trace, t, r);
  return sum;
}

uint64_t ss_tensor_dense_bytes(const struct ss_tensor *tensor) {
  return tensor->rows * tensor->row_width * ss_dtype_bytes(tensor->dtype);
}

/* "F32", or NULL when the tensor has no values. */
const char *ss_trace_values_dtype(const struct ss_trace *trace, size_t tensor) {
  enum ss_dtype dtype;
  return ss_trace_values(trace, tensor, 0, 0, &dtype) ? ss_dtype_name(dtype) : NULL;
}

static cJSON *whole(cJSON *root, bool good) {
  if (good) return root;
  cJSON_Delete(root);
  return NULL;
}

/* --- what a trace holds --------------------------------------------------------------------------------- */

static bool add_optional(cJSON *object, const char *key, bool known, double value) {
  return known ? cJSON_AddNumberToObject(object, key, value) != NULL : cJSON_AddNullToObject(object, key) != NULL;
}

static bool add_tensor(cJSON *list, const struct ss_trace *trace, size_t i) {
  const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
  const char *values = ss_trace_values_dtype(trace, i);
  cJSON *item = cJSON_CreateObject();
  if (!cJSON_AddItemToArray(list, item)) return false;
  return cJSON_AddStringToObject(item, "name", tensor->name) &&
         cJSON_AddNumberToObject(item, "rows", (double)tensor->rows) &&
         cJSON_AddNumberToObject(item, "row_width", tensor->row_width) &&
         cJSON_AddStringToObject(item, "dtype", ss_dtype_name(tensor->dtype)) &&
         cJSON_AddNumberToObject(item, "bytes", (double)ss_tensor_dense_bytes(tensor)) &&
         cJSON_AddNumberToObject(item, "lookups", (double)ss_trace_total(trace, i)) &&
         (values ? cJSON_AddStringToObject(item, "values", values) : cJSON_AddNullToObject(item, "values"));
}

static bool add_dense(cJSON *list, const struct ss_dense *dense) {
  cJSON *item = cJSON_CreateObject();
  return cJSON_AddItemToArray(list, item) && cJSON_AddStringToObject(item, "name", dense->name) &&
         cJSON_AddNumberToObject(item, "bytes", (double)dense->bytes);
}

static bool fill_info(cJSON *root, const struct ss_trace *trace) {
  char hash[32];
  const uint32_t per_node = ss_trace_gpus_per_node(trace);
  const double tokens = ss_trace_all_tokens(trace);
  bool good = cJSON_AddStringToObject(root, "sparsync", SS_VERSION) &&
              cJSON_AddStringToObject(root, "trace", ss_trace_name(trace)) &&
              cJSON_AddStringToObject(root, "trace_hash", ss_trace_hash_text(trace, hash, sizeof hash)) &&
              cJSON_AddStringToObject(root, "source", ss_trace_source(trace)) &&
              cJSON_AddNumberToObject(root, "iterations", (double)ss_trace_iterations(trace)) &&
              cJSON_AddNumberToObject(root, "ranks", ss_trace_ranks(trace)) &&
              add_optional(root, "gpus_per_node", per_node > 0, per_node) &&
              add_optional(root, "pad_id", ss_trace_pad_id(trace) >= 0, (double)ss_trace_pad_id(trace)) &&
              add_optional(root, "tokens", tokens > 0, tokens);
  cJSON *tensors = good ? cJSON_AddArrayToObject(root, "tensors") : NULL;
  cJSON *dense = tensors ? cJSON_AddArrayToObject(root, "dense") : NULL;
  good = dense != NULL;
  for (size_t i = 0; good && i < ss_trace_tensors(trace); i++) good = add_tensor(tensors, trace, i);
  for (size_t i = 0; good && i < ss_trace_dense_count(trace); i++) good = add_dense(dense, ss_trace_dense(trace, i));
  return good;
}

cJSON *ss_trace_info_json(const struct ss_trace *trace) {
  cJSON *root = cJSON_CreateObject();
  return whole(root, fill_info(root, trace));
}

/* --- what was measured on it ---------------------------------------------------------------------------- */

static bool add_skewness(cJSON *item, const struct ss_tensor_stats *stats) {
  cJSON *object = cJSON_AddObjectToObject(item, "skewness");
  bool good = object != NULL;
  for (size_t i = 0; good && i < stats->parts; i++) {
    char key[16];
    (void)snprintf(key, sizeof key, "%" PRIu32, stats->part[i]);
    good = cJSON_AddNumberToObject(object, key, stats->skewness[i]);
  }
  return good;
}

static bool add_gamma(cJSON *to, const struct ss_tensor_stats *stats, uint32_t ranks) {
  if (ranks > INT32_MAX) return false;
  cJSON *list = cJSON_CreateDoubleArray(stats->gamma, (int)ranks);
  if (list && cJSON_AddItemToObject(to, "gamma", list)) return true;
  cJSON_Delete(list);
  return false;
}

static bool add_measured(cJSON *list, const struct ss_tensor_stats *stats, uint32_t ranks) {
  cJSON *item = cJSON_CreateObject();
  if (!cJSON_AddItemToArray(list, item)) return false;
  return cJSON_AddStringToObject(item, "name", stats->tensor.name) &&
         cJSON_AddNumberToObject(item, "rows", (double)stats->tensor.rows) &&
         cJSON_AddNumberToObject(item, "row_width", stats->tensor.row_width) &&
         cJSON_AddStringToObject(item, "dtype", ss_dtype_name(stats->tensor.dtype)) &&
         cJSON_AddNumberToObject(item, "density", stats->density) &&
         cJSON_AddNumberToObject(item, "overlap", stats->overlap) && add_gamma(item, stats, ranks) &&
         add_skewness(item, stats) && cJSON_AddNumberToObject(item, "lookups", stats->lookups) &&
         cJSON_AddNumberToObject(item, "coalesced", stats->coalesced) &&
         cJSON_AddNumberToObject(item, "prior", stats->prior) &&
         cJSON_AddNumberToObject(item, "lookups_bytes", stats->lookups_bytes) &&
         cJSON_AddNumberToObject(item, "coalesced_bytes", stats->coalesced_bytes) &&
         cJSON_AddNumberToObject(item, "prior_bytes", stats->prior_bytes);
}

static bool fill_stats(cJSON *root, const struct ss_trace *trace, const struct ss_stats *stats) {
  char hash[32];
  bool good = cJSON_AddStringToObject(root, "sparsync", SS_VERSION) &&
              cJSON_AddStringToObject(root, "trace", ss_trace_name(trace)) &&
              cJSON_AddStringToObject(root, "trace_hash", ss_trace_hash_text(trace, hash, sizeof hash)) &&
              cJSON_AddNumberToObject(root, "first_iteration", (double)stats->first) &&
              cJSON_AddNumberToObject(root, "iterations", (double)(stats->end - stats->first)) &&
              cJSON_AddNumberToObject(root, "ranks", stats->ranks);
  cJSON *tensors = good ? cJSON_AddArrayToObject(root, "tensors") : NULL;
  good = tensors != NULL;
  for (size_t i = 0; good && i < stats->tensors; i++) good = add_measured(tensors, &stats->tensor[i], stats->ranks);
  return good;
}

cJSON *ss_trace_stats_json(const struct ss_trace *trace, const struct ss_stats *stats) {
  cJSON *root = cJSON_CreateObject();
  return whole(root, fill_stats(root, trace, stats));
}
