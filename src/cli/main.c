/* sparsync: finds the command that is asked for, and turns what comes of it into an exit status. */
#include "base/data.h"
#include "base/file.h"
#include "base/temporary.h"
#include "cli/command.h"
#include "report/table.h"

#include <malloc.h>

enum { COMMANDS_MAX = 32 };

static void print_help(FILE *stream) {
  fputs("usage: sparsync COMMAND [OPTION...]\n\n"
        "How long does synchronising sparse gradients take, under which scheme, on which cluster, and why?\n\n",
        stream);
  int width = 0;
  for (size_t i = 0; ss_commands[i]; i++) {
    const int length = (int)strlen(ss_commands[i]->name);
    if (length > width) width = length;
  }
  for (size_t i = 0; ss_commands[i]; i++)
    fprintf(stream, "  %-*s  %s\n", width, ss_commands[i]->name, ss_commands[i]->summary);
  fputs(
      "\nsparsync COMMAND --help tells more; sparsync --version prints the version and whose data it reads.\n\n"
      "exit status: 0 done; 1 a check, expectation or proof failed; 2 bad usage or input; 3 the machine failed us\n",
      stream);
}

static int fail_unknown(const char *name) {
  const char *names[COMMANDS_MAX + 1] = {NULL};
  for (size_t i = 0; i < COMMANDS_MAX && ss_commands[i]; i++) names[i] = ss_commands[i]->name;
  fprintf(stderr, "sparsync: no command is called \"%s\"%s\n", name,
          ss_suggest(name, names, "sparsync --help lists them").text);
  return SS_BAD_INPUT;
}

/* What was printed may still wait in a buffer. */
static int finish(const char *name) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return SS_OK;
  fprintf(stderr, "sparsync%s%s: cannot write to standard output\n", name ? " " : "", name ? name : "");
  return SS_MACHINE;
}

/* And whose data it reads: two installations may differ. */
static int print_version(void) {
  struct ss_error error = {0};
  char root[PATH_MAX];
  const char *why;
  puts("sparsync " SS_VERSION);
  if (ss_data_root(root, sizeof root, &why, &error)) printf("data: %s (%s)\n", root, why);
  else printf("data: none: %s\n", error.text);
  return finish(NULL);
}

static int run(const struct ss_command *command, int argc, char **argv) {
  struct ss_error error = {0};
  char words[64];
  ss_command_words(command, argc, argv, words, sizeof words);
  if (ss_command_execute(command, argc, argv, &error)) return finish(words);
  if (error.text[0])
    fprintf(stderr, "%ssparsync %s:%s %s\n", ss_colour(stderr, SS_RED), words, ss_colour(stderr, SS_PLAIN),
            error.text);
  return error.status == SS_OK ? SS_MACHINE : (int)error.status;
}

static int fail_left_over(const char *word) {
  fprintf(stderr, "sparsync: \"%s\" is left over\n", word);
  return SS_BAD_INPUT;
}

/* "help trace stats" is "trace stats --help": a second word is the subcommand's. */
static int help_of(int words, char **argv) {
  enum { MOST = 2 };
  char *said[MOST + 2] = {NULL};
  const struct ss_command *command = ss_command_find(1, argv);
  const int most = command && command->commands ? MOST : 1;
  if (!command) return fail_unknown(argv[0]);
  if (words > most) return fail_left_over(argv[most]);
  for (int i = 0; i < words; i++) said[i] = argv[i];
  said[words] = (char[]){"--help"};
  return run(command, words + 1, said);
}

/* What an iteration gives back the next one takes again: the heap keeps it, as it would by itself once a block of 32
 * MiB had been given back. */
static void keep_memory(void) {
#ifdef __GLIBC__
  enum { MAPPED = 32 << 20, KEPT = 2 * MAPPED };
  (void)mallopt(M_MMAP_THRESHOLD, MAPPED);
  (void)mallopt(M_TRIM_THRESHOLD, KEPT);
#endif
}

int main(int argc, char **argv) {
  keep_memory();
  ss_temporaries_go_on_signals();
  ss_files_of_a_command();
  if (argc < 2) {
    print_help(stderr);
    return SS_BAD_INPUT;
  }
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
    if (argc > 2) return fail_left_over(argv[2]);
    return print_version();
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
    if (argc > 2) return help_of(argc - 2, argv + 2);
    print_help(stdout);
    return finish(NULL);
  }
  const struct ss_command *command = ss_command_find(argc - 1, argv + 1);
  return command ? run(command, argc - 1, argv + 1) : fail_unknown(argv[1]);
}
/* SPDX-License-Identifier: Apache-2.0 */
