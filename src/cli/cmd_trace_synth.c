#include "base/options.h"
#include "base/units.h"
#include "cli/cmd_trace.h"
#include "trace/make/synth.h"

#include <string.h>

static const char help[] =
    "usage: sparsync trace synth -o FILE [options]\n"
    "\n"
    "Makes a trace whose lookups follow Zipf's law, the same on every machine and for every number of threads.\n"
    "\n"
    "  --rows R             rows of the table (default 100000)\n"
    "  --ranks P            (default 16)\n"
    "  --iterations N       (default 10)\n"
    "  --tokens N           lookups of a rank in an iteration (default 4096)\n"
    "  --zipf S             exponent: the k-th most popular row is looked up in proportion to k^-S (default 1;\n"
    "                       0 is uniform)\n"
    "  --hot SHARE          share of the lookups that go to a hot set common to all ranks, say 20% (default 0)\n"
    "  --hot-rows N         size of the hot set: the N most popular rows, looked up evenly\n"
    "  --ids shuffled|popularity\n"
    "                       whether popular rows lie anywhere (default) or first: skewness rests on it\n"
    "  --seed N             (default 1)\n"
    "  --row-width W        elements a row (default 512)\n"
    "  --dtype F32|F16|BF16 of an element (default F32)\n"
    "  --tensor NAME        (default embedding)\n"
    "  -o FILE              the trace (required; - for standard output)\n"
    "\n"
    "examples:\n"
    "  sparsync trace synth --rows 1000000 --ranks 64 --zipf 1.1 -o z.safetensors\n"
    "  sparsync trace synth --zipf 0 --hot 30% --hot-rows 2000 --ids popularity -o hot.safetensors\n";

struct arguments {
  struct ss_synth synth;
  const char *out;
};

static const struct ss_option_spec specs[] = {
    {"rows", true},  {"ranks", true},    {"iterations", true}, {"tokens", true}, {"zipf", true},
    {"hot", true},   {"hot-rows", true}, {"ids", true},        {"seed", true},   {"row-width", true},
    {"dtype", true}, {"tensor", true},   {"o", true},          {"help", false},  {NULL, false}};

static bool parse_ids(const char *value, enum ss_ids *out, struct ss_error *error) {
  if (strcmp(value, "shuffled") == 0) *out = SS_IDS_SHUFFLED;
  else if (strcmp(value, "popularity") == 0) *out = SS_IDS_POPULARITY;
  else return ss_fail(error, SS_BAD_INPUT, "--ids: \"%s\" is not shuffled or popularity", value);
  return true;
}

static bool parse_real(const char *value, const char *what, double high, double *out, struct ss_error *error) {
  if (!ss_units_parse(value, SS_RATIO, out, error)) return ss_fail_prefix(error, "%s", what);
  if (*out >= 0 && *out <= high) return true;
  return ss_fail(error, SS_BAD_INPUT, "%s: %s is not from 0 to %g", what, value, high);
}

static bool seen(void *context, const char *name, const char *value, struct ss_error *error) {
  struct arguments *a = context;
  struct ss_synth *synth = &a->synth;
  const uint64_t most = UINT64_C(1) << 53;
  if (!name) return ss_fail(error, SS_BAD_INPUT, "trace synth reads no file: \"%s\" is left over", value);
  if (strcmp(name, "rows") == 0) return ss_count_parse(value, "--rows", 1, UINT32_MAX, &synth->rows, error);
  if (strcmp(name, "ranks") == 0) return trace_parse_u32(value, "--ranks", 1, SS_RANKS_MAX, &synth->ranks, error);
  if (strcmp(name, "iterations") == 0)
    return ss_count_parse(value, "--iterations", 1, most, &synth->iterations, error);
  if (strcmp(name, "tokens") == 0) return ss_count_parse(value, "--tokens", 1, most, &synth->tokens, error);
  if (strcmp(name, "zipf") == 0) return parse_real(value, "--zipf", 20, &synth->zipf, error);
  if (strcmp(name, "hot") == 0) return parse_real(value, "--hot", 1, &synth->hot, error);
  if (strcmp(name, "hot-rows") == 0)
    return ss_count_parse(value, "--hot-rows", 1, UINT32_MAX, &synth->hot_rows, error);
  if (strcmp(name, "ids") == 0) return parse_ids(value, &synth->ids, error);
  if (strcmp(name, "seed") == 0) return ss_count_parse(value, "--seed", 0, most, &synth->seed, error);
  if (strcmp(name, "row-width") == 0)
    return trace_parse_u32(value, "--row-width", 1, UINT32_MAX, &synth->row_width, error);
  if (strcmp(name, "dtype") == 0) return trace_parse_dtype(value, &synth->dtype, error);
  if (strcmp(name, "tensor") == 0) synth->tensor = value;
  if (strcmp(name, "o") == 0) a->out = value;
  return true;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  struct arguments a = {0};
  struct ss_trace *trace;
  ss_synth_defaults(&a.synth);
  if (!ss_options_parse(argc, argv, specs, seen, &a, error)) return false;
  if (!a.out) return ss_fail(error, SS_BAD_INPUT, "trace synth: say where to write the trace with -o FILE");
  if ((a.synth.hot > 0) != (a.synth.hot_rows > 0))
    return ss_fail(error, SS_BAD_INPUT, "trace synth: --hot and --hot-rows go together");
  if (!ss_trace_synth(&a.synth, &trace, error)) return false;
  const bool good = ss_trace_save(a.out, trace, error);
  ss_trace_close(trace);
  return good;
}

const struct ss_command trace_synth = {
    .name = "synth", .summary = "make a trace with Zipf-distributed lookups", .help = help, .run = run};
