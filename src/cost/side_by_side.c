/* Closed forms side by side. */
#include "base/json.h"
#include "cost/duel.h"
#include "cost/placed.h"
#include "cost/suppose.h"
#include "schemes/registry.h"
#include "schemes/simulate.h"

/* Servers and aggregators that nobody asked for are none. */
static bool holds(const struct ss_supposition *c, const struct ss_cost *cost, const struct ss_symbols *s, bool *out,
                  struct ss_error *error) {
  struct ss_symbols asked = *s;
  double value = 1;
  asked.S = (double)c->servers;
  if (cost->where && !ss_formula_evaluate(cost->where, &asked, &value, error))
    return ss_fail_prefix(error, "%s: where", cost->file);
  *out = value != 0;
  return true;
}

static bool add_point(cJSON *points, const struct ss_cost *cost, const struct ss_setting *setting,
                      const struct ss_symbols *s, const struct ss_cluster *cluster, struct ss_error *error) {
  struct ss_cost_placing placing = {.cost = cost, .setting = setting, .symbols = s};
  struct ss_cost_values values;
  struct ss_placed placed;
  if (!ss_cost_evaluate(cost, s, &values, error) || !ss_cost_place(&placing, cluster, &placed, error)) return false;
  char form[128];
  cJSON *o = cJSON_CreateObject();
  ss_cost_form_name(cost, form, sizeof form);
  ss_json_add(
      o, SS_T("scheme", cost->scheme->name), SS_T("form", form), SS_N("ranks", s->P), SS_T("cluster", cluster->name),
      SS_N("gpus_per_node", cluster->gpus_per_node), SS_N("nics", ss_cluster_nics(cluster)),
      SS_N("density", s->nnz / s->R), SS_N("gamma", s->gamma(s->gamma_context, s->P)),
      SS_N("formula_s", values.exact), SS_T("formula", cost->exact), SS_N("placed_s", placed.seconds),
      SS_T("placed", isnan(placed.seconds) ? NULL
                     : placed.exact        ? "exact"
                                           : "bound"),
      SS_N("formula_low_s", values.exact_low), SS_N("formula_high_s", values.exact_high),
      SS_T("formula_low", cost->exact_low), SS_T("formula_high", cost->exact_high), SS_N("paper_s", values.paper),
      SS_N("paper_low_s", values.paper_low), SS_N("paper_high_s", values.paper_high), SS_T("paper", cost->paper),
      SS_T("printed_in", cost->printed_in), SS_T("assumes", cost->assumes), SS_T("erratum", cost->erratum));
  cJSON_AddItemToArray(points, o);
  return true;
}

static bool wanted(const struct ss_costs_request *q, const struct ss_cost *cost) {
  for (size_t i = 0; i < q->schemes; i++)
    if (strcmp(q->scheme[i], cost->scheme->name) == 0) return true;
  return q->schemes == 0 && (q->design || strcmp(cost->scheme->name, "design") != 0);
}

static bool add_costs(const struct ss_costs *costs, const struct ss_costs_request *q, uint32_t ranks, cJSON *points,
                      struct ss_error *error) {
  for (size_t i = 0; i < costs->count; i++) {
    const struct ss_cost *cost = &costs->cost[i];
    struct ss_supposed supposed;
    struct ss_setting setting;
    bool here;
    if (!wanted(q, cost)) continue;
    if (!ss_cost_setting(cost, (struct ss_node){0}, &setting, error)) return false;
    if (!ss_suppose(q->with, &setting, q->cluster, ranks, &supposed, error) ||
        !holds(q->with, cost, &supposed.symbols, &here, error) ||
        (here && !add_point(points, cost, &setting, &supposed.symbols, q->cluster, error)))
      return false;
  }
  return true;
}

/* What is no scheme's name says which of a scheme's forms is meant, or with which options. */
static bool add_side(const struct ss_costs *costs, const struct ss_costs_request *q, const char *text, cJSON *points,
                     struct ss_error *error) {
  struct ss_duel_side side = {0};
  bool ok = ss_duel_side_read(costs, q->with, text, &side, error), any = false;
  for (size_t r = 0; ok && r < q->rank_counts; r++) {
    const struct ss_duel_setup at = {costs, q->with, q->cluster, q->ranks[r]};
    struct ss_supposed supposed;
    const struct ss_cost *cost;
    ok = ss_duel_side_suppose(&side, &at, &supposed, &cost, error) &&
         (!cost || add_point(points, cost, &side.setting, &supposed.symbols, q->cluster, error));
    any = any || (ok && cost);
  }
  if (ok && !any) ok = ss_fail(error, SS_BAD_INPUT, "%s: no closed form at these rank counts", side.label);
  ss_doc_free(side.doc);
  return ok;
}

cJSON *ss_supposed_links_json(const struct ss_cluster *cluster) {
  const bool inside = cluster->gpus_per_node > 1;
  return ss_json_object(SS_N("latency", cluster->inter.alpha), SS_N("bandwidth", 1 / cluster->inter.beta),
                        SS_N("intra_latency", inside ? cluster->intra.alpha : NAN),
                        SS_N("intra_bandwidth", inside ? 1 / cluster->intra.beta : NAN));
}

cJSON *ss_costs_json(const struct ss_costs *costs, const struct ss_costs_request *wanted, struct ss_error *error) {
  cJSON *root = cJSON_CreateObject(), *points;
  bool ok = true;
  ss_json_add(root, SS_T("overlap", ss_gamma_names[wanted->with->kind]),
              SS_J("links", ss_supposed_links_json(wanted->cluster)));
  points = cJSON_AddArrayToObject(root, "points");
  for (size_t r = 0; ok && r < wanted->rank_counts; r++)
    ok = add_costs(costs, wanted, wanted->ranks[r], points, error);
  for (size_t i = 0; ok && i < wanted->schemes; i++)
    if (!ss_scheme_find(wanted->scheme[i])) ok = add_side(costs, wanted, wanted->scheme[i], points, error);
  if (ok && cJSON_GetArraySize(points) > 0) return root;
  if (ok) (void)ss_fail(error, SS_BAD_INPUT, "no closed form holds at these rank counts");
  cJSON_Delete(root);
  return NULL;
}
/* SPDX-License-Identifier: Apache-2.0 */
