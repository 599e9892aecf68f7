#include "report/calibration.h"

#include "base/file.h"
#include "base/json_text.h"

#include <cjson/cJSON.h>
#include <time.h>

const char *ss_date_text(char *buffer, size_t size) {
  const time_t now = time(NULL);
  struct tm day;
  if (!gmtime_r(&now, &day) || strftime(buffer, size, "%Y-%m-%d", &day) == 0) (void)snprintf(buffer, size, "-");
  return buffer;
}

bool ss_fit_quality_json(struct cJSON *object, const struct ss_link_piece *piece) {
  const double valid[] = {piece->low, piece->high};
  return cJSON_AddItemToObject(object, "valid", cJSON_CreateDoubleArray(valid, 2)) &&
         cJSON_AddNumberToObject(object, "samples", (double)piece->samples) &&
         cJSON_AddNumberToObject(object, "outliers", (double)piece->outliers) &&
         cJSON_AddNumberToObject(object, "residual_median", piece->typical) &&
         cJSON_AddNumberToObject(object, "residual_max", piece->worst);
}

static bool print_model(const void *root, FILE *stream, struct ss_error *error) {
  return ss_json_print(root, stream, error);
}

bool ss_model_write(const char *path, cJSON *root, bool built, struct ss_error *error) {
  const bool ok = ss_output_write(path, print_model, built ? root : NULL, error);
  cJSON_Delete(root);
  return ok;
}
