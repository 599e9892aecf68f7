#include "base/file.h"
#include "cli/command.h"
#include "report/tables.h"
#include "share/share.h"
#include "study/trainings.h"

struct arguments {
  struct ss_call call;
  const char *timeline, *gantt;
  bool sensitivity, wide;
};

static bool draw_gantt(const char *path, const struct ss_training *t, struct ss_error *error) {
  enum ss_picture kind;
  struct ss_picture_bytes picture;
  if (!ss_picture_of(path, &kind, error)) return ss_fail_prefix(error, "--gantt");
  return ss_training_gantt(t, kind, &picture, error) && ss_picture_write(&picture, path, error);
}

/* Results first: they are not lost when a picture cannot be drawn. */
static bool write_all(const struct arguments *a, const struct ss_train_study *s, struct ss_error *error) {
  return ss_call_write(&a->call, s, ss_training_table, ss_training_json, ss_training_csv, error) &&
         (!a->timeline || ss_output_write(a->timeline, ss_training_timeline, &s->training, error)) &&
         (!a->gantt || draw_gantt(a->gantt, &s->training, error));
}

/* What would be known only when all is computed. */
static bool check_folders(const struct arguments *a, struct ss_error *error) {
  enum ss_picture kind;
  if (a->call.request.run.per_iteration && a->call.format != SS_JSON)
    return ss_fail(error, SS_BAD_INPUT, "--per-iteration adds arrays, which only JSON has room for (--format json)");
  if (a->wide && (a->call.format == SS_JSON || a->call.format == SS_CSV))
    return ss_fail(error, SS_BAD_INPUT, "--wide is for tables: JSON and CSV have all columns");
  if (a->sensitivity && a->call.format == SS_CSV)
    return ss_fail(error, SS_BAD_INPUT, "--sensitivity is for tables and JSON: CSV has no place for it");
  return ss_output_has_folder(a->timeline, error) && ss_output_has_folder(a->gantt, error) &&
         (!a->gantt || ss_picture_of(a->gantt, &kind, error) || ss_fail_prefix(error, "--gantt"));
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  const struct ss_communicator *comm = call->request.run.comm;
  SS_AUTO(ss_train_study_close) struct ss_train_study s = {0};
  const bool opened = check_folders(a, error) && ss_train_study_open(&call->request, NULL, &s, error);
  s.training.helps = s.training.helps || (a->call.format != SS_JSON && a->call.format != SS_CSV);
  const bool ok = ss_communicator_agree(comm, opened, error) &&
                  ss_train_studies_run(&s, 1, &call->request.run, a->sensitivity, error);
  s.wide = a->wide;
  return ok && (!ss_processes_first(comm) || write_all(a, &s, error));
}

static const struct ss_option_spec options[] = {
    {"--workload", SS_FIELD, .field = "workloads", .value = "A,B",
     .help = "what is trained: files of models/workloads, or paths"},
    {"--system", SS_FIELD, .value = "A,B", .help = "files of models/systems, or paths (all that are shipped)"},
    SS_OPTION_RANKS,
    SS_OPTIONS_SCENARIO("played, warm-up included: a number (two rounds of the trace)", ""),
    SS_ASKS("--software", "FILE", "what `calibrate training` inferred of software, computing and goodput"),
    {"--timeline", SS_TEXT(struct arguments, timeline), .writes = true, .value = "FILE",
     .help = "the last round of the trace as Chrome trace events: open it in ui.perfetto.dev"},
    {"--gantt", SS_TEXT(struct arguments, gantt), .writes = true, .value = "FILE",
     .help = "the last iteration at the most ranks as a figure (.svg, .pdf or .png; needs gnuplot)"},
    {"--sensitivity", SS_FLAG(struct arguments, sensitivity),
     .help = "who is fastest when all compute times are half, or twice, as long"},
    {"--wide", SS_FLAG(struct arguments, wide),
     .help = "more columns: schedules, compute, what of it splits, communication, bytes sent"},
    SS_OPTION_CERTAIN,
    SS_OPTION_OFFERED("systems"),
    SS_OPTION_PATIENCE,
    SS_OPTIONS_OUTPUT,
    SS_OPTION_PER_ITERATION,
    SS_OPTION_JOBS,
    {"--tensor", SS_REFUSED,
     .help = "a workload says which tensors feed its modules (a scenario's \"feeds\" renames them)"},
    {"--scheme", SS_REFUSED, .help = "systems say which schemes they use (--system, or a scenario's \"systems\")"},
    {.name = NULL}};

const struct ss_command ss_command_train = {
    .name = "train",
    .summary = "iteration time and stall of training systems",
    .usage = "usage: sparsync train [SCENARIO.json] [OPTION...]\n"
             "       mpirun -n N sparsync train ...        N processes share the simulations, rank 0 writes\n"
             "       sparsync train --learn [OPTION...]    the older spelling of sparsync learn\n\n"
             "Plays training iterations: backward passes, gradients on their way while computation goes on, forward "
             "passes that wait for them. Compares systems (which scheme for sparse and dense gradients, scheduled "
             "how) by iteration time, stall, and how much of the communication is hidden. Tasks last as long as "
             "their schemes take in simulation.\n",
    .examples = "  sparsync train --workload embrace-lm-rtx3090 --cluster rtx3090-100g-ib --ranks 4,8,16\n"
                "  sparsync train --workload embrace-lm-rtx3090 --system horovod-allgather,embrace --cluster "
                "rtx3090-100g-ib \\\n"
                "    --ranks 16 --device quick --timeline lm.trace.json\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.call.request.run.patience = SS_PATIENCE},
    .company = SS_TOGETHER_UNDER_MPIRUN,
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
