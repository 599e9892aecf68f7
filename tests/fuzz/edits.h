/* Edits of fuzz targets' requests, as --set takes them. */
#pragma once

#include "base/json.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

/* "PATH=VALUE"; what is none, as --set refuses it, is left out. */
static inline void add_edit(cJSON *edits, const char *text) {
  const char *equals = strchr(text, '=');
  char path[256];
  if (!equals || equals == text || (size_t)(equals - text) >= sizeof path) return;
  (void)snprintf(path, sizeof path, "%.*s", (int)(equals - text), text);
  cJSON *value = ss_json_value("--set", path, equals + 1, false, NULL);
  if (value) cJSON_AddItemToObject(edits, path, value);
}
/* SPDX-License-Identifier: Apache-2.0 */
