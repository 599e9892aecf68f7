#include "base/file.h"
#include "cli/command.h"
#include "cli/learn.h"
#include "cli/request.h"
#include "exec/launch.h"
#include "report/train.h"
#include "study/processes.h"
#include "study/training.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sparsync train [SCENARIO.json] [OPTION...]\n"
    "       mpirun -n N sparsync train ...        N processes share the simulations, rank 0 writes\n"
    "       sparsync train --learn [OPTION...]    does training still learn? It has a help of its own\n"
    "\n"
    "Plays training iterations: backward passes, gradients on their way while computation goes on, forward passes "
    "that\n"
    "wait for them. Compares systems (which scheme for sparse and dense gradients, scheduled how) by iteration "
    "time,\n"
    "stall, and how much of the communication is hidden. Tasks last as long as their schemes take in simulation.\n"
    "\n"
    "  --workload A,B       what is trained: files of models/workloads, or paths\n"
    "  --system A,B         files of models/systems, or paths (all that are shipped)\n"
    "  --ranks 4,8|4..64    rank counts           --cluster NAME     a file of models/clusters, or a path\n"
    "  --trace FILE         feeds the embeddings  --merge N          turn each N of its ranks into one\n"
    "  --device NAME        count kernels         --iterations N     played, warm-up included (two rounds of the "
    "trace)\n"
    "  --bandwidth RATE     of the cluster        --latency TIME     of the cluster\n"
    "  --set PATH=VALUE     change any field of the scenario (repeatable): --set jitter.lognormal=0.1\n"
    "  --timeline FILE      the last round of the trace as Chrome trace events: open it in ui.perfetto.dev\n"
    "  --gantt FILE         the last iteration at the most ranks as a figure (.svg, .pdf or .png; needs gnuplot)\n"
    "  --sensitivity        who is fastest when all compute times are half, or twice, as long\n"
    "  --format table|json|csv, -o FILE           what and where to write (a file appears whole or not at all)\n"
    "  --per-iteration      add arrays to the JSON\n"
    "  --jobs N             threads (all cores)   --quiet            no progress bar\n"
    "  --patience TIME      under mpirun, a process that is silent for longer is lost: others redo its part (30s)\n"
    "\n"
    "examples:\n"
    "  sparsync train --workload embrace-lm-rtx3090 --cluster rtx3090-100g-ib --ranks 4,8,16\n"
    "  sparsync train --workload embrace-lm-rtx3090 --system horovod-allgather,embrace --cluster rtx3090-100g-ib \\\n"
    "    --ranks 16 --device quick --timeline lm.trace.json\n";

struct own {
  const char *workloads, *systems, *timeline, *gantt;
  bool sensitivity;
};

static bool own_option(void *context, const char *name, const char *value, struct ss_error *error) {
  struct own *own = context;
  (void)error;
  if (strcmp(name, "workload") == 0) own->workloads = value;
  if (strcmp(name, "system") == 0) own->systems = value;
  if (strcmp(name, "timeline") == 0) own->timeline = value;
  if (strcmp(name, "gantt") == 0) own->gantt = value;
  if (strcmp(name, "sensitivity") == 0) own->sensitivity = true;
  return true;
}

/* --- writing ---------------------------------------------------------------------------------------------- */

static bool print(const struct ss_call *call, const struct ss_train_study *s, struct ss_error *error) {
  struct ss_output output;
  if (!ss_output_open(call->output, &output, error)) return false;
  const bool ok = call->format == SS_JSON  ? ss_training_json(s, output.stream, error)
                  : call->format == SS_CSV ? ss_training_csv(s, output.stream, error)
                                           : ss_training_table(s, output.stream, error);
  if (ok) return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
}

static bool write_timeline(const char *path, const struct ss_training *t, struct ss_error *error) {
  struct ss_output output;
  if (!path) return true;
  if (!ss_output_open(path, &output, error)) return false;
  if (ss_training_timeline(t, output.stream, error)) return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
}

static bool draw_gantt(const char *path, const struct ss_training *t, struct ss_error *error) {
  struct ss_output output;
  enum ss_picture picture;
  char *bytes;
  size_t size;
  if (!path) return true;
  if (!ss_picture_of(path, &picture, error)) return ss_fail_prefix(error, "--gantt");
  if (!ss_training_gantt(t, picture, &bytes, &size, error)) return false;
  bool ok = ss_output_open(path, &output, error);
  if (ok) {
    fwrite(bytes, 1, size, output.stream); /* ss_output_commit finds what went wrong */
    ok = ss_output_commit(&output, error);
  }
  free(bytes);
  return ok;
}

static bool run_scenario(const struct ss_call *call, const struct own *own, struct ss_train_study *s,
                         struct ss_error *error) {
  const struct ss_train_source source = {
      .common = call->request, .workloads = own->workloads, .systems = own->systems};
  const struct ss_communicator *comm = call->options.comm;
  if (!ss_processes_agree(comm, ss_train_study_open(&source, s, error), error) ||
      !ss_train_study_run(s, &call->options, own->sensitivity, error))
    return false;
  return !ss_processes_first(comm) || (write_timeline(own->timeline, &s->training, error) &&
                                       draw_gantt(own->gantt, &s->training, error) && print(call, s, error));
}

/* --- options ---------------------------------------------------------------------------------------------- */

struct command_line {
  struct ss_call call;
  struct own own;
};

static bool parse(int argc, char **argv, struct command_line *line, struct ss_error *error) {
  static const struct ss_option_spec specs[] = {
      {"workload", true},     {"system", true},  {"timeline", true},       {"gantt", true},
      {"sensitivity", false}, {"trace", true},   {"cluster", true},        {"ranks", true},
      {"bandwidth", true},    {"latency", true}, {"iterations", true},     {"merge", true},
      {"device", true},       {"set", true},     {"format", true},         {"o", true},
      {"jobs", true},         {"quiet", false},  {"per-iteration", false}, {"help", false},
      {"patience", true},     {.name = NULL}};
  line->own = (struct own){0};
  return ss_call_parse_scenario(argc, argv, specs, own_option, &line->own, &line->call, error);
}

static bool act(void *context, struct ss_communicator *comm, struct ss_error *error) {
  static const char *const texts[] = {help, NULL};
  struct command_line *line = context;
  struct ss_train_study scenario = {0};
  line->call.options.comm = comm;
  if (line->call.help) return !ss_processes_first(comm) || ss_help_print(texts, error);
  const bool ok = run_scenario(&line->call, &line->own, &scenario, error);
  ss_train_study_close(&scenario);
  return ok;
}

static bool learns(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--learn") == 0) return true;
  return false;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  struct command_line line;
  if (learns(argc, argv)) return ss_learn_run(argc, argv, error);
  const bool ok = parse(argc, argv, &line, error) && act(&line, NULL, error);
  ss_call_free(&line.call);
  return ok;
}

static bool together(int argc, char **argv, struct ss_error *error) {
  struct command_line line;
  if (learns(argc, argv)) return ss_launch_read().rank != 0 || ss_learn_run(argc, argv, error);
  const bool ok = ss_processes_run(parse(argc, argv, &line, error), act, &line, error);
  ss_call_free(&line.call);
  return ok;
}

const struct ss_command ss_command_train = {.name = "train",
                                            .summary = "iteration time and stall of training systems",
                                            .help = help,
                                            .run = run,
                                            .together = together};
