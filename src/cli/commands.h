/* The table of commands, and one calling another: figures, claims and pages ask the program what anyone can ask it on
 * the command line. */
#ifndef SS_CLI_COMMANDS_H
#define SS_CLI_COMMANDS_H

#include "base/json.h"
#include "cli/command.h"

#include <stddef.h>

/* NULL-terminated, in the order of `sparsync --help`. */
extern const struct ss_command *const ss_commands[];
/* What the first of the arguments names; NULL when no command has the name. */
const struct ss_command *ss_command_find(int argc, char **argv);

/* What `sparsync ARGUMENTS... --format json` prints, arguments[0] being the subcommand. The document is the caller's,
 * to be freed with ss_doc_free. Fails as the command fails. */
bool ss_command_json(const char *const *arguments, size_t count, struct ss_doc **out,
                     struct ss_error *error) SS_MUST_CHECK;

/* Whether an argument makes a command write a file: what figures and claims, which may come from anyone, must not. */
bool ss_command_writes(const char *argument) SS_MUST_CHECK;

#endif
