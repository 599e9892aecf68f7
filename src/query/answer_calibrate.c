/* A cluster out of benchmarks' logs. */
#include "calibration/calibrated.h"
#include "query/calibrate_request.h"
#include "query/query_internal.h"

#include <cjson/cJSON.h>
#include <string.h>

static bool check(const struct ss_calibrate_request *q, struct ss_node object, struct ss_error *error) {
  const struct ss_node logs = ss_node_get(object, "logs");
  if (q->logs.count == 0) return ss_node_fail(ss_node_present(logs) ? logs : object, error, "names no log");
  for (size_t i = 0; i < q->logs.count; i++)
    if (strcmp(q->logs.text[i], "-") == 0)
      return ss_node_fail(logs, error, "a request cannot read standard input: name files");
  return true;
}

static bool fit(struct ss_calibrate_request *q, const struct ss_observations *all, struct cJSON **out,
                struct ss_error *error) {
  struct ss_calibration calibration;
  if (!ss_calibrate(all, &q->fit, q->name, &calibration, error)) return false;
  *out = ss_calibrated_cluster(&calibration.is);
  ss_calibration_free(&calibration);
  return true;
}

static bool validate(const struct ss_calibrate_request *q, const struct ss_observations *all, struct cJSON **out,
                     struct ss_error *error) {
  struct ss_validated v;
  const bool ok = ss_calibrate_request_validate(q, all, &v, error) && ss_validation_tree(&v.report, out, error);
  ss_validation_free(&v.validation);
  return ok;
}

static bool answer(struct ss_calibrate_request *q, struct ss_request *request, struct ss_error *error) {
  struct ss_observations all;
  const bool ok = ss_calibrate_request_observe(q, request->notice, &all, error) &&
                  ss_watcher_goes_on(request->run.watcher, error) &&
                  (q->validate ? validate(q, &all, &request->answer, error) : fit(q, &all, &request->answer, error));
  ss_observations_free(&all);
  return ok;
}

bool ss_answer_calibrate(struct ss_node object, struct ss_request *request, struct ss_error *error) {
  struct ss_calibrate_request q;
  const bool ok =
      ss_calibrate_request_read(object, &q, error) && check(&q, object, error) && answer(&q, request, error);
  ss_calibrate_request_close(&q);
  return ok;
}
