#include "cli/commands.h"

#include <string.h>

const struct ss_command *const ss_commands[] = {
    &ss_command_run,       &ss_command_plan,
    &ss_command_train,     &ss_command_cost,
    &ss_command_crossover, &ss_command_check,
    &ss_command_trace,     &ss_command_exec,
    &ss_command_calibrate, &ss_command_plot,
    &ss_command_report,    &ss_command_claims,
    &ss_command_list,      NULL,
};

const struct ss_command *ss_command_find(const char *name) {
  for (size_t i = 0; ss_commands[i]; i++)
    if (strcmp(ss_commands[i]->name, name) == 0) return ss_commands[i];
  return NULL;
}
