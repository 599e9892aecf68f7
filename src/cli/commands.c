#include "cli/command.h"

static const struct ss_command trace = {
    .name = "trace",
    .summary = "make, join and measure sparsity traces",
    .usage = "usage: sparsync trace import|synth|fit|merge|stats|info ...\n\n"
             "Sparsity traces: which rows of each embedding table every rank looked up, iteration by iteration "
             "(docs/traces.md). `sparsync trace import --help` and so on tell more.\n",
    .examples = "  sparsync trace info traces/bible-kjv-16.safetensors\n"
                "  sparsync trace stats traces/bible-kjv-16.safetensors --format json\n"
                "  sparsync trace import book.txt --layout stream --ranks 8 -o book.safetensors\n",
    .commands = (const struct ss_command *const[]){&ss_command_trace_import, &ss_command_trace_synth,
                                                   &ss_command_trace_fit, &ss_command_trace_merge,
                                                   &ss_command_trace_stats, &ss_command_trace_info, NULL}};

static const struct ss_command calibrate = {
    .name = "calibrate",
    .summary = "make model files out of measurements",
    .usage = "usage: sparsync calibrate network|training|kernels ...\n\n"
             "Makes model files out of measurements: docs/calibration.md says what is fitted and how. `sparsync "
             "calibrate network --help` and so on tell more.\n",
    .examples = "  sparsync calibrate network all_reduce.log -o mine.json\n"
                "  sparsync calibrate kernels --device cpu -o here.json\n",
    .commands = (const struct ss_command *const[]){&ss_command_calibrate_network, &ss_command_calibrate_training,
                                                   &ss_command_calibrate_kernels, NULL}};

static const struct ss_command export = {
    .name = "export",
    .summary = "schedules for other simulators",
    .usage = "usage: sparsync export goal|chakra ...\n\n"
             "Writes what ranks send, receive and compute for other simulators (docs/export.md). `sparsync export "
             "goal --help` and so on tell more.\n",
    .examples =
        "  sparsync export goal demo --scheme allgather --cluster p3.16xlarge-25g --iterations 0:1 -o ring.goal\n"
        "  sparsync export chakra demo --scheme zen --cluster rtx3090-10gbe --iterations 0:1 -o zen\n",
    .commands = (const struct ss_command *const[]){&ss_command_export_goal, &ss_command_export_chakra, NULL}};

const struct ss_command *const ss_commands[] = {
    &ss_command_run,
    &ss_command_plan,
    &ss_command_train,
    &ss_command_learn,
    &ss_command_cost,
    &ss_command_crossover,
    &ss_command_collective,
    &ss_command_check,
    &trace,
    &ss_command_exec,
    &calibrate,
    &export,
    &ss_command_plot,
    &ss_command_report,
    &ss_command_claims,
    &ss_command_list,
    NULL,
};

const struct ss_command *ss_command_find(int argc, char **argv) {
  if (argc < 1) return NULL;
  /* `train --learn` is the older spelling of `learn`. */
  for (int i = 1; i < argc && strcmp(argv[0], "train") == 0; i++)
    if (strcmp(argv[i], "--learn") == 0) return &ss_command_learn;
  for (size_t i = 0; ss_commands[i]; i++)
    if (strcmp(ss_commands[i]->name, argv[0]) == 0) return ss_commands[i];
  return NULL;
}
/* SPDX-License-Identifier: Apache-2.0 */
