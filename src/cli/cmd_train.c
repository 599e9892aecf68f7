#include "base/file.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "report/train.h"
#include "study/processes.h"
#include "study/training.h"
#include "study/training_shared.h"

#include <stdlib.h>

static const double factors[] = {0.5, 1, 2};

struct arguments {
  struct ss_call call;
  const char *workloads, *systems, *timeline, *gantt;
  bool sensitivity;
};

/* --- playing ---------------------------------------------------------------------------------------------- */

static bool simulate(struct ss_training *t, const struct ss_call *call, struct ss_error *error) {
  const struct ss_run_options *options = &call->options;
  struct ss_progress progress =
      ss_progress_begin("simulations", t->durations.count, options->quiet || !ss_processes_first(options->comm));
  const bool ok = options->comm ? ss_train_share(t, options, &progress, error)
                                : ss_durations_make(&t->durations, options->jobs, ss_progress_tick, &progress, error);
  ss_progress_end(&progress);
  return ok;
}

/* The fastest system at the point's workload and ranks. */
static const char *fastest(const struct ss_training *t, const struct ss_training_point *at) {
  const struct ss_training_point *best = at;
  for (size_t i = 0; i < t->points; i++) {
    const struct ss_training_point *p = &t->point[i];
    if (p->place == at->place && p->ranks == at->ranks && p->result.mean < best->result.mean) best = p;
  }
  return best->system->name;
}

static bool play_all(struct ss_training *t, const struct ss_call *call, struct ss_training_names *names,
                     struct ss_error *error) {
  const double compute = t->options.compute;
  static const size_t order[] = {0, 2, 1}; /* what stays is played last */
  if (!names->best) return ss_training_play(t, call->options.jobs, error);
  for (size_t k = 0; k < 3; k++) {
    names->factor[order[k]] = factors[order[k]];
    t->options.compute = compute * factors[order[k]];
    if (!ss_training_play(t, call->options.jobs, error)) return false;
    for (size_t i = 0; i < t->points; i++) names->best[i][order[k]] = fastest(t, &t->point[i]);
  }
  return true;
}

/* --- writing ---------------------------------------------------------------------------------------------- */

struct answer {
  const struct ss_training *training;
  const struct ss_training_names *names;
  enum ss_format format;
};

static bool print(const void *context, FILE *stream, struct ss_error *error) {
  static bool (*const printers[])(const struct ss_training *, const struct ss_training_names *, FILE *,
                                  struct ss_error *) = {
      [SS_TABLE] = ss_training_table, [SS_JSON] = ss_training_json, [SS_CSV] = ss_training_csv};
  const struct answer *a = context;
  return printers[a->format](a->training, a->names, stream, error);
}

static bool print_timeline(const void *context, FILE *stream, struct ss_error *error) {
  return ss_training_timeline(context, stream, error);
}

struct picture {
  const char *bytes;
  size_t size;
};

static bool print_picture(const void *context, FILE *stream, struct ss_error *error) {
  const struct picture *picture = context;
  (void)error;
  fwrite(picture->bytes, 1, picture->size, stream); /* ss_output_write finds what went wrong */
  return true;
}

static bool draw_gantt(const char *path, const struct ss_training *t, struct ss_error *error) {
  enum ss_picture picture;
  char *bytes;
  size_t size;
  if (!ss_picture_of(path, &picture, error)) return ss_fail_prefix(error, "--gantt");
  if (!ss_training_gantt(t, picture, &bytes, &size, error)) return false;
  const bool ok = ss_output_write(path, print_picture, &(struct picture){bytes, size}, error);
  free(bytes);
  return ok;
}

static bool write_all(const struct arguments *a, const struct answer *answer, struct ss_error *error) {
  const struct ss_training *t = answer->training;
  return (!a->timeline || ss_output_write(a->timeline, print_timeline, t, error)) &&
         (!a->gantt || draw_gantt(a->gantt, t, error)) && ss_output_write(a->call.output, print, answer, error);
}

static bool run_scenario(const struct arguments *a, struct ss_train_scenario *s, struct ss_error *error) {
  const struct ss_call *call = &a->call;
  const struct ss_train_request request = {call->request, a->workloads, a->systems};
  const struct ss_communicator *comm = call->options.comm;
  struct ss_training *t = &s->training;
  if (!ss_processes_agree(comm, ss_train_scenario_open(&request, s, error), error) || !simulate(t, call, error))
    return false;
  if (!ss_processes_first(comm)) return true;
  SS_AUTO_FREE const char *(*best)[3] = ss_alloc_zero(t->points, sizeof *best);
  struct ss_training_names names = {.scenario = s->name,
                                    .cluster = s->cluster,
                                    .device = s->device,
                                    .trace = s->trace,
                                    .scale = &s->scale,
                                    .best = a->sensitivity ? best : NULL,
                                    .per_iteration = call->options.per_iteration};
  if (!best) return ss_fail_memory(error, "comparing systems");
  return play_all(t, call, &names, error) && write_all(a, &(struct answer){t, &names, call->format}, error);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  struct ss_train_scenario scenario = {0};
  const bool ok = run_scenario((const struct arguments *)call, &scenario, error);
  ss_train_scenario_close(&scenario);
  return ok;
}

static const struct ss_option_spec options[] = {
    {"--workload", SS_TEXT(struct arguments, workloads), .value = "A,B",
     .help = "what is trained: files of models/workloads, or paths"},
    {"--system", SS_TEXT(struct arguments, systems), .value = "A,B",
     .help = "files of models/systems, or paths (all that are shipped)"},
    SS_OPTION_RANKS,
    SS_OPTIONS_SCENARIO("played, warm-up included: a number (two rounds of the trace)", ""),
    {"--timeline", SS_TEXT(struct arguments, timeline), .value = "FILE",
     .help = "the last round of the trace as Chrome trace events: open it in ui.perfetto.dev"},
    {"--gantt", SS_TEXT(struct arguments, gantt), .value = "FILE",
     .help = "the last iteration at the most ranks as a figure (.svg, .pdf or .png; needs gnuplot)"},
    {"--sensitivity", SS_FLAG(struct arguments, sensitivity),
     .help = "who is fastest when all compute times are half, or twice, as long"},
    SS_OPTION_PATIENCE,
    SS_OPTIONS_OUTPUT,
    SS_OPTION_PER_ITERATION,
    SS_OPTION_JOBS,
    {"--scheme", SS_REFUSED, .help = "systems say which schemes they use (--system, or a scenario's \"systems\")"},
    {.name = NULL}};

const struct ss_command ss_command_train = {
    .name = "train",
    .summary = "iteration time and stall of training systems",
    .usage =
        "usage: sparsync train [SCENARIO.json] [OPTION...]\n"
        "       mpirun -n N sparsync train ...        N processes share the simulations, rank 0 writes\n"
        "       sparsync train --learn [OPTION...]    the older spelling of sparsync learn\n"
        "\n"
        "Plays training iterations: backward passes, gradients on their way while computation goes on, forward "
        "passes "
        "that\n"
        "wait for them. Compares systems (which scheme for sparse and dense gradients, scheduled how) by iteration "
        "time,\n"
        "stall, and how much of the communication is hidden. Tasks last as long as their schemes take in "
        "simulation.\n",
    .examples =
        "examples:\n"
        "  sparsync train --workload embrace-lm-rtx3090 --cluster rtx3090-100g-ib --ranks 4,8,16\n"
        "  sparsync train --workload embrace-lm-rtx3090 --system horovod-allgather,embrace --cluster rtx3090-100g-ib "
        "\\\n"
        "    --ranks 16 --device quick --timeline lm.trace.json\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.call.options.patience = SS_PATIENCE},
    .company = SS_TOGETHER_UNDER_MPIRUN,
    .run = run};
