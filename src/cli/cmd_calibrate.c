#include "base/file.h"
#include "base/json_text.h"
#include "cli/calibrate.h"
#include "cli/verbs.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <time.h>

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
  bool ok = ss_output_open(path, &output, error);
  if (ok) {
    ok = ss_json_print(json, output.stream, error);
    if (ok) ok = ss_output_commit(&output, error);
    else ss_output_discard(&output);
  }
  cJSON_Delete(json);
  return ok;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  static const struct ss_command *const verbs[] = {&calibrate_network, &calibrate_kernels, NULL};
  return ss_verbs_run(&(struct ss_verbs){"calibrate", help, verbs}, argc, argv, error);
}

const struct ss_command ss_command_calibrate = {
    .name = "calibrate", .summary = "make model files out of measurements", .help = help, .run = run};
