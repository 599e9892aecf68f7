/* The table of subcommands. */
#ifndef SS_CLI_COMMANDS_H
#define SS_CLI_COMMANDS_H

#include "cli/command.h"

/* NULL-terminated, in the order of `sparsync --help`. */
extern const struct ss_command *const ss_commands[];
/* What the first of the arguments names; NULL when no command has the name. */
const struct ss_command *ss_command_find(int argc, char **argv);

#endif
