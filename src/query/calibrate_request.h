/* What a cluster is to be fitted to, and how, as a request's object says it, or the options of `calibrate network`.
 */
#pragma once

#include "base/json.h"
#include "calibration/validation.h"

struct ss_notice;

/* Texts are the document's, lists are owned. */
struct ss_calibrate_request {
  struct ss_texts logs, fit_on;
  struct ss_reading reading;
  struct ss_cluster_fit_options fit; /* without a watcher */
  double least_message;              /* B: only observations whose largest message has as many; 0: all */
  enum ss_leave_out left_out;        /* by which the fit is judged */
  bool validate;                     /* no cluster, but how well what was left out is predicted */
  struct ss_node fit_on_node;
  const char *name;  /* of the cluster; NULL: what was measured */
  char warning[256]; /* of the library's version; "" nothing */
  struct ss_arena arena;
};

/* Logs may be missing here. To be closed, also after a failure; errors name the field. */
bool ss_calibrate_request_read(struct ss_node object, struct ss_calibrate_request *out,
                               struct ss_error *error) SS_MUST_CHECK;
void ss_calibrate_request_close(struct ss_calibrate_request *request);

/* What of its logs is asked for, at least one time; to be freed, also after a failure. `notice` hears what was left
 * out; NULL: nobody does. */
bool ss_calibrate_request_observe(const struct ss_calibrate_request *request, const struct ss_notice *notice,
                                  struct ss_observations *out, struct ss_error *error) SS_MUST_CHECK;

/* Predicts what is left out; what ss_validation_tree makes of it, the caller's. */
bool ss_calibrate_request_validate(const struct ss_calibrate_request *request, const struct ss_observations *all,
                                   struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
