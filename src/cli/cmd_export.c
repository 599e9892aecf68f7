/* Schedules for other simulators, one verb a format. */
#include "cli/command.h"
#include "library/request.h"

static bool export_goal(struct ss_call *call, struct ss_error *error) {
  if (!call->output)
    return ss_fail(error, SS_BAD_INPUT, "say where to write the schedule with -o FILE (- for standard output)");
  return ss_ask_export(&call->request, "goal", call->output, error);
}

static bool export_chakra(struct ss_call *call, struct ss_error *error) {
  if (!call->output)
    return ss_fail(error, SS_BAD_INPUT,
                   "say what the files' names begin with: -o PREFIX makes PREFIX.0.et, PREFIX.1.et, ...");
  if (strcmp(call->output, "-") == 0)
    return ss_fail(error, SS_BAD_INPUT, "-o -: there is one file a rank, and only one standard output");
  return ss_ask_export(&call->request, "chakra", call->output, error);
}

#define OPTIONS(value_, help_)                                                                                       \
  SS_OPTIONS_SCENARIO(SS_ITERATIONS_OF_TRACE "; they follow each other", ""), SS_OPTION_TENSOR, SS_OPTION_SCHEME,    \
      SS_OPTION_RANKS, {"-o", SS_TEXT(struct ss_call, output), .writes = true, .value = (value_), .help = (help_)},  \
      SS_OPTION_QUIET, SS_OPTION_MEMORY,                                                                             \
      {"--format", SS_REFUSED, .help = "export goal and export chakra are the formats"}, {                           \
    .name = NULL                                                                                                     \
  }

static const struct ss_option_spec goal_options[] = {
    OPTIONS("FILE", "the schedule (required; - for standard output); a file appears whole or not at all")};
static const struct ss_option_spec chakra_options[] = {
    OPTIONS("PREFIX", "what the names of the files begin with (required): PREFIX.0.et of rank 0, and so on")};

#define PLAYED                                                                                                       \
  "Plays one scheme at one place of the scenario, and writes what every rank, and then every server, does: its "     \
  "sends, its receives, its kernels (--device), and what each of them waits for. Nothing is proven: `run` does "     \
  "that. docs/export.md says what the reader is told and what not.\n\n"

const struct ss_command ss_command_export_goal = {
    .name = "goal",
    .summary = "a schedule for LogGOPSim and ATLAHS",
    .usage = "usage: sparsync export goal [SCENARIO] -o FILE [OPTION...]\n\n" PLAYED
             "FILE is GOAL text; txt2bin of LogGOPSim makes of it what the simulators read. Times are in ns.\n",
    .examples =
        "  sparsync export goal demo --scheme allgather --cluster p3.16xlarge-25g --iterations 0:1 -o ring.goal\n"
        "  sparsync export goal --trace traces/wordnet-64.safetensors --scheme alltoall --cluster h100-8x8-400g "
        "--ranks 64 --iterations 0:1 -o alltoall.goal\n",
    .options = goal_options,
    .size = sizeof(struct ss_call),
    .run = export_goal};

const struct ss_command ss_command_export_chakra = {
    .name = "chakra",
    .summary = "a schedule as Chakra execution traces, for ASTRA-sim",
    .usage = "usage: sparsync export chakra [SCENARIO] -o PREFIX [OPTION...]\n\n" PLAYED
             "PREFIX is what ASTRA-sim is given as its workload. Times are in us.\n",
    .examples = "  sparsync export chakra demo --scheme zen --cluster rtx3090-10gbe --iterations 0:1 -o zen\n",
    .options = chakra_options,
    .size = sizeof(struct ss_call),
    .run = export_chakra};
/* SPDX-License-Identifier: Apache-2.0 */
