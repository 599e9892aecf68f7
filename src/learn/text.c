#include "learn/text.h"

#include "base/memory.h"

#include <inttypes.h>

enum { UNKNOWN = 1 };

static bool check(const struct ss_trace *trace, const struct ss_text_options *options, struct ss_error *error) {
  const char *name = ss_trace_name(trace);
  if (ss_trace_tensors(trace) != 1 || ss_trace_pad_id(trace) != 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: is no text: what sparsync trace import makes has one table, whose row 0 is padding", name);
  if (options->ranks > ss_trace_ranks(trace))
    return ss_fail(error, SS_BAD_INPUT, "%s: has %" PRIu32 " ranks, not %" PRIu32, name, ss_trace_ranks(trace),
                   options->ranks);
  return true;
}

/* Of the first `ranks` ranks, iteration by iteration; offsets[iterations * ranks + 1]. */
static bool measure(const struct ss_trace *trace, uint32_t ranks, uint64_t batch, uint64_t *offsets,
                    struct ss_error *error) {
  uint64_t at = 0, segment = 0;
  offsets[0] = 0;
  for (uint64_t t = 0; t < ss_trace_iterations(trace); t++)
    for (uint32_t r = 0; r < ranks; r++) {
      const uint64_t count = ss_trace_count(trace, 0, t, r);
      if (count % batch != 0)
        return ss_fail(error, SS_BAD_INPUT,
                       "%s: iteration %" PRIu64 ", rank %" PRIu32 ": %" PRIu64 " words are not %" PRIu64
                       " sequences of one length (say --batch as trace import was told)",
                       ss_trace_name(trace), t, r, count, batch);
      at += count;
      offsets[++segment] = at;
    }
  return true;
}

static bool build(const struct ss_trace *trace, uint32_t ranks, uint64_t vocab, const uint64_t *offsets,
                  struct ss_trace **out, struct ss_error *error) {
  const uint64_t iterations = ss_trace_iterations(trace), total = offsets[iterations * ranks];
  struct ss_tensor tensor = *ss_trace_tensor(trace, 0);
  SS_AUTO_FREE uint32_t *rows = ss_alloc(total, sizeof *rows);
  if (!rows) return ss_fail_memory(error, "reading a trace");
  for (uint64_t t = 0; t < iterations; t++)
    for (uint32_t r = 0; r < ranks; r++) ss_trace_rows(trace, 0, t, r, rows + offsets[t * ranks + r]);
  if (vocab < tensor.rows) {
    tensor.rows = vocab;
    for (uint64_t i = 0; i < total; i++)
      if (rows[i] >= vocab) rows[i] = UNKNOWN;
  }
  const uint64_t *const all_offsets[] = {offsets};
  const uint32_t *const all_rows[] = {rows};
  const struct ss_trace_content content = {.source = ss_trace_source(trace),
                                           .iterations = iterations,
                                           .ranks = ranks,
                                           .tensors = 1,
                                           .tensor = &tensor,
                                           .offsets = all_offsets,
                                           .rows = all_rows,
                                           .pad_id = 0};
  return ss_trace_build(ss_trace_name(trace), &content, out, error);
}

bool ss_learn_trace(const char *path, const struct ss_text_options *options, struct ss_trace **out,
                    struct ss_error *error) {
  struct ss_trace *trace;
  if (!ss_trace_open(path, &trace, error)) return false;
  bool good = check(trace, options, error);
  const uint32_t ranks = options->ranks ? options->ranks : ss_trace_ranks(trace);
  SS_AUTO_FREE uint64_t *offsets = good ? ss_alloc(ss_trace_iterations(trace) * ranks + 1, sizeof *offsets) : NULL;
  if (good && !offsets) good = ss_fail_memory(error, "reading a trace");
  good = good && measure(trace, ranks, options->batch, offsets, error) &&
         build(trace, ranks, options->vocab, offsets, out, error);
  ss_trace_close(trace);
  return good;
}
