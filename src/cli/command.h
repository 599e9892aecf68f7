/* Commands: one file each, one constant each, all listed in commands.c. A command says what it reads and what it
 * does; command.c reads that from the command line, prints the help, and calls the command. */
#ifndef SS_CLI_COMMAND_H
#define SS_CLI_COMMAND_H

#include "base/options.h"
#include "report/flat.h"
#include "study/study.h"

#include <limits.h>
#include <math.h>

enum ss_format { SS_TABLE, SS_JSON, SS_CSV, SS_MARKDOWN /* what SS_TABLE has, as Markdown */ };

/* What was asked of a command: the arguments of each begin with this. */
struct ss_call {
  struct ss_study_source request;
  struct ss_run_options options;
  enum ss_format format;
  const char *output; /* NULL: standard output */
  double memory;      /* B that may be taken; 0: what the machine has */
  const char **operand;
  size_t operands;
  bool quiet;
  int argc;                /* the command line: */
  char **argv;             /* [argc], the command's name first */
  char scenario[PATH_MAX]; /* request.file, once it is found */
};

/* Whether a command is carried out together by the processes that mpirun started. */
enum ss_company { SS_ALONE, SS_TOGETHER_UNDER_MPIRUN, SS_ALWAYS_OVER_MPI };

struct ss_command {
  const char *name;                         /* "run" */
  const char *summary;                      /* one line for `sparsync --help` */
  const char *usage;                        /* how to call it and what it does: the help before the options */
  const char *examples;                     /* the help behind the options */
  const struct ss_command *const *commands; /* NULL-terminated: its subcommands, which then have what follows */
  const struct ss_option_spec *options;
  size_t size;          /* B of the arguments */
  const void *defaults; /* [size] the arguments before options are read; NULL: zero */
  enum ss_company company;
  /* `call` is the head of the arguments, which are the function's to change; call->options.comm is NULL where it is
   * alone. Results go to standard output or the file of -o, all else to standard error. */
  bool (*run)(struct ss_call *call, struct ss_error *error);
};

/* Writes the report to where the call says, as its format has it. */
bool ss_call_write(const struct ss_call *call, const void *report, ss_printer *table, ss_printer *json,
                   ss_printer *csv, struct ss_error *error) SS_MUST_CHECK;

/* A progress bar on standard error, of one computation at a time: only on a terminal, only once a second has passed,
 * gone when the work is done (progress.c). */
extern const struct ss_watcher ss_progress_watcher;

/* Reads the command line and does what it says; argv[0] is the command's name. The exit status is the error's. */
bool ss_command_execute(const struct ss_command *command, int argc, char **argv,
                        struct ss_error *error) SS_MUST_CHECK;

/* What the command is called in messages: "run", "trace stats". Returns `text`. */
const char *ss_command_words(const struct ss_command *command, int argc, char *const *argv, char *text, size_t size);

/* All of them, NULL-terminated, in the order of `sparsync --help` (commands.c). */
extern const struct ss_command *const ss_commands[];
/* What the first of the arguments names; NULL when no command has the name. */
const struct ss_command *ss_command_find(int argc, char **argv);

extern const struct ss_command ss_command_run, ss_command_plan, ss_command_train, ss_command_learn, ss_command_cost,
    ss_command_collective, ss_command_crossover, ss_command_check, ss_command_exec, ss_command_plot,
    ss_command_report, ss_command_claims, ss_command_list, ss_command_trace_import, ss_command_trace_synth,
    ss_command_trace_fit, ss_command_trace_merge, ss_command_trace_stats, ss_command_trace_info,
    ss_command_calibrate_network, ss_command_calibrate_kernels, ss_command_export_goal, ss_command_export_chakra;

/* --- options of several commands, to stand in their tables ------------------------------------------------- */

extern const char *const ss_formats[]; /* by enum ss_format */

/* "A:B", "A:" or ":B" of iterations; what is left out stays as it is. */
bool ss_span_parse(const char *value, uint64_t *first, uint64_t *end, struct ss_error *error) SS_MUST_CHECK;

enum { SS_JOBS_MAX = 1024 };

#define SS_OPTION_OPERANDS                                                                                           \
  { "", SS_TEXTS(struct ss_call, operand, operands) }
#define SS_OPTION_OUTPUT                                                                                             \
  {                                                                                                                  \
    "-o", SS_TEXT(struct ss_call, output),                                                                           \
        .value = "FILE", .help = "where to write (standard output); a file appears whole or not at all"              \
  }
#define SS_OPTION_QUIET                                                                                              \
  { "--quiet", SS_FLAG(struct ss_call, quiet), .help = "no progress bar" }
#define SS_OPTIONS_OUTPUT                                                                                            \
  {"--format", SS_CHOICE(struct ss_call, format, ss_formats), .help = "how to write (table)"}, SS_OPTION_OUTPUT,     \
      SS_OPTION_QUIET
#define SS_OPTIONS_OUTPUT_TRACE                                                                                      \
  {"-o", SS_TEXT(struct ss_call, output), .value = "FILE", .help = "the trace (required; - for standard output)"},   \
      SS_OPTION_QUIET, SS_OPTION_MEMORY, {                                                                           \
    "--format", SS_REFUSED, .help = "a trace is a safetensors file (trace info prints what it holds)"                \
  }
#define SS_OPTIONS_OUTPUT_MODEL                                                                                      \
  SS_OPTION_OUTPUT, {"--quiet", SS_FLAG(struct ss_call, quiet), .help = "tell nothing on standard error"}, {         \
    "--format", SS_REFUSED, .help = "a model file is JSON"                                                           \
  }
#define SS_OPTION_MEMORY                                                                                             \
  {                                                                                                                  \
    "--memory", SS_QUANTITY(struct ss_call, memory, SS_BYTES, 1, INFINITY),                                          \
        .value = "SIZE",                                                                                             \
        .help = "what may be taken at most (all that the machine has): beyond, it ends with status 3"                \
  }
#define SS_OPTION_JOBS                                                                                               \
  {"--jobs", SS_COUNT32(struct ss_call, options.jobs, 1, SS_JOBS_MAX), .value = "N", .help = "threads (all cores)"}, \
      SS_OPTION_MEMORY
#define SS_OPTION_PER_RANK                                                                                           \
  { "--per-rank", SS_FLAG(struct ss_call, options.per_rank), .help = "add arrays over ranks to the JSON" }
#define SS_OPTION_PER_ITERATION                                                                                      \
  {                                                                                                                  \
    "--per-iteration", SS_FLAG(struct ss_call, options.per_iteration),                                               \
        .help = "add arrays over iterations to the JSON"                                                             \
  }

enum { SS_PATIENCE = 30 /* s, to stand in the defaults of commands that have the option */ };
#define SS_OPTION_PATIENCE                                                                                           \
  {                                                                                                                  \
    "--patience", SS_QUANTITY(struct ss_call, options.patience, SS_TIME, 1, INFINITY),                               \
        .value = "TIME",                                                                                             \
        .help = "under mpirun, a process that is silent for longer is lost: others redo its part (30s)"              \
  }

/* What a scenario says, said on the command line. */
#define SS_OPTION_RANKS                                                                                              \
  { "--ranks", SS_TEXT(struct ss_call, request.ranks), .value = "4,8|4..64", .help = "rank counts (.. doubles)" }
#define SS_OPTION_SCHEME                                                                                             \
  {                                                                                                                  \
    "--scheme", SS_TEXT(struct ss_call, request.schemes), .value = "A,B",                                            \
                                                          .help = "the schemes, with options: zen:format=coo"        \
  }
#define SS_OPTION_NO_VERIFY                                                                                          \
  { "--no-verify", SS_FLAG(struct ss_call, request.no_verify), .help = "skip the proof (faster, less memory)" }
#define SS_OPTION_TENSOR                                                                                             \
  {                                                                                                                  \
    "--tensor", SS_TEXTS(struct ss_call, request.tensor, request.tensors),                                           \
        .value = "NAME", .field = "tensors", .help = "only this tensor of the trace (repeatable; default: all)"      \
  }
#define SS_OPTION_CLUSTER(usual)                                                                                     \
  {"--cluster", SS_TEXT(struct ss_call, request.cluster), .value = "NAME",                                           \
   .help = "a file of models/clusters, or a path" usual},                                                            \
      {"--bandwidth", SS_TEXT(struct ss_call, request.bandwidth), .value = "RATE", .help = "of the cluster"}, {      \
    "--latency", SS_TEXT(struct ss_call, request.latency), .value = "TIME", .help = "of the cluster"                 \
  }
#define SS_OPTIONS_SCENARIO(iterations_help, usual_cluster)                                                          \
  {"", SS_TEXT(struct ss_call, request.file), .value = "scenario"},                                                  \
      {"--set", SS_TEXTS(struct ss_call, request.set, request.sets), .value = "PATH=VALUE",                          \
       .help = "change any field of the scenario (repeatable): --set cluster.bandwidth=100Gbps"},                    \
      {"--trace", SS_TEXT(struct ss_call, request.trace), .value = "FILE", .help = "the trace"},                     \
      {"--iterations", SS_TEXT(struct ss_call, request.iterations), .value = "A:B", .help = (iterations_help)},      \
      {"--merge", SS_TEXT(struct ss_call, request.merge), .value = "N",                                              \
       .help = "turn each N ranks of the trace into one"},                                                           \
      {"--placement", SS_TEXT(struct ss_call, request.placement), .value = "FILE",                                   \
       .help = "where tables live, for alltoall:partition=placed"},                                                  \
      SS_OPTION_CLUSTER(usual_cluster), {                                                                            \
    "--device", SS_TEXT(struct ss_call, request.device),                                                             \
        .value = "NAME", .help = "count the kernels of a file of models/devices, or none"                            \
  }
#define SS_ITERATIONS_OF_TRACE "of the trace, from A up to, not including, B"

#endif
