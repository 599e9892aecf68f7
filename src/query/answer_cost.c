/* Closed forms: the object of a request says what is supposed of the tensor, and where. */
#include "query/query_internal.h"
#include "query/supposed.h"
#include "study/study.h"

enum { RANKS_MAX = 256, SCHEMES_MAX = 64 };

static const struct ss_field_spec schemes_forms[] = {
    {NULL, NULL, SS_IS_NAME}, {NULL, NULL, SS_IS_LIST(&ss_scheme_field, 0, SCHEMES_MAX)}, {.name = NULL}};
static const struct ss_field_spec fields[] = {
    {"schemes", "(all)", SS_IS_EITHER(schemes_forms)},
    SS_SUPPOSED_FIELDS,
    {"ranks", "(4..64)", SS_IS_EITHER(ss_ranks_forms)},
    {"certain", "the links are as they are: no form has a range", SS_IS_FLAG, .usual = "false"},
    {.name = NULL}};
const struct ss_object_spec ss_cost_request_fields = {.name = "cost",
                                                      .says = "closed forms, where there is no trace",
                                                      .field = fields,
                                                      .rules = "{'required': ['M', 'density']}"};

static bool read_schemes(struct ss_node list, struct ss_arena *arena, const char **names, size_t *count,
                         struct ss_error *error) {
  if (ss_node_is_text(list)) return ss_supposed_scheme(list, arena, &names[(*count)++], error);
  if (ss_node_present(list) && !ss_node_is_array(list))
    return ss_node_fail(list, error, "expected a list of schemes");
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    if (*count == SCHEMES_MAX) return ss_node_fail(n, error, "is one scheme too many");
    if (!ss_supposed_scheme(n, arena, &names[(*count)++], error)) return false;
    for (size_t i = 0; i + 1 < *count; i++)
      if (strcmp(names[i], names[*count - 1]) == 0)
        return ss_node_fail(n, error, "\"%.99s\" is there twice", names[i]);
  }
  return true;
}

bool ss_answer_cost(struct ss_node object, struct ss_request *request, struct ss_error *error) {
  SS_AUTO(ss_arena_free) struct ss_arena texts = {0};
  SS_AUTO(ss_costs_close) struct ss_costs costs = {0};
  SS_AUTO_FREE struct ss_supposition *with = ss_alloc(1, sizeof *with);
  const struct ss_node counts = ss_node_get(object, "ranks");
  const char *names[SCHEMES_MAX];
  uint32_t ranks[RANKS_MAX];
  const struct ss_node sure = ss_node_get(object, "certain");
  bool certain = request->certain;
  struct ss_texts files;
  struct ss_cluster cluster;
  struct ss_costs_request wanted = {.with = with, .cluster = &cluster, .ranks = ranks, .scheme = names};
  if (!with) return ss_fail_memory(error, "evaluating costs");
  *with = (struct ss_supposition)SS_SUPPOSITION_DEFAULTS;
  if (!ss_object_check_keys(&ss_cost_request_fields, object, error) ||
      (ss_node_present(sure) && !ss_node_flag(sure, &certain, error)) ||
      !read_schemes(ss_node_get(object, "schemes"), &texts, names, &wanted.schemes, error) ||
      !ss_supposed_read(object, true, true, with, error) ||
      !ss_node_texts(ss_node_get(object, "files"), &texts, &files, error) ||
      !ss_supposed_cluster(object, request, &cluster, error) ||
      !(ss_node_present(counts) ? ss_ranks_read(counts, 0, ranks, RANKS_MAX, &wanted.rank_counts, error)
                                : ss_ranks_parse("4..64", ranks, RANKS_MAX, &wanted.rank_counts, error)) ||
      !ss_costs_open(files.text, files.count, &costs, error))
    return false;
  ss_costs_tell(&costs, request->notice);
  wanted.design = files.count > 0;
  request->answer = ss_costs_json(&costs, &wanted, error);
  if (request->answer) ss_supposed_tell_idle(object, request, ss_answer_cost);
  return request->answer && (certain || ss_cost_add_ranges(request->answer, &costs, &wanted, error));
}
/* SPDX-License-Identifier: Apache-2.0 */
