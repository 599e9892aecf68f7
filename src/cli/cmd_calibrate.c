#include "base/file.h"
#include "base/json.h"
#include "cli/calibrate.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct ss_command *const verbs[] = {&calibrate_network, &calibrate_kernels};
enum { VERBS = sizeof verbs / sizeof *verbs };

static const char help[] =
    "usage: sparsync calibrate network|kernels ...\n"
    "\n"
    "Makes model files out of measurements.\n"
    "\n"
    "  network  a cluster: alpha and beta of its links, from a benchmark's log\n"
    "  kernels  a device: what the tensor kernels take on this machine\n"
    "\n"
    "`sparsync calibrate network --help` and so on tell more; docs/calibration.md says what is fitted and how.\n"
    "\n"
    "examples:\n"
    "  sparsync calibrate network all_reduce.log -o mine.json\n"
    "  sparsync calibrate kernels --device cpu -o here.json\n";

const char *calibrate_date(char *buffer, size_t size) {
  const time_t now = time(NULL);
  struct tm day;
  if (!gmtime_r(&now, &day) || strftime(buffer, size, "%Y-%m-%d", &day) == 0) (void)snprintf(buffer, size, "-");
  return buffer;
}

bool calibrate_add_quality(struct cJSON *object, const struct ss_link_piece *piece) {
  const double valid[] = {piece->low, piece->high};
  return cJSON_AddItemToObject(object, "valid", cJSON_CreateDoubleArray(valid, 2)) &&
         cJSON_AddNumberToObject(object, "samples", (double)piece->samples) &&
         cJSON_AddNumberToObject(object, "outliers", (double)piece->outliers) &&
         cJSON_AddNumberToObject(object, "residual_median", piece->typical) &&
         cJSON_AddNumberToObject(object, "residual_max", piece->worst);
}

bool calibrate_write(struct cJSON *json, const char *path, struct ss_error *error) {
  struct ss_output output;
  char *text = json ? cJSON_Print(json) : NULL;
  cJSON_Delete(json);
  if (!text) return ss_fail_memory(error, "writing JSON");
  bool ok = ss_output_open(path, &output, error);
  if (ok) {
    (void)fprintf(output.stream, "%s\n", text); /* ss_output_commit finds what goes wrong here */
    ok = ss_output_commit(&output, error);
  }
  cJSON_free(text);
  return ok;
}

static bool wants_help(int argc, char **argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--help") == 0) return true;
  return false;
}

static bool print_help(const char *text, struct ss_error *error) {
  if (fputs(text, stdout) >= 0 && fflush(stdout) == 0) return true;
  return ss_fail(error, SS_MACHINE, "standard output: cannot write");
}

static bool fail_verb(const char *name, struct ss_error *error) {
  const char *names[VERBS + 1] = {0};
  for (size_t i = 0; i < VERBS; i++) names[i] = verbs[i]->name;
  const char *near = ss_nearest(name, names);
  return ss_fail(error, SS_BAD_INPUT, "calibrate: there is no \"%s\"%s%s%s (calibrate --help lists what there is)",
                 name, near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
}

static bool run(int argc, char **argv, struct ss_error *error) {
  if (argc < 2) return ss_fail(error, SS_BAD_INPUT, "calibrate: say what (calibrate --help lists what there is)");
  if (strcmp(argv[1], "--help") == 0) return print_help(help, error);
  for (size_t i = 0; i < VERBS; i++) {
    if (strcmp(argv[1], verbs[i]->name) != 0) continue;
    if (wants_help(argc - 1, argv + 1)) return print_help(verbs[i]->help, error);
    return verbs[i]->run(argc - 1, argv + 1, error);
  }
  return fail_verb(argv[1], error);
}

const struct ss_command ss_command_calibrate = {
    .name = "calibrate", .summary = "make model files out of measurements", .help = help, .run = run};
