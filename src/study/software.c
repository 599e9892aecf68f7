#include "study/software.h"

#include "base/data.h"

enum { NUMBERS_MAX = 1024, FILE_BYTES = 1 << 24 };

#define PART(member) SS_STORED(struct ss_inferred_number, member)
static const struct ss_field_spec number_fields[] = {
    {"what", NULL, SS_IS_CHOICE(ss_unknown_names), .required = true, PART(what)},
    {"workload", "of which alone it is said", SS_IS_NAME, PART(workload)},
    {"system", NULL, SS_IS_NAME, PART(system)},
    {"cluster", NULL, SS_IS_NAME, PART(cluster)},
    {"value", "in s, s/B, B/s; of others a factor", SS_IS_FROM_0, .required = true, PART(value)},
    {"low", "90% of what it may be lies between", SS_IS_FROM_0, PART(low)},
    {"high", NULL, SS_IS_FROM_0, PART(high)},
    {"unit", NULL, SS_IS_TEXT},
    SS_SPEC_NOTES,
    {.name = NULL}};
static const struct ss_object_spec number_spec = {.field = number_fields};
static const struct ss_field_spec a_number = {NULL, NULL, SS_IS_OBJECT(&number_spec)};

#define ACCURACY(member) SS_STORED(struct ss_inferred_file, member)
static const struct ss_field_spec accuracy_fields[] = {
    {"numbers", "that it was fitted to", SS_IS_COUNT(1, 1 << 20), ACCURACY(numbers)},
    {"unknowns", NULL, SS_IS_COUNT(1, NUMBERS_MAX)},
    {"half", "factor within which half of them are predicted, each left out", SS_IS_ABOVE_0, .with = "most",
     ACCURACY(inferred.within.half)},
    {"most", "and 90%", SS_IS_ABOVE_0, .with = "half", ACCURACY(inferred.within.most)},
    {.name = NULL}};
static const struct ss_object_spec accuracy_spec = {.says = "how near it comes", .field = accuracy_fields};

static bool read_accuracy(struct ss_node node, void *out, struct ss_error *error) {
  const struct ss_spread *within = &((const struct ss_inferred_file *)out)->inferred.within;
  if (!ss_object_read(&accuracy_spec, node, out, error)) return false;
  const struct ss_node half = ss_node_get(node, "half"), most = ss_node_get(node, "most");
  if (ss_node_present(half) && within->half < 1) return ss_node_fail(half, error, "is a factor: at least 1");
  return !ss_node_present(most) || within->most >= within->half ||
         ss_node_fail(most, error, "is within half: fewer than half of them");
}

static bool is_name(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

/* Of the same: one of them would do nothing. */
static bool is_same(const struct ss_inferred_number *a, const struct ss_inferred_number *b) {
  return a->what == b->what && is_name(a->workload, b->workload) && is_name(a->system, b->system) &&
         is_name(a->cluster, b->cluster);
}

static bool read_numbers(struct ss_node list, void *file, struct ss_error *error) {
  struct ss_inferred_file *out = file;
  struct ss_inferred_number *number;
  if (!ss_node_is_array(list) || ss_node_size(list) > NUMBERS_MAX)
    return ss_node_fail(list, error, "expected a list of at most %d numbers", NUMBERS_MAX);
  if (!ss_take_zero(&out->arena, number, ss_node_size(list)))
    return ss_fail_memory(error, "reading what was inferred");
  out->inferred.number = number;
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    struct ss_inferred_number *one = &number[out->inferred.count++];
    one->low = one->high = NAN;
    if (!ss_object_read(&number_spec, n, one, error)) return false;
    const bool positive =
        one->what == SS_UNKNOWN_COMPUTE || one->what == SS_UNKNOWN_GOODPUT || one->what == SS_UNKNOWN_HOST_BANDWIDTH;
    if (positive && !(one->value > 0)) return ss_node_fail(ss_node_get(n, "value"), error, "must be above 0");
    if (one->what == SS_UNKNOWN_GOODPUT && one->value > 1)
      return ss_node_fail(ss_node_get(n, "value"), error, "is a share of the bandwidth: at most 1");
    for (size_t k = 0; k + 1 < out->inferred.count; k++)
      if (is_same(&number[k], one))
        return ss_node_fail(n, error, "says again what number %zu of the list says", k + 1);
    if (one->low > one->value || one->high < one->value)
      return ss_node_fail(ss_node_get(n, "value"), error, "is not between its low and its high");
  }
  return true;
}

static const struct ss_field_spec fields[] = {
    {"name", NULL, SS_IS_TEXT, SS_STORED(struct ss_inferred_file, name)},
    SS_SPEC_SUMMARY,
    {"inferred", "each number, and of which workload, system or cluster alone", SS_IS_LIST(&a_number, 0, NUMBERS_MAX),
     .required = true, .read = read_numbers},
    {"accuracy", NULL, SS_IS_OBJECT(&accuracy_spec), .read = read_accuracy},
    SS_SPEC_SOURCE,
    SS_SPEC_NOTES,
    {.name = NULL}};
const struct ss_object_spec ss_inferred_fields = {
    .name = "software",
    .title = "What `calibrate training` inferred",
    .says = "What was inferred of what lies between the wire and the clock: docs/calibration.md, \"Trainings\"",
    .field = fields};

bool ss_inferred_read(struct ss_node node, const char *base, struct ss_inferred_file *out, struct ss_error *error) {
  char path[4096];
  const char *text;
  struct ss_node object = node;
  *out = (struct ss_inferred_file){.numbers = 0};
  if (ss_node_is_text(node)) {
    if (!ss_node_text(node, &text, error)) return false;
    ss_data_locate(text, base, path, sizeof path);
    if (!ss_doc_read(path, FILE_BYTES, &out->doc, error)) return false;
    object = ss_doc_root(out->doc);
  }
  return ss_object_read(&ss_inferred_fields, object, out, error);
}

void ss_inferred_close(struct ss_inferred_file *file) {
  ss_arena_free(&file->arena);
  ss_doc_free(file->doc);
  *file = (struct ss_inferred_file){.numbers = 0};
}
/* SPDX-License-Identifier: Apache-2.0 */
