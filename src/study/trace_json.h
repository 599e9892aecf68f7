/* What a trace holds and what was measured on it, as the trees that `trace info` and `trace stats` print. */
#ifndef SS_STUDY_TRACE_JSON_H
#define SS_STUDY_TRACE_JSON_H

#include "trace/measure/stats.h"

struct cJSON;

/* The trees are the caller's, NULL when memory is short. */
struct cJSON *ss_trace_info_json(const struct ss_trace *trace);
struct cJSON *ss_trace_stats_json(const struct ss_trace *trace, const struct ss_stats *stats);

/* "xxh64:0123456789abcdef" */
const char *ss_trace_hash_text(const struct ss_trace *trace, char *buffer, size_t size);
/* Over all iterations and ranks. */
double ss_trace_all_tokens(const struct ss_trace *trace);
/* B of the tensor when no row is left out. */
uint64_t ss_tensor_dense_bytes(const struct ss_tensor *tensor);
/* "F32", or NULL when the tensor has no values. */
const char *ss_trace_values_dtype(const struct ss_trace *trace, size_t tensor);
/* Bags of the tensor, and the mean pooling factor: lookups a bag. NaN where there are none. */
double ss_tensor_bags(const struct ss_trace *trace, size_t tensor);
double ss_tensor_pooling(const struct ss_trace *trace, size_t tensor);
/* Some tensor has bags. */
bool ss_trace_bagged(const struct ss_trace *trace);

#endif
