/* A trace, measured. */
#include "cli/command.h"
#include "report/tables.h"

static const struct ss_option_spec options[] = {
    {"", SS_FIELD, .field = "trace", .value = "file"},
    SS_ASKS("--iterations", "A:B", "only iterations A to B-1 (default all; N: the first N)"),
    SS_ASKS("--ranks", "N", "only the first N ranks (default all)"),
    SS_OPTION_TENSOR,
    SS_OPTIONS_OUTPUT,
    SS_OPTION_MEMORY,
    {.name = NULL}};

static bool run(struct ss_call *call, struct ss_error *error) {
  if (!cJSON_HasObjectItem(call->edits, "trace")) return ss_fail(error, SS_BAD_INPUT, "name a trace");
  return ss_call_answer(call, "stats", ss_stats_table, ss_stats_csv, error);
}

const struct ss_command ss_command_trace_stats = {
    .name = "stats",
    .summary = "density, overlap, densification and skewness",
    .usage =
        "usage: sparsync trace stats FILE [OPTION...]\n\n"
        "Measures a trace, each quantity a mean over iterations (in CSV, a line for each tensor and k):\n"
        "  density    unique rows of a rank / rows\n"
        "  overlap    of two ranks' row sets: rows in both / rows of the smaller; mean over pairs of ranks\n"
        "             (100 seeded pairs where there are more)\n"
        "  gamma(k)   densification: unique rows of ranks 0..k-1 together / mean unique rows of one rank\n"
        "  skewness   densest of p even row ranges / density, for p = ranks and powers of two; mean over ranks\n"
        "  lookups    rows of a rank as they were looked up; coalesced: unique ones; prior: those of them that any "
        "rank\n"
        "             looks up again in the next iteration (the last iteration has none)\n"
        "  bags       of a rank, where the trace says which lookups make one; lookups/bag: the mean pooling factor\n",
    .examples = "  sparsync trace stats traces/bible-kjv-16.safetensors\n"
                "  sparsync trace stats traces/wordnet-64.safetensors --ranks 8 --iterations 0:5 --format json\n",
    .options = options,
    .size = sizeof(struct ss_call),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
