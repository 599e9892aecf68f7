#include "cli/command.h"
#include "trace/make/like.h"

struct arguments {
  struct ss_call call;
  struct ss_synth synth;
  const char *reuse; /* a file */
  const char *like;  /* statistics */
};

/* What was asked, and what the law leads one to expect: on standard output, unless the trace goes there. */
static void tell(const struct ss_call *call, const struct ss_like *like) {
  FILE *stream = strcmp(call->output, "-") == 0 ? stderr : stdout;
  char name[40];
  (void)fprintf(stream, "%-16s %10s %10s %8s\n", "statistic", "asked", "reached", "off");
  for (size_t i = 0; i < like->count; i++) {
    const double asked = like->statistic[i].asked, reached = like->statistic[i].reached;
    (void)fprintf(stream, "%-16s %10.4g %10.4g %+7.2f%%\n", ss_like_name(like, i, name, sizeof name), asked, reached,
                  100 * (reached / asked - 1));
  }
}

/* Solves for what the options leave open; `synth->lookups` 0: nobody said them. */
static bool solve(const struct arguments *a, struct ss_like *like, struct ss_synth *synth, struct ss_error *error) {
  const bool hold = synth->lookups > 0;
  if (a->reuse || synth->zipf != 1 || synth->hot > 0 || synth->hot_zipf > 0 || synth->shared > 0 ||
      synth->scatter > 0 || synth->distinct > 1)
    return ss_fail(error, SS_BAD_INPUT,
                   "--like solves for the law: leave --zipf, --hot, --hot-zipf, --shared, --scatter, --distinct and "
                   "--reuse out");
  if (!hold) synth->lookups = SS_SYNTH_LOOKUPS;
  if (!ss_like_parse(a->like, like, error) || !ss_like_fit(like, hold, synth, error))
    return ss_fail_prefix(error, "--like");
  return true;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  struct ss_synth synth = a->synth;
  struct ss_reuse reuse;
  struct ss_like like;
  SS_AUTO_TRACE struct ss_trace *trace = NULL;
  if (!call->output) return ss_fail(error, SS_BAD_INPUT, "say where to write the trace with -o FILE");
  if (a->reuse && !ss_reuse_read(a->reuse, &reuse, error)) return false;
  if (a->reuse) synth.reuse = &reuse;
  if (a->like && !solve(a, &like, &synth, error)) return false;
  if (!synth.lookups) synth.lookups = SS_SYNTH_LOOKUPS;
  if (!ss_trace_synth(&synth, &trace, error) || !ss_trace_save(call->output, trace, error)) return false;
  if (a->like && !call->quiet) tell(call, &like);
  return true;
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
    {"--tokens", COUNT(lookups, 1, 0x1p53), .against = "--lookups"}, /* as --lookups was called before */
    {"--distinct", COUNT(distinct, 1, 256),
     .help = "each N lookups in a row are of different rows: the N experts of a token (default 1)"},
    {"--zipf", SS_QUANTITY(struct arguments, synth.zipf, SS_RATIO, 0, 20), .value = "S",
     .help = "exponent: the k-th most popular row is looked up in proportion to k^-S (default 1; 0 is uniform)"},
    {"--reuse", SS_TEXT(struct arguments, reuse), .value = "FILE",
     .help = "instead, a histogram of reuse: lines \"(1, 2]: 0.044\" tell which share of an iteration's lookups, all "
             "ranks', goes to rows looked up that often in it (as dlrm_datasets publishes it)"},
    {"--hot", SS_QUANTITY(struct arguments, synth.hot, SS_RATIO, 0, 1), .with = "--hot-rows", .value = "SHARE",
     .help = "share of the lookups that go to a hot set common to all ranks, say 20% (default 0)"},
    {"--hot-rows", COUNT(hot_rows, 1, UINT32_MAX), .with = "--hot",
     .help = "size of the hot set: the N most popular rows"},
    {"--hot-zipf", SS_QUANTITY(struct arguments, synth.hot_zipf, SS_RATIO, 0, 20), .with = "--hot", .value = "S",
     .help = "exponent of the hot set's own law (default 0: its rows are looked up evenly)"},
    {"--shared", SS_QUANTITY(struct arguments, synth.shared, SS_RATIO, 0, 1), .value = "SHARE",
     .help = "share of the lookups that are the same on all ranks of an iteration (default 0)"},
    {"--ids", SS_CHOICE(struct arguments, synth.ids, ss_ids_names),
     .help = "whether popular rows lie anywhere (default) or first: skewness rests on it"},
    {"--scatter", SS_QUANTITY(struct arguments, synth.scatter, SS_RATIO, 0, 1), .value = "SHARE",
     .help = "with --ids popularity, share of the rows that lie anywhere all the same (default 0)"},
    {"--like", SS_TEXT(struct arguments, like), .value = "LIST",
     .help = "instead of all these, statistics to have, say density=1.13%,gamma@16=5.2: density, gamma@K, "
             "skewness@P, coalescing, repeat@K; prints how near the law comes"},
    {"--seed", COUNT(seed, 0, 0x1p53), .help = "(default 1)"},
    {"--row-width", SS_COUNT32(struct arguments, synth.row_width, 1, UINT32_MAX), .value = "W",
     .help = "elements a row (default 512)"},
    {"--dtype", SS_CHOICE(struct arguments, synth.dtype, ss_dtypes), .help = "of an element (default F32)"},
    {"--tensor", SS_TEXT(struct arguments, synth.tensor), .value = "NAME", .help = "(default embedding)"},
    SS_OPTIONS_OUTPUT_TRACE,
    {.name = NULL}};

const struct ss_command ss_command_trace_synth = {
    .name = "synth",
    .summary = "make a trace of lookups by Zipf's law, a histogram of reuse or statistics",
    .usage = "usage: sparsync trace synth -o FILE [OPTION...]\n\n"
             "Makes a trace whose lookups follow Zipf's law, a histogram of reuse or a law with given statistics, "
             "the same on every machine and for every number of threads.\n",
    .examples =
        "  sparsync trace synth --rows 1000000 --ranks 64 --zipf 1.1 -o z.safetensors\n"
        "  sparsync trace synth --rows 64 --distinct 2 --zipf 0.6 --tensor experts -o moe.safetensors\n"
        "  sparsync trace synth --zipf 0 --hot 30% --hot-rows 2000 --ids popularity -o hot.safetensors\n"
        "  sparsync trace synth --reuse reuse.txt --rows 4000000 --lookups 65536 --row-width 128 -o "
        "meta.safetensors\n"
        "  sparsync trace synth --rows 54688 --like density=2.47%,gamma@16=5.2,skewness@8=4.8 -o like.safetensors\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.synth = SS_SYNTH_DEFAULTS(0)},
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
