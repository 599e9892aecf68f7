/* Command-line options: a table per command, parsed the same way everywhere.
 *
 * `--name VALUE`, `--name=VALUE`, `-o VALUE`; the rest are operands. An unknown option is an error that suggests the
 * nearest known one; so is a missing or superfluous value. `--` ends the options. */
#ifndef SS_BASE_OPTIONS_H
#define SS_BASE_OPTIONS_H

#include "base/error.h"

#include <stddef.h>

struct ss_option_spec {
  const char *name; /* without dashes; a one-letter name goes behind one dash or two */
  bool takes_value;
};

/* Calls `seen` for each option (value NULL for flags) in order, and for each operand with a NULL name. Stops at the
 * first false. `specs` ends with a NULL name; argv[0] is skipped. "--help" is the caller's: list it. */
bool ss_options_parse(int argc, char **argv, const struct ss_option_spec *specs,
                      bool (*seen)(void *context, const char *name, const char *value, struct ss_error *error),
                      void *context, struct ss_error *error) SS_MUST_CHECK;

#endif
