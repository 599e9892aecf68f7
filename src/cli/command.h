/* A subcommand: one file each, one constant of this type, one line in the table of main.c. */
#ifndef SS_CLI_COMMAND_H
#define SS_CLI_COMMAND_H

#include "base/error.h"

struct ss_command {
  const char *name;    /* "run" */
  const char *summary; /* one line for `sparsync --help` */
  const char *help;    /* usage, every option, and examples: what `sparsync NAME --help` prints */
  /* argv[0] is the subcommand's name. Returns false with `error` set; the exit status is the error's. Results go to
   * stdout or the file of -o, all else to stderr. */
  bool (*run)(int argc, char **argv, struct ss_error *error);
  /* The same, called in each of the processes that mpirun started; they share the work. NULL: each runs by itself. */
  bool (*together)(int argc, char **argv, struct ss_error *error);
};

extern const struct ss_command ss_command_run, ss_command_cost, ss_command_check, ss_command_trace, ss_command_list,
    ss_command_exec, ss_command_plan, ss_command_train, ss_command_crossover, ss_command_plot, ss_command_claims,
    ss_command_report, ss_command_calibrate;

#endif
