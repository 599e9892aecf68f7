#include "cli/cmd_trace.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/units.h"
#include "cli/progress.h"
#include "cli/verbs.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
    "usage: sparsync trace import|synth|fit|merge|stats|info ...\n"
    "\n"
    "Sparsity traces: which rows of each embedding table every rank looked up, iteration by iteration.\n"
    "\n"
    "  import   make a trace from text: one row a word\n"
    "  synth    make a trace with Zipf-distributed lookups\n"
    "  fit      gamma, density and bytes beyond the captured ranks, with an error bar\n"
    "  merge    join traces that each hold some of the ranks\n"
    "  stats    density, overlap, densification and skewness\n"
    "  info     what a trace file holds\n"
    "\n"
    "`sparsync trace import --help` and so on tell more; docs/traces.md describes the file format.\n"
    "\n"
    "examples:\n"
    "  sparsync trace info traces/bible-kjv-16.safetensors\n"
    "  sparsync trace stats traces/bible-kjv-16.safetensors --format json\n"
    "  sparsync trace import book.txt --layout stream --ranks 8 -o book.safetensors\n";

bool trace_parse_format(const char *value, enum trace_format *out, struct ss_error *error) {
  static const char *const names[] = {[TRACE_TABLE] = "table", [TRACE_JSON] = "json", [TRACE_CSV] = "csv"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(value, names[i]) == 0) {
      *out = (enum trace_format)i;
      return true;
    }
  return ss_fail(error, SS_BAD_INPUT, "--format: \"%s\" is not table, json or csv", value);
}

bool trace_parse_dtype(const char *value, enum ss_dtype *out, struct ss_error *error) {
  for (int dtype = SS_F32; dtype <= SS_BF16; dtype++)
    if (strcmp(value, ss_dtype_name((enum ss_dtype)dtype)) == 0) {
      *out = (enum ss_dtype)dtype;
      return true;
    }
  return ss_fail(error, SS_BAD_INPUT, "--dtype: \"%s\" is not F32, F16 or BF16", value);
}

bool trace_parse_u32(const char *value, const char *what, uint32_t low, uint32_t high, uint32_t *out,
                     struct ss_error *error) {
  uint64_t count;
  if (!ss_count_parse(value, what, low, high, &count, error)) return false;
  *out = (uint32_t)count;
  return true;
}

bool trace_parse_span(const char *value, uint64_t *first, uint64_t *end, struct ss_error *error) {
  const char *colon = strchr(value, ':');
  if (!colon) return ss_fail(error, SS_BAD_INPUT, "--iterations: \"%s\" is not a range A:B (say 0:50)", value);
  SS_AUTO_FREE char *before = strndup(value, (size_t)(colon - value));
  if (!before) return ss_fail_memory(error, "reading options");
  const uint64_t most = UINT64_C(1) << 53;
  if (*before && !ss_count_parse(before, "--iterations", 0, most, first, error)) return false;
  return !colon[1] || ss_count_parse(colon + 1, "--iterations", 1, most, end, error);
}

bool trace_one_operand(const char **operand, const char *value, struct ss_error *error) {
  if (*operand) return ss_fail(error, SS_BAD_INPUT, "one file is enough: \"%s\" is left over", value);
  *operand = value;
  return true;
}

bool trace_print_json(struct cJSON *json, FILE *stream, struct ss_error *error) {
  const bool ok = ss_json_print(json, stream, error);
  cJSON_Delete(json);
  return ok;
}

bool trace_print_table(struct ss_table *table, bool csv, FILE *stream, struct ss_error *error) {
  if (!table) return ss_fail_memory(error, "writing a table");
  const bool good = csv ? ss_table_csv(table, stream, error) : ss_table_print(table, stream, error);
  ss_table_free(table);
  return good;
}

bool trace_with(const char *verb, const char *file,
                bool (*act)(void *context, const struct ss_trace *trace, struct ss_error *error), void *context,
                struct ss_error *error) {
  struct ss_trace *trace;
  if (!file) return ss_fail(error, SS_BAD_INPUT, "trace %s: name a trace", verb);
  if (!ss_trace_open(file, &trace, error)) return false;
  const bool good = act(context, trace, error);
  ss_trace_close(trace);
  return good;
}

bool trace_print(const struct trace_printer *printer, const void *found, enum trace_format format, const char *out,
                 struct ss_error *error) {
  struct ss_output output;
  if (!ss_output_open(out, &output, error)) return false;
  const bool good = format == TRACE_JSON  ? printer->json(found, output.stream, error)
                    : format == TRACE_CSV ? printer->csv(found, output.stream, error)
                                          : printer->table(found, output.stream, error);
  if (good) return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
}

void trace_tick(void *progress) {
  ss_progress_step(progress);
}

static bool run(int argc, char **argv, struct ss_error *error) {
  static const struct ss_command *const verbs[] = {&trace_import, &trace_synth, &trace_fit, &trace_merge,
                                                   &trace_stats,  &trace_info,  NULL};
  return ss_verbs_run(&(struct ss_verbs){"trace", help, verbs}, argc, argv, error);
}

const struct ss_command ss_command_trace = {
    .name = "trace", .summary = "make, join and measure sparsity traces", .help = help, .run = run};
