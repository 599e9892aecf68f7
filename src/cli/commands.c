#include "cli/commands.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct ss_command trace = {
    .name = "trace",
    .summary = "make, join and measure sparsity traces",
    .usage = "usage: sparsync trace import|synth|fit|merge|stats|info ...\n\n"
             "Sparsity traces: which rows of each embedding table every rank looked up, iteration by iteration.\n",
    .examples = "`sparsync trace import --help` and so on tell more; docs/traces.md describes the file format.\n"
                "\n"
                "examples:\n"
                "  sparsync trace info traces/bible-kjv-16.safetensors\n"
                "  sparsync trace stats traces/bible-kjv-16.safetensors --format json\n"
                "  sparsync trace import book.txt --layout stream --ranks 8 -o book.safetensors\n",
    .commands = (const struct ss_command *const[]){&ss_command_trace_import, &ss_command_trace_synth,
                                                   &ss_command_trace_fit, &ss_command_trace_merge,
                                                   &ss_command_trace_stats, &ss_command_trace_info, NULL}};

static const struct ss_command calibrate = {
    .name = "calibrate",
    .summary = "make model files out of measurements",
    .usage = "usage: sparsync calibrate network|kernels ...\n\nMakes model files out of measurements.\n",
    .examples =
        "`sparsync calibrate network --help` and so on tell more; docs/calibration.md says what is fitted and "
        "how.\n"
        "\n"
        "examples:\n"
        "  sparsync calibrate network all_reduce.log -o mine.json\n"
        "  sparsync calibrate kernels --device cpu -o here.json\n",
    .commands =
        (const struct ss_command *const[]){&ss_command_calibrate_network, &ss_command_calibrate_kernels, NULL}};

const struct ss_command *const ss_commands[] = {
    &ss_command_run,    &ss_command_plan, &ss_command_train,
    &ss_command_learn,  &ss_command_cost, &ss_command_crossover,
    &ss_command_check,  &trace,           &ss_command_exec,
    &calibrate,         &ss_command_plot, &ss_command_report,
    &ss_command_claims, &ss_command_list, NULL,
};

const struct ss_command *ss_command_find(int argc, char **argv) {
  if (argc < 1) return NULL;
  /* `train --learn` is the older spelling of `learn`. */
  for (int i = 1; i < argc && strcmp(argv[0], "train") == 0; i++)
    if (strcmp(argv[i], "--learn") == 0) return &ss_command_learn;
  for (size_t i = 0; ss_commands[i]; i++)
    if (strcmp(ss_commands[i]->name, argv[0]) == 0) return ss_commands[i];
  return NULL;
}

enum { LIMIT = 1 << 30 };

/* --- a command's JSON, for other commands ------------------------------------------------------------------ */

static bool call(const char *const *arguments, size_t count, char *file, struct ss_error *error) {
  char json[] = "json", format[] = "--format", output[] = "-o", whole[] = "--no-partial";
  SS_AUTO_FREE char **argv = ss_alloc(count + 6, sizeof *argv);
  if (!argv) return ss_fail_memory(error, "calling a command");
  for (size_t i = 0; i < count; i++) argv[i] = (char *)arguments[i];
  const struct ss_command *command = ss_command_find((int)count, argv);
  if (!command)
    return ss_fail(error, SS_BAD_INPUT, "no command is called \"%s\" (sparsync --help lists them)",
                   count ? arguments[0] : "");
  const bool keeps = command == &ss_command_run; /* finished points: nobody could go on with them */
  argv[count] = format;
  argv[count + 1] = json;
  argv[count + 2] = output;
  argv[count + 3] = file;
  argv[count + 4] = keeps ? whole : NULL;
  argv[count + 5] = NULL;
  return ss_command_execute(command, (int)count + 4 + keeps, argv, error);
}

bool ss_command_writes(const char *argument) {
  static const char *const begins[] = {"-o",         "--o=",    "--save",    "--resume",    "--format",
                                       "--timeline", "--gantt", "--capture", "--plot-data", NULL};
  if (strcmp(argument, "--o") == 0) return true;
  for (size_t i = 0; begins[i]; i++)
    if (strncmp(argument, begins[i], strlen(begins[i])) == 0) return true;
  return false;
}

static bool temporary(char *path, size_t capacity, struct ss_error *error) {
  const char *folder = getenv("TMPDIR");
  int length = snprintf(path, capacity, "%s/sparsync-XXXXXX", folder && folder[0] ? folder : "/tmp");
  int handle = length > 0 && (size_t)length < capacity ? mkstemp(path) : -1;
  if (handle < 0) return ss_fail(error, SS_MACHINE, "cannot make a temporary file in %s", folder ? folder : "/tmp");
  close(handle);
  return true;
}

bool ss_command_json(const char *const *arguments, size_t count, struct ss_doc **out, struct ss_error *error) {
  char path[4096];
  if (!temporary(path, sizeof path, error)) return false;
  bool ok = call(arguments, count, path, error) && ss_doc_read(path, LIMIT, out, error);
  unlink(path);
  return ok;
}
