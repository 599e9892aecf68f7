/* Where two schemes cost the same: the object of a request says which, over what, and what is supposed of the
 * tensor. */
#include "query/query_internal.h"
#include "query/supposed.h"
#include "study/crossover.h"

enum { PROBES_MOST = 65536, RANKS_MOST = 65536 };

struct reading {
  struct ss_node object;
  struct ss_supposition with;
  struct ss_texts files;
  struct ss_crossover_study study;
  struct ss_arena texts;
};

static const char *const overs[] = {
    [SS_OVER_DENSITY] = "density", [SS_OVER_RANKS] = "ranks", [SS_OVER_BANDWIDTH] = "bandwidth",
    [SS_OVER_LATENCY] = "latency", [SS_OVER_M] = "M",         [SS_OVERS] = NULL};
static const struct ss_field_spec an_end = {NULL, NULL, SS_IS_ANY},
                                  range_forms[] = {{NULL, "LOW..HIGH", SS_IS_NAME},
                                                   {NULL, NULL, SS_IS_LIST(&an_end, 2, 2)},
                                                   {.name = NULL}};
#define OF(member) SS_STORED(struct reading, member)
#define WAYS                                                                                                         \
  {"form", "which closed form counts", SS_IS_CHOICE(ss_form_names), .usual = "exact", OF(study.duel.form)},          \
      {"simulate", "instead of closed forms", SS_IS_FLAG, .usual = "false", OF(study.simulated)},                    \
      {"certain", "the links are as they are: no crossing has a range", SS_IS_FLAG, .usual = "false",                \
       OF(study.certain)},                                                                                           \
      {"probes", "values that are tried", SS_IS_COUNT(2, PROBES_MOST), OF(study.probes)}, {                          \
    "ranks", NULL, SS_IS_COUNT(2, RANKS_MOST), .usual = "16", OF(study.duel.ranks)                                   \
  }
static const struct ss_field_spec way_fields[] = {WAYS, {.name = NULL}};
static const struct ss_object_spec ways = {.field = way_fields};
static const struct ss_field_spec fields[] = {{"a", "a scheme", SS_IS_EITHER(ss_setting_forms), .required = true},
                                              {"b", "another", SS_IS_EITHER(ss_setting_forms), .required = true},
                                              {"over", "what varies", SS_IS_CHOICE(overs), .required = true},
                                              {"range", NULL, SS_IS_EITHER(range_forms)},
                                              WAYS,
                                              SS_SUPPOSED_FIELDS,
                                              {.name = NULL}};
const struct ss_object_spec ss_crossover_fields = {
    .name = "crossover", .says = "where two schemes cost the same", .field = fields};

static bool read_end(struct ss_node node, const struct ss_axis *axis, double *out, struct ss_error *error) {
  uint64_t count;
  if (axis->dimension != SS_NUMBER) return ss_node_positive(node, axis->dimension, out, error);
  if (!ss_node_count(node, 1, RANKS_MOST, &count, error)) return false;
  *out = (double)count;
  return true;
}

/* "LOW..HIGH" as a list of two: an object like the request's, to be freed. */
static bool read_words(struct ss_node range, struct ss_doc **out, struct ss_error *error) {
  const char *text;
  if (!ss_node_text(range, &text, error)) return false;
  const char *dots = strstr(text, "..");
  if (!dots) return ss_node_fail(range, error, "\"%s\" is not LOW..HIGH", text);
  SS_AUTO_FREE char *low = strndup(text, (size_t)(dots - text));
  const char *const ends[] = {low, dots + 2};
  cJSON *object = low ? cJSON_CreateObject() : NULL;
  if (!object || !cJSON_AddItemToObject(object, "range", cJSON_CreateStringArray(ends, 2))) {
    cJSON_Delete(object);
    return ss_fail_memory(error, "reading a range");
  }
  if (!ss_doc_adopt(ss_doc_name(range.doc), object, out, error)) return false;
  ss_doc_call_like(*out, range.doc);
  return true;
}

static bool read_ends(struct reading *q, struct ss_node list, const struct ss_axis *axis, struct ss_error *error) {
  const struct ss_node low = ss_node_first(list);
  if (!ss_node_is_array(list) || ss_node_size(list) != 2)
    return ss_node_fail(list, error, "expected a list of two: the least and the largest value");
  return read_end(low, axis, &q->study.low, error) && read_end(ss_node_next(low), axis, &q->study.high, error);
}

static bool read_range(struct reading *q, const struct ss_axis *axis, struct ss_error *error) {
  const struct ss_node range = ss_node_get(q->object, "range");
  SS_AUTO_DOC struct ss_doc *words = NULL;
  q->study.low = axis->low;
  q->study.high = axis->high;
  if (!ss_node_present(range)) return true;
  if (ss_node_is_text(range) && !read_words(range, &words, error)) return false;
  if (!read_ends(q, words ? ss_node_get(ss_doc_root(words), "range") : range, axis, error)) return false;
  if (q->study.low >= q->study.high) return ss_node_fail(range, error, "is not from low to high");
  return axis->dimension != SS_RATIO || q->study.high <= 1 || ss_node_fail(range, error, "a density above 1 is none");
}

/* What varies is not said twice; what does not must be. */
static bool read_axis(struct reading *q, struct ss_error *error) {
  struct ss_node over;
  char range[64];
  size_t chosen;
  if (!ss_node_need(q->object, "over", &over, error) || !ss_node_choice(over, overs, &chosen, error)) return false;
  const struct ss_node twice = ss_node_get(q->object, overs[chosen]);
  if (ss_node_present(twice))
    return ss_node_fail(twice, error, "varies: say %s instead",
                        ss_doc_field(twice.doc, "range", range, sizeof range));
  q->study.duel.over = (enum ss_over)chosen;
  return read_range(q, &ss_axes[chosen], error) &&
         ss_supposed_read(q->object, chosen != SS_OVER_M, chosen != SS_OVER_DENSITY, &q->with, error);
}

static bool read_ways(struct reading *q, struct ss_error *error) {
  const struct ss_node form = ss_node_get(q->object, "form");
  if (!ss_object_read_known(&ways, q->object, q, error)) return false;
  if (!q->study.simulated) return true;
  if (ss_node_present(form)) return ss_node_fail(form, error, "says which closed form counts: not of simulations");
  return ss_supposed_can_be_played(q->object, &q->with, error);
}

static bool read_sides(struct reading *q, const char *side[2], struct ss_error *error) {
  static const char *const keys[] = {"a", "b"};
  for (size_t i = 0; i < 2; i++) {
    struct ss_node node;
    if (!ss_node_need(q->object, keys[i], &node, error) || !ss_supposed_scheme(node, &q->texts, &side[i], error))
      return false;
  }
  return true;
}

static bool search(struct reading *q, struct ss_request *request, struct ss_error *error) {
  const char *side[2];
  struct ss_costs costs;
  if (!read_axis(q, error) || !read_ways(q, error) || !read_sides(q, side, error) ||
      !ss_node_texts(ss_node_get(q->object, "files"), &q->texts, &q->files, error) ||
      !ss_supposed_cluster(q->object, request, &q->study.duel.cluster, error) ||
      !ss_costs_open(q->files.text, q->files.count, &costs, error))
    return false;
  ss_costs_tell(&costs, request->notice);
  const bool on_nodes = q->study.simulated || q->study.duel.form == SS_FORM_NODES; /* other forms have one class */
  if (on_nodes && q->study.duel.over != SS_OVER_RANKS)
    ss_cluster_tell_one_node(&q->study.duel.cluster, q->study.duel.ranks, request->notice);
  q->study.duel.with = &q->with;
  q->study.duel.costs = &costs;
  q->study.watcher = request->run.watcher;
  const bool ok = ss_duel_open(&q->study.duel, side[0], side[1], error) && ss_crossover_study_run(&q->study, error);
  if (ok) request->answer = ss_crossover_study_json(&q->study);
  ss_crossover_study_free(&q->study);
  ss_costs_close(&costs);
  return ok;
}

bool ss_answer_crossover(struct ss_node object, struct ss_request *request, struct ss_error *error) {
  if (!ss_object_check_keys(&ss_crossover_fields, object, error)) return false;
  SS_AUTO_FREE struct reading *q = ss_alloc_zero(1, sizeof *q);
  if (!q) return ss_fail_memory(error, "searching for crossovers");
  q->object = object;
  q->with = (struct ss_supposition)SS_SUPPOSITION_DEFAULTS;
  const bool ok = search(q, request, error);
  if (ok && !q->study.simulated) ss_supposed_tell_idle(object, request, ss_answer_crossover);
  ss_arena_free(&q->texts);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
