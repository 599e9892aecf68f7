/* A validation as the tree that programs and --format json get, and tables and pictures are made of: errors by what
 * times are of, and all times. */
#include "calibration/validation.h"

#include "base/json.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>

enum { LINES_MAX = 256 };

/* What a line of the table is of; those of it that are not set count all. */
struct of {
  char name[64];
  int collective; /* -1: any */
  const struct ss_algorithm *algorithm;
  uint32_t nodes, per_node;
  uint64_t low, high; /* B: vectors from low to high */
};

struct lines {
  struct of line[LINES_MAX];
  size_t count;
};

static bool is_in(const struct ss_observation *o, const struct of *of) {
  return (of->collective < 0 || (int)o->algorithm->collective == of->collective) &&
         (!of->algorithm || o->algorithm == of->algorithm) && (of->nodes == 0 || o->nodes == of->nodes) &&
         (of->per_node == 0 || o->per_node == of->per_node) && o->bytes >= of->low && o->bytes <= of->high;
}

static void add_line(struct lines *l, struct of of) {
  for (size_t i = 0; i < l->count; i++)
    if (strcmp(l->line[i].name, of.name) == 0) return;
  if (l->count < LINES_MAX) l->line[l->count++] = of;
}

static void add_of(struct lines *l, const struct ss_observation *o, int what) {
  struct of of = {.collective = -1, .high = UINT64_MAX};
  const char *collective = ss_collective_names[o->algorithm->collective];
  if (what == 0) {
    of.collective = (int)o->algorithm->collective;
    (void)snprintf(of.name, sizeof of.name, "%s", collective);
  } else if (what == 1) {
    of.algorithm = o->algorithm;
    (void)snprintf(of.name, sizeof of.name, "%s %s", collective, o->algorithm->name);
  } else {
    of.nodes = o->nodes;
    of.per_node = o->per_node;
    (void)snprintf(of.name, sizeof of.name, "%" PRIu32 " node%s of %" PRIu32, o->nodes, o->nodes > 1 ? "s" : "",
                   o->per_node);
  }
  add_line(l, of);
}

/* All, then by collective, algorithm, nodes, and size of the vector. */
static void list_lines(const struct ss_observations *all, struct lines *l) {
  static const char *const sizes[] = {"vectors up to 64 KiB", "64 KiB to 1 MiB", "1 MiB to 64 MiB", "above 64 MiB"};
  uint64_t low = 0;
  add_line(l, (struct of){.name = "all", .collective = -1, .high = UINT64_MAX});
  for (int what = 0; what < 3; what++)
    for (size_t i = 0; i < all->count; i++) add_of(l, &all->list[i], what);
  for (int i = 0; i < SS_SIZE_BANDS; low = ss_size_bands[i++] + 1) {
    struct of of = {.collective = -1, .low = low, .high = ss_size_bands[i]};
    (void)snprintf(of.name, sizeof of.name, "%s", sizes[i]);
    add_line(l, of);
  }
}

static bool is_within(const struct ss_validation *v, size_t i, double factor) {
  const double measured = v->observations->list[i].seconds;
  return fmax(v->predicted[i] / measured, measured / v->predicted[i]) <= factor;
}

/* What is said of a line; NULL: it has no times. `errors` is scratch. */
static cJSON *line_json(const struct ss_validation *v, const struct of *of, double *errors) {
  double half = 0, most = 0;
  size_t count = 0;
  bool any = false;
  for (size_t i = 0; i < v->observations->count; i++) {
    const struct ss_observation *o = &v->observations->list[i];
    if (!is_in(o, of)) continue;
    any = any || v->left_out != SS_LEAVE_OTHERS || isfinite(v->predicted[i]);
    if (!isfinite(v->predicted[i])) continue;
    errors[count++] = fabs(v->predicted[i] / o->seconds - 1);
    half += v->range && is_within(v, i, v->range[i].within.half);
    most += v->range && is_within(v, i, v->range[i].within.most);
  }
  if (!any) return NULL;
  gsl_sort(errors, 1, count);
  const double n = (double)count;
  cJSON *item =
      ss_json_object(SS_T("of", of->name), SS_N("count", n),
                     SS_N("median_error", count > 0 ? gsl_stats_median_from_sorted_data(errors, 1, count) : NAN),
                     SS_N("p90_error", count > 0 ? gsl_stats_quantile_from_sorted_data(errors, 1, count, 0.9) : NAN),
                     SS_N("worst_error", count > 0 ? errors[count - 1] : NAN));
  if (v->range) ss_json_add(item, SS_N("within_half", half / n), SS_N("within_most", most / n));
  return item;
}

static cJSON *errors_json(const struct ss_validation *v) {
  struct lines l = {.count = 0};
  SS_AUTO_FREE double *errors = ss_alloc(v->observations->count, sizeof *errors);
  cJSON *list = errors ? cJSON_CreateArray() : NULL;
  list_lines(v->observations, &l);
  for (size_t i = 0; list && i < l.count; i++) cJSON_AddItemToArray(list, line_json(v, &l.line[i], errors));
  return list;
}

static void add_range(cJSON *time, const struct ss_range *range) {
  ss_json_add(time, SS_T("class", ss_accuracy_names[range->class]), SS_N("nodes_doubled", range->nodes_doubled),
              SS_N("size_doubled", range->size_doubled), SS_N("half", range->within.half),
              SS_N("most", range->within.most), SS_N("part", (double)range->part));
}

static cJSON *times_json(const struct ss_validation *v) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < v->observations->count; i++) {
    const struct ss_observation *o = &v->observations->list[i];
    cJSON *time = ss_json_object(SS_T("source", v->observations->source[o->source]), SS_N("line", o->line),
                                 SS_T("collective", ss_collective_names[o->algorithm->collective]),
                                 SS_T("algorithm", o->algorithm->name), SS_N("nodes", o->nodes),
                                 SS_N("gpus_per_node", o->per_node), SS_N("bytes", (double)o->bytes),
                                 SS_N("message_bytes", (double)ss_observation_message(o)),
                                 SS_N("measured_s", o->seconds), SS_N("predicted_s", v->predicted[i]));
    if (v->range && isfinite(v->predicted[i])) add_range(time, &v->range[i]);
    cJSON_AddItemToArray(list, time);
  }
  return list;
}

bool ss_validation_tree(const struct ss_validation *v, const char *name, cJSON **out, struct ss_error *error) {
  static const char *const left[] = {"collectives", "nodes", "sizes", "rows", "nothing", "others"};
  struct ss_ranked_pairs pairs;
  if (!ss_validation_rank(v, &pairs, error)) return false;
  cJSON *root = *out = ss_json_object(SS_T("name", name), SS_J("errors", errors_json(v)),
                                      SS_T("left_out", left[v->left_out]), SS_N("not_predicted", v->unfit));
  if (v->unfit > 0) ss_json_add_text(root, "reason", v->reason);
  ss_json_add(root, SS_N("pairs", (double)pairs.pairs), SS_N("pairs_right", (double)pairs.right),
              SS_J("times", times_json(v)));
  if (!v->range) return root || ss_fail_memory(error, "judging a calibration");
  cJSON *parts = cJSON_AddArrayToObject(root, "parts"); /* what each tells of its own errors */
  for (size_t i = 0; i < v->parts; i++) cJSON_AddItemToArray(parts, ss_own_errors_json(&v->own[i]));
  return parts || ss_fail_memory(error, "judging a calibration");
}
/* SPDX-License-Identifier: Apache-2.0 */
