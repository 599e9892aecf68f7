/* sparsync: one table of subcommands. */
#include "base/json.h"
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

static const struct ss_command *const commands[] = {
    &ss_command_run,   &ss_command_plan, &ss_command_cost, &ss_command_check,
    &ss_command_trace, &ss_command_exec, &ss_command_list,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *stream) {
  fputs("usage: sparsync COMMAND [OPTION...]\n\n"
        "How long does synchronising sparse gradients take, under which scheme, on which cluster, and why?\n\n",
        stream);
  for (size_t i = 0; i < COMMANDS; i++) fprintf(stream, "  %-7s %s\n", commands[i]->name, commands[i]->summary);
  fputs(
      "\nsparsync COMMAND --help tells more; sparsync --version prints the version.\n\n"
      "exit status: 0 done; 1 a check, expectation or proof failed; 2 bad usage or input; 3 the machine failed us\n",
      stream);
}

static int unknown(const char *name) {
  const char *names[COMMANDS + 1] = {NULL};
  for (size_t i = 0; i < COMMANDS; i++) names[i] = commands[i]->name;
  const char *near = ss_nearest(name, names);
  if (near) fprintf(stderr, "sparsync: no command is called \"%s\" (did you mean \"%s\"?)\n", name, near);
  else fprintf(stderr, "sparsync: no command is called \"%s\" (sparsync --help lists them)\n", name);
  return SS_BAD_INPUT;
}

static int run(const struct ss_command *command, int argc, char **argv) {
  struct ss_error error = {0};
  bool ok = command->run(argc, argv, &error);
  if (ok && fflush(stdout) != 0) {
    fprintf(stderr, "sparsync %s: cannot write to standard output\n", command->name);
    return SS_MACHINE;
  }
  if (ok) return SS_OK;
  if (error.text[0]) fprintf(stderr, "sparsync %s: %s\n", command->name, error.text);
  return error.status == SS_OK ? SS_MACHINE : (int)error.status;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return SS_BAD_INPUT;
  }
  if (strcmp(argv[1], "--version") == 0) {
    puts("sparsync " SS_VERSION);
    return SS_OK;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
    print_help(stdout);
    return SS_OK;
  }
  for (size_t i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i]->name, argv[1]) == 0) return run(commands[i], argc - 1, argv + 1);
  return unknown(argv[1]);
}
