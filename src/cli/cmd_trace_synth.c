#include "cli/command.h"
#include "trace/make/synth.h"

struct arguments {
  struct ss_call call;
  struct ss_synth synth;
  const char *reuse; /* a file */
};

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  struct ss_synth synth = a->synth;
  struct ss_reuse reuse;
  SS_AUTO_TRACE struct ss_trace *trace = NULL;
  if (!call->output) return ss_fail(error, SS_BAD_INPUT, "say where to write the trace with -o FILE");
  if ((synth.hot > 0) != (synth.hot_rows > 0))
    return ss_fail(error, SS_BAD_INPUT, "--hot and --hot-rows go together");
  if (a->reuse && !ss_reuse_read(a->reuse, &reuse, error)) return false;
  if (a->reuse) synth.reuse = &reuse;
  return ss_trace_synth(&synth, &trace, error) && ss_trace_save(call->output, trace, error);
}

static bool refuse_operand(void *arguments, const char *value, struct ss_error *error) {
  (void)arguments;
  return ss_fail(error, SS_BAD_INPUT, "trace synth reads no file: \"%s\" is left over", value);
}

#define COUNT(member, low, high) SS_COUNT(struct arguments, synth.member, low, high), .value = "N"
static const struct ss_option_spec options[] = {
    {"", SS_OTHER(refuse_operand)},
    {"--rows", COUNT(rows, 1, UINT32_MAX), .help = "rows of the table (default 100000)"},
    {"--ranks", SS_COUNT32(struct arguments, synth.ranks, 1, SS_RANKS_MAX), .value = "P", .help = "(default 16)"},
    {"--iterations", COUNT(iterations, 1, 0x1p53), .help = "(default 10)"},
    {"--lookups", COUNT(lookups, 1, 0x1p53), .help = "of a rank in an iteration (default 4096)"},
    {"--tokens", COUNT(lookups, 1, 0x1p53)}, /* as --lookups was called before */
    {"--distinct", COUNT(distinct, 1, 256),
     .help = "each N lookups in a row are of different rows: the N experts of a token (default 1)"},
    {"--zipf", SS_QUANTITY(struct arguments, synth.zipf, SS_RATIO, 0, 20), .value = "S",
     .help = "exponent: the k-th most popular row is looked up in proportion to k^-S (default 1; 0 is uniform)"},
    {"--reuse", SS_TEXT(struct arguments, reuse), .value = "FILE",
     .help = "instead, a histogram of reuse: lines \"(1, 2]: 0.044\" tell which share of an iteration's lookups, all "
             "ranks', goes to rows looked up that often in it (as dlrm_datasets publishes it)"},
    {"--hot", SS_QUANTITY(struct arguments, synth.hot, SS_RATIO, 0, 1), .value = "SHARE",
     .help = "share of the lookups that go to a hot set common to all ranks, say 20% (default 0)"},
    {"--hot-rows", COUNT(hot_rows, 1, UINT32_MAX),
     .help = "size of the hot set: the N most popular rows, looked up evenly"},
    {"--ids", SS_CHOICE(struct arguments, synth.ids, ss_ids_names),
     .help = "whether popular rows lie anywhere (default) or first: skewness rests on it"},
    {"--seed", COUNT(seed, 0, 0x1p53), .help = "(default 1)"},
    {"--row-width", SS_COUNT32(struct arguments, synth.row_width, 1, UINT32_MAX), .value = "W",
     .help = "elements a row (default 512)"},
    {"--dtype", SS_CHOICE(struct arguments, synth.dtype, ss_dtypes), .help = "of an element (default F32)"},
    {"--tensor", SS_TEXT(struct arguments, synth.tensor), .value = "NAME", .help = "(default embedding)"},
    SS_OPTIONS_OUTPUT_TRACE,
    {.name = NULL}};

const struct ss_command ss_command_trace_synth = {
    .name = "synth",
    .summary = "make a trace of lookups by Zipf's law or a histogram of reuse",
    .usage = "usage: sparsync trace synth -o FILE [OPTION...]\n\n"
             "Makes a trace whose lookups follow Zipf's law or a histogram of reuse, the same on every machine and "
             "for every number of threads.\n",
    .examples = "  sparsync trace synth --rows 1000000 --ranks 64 --zipf 1.1 -o z.safetensors\n"
                "  sparsync trace synth --rows 64 --distinct 2 --zipf 0.6 --tensor experts -o moe.safetensors\n"
                "  sparsync trace synth --zipf 0 --hot 30% --hot-rows 2000 --ids popularity -o hot.safetensors\n"
                "  sparsync trace synth --reuse reuse.txt --rows 4000000 --lookups 65536 --row-width 128 -o "
                "meta.safetensors\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.synth = SS_SYNTH_DEFAULTS},
    .run = run};
