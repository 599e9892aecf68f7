#include "study/results.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/memory.h"
#include "study/identity.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
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

/* --- points --------------------------------------------------------------------------------------------- */

static bool read_hash(struct ss_node node, const char *key, struct ss_identity *out) {
  static const char prefix[] = "xxh128:";
  const struct ss_node field = ss_node_get(node, key);
  const char *text;
  if (!ss_node_is_text(field) || !ss_node_text(field, &text, NULL)) return false;
  if (strncmp(text, prefix, sizeof prefix - 1) != 0) return false;
  text += sizeof prefix - 1;
  if (strspn(text, "0123456789abcdef") != 32 || text[32] != '\0') return false;
  // NOLINTNEXTLINE(cert-err34-c): sixteen digits each, as was just seen, fit
  return sscanf(text, "%16" SCNx64 "%16" SCNx64, &out->high, &out->low) == 2;
}

bool ss_result_read_identity(struct ss_node node, struct ss_identity *out) {
  return read_hash(node, "point_hash", out);
}

bool ss_result_untouched(struct ss_node node, const struct ss_result *r) {
  struct ss_identity hash;
  return read_hash(node, "result_hash", &hash) && ss_identity_same(hash, ss_result_digest(r));
}

static bool says(struct ss_node node, const char *key, const char *wanted) {
  const struct ss_node field = ss_node_get(node, key);
  const char *text = NULL;
  if (ss_node_is_text(field) && !ss_node_text(field, &text, NULL)) return false;
  return text && wanted ? strcmp(text, wanted) == 0 : !text && !wanted;
}

bool ss_result_alike(struct ss_node node, const struct ss_result *p) {
  uint64_t ranks;
  return says(node, "label", p->setting.label) && says(node, "tensor", p->tensor) &&
         ss_node_count(ss_node_get(node, "ranks"), 1, UINT32_MAX, &ranks, NULL) && ranks == p->ranks &&
         says(node, "formula", p->formula) && says(node, "formula_low", p->formula_low) &&
         says(node, "formula_high", p->formula_high) && says(node, "paper", p->paper);
}

static bool read_verdict(struct ss_node node, enum ss_truth *out, struct ss_error *error) {
  struct ss_node exact;
  bool yes = false;
  if (!ss_node_need(node, "exact", &exact, error)) return false;
  if (!ss_node_is_null(exact) && !ss_node_flag(exact, &yes, error)) return false;
  *out = ss_node_is_null(exact) ? SS_UNKNOWN : yes ? SS_YES : SS_NO;
  return true;
}

/* Absent arrays leave NULL: the caller sees what is missing. */
static bool read_array(struct ss_node node, const char *key, size_t count, double **out, struct ss_error *error) {
  const struct ss_node list = ss_node_get(node, key);
  *out = NULL;
  if (!ss_node_present(list)) return true;
  *out = ss_alloc(count, sizeof **out);
  if (!*out) return ss_fail_memory(error, "reading results");
  return ss_node_numbers(list, count, *out, error);
}

static bool read_arrays(struct ss_node node, bool per_rank, bool per_iteration, struct ss_result *p,
                        struct ss_error *error) {
  return read_array(node, "draw_s", p->draws, &p->draw_s, error) &&
         (!per_iteration || read_array(node, "iteration_s", p->iterations, &p->iteration_s, error)) &&
         (!per_rank || (read_array(node, "rank_bytes_sent", p->ranks, &p->rank_sent, error) &&
                        read_array(node, "rank_bytes_received", p->ranks, &p->rank_received, error)));
}

static bool read_usage(struct ss_node node, struct ss_link_usage *out, struct ss_error *error) {
  static const char *const keys[] = {"count", "bytes_max", "bytes_mean", "busy_max", "busy_mean"};
  double value[5];
  for (size_t i = 0; i < 5; i++) {
    struct ss_node field;
    if (!ss_node_need(node, keys[i], &field, error) || !ss_node_nonnegative(field, SS_NUMBER, &value[i], error))
      return false;
  }
  if (value[0] > UINT32_MAX) return ss_node_fail(node, error, "so many links are none");
  *out = (struct ss_link_usage){(uint32_t)value[0], value[1], value[2], value[3], value[4]};
  return true;
}

/* What bounds the result, and what its links carried. */
static bool read_links(struct ss_node node, struct ss_result *p, struct ss_error *error) {
  const struct ss_node links = ss_node_get(node, "links"); /* CSV has none */
  struct ss_node by;
  const char *name = "";
  if (!ss_node_need(node, "bound_by", &by, error)) return false;
  if (!ss_node_is_null(by) && !ss_node_text(by, &name, error)) return false;
  snprintf(p->bound_by, sizeof p->bound_by, "%s", name);
  for (size_t k = 0; k < SS_LINK_KINDS; k++) {
    const struct ss_node kind = ss_node_get(links, ss_link_kind_names[k]);
    p->usage[k] = (struct ss_link_usage){0};
    if (ss_node_present(kind) && !read_usage(kind, &p->usage[k], error)) return false;
  }
  return true;
}

static bool read_kernel(struct ss_node node, struct ss_kernel_use *out, struct ss_error *error) {
  static const char *const keys[] = {"s", "calls", "elements", "bytes"};
  double value[4];
  struct ss_node field;
  for (size_t i = 0; i < 4; i++)
    if (!ss_node_need(node, keys[i], &field, error) || !ss_node_nonnegative(field, SS_NUMBER, &value[i], error))
      return false;
  *out = (struct ss_kernel_use){value[0], value[1], value[2], value[3], false};
  return ss_node_need(node, "estimated", &field, error) && ss_node_flag(field, &out->estimated, error);
}

static bool read_kernels(struct ss_node node, struct ss_result *p, struct ss_error *error) {
  const struct ss_node kernels = ss_node_get(node, "kernels"); /* CSV has none */
  for (int k = 0; k < SS_KERNELS; k++) {
    const struct ss_node kernel = ss_node_get(kernels, ss_kernel_name((enum ss_kernel_kind)k));
    p->kernels[k] = (struct ss_kernel_use){0};
    if (ss_node_present(kernel) && !read_kernel(kernel, &p->kernels[k], error)) return false;
  }
  return true;
}

bool ss_result_read(struct ss_node node, bool per_rank, bool per_iteration, struct ss_result *point,
                    struct ss_error *error) {
  struct ss_result p = *point;
  bool ok = read_verdict(node, &p.exact, error);
  for (size_t i = 0; ok && i < SS_RESULT_FIELDS; i++) {
    struct ss_node field;
    double value = NAN;
    if (ss_result_fields[i].is & SS_FIELD_DRAWN)
      field = ss_node_get(node, ss_result_fields[i].name); /* later added */
    else ok = ss_node_need(node, ss_result_fields[i].name, &field, error);
    if (ok && ss_node_present(field) && !ss_node_is_null(field))
      ok = ss_node_is_number(field) ? ss_node_quantity(field, SS_NUMBER, &value, error)
                                    : ss_node_fail(field, error, "expected a number or null");
    if (ok) ss_result_set_value(&p, i, value);
  }
  ok = ok && read_links(node, &p, error) && read_kernels(node, &p, error);
  p.placed_exact = says(node, "placed", "exact");
  ok = ok && read_arrays(node, per_rank, per_iteration, &p, error);
  if (ok) *point = p;
  else free(p.iteration_s), free(p.rank_sent), free(p.rank_received), free(p.draw_s);
  return ok;
}
