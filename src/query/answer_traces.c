/* The trace of a question, and what was measured on it. */
#include "query/query_internal.h"
#include "study/trace_json.h"

#include <cjson/cJSON.h>
#include <limits.h>

bool ss_question_trace(struct ss_node object, const struct ss_asked *asked, struct ss_sources *sources,
                       const struct ss_trace **out, struct ss_error *error) {
  const struct ss_source *source;
  struct ss_node node;
  char buffer[PATH_MAX];
  const char *base = ss_asked_base(asked, buffer, sizeof buffer, error);
  sources->like = asked->traces;
  sources->drawn = asked->drawn;
  if (!base || !ss_node_need(object, "trace", &node, error) || !ss_sources_find(sources, node, base, &source, error))
    return false;
  *out = source->trace;
  return source->trace || ss_node_fail(node, error, "has no lookups: name a file, or say {\"synth\": ...}");
}

static bool read_window(struct ss_node node, struct ss_stats_window *window, struct ss_error *error) {
  struct ss_node ranks = ss_node_get(node, "ranks"), iterations = ss_node_get(node, "iterations");
  uint64_t count = 0;
  if (ss_node_present(ranks) && !ss_node_count(ranks, 1, SS_RANKS_MAX, &count, error)) return false;
  window->ranks = (uint32_t)count;
  return !ss_node_present(iterations) || ss_node_count(iterations, 1, UINT64_C(1) << 53, &window->end, error);
}

bool ss_answer_stats(struct ss_node object, struct ss_asked *asked, struct ss_error *error) {
  static const char *const keys[] = {"trace", "ranks", "iterations", NULL};
  struct ss_sources sources = {0};
  struct ss_stats_window window = {0};
  const struct ss_trace *trace;
  struct ss_stats *stats = NULL;
  const bool ok = ss_node_keys(object, keys, error) && read_window(object, &window, error) &&
                  ss_question_trace(object, asked, &sources, &trace, error) &&
                  ss_trace_stats(trace, window, &stats, error);
  if (ok) asked->tree = ss_trace_stats_json(trace, stats);
  ss_stats_free(stats);
  ss_sources_close(&sources);
  return ok && (asked->tree || ss_fail_memory(error, "measuring a trace"));
}
