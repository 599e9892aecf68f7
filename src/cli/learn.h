/* `sparsync train --learn`: see src/train/learn.h. */
#ifndef SS_CLI_LEARN_H
#define SS_CLI_LEARN_H

#include "base/error.h"

/* argv[0] is the subcommand's name; "--learn" among the rest is passed over. */
bool ss_learn_run(int argc, char **argv, struct ss_error *error) SS_MUST_CHECK;

#endif
