/* The program as a server of calls, for Valgrind, which takes a second to start: each line of standard input is one
 * call, a forked child makes it, and standard output says with what status it ended.
 *
 * A line: the folder to be in, a file for standard output, one for standard error, then the arguments, with the byte
 * 0x1f between any two. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int sparsync_main(int argc, char **argv);
#define main sparsync_main
#include "cli/main.c"
#undef main

enum { MOST_FIELDS = 64 };

static void redirect(int to, const char *path, int flags) {
  const int from = open(path, flags, 0600);
  if (from < 0 || dup2(from, to) < 0) _exit(98);
  close(from);
}

static void call(int fields, char **field) {
  redirect(STDOUT_FILENO, field[1], O_WRONLY | O_CREAT | O_TRUNC);
  redirect(STDERR_FILENO, field[2], O_WRONLY | O_CREAT | O_TRUNC);
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  if (chdir(field[0]) != 0) _exit(98);
  static char name[] = "sparsync";
  field[2] = name;
  exit(sparsync_main(fields - 2, field + 2));
}

/* Valgrind translates code when it first runs. What this process has run, its children need not translate again; most
 * calls read options and a scenario. */
static void warm_up(void) {
  static char
      name[] = "sparsync",
      run[] = "run", set[] = "--set",
      trace[] = "trace={\"uniform\": {\"rows\": 16, \"row_width\": 1, \"density\": \"1/4\", \"overlap\": \"full\"}}",
      cluster[] = "--cluster", racks[] = "racks-3to1", scheme[] = "--scheme", schemes[] = "allgather",
      ranks[] = "--ranks", many[] = "16", format[] = "--format", json[] = "json", output[] = "-o",
      nowhere[] = "/dev/null", quiet[] = "--quiet", jobs[] = "--jobs", one[] = "1";
  char *words[] = {name, run,    set,  trace,  cluster, racks, scheme, schemes, ranks,
                   many, format, json, output, nowhere, quiet, jobs,   one,     NULL};
  if (sparsync_main((int)(sizeof words / sizeof *words) - 1, words) != 0) exit(4);
}

int main(void) {
  char *line = NULL;
  size_t capacity = 0;
  warm_up();
  while (getline(&line, &capacity, stdin) > 0) {
    char *field[MOST_FIELDS + 1] = {NULL};
    int fields = 0, status = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *rest = line; rest && fields < MOST_FIELDS;) field[fields++] = strsep(&rest, "\x1f");
    if (fields < 4) return 2;
    const pid_t child = fork();
    if (child == 0) call(fields, field);
    if (child < 0 || waitpid(child, &status, 0) != child) return 3;
    printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    fflush(stdout);
  }
  free(line);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
