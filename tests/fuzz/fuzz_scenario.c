/* Scenarios: an input is a document, or, when its first byte is '+', edits "PATH=VALUE" of a good one, a line each.
 * Whatever is taken has complete points; nothing is simulated. What would only be slow (many points, large synthetic
 * traces), or would read files outside the working folder, is left out. */
#include "edits.h"
#include "in_memory.h"
#include "query/expectations.h"
#include "study/study.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { POINTS_MAX = 3000, EDITS_MAX = 16 };

static const char good[] =
    "{\"trace\": {\"uniform\": {\"rows\": 64, \"row_width\": 4, \"density\": \"1/4\", \"overlap\": \"full\"}},"
    "\"cluster\": {\"latency\": \"10us\", \"bandwidth\": \"1GB/s\"}, \"ranks\": [1, 4], \"iterations\": \"0:2\","
    "\"schemes\": [\"allreduce\", {\"name\": \"ps\", \"label\": \"x\"}], \"sweep\": {\"index_bytes\": [0, 4]},"
    "\"expect\": [{\"that\": \"time_s\", \"of\": \"x\", \"is\": \">\", \"than\": \"allreduce\"}]}";

static bool leads_outside(const char *text) {
  return text[0] == '/' || strstr(text, "..") != NULL;
}

/* Walks all of the document; *points: how many the largest grid over its arrays could have. */
static bool harmless(const cJSON *item, double *points) {
  if (item->string && (strstr(item->string, "synth") || leads_outside(item->string))) return false;
  if (cJSON_IsString(item) && leads_outside(item->valuestring) &&
      !(item->string && strcmp(item->string, "ranks") == 0))
    return false;
  double members = 0;
  for (const cJSON *child = item->child; child; child = child->next) {
    members++;
    if (!harmless(child, points)) return false;
  }
  if (cJSON_IsArray(item) && members > 1) *points *= members;
  return *points <= POINTS_MAX;
}

static bool tame(const char *text, size_t size, double *points) {
  struct ss_doc *doc;
  if (!ss_doc_parse("tame", text, size, &doc, NULL)) return true;
  const bool yes = harmless(ss_doc_root(doc).at, points);
  ss_doc_free(doc);
  return yes;
}

static void check_points(const struct ss_study *scenario) {
  size_t count;
  const struct ss_point *point = ss_study_points(scenario, &count);
  if (count == 0) abort();
  for (size_t i = 0; i < count; i++) {
    if (point[i].ranks < 1 || point[i].first >= point[i].end || point[i].siblings < 1 || !point[i].setting.scheme)
      abort();
    if (!point[i].cluster_name || !point[i].device_name || !point[i].trace_name || !*point[i].setting.label) abort();
    if (!(point[i].cluster.inter.alpha >= 0 && point[i].cluster.inter.beta > 0 &&
          point[i].cluster.gpus_per_node >= 1))
      abort();
    if (point[i].servers > point[i].ranks) abort();
  }
}

static void open_scenario(const struct ss_request *request) {
  struct ss_study *scenario;
  struct ss_error error = {0};
  if (!ss_study_open(request, &scenario, &error)) {
    if (error.status != SS_BAD_INPUT || strlen(error.text) < 10 || strchr(error.text, '\n')) abort();
    return;
  }
  check_points(scenario);
  if (!ss_study_name(scenario)) abort();
  if (!ss_expectations_check(scenario, &error) && error.status != SS_BAD_INPUT) abort();
  ss_study_close(scenario);
}

static bool tame_edit(const char *edit, double *points) {
  const char *value = strchr(edit, '=');
  if (strstr(edit, "synth") || leads_outside(edit)) return false;
  return !value || (!leads_outside(value + 1) && tame(value + 1, strlen(value + 1), points));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct ss_request request = {0};
  char path[64], *text = strndup((const char *)data, size), *rest = text;
  if (text == NULL) abort();
  cJSON *edits = cJSON_CreateObject();
  double points = 1;
  int file, wanted = 0;
  if (size > 0 && data[0] == '+') {
    rest++;
    for (char *edit; wanted == 0 && cJSON_GetArraySize(edits) < EDITS_MAX && (edit = strsep(&rest, "\n"));)
      if (tame_edit(edit, &points)) add_edit(edits, edit);
      else wanted = -1;
    file = in_memory(good, sizeof good - 1, path, sizeof path);
    request.edits = edits;
  } else {
    if (!tame((const char *)data, size, &points)) wanted = -1;
    file = in_memory((const char *)data, size, path, sizeof path);
  }
  request.file = path;
  if (wanted == 0) open_scenario(&request);
  put_away(file, path);
  cJSON_Delete(edits);
  free(text);
  return wanted;
}
/* SPDX-License-Identifier: Apache-2.0 */
