/* The trace of a request, and what was measured on it. */
#include "query/query_internal.h"
#include "study/sources.h"
#include "study/trace_json.h"

bool ss_request_trace(struct ss_node object, const struct ss_request *request, struct ss_sources *sources,
                      const struct ss_trace **out, struct ss_error *error) {
  const struct ss_source *source;
  struct ss_node node;
  sources->like = request->traces;
  sources->drawn = request->drawn;
  if (!ss_node_need(object, "trace", &node, error) || !ss_sources_find(sources, node, request->base, &source, error))
    return false;
  *out = source->trace;
  return source->trace || ss_node_fail(node, error, "has no lookups: name a file, or say {\"synth\": ...}");
}

static const struct ss_field_spec fields[] = {
    {"trace", NULL, SS_IS_EITHER(ss_lookups_forms), .required = true},
    {"ranks", "the first so many (all)", SS_IS_COUNT(1, SS_RANKS_MAX), SS_STORED(struct ss_stats_window, ranks)},
    {"iterations", NULL, SS_IS_EITHER(ss_iterations_forms)},
    {"tensors", "(all)", SS_IS_EITHER(ss_texts_forms)},
    {.name = NULL}};
const struct ss_object_spec ss_stats_fields = {.name = "stats", .says = "statistics of a trace", .field = fields};

bool ss_answer_stats(struct ss_node object, struct ss_request *request, struct ss_error *error) {
  SS_AUTO(ss_sources_close) struct ss_sources sources = {0};
  struct ss_stats_window window = {.watcher = request->run.watcher};
  const struct ss_trace *trace;
  struct ss_stats *stats;
  if (!ss_object_check_keys(&ss_stats_fields, object, error) ||
      !ss_request_trace(object, request, &sources, &trace, error) ||
      !ss_object_read_known(&ss_stats_fields, object, &window, error))
    return false;
  SS_AUTO_FREE size_t *tensor = ss_alloc(ss_trace_tensors(trace), sizeof *tensor);
  window.tensor = tensor;
  window.end = ss_trace_iterations(trace);
  if (!tensor) return ss_fail_memory(error, "measuring a trace");
  if (!ss_iterations_read(ss_node_get(object, "iterations"), window.end, &window.first, &window.end, error) ||
      !ss_tensors_read(ss_node_get(object, "tensors"), trace, tensor, &window.tensors, error) ||
      !ss_trace_stats(trace, window, &stats, error))
    return false;
  request->answer = ss_trace_stats_json(trace, stats);
  ss_stats_free(stats);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
