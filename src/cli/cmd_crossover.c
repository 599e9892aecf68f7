/* Where two schemes cost the same, over one quantity. */
#include "cli/command.h"
#include "cost/duel.h"
#include "report/tables.h"

static const char *const overs[] = {"density", "ranks", "bandwidth", "latency", "M", NULL};

static const struct ss_option_spec options[] = {
    SS_OPTION_OPERANDS,
    {"--over", SS_FIELD, .choices = overs, .help = "what varies"},
    SS_ASKS("--range", "LOW..HIGH",
            "within (density 0.01%..100%, ranks 2..256, bandwidth 1Gbps..1Tbps, latency 100ns..1ms, M 1MB..10GB). "
            "Over ranks, a crossover is the first count from which the other is cheaper"),
    SS_ASKS("--probes", "N",
            "values of the grid that is searched for changes (257; simulated 17): two changes between neighbours are "
            "not seen"),
    {"--form", SS_FIELD, .choices = ss_form_names,
     .help = "what the schedule gives (default), what the paper prints, a bound of schemes that have only bounds; or "
             "what the schedule gives on the cluster's nodes and cards, where that is known exactly"},
    {"--simulate", SS_FIELD,
     .help = "play the schedules on uniform tensors instead; sizes that do not divide are rounded to the nearest "
             "that do, and told. Takes the cluster's nodes and NICs into account; bandwidth and latency are those "
             "between nodes"},
    {"--certain", SS_FIELD, .json = "true", .help = "take the links as they are: no crossing has a range"},
    SS_OPTION_JOBS,
    SS_OPTIONS_OUTPUT,
    {"", SS_HEADING, .help = "as in `sparsync cost`, for what does not vary (--M and --density are required):"},
    SS_FORMS_OPTIONS("rank count (16)"),
    {"", SS_HEADING, .help = "the same, for closed forms only:"},
    SS_FORMS_ONLY_OPTIONS,
    {"--scheme", SS_REFUSED, .help = "name the two schemes as they are: sparsync crossover allgather zen"},
    {"--trace", SS_REFUSED, .help = "tensors are uniform (sparsync run compares schemes on a trace)"},
    {.name = NULL}};

static bool run(struct ss_call *call, struct ss_error *error) {
  if (call->operands != 2) return ss_fail(error, SS_BAD_INPUT, "name two schemes, A and B (--help tells more)");
  return ss_call_edit(call, "a", cJSON_CreateString(call->operand[0]), error) &&
         ss_call_edit(call, "b", cJSON_CreateString(call->operand[1]), error) &&
         ss_call_answer(call, "crossover", ss_crossover_table, ss_answer_print_csv, error);
}

const struct ss_command ss_command_crossover = {
    .name = "crossover",
    .summary = "where two schemes cost the same, over one quantity",
    .usage = "usage: sparsync crossover A B --over density|ranks|bandwidth|latency|M [OPTION...]\n\n"
             "Where schemes A and B cost the same: every value in the range at which the cheaper changes, or that "
             "one always wins and by how much. A and B are schemes (zen), closed forms as `cost` names them "
             "(zen-coo), either with options (zen:format=coo,balance=even), or JSON objects as in a scenario. Costs "
             "are those of closed forms; rank counts for which a form does not hold are left out, with a note.\n",
    .examples =
        "  sparsync crossover allreduce sparcml-rd --over ranks --M 856MB --density 2.8% --row-width 64\n"
        "  sparsync crossover zen:format=coo allreduce --over density --M 32MB --ranks 16 --simulate\n"
        "  sparsync crossover alltoall allgather --over bandwidth --M 252.5MiB --density 10.3% --row-width 1024\n",
    .options = options,
    .size = sizeof(struct ss_call),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
