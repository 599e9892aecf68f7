/* Commands: one file each, one constant each, all listed in commands.c. A command says what it reads and what it
 * does; command.c reads that from the command line, prints the help, and calls the command. */
#pragma once

#include "base/options.h"
#include "report/flat.h"
#include "study/study.h"

struct ss_answer;

enum ss_format { SS_TABLE, SS_JSON, SS_CSV, SS_MARKDOWN /* what SS_TABLE has, as Markdown */ };

/* What was asked of a command: the arguments of each begin with this. */
struct ss_call {
  struct ss_request request; /* options that are fields are its edits, which its reader judges */
  struct ss_said *said;      /* [fields] as they were given */
  const char **set;          /* [sets] "PATH=VALUE" of --set */
  size_t fields, sets;
  struct cJSON *edits, *options; /* the request's */
  enum ss_format format;
  const char *output; /* NULL: standard output */
  double memory;      /* B that may be taken; 0: what the machine has */
  const char **operand;
  size_t operands;
  bool quiet;
  int argc;            /* the command line: */
  char **argv;         /* [argc], the command's name first */
  char path[PATH_MAX]; /* request.file, once it is found; of ss_call_answer its base */
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
  /* `call` is the head of the arguments, which are the function's to change; call->request.run.comm is NULL where
   * it is alone. Results go to standard output or the file of -o, all else to standard error. */
  bool (*run)(struct ss_call *call, struct ss_error *error);
};

/* Writes the report to where the call says, as its format has it. */
bool ss_call_write(const struct ss_call *call, const void *report, ss_printer *table, ss_printer *json,
                   ss_printer *csv, struct ss_error *error) SS_MUST_CHECK;

/* An error where two operands are the same text, or name one file. */
bool ss_call_operands_differ(const struct ss_call *call, struct ss_error *error) SS_MUST_CHECK;

/* Adds an edit, whose value is taken over, to the request. */
bool ss_call_edit(struct ss_call *call, const char *path, struct cJSON *value, struct ss_error *error) SS_MUST_CHECK;
/* Asks the library for an answer of the kind; the caller's. */
bool ss_call_ask(struct ss_call *call, const char *kind, struct ss_answer **out,
                 struct ss_error *error) SS_MUST_CHECK;
/* The same, and writes it to where the call says: as `table` or `csv`, which get a
 * struct ss_answer, or as its JSON. Relative paths are looked for in the data folder, too. */
bool ss_call_answer(struct ss_call *call, const char *kind, ss_printer *table, ss_printer *csv,
                    struct ss_error *error) SS_MUST_CHECK;

/* A progress bar on standard error, of one computation at a time: only on a terminal, only once a second has passed,
 * gone when the work is done. Under mpirun, which keeps the terminal to itself, rank 0 writes lines instead: after 10
 * seconds, after twice as many, ..., at least each 10 minutes (progress.c). */
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
    ss_command_calibrate_network, ss_command_calibrate_training, ss_command_calibrate_kernels, ss_command_export_goal,
    ss_command_export_chakra;

/* --- options of several commands, to stand in their tables ------------------------------------------------- */

extern const char *const ss_formats[]; /* by enum ss_format */

/* "A:B", "A:" or ":B" of iterations; what is left out stays as it is. */
bool ss_span_parse(const char *value, uint64_t *first, uint64_t *end, struct ss_error *error) SS_MUST_CHECK;

enum { SS_JOBS_MAX = 1024 };

/* An option that is a field: {"--row-width", SS_FIELD, .value = "N", .help = ...} is "row_width". Without a value it
 * is true, or what .json says. One that is a list may be repeated. */
#define SS_FIELD SS_SAID(struct ss_call, said, fields)
#define SS_FIELDS(name) SS_FIELD, .list = true, .field = (name)

/* One that takes a value: SS_ASKS("--row-width", "N", "elements a row (1)"). */
#define SS_ASKS(name_, value_, help_) SS_OPTION((name_), SS_FIELD, .value = (value_), .help = (help_))

#define SS_OPTION_OPERANDS SS_OPTION("", SS_TEXTS(struct ss_call, operand, operands))
#define SS_OPTION_OUTPUT                                                                                             \
  SS_OPTION("-o", SS_TEXT(struct ss_call, output), .writes = true, .value = "FILE",                                  \
            .help = "where to write (standard output); a file appears whole or not at all")
#define SS_OPTION_QUIET SS_OPTION("--quiet", SS_FLAG(struct ss_call, quiet), .help = "no progress bar")
#define SS_OPTIONS_OUTPUT                                                                                            \
  SS_OPTION("--format", SS_CHOICE(struct ss_call, format, ss_formats), .help = "how to write (table)"),              \
      SS_OPTION_OUTPUT, SS_OPTION_QUIET
#define SS_OPTIONS_OUTPUT_TRACE                                                                                      \
  SS_OPTION("-o", SS_TEXT(struct ss_call, output), .writes = true, .value = "FILE",                                  \
            .help = "the trace (required; - for standard output)"),                                                  \
      SS_OPTION_QUIET, SS_OPTION_MEMORY,                                                                             \
      SS_OPTION("--format", SS_REFUSED, .help = "a trace is a safetensors file (trace info prints what it holds)")
#define SS_OPTIONS_OUTPUT_MODEL                                                                                      \
  SS_OPTION_OUTPUT, SS_OPTION("--quiet", SS_FLAG(struct ss_call, quiet), .help = "tell nothing on standard error"),  \
      SS_OPTION("--format", SS_REFUSED, .help = "a model file is JSON")
#define SS_OPTION_MEMORY                                                                                             \
  SS_OPTION("--memory", SS_QUANTITY(struct ss_call, memory, SS_BYTES, 1, INFINITY), .value = "SIZE",                 \
            .help = "what may be taken at most (all that the machine has): beyond, it ends with status 3")
#define SS_OPTION_JOBS                                                                                               \
  SS_OPTION("--jobs", SS_COUNT32(struct ss_call, request.run.jobs, 1, SS_JOBS_MAX), .value = "N",                    \
            .help = "threads (all cores)"),                                                                          \
      SS_OPTION_MEMORY
#define SS_OPTION_PER_RANK                                                                                           \
  SS_OPTION("--per-rank", SS_FLAG(struct ss_call, request.run.per_rank), .help = "add arrays over ranks to the JSON")
#define SS_OPTION_PER_ITERATION                                                                                      \
  SS_OPTION("--per-iteration", SS_FLAG(struct ss_call, request.run.per_iteration),                                   \
            .help = "add arrays over iterations to the JSON")

enum { SS_PATIENCE = 30 /* s, to stand in the defaults of commands that have the option */ };
#define SS_OPTION_PATIENCE                                                                                           \
  SS_OPTION("--patience", SS_QUANTITY(struct ss_call, request.run.patience, SS_TIME, 1, INFINITY), .value = "TIME",  \
            .help = "under mpirun, a process that is silent for longer is lost: others redo its part (30s)")

/* What a scenario says, said on the command line. */
#define SS_OPTION_RANKS SS_ASKS("--ranks", "4,8|4..64", "rank counts (.. doubles)")
#define SS_OPTION_SCHEME                                                                                             \
  SS_OPTION("--scheme", SS_FIELD, .value = "A,B", .help = "the schemes, with options: zen:format=coo")
#define SS_OPTION_NO_VERIFY                                                                                          \
  SS_OPTION("--no-verify", SS_FIELD, .json = "false", .help = "skip the proof (faster, less memory)")
#define SS_OPTIONS_ADMITTED                                                                                          \
  SS_OPTION("--lossy", SS_FLAG(struct ss_call, request.lossy),                                                       \
            .help = "admit schemes that do not end with the exact sum"),                                             \
      SS_OPTION("--model-parallel", SS_FLAG(struct ss_call, request.model_parallel),                                 \
                .help = "admit schemes that need the table cut over ranks; of several tables also whole ones, all "  \
                        "in one exchange")
#define SS_OPTION_TENSOR_OF(...)                                                                                     \
  SS_OPTION("--tensor", __VA_ARGS__, .value = "NAME",                                                                \
            .help = "only this tensor of the trace (repeatable; default: all)")
#define SS_OPTION_TENSOR SS_OPTION_TENSOR_OF(SS_FIELD, .list = true)
#define SS_OPTION_SET(usage)                                                                                         \
  SS_OPTION("--set", SS_TEXTS(struct ss_call, set, sets), .value = "PATH=VALUE", .help = (usage))
/* `bandwidth_`, `latency_`: the request's own fields; NULL: those of its cluster. */
#define SS_OPTION_CLUSTER(usual, bandwidth_, latency_)                                                               \
  SS_ASKS("--cluster", "NAME", "a file of models/clusters, or a path" usual),                                        \
      SS_OPTION("--bandwidth", SS_FIELD, .field = (bandwidth_), .value = "RATE", .help = "of the cluster"),          \
      SS_OPTION("--latency", SS_FIELD, .field = (latency_), .value = "TIME", .help = "of the cluster")
#define SS_HELP_CERTAIN "take the machine's numbers as they are: nothing is drawn"
#define SS_OPTION_CERTAIN SS_OPTION("--certain", SS_FIELD, .json = "true", .help = SS_HELP_CERTAIN)
#define SS_OPTION_OFFERED(what)                                                                                      \
  SS_OPTION("--offered", SS_FIELD, .json = "true",                                                                   \
            .help = "only " what " that some library offers to PyTorch (docs/reference.md says which, and how)")
#define SS_OPTIONS_SCENARIO(iterations_help, usual_cluster)                                                          \
  SS_OPTION("", SS_TEXT(struct ss_call, request.file), .value = "scenario"),                                         \
      SS_OPTION_SET("change any field of the scenario (repeatable): --set cluster.bandwidth=100Gbps"),               \
      SS_ASKS("--trace", "FILE", "the trace"),                                                                       \
      SS_ASKS("--capture", "FILE", "a captured training, instead of a trace"),                                       \
      SS_ASKS("--iterations", "A:B", iterations_help),                                                               \
      SS_ASKS("--merge", "N", "turn each N ranks of the trace into one"),                                            \
      SS_OPTION(                                                                                                     \
          "--extrapolate", SS_FIELD, .json = "true",                                                                 \
          .help =                                                                                                    \
              "beyond the trace's ranks, play later iterations as further ranks (run and plan say how far off)"),    \
      SS_ASKS("--placement", "FILE", "where tables live, for alltoall:partition=placed"),                            \
      SS_OPTION_CLUSTER(usual_cluster, NULL, NULL),                                                                  \
      SS_ASKS("--device", "NAME", "count the kernels of a file of models/devices, or none")
#define SS_ITERATIONS_OF_TRACE "of the trace, from A up to, not including, B"

/* Options of closed forms, and of them alone where tensors may also be simulated. */
#define SS_FORMS_OPTIONS(ranks_help)                                                                                 \
  SS_ASKS("--M", "SIZE", "bytes of the dense tensor"),                                                               \
      SS_ASKS("--density", "SHARE", "share of non-zero rows on a rank"),                                             \
      SS_ASKS("--row-width", "N", "elements a row (1)"), SS_ASKS("--value-bytes", "N", "bytes an element (4)"),      \
      SS_ASKS("--index-bytes", "N", "bytes an index (4)"), SS_ASKS("--ranks", "4,8|4..64", ranks_help),              \
      SS_ASKS("--gamma", "random|full|none|LIST",                                                                    \
              "densification ratio: random (default, (1-(1-d)^k)/d), full, none, or a list gamma(1),gamma(2),... "   \
              "of which the last goes on"),                                                                          \
      SS_OPTION_CLUSTER(" (p3.16xlarge-25g)", "bandwidth", "latency")
#define SS_FORMS_ONLY_OPTIONS                                                                                        \
  SS_ASKS("--lookups", "SHARE", "rows looked up / rows, duplicates counted (as the density)"),                       \
      SS_ASKS("--servers", "N", "parameter servers (nodes)"),                                                        \
      SS_ASKS("--k", "N", "entries that a rank selects (what the density makes of all elements)"),                   \
      SS_ASKS("--teams", "N", "SparDL's teams (1)"),                                                                 \
      SS_OPTION("--file", SS_FIELDS("files"), .value = "FILE", .help = "a form of your own (repeatable)"),           \
      SS_ASKS("--block", "N", "elements of a block (256)")
/* SPDX-License-Identifier: Apache-2.0 */
