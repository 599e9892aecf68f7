/* What is to be learned, as a request's object says it, or the options of `learn`. */
#pragma once

#include "base/json.h"
#include "study/learning.h"

enum { SS_LEARN_SETTINGS_MAX = 64 };

/* Not to be moved. `source` points into the object, and to what is owned here. */
struct ss_learn_request {
  struct ss_learning_source source; /* its text or trace as the object names it */
  struct ss_setting setting[SS_LEARN_SETTINGS_MAX];
  struct ss_node text, trace; /* one of them is there */
};

/* Errors name the field. */
bool ss_learn_request_read(struct ss_node object, struct ss_learn_request *out, struct ss_error *error) SS_MUST_CHECK;

/* The one scheme that a text names ("spardl:density=0.01"), or that is its JSON. */
bool ss_learn_scheme_read(const char *text, struct ss_setting *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
