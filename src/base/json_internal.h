/* Shared by the files that read, hold and edit JSON documents. */
#pragma once

#include "base/json.h"

/* What ss_doc_set may nest on top of the parser's limit, so that recursion stays small. */
enum { SS_PATH_STEPS = 64 };

struct ss_doc {
  char *name;
  cJSON *root;
  const cJSON *options; /* {FIELD: OPTION} of the command that asks; NULL: none does */
};

/* Whether the text is one JSON value from byte `first` on, and nothing else; the error names byte and line. */
bool ss_json_check(const char *name, const char *text, size_t first, size_t length,
                   struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
