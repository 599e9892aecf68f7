/* What is to be inferred from times of trainings, and how, as a request's object says it, or the options of
 * `calibrate training`. */
#pragma once

#include "query/training_fit.h"

struct cJSON;

/* Texts are the document's, lists are owned. */
struct ss_calibrate_training_request {
  const char *times; /* the table; NULL: none is named */
  struct ss_texts where, fit;
  const char *name; /* of what comes; NULL: the table's */
  bool validate;    /* nothing inferred, but how well numbers that were left out are predicted */
  struct ss_arena arena;
};

/* To be closed, also after a failure; errors name the field. */
bool ss_calibrate_training_read(struct ss_node object, struct ss_calibrate_training_request *out,
                                struct ss_error *error) SS_MUST_CHECK;
void ss_calibrate_training_close(struct ss_calibrate_training_request *request);

/* Fits, or (`validate`) judges: what `train`'s "software" takes, or a validation as `calibrate network` makes it; the
 * caller's. `asked` says who is told, and how many threads there are. */
bool ss_calibrate_training_answer(const struct ss_calibrate_training_request *request, const struct ss_request *asked,
                                  struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
