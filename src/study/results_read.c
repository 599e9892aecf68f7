#include "study/results.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/memory.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 1 << 30 };

/* --- CSV ------------------------------------------------------------------------------------------------ */

static bool is_number(const char *name) {
  static const char *const others[] = {"ranks", "seed", "iterations"};
  const struct ss_result blank = {.ranks = 0};
  double value;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(name, others[i]) == 0) return true;
  return ss_result_find(&blank, name, &value);
}

static cJSON *typed(const char *name, const char *text) {
  char *end;
  if (!*text) return cJSON_CreateNull();
  if (strcmp(name, "exact") == 0 || strcmp(name, "lossless") == 0)
    return strcmp(text, "true") == 0    ? cJSON_CreateTrue()
           : strcmp(text, "false") == 0 ? cJSON_CreateFalse()
                                        : cJSON_CreateString(text);
  if (!is_number(name)) return cJSON_CreateString(text);
  const double value = strtod(text, &end);
  return *end == '\0' && isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateString(text);
}

/* Of links and kernels ("kernels.top_k.s") only JSON has all. */
static void add_row(const struct ss_csv *csv, cJSON *list) {
  cJSON *row = cJSON_CreateObject();
  cJSON_AddItemToArray(list, row);
  for (size_t i = 0; i < csv->width; i++)
    if (!strchr(csv->head[i], '.'))
      cJSON_AddItemToObject(row, csv->head[i], typed(csv->head[i], ss_csv_text(csv, i)));
}

/* A table as ss_table_csv writes it. */
static bool parse_csv(const char *path, const struct ss_mapping *file, struct ss_doc **out, struct ss_error *error) {
  struct ss_csv csv;
  cJSON *list = cJSON_CreateArray();
  bool more = true, ok = ss_csv_open_text(&csv, path, file->data, file->size, false, error) &&
                         ss_csv_head(&csv, &more, error) && (list || ss_fail_memory(error, "reading results"));
  while (ok && (ok = ss_csv_next(&csv, &more, error)) && more) add_row(&csv, list);
  ss_csv_close(&csv);
  ok = ok && ss_doc_empty(path, out, error);
  if (ok) return ss_doc_set_item(*out, "points", list, error) || (ss_doc_free(*out), false);
  cJSON_Delete(list);
  return false;
}

/* --- files ---------------------------------------------------------------------------------------------- */

static bool looks_like_csv(const struct ss_mapping *file) {
  static const char head[] = "scheme,label,";
  return file->size >= sizeof head - 1 && memcmp(file->data, head, sizeof head - 1) == 0;
}

static bool check_results(struct ss_doc *doc, struct ss_error *error) {
  const struct ss_node points = ss_node_get(ss_doc_root(doc), "points");
  if (!ss_node_is_array(points))
    return ss_fail(error, SS_BAD_INPUT, "%s: not what \"sparsync run\" writes as json or csv", ss_doc_name(doc));
  for (struct ss_node n = ss_node_first(points); ss_node_present(n); n = ss_node_next(n))
    if (!ss_node_is_object(n)) return ss_node_fail(n, error, "a point is an object");
  return true;
}

bool ss_results_read(const char *path, struct ss_doc **out, struct ss_error *error) {
  struct ss_mapping file;
  struct ss_doc *doc;
  if (!ss_map_file(path, &file, error)) return false;
  bool ok = file.size <= LIMIT;
  if (!ok) ok = ss_fail(error, SS_BAD_INPUT, "%s: larger than %d bytes", path, LIMIT);
  else ok = looks_like_csv(&file) ? parse_csv(path, &file, &doc, error) : ss_doc_read(path, LIMIT, &doc, error);
  ss_unmap_file(&file);
  if (!ok) return false;
  if (!check_results(doc, error)) {
    ss_doc_free(doc);
    return false;
  }
  *out = doc;
  return true;
}
