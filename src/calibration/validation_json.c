/* A validation as the tree that programs and --format json get: errors by what times are of, and all times. */
#include "calibration/validation.h"

#include "base/json_text.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

static bool is_in(const struct ss_observation *o, uint64_t message, const void *context) {
  const struct of *of = context;
  (void)message;
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
static void list_lines(const struct ss_validation_report *r, struct lines *l) {
  static const char *const sizes[] = {"vectors up to 64 KiB", "64 KiB to 1 MiB", "1 MiB to 64 MiB", "above 64 MiB"};
  uint64_t low = 0;
  add_line(l, (struct of){.name = "all", .collective = -1, .high = UINT64_MAX});
  for (int what = 0; what < 3; what++)
    for (size_t i = 0; i < r->observations->count; i++) add_of(l, &r->observations->list[i], what);
  for (int i = 0; i < SS_VALIDATION_BANDS; low = ss_validation_bands[i++] + 1) {
    struct of of = {.collective = -1, .low = low, .high = ss_validation_bands[i]};
    (void)snprintf(of.name, sizeof of.name, "%s", sizes[i]);
    add_line(l, of);
  }
}

static bool has_times(const struct ss_validation_report *r, const struct of *of) {
  for (size_t i = 0; i < r->validation->count; i++)
    if ((r->left_out != SS_LEAVE_OTHERS || isfinite(r->validation->predicted[i])) &&
        is_in(&r->observations->list[i], 0, of))
      return true;
  return false;
}

static void add_range(cJSON *time, const struct ss_range *range) {
  ss_json_add(time, SS_T("class", ss_accuracy_names[range->class]), SS_N("nodes_doubled", range->nodes_doubled),
              SS_N("size_doubled", range->size_doubled), SS_N("half", range->within.half),
              SS_N("most", range->within.most), SS_N("part", (double)range->part));
}

static cJSON *time_json(const struct ss_validation_report *r, size_t i) {
  const struct ss_observation *o = &r->observations->list[i];
  cJSON *time = ss_json_object(SS_T("source", r->observations->source[o->source]), SS_N("line", o->line),
                               SS_T("collective", ss_collective_names[o->algorithm->collective]),
                               SS_T("algorithm", o->algorithm->name), SS_N("nodes", o->nodes),
                               SS_N("gpus_per_node", o->per_node), SS_N("bytes", (double)o->bytes),
                               SS_N("message_bytes", (double)r->validation->message[i]),
                               SS_N("measured_s", o->seconds), SS_N("predicted_s", r->validation->predicted[i]));
  if (r->validation->range && isfinite(r->validation->predicted[i])) add_range(time, &r->validation->range[i]);
  return time;
}

cJSON *ss_validation_times(const struct ss_validation_report *r) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < r->validation->count; i++) cJSON_AddItemToArray(list, time_json(r, i));
  return list;
}

cJSON *ss_validation_errors(const struct ss_validation_report *r) {
  struct lines l = {.count = 0};
  cJSON *list = cJSON_CreateArray();
  list_lines(r, &l);
  for (size_t i = 0; i < l.count; i++) {
    const struct ss_error_spread j = ss_validation_judge(r->validation, r->observations->list, is_in, &l.line[i]);
    if (!has_times(r, &l.line[i])) continue;
    cJSON *item =
        ss_json_object(SS_T("of", l.line[i].name), SS_N("count", (double)j.count), SS_N("median_error", j.median),
                       SS_N("p90_error", j.p90), SS_N("worst_error", j.worst));
    if (r->validation->range)
      ss_json_add(item, SS_N("within_half", j.within_half), SS_N("within_most", j.within_most));
    cJSON_AddItemToArray(list, item);
  }
  return list;
}

/* What each part that was fitted to tells of its own errors. */
static cJSON *parts_json(const struct ss_validation *v) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < v->parts; i++) cJSON_AddItemToArray(list, ss_own_errors_json(&v->own[i]));
  return list;
}

bool ss_validation_tree(const struct ss_validation_report *r, cJSON **out, struct ss_error *error) {
  static const char *const left[] = {"collectives", "nodes", "sizes", "rows", "nothing", "others"};
  struct ss_ranked_pairs pairs;
  if (!ss_validation_rank(r->validation, r->observations->list, &pairs, error)) return false;
  cJSON *root = *out = cJSON_CreateObject();
  ss_json_add(root, SS_J("errors", ss_validation_errors(r)), SS_T("left_out", left[r->left_out]),
              SS_N("not_predicted", r->validation->unfit), SS_N("pairs", (double)pairs.pairs),
              SS_N("pairs_right", (double)pairs.right), SS_J("times", ss_validation_times(r)));
  if (r->validation->range) cJSON_AddItemToObject(root, "parts", parts_json(r->validation));
  return root || ss_fail_memory(error, "judging a calibration");
}
