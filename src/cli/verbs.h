/* Commands with subcommands: a table of them, looked up the same way everywhere. */
#ifndef SS_CLI_VERBS_H
#define SS_CLI_VERBS_H

#include "cli/command.h"

#include <stddef.h>

struct ss_verbs {
  const char *command; /* whose they are: "trace" */
  const char *help;
  const struct ss_command *const *verb; /* NULL-terminated, at most 15 */
};

/* Calls the subcommand that argv[1] names, or prints the help that is asked for. */
bool ss_verbs_run(const struct ss_verbs *verbs, int argc, char **argv, struct ss_error *error) SS_MUST_CHECK;

#endif
