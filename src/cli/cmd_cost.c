/* Closed forms only: no trace, no simulation. */
#include "cli/command.h"
#include "report/tables.h"

static const struct ss_option_spec options[] = {
    {"", SS_FIELDS("schemes")},
    SS_FORMS_OPTIONS("rank counts (.. doubles; 4..64)"),
    SS_FORMS_ONLY_OPTIONS,
    {"", SS_HEADING,
     .help = "the nodes, where they are not the cluster's (--bandwidth and --latency are those between nodes):"},
    SS_ASKS("--gpus-per-node", "N", "ranks that a node has"),
    SS_ASKS("--nics", "N", "cards that the ranks of a node share"),
    SS_ASKS("--intra-bandwidth", "RATE", "between two ranks of a node"),
    SS_ASKS("--intra-latency", "TIME", "between two ranks of a node"),
    {"--certain", SS_FIELD, .json = "true", .help = "take the links as they are: no form has a range"},
    SS_OPTIONS_OUTPUT,
    {"--trace", SS_REFUSED,
     .help = "closed forms need no trace (sparsync run simulates one, beside its closed forms)"},
    {"--scheme", SS_REFUSED, .help = "name schemes as they are: sparsync cost allgather zen"},
    {.name = NULL}};

static bool run(struct ss_call *call, struct ss_error *error) {
  return ss_call_answer(call, "cost", ss_cost_table, ss_answer_print_csv, error);
}

const struct ss_command ss_command_cost = {
    .name = "cost",
    .summary = "closed forms only: no trace, no simulation",
    .usage = "usage: sparsync cost [SCHEME...] --M SIZE --density SHARE [OPTION...]\n\n"
             "Evaluates the closed forms of models/costs: what the schedule gives on one flat class of links (or "
             "bounds of it), what becomes of that on the cluster's nodes and cards, and what the paper prints. "
             "Without SCHEME: of all but the points of ZEN's design space (say \"design\").\n",
    .examples = "  sparsync cost --M 856MB --density 2.8% --row-width 64 --ranks 4..64\n"
                "  sparsync cost allgather alltoall --M 252.5MiB --density 10.3% --row-width 1024 --ranks 16 "
                "--bandwidth 100Gbps\n"
                "  sparsync cost zen alltoall --M 856MB --density 2.8% --cluster rtx3090-100g-ib --nics 2 "
                "--intra-bandwidth 25GB/s\n",
    .options = options,
    .size = sizeof(struct ss_call),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
