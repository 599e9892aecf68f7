#include "study/trace_part.h"

#include "base/units.h"

#include <stdio.h>
#include <string.h>

bool ss_iterations_read(struct ss_node node, uint64_t most, uint64_t *first, uint64_t *end, struct ss_error *error) {
  const char *text;
  *first = 0;
  if (!ss_node_present(node)) return true;
  if (ss_node_is_number(node)) return ss_node_count(node, 1, most, end, error);
  if (!ss_node_text(node, &text, error)) return false;
  const char *colon = strchr(text, ':');
  char from[32] = "0";
  struct ss_error inner;
  if (colon && (size_t)(colon - text) < sizeof from && colon != text)
    snprintf(from, sizeof from, "%.*s", (int)(colon - text), text);
  const char *to = colon ? colon + 1 : text;
  if (!ss_count_parse(from, "iterations", 0, most - 1, first, &inner) ||
      ((!colon || *to) && !ss_count_parse(to, "iterations", *first + 1, most, end, &inner)) || *first >= *end)
    return ss_node_fail(node, error, "\"%s\" is not a range of iterations (say \"0:50\"; the trace has %llu)", text,
                        (unsigned long long)most);
  return true;
}

static bool take(struct ss_node name, const struct ss_trace *trace, size_t *tensor, size_t *count,
                 struct ss_error *error) {
  const char *text;
  size_t at;
  if (!ss_node_text(name, &text, error)) return false;
  if (!ss_trace_find(trace, text, &at, error)) return ss_fail_prefix(error, "%s", ss_doc_name(name.doc));
  for (size_t i = 0; i < *count; i++)
    if (tensor[i] == at) return ss_node_fail(name, error, "tensor \"%s\" is named twice", text);
  tensor[(*count)++] = at;
  return true;
}

bool ss_tensors_read(struct ss_node node, const struct ss_trace *trace, size_t *tensor, size_t *count,
                     struct ss_error *error) {
  *count = 0;
  if (ss_node_is_text(node)) return take(node, trace, tensor, count, error);
  if (ss_node_present(node) && (!ss_node_is_array(node) || ss_node_size(node) == 0))
    return ss_node_fail(node, error, "expected a tensor's name, or a list of names");
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n))
    if (!take(n, trace, tensor, count, error)) return false;
  for (size_t i = 0; !ss_node_present(node) && i < ss_trace_tensors(trace); i++) tensor[(*count)++] = i;
  return true;
}
