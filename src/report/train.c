#include "report/train.h"

#include "base/json_text.h"
#include "report/flat.h"

#include <cjson/cJSON.h>

bool ss_training_json(const struct ss_train_study *study, FILE *stream, struct ss_error *error) {
  cJSON *root = ss_train_study_json(study);
  const bool ok = ss_json_print(root, stream, error);
  cJSON_Delete(root);
  return ok;
}

bool ss_training_csv(const struct ss_train_study *study, FILE *stream, struct ss_error *error) {
  cJSON *list = ss_train_study_points(study);
  if (!list) return ss_fail_memory(error, "writing results");
  const bool ok = ss_flat_csv(list, stream, error);
  cJSON_Delete(list);
  return ok;
}
